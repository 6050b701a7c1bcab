package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// fixture is a session in which the refs of the reference pages exist: out:17
// and out:41 are tables, task:9 runs cargo, pty:3 runs python3.
type fixture struct {
	*kit.Facade
	w    *kit.World
	gate string // cargo ends when this file exists
}

func newFixture(t *testing.T) fixture {
	t.Helper()
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("report.csv", "name,count\nalpha,3\n")
	w.Write("archive/.keep", "")
	w.Write("src/Cargo.toml", "[package]\n")
	w.Write("src/main.rs", "fn main() {}\n")
	gate := w.Root + "/gate"
	w.Stub("cargo", `echo "running $*"; while [ ! -e `+gate+` ]; do sleep 0.02; done; echo "test result: ok"`+"\n")
	w.Stub("some-command", `[ "$1" = --json ] && echo '{"items": [1, 2]}'`+"\n")
	f := fixture{w.Facade("main"), w, gate}
	for range 8 {
		f.Exec("0")
	}
	got := f.Exec("cargo test --workspace", kit.Args{"position": "value", "background": true})
	if got.Structured.String() != `{"events":"task.9","task":"task:9"}` {
		t.Fatalf("background: got %v, want task:9 and task.9", got.Structured)
	}
	f.upTo("out:16")
	f.Exec("ls src")
	f.upTo("out:40")
	f.Exec(`range(0, 120).map(i => {name: "f{i}", size: i * 1b}).collect()`)
	return f
}

// upTo evaluates until the newest ref is the one given.
func (f fixture) upTo(ref string) {
	f.T.Helper()
	for f.Exec("0").Structured.At("ref").Str() != ref {
	}
}

// The envelope of a result and of a kernel error.
func TestReferenceEnvelope(t *testing.T) {
	w := world(t)
	w.Policy(askPolicy(w))
	f := w.Facade("main")
	r := f.Call("tools/call", kit.Args{"name": "shoal_exec", "arguments": kit.Args{"src": "6 * 7"}})
	content := r.Result.At("content")
	if content.At(0, "type").Str() != "text" || content.At(0, "text").Str() != "42" ||
		content.At(1, "type").Str() != "resource_link" || content.At(1, "uri").Str() != "shoal://out/1" || len(content.List()) != 2 {
		t.Errorf("content: got %v", content)
	}
	s := r.Result.At("structuredContent")
	if s.At("ref").Str() != "out:1" || s.At("uri").Str() != "shoal://out/1" || s.At("value").String() != `{"$":"int","v":42}` || s.At("render").Str() != "42" {
		t.Errorf("structuredContent: got %v", s)
	}
	if !r.Result.Has("isError") || r.Result.At("isError").Bool() {
		t.Errorf("isError: got %v, want false", r.Line)
	}
	w.Write("archive/.keep", "")
	r = f.Call("tools/call", kit.Args{"name": "shoal_exec", "arguments": kit.Args{"src": "touch archive/x"}})
	s = r.Result.At("structuredContent")
	if s.At("code").Int() != -32011 || s.At("message").Str() == "" || !strings.HasPrefix(s.At("data", "plan_ref").Str(), "plan:") || !r.Result.At("isError").Bool() || !r.Error.IsNull() {
		t.Errorf("kernel error: got %s", r.Line)
	}
	if text := kit.Parse([]byte(r.Result.At("content", 0, "text").Str())); text.String() != s.String() {
		t.Errorf("text: got %v, want the error's compact JSON %v", text, s)
	}
}

