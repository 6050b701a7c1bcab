package e2e

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// gate is a file that programs of a test wait for.
func gateOf(w *kit.World, name string) (path, wait string) {
	path = w.Root + "/" + name
	return path, "sh { while [ ! -e " + path + " ]; do sleep 0.02; done }"
}

func open(t *testing.T, gate string) {
	t.Helper()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

// A run whose wait budget ends leaves the line: what its finished statements
// changed stays in the session, what comes later does not.
func TestBudgetHandsOver(t *testing.T) {
	w, r := served(t)
	w.Write("sub/f", "x")
	gate, wait := gateOf(w, "gate")
	got := r.Exec("let a = 1\nenv.KEPT = \"yes\"\n"+wait+"\nlet b = 2\ncd sub\nenv.LOST = \"no\"\n{a, b, cwd: (pwd)}", kit.Args{"timeout_ms": 300})
	task := got.At("task").Str()
	if task == "" || !got.At("timed_out").Bool() || !got.At("detached").Bool() || got.At("events").Str() != "task."+strings.TrimPrefix(task, "task:") {
		t.Fatalf("got %v, want a task that timed out", got)
	}
	if v := r.Exec("a").At("value", "v").Int(); v != 1 {
		t.Errorf("a: got %d, want 1: its statement had ended", v)
	}
	open(t, gate)
	if rec := r.Await(task); rec.At("state").Str() != "completed" {
		t.Fatalf("got %v, want completed", rec)
	}
	v := r.Must("value.get", kit.Args{"ref": task}).At("value", "v")
	if v.At("a", "v").Int() != 1 || v.At("b", "v").Int() != 2 || v.At("cwd", "v").Str() != w.Work+"/sub" {
		t.Errorf("result: got %v, want the run's own view", v)
	}
	r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "b"})
	if got := r.Exec("{cwd: (pwd), kept: env.KEPT}").At("value", "v"); got.At("cwd", "v").Str() != w.Work || got.At("kept", "v").Str() != "yes" {
		t.Errorf("session: got %v, want its directory unchanged and KEPT set", got)
	}
	r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "^printenv LOST"})
}

// A submission whose budget ends while it waits keeps its place.
func TestQueuedBudget(t *testing.T) {
	w, r := served(t)
	gate, wait := gateOf(w, "gate")
	first := r.Start("exec", kit.Args{"src": wait + "\nlet order = [1]"})
	got := r.Exec("order = order.push(2)", kit.Args{"timeout_ms": 100})
	if got.At("state").Str() != "queued" || got.At("task").Str() == "" {
		t.Fatalf("got %v, want a queued task", got)
	}
	if state := r.Task(got.At("task").Str()).At("state").Str(); state != "queued" {
		t.Errorf("state: got %s, want queued", state)
	}
	open(t, gate)
	first.Must()
	rec := r.Await(got.At("task").Str())
	if rec.At("state").Str() == "cancelled" {
		t.Errorf("got %v", rec)
	}
	// A queued one that is cancelled never runs and blocks nobody.
	gate, wait = gateOf(w, "gate2")
	first = r.Start("exec", kit.Args{"src": wait})
	queued := r.Exec("^touch "+w.Root+"/ran", kit.Args{"timeout_ms": 100}).At("task").Str()
	r.Must("task.cancel", kit.Args{"task": queued})
	if rec := r.Await(queued); rec.At("state").Str() != "cancelled" {
		t.Errorf("cancelled in the line: got %v", rec)
	}
	open(t, gate)
	first.Must()
	r.Exec("1")
	if _, err := os.Stat(w.Root + "/ran"); err == nil {
		t.Error("a submission that was cancelled in the line has run")
	}
}

// In the line a submission that was queued past its budget changes the session
// when its turn comes in time.
func TestQueuedTurnBinds(t *testing.T) {
	w, r := served(t)
	gate, wait := gateOf(w, "gate")
	first := r.Start("exec", kit.Args{"src": wait})
	task := r.Exec("let bound = 42", kit.Args{"timeout_ms": 100}).At("task").Str()
	open(t, gate)
	first.Must()
	r.Await(task)
	if got := r.Render("bound"); got != "42" {
		t.Errorf("bound: got %s, want 42", got)
	}
}

