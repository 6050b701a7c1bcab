package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"shoal.dev/shoal/lang/effect"
)

var toolNames = []string{
	"shoal_exec", "shoal_plan", "shoal_apply", "shoal_get", "shoal_journal", "shoal_cancel", "shoal_cap_request",
	"shoal_pty_open", "shoal_pty_send", "shoal_pty_read", "shoal_pty_resize", "shoal_pty_close", "shoal_pty_list",
}

func compile(t testing.TB, name string, schema []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(name, doc); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	compiled, err := c.Compile(name)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return compiled
}

func validates(t testing.TB, s *jsonschema.Schema, raw string) error {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return s.Validate(v)
}

func TestThirteenTools(t *testing.T) {
	var names []string
	for _, tool := range toolTable() {
		names = append(names, tool.name)
	}
	if diff := cmp.Diff(toolNames, names); diff != "" {
		t.Error(diff)
	}
}

// TestSchemas holds every published schema to what clients can bear.
func TestSchemas(t *testing.T) {
	for _, tool := range toolTable() {
		input := tool.input.schema(nil)
		compile(t, tool.name+"-input", input)
		if strings.Contains(string(input), `"pattern"`) {
			t.Errorf("%s: a pattern in %s", tool.name, input)
		}
		for _, banned := range []string{"anyOf", "oneOf", "allOf"} {
			if member(input, banned) != nil {
				t.Errorf("%s: %s at the root of the input", tool.name, banned)
			}
		}
		checkDescribed(t, tool.name, input)
		if elide := member(member(input, "properties"), "elide"); strings.Contains(string(elide), "maximum") {
			t.Errorf("%s: a maximum on elide", tool.name)
		}

		output := outputSchema(tool.output)
		schema := compile(t, tool.name+"-output", output)
		if member(output, "required") != nil || at(t, string(output), "type") != "object" {
			t.Errorf("%s: the root of the output is closed to errors: %s", tool.name, output)
		}
		if err := validates(t, schema, `{"code":-32010,"message":"m","data":{"name":"LEASH_DENIED"}}`); err != nil {
			t.Errorf("%s: the error form is refused: %v", tool.name, err)
		}
		if validates(t, schema, `{"bogus":1}`) == nil {
			t.Errorf("%s: anything is accepted", tool.name)
		}
		if !tool.hints.readOnly && tool.hints.openWorld && !tool.hints.destructive {
			t.Errorf("%s: runs programs and is not destructive", tool.name)
		}
	}
}

// checkDescribed demands closed objects whose properties are all described.
func checkDescribed(t *testing.T, where string, schema []byte) {
	t.Helper()
	if at(t, string(schema), "type") == "object" && member(schema, "additionalProperties") == nil {
		t.Errorf("%s: open object %s", where, schema)
	}
	eachMember(member(schema, "properties"), func(key, value []byte) bool {
		name := string(key)
		if at(t, string(value), "description") == "" {
			t.Errorf("%s.%s: no description", where, name)
		}
		checkDescribed(t, where+"."+name, value)
		return true
	})
	for _, key := range []string{"items", "additionalProperties"} {
		if sub := member(schema, key); len(sub) > 0 && sub[0] == '{' {
			checkDescribed(t, where+"."+key, sub)
		}
	}
	eachItem(member(schema, "anyOf"), func(alt []byte) bool {
		checkDescribed(t, where+".anyOf", alt)
		return true
	})
}

// TestDescriptionBudget: an agent pays for every word in every conversation.
func TestDescriptionBudget(t *testing.T) {
	total := len(instructions())
	for _, tool := range toolTable() {
		total += len(tool.doc) + descriptions(tool.input.schema(nil))
		if !strings.Contains(tool.doc, "xample") && tool.name != "shoal_pty_list" {
			t.Errorf("%s: no example", tool.name)
		}
	}
	if total > 8<<10 {
		t.Errorf("descriptions and instructions take %d bytes", total)
	}
	// A token is at least three bytes of such text (3.4 with o200k).
	tokens := len(instructions())
	for _, tool := range toolTable() {
		tokens += len(tool.doc)
	}
	if tokens /= 3; tokens >= 2000 {
		t.Errorf("instructions and descriptions of tools may take %d tokens, want less than 2,000", tokens)
	}
	t.Logf("instructions %d bytes, with the descriptions of tools and arguments %d", len(instructions()), total)
}