// Executions of the pages.
func TestReferenceExec(t *testing.T) {
	w := world(t)
	w.Write("src/Cargo.toml", "[package]\n")
	w.Write("report.csv", "x\n")
	w.Stub("some-command", `[ "$1" = --json ] && echo '{"items": [1, 2]}'`+"\n")
	f := w.Facade("main")
	got := f.Exec("{cwd: (pwd), files: (ls .).take(20)}", kit.Args{"position": "value", "elide": kit.Args{"max_rows": 20, "max_bytes": 8192}}).Structured
	if v := got.At("value", "v"); v.At("cwd", "v").Str() != w.Work || len(v.At("files", "v").List()) != 2 {
		t.Errorf("inspect: got %v", got)
	}
	got = f.Exec("(ls .).where(.type == 'file')", kit.Args{
		"mode": "run", "position": "value", "background": false, "timeout_ms": 5000,
		"elide": kit.Args{"max_bytes": 8192, "max_rows": 100, "max_items": 500},
	}).Structured
	if v := got.At("value"); len(v.At("v").List()) != 1 || v.At("v", 0, "v", "name", "v").Str() != "report.csv" {
		t.Errorf("where: got %v", got)
	}
	if got = f.Exec("^false", kit.Args{"position": "value"}).Structured; got.At("value", "ok").Bool() || got.At("value", "status").Int() != 1 {
		t.Errorf("value position: got %v, want an inspectable failure", got)
	}
	if a := f.Tool("shoal_exec", kit.Args{"src": "^false", "position": "stmt"}); a.Code() != messages.CodeRaised || a.Structured.At("data", "error", "code").Str() != "cmd_failed" {
		t.Errorf("statement position: got %v, want cmd_failed", a)
	}
	if a := f.Tool("shoal_exec", kit.Args{"src": "^false\n42"}); a.Code() != messages.CodeRaised {
		t.Errorf("failed first statement: got %v, want it to raise", a)
	}
	if got = f.Exec("let probe = (^false)\n{ probe, answer: 42 }").Structured; got.At("value", "v", "answer", "v").Int() != 42 || got.At("value", "v", "probe", "ok").Bool() {
		t.Errorf("captured failure: got %v", got)
	}
	got = f.Exec("range(0, 100000).collect()", kit.Args{"elide": kit.Args{"max_items": 20, "max_bytes": 4096}}).Structured
	if v := got.At("value"); v.At("$").Str() != "ref" || v.At("n").Int() != 100000 || v.At("of").Str() != "list" || v.At("uri").Str() != got.At("uri").Str() || len(v.At("preview").List()) != 5 && len(v.At("preview", "v").List()) != 5 {
		t.Errorf("elided: got %.600v", got)
	}
	if !got.At("truncated").Bool() {
		t.Errorf("elided: got truncated %v", got.At("truncated"))
	}
	if n := f.MustTool("shoal_get", kit.Args{"ref": got.At("ref").Str(), "slice": []int{99990, 100000}, "elide": kit.Args{"max_items": 10000}}); n.Structured.At("value", "v", 9, "v").Int() != 99999 {
		t.Errorf("slice of the elided list: got %v", n)
	}
	for src, want := range map[string]string{
		`(ls .).where(.type == "file").map({name: .name, size: .size})`:                                                                                                                       `report.csv`,
		"let probe = (^some-command --json)\nif probe.ok { probe.out.items } else { {status: probe.status, stderr: probe.stderr} }":                                                           "1",
		"let files = (ls src).where(.type == \"file\")\n{\n  total: files.len(),\n  largest: files.sort_by(.size).reverse().take(10),\n  has_manifest: files.any(.name == \"Cargo.toml\")\n}": "true",
	} {
		if a := f.Exec(src); !strings.Contains(a.Text, want) {
			t.Errorf("%s: got %q, want it to contain %q", src, a.Text, want)
		}
	}
	r := w.Raw("main").Must("exec", kit.Args{"src": "cp ./report.csv ./src/report.csv", "mode": "plan", "position": "value"})
	if p := f.MustTool("shoal_plan", kit.Args{"src": "cp ./report.csv ./src/report.csv"}).Structured; p.At("effects").String() != r.At("effects").String() || p.At("reversibility").String() != r.At("reversibility").String() {
		t.Errorf("shoal_plan: got %v, want what exec gives: %v", p, r)
	}
}