// The same request id runs once: also while it runs, after it ended, and after
// the kernel was killed; another source is refused.
func TestRequestID(t *testing.T) {
	w, r := served(t)
	log := w.Work + "/log"
	args := kit.Args{"src": "sh { echo ran >>log; echo out }", "position": "value", "request_id": "r-1"}
	first := r.Must("exec", args)
	second := r.Must("exec", args)
	if first.String() != second.String() {
		t.Errorf("repeated: got %v, want %v", second, first)
	}
	r.Refused(messages.CodeInvalidParams, "exec", kit.Args{"src": "1", "request_id": "r-1"})
	failing := kit.Args{"src": "sh { echo ran >>log; exit 3 }", "request_id": "r-2"}
	data, _ := r.Refused(messages.CodeRaised, "exec", failing)
	again, _ := r.Refused(messages.CodeRaised, "exec", failing)
	if data.String() != again.String() {
		t.Errorf("repeated failure: got %v, want %v", again, data)
	}
	gate, wait := gateOf(w, "gate")
	slow := kit.Args{"src": wait + "\n7", "position": "value", "request_id": "r-3", "timeout_ms": 100}
	task := r.Must("exec", slow).At("task").Str()
	if got := r.Must("exec", slow).At("task").Str(); got != task {
		t.Errorf("repeated while it runs: got %s, want %s", got, task)
	}
	open(t, gate)
	r.Await(task)
	if got := r.Must("exec", slow); got.At("value", "v").Int() != 7 {
		t.Errorf("repeated after the end: got %v, want the result", got)
	}
	w.KillKernel()
	w.StartKernel()
	r = w.Raw("main")
	if got := r.Must("exec", args); got.String() != first.String() {
		t.Errorf("after a restart: got %v, want %v", got, first)
	}
	r.Refused(messages.CodeInvalidParams, "exec", kit.Args{"src": "1", "request_id": "r-1"})
	again, _ = r.Refused(messages.CodeRaised, "exec", failing)
	if data.String() != again.String() {
		t.Errorf("failure after a restart: got %v, want %v", again, data)
	}
	if raw, _ := os.ReadFile(log); strings.Count(string(raw), "ran") != 2 {
		t.Errorf("log: got %q, want two runs", raw)
	}
	other := w.Raw("other")
	if got := other.Must("exec", kit.Args{"src": "5", "position": "value", "request_id": "r-1"}); got.At("value", "v").Int() != 5 {
		t.Errorf("another session: got %v, want its own run", got)
	}
}

// The hard limit cancels.
func TestDeadline(t *testing.T) {
	w, r := served(t)
	began := time.Now()
	data, _ := r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "sh { sleep 601 }", "deadline_ms": 200})
	soon(t, began, quick)
	if data.At("error", "code").Str() != "cancelled" || !data.At("deadline").Bool() {
		t.Errorf("got %v, want cancelled by the deadline", data)
	}
	if sleeping(w, "sleep 601") {
		t.Error("the program lives on")
	}
	task := r.Exec("while true {}", kit.Args{"background": true, "deadline_ms": 200}).At("task").Str()
	if rec := r.Await(task); rec.At("state").Str() != "cancelled" {
		t.Errorf("background: got %v, want cancelled", rec)
	}
	if got := r.Render("1 + 1"); got != "2" {
		t.Errorf("afterwards: got %s, want 2", got)
	}
}

// A runaway in the foreground shows in the list of jobs and can be cancelled.
func TestRunawayForeground(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	for _, src := range []string{"while true {}", "range(0, 10000000).map(x => range(0, 1000).map(y => y * x).sum()).sum()"} {
		runaway := f.StartTool("shoal_exec", kit.Args{"src": src})
		var task string
		kit.Eventually(t, quick, "the runaway is listed", func() bool {
			for _, rec := range f.MustRead("shoal://jobs").At("tasks").List() {
				if rec.At("src").Str() == src && rec.At("state").Str() == "running" {
					task = rec.At("task").Str()
				}
			}
			return task != ""
		})
		f.MustTool("shoal_cancel", kit.Args{"task": task})
		a := runaway.WaitTool()
		if a.Code() != messages.CodeRaised || a.Structured.At("data", "error", "code").Str() != "cancelled" {
			t.Errorf("%s: got %v, want cancelled", src, a)
		}
		if rec := f.AwaitEnd(task); rec.At("state").Str() != "cancelled" {
			t.Errorf("%s: got %v, want cancelled", src, rec)
		}
	}
	if got := strings.TrimSpace(f.Exec("1 + 1").Text); got != "2" {
		t.Errorf("afterwards: got %q, want 2", got)
	}
}

// Waiting for a task: within a budget, beyond it, and after its end.
func TestAwait(t *testing.T) {
	w, r := served(t)
	gate, wait := gateOf(w, "gate")
	task := r.Background(wait + "\n3")
	if state := r.Must("task.await", kit.Args{"task": task, "timeout_ms": 50}).At("state").Str(); state != "running" {
		t.Errorf("budget spent: got %s, want running", state)
	}
	waiting := r.Start("task.await", kit.Args{"task": task})
	open(t, gate)
	if state := waiting.Must().At("state").Str(); state != "completed" {
		t.Errorf("got %s, want completed", state)
	}
	if state := r.Must("task.await", kit.Args{"task": task}).At("state").Str(); state != "completed" {
		t.Errorf("after the end: got %s, want completed", state)
	}
	r.Refused(messages.CodeUnknownTask, "task.await", kit.Args{"task": "task:99999"})
}

