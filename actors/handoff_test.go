package actors

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
)

const ms = time.Millisecond

// gate is a file that a source can wait for.
type gate struct{ path string }

func newGate(t *testing.T) gate { return gate{filepath.Join(t.TempDir(), "gate")} }

func (g gate) src() string {
	return fmt.Sprintf("^sh -c 'while [ ! -e %s ]; do sleep 0.005; done'", g.path)
}

func (g gate) open(t *testing.T) {
	t.Helper()
	if err := os.WriteFile(g.path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSpentBudgetHandsOver(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	c := g.submit("s", `let before = 1; `+gt.src()+`; let after = 2; 5`, budget(300*ms))
	h := handed(t, c.wait())
	if !h.TimedOut || !h.Detached || h.State != "" {
		t.Errorf("got %+v, want it timed out and detached", h)
	}
	if got := g.render("s", "before"); got != "1" {
		t.Errorf("before is %s, want 1", got)
	}
	if again := ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.ExecResult](c.req)); handed(t, again).Task != h.Task {
		t.Errorf("the same call again: got %s", again.JSON)
	}
	gt.open(t)
	rec := g.record("s", "await", h.Task)
	if rec.State != messages.TaskCompleted || rec.ResultRef == "" {
		t.Errorf("got %+v, want it completed", rec)
	}
	refused(t, g.run("s", "after"), messages.CodeRaised)
	if v, err := g.sessions.get("s").value(mustOut(t, rec.ResultRef)); err != nil || v.AsInt() != 5 {
		t.Errorf("value of %s: %v %v", rec.ResultRef, v, err)
	}
}

func mustOut(t *testing.T, ref messages.Ref) uint64 {
	t.Helper()
	n, ok := ref.Out()
	if !ok {
		t.Fatalf("%q is no ref", ref)
	}
	return n
}

func TestBudgetOfAQueuedRun(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	first := g.submit("s", gt.src())
	h := handed(t, g.run("s", "let y = 3; y", budget(10*ms)))
	if h.State != string(messages.TaskQueued) || h.Detached || !h.TimedOut {
		t.Errorf("got %+v, want it queued", h)
	}
	third := g.submit("s", "y")
	gt.open(t)
	finished(t, first.wait())
	if got := finished(t, third.wait()).Render; got != "3" {
		t.Errorf("the queued run lost its place: y is %s", got)
	}
	if rec := g.record("s", "await", h.Task); rec.State != messages.TaskCompleted {
		t.Errorf("got %s, want completed", rec.State)
	}
}

func TestBudgetAtTheTurnOfAQueuedRun(t *testing.T) {
	g, gt, second := newRig(t), newGate(t), newGate(t)
	g.attach("s")
	first := g.submit("s", gt.src())
	h := handed(t, g.run("s", second.src(), budget(10*ms)))
	gt.open(t)
	finished(t, first.wait())
	if got := g.render("s", "4"); got != "4" { // its turn has a budget too
		t.Errorf("got %s", got)
	}
	if rec := g.record("s", "get", h.Task); rec.State != messages.TaskRunning {
		t.Errorf("got %s, want running", rec.State)
	}
	second.open(t)
	if rec := g.record("s", "await", h.Task); rec.State != messages.TaskCompleted {
		t.Errorf("got %s, want completed", rec.State)
	}
}

func TestLostCallerFreesTheLine(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	c := g.submit("s", gt.src())
	within(t, "it runs", func() bool { return g.tasks.Live() == 1 })
	c.abandon()
	if got := g.render("s", "1"); got != "1" {
		t.Errorf("got %s", got)
	}
	list := ask(g, "", g.d.tasksPID(), messages.Request[messages.TaskList](messages.ListTasks{Session: "s", Principal: owner, Live: true}))
	if len(list.Tasks) != 1 || list.Tasks[0].State != messages.TaskRunning {
		t.Errorf("jobs: got %+v, want the run", list.Tasks)
	}
	gt.open(t)
	g.record("s", "await", list.Tasks[0].Task)
}

func TestLeavingCallerDoesNotTakeOthersAlong(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	src := gt.src() + "; 9"
	a := g.submit("s", src, requestID("r"))
	within(t, "it runs", func() bool { return g.tasks.Live() == 1 })
	b := g.submit("s", src, requestID("r"))
	within(t, "both wait", func() bool {
		h := g.sessions.get("s")
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.byKey) == 2
	})
	a.abandon()
	gt.open(t)
	if got := finished(t, b.wait()).Render; got != "9" {
		t.Errorf("got %s", got)
	}
}

func TestBackgroundIsAlwaysAnsweredWithItsTask(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	for range 50 {
		h := handed(t, g.run("s", "let z = 1; z", background))
		if h.TimedOut || h.Detached {
			t.Fatalf("got %+v", h)
		}
		if rec := g.record("s", "await", h.Task); rec.State != messages.TaskCompleted {
			t.Fatalf("got %s", rec.State)
		}
	}
	refused(t, g.run("s", "z"), messages.CodeRaised)
}

func TestDeadlines(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	for what, options := range map[string][]option{
		"running":    {deadline(30 * ms)},
		"background": {deadline(30 * ms), background},
	} {
		r := g.run("s", gt.src(), options...)
		if what == "background" {
			rec := g.record("s", "await", handed(t, r).Task)
			if rec.State != messages.TaskCancelled {
				t.Errorf("%s: got %s", what, rec.State)
			}
			continue
		}
		if err := refused(t, r, messages.CodeRaised); !strings.Contains(string(err.Data), `"deadline":true`) {
			t.Errorf("%s: got %s", what, err.Data)
		}
	}
	first := g.submit("s", gt.src())
	err := refused(t, g.run("s", "1", deadline(20*ms)), messages.CodeRaised)
	if !strings.Contains(string(err.Data), `"deadline":true`) {
		t.Errorf("queued: got %s", err.Data)
	}
	gt.open(t)
	finished(t, first.wait())
}