// Retrieval from refs that exist.
func TestReferenceRetrieval(t *testing.T) {
	f := newFixture(t)
	if v := f.MustTool("shoal_get", kit.Args{"ref": "out:17", "path": ".rows[0].name", "elide": kit.Args{"max_bytes": 2048}}).Structured; v.At("ref").Str() != "out:17" || v.At("value", "v").Str() != "Cargo.toml" {
		t.Errorf("out:17: got %v", v)
	}
	if v := f.MustTool("shoal_get", kit.Args{"ref": "out:41", "path": ".rows[0].name"}).Structured; v.At("value", "v").Str() != "f0" {
		t.Errorf("out:41 .rows[0].name: got %v", v)
	}
	if v := f.MustTool("shoal_get", kit.Args{"ref": "out:41", "path": ".size", "slice": []int{0, 50}}).Structured; len(v.At("value", "v").List()) != 50 || v.At("value", "v", 49, "v").Int() != 49 {
		t.Errorf("out:41 .size: got %v", v)
	}
	if v := f.MustRead("shoal://out/41?path=.rows[0].name"); v.At("value", "v").Str() != "f0" {
		t.Errorf("resource: got %v", v)
	}
	if v := f.MustRead("shoal://out/41?path=.rows&slice=50..100"); v.At("value", "n").Int() != 50 && len(v.At("value", "v").List()) != 50 {
		t.Errorf("rows 50..100: got %.300v", v)
	}
	if text := f.ReadText("shoal://out/41?path=.name&slice=0..2&format=render"); !strings.Contains(text, "f1") {
		t.Errorf("render: got %q", text)
	}
	big := f.Exec("sh { seq 1 30000 }").Link
	raw := f.ReadText(big + "?path=.stdout&slice=0..4096&format=raw")
	if len(raw) != 4096 || !strings.HasPrefix(raw, "1\n2\n") {
		t.Errorf("raw: got %d bytes", len(raw))
	}
	if _, refused := f.Read(big + "?path=.stdout&format=raw"); refused.At("data", "code").Int() != int64(messages.CodeBadPath) || refused.At("data", "data", "len").Int() != 168894 {
		t.Errorf("raw without a slice: got %v, want -32005 with the length", refused)
	}
	// Paths never evaluate, whatever they look like.
	for _, path := range []string{"[-1]", ".name()", ".rows[0].name.len()", ".{name}", ".rows[", "..", ".rows[5..2]", ".rows[500]"} {
		if a := f.Tool("shoal_get", kit.Args{"ref": "out:41", "path": path}); a.Code() != messages.CodeBadPath {
			t.Errorf("path %q: got %v, want -32005", path, a)
		}
	}
	for _, uri := range []string{"shoal://events/session.transcript?since=52", "shoal://events/journal?since=80"} {
		if v := f.MustRead(uri); v.At("channel").Str() == "" || !v.Has("latest_seq") {
			t.Errorf("%s: got %v", uri, v)
		}
	}
	journal := f.MustTool("shoal_journal", kit.Args{
		"since": 1200, "until": 1800, "principal": "agent:reviewer", "ok": false, "effects": []string{"proc.spawn"}, "head": "git", "limit": 50,
	}).Structured
	if !journal.Has("entries") || len(journal.At("entries").List()) != 0 {
		t.Errorf("journal: got %v, want no entries", journal)
	}
	if n := len(f.MustTool("shoal_journal", kit.Args{"head": "cargo", "effects": []string{"proc.spawn"}}).Structured.At("entries").List()); n != 1 {
		t.Errorf("journal of cargo: got %d entries, want 1", n)
	}
	open(t, f.gate)
	f.AwaitEnd("task:9")
}

