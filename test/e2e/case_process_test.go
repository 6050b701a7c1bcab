package e2e

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// quick is the bound of what should take a moment, with room for a machine
// that is busy with other things.
const quick = 10 * time.Second

// soon fails the test when it has gone on longer than a bound since began.
func soon(t *testing.T, began time.Time, bound time.Duration) {
	t.Helper()
	if took := time.Since(began); took > bound {
		t.Errorf("took %s, want at most %s", took, bound)
	}
}

// note finds a note by its code.
func note(result kit.Val, code string) kit.Val {
	for _, n := range result.At("notes").List() {
		if n.At("code").Str() == code {
			return n
		}
	}
	return kit.Val{}
}

// A background child that holds the pipe does not hang the call, whichever
// stream it holds; it is named, listed, and ended by cancelling the task.
func TestB01B02HeldPipe(t *testing.T) {
	w, r := served(t)
	for _, tc := range []struct{ name, src string }{
		{"B01 stdout", "sh { sleep 3131 & echo hi }"},
		{"B02 stderr only", "sh { sleep 3131 </dev/null >/dev/null & echo hi }"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			began := time.Now()
			got := r.Exec(tc.src, kit.Args{"timeout_ms": 30000})
			soon(t, began, quick)
			if v := got.At("value"); v.At("status").Int() != 0 {
				t.Errorf("got %v, want status 0", v)
			}
			if out := r.Must("value.get", kit.Args{"ref": got.At("ref").Str(), "path": ".stdout"}); text(out.At("value")) != "hi\n" {
				t.Errorf("stdout: got %v, want hi", out)
			}
			left := kit.Processes("SHOAL_TASK=")
			var pid string
			for _, p := range left {
				if strings.Contains(p.Cmd, "sleep 3131") && inWorld(w, p) {
					pid = fmt.Sprint(p.PID)
				}
			}
			if pid == "" {
				t.Fatalf("the background sleep is gone; processes: %v", left)
			}
			if !strings.Contains(got.At("notes").String(), pid) {
				t.Errorf("notes: got %v, want one naming pid %s", got.At("notes"), pid)
			}
			task := got.At("task").Str()
			if task == "" {
				t.Fatalf("got no task for what was left over: %v", got)
			}
			if rec := r.Task(task); rec.At("leftovers", 0, "pid").Int() == 0 || len(rec.At("leftovers").List()) != 1 {
				t.Errorf("leftovers: got %v, want the sleep", rec.At("leftovers"))
			}
			r.Must("task.cancel", kit.Args{"task": task})
			kit.Eventually(t, quick, "the left over sleep ends", func() bool { return !sleeping(w, "sleep 3131") })
		})
	}
}

// sleeping reports whether a process of this world has the command.
func sleeping(w *kit.World, cmd string) bool { return count(w, cmd) > 0 }

// count is how many processes of this world have the text in their command.
func count(w *kit.World, cmd string) int {
	n := 0
	for _, p := range kit.Processes(w.Root) {
		if strings.Contains(p.Cmd, cmd) {
			n++
		}
	}
	return n
}

func inWorld(w *kit.World, p kit.Process) bool {
	for _, mine := range kit.Processes(w.Root) {
		if mine.PID == p.PID {
			return true
		}
	}
	return false
}

// Cancelling reaches grandchildren and keeps the output so far.
func TestB04CancelTree(t *testing.T) {
	w, r := served(t)
	task := r.Background("sh { (while true; do echo c; sleep 0.1; done) & wait }")
	kit.Eventually(t, quick, "some output", func() bool { return r.Task(task).At("stdout_len").Int() >= 4 })
	began := time.Now()
	if state := r.Must("task.cancel", kit.Args{"task": task}).At("state").Str(); state != "cancelling" && state != "cancelled" {
		t.Errorf("cancel: got state %q", state)
	}
	rec := r.Await(task)
	soon(t, began, quick)
	if rec.At("state").Str() != "cancelled" {
		t.Errorf("state: got %v, want cancelled", rec)
	}
	if n := len(taskProcesses(w)); n != 0 {
		t.Errorf("survivors: got %v, want none", taskProcesses(w))
	}
	out := r.Must("task.output", kit.Args{"task": task, "stream": "stdout"})
	if !strings.HasPrefix(out.At("data").Str(), "c\nc\n") || !out.At("eof").Bool() {
		t.Errorf("output: got %v, want what was printed before", out)
	}
}