// descriptions is the size of all descriptions in a schema.
func descriptions(schema []byte) int {
	n := 0
	eachMember(schema, func(key, value []byte) bool {
		if string(key) == "description" && value[0] == '"' {
			n += len(value) - 2
		}
		n += descriptions(value)
		return true
	})
	eachItem(schema, func(value []byte) bool { n += descriptions(value); return true })
	return n
}

// argumentCases are arguments that are right, and ones that are wrong with what
// the refusal must say.
var argumentCases = []struct {
	tool, args, params, refusal string
}{
	{"shoal_exec", `{"src":"1"}`, `{"src":"1","position":"value"}`, ""},
	{"shoal_exec", `{"src":"1","position":"stmt","mode":"plan"}`, `{"src":"1","position":"stmt","mode":"plan"}`, ""},
	{"shoal_exec", `{ "src" : "a\nb" , "elide" : { "max_bytes" : 99999999999 } }`, `{"src":"a\nb","elide":{"max_bytes":99999999999},"position":"value"}`, ""},
	{"shoal_exec", `{"src":"1","timeout_ms":5e3,"background":true}`, `{"src":"1","timeout_ms":5000,"background":true,"position":"value"}`, ""},
	{"shoal_exec", `{"src":"1","timeout_ms":250.0}`, `{"src":"1","timeout_ms":250,"position":"value"}`, ""},
	{"shoal_exec", `{}`, "", "src: required property is missing (a string)"},
	{"shoal_exec", `null`, "", "src: required property is missing (a string)"},
	{"shoal_exec", `[]`, "", "arguments: expected an object, got []"},
	{"shoal_exec", `"1"`, "", `arguments: expected an object, got "1"`},
	{"shoal_exec", `{"src":1}`, "", "src: expected a string, got 1"},
	{"shoal_exec", `{"src":null}`, "", "src: expected a string, got null"},
	{"shoal_exec", `{"src":"1","bogus":2}`, "", "bogus: unknown property (known: src, mode, position, background, timeout_ms, deadline_ms, request_id, elide)"},
	{"shoal_exec", `{"src":"1","SRC":"2"}`, "", "SRC: unknown property"},
	{"shoal_exec", `{"src":"1","src":"2"}`, "", "src: property is given twice"},
	{"shoal_exec", `{"src":"1","mode":"dry"}`, "", `mode: expected one of "run" "plan", got "dry"`},
	{"shoal_exec", `{"src":"1","timeout_ms":0}`, "", "timeout_ms: expected an integer of at least 1, got 0"},
	{"shoal_exec", `{"src":"1","timeout_ms":1.5}`, "", "timeout_ms: expected an integer of at least 1, got 1.5"},
	{"shoal_exec", `{"src":"1","timeout_ms":1e999}`, "", "timeout_ms: expected an integer"},
	{"shoal_exec", `{"src":"1","timeout_ms":99999999999999999999}`, "", "timeout_ms: expected an integer"},
	{"shoal_exec", `{"src":"1","timeout_ms":"5"}`, "", `timeout_ms: expected an integer of at least 1, got "5"`},
	{"shoal_exec", `{"src":"1","background":"yes"}`, "", `background: expected a boolean, got "yes"`},
	{"shoal_exec", `{"src":"1","elide":{"max_rows":0}}`, "", "elide.max_rows: expected an integer of at least 1, got 0"},
	{"shoal_exec", `{"src":"1","elide":{"rows":1}}`, "", "elide.rows: unknown property"},
	{"shoal_exec", `{"src":"1","request_id":"` + strings.Repeat("é", 128) + `"}`, `{"src":"1","request_id":"` + strings.Repeat("é", 128) + `","position":"value"}`, ""},
	{"shoal_exec", `{"src":"1","request_id":"` + strings.Repeat("x", 129) + `"}`, "", "request_id: expected a string of at most 128 characters"},
	{"shoal_plan", `{"src":"rm x"}`, `{"src":"rm x","mode":"plan","position":"value"}`, ""},
	{"shoal_plan", `{"src":"rm x","mode":"run"}`, "", "mode: unknown property (known: src)"},
	{"shoal_apply", `{"plan_ref":"plan:ab"}`, `{"plan_ref":"plan:ab"}`, ""},
	{"shoal_apply", `{"plan_ref":"shoal://plan/ab"}`, `{"plan_ref":"plan:ab"}`, ""},
	{"shoal_apply", `{"plan_ref":"shoal://plan/plan:ab"}`, `{"plan_ref":"plan:ab"}`, ""},
	{"shoal_apply", `{"plan_ref":"shoal://task/9"}`, "", `plan_ref: expected the ref or URI of a plan, got "shoal://task/9"`},
	{"shoal_get", `{"ref":"out:17"}`, `{"ref":"out:17"}`, ""},
	{"shoal_get", `{"ref":"shoal://out/17","path":".a","slice":[0,5]}`, `{"ref":"out:17","path":".a","slice":[0,5]}`, ""},
	{"shoal_get", `{"ref":"shoal://out/17?path=.rows%5B0%5D","path":".name"}`, `{"ref":"out:17","path":".rows[0].name"}`, ""},
	{"shoal_get", `{"ref":"shoal://out/17?slice=2..4"}`, `{"ref":"out:17","slice":[2,4]}`, ""},
	{"shoal_get", `{"ref":"shoal://task/9/out"}`, `{"ref":"task:9"}`, ""},
	{"shoal_get", `{"ref":"SHOAL://val/8b"}`, `{"ref":"val:blake3:8b"}`, ""},
	{"shoal_get", `{"ref":"shoal://out/17?slice=x"}`, "", `ref: slice: expected START..END, got "x"`},
	{"shoal_get", `{"ref":"shoal://journal"}`, "", "ref: expected the URI of a value"},
	{"shoal_get", `{"ref":"out:1","slice":[1]}`, "", "slice: expected an array of 2 items, got 1 items"},
	{"shoal_get", `{"ref":"out:1","slice":[-1,2]}`, "", "slice[0]: expected an integer of at least 0, got -1"},
	{"shoal_get", `{"ref":"out:1","format":"raw"}`, "", "format: unknown property"},
	{"shoal_journal", `{}`, `{}`, ""},
	{"shoal_journal", `{"since":9007199254740993,"until":-1,"effects":["fs.write"],"ok":false}`, `{"since":9007199254740993,"until":-1,"effects":["fs.write"],"ok":false}`, ""},
	{"shoal_journal", `{"limit":1001}`, "", "limit: expected an integer from 1 to 1000, got 1001"},
	{"shoal_journal", `{"effects":"fs.write"}`, "", `effects: expected an array, got "fs.write"`},
	{"shoal_cancel", `{"task":"shoal://task/9"}`, `{"task":"task:9"}`, ""},
	{"shoal_cancel", `{"task":"shoal://task/09"}`, "", "task: expected the ref or URI of a task"},
	{"shoal_cap_request", `{"plan_ref":"plan:ab","effects":[]}`, `{"plan_ref":"plan:ab","effects":[]}`, ""},
	{"shoal_cap_request", `{"plan_ref":"plan:ab"}`, "", "effects: required property is missing (an array)"},
	{"shoal_cap_request", `{"plan_ref":"plan:ab","effects":[1]}`, "", "effects[0]: expected a string, got 1"},
	{"shoal_pty_open", `{"cmd":"vi","env":{"A":"1"},"cols":1000}`, `{"cmd":"vi","env":{"A":"1"},"cols":1000}`, ""},
	{"shoal_pty_open", `{"plan_ref":"shoal://plan/ab"}`, `{"plan_ref":"plan:ab"}`, ""},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":{"mouse":{"row":1,"col":2}}}`, `{"pty_id":"pty:3","input":{"mouse":{"row":1,"col":2}}}`, ""},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":{"mouse":{"row":1}}}`, "", "input.mouse.col: required property is missing"},
	{"shoal_pty_open", `{"cmd":"vi","cols":1001}`, "", "cols: expected an integer from 1 to 1000, got 1001"},
	{"shoal_pty_open", `{"cmd":"vi","env":{"A":1}}`, "", "env.A: expected a string, got 1"},
	{"shoal_pty_send", `{"pty_id":"shoal://pty/3","input":"a"}`, `{"pty_id":"pty:3","input":"a"}`, ""},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":["a",{"key":"Enter"},{"bytes":"AA=="}]}`, `{"pty_id":"pty:3","input":["a",{"key":"Enter"},{"bytes":"AA=="}]}`, ""},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":{"text":"a","key":"Enter"}}`, "", "input: expected exactly one of text, key, bytes, paste, mouse, got 2 members"},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":[{}]}`, "", "input[0]: expected exactly one of"},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":5}`, "", "input: expected a string or an object or an array, got 5"},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":[["a"]]}`, "", "input[0]: expected a string or an object"},
	{"shoal_pty_send", `{"pty_id":"pty:3","input":{"keys":"a"}}`, "", "input.keys: unknown property"},
	{"shoal_pty_read", `{"pty_id":"pty:3","wait":{"text":"x","exit":true,"timeout_ms":60000}}`, `{"pty_id":"pty:3","wait":{"text":"x","exit":true,"timeout_ms":60000}}`, ""},
	{"shoal_pty_read", `{"pty_id":"pty:3","wait":{"exit":false}}`, "", "wait.exit: expected true, got false"},
	{"shoal_pty_read", `{"pty_id":"pty:3","wait":{"timeout_ms":60001}}`, "", "wait.timeout_ms: expected an integer from 1 to 60000, got 60001"},
	{"shoal_pty_read", `{"pty_id":"pty:3","scrollback":{"from":0}}`, "", "scrollback.to: required property is missing"},
	{"shoal_pty_resize", `{"pty_id":"pty:3","cols":1}`, "", "rows: required property is missing"},
	{"shoal_pty_close", `{"pty_id":3}`, "", "pty_id: expected a string, got 3"},
	{"shoal_pty_list", `{}`, `{}`, ""},
	{"shoal_pty_list", `{"a":1}`, "", "a: unknown property (known: none)"},
}