// Background work of the pages, with a cargo that ends when it is told to.
func TestReferenceTasks(t *testing.T) {
	f := newFixture(t)
	if rec := f.MustRead("shoal://task/9"); rec.At("task").Str() != "task:9" || rec.At("state").Str() != "running" {
		t.Errorf("record: got %v, want it running", rec)
	}
	if r := f.Call("resources/subscribe", kit.Args{"uri": "shoal://task/9"}); !r.Error.IsNull() {
		t.Fatalf("subscribe: %v", r.Error)
	}
	kit.Eventually(t, quick, "output while it runs", func() bool {
		return strings.Contains(f.ReadText("shoal://task/9/stdout"), "running test --workspace")
	})
	if v := f.MustRead("shoal://task/9/out"); v.At("value", "v", "state", "v").Str() != "running" && v.At("state").Str() != "running" {
		t.Errorf("out while it runs: got %v, want the record", v)
	}
	over := f.Exec("cargo test --workspace", kit.Args{"position": "value", "timeout_ms": 5000}).Structured
	second := over.At("task").Str()
	if !over.At("timed_out").Bool() || over.At("events").Str() != "task."+strings.TrimPrefix(second, "task:") {
		t.Errorf("budget: got %v, want a task that timed out", over)
	}
	if got := f.MustTool("shoal_cancel", kit.Args{"task": second}).Structured; got.At("task").Str() != second || got.At("state").Str() == "" {
		t.Errorf("cancel: got %v", got)
	}
	if rec := f.AwaitEnd(second); rec.At("state").Str() != "cancelled" {
		t.Errorf("cancelled: got %v", rec)
	}
	open(t, f.gate)
	kit.Eventually(t, quick, "the notice of the end", func() bool {
		for _, n := range f.Updates("shoal://task/9") {
			if n.At("payload", "state").Str() == "completed" {
				return true
			}
		}
		return false
	})
	if v := f.MustRead("shoal://task/9/out"); !strings.Contains(v.String(), "test result: ok") {
		t.Errorf("out: got %v", v)
	}
	if v := f.MustRead("shoal://task/9/out?path=.status"); v.At("value", "v").Int() != 0 {
		t.Errorf("status: got %v", v)
	}
	if got := f.MustTool("shoal_cancel", kit.Args{"task": "task:9"}).Structured; got.At("state").Str() != "completed" {
		t.Errorf("cancel of a finished task: got %v, want its state", got)
	}
	within := f.Exec("cargo test --workspace", kit.Args{"position": "value", "timeout_ms": 5000}).Structured
	if within.Has("timed_out") || within.At("value", "status").Int() != 0 {
		t.Errorf("within the budget: got %v, want the result", within)
	}
}

// Refs of the pages that do not exist get the code that the pages name.
func TestReferenceUnknown(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	for _, tc := range []struct {
		tool string
		args kit.Args
		code messages.Code
	}{
		{"shoal_get", kit.Args{"ref": "out:41", "path": ".rows[0].name"}, -32004},
		{"shoal_get", kit.Args{"ref": "out:17", "path": ".rows[0].name", "elide": kit.Args{"max_bytes": 2048}}, -32004},
		{"shoal_cap_request", kit.Args{"plan_ref": "plan:7b2fd854cb805ba1", "effects": []string{"fs.read", "fs.write"}}, -32012},
		{"shoal_cap_request", kit.Args{"plan_ref": "plan:7b2fd854cb805ba1", "effects": []string{"fs.write", "proc.spawn"}}, -32012},
		{"shoal_apply", kit.Args{"plan_ref": "plan:7b2fd854cb805ba1"}, -32012},
		{"shoal_cancel", kit.Args{"task": "task:9"}, -32021},
		{"shoal_pty_read", kit.Args{"pty_id": "pty:3"}, -32022},
		{"shoal_pty_send", kit.Args{"pty_id": "pty:3", "input": []any{"print(6 * 7)", kit.Args{"key": "Enter"}}}, -32022},
		{"shoal_pty_resize", kit.Args{"pty_id": "pty:3", "cols": 120, "rows": 40}, -32022},
		{"shoal_pty_close", kit.Args{"pty_id": "pty:3"}, -32022},
	} {
		if a := f.Tool(tc.tool, tc.args); a.Code() != tc.code || !a.IsError {
			t.Errorf("%s %v: got %v, want %d", tc.tool, tc.args, a, tc.code)
		}
	}
	for _, uri := range []string{"shoal://out/41?path=.rows[0].name", "shoal://task/9", "shoal://task/9/out?path=.status", "shoal://plan/7b2fd854cb805ba1"} {
		_, refused := f.Read(uri)
		if refused.At("code").Int() != -32002 || !strings.HasPrefix(refused.At("message").Str(), "kernel error:") || refused.At("data", "code").IsNull() {
			t.Errorf("%s: got %v", uri, refused)
		}
	}
}