func TestCancelAtEveryPlace(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	first := g.submit("s", gt.src())
	queued := g.submit("s", "1")
	jobs := func() []messages.TaskRecord {
		return ask(g, "", g.d.tasksPID(), messages.Request[messages.TaskList](messages.ListTasks{Session: "s", Principal: owner, Live: true})).Tasks
	}
	within(t, "both are listed", func() bool { return len(jobs()) == 2 })
	for _, task := range []messages.TaskID{jobs()[1].Task, jobs()[0].Task} { // the queued one, then the running one
		if raw := g.task("s", "cancel", task); raw.Err != nil {
			t.Fatalf("cancel: %v", raw.Err)
		}
		if rec := g.record("s", "await", task); rec.State != messages.TaskCancelled {
			t.Errorf("%s: got %s", task, rec.State)
		}
		if raw := g.task("s", "cancel", task); raw.Err != nil {
			t.Errorf("cancel of an ended task: %v", raw.Err)
		}
	}
	for _, c := range []*call{queued, first} {
		refused(t, c.wait(), messages.CodeRaised)
	}
	if got := g.render("s", "1"); got != "1" {
		t.Errorf("the line is stuck: %s", got)
	}
}

// A budget that ends in the very moment in which the run does must neither lose
// the answer nor leave a record that says the task still runs.
func TestBudgetEndsWithTheRun(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	tasks := map[messages.TaskID]bool{}
	for i := range 150 {
		r := g.run("s", fmt.Sprintf("^/bin/sleep 0.00%d; %d", 1+i%4, i), budget(time.Duration(2+i%5)*ms))
		if r.Err != nil {
			t.Fatalf("run %d: %v", i, r.Err)
		}
		if strings.Contains(string(r.JSON), `"timed_out"`) {
			tasks[handed(t, r).Task] = true
		} else if got := finished(t, r).Render; got != fmt.Sprint(i) {
			t.Fatalf("run %d: got %s", i, got)
		}
	}
	for task := range tasks {
		g.record("s", "await", task)
	}
	g.stop()
	next := openRig(t, g.dir, Interrupted{})
	next.attach("s")
	for task := range tasks {
		if rec := next.record("s", "get", task); rec.State != messages.TaskCompleted {
			t.Errorf("%s: the journal says %s %s", task, rec.State, rec.Error)
		}
	}
}

func TestEndWaitsForAHandOverThatIsBeingWritten(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	reached, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	hold := func(rec messages.Record) {
		if strings.HasSuffix(rec.Key, "-handover") {
			once.Do(func() { close(reached); <-release })
		}
	}
	g.journal.hold.Store(&hold)
	c := g.submit("s", gt.src()+"; 1", budget(10*ms))
	<-reached
	gt.open(t)
	next := g.submit("s", "2")
	close(release)
	h := handed(t, c.wait())
	finished(t, next.wait())
	if rec := g.record("s", "await", h.Task); rec.State != messages.TaskCompleted {
		t.Errorf("got %s", rec.State)
	}
	num, _ := h.Task.Num()
	raw, _, _ := g.store.Get(tableTask, numKey(num))
	if !strings.Contains(string(raw), `"state":"completed"`) {
		t.Errorf("the journal says %s", raw)
	}
}

func TestEveryRecordMayFail(t *testing.T) {
	for _, step := range []string{"-intent", "-end", "-handover", "-refusal", "-plan", "-turn"} {
		t.Run(step, func(t *testing.T) {
			g, gt := newRig(t), newGate(t)
			g.attach("s")
			g.policy.Store(mustPolicy(t, `
[principal."local-human"]
[principal."local-human".effects]
"fs.delete" = { deny = ["/**"] }
`))
			refuse := func(rec messages.Record) bool { return strings.HasSuffix(rec.Key, step) }
			g.journal.refuse.Store(&refuse)
			first := g.submit("s", gt.src(), budget(50*ms))
			calls := []*call{
				first, g.submit("s", "1"), g.submit("s", "1", background), g.submit("s", "rm --permanent /nothere"),
				g.submit("s", "mkdir a", planned), g.submit("s", "^/bin/sleep 0.2", budget(5*ms)),
			}
			failed := 0
			for _, c := range calls {
				r := c.wait()
				if (r.JSON == nil) == (r.Err == nil) {
					t.Errorf("%q: got %s and %v", c.req.Params.Src, r.JSON, r.Err)
				}
				if r.Err != nil && strings.Contains(r.Err.Message, "the disk is full") {
					failed++
				}
			}
			if failed == 0 && step != "-turn" { // nobody waits for that one
				t.Error("nobody was told that the record could not be written")
			}
			gt.open(t)
			within(t, "every run ends", func() bool { return g.tasks.Live() == 0 })
			g.journal.refuse.Store(nil)
			if got := g.render("s", "1"); got != "1" {
				t.Errorf("the line is stuck: %s", got)
			}
		})
	}
}

func TestClosedJournalAnswersEveryCall(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", "1"))
	if err := g.store.Close(); err != nil {
		t.Fatal(err)
	}
	for _, o := range []option{value1, background, planned, budget(ms)} {
		if r := g.run("s", "^true", o); r.Err == nil {
			t.Errorf("got %s, want an error", r.JSON)
		}
	}
}

var errNever = errors.New("never")

func TestFirstCauseStands(t *testing.T) {
	r := &Run{done: make(chan struct{})}
	if !r.setCancelled(errDeadline) || r.setCancelled(errNever) || r.cause != errDeadline {
		t.Errorf("got %v", r.cause)
	}
}