// TestArguments: the check and the published schema say the same, and the
// refusal names the property.
func TestArguments(t *testing.T) {
	tools := map[string]*tool{}
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range toolTable() {
		tools[tool.name] = tool
		schemas[tool.name] = compile(t, tool.name, tool.input.schema(nil))
	}
	for _, test := range argumentCases {
		name := fmt.Sprintf("%s %.90s", test.tool, test.args)
		params, refusal := tools[test.tool].params([]byte(test.args))
		switch {
		case test.refusal == "" && refusal != nil:
			t.Errorf("%s: refused: %v", name, refusal)
		case test.refusal == "":
			if string(params) != test.params {
				t.Errorf("%s:\n got %s\nwant %s", name, params, test.params)
			}
		case refusal == nil:
			t.Errorf("%s: accepted as %s", name, params)
		case refusal.Code != -32602 || !strings.HasPrefix(refusal.Message, test.refusal):
			t.Errorf("%s:\n got %v\nwant %s", name, refusal, test.refusal)
		}
		if params != nil && !json.Valid(params) {
			t.Errorf("%s: params are not JSON: %s", name, params)
		}
		// A schema can say neither that a name comes twice, nor which URIs are
		// refs, nor the width of an integer.
		if beyond := strings.Contains(test.refusal, "twice") || strings.Contains(test.refusal, "URI") ||
			strings.Contains(test.refusal, "ref:") || strings.Contains(test.args, "9999999999") ||
			test.args == "null" || strings.Contains(test.args, "1e999"); beyond {
			continue
		}
		if err := validates(t, schemas[test.tool], test.args); (err == nil) != (test.refusal == "") {
			t.Errorf("%s: the schema says %v", name, err)
		}
	}
}

// FuzzArguments: whatever comes, the check says yes or no, and what it lets
// through is JSON that it lets through again.
func FuzzArguments(f *testing.F) {
	for _, test := range argumentCases {
		f.Add(test.args)
	}
	tools := toolTable()
	f.Fuzz(func(t *testing.T, args string) {
		if !json.Valid([]byte(args)) {
			return
		}
		for _, tool := range tools {
			once, err := tool.input.check(nil, bytes.TrimSpace([]byte(args)), "")
			if err != nil {
				continue
			}
			twice, err := tool.input.check(nil, once, "")
			if err != nil || !bytes.Equal(once, twice) || !json.Valid(once) {
				t.Errorf("%s: %q gave %q, then %q, %v", tool.name, args, once, twice, err)
			}
		}
	})
}

// TestEffectKinds: agents are told every kind of effect there is.
func TestEffectKinds(t *testing.T) {
	var want []string
	for _, kind := range effect.Kinds() {
		want = append(want, kind.Dotted())
	}
	if diff := cmp.Diff(want, effectKinds); diff != "" {
		t.Errorf("effect kinds (-want +got):\n%s", diff)
	}
}