// The terminal of the pages: python3 as pty:3.
func TestReferenceTerminal(t *testing.T) {
	python(t)
	w := world(t)
	f := w.Facade("main")
	for range 2 {
		f.MustTool("shoal_pty_open", kit.Args{"cmd": "cat"})
	}
	opened := f.MustTool("shoal_pty_open", kit.Args{"cmd": "python3", "args": []string{"-q"}, "cols": 100, "rows": 30, "env": kit.Args{"PYTHONUNBUFFERED": "1", "TERM": "xterm-256color"}}).Structured
	if opened.At("pty_id").Str() != "pty:3" || opened.At("uri").Str() != "shoal://pty/3" || !opened.At("alive").Bool() || opened.At("cmd").Str() != "python3" ||
		opened.At("args", 0).Str() != "-q" || opened.At("cols").Int() != 100 || opened.At("rows").Int() != 30 || !kit.Alive(int(opened.At("pid").Int())) {
		t.Fatalf("open: got %v", opened)
	}
	await := func(wait kit.Args) kit.Val {
		t.Helper()
		wait["timeout_ms"] = 20000
		s := f.MustTool("shoal_pty_read", kit.Args{"pty_id": "pty:3", "wait": wait}).Structured
		if !s.At("wait", "met").Bool() {
			t.Errorf("wait %v: got %v", wait, s)
		}
		return s
	}
	await(kit.Args{"text": ">>>"})
	sent := f.MustTool("shoal_pty_send", kit.Args{"pty_id": "pty:3", "input": []any{"print(6 * 7)", kit.Args{"key": "Enter"}}}).Structured
	if sent.At("bytes_sent").Int() != 13 {
		t.Errorf("send: got %v, want 13 bytes", sent)
	}
	s := await(kit.Args{"regex": `(?m)^42$`})
	if rows := s.At("screen").Strs(); len(rows) != 30 || !s.At("alive").Bool() || !s.At("exit").IsNull() || s.At("cursor", "row").Int() < 0 || s.At("pid").Int() != opened.At("pid").Int() {
		t.Errorf("screen: got %v", s)
	}
	kit.Eventually(t, quick, "an unchanged screen", func() bool {
		return !f.MustTool("shoal_pty_read", kit.Args{"pty_id": "pty:3"}).Structured.At("changed").Bool()
	})
	f.MustTool("shoal_pty_send", kit.Args{"pty_id": "pty:3", "input": kit.Args{"text": "print('verbatim')"}})
	f.MustTool("shoal_pty_send", kit.Args{"pty_id": "pty:3", "input": []any{kit.Args{"bytes": base64.StdEncoding.EncodeToString([]byte("\r"))}}})
	await(kit.Args{"regex": `(?m)^verbatim$`})
	for _, input := range []any{kit.Args{"bytes": "base64-encoded-bytes"}, kit.Args{"key": "Hyper-X"}, kit.Args{"keys": "Enter"}, kit.Args{}, 5, []any{"typed", kit.Args{"key": "nope"}}} {
		if a := f.Tool("shoal_pty_send", kit.Args{"pty_id": "pty:3", "input": input}); a.Code() != messages.CodeInvalidParams {
			t.Errorf("input %v: got %v, want -32602", input, a)
		}
	}
	resized := f.MustTool("shoal_pty_resize", kit.Args{"pty_id": "pty:3", "cols": 120, "rows": 40}).Structured
	if resized.String() != `{"cols":120,"pty_id":"pty:3","rows":40}` {
		t.Errorf("resize: got %v", resized)
	}
	list := f.MustTool("shoal_pty_list", kit.Args{}).Structured.At("ptys").List()
	if len(list) != 3 || list[0].At("pty_id").Str() != "pty:1" || list[2].At("cols").Int() != 120 || list[2].Has("screen") {
		t.Errorf("list: got %v", list)
	}
	if v := f.MustRead("shoal://pty/3"); v.At("pty_id").Str() != "pty:3" || len(v.At("screen").List()) != 40 {
		t.Errorf("resource: got %v", v)
	}
	f.MustTool("shoal_pty_send", kit.Args{"pty_id": "pty:3", "input": []any{kit.Args{"key": "Ctrl-D"}}})
	if s := await(kit.Args{"exit": true}); s.At("alive").Bool() || s.At("exit", "status").Int() != 0 {
		t.Errorf("after Ctrl-D: got %v, want exit 0", s)
	}
	if got := f.MustTool("shoal_pty_close", kit.Args{"pty_id": "pty:3"}).Structured; !got.At("closed").Bool() || got.At("exit", "status").Int() != 0 {
		t.Errorf("close: got %v", got)
	}
	if a := f.Tool("shoal_pty_read", kit.Args{"pty_id": "pty:3"}); a.Code() != messages.CodeUnknownPTY {
		t.Errorf("read after close: got %v, want -32022", a)
	}
	for n := 1; n <= 2; n++ {
		f.MustTool("shoal_pty_close", kit.Args{"pty_id": fmt.Sprintf("shoal://pty/%d", n)})
	}
	if _, err := os.Stat(w.Work); err != nil {
		t.Error(err)
	}
}

