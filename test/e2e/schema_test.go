package e2e

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
	"shoal.dev/shoal/wire"
)

// contract is docs/schemas.json, read strictly: results may have no property
// that it does not name.
type contract struct {
	t        *testing.T
	compiler *jsonschema.Compiler
	methods  map[string]any
	seen     map[string]bool
}

func readContract(t *testing.T) *contract {
	t.Helper()
	text, err := os.ReadFile("../../docs/schemas.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(doc)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("shoal.json", doc); err != nil {
		t.Fatal(err)
	}
	return &contract{t, c, doc.(map[string]any)["methods"].(map[string]any), map[string]bool{}}
}

// closeObjects makes every object whose properties are named refuse others.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		_, named := v["properties"].(map[string]any)
		if _, said := v["additionalProperties"]; named && !said {
			v["additionalProperties"] = false
		}
		for _, item := range v {
			closeObjects(item)
		}
	case []any:
		for _, item := range v {
			closeObjects(item)
		}
	}
}

// check validates a document against the schema at a place in the page.
func (c *contract) check(place string, document any) {
	c.t.Helper()
	schema, err := c.compiler.Compile("shoal.json#/" + place)
	if err != nil {
		c.t.Fatalf("%s: %v", place, err)
	}
	raw, err := json.Marshal(document)
	if err != nil {
		c.t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		c.t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		c.t.Errorf("%s: %v\n%.600s", place, err, raw)
	}
}

// call makes a call whose params and answer must fit the contract.
func (c *contract) call(r *kit.Raw, method string, params kit.Args) kit.Val {
	c.t.Helper()
	if params == nil {
		params = kit.Args{}
	}
	c.check("methods/"+method+"/params", params)
	answer := r.Must(method, params)
	c.check("methods/"+method+"/result", json.RawMessage(answer.String()))
	c.seen[method] = true
	return answer
}

// Every method is called, and what it takes and answers is what the reference
// says: nothing missing, nothing more.
func TestAnswersFitTheSchemas(t *testing.T) {
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("archive/.keep", "")
	w.StartKernel()
	r := w.Raw("main")
	c := readContract(t)
	c.callSources(r)
	c.callTasks(r)
	c.callPlans(r)
	c.callTerminals(r)
	c.callEvents(r)
	c.callBlob(w, r)
	c.callUndo(r)
	c.callMembers(r)
	for _, method := range []string{"session.env", "session.reef", "session.cwd", "session.list", "journal.query", "kernel.info"} {
		c.call(r, method, nil)
	}
	c.call(r, "journal.query", kit.Args{"limit": 1, "effects": []string{"fs.write"}, "ok": true})
	c.attach(w)
	c.call(r, "session.close", kit.Args{"session": "main"})
	c.call(w.Raw("last"), "kernel.shutdown", nil)
	for method := range c.methods {
		if !c.seen[method] {
			t.Errorf("%s was not called", method)
		}
	}
}

// callUndo takes a change back.
func (c *contract) callUndo(r *kit.Raw) {
	r.Exec("\"a\".save(\"undone.txt\")")
	c.call(r, "undo", nil)
}

// callMembers invites somebody, lists, and removes him.
func (c *contract) callMembers(r *kit.Raw) {
	for _, params := range []kit.Args{{"action": "add", "member": "uid:4711"}, {"action": "list"}, nil, {"action": "remove", "member": "uid:4711"}} {
		c.call(r, "session.members", params)
	}
}

func (c *contract) callSources(r *kit.Raw) {
	tree := c.call(r, "parse", kit.Args{"src": "let a = 1"}).At("ast")
	c.call(r, "complete", kit.Args{"src": "l", "cursor": 1})
	c.call(r, "explain", kit.Args{"src": "rm x; ^git push; http.get(\"https://example.org\")"})
	c.call(r, "explain", kit.Args{"ast": json.RawMessage(tree.String())})
	for _, src := range []string{
		"1", "1.5", `"a"`, "[1, 2kb, 3s]", "{a: null, b: true}", "ls /", "(echo hi)", "now()", "1..3", `regex("a")`, "x => x",
		"path(\"/tmp\")", "spawn { 1 }", "[1].stream()", "^/bin/sh -c 'exit 3'", "range(0, 5000).collect()", "nope() catch e { e }",
		"echo shown; 1",
	} {
		c.call(r, "exec", kit.Args{"src": src, "position": "value", "elide": kit.Args{"max_rows": 3}})
	}
	ref := r.Exec("[1, 2, 3]").At("ref").Str()
	for _, format := range []string{"json", "render", "raw"} {
		answer, err := r.Call("value.get", kit.Args{"ref": ref, "format": format})
		if err == nil {
			c.check("methods/value.get/result", json.RawMessage(answer.String()))
		}
	}
	c.call(r, "value.get", kit.Args{"ref": ref, "slice": []int{0, 2}, "elide": kit.Args{"max_items": 2}})
	data, _ := r.Refused(messages.CodeParseError, "exec", kit.Args{"src": "1 +"})
	c.check("error_data/-32001", json.RawMessage(data.String()))
	data, _ = r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "echo x; ^/bin/sh -c 'echo no >&2; exit 4'"})
	c.check("error_data/-32002", json.RawMessage(data.String()))
}

