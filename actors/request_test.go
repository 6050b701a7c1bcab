package actors

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

func TestRequestIDs(t *testing.T) {
	dir := t.TempDir()
	g := openRig(t, dir, Interrupted{})
	g.attach("s")
	finished(t, g.run("s", "var n = 0"))
	first := g.run("s", "n = n + 1; n", requestID("r"))
	for range 3 {
		if again := g.run("s", "n = n + 1; n", requestID("r")); string(again.JSON) != string(first.JSON) {
			t.Errorf("got %s, want %s", again.JSON, first.JSON)
		}
	}
	refused(t, g.run("s", "n", requestID("r")), messages.CodeInvalidParams)
	raised := refused(t, g.run("s", `fail "x"`, requestID("e")), messages.CodeRaised)
	plan := g.plan("s", "mkdir x", requestID("p"))
	if again := g.plan("s", "mkdir x", requestID("p")); again.PlanRef != plan.PlanRef {
		t.Errorf("another plan was made: %s, then %s", plan.PlanRef, again.PlanRef)
	}
	refused(t, g.run("s", "1 +", requestID("bad")), messages.CodeParseError)
	finished(t, g.run("s", "1 + 1", requestID("bad"))) // nothing ran under it
	g.stop()

	g = openRig(t, dir, Interrupted{})
	g.attach("s")
	if again := g.run("s", "n = n + 1; n", requestID("r")); string(again.JSON) != string(first.JSON) {
		t.Errorf("after a restart: got %s, want %s", again.JSON, first.JSON)
	}
	if again := refused(t, g.run("s", `fail "x"`, requestID("e")), messages.CodeRaised); string(again.Data) != string(raised.Data) {
		t.Errorf("after a restart: got %s, want %s", again.Data, raised.Data)
	}
	g.clock.Store(requestTTLNS + int64(time.Hour))
	if again := g.run("s", "n = n + 1; n", requestID("r")); string(again.JSON) == string(first.JSON) {
		t.Error("the id is remembered for more than a day")
	}
	within(t, "old ids leave the journal", func() bool {
		n := 0
		if err := g.store.Scan(tableRequest, "s\x00", func(string, []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
}

func TestRequestIDOfARunningTask(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	h := handed(t, g.run("s", gt.src()+"; 8", budget(10*ms), requestID("r")))
	if again := handed(t, g.run("s", gt.src()+"; 8", requestID("r"))); again.Task != h.Task {
		t.Errorf("got %s, want %s", again.Task, h.Task)
	}
	gt.open(t)
	g.record("s", "await", h.Task)
	within(t, "the result is remembered", func() bool {
		r := g.run("s", gt.src()+"; 8", requestID("r"))
		return r.Err == nil && strings.Contains(string(r.JSON), `"render":"8"`)
	})
}

// crash leaves the journal as kill -9 would, in the midst of a run, and opens
// it again.
func crash(t *testing.T, src string, options ...option) (*rig, messages.TaskID, messages.Exec) {
	t.Helper()
	dir := t.TempDir()
	g := openRig(t, dir, Interrupted{})
	g.attach("s")
	end := func(rec messages.Record) bool {
		return strings.HasSuffix(rec.Key, "-end") || strings.HasSuffix(rec.Key, "-refused")
	}
	g.journal.refuse.Store(&end)
	c := g.submit("s", src, options...)
	var task messages.TaskID
	within(t, "the intent is written", func() bool {
		g.store.Scan(tableTask, "", func(_ string, b []byte) bool {
			var saved taskRow
			if json.Unmarshal(b, &saved) == nil {
				task = saved.Record.Task
			}
			return true
		})
		return task != ""
	})
	g.stop()
	num, _ := task.Num()
	left := Interrupted{
		Killed: []proc.Proc{{PID: 77, Cmd: "sleep", Task: num}},
		Tails:  map[uint64]proc.Tails{num: {Stdout: []byte("tail"), StdoutTotal: 100}},
	}
	return openRig(t, dir, left), task, c.req
}

func TestInterruptedTasks(t *testing.T) {
	g, task, req := crash(t, "^/bin/sleep 30", background, requestID("r"))
	g.attach("s")
	rec := g.record("s", "get", task)
	if rec.State != messages.TaskFailed || !strings.Contains(string(rec.Error), `"code":"interrupted"`) || rec.FinishedNS == nil ||
		len(rec.Leftovers) != 1 || rec.StdoutLen != 100 || rec.StdoutKept != 4 {
		t.Errorf("got %+v %s", rec, rec.Error)
	}
	raw := ask(g, "s", g.d.tasksPID(), messages.Request[messages.Raw](messages.RunTask{Op: "output", Session: "s", Task: task, Stream: "stdout"}))
	if !strings.Contains(string(raw.JSON), `"data":"tail","offset":96,"next":100,"eof":true`) {
		t.Errorf("output: got %s %v", raw.JSON, raw.Err)
	}
	if rec := g.record("s", "await", task); rec.State != messages.TaskFailed {
		t.Errorf("await: got %s", rec.State)
	}
	list := ask(g, "", g.d.tasksPID(), messages.Request[messages.TaskList](messages.ListTasks{Session: "s", Principal: owner}))
	if len(list.Tasks) != 1 {
		t.Errorf("list: got %+v", list.Tasks)
	}
	// The same request again must not run again.
	err := refused(t, g.run("s", req.Params.Src, background, requestID("r")), messages.CodeInterrupted)
	if !strings.Contains(string(err.Data), string(task)) {
		t.Errorf("got %s, want the task named", err.Data)
	}
	next := handed(t, g.run("s", "1", background))
	if next.Task == task {
		t.Error("a task number was given twice")
	}
}

func TestEndedTasksAreRecognised(t *testing.T) {
	for state, want := range map[messages.TaskState]bool{
		messages.TaskRunning: false, messages.TaskQueued: false, messages.TaskCancelling: false,
		messages.TaskCompleted: true, messages.TaskFailed: true, messages.TaskCancelled: true,
	} {
		b := messages.JSON(taskRow{Record: messages.TaskRecord{
			State: state, Src: `{"state":"completed"}`, Error: messages.JSON(map[string]string{"msg": `"state":"failed"`}),
		}})
		if got := looksEnded(b); got != want {
			t.Errorf("%s: got %t for %s", state, got, b)
		}
	}
}
