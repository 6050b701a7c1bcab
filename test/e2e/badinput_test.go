package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// Wrong arguments of tools are JSON-RPC errors that name the property, and the
// next call works.
func TestBadToolArguments(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	for _, tc := range []struct{ tool, args, names string }{
		{"shoal_exec", `{}`, "src"},
		{"shoal_exec", `{"src":1}`, "src"},
		{"shoal_exec", `{"src":null}`, "src"},
		{"shoal_exec", `{"src":["1"]}`, "src"},
		{"shoal_exec", `{"src":"1","bogus":true}`, "bogus"},
		{"shoal_exec", `{"src":"1","Src":"2"}`, "Src"},
		{"shoal_exec", `{"src":"1","mode":"dry"}`, "mode"},
		{"shoal_exec", `{"src":"1","position":"here"}`, "position"},
		{"shoal_exec", `{"src":"1","background":"yes"}`, "background"},
		{"shoal_exec", `{"src":"1","timeout_ms":0}`, "timeout_ms"},
		{"shoal_exec", `{"src":"1","timeout_ms":-1}`, "timeout_ms"},
		{"shoal_exec", `{"src":"1","timeout_ms":1.5}`, "timeout_ms"},
		{"shoal_exec", `{"src":"1","timeout_ms":"5"}`, "timeout_ms"},
		{"shoal_exec", `{"src":"1","timeout_ms":1e400}`, "timeout_ms"},
		{"shoal_exec", `{"src":"1","timeout_ms":9223372036854775808}`, "timeout_ms"},
		{"shoal_exec", `{"src":"1","deadline_ms":0}`, "deadline_ms"},
		{"shoal_exec", `{"src":"1","request_id":"` + strings.Repeat("x", 129) + `"}`, "request_id"},
		{"shoal_exec", `{"src":"1","elide":{"max_rows":0}}`, "max_rows"},
		{"shoal_exec", `{"src":"1","elide":{"max_bits":1}}`, "max_bits"},
		{"shoal_exec", `{"src":"1","elide":5}`, "elide"},
		{"shoal_plan", `{"src":"1","mode":"run"}`, "mode"},
		{"shoal_apply", `{}`, "plan_ref"},
		{"shoal_apply", `{"plan_ref":7}`, "plan_ref"},
		{"shoal_apply", `{"plan_ref":"plan:0","effects":[]}`, "effects"},
		{"shoal_get", `{"path":".x"}`, "ref"},
		{"shoal_get", `{"ref":"out:1","slice":[1]}`, "slice"},
		{"shoal_get", `{"ref":"out:1","slice":[1,2,3]}`, "slice"},
		{"shoal_get", `{"ref":"out:1","slice":[-1,2]}`, "slice"},
		{"shoal_get", `{"ref":"out:1","slice":["a","b"]}`, "slice"},
		{"shoal_get", `{"ref":"out:1","format":"raw"}`, "format"},
		{"shoal_journal", `{"limit":0}`, "limit"},
		{"shoal_journal", `{"limit":1001}`, "limit"},
		{"shoal_journal", `{"limit":2.5}`, "limit"},
		{"shoal_journal", `{"ok":"no"}`, "ok"},
		{"shoal_journal", `{"effects":["no.such"]}`, "effects"},
		{"shoal_cancel", `{}`, "task"},
		{"shoal_cap_request", `{"plan_ref":"plan:1"}`, "effects"},
		{"shoal_cap_request", `{"effects":[]}`, "plan_ref"},
		{"shoal_pty_open", `{}`, "cmd"},
		{"shoal_pty_open", `{"cmd":"sh","cols":0}`, "cols"},
		{"shoal_pty_open", `{"cmd":"sh","rows":1001}`, "rows"},
		{"shoal_pty_open", `{"cmd":"sh","env":{"A":1}}`, "A"},
		{"shoal_pty_send", `{"pty_id":"pty:1"}`, "input"},
		{"shoal_pty_resize", `{"pty_id":"pty:1","cols":80}`, "rows"},
		{"shoal_pty_list", `{"all":true}`, "all"},
	} {
		t.Run(tc.tool+" "+tc.args[:min(len(tc.args), 60)], func(t *testing.T) {
			a := f.Tool(tc.tool, json.RawMessage(tc.args))
			if a.RPC.At("code").Int() != int64(messages.CodeInvalidParams) || !strings.Contains(a.RPC.At("message").Str(), tc.names) {
				t.Errorf("got %v, want -32602 that names %s", a, tc.names)
			}
		})
	}
	if got := strings.TrimSpace(f.Exec("1 + 1").Text); got != "2" {
		t.Errorf("afterwards: got %q, want 2", got)
	}
	for _, args := range []string{`[1]`, `"x"`, `5`} {
		if a := f.Tool("shoal_exec", json.RawMessage(args)); a.RPC.IsNull() {
			t.Errorf("arguments %s: got %v, want a JSON-RPC error", args, a)
		}
	}
	if a := f.Tool("shoal_nothing", kit.Args{}); a.RPC.At("code").Int() != int64(messages.CodeInvalidParams) {
		t.Errorf("unknown tool: got %v, want -32602", a)
	}
}