// attach attaches once more, by hand.
func (c *contract) attach(w *kit.World) {
	c.t.Helper()
	conn, err := wire.Dial(c.t.Context(), w.Paths().Socket, wire.ClientOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	defer conn.Close()
	params := kit.Args{
		"session": "other", "cwd": w.Work, "env": kit.Args{"A": "b"}, "client": kit.Args{"kind": "test", "tty": false},
	}
	c.check("methods/session.attach/params", params)
	var answer json.RawMessage
	if err := conn.Call(c.t.Context(), "session.attach", params, &answer); err != nil {
		c.t.Fatal(err)
	}
	c.check("methods/session.attach/result", answer)
	c.seen["session.attach"] = true
}

// callBlob reads what the content store holds of a large value.
func (c *contract) callBlob(w *kit.World, r *kit.Raw) {
	r.Exec(`range(0, 300000).map(x => "x").join("")`)
	hash := ""
	kit.Eventually(c.t, quick, "the value is in the content store", func() bool {
		filepath.WalkDir(filepath.Join(w.State, "blobs"), func(path string, d fs.DirEntry, err error) error {
			dir, name := filepath.Split(path) // two digits, then the rest
			if err == nil && !d.IsDir() && len(name) == 62 {
				hash = filepath.Base(dir) + name
			}
			return nil
		})
		return hash != ""
	})
	c.call(r, "blob.get", kit.Args{"hash": hash, "offset": 1, "limit": 10})
	c.call(r, "blob.get", kit.Args{"hash": "blake3:" + hash})
}

func (c *contract) callTasks(r *kit.Raw) {
	task := c.call(r, "exec", kit.Args{"src": "^/bin/sh -c 'echo out; echo err >&2; sleep 60'", "background": true}).At("task").Str()
	c.call(r, "exec", kit.Args{"src": "^/bin/sleep 0.2", "timeout_ms": 1})
	c.call(r, "task.get", kit.Args{"task": task})
	c.call(r, "task.await", kit.Args{"task": task, "timeout_ms": 1})
	c.call(r, "task.output", kit.Args{"task": task, "stream": "stdout", "offset": 0, "limit": 10})
	c.call(r, "task.list", kit.Args{"live": true})
	c.call(r, "task.suspend", kit.Args{"task": task})
	c.call(r, "task.resume", kit.Args{"task": task})
	c.call(r, "task.cancel", kit.Args{"task": task})
	c.call(r, "task.await", kit.Args{"task": task})
	c.call(r, "task.list", nil)
}

func (c *contract) callPlans(r *kit.Raw) {
	plan := c.call(r, "exec", kit.Args{"src": "touch archive/a", "mode": "plan"}).At("plan_ref").Str()
	c.call(r, "plan.get", kit.Args{"plan_ref": plan})
	c.call(r, "plan.list", nil)
	c.call(r, "cap.pending", nil)
	c.call(r, "cap.request", kit.Args{"plan_ref": plan, "effects": []string{"fs_write"}, "reason": "a test"})
	c.call(r, "cap.grant", kit.Args{"plan_ref": plan})
	c.call(r, "plan.get", kit.Args{"plan_ref": plan})
	c.call(r, "plan.apply", kit.Args{"plan_ref": plan})
	other := c.call(r, "exec", kit.Args{"src": "touch archive/b", "mode": "plan"}).At("plan_ref").Str()
	c.call(r, "cap.deny", kit.Args{"plan_ref": other, "reason": "a test"})
}

func (c *contract) callTerminals(r *kit.Raw) {
	pty := c.call(r, "pty.open", kit.Args{"cmd": "/bin/cat", "cols": 40, "rows": 5, "env": kit.Args{"A": "b"}, "record": true}).At("pty_id").Str()
	c.call(r, "pty.send", kit.Args{"pty_id": pty, "input": "hi\r"})
	wait := kit.Args{"text": "hi", "timeout_ms": 5000}
	c.call(r, "pty.send", kit.Args{"pty_id": pty, "input": []any{kit.Args{"text": "a"}}, "wait": wait})
	c.call(r, "pty.read", kit.Args{"pty_id": pty, "wait": wait, "attrs": true, "scrollback": kit.Args{"from": 0, "to": 5}})
	c.call(r, "pty.resize", kit.Args{"pty_id": pty, "cols": 50, "rows": 6})
	c.call(r, "pty.list", nil)
	c.call(r, "pty.keyboard", kit.Args{"pty_id": pty, "seconds": 5})
	c.call(r, "pty.read", kit.Args{"pty_id": pty})
	c.call(r, "pty.record", kit.Args{"pty_id": pty})
	c.call(r, "pty.close", kit.Args{"pty_id": pty})
}

func (c *contract) callEvents(r *kit.Raw) {
	c.call(r, "events.subscribe", kit.Args{"channel": "user.news", "since": 0})
	c.call(r, "events.publish", kit.Args{"channel": "user.news", "payload": kit.Args{"n": 1}})
	c.call(r, "events.publish", kit.Args{"channel": "user.news", "payload": "x"})
	kit.Eventually(c.t, quick, "the event comes", func() bool { return len(r.Events()) > 0 })
	for _, e := range r.Events() {
		c.check("event", json.RawMessage(e.String()))
	}
	c.call(r, "events.read", kit.Args{"channel": "user.news", "limit": 1, "tail": true})
	c.call(r, "events.read", kit.Args{"channel": "journal", "since": 0})
	c.call(r, "events.unsubscribe", kit.Args{"channel": "user.news"})
}