// taskProcesses are the processes of this world's tasks.
func taskProcesses(w *kit.World) []kit.Process {
	var out []kit.Process
	for _, p := range kit.Processes("SHOAL_TASK=") {
		if inWorld(w, p) {
			out = append(out, p)
		}
	}
	return out
}

// A process that dies at once keeps its stderr and its status.
func TestB07ShortLived(t *testing.T) {
	_, r := served(t)
	n := repeat(100)
	tasks := make([]string, n)
	for i := range tasks {
		tasks[i] = r.Background("sh { echo oops >&2; exit 3 }")
	}
	for _, task := range tasks {
		rec := r.Await(task)
		if rec.At("exit", "status").Int() != 3 || rec.At("state").Str() != "failed" {
			t.Errorf("%s: got %v, want failed with status 3", task, rec)
		}
		errs := r.Must("value.get", kit.Args{"ref": task, "path": ".stderr"})
		if got := text(errs.At("value")); got != "oops\n" {
			t.Errorf("%s: stderr: got %v, want oops", task, errs)
		}
		out := r.Must("task.output", kit.Args{"task": task, "stream": "stderr"})
		if out.At("data").Str() != "oops\n" {
			t.Errorf("%s: output: got %v, want oops", task, out)
		}
	}
}

// text is the text of a tagged string or bytes value.
func text(v kit.Val) string {
	switch v.At("$").Str() {
	case "bytes":
		if v.Has("text") {
			return v.At("text").Str()
		}
		raw, _ := base64.StdEncoding.DecodeString(v.At("v").Str())
		return string(raw)
	default:
		return v.At("v").Str()
	}
}

// A finished background task stays readable, as often as one likes.
func TestB08FinishedReadable(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	task := f.Exec("^echo done", kit.Args{"background": true}).Structured.At("task").Str()
	id := strings.TrimPrefix(task, "task:")
	f.AwaitEnd(task)
	for range 10 {
		if rec := f.MustRead("shoal://task/" + id); rec.At("state").Str() != "completed" {
			t.Errorf("record: got %v, want completed", rec)
		}
		out := f.MustRead("shoal://task/" + id + "/out?path=.out")
		if got := text(out.At("value")); got != "done" {
			t.Errorf("out: got %v, want done", out)
		}
	}
}

// A background job that failed is failed, with its status.
func TestB11FailedBackground(t *testing.T) {
	w, r := served(t)
	rec := r.Await(r.Background(`sh { ` + python(t) + ` -c "import sys; sys.exit(1)" >o.log 2>&1 }`))
	if rec.At("state").Str() != "failed" || rec.At("exit", "status").Int() != 1 {
		t.Errorf("got %v, want failed with status 1", rec)
	}
	if _, err := os.Stat(w.Work + "/o.log"); err != nil {
		t.Error(err)
	}
}

// python is the interpreter, or skips the test by name.
func python(t *testing.T) string {
	t.Helper()
	const path = "/usr/bin/python3"
	if _, err := os.Stat(path); err != nil {
		t.Skip("needs " + path)
	}
	return path
}

// The record and the terminal event agree: after the event nothing reads as
// running any more.
func TestB13NoLateRunning(t *testing.T) {
	_, r := served(t)
	for range repeat(60) {
		task := r.Background("sh { sleep 0.02 }")
		channel := "task." + strings.TrimPrefix(task, "task:")
		since := kit.Args{"channel": channel}
		kit.Eventually(t, quick, "a terminal event of "+task, func() bool {
			events := r.Must("events.read", since).At("events").List()
			// Polled in between, as an impatient client would.
			r.Task(task)
			return len(events) > 0 && messages.TaskState(events[len(events)-1].At("payload", "state").Str()).Ended()
		})
		if rec := r.Task(task); rec.At("state").Str() != "completed" {
			t.Fatalf("%s after its terminal event: got %v, want completed", task, rec)
		}
	}
}

