package conformance

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// testCase is a program and what it must give. Block, Output and Notes are our
// own: the result displayed as a block, what went to the statement sink line by
// line, and the codes of notes. A mistake has a Form that its error shows, and a
// program in that form, Works, which Gives a value.
type testCase struct {
	ID            string   `json:"id"`
	Suite         string   `json:"suite"`
	Src           string   `json:"src"`
	Value         *string  `json:"value"`
	Error         string   `json:"error"`
	ErrorContains string   `json:"error_contains"`
	ParseError    bool     `json:"parse_error"`
	ParseContains string   `json:"parse_error_contains"`
	Fixture       []string `json:"fixture"`
	Skip          string   `json:"skip"`
	Block         *string  `json:"block"`
	Output        []string `json:"output"`
	Notes         []string `json:"notes"`
	Form          string   `json:"form"`
	Works         string   `json:"works"`
	Gives         *string  `json:"gives"`
}

func (c *testCase) name() string { return c.Suite + "/" + c.ID }

// readCases reads every *.jsonl of dir in name order.
func readCases(dir string) ([]testCase, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	var cases []testCase
	for _, name := range files {
		more, err := readFile(name)
		if err != nil {
			return nil, err
		}
		cases = append(cases, more...)
	}
	return cases, nil
}

func readFile(name string) ([]testCase, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var cases []testCase
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var c testCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		cases = append(cases, c)
	}
	return cases, in.Err()
}

// fill makes a case's files below dir.
func fill(dir string, names []string) error {
	for _, n := range names {
		at := filepath.Join(dir, n)
		if strings.HasSuffix(n, "/") {
			if err := os.MkdirAll(at, 0o777); err != nil {
				return err
			}
			continue
		}
		if err := os.MkdirAll(filepath.Dir(at), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(at, nil, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// caseTime is how long a case may run.
const caseTime = 10 * time.Second

// reply is what became of a program.
type reply struct {
	parse  *syntax.Error
	err    *value.Error
	value  value.Value
	output []string
	notes  []string
	// unplanned is what the run did and its plan had not said.
	unplanned string
}

// evaluate runs src in a fresh session in dir.
func evaluate(dir, src string, h *interp.Host, compiler *lang.Compiler) reply {
	var r reply
	state := interp.NewState(dir, environ())
	defer state.Close()
	program, perr := compiler.Compile(src, state)
	if perr != nil {
		r.parse = perr
		return r
	}
	var did recorder
	ctx, cancel := context.WithTimeout(context.Background(), caseTime)
	defer cancel()
	planned := program.PlanFiles(ctx, state, h.Files, nil)
	v, err := program.Run(ctx, interp.Run{
		State: state, Host: did.wrap(h),
		Sink: func(v value.Value) { r.output = append(r.output, value.Block(v, value.BlockOptions{})) },
		Note: func(n interp.Note) { r.notes = append(r.notes, n.Code) },
	})
	if effect, some := did.outside(planned.Effects); some && planned.Err == nil {
		r.unplanned = fmt.Sprintf("did %s, which is not in its plan %v", effect, planned.Effects)
	}
	if err != nil {
		e, ok := err.(*value.Error)
		if !ok {
			e = value.Errorf("not a language error", "%v", err)
		}
		r.err = e
		return r
	}
	r.value = v
	return r
}

// environ is the host's environment in UTC.
func environ() []string {
	env := slices.DeleteFunc(os.Environ(), func(kv string) bool { return strings.HasPrefix(kv, "TZ=") })
	return append(env, "TZ=UTC")
}

// judge is "" when the reply is what the case asks for, else the difference.
func (c *testCase) judge(r reply) string {
	switch {
	case r.unplanned != "":
		return r.unplanned
	case c.ParseError && r.parse == nil:
		return "got no parse error, want one: " + r.show()
	case c.ParseError:
		if !strings.Contains(r.parse.Msg, c.ParseContains) {
			return fmt.Sprintf("got parse error %q, want it to contain %q", r.parse.Msg, c.ParseContains)
		}
	case r.parse != nil:
		return fmt.Sprintf("got parse error at %d: %s (%s)", r.parse.Start, r.parse.Msg, r.parse.Hint)
	case c.Error != "" && (r.err == nil || r.err.Code != c.Error):
		return fmt.Sprintf("got %s, want error %s", r.show(), c.Error)
	case c.Error != "":
		if !strings.Contains(r.err.Msg, c.ErrorContains) && !strings.Contains(r.err.Hint, c.ErrorContains) {
			return fmt.Sprintf("got %s, want it to contain %q", r.show(), c.ErrorContains)
		}
	case r.err != nil:
		return "got " + r.show()
	case c.Value != nil && value.Inline(r.value) != *c.Value:
		return fmt.Sprintf("got %s, want %s", r.show(), *c.Value)
	case c.Block != nil && value.Block(r.value, value.BlockOptions{}) != *c.Block:
		return fmt.Sprintf("got block %q, want %q", value.Block(r.value, value.BlockOptions{}), *c.Block)
	}
	if c.Output != nil && !slices.Equal(c.Output, r.output) {
		return fmt.Sprintf("got output %q, want %q", r.output, c.Output)
	}
	if c.Notes != nil && !slices.Equal(c.Notes, r.notes) {
		return fmt.Sprintf("got notes %q, want %q", r.notes, c.Notes)
	}
	return ""
}

// shows is "" when an error shows the form of the case, and the program that
// works is written in it.
func (c *testCase) shows(r reply) string {
	text := ""
	switch {
	case r.parse != nil:
		text = r.parse.Msg + "\n" + r.parse.Hint
	case r.err != nil:
		text = r.err.Msg + "\n" + r.err.Hint
	}
	if !strings.Contains(text, c.Form) {
		return fmt.Sprintf("got %q, want it to show %q", text, c.Form)
	}
	return ""
}

// works is the case of the program that is written as the error says.
func (c *testCase) works() *testCase {
	return &testCase{ID: c.ID, Suite: c.Suite, Src: c.Works, Value: c.Gives, Fixture: c.Fixture}
}

func (r reply) show() string {
	switch {
	case r.parse != nil:
		return "parse error: " + r.parse.Msg + " (hint: " + r.parse.Hint + ")"
	case r.err != nil:
		return fmt.Sprintf("%s: %s (hint: %s)", r.err.Code, r.err.Msg, r.err.Hint)
	}
	return value.Inline(r.value)
}