// Output is read by offset while it comes, and the same bytes after the end
// and after a restart.
func TestOutputByOffset(t *testing.T) {
	w, r := served(t)
	gate := w.Root + "/gate"
	task := r.Background("sh { echo one; echo err >&2; while [ ! -e " + gate + " ]; do sleep 0.02; done; echo two }")
	read := func(r *kit.Raw, stream string, offset int) kit.Val {
		t.Helper()
		return r.Must("task.output", kit.Args{"task": task, "stream": stream, "offset": offset})
	}
	kit.Eventually(t, quick, "the first line", func() bool { return read(r, "stdout", 0).At("data").Str() == "one\n" })
	if out := read(r, "stdout", 4); out.At("data").Str() != "" || out.At("eof").Bool() || out.At("next").Int() != 4 {
		t.Errorf("at the end so far: got %v, want nothing and no eof", out)
	}
	open(t, gate)
	r.Await(task)
	check := func(r *kit.Raw) {
		t.Helper()
		if out := read(r, "stdout", 4); out.At("data").Str() != "two\n" || !out.At("eof").Bool() {
			t.Errorf("stdout: got %v, want the second line", out)
		}
		if out := read(r, "stderr", 0); out.At("data").Str() != "err\n" || !out.At("eof").Bool() {
			t.Errorf("stderr: got %v, want err", out)
		}
		if out := read(r, "stdout", 1000); out.At("data").Str() != "" || !out.At("eof").Bool() {
			t.Errorf("beyond the end: got %v, want nothing", out)
		}
		part := r.Must("task.output", kit.Args{"task": task, "stream": "stdout", "offset": 1, "limit": 3})
		if part.At("data").Str() != "ne\n" || part.At("next").Int() != 4 {
			t.Errorf("with a limit: got %v, want ne", part)
		}
	}
	check(r)
	f := w.Facade("main") // closed before the kill, or it would start a kernel
	if got := f.ReadText("shoal://task/" + strings.TrimPrefix(task, "task:") + "/stdout?offset=4"); !strings.Contains(got, "two") {
		t.Errorf("resource: got %q, want the second line", got)
	}
	f.Close()
	w.KillKernel()
	w.StartKernel()
	check(w.Raw("main"))
	r = w.Raw("main")
	r.Refused(messages.CodeInvalidParams, "task.output", kit.Args{"task": task, "stream": "stdin"})
	r.Refused(messages.CodeInvalidParams, "task.output", kit.Args{"task": task, "stream": "stdout", "offset": -1})
}

// Losing the caller hands the work over; nothing is lost.
func TestLostCaller(t *testing.T) {
	w, r := served(t)
	gate, wait := gateOf(w, "gate")
	lost, err := w.TryRaw("main")
	if err != nil {
		t.Fatal(err)
	}
	lost.Start("exec", kit.Args{"src": "let a = 5\n" + wait + "\n^touch " + w.Work + "/done"})
	kit.Eventually(t, quick, "the program runs", func() bool { return sleeping(w, gate) })
	lost.Close()
	var task string
	kit.Eventually(t, quick, "its task is listed and the line is free", func() bool {
		for _, rec := range r.Must("task.list", kit.Args{}).At("tasks").List() {
			if strings.Contains(rec.At("src").Str(), gate) {
				task = rec.At("task").Str()
			}
		}
		return task != ""
	})
	if got := r.Render("a"); got != "5" {
		t.Errorf("a: got %s, want 5", got)
	}
	open(t, gate)
	if rec := r.Await(task); rec.At("state").Str() != "completed" {
		t.Errorf("got %v, want completed", rec)
	}
	if _, err := os.Stat(w.Work + "/done"); err != nil {
		t.Error(err)
	}
}

// Every number of tasks is used once, and each background run is answered with
// its own.
func TestManyBackground(t *testing.T) {
	_, r := served(t)
	n := repeat(200)
	var open []*kit.Pending
	for i := range n {
		open = append(open, r.Start("exec", kit.Args{"src": fmt.Sprint(i), "position": "value", "background": true}))
	}
	seen := map[string]int{}
	for i, p := range open {
		got := p.Must()
		task := got.At("task").Str()
		if _, twice := seen[task]; twice || got.Has("ref") {
			t.Fatalf("call %d: got %v, want a task of its own", i, got)
		}
		seen[task] = i
	}
	for task, i := range seen {
		r.Await(task)
		if v := r.Must("value.get", kit.Args{"ref": task}).At("value", "v").Int(); v != int64(i) {
			t.Errorf("%s: got %d, want %d", task, v, i)
		}
	}
}
