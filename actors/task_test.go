package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"shoal.dev/shoal/messages"
)

func (g *rig) output(task messages.TaskID, stream string, offset, limit int64) (messages.TaskOutput, *messages.Error) {
	g.t.Helper()
	raw := ask(g, "s", g.d.tasksPID(), messages.Request[messages.Raw](messages.RunTask{
		Op: "output", Session: "s", Principal: owner, Task: task, Stream: stream, Offset: offset, Limit: limit,
	}))
	var out messages.TaskOutput
	if raw.Err == nil && json.Unmarshal(raw.JSON, &out) != nil {
		g.t.Fatalf("output: %s", raw.JSON)
	}
	return out, raw.Err
}

func TestOutputWhileItRunsAndAfter(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	h := handed(t, g.run("s", "^sh -c 'printf abc; printf err >&2'; "+gt.src(), background))
	within(t, "output is there", func() bool {
		out, err := g.output(h.Task, "stdout", 0, 0)
		return err == nil && out.Data != nil && *out.Data == "abc" && !out.EOF
	})
	gt.open(t)
	g.record("s", "await", h.Task)
	for _, c := range []struct {
		stream        string
		offset, limit int64
		want          string
		eof           bool
	}{
		{"stdout", 0, 0, "abc", true}, {"stdout", 1, 1, "b", false}, {"stdout", 3, 0, "", true},
		{"stdout", 99, 0, "", true}, {"stderr", 0, 0, "err", true},
	} {
		out, err := g.output(h.Task, c.stream, c.offset, c.limit)
		if err != nil || out.Data == nil || *out.Data != c.want || out.EOF != c.eof {
			t.Errorf("%+v: got %+v %v", c, out, err)
		}
	}
	for _, c := range []struct {
		stream string
		offset int64
	}{{"both", 0}, {"stdout", -1}} {
		if _, err := g.output(h.Task, c.stream, c.offset, 0); err == nil || err.Code != messages.CodeInvalidParams {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func TestHugeOutputs(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	const size = 3 << 20
	r := g.run("s", fmt.Sprintf("^/usr/bin/head -c %d /dev/zero", size))
	f := finished(t, r)
	if len(r.JSON) > 4*messages.HardCap {
		t.Errorf("the answer has %d bytes", len(r.JSON))
	}
	raw := ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.Raw](messages.GetValue{Principal: owner, Params: messages.GetValueParams{
		Ref: string(f.Ref), Path: ".out", Slice: []int64{size - 2, size}, Format: "raw",
	}}))
	if raw.Err != nil || !strings.Contains(string(raw.JSON), "raw") {
		t.Errorf("the last bytes: got %.200s %v", raw.JSON, raw.Err)
	}
	list := finished(t, g.run("s", "(1..200000).map(x => [x])"))
	if list.Ref == "" || len(list.Value) > 2*messages.HardCap {
		t.Errorf("got %d bytes of a large list", len(list.Value))
	}
}

// Cancelling a task that has ended ends what it left over, and the kernel lives.
func TestLeftoversEndWithTheirTask(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	f := finished(t, g.run("s", `^sh -c 'sleep 97 >/dev/null 2>&1 & sleep 96 & echo $!'`))
	if f.Task == "" {
		t.Fatalf("got %+v, want the task named", f)
	}
	rec := g.record("s", "get", f.Task)
	if len(rec.Leftovers) == 0 {
		t.Fatalf("got %+v, want leftovers", rec)
	}
	if raw := g.task("s", "cancel", f.Task); raw.Err != nil || !strings.Contains(string(raw.JSON), "completed") {
		t.Errorf("cancel: got %s %v", raw.JSON, raw.Err)
	}
	for _, p := range rec.Leftovers {
		within(t, "it is gone and reaped", func() bool { return syscall.Kill(p.PID, 0) != nil })
	}
	if rec := g.record("s", "get", f.Task); len(rec.Leftovers) != 0 {
		t.Errorf("the record still names %v", rec.Leftovers)
	}
}

func TestEndedTasksAreReadFromTheJournal(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	first := handed(t, g.run("s", "^printf x", background))
	g.record("s", "await", first.Task)
	for range endedKept + 5 {
		h := handed(t, g.run("s", "1", background))
		g.record("s", "await", h.Task)
	}
	num, _ := first.Task.Num()
	within(t, "the oldest is forgotten", func() bool { return g.tasks.get(num) == nil })
	if rec := g.record("s", "get", first.Task); rec.State != messages.TaskCompleted || rec.ResultRef == "" {
		t.Errorf("got %+v", rec)
	}
	if out, err := g.output(first.Task, "stdout", 0, 0); err != nil || out.Data == nil || *out.Data != "x" {
		t.Errorf("output: got %+v %v", out, err)
	}
	g.tasks.mu.Lock()
	defer g.tasks.mu.Unlock()
	if len(g.tasks.ended) > endedKept || len(g.tasks.runs) > endedKept {
		t.Errorf("%d ended, %d in all", len(g.tasks.ended), len(g.tasks.runs))
	}
}

func TestWatchersHearOfEveryChange(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	changed, stop := g.tasks.Watch("s")
	other, stopOther := g.tasks.Watch("other")
	c := g.submit("s", gt.src())
	<-changed
	within(t, "it runs", func() bool { return g.tasks.Live() == 1 })
	gt.open(t)
	finished(t, c.wait())
	<-changed
	select {
	case <-other:
		t.Error("another session's watcher was told")
	default:
	}
	stop()
	stopOther()
	if len(g.d.watchers.by) != 0 {
		t.Errorf("watchers are left: %v", g.d.watchers.by)
	}
}

func TestQuota(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.tasks.mu.Lock()
	for i := range uint64(taskLimit) {
		g.tasks.runs[1<<40+i] = &Run{num: 1<<40 + i, host: &sessionHost{name: "none"}, done: make(chan struct{})}
	}
	g.tasks.mu.Unlock()
	err := refused(t, g.run("s", "1"), messages.CodeQuota)
	if !strings.Contains(string(err.Data), `"limit":4096`) {
		t.Errorf("got %s", err.Data)
	}
	g.tasks.mu.Lock()
	for i := range uint64(taskLimit) {
		delete(g.tasks.runs, 1<<40+i)
	}
	g.tasks.mu.Unlock()
	if got := g.render("s", "1"); got != "1" {
		t.Errorf("got %s", got)
	}
}
