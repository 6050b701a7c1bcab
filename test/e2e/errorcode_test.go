package e2e

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
	"shoal.dev/shoal/wire"
)

// provoked is how one error code comes about, and which data must come with it.
type provoked struct {
	code messages.Code
	// by gives the error as {code, message, data}.
	by   func(w *kit.World, f *kit.Facade, r *kit.Raw) kit.Val
	data []string
}

// byTool is the error of a tool: a result that satisfies the tool's own schema.
func byTool(name string, args kit.Args) func(*kit.World, *kit.Facade, *kit.Raw) kit.Val {
	return func(_ *kit.World, f *kit.Facade, _ *kit.Raw) kit.Val {
		a := f.Tool(name, args)
		if !a.RPC.IsNull() || !a.IsError {
			f.T.Errorf("%s %v: got %v, want a result with isError", name, args, a)
			return a.RPC
		}
		checkOutput(f, name, a.Structured)
		return a.Structured
	}
}

// byFrame is the JSON-RPC error that answers a frame to the facade.
func byFrame(id, frame string) func(*kit.World, *kit.Facade, *kit.Raw) kit.Val {
	return func(_ *kit.World, f *kit.Facade, _ *kit.Raw) kit.Val {
		open := f.Expect(id)
		f.Line(frame)
		return open.Wait().Error
	}
}

// checkOutput holds structured content to the published schema of a tool, as
// strict clients do with errors too.
func checkOutput(f *kit.Facade, name string, structured kit.Val) {
	f.T.Helper()
	for _, tool := range f.Call("tools/list", kit.Args{}).Result.At("tools").List() {
		if tool.At("name").Str() != name {
			continue
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(tool.At("outputSchema").String())))
		if err != nil {
			f.T.Fatal(err)
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("tool.json", schema); err != nil {
			f.T.Fatal(err)
		}
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader([]byte(structured.String())))
		if err != nil {
			f.T.Fatal(err)
		}
		if err := c.MustCompile("tool.json").Validate(value); err != nil {
			f.T.Errorf("%s: %v\n%v", name, err, structured)
		}
		return
	}
	f.T.Errorf("no tool %s", name)
}

// byRaw is the error of a call on a raw connection, attached or not.
func byRaw(attach bool, method string, params kit.Args) func(*kit.World, *kit.Facade, *kit.Raw) kit.Val {
	return func(w *kit.World, f *kit.Facade, r *kit.Raw) kit.Val {
		var err error
		if attach {
			_, refusal := r.Call(method, params)
			if refusal != nil {
				err = refusal
			}
		} else {
			conn, fail := wire.Dial(f.T.Context(), w.Paths().Socket, wire.ClientOptions{})
			if fail != nil {
				f.T.Fatal(fail)
			}
			defer conn.Close()
			var answer json.RawMessage
			err = conn.Call(f.T.Context(), method, params, &answer)
		}
		refusal, ok := err.(*messages.Error)
		if !ok {
			f.T.Fatalf("%s: got %v, want a refusal", method, err)
		}
		return kit.Of(refusal)
	}
}