// What does not exist has its own code, everywhere.
func TestUnknownRefs(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	f.Exec("1")
	for _, tc := range []struct {
		tool string
		args kit.Args
		code messages.Code
	}{
		{"shoal_get", kit.Args{"ref": "out:999"}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": "out:0"}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": "out:18446744073709551616"}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": "out:-1"}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": ""}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": "nonsense"}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": "val:blake3:" + strings.Repeat("0", 64)}, messages.CodeUnknownRef},
		{"shoal_get", kit.Args{"ref": "task:999"}, messages.CodeUnknownTask},
		{"shoal_get", kit.Args{"ref": "out:1", "path": ".x"}, messages.CodeBadPath},
		{"shoal_get", kit.Args{"ref": "out:1", "path": "x["}, messages.CodeBadPath},
		{"shoal_get", kit.Args{"ref": "out:1", "slice": []int{0, 1}}, messages.CodeBadPath},
		{"shoal_apply", kit.Args{"plan_ref": "plan:7b2fd854cb805ba1"}, messages.CodeUnknownPlan},
		{"shoal_apply", kit.Args{"plan_ref": "shoal://plan/7b2fd854cb805ba1"}, messages.CodeUnknownPlan},
		{"shoal_cap_request", kit.Args{"plan_ref": "plan:7b2fd854cb805ba1", "effects": []string{"fs.read"}}, messages.CodeUnknownPlan},
		{"shoal_cancel", kit.Args{"task": "task:999"}, messages.CodeUnknownTask},
		{"shoal_cancel", kit.Args{"task": "9"}, messages.CodeUnknownTask},
		{"shoal_cancel", kit.Args{"task": "task:-1"}, messages.CodeUnknownTask},
		{"shoal_pty_read", kit.Args{"pty_id": "pty:999"}, messages.CodeUnknownPTY},
		{"shoal_pty_send", kit.Args{"pty_id": "pty:999", "input": "x"}, messages.CodeUnknownPTY},
		{"shoal_pty_resize", kit.Args{"pty_id": "pty:999", "cols": 80, "rows": 24}, messages.CodeUnknownPTY},
		{"shoal_pty_close", kit.Args{"pty_id": "pty:999"}, messages.CodeUnknownPTY},
		{"shoal_pty_open", kit.Args{"cmd": "no-such-program-anywhere"}, messages.CodePTYSpawn},
		{"shoal_pty_open", kit.Args{"cmd": "sh", "cwd": "/no/such/dir"}, messages.CodePTYSpawn},
		{"shoal_exec", kit.Args{"src": "1 +"}, messages.CodeParseError},
		{"shoal_exec", kit.Args{"src": "ls | wc -l"}, messages.CodeParseError},
		{"shoal_exec", kit.Args{"src": "no-such-program-anywhere"}, messages.CodeRaised},
	} {
		a := f.Tool(tc.tool, tc.args)
		if !a.IsError || a.Code() != tc.code || a.Structured.At("data", "name").Str() != tc.code.Name() || a.Structured.At("message").Str() == "" {
			t.Errorf("%s %v: got %v, want %d as a tool error", tc.tool, tc.args, a, tc.code)
		}
	}
	for uri, code := range map[string]int64{
		"shoal://out/999":                       -32002,
		"shoal://task/999":                      -32002,
		"shoal://task/999/out":                  -32002,
		"shoal://plan/7b2fd854cb805ba1":         -32002,
		"shoal://pty/999":                       -32002,
		"shoal://val/" + strings.Repeat("0", 9): -32002,
		"shoal://nowhere":                       -32002,
		"http://example.com/":                   -32002,
		"":                                      -32002,
		"shoal://out/1?path=.x":                 -32602,
		"shoal://out/1?slice=a":                 -32602,
		"shoal://out/1?format=yaml":             -32602,
		"shoal://journal?limit=many":            -32602,
		"shoal://journal?nonsense=1":            -32602,
		"shoal://events/journal?since=-1":       -32602,
		"shoal://events/jobs?since=0":           -32602,
	} {
		_, refused := f.Read(uri)
		if refused.At("code").Int() != code {
			t.Errorf("read %q: got %v, want code %d", uri, refused, code)
		}
		if r := f.Call("resources/subscribe", kit.Args{"uri": uri}); r.Error.IsNull() {
			t.Errorf("subscribe %q: got %s, want an error", uri, r.Line)
		}
	}
	if got := strings.TrimSpace(f.Exec("1 + 1").Text); got != "2" {
		t.Errorf("afterwards: got %q, want 2", got)
	}
}