// A captured child reads an empty input in both modes.
func TestB18Stdin(t *testing.T) {
	_, r := served(t)
	rec := r.Await(r.Background("^cat"))
	if rec.At("state").Str() != "completed" || rec.At("stdout_len").Int() != 0 {
		t.Errorf("background: got %v, want completed without output", rec)
	}
	began := time.Now()
	v := r.Exec("^cat").At("value")
	soon(t, began, quick)
	if v.At("status").Int() != 0 || v.At("out", "v").Str() != "" {
		t.Errorf("foreground: got %v, want nothing", v)
	}
}

// A fed child and an unfed one leave the facade's own stdio alone.
func TestB20FeedLeavesStdio(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	if got := f.Exec(`("hi".feed(^cat)).out`); got.Structured.At("render").Str() != "hi" {
		t.Errorf("fed: got %v, want hi", got)
	}
	if got := f.Exec(`(^cat).out`); got.Structured.At("render").Str() != "" {
		t.Errorf("unfed: got %v, want nothing", got)
	}
	list := f.Call("tools/list", kit.Args{})
	if n := len(list.Result.At("tools").List()); n != 13 {
		t.Errorf("tools/list: got %d tools, want 13: %s", n, list.Line)
	}
	if strays := f.Strays(); len(strays) > 0 {
		t.Errorf("stdout holds lines that are no frames: %q", strays)
	}
}

// No pager opens, whatever the session's environment says.
func TestB21Pager(t *testing.T) {
	w, r := served(t)
	w.Stub("less", "echo paged >"+w.Root+"/paged\nexec sleep 600\n")
	r.Exec(`sh {
git init -q repo && cd repo
git config user.email a@example.com; git config user.name A
for i in $(seq 1 60); do git commit -q --allow-empty -m "commit $i"; done
}`)
	r.Exec(`env.GIT_PAGER = "less"`)
	began := time.Now()
	v := r.Exec("cd repo\n^git log")
	soon(t, began, quick)
	r.Exec("cd ..")
	if _, err := os.Stat(w.Root + "/paged"); err == nil {
		t.Error("a pager was started")
	}
	if got := r.Exec(`(^git -C repo log).out.lines().where(l => l.starts_with("commit ")).len()`).At("render").Str(); got != "60" {
		t.Errorf("commits in the output: got %s, want 60; first result %v", got, v.At("render"))
	}
}

// Without a controlling terminal a password prompt fails at once and says why.
func TestB23NoTerminal(t *testing.T) {
	_, r := served(t)
	began := time.Now()
	got := r.Exec("sh { read x < /dev/tty; echo got }")
	soon(t, began, quick)
	if !strings.Contains(text(got.At("value", "stderr")), "/dev/tty") {
		t.Errorf("stderr: got %v, want it to name /dev/tty", got.At("value"))
	}
	if note(got, "needs_terminal").IsNull() {
		t.Errorf("notes: got %v, want needs_terminal", got.At("notes"))
	}
}

// Output that looks like a prompt is output.
func TestB24NotAPrompt(t *testing.T) {
	_, r := served(t)
	got := r.Exec("sh { printf 'Done: ' }")
	if v := got.At("value"); v.At("status").Int() != 0 || got.At("render").Str() == "" || len(got.At("notes").List()) != 0 {
		t.Errorf("got %v, want a plain result", got)
	}
	if s := r.Exec("(sh { printf 'Done: ' }).out").At("value", "v").Str(); s != "Done: " {
		t.Errorf("out: got %q, want %q", s, "Done: ")
	}
}

// Death by a signal is told apart from a status.
func TestB41Signal(t *testing.T) {
	_, r := served(t)
	v := r.Exec("sh { kill -TERM $$ }").At("value")
	if v.At("ok").Bool() || v.At("signal").Str() != "SIGTERM" {
		t.Errorf("got %v, want ok false and SIGTERM", v)
	}
	data, _ := r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "sh { kill -TERM $$ }"})
	if data.At("error", "code").Str() != "cmd_failed" {
		t.Errorf("statement position: got %v, want cmd_failed", data)
	}
	if rec := r.Await(r.Background("sh { kill -TERM $$ }")); rec.At("exit", "signal").Str() != "SIGTERM" || rec.At("state").Str() != "failed" {
		t.Errorf("record: got %v, want SIGTERM", rec)
	}
}