// everyCode provokes each row of the error table. INTERNAL is a fault of the
// kernel, which nobody can ask for.
var everyCode = []provoked{
	{messages.CodeParse, byFrame("null", `{oops`), nil},
	{messages.CodeInvalidRequest, byFrame("null", `[]`), nil},
	{messages.CodeMethodNotFound, byFrame(`"m"`, `{"jsonrpc":"2.0","id":"m","method":"no/such"}`), nil},
	{messages.CodeInvalidParams, byFrame(`"p"`, `{"jsonrpc":"2.0","id":"p","method":"tools/call","params":{"name":"shoal_exec","arguments":{"bogus":1}}}`), nil},
	{messages.CodeNotAttached, byRaw(false, "exec", kit.Args{"src": "1"}), nil},
	{messages.CodeParseError, byTool("shoal_exec", kit.Args{"src": "ls | wc"}), []string{"span", "line", "col", "hint"}},
	{messages.CodeRaised, byTool("shoal_exec", kit.Args{"src": "echo x; ^sh -c 'echo no >&2; exit 3'; 1"}), []string{"ref", "uri", "error", "printed", "notes"}},
	{messages.CodeUnknownRef, byTool("shoal_get", kit.Args{"ref": "out:999"}), nil},
	{messages.CodeBadPath, byTool("shoal_get", kit.Args{"ref": "out:1", "path": ".nope"}), nil},
	{messages.CodeLeashDenied, byTool("shoal_exec", kit.Args{"src": "touch secret/x"}), []string{"dimension", "effect", "target", "rule"}},
	{messages.CodeApprovalRequired, byTool("shoal_exec", kit.Args{"src": "touch archive/x"}), []string{"plan_ref", "uri", "effects"}},
	{messages.CodeUnknownPlan, byTool("shoal_apply", kit.Args{"plan_ref": "plan:ff"}), []string{"reason"}},
	{messages.CodeTaskControl, func(w *kit.World, f *kit.Facade, r *kit.Raw) kit.Val {
		pty := f.MustTool("shoal_pty_open", kit.Args{"cmd": "cat"}).Structured.At("pty_id").Str()
		r.Must("pty.keyboard", kit.Args{"pty_id": pty})
		return byTool("shoal_pty_send", kit.Args{"pty_id": pty, "input": "x"})(w, f, r)
	}, []string{"holder", "expires_ms"}},
	{messages.CodeUnknownTask, byTool("shoal_cancel", kit.Args{"task": "task:999"}), nil},
	{messages.CodeUnknownPTY, byTool("shoal_pty_read", kit.Args{"pty_id": "pty:999"}), nil},
	{messages.CodePTYSpawn, byTool("shoal_pty_open", kit.Args{"cmd": "no-such-program"}), nil},
	{messages.CodeAuthFailed, byRaw(false, "session.attach", kit.Args{"token": "nonsense"}), nil},
	{messages.CodeQuota, func(_ *kit.World, f *kit.Facade, _ *kit.Raw) kit.Val {
		var last kit.Reply
		for i := range 257 {
			last = f.Call("resources/subscribe", kit.Args{"uri": "shoal://events/user.c" + string(rune('a'+i%26)) + string(rune('a'+i/26))})
		}
		return last.Error.At("data")
	}, []string{"limit", "used"}},
	{messages.CodeInterrupted, func(w *kit.World, f *kit.Facade, _ *kit.Raw) kit.Val {
		open := f.StartTool("shoal_exec", kit.Args{"src": "sleep 60"})
		kit.Eventually(f.T, kit.Long, "it runs", func() bool { return len(f.MustRead("shoal://jobs").At("tasks").List()) > 0 })
		w.KillKernel()
		return open.WaitTool().RPC
	}, []string{"reason"}},
}

// TestEveryErrorCode: each code of the error table can be met over the wire,
// under its name and with the data that the table promises.
func TestEveryErrorCode(t *testing.T) {
	w, r := asked(t)
	f := w.Facade("main")
	f.Exec("{a: 1}")
	seen := map[messages.Code]bool{messages.CodeInternal: true}
	for _, p := range everyCode {
		seen[p.code] = true
		got := p.by(w, f, r)
		if messages.Code(got.At("code").Int()) != p.code || got.At("message").Str() == "" {
			t.Errorf("%s: got %v", p.code.Name(), got)
			continue
		}
		for _, name := range p.data {
			if !got.At("data").Has(name) {
				t.Errorf("%s: data lacks %s: %v", p.code.Name(), name, got)
			}
		}
	}
	for _, row := range messages.Codes {
		if !seen[row.Code] {
			t.Errorf("%s is never met", row.Name)
		}
	}
}