// Broken frames get the answer that the protocol has for them, and the
// connection lives on.
func TestBadFrames(t *testing.T) {
	w, _ := served(t)
	attach := `{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{}}`
	l := w.Lines()
	for _, tc := range []struct {
		line string
		code messages.Code
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"exec","params":{"src":"1"}}`, messages.CodeNotAttached},
		{`{"jsonrpc":"2.0","id":1,"method":"exec","params":5}`, messages.CodeNotAttached},
		{`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"session":".hidden"}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"session":"` + strings.Repeat("a", 65) + `"}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"session":"a/b"}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"bogus":1}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{"token":"nonsense"}}`, messages.CodeAuthFailed},
		{`{`, messages.CodeParse},
		{`{"jsonrpc":"2.0","id":1,"method":"exec","params":{"src":"1"`, messages.CodeParse},
		{"\xff\xfe", messages.CodeParse},
		{`[]`, messages.CodeInvalidRequest},
		{`[{"jsonrpc":"2.0","id":1,"method":"kernel.info"}]`, messages.CodeInvalidRequest},
		{`5`, messages.CodeInvalidRequest},
		{`"x"`, messages.CodeInvalidRequest},
		{`null`, messages.CodeInvalidRequest},
		{`{"jsonrpc":"2.0","id":1}`, messages.CodeInvalidRequest},
	} {
		got := l.Ask(tc.line)
		if got.At("error", "code").Int() != int64(tc.code) {
			t.Errorf("%.80q: got %v, want %d", tc.line, got, tc.code)
		}
		if tc.code == messages.CodeParse && (!got.Has("id") || !got.At("id").IsNull()) {
			t.Errorf("%.80q: got id %v, want null", tc.line, got.At("id"))
		}
	}
	if got := l.Ask(attach); got.At("result", "session").Str() != "default" {
		t.Fatalf("attach: got %v", got)
	}
	for _, tc := range []struct {
		line string
		code messages.Code
	}{
		{`{"jsonrpc":"2.0","id":"é","method":"no.such"}`, messages.CodeMethodNotFound},
		{`{"jsonrpc":"2.0","id":9007199254740993,"method":"exec","params":{"src":1}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":{"a":[1]},"method":"exec","params":{}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"exec","params":{"src":"1","timeout_ms":1e400}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"exec","params":{"src":"1","timeout_ms":9223372036854775808}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"exec","params":{"src":"1","timeout_ms":-1}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"exec","params":{"src":"1","timeout_ms":2.5}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"exec","params":{"src":"1","SRC":"2"}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"exec","params":[]}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"events.read","params":{"channel":"user.x","since":-1}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"events.read","params":{"channel":"nonsense"}}`, messages.CodeInvalidParams},
		{`{"jsonrpc":"2.0","id":3,"method":"events.publish","params":{"channel":"journal","payload":1}}`, messages.CodeLeashDenied},
		{`{"jsonrpc":"2.0","id":3,"method":"blob.get","params":{"hash":"../../etc/passwd"}}`, messages.CodeUnknownRef},
		{`{"jsonrpc":"2.0","id":3,"method":"session.attach","params":{}}`, messages.CodeInvalidRequest},
	} {
		got := l.Ask(tc.line)
		if got.At("error", "code").Int() != int64(tc.code) {
			t.Errorf("%.90q: got %v, want %d", tc.line, got, tc.code)
		}
		var sent struct {
			ID json.RawMessage `json:"id"`
		}
		if json.Unmarshal([]byte(tc.line), &sent) == nil && got.At("id").String() != kit.Parse(sent.ID).String() {
			t.Errorf("%.90q: got id %v, want %s", tc.line, got.At("id"), sent.ID)
		}
	}
	if got := l.Ask(`{"jsonrpc":"2.0","id":5,"method":"exec","params":{"src":"1 + 1","position":"value"}}`); got.At("result", "value", "v").Int() != 2 {
		t.Errorf("afterwards: got %v, want 2", got)
	}
}

// A line over 16 MiB is refused without being kept, on the socket and over
// stdio; the kernel and the facade go on.
func TestOversizedLine(t *testing.T) {
	w, r := served(t)
	pid := w.KernelPID()
	before := kit.Resident(pid)
	big := strings.Repeat("x", 17<<20)
	l := w.Lines()
	l.Ask(`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{}}`)
	if err := l.Send(`{"jsonrpc":"2.0","id":2,"method":"exec","params":{"src":"` + big + `"}}`); err != nil {
		t.Logf("send: %v (the kernel may hang up early)", err)
	}
	if got, err := l.Next(); err != nil || got.At("error", "code").Int() != int64(messages.CodeInvalidRequest) {
		t.Errorf("oversized: got %v %v, want -32600", got, err)
	}
	if v, err := l.Next(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("after an oversized line: got %v %v, want the end", v, err)
	}
	f := w.Facade("main")
	f.Line(`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"` + big + `"}}}`)
	if got := strings.TrimSpace(f.Exec("1 + 1").Text); got != "2" {
		t.Errorf("facade afterwards: got %q, want 2", got)
	}
	kit.Eventually(t, quick, "an error for the oversized line", func() bool {
		for _, stray := range f.Strays() {
			if strings.Contains(stray, "-32600") || strings.Contains(stray, "-32700") {
				return true
			}
		}
		return false
	})
	if got := r.Render("1 + 1"); got != "2" {
		t.Errorf("kernel afterwards: got %s", got)
	}
	if grown := kit.Resident(pid) - before; grown > 64<<20 && !kit.Raced() {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
	// Just under the limit is a fine line.
	src := "'" + strings.Repeat("y", 15<<20) + "'.len()"
	if got := r.Render(src); got != fmt.Sprint(15<<20) {
		t.Errorf("a long source: got %.40s", got)
	}
}

// Broken frames over stdio are answered, and the facade goes on.
func TestBadStdio(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	for _, line := range []string{"{", "\xff\xfe\xfd", `{"jsonrpc":"2.0","id":`, "[]", "42", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"1`} {
		before := len(f.Strays())
		f.Line(line)
		kit.Eventually(t, quick, fmt.Sprintf("an error for %q", line), func() bool { return len(f.Strays()) > before })
		stray := kit.Parse([]byte(f.Strays()[before]))
		if code := stray.At("error", "code").Int(); code != int64(messages.CodeParse) && code != int64(messages.CodeInvalidRequest) {
			t.Errorf("%q: got %v, want -32700 or -32600", line, stray)
		}
	}
	f.Line("") // a blank line is nothing
	if got := strings.TrimSpace(f.Exec("1 + 1").Text); got != "2" {
		t.Errorf("afterwards: got %q, want 2", got)
	}
	for _, m := range []string{"no/such", "tools/nothing"} {
		if r := f.Call(m, kit.Args{}); r.Error.At("code").Int() != int64(messages.CodeMethodNotFound) {
			t.Errorf("%s: got %s, want -32601", m, r.Line)
		}
	}
	// Half a line at the end of the input is no request.
	if status := f.Close(); status != 0 {
		t.Errorf("exit status: got %d, want 0", status)
	}
}

// A client that vanishes while it is answered costs nothing.
func TestClosedPipe(t *testing.T) {
	w, r := served(t)
	r.Exec("1")
	pid := w.KernelPID()
	files := kit.Descriptors(pid)
	for range repeat(20) {
		l := w.Lines()
		l.Send(`{"jsonrpc":"2.0","id":1,"method":"session.attach","params":{}}`)
		for i := range 20 {
			l.Send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"exec","params":{"src":"range(0, 2000).map(x => x)","position":"value"}}`, i+2))
		}
		l.Send(`{"jsonrpc":"2.0","id":99,"method":"events.subscribe","params":{"channel":"journal"}}`)
		l.Close()
	}
	if got := r.Render("1 + 1"); got != "2" {
		t.Errorf("got %s, want 2", got)
	}
	kit.Eventually(t, quick, "the descriptors are closed again", func() bool { return kit.Descriptors(pid) <= files+2 })
}

// A state directory that cannot be written is said at the start.
func TestReadOnlyState(t *testing.T) {
	w := world(t)
	if os.Geteuid() == 0 {
		w.AsUser(strangerUID)
	}
	if err := os.MkdirAll(w.State, 0o500); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		os.Chown(w.State, strangerUID, strangerUID)
	}
	k, line := w.TryKernel()
	if !strings.Contains(line, "error:") || !strings.Contains(line, w.State) {
		t.Errorf("got %q, want an error that names %s", line, w.State)
	}
	if status := k.Status(); status != 1 {
		t.Errorf("exit status: got %d, want 1", status)
	}
	f := w.StartFacade("main")
	r := f.Call("initialize", kit.Args{"protocolVersion": kit.Revision, "capabilities": kit.Args{}, "clientInfo": kit.Args{"name": "t", "version": "1"}})
	if r.Error.IsNull() || !strings.Contains(r.Error.At("message").Str(), w.State) {
		t.Errorf("initialize: got %s, want an error that names the directory", r.Line)
	}
	if status := f.Close(); status != 1 {
		t.Errorf("facade's exit status: got %d, want 1", status)
	}
	if err := os.Chmod(w.State, 0o700); err != nil {
		t.Fatal(err)
	}
	w.Facade("main").Exec("1")
}

// A full disk: what cannot be kept is not acknowledged, what is kept stays, and
// with room again a new kernel goes on.
func TestFullState(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounting a small tmpfs needs root")
	}
	w := world(t)
	if err := os.MkdirAll(w.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", w.State, "tmpfs", 0, "size=24m,mode=0700"); err != nil {
		t.Skipf("mounting a small tmpfs: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(w.State, syscall.MNT_DETACH) })
	w.StartKernel()
	r := w.Raw("main")
	r.Exec("let kept = 42")
	filler := filepath.Join(w.State, "filler")
	if err := fill(filler); err == nil {
		t.Fatal("the file system does not fill up")
	}
	refused := false
	for i := range 200 {
		_, err := r.Call("exec", kit.Args{"src": fmt.Sprintf("let x%d = \"%s\"", i, strings.Repeat("z", 30000)), "position": "value"})
		if err != nil {
			if !strings.Contains(err.Message, "no space") && !strings.Contains(err.Message, "journal") {
				t.Errorf("got %v, want an error about the journal or the space", err)
			}
			refused = true
			break
		}
	}
	if !refused {
		t.Fatal("everything was acknowledged on a full disk")
	}
	_, again := r.Call("exec", kit.Args{"src": "let y = 1", "position": "value"})
	if again == nil {
		t.Error("after a failed write something was acknowledged")
	}
	r.Must("kernel.info", kit.Args{})
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	r.Close()
	w.StopKernel()
	w.StartKernel()
	if got := w.Raw("main").Render("kept"); got != "42" {
		t.Errorf("kept: got %s, want 42", got)
	}
}

// fill writes until there is no room.
func fill(path string) error {
	out, err := os.Create(path)
	if err != nil {
		return err
	}
	defer out.Close()
	for size := 64 << 10; size >= 512; {
		if _, err := out.Write(make([]byte, size)); err != nil {
			size /= 2
			if size < 512 {
				return err
			}
		}
	}
	return nil
}