// The plan, approve, apply, verify walk of the pages.
func TestReferencePlan(t *testing.T) {
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("report.csv", "name,count\n")
	w.Write("archive/.keep", "")
	f := w.Facade("main")
	plan := f.MustTool("shoal_plan", kit.Args{"src": "cp ./report.csv ./archive/report.csv"})
	p := plan.Structured
	for _, member := range []string{"plan_ref", "source", "session", "principal", "cwd", "effects", "reversibility", "verdict", "approval_pending", "expires_at", "source_hash"} {
		if !p.Has(member) {
			t.Errorf("plan: %s is missing in %v", member, p)
		}
	}
	kinds := map[string]string{}
	for _, e := range p.At("effects").List() {
		kinds[e.At("kind").Str()] = e.At("path").Str()
	}
	if kinds["fs_read"] != w.Work+"/report.csv" || kinds["fs_write"] != w.Work+"/archive/report.csv" {
		t.Errorf("effects: got %v", p.At("effects"))
	}
	ref := p.At("plan_ref").Str()
	if plan.Link != "shoal://plan/"+strings.TrimPrefix(ref, "plan:") {
		t.Errorf("link: got %s", plan.Link)
	}
	got := f.MustTool("shoal_cap_request", kit.Args{"plan_ref": ref, "effects": []string{"fs.read", "fs.write"}}).Structured
	if got.At("status").Str() != "granted" || !got.Has("uncovered") || !got.Has("caps_enforced") {
		t.Errorf("request: got %v", got)
	}
	if v := f.MustRead("shoal://plan/" + strings.TrimPrefix(ref, "plan:")); len(v.At("approvals").List()) != 1 {
		t.Errorf("resource: got %v, want one approval", v)
	}
	f.MustTool("shoal_apply", kit.Args{"plan_ref": ref})
	if v := f.Exec(`(ls ./archive).where(.name == "report.csv")`).Structured.At("value"); len(v.At("v").List()) != 1 {
		t.Errorf("verify: got %v", v)
	}
	if got := f.MustTool("shoal_cap_request", kit.Args{"plan_ref": f.MustTool("shoal_plan", kit.Args{"src": "1 + 1"}).Structured.At("plan_ref").Str(), "effects": []string{}}).Structured; got.At("status").Str() != "granted" {
		t.Errorf("request for an allowed plan: got %v, want granted", got)
	}
}
