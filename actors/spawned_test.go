package actors

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
)

// A task that a program spawns is a task of the session: it has a number, a
// record, output and a result, and its handle works in later submissions.
func TestSpawnedTask(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	id := messages.TaskID("task:" + g.render("s", "let t = spawn { ^printf abc; "+gt.src()+"; [1, 2] }\nt.id"))
	rec := g.record("s", "get", id)
	if rec.State != messages.TaskRunning || !strings.HasPrefix(rec.Src, "spawn { ^printf abc;") || rec.Principal != owner {
		t.Fatalf("got %+v, want it running", rec)
	}
	list := ask(g, "s", g.d.tasksPID(), messages.Request[messages.TaskList](messages.ListTasks{Session: "s", Principal: owner, Live: true}))
	if len(list.Tasks) != 1 || list.Tasks[0].Task != id {
		t.Errorf("listed: %+v", list)
	}
	within(t, "its output shows", func() bool {
		out, err := g.output(id, "stdout", 0, 0)
		return err == nil && out.Data != nil && *out.Data == "abc" && !out.EOF
	})
	if got := g.render("s", "t.is_done()"); got != "false" {
		t.Errorf("done: %s", got)
	}
	gt.open(t)
	if got := g.render("s", "[t.await(), t.await(), t.is_done()]"); got != "[1, 2]\n[1, 2]\ntrue" {
		t.Errorf("awaited: %s", got)
	}
	rec = g.record("s", "get", id)
	if rec.State != messages.TaskCompleted || rec.ResultRef == "" || rec.FinishedNS == nil || rec.StdoutLen != 3 {
		t.Errorf("at its end: %+v", rec)
	}
	raw := ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.Raw](messages.GetValue{Principal: owner, Params: messages.GetValueParams{Ref: string(id)}}))
	if raw.Err != nil || !strings.Contains(string(raw.JSON), `"v":[{"$":"int","v":1}`) {
		t.Errorf("its value by the task: %s %v", raw.JSON, raw.Err)
	}
	if got := g.events("s", id.Channel()); got != "running completed" {
		t.Errorf("its events: %s", got)
	}
	page, err := g.store.Query(messages.JournalQuery{Session: "s", Limit: 50})
	if err != nil || len(page.Entries) != 3 {
		t.Errorf("%d entries for 3 submissions, %v", len(page.Entries), err)
	}
}

// events are the states that a task's channel told.
func (g *rig) events(session messages.SessionName, channel string) string {
	g.t.Helper()
	page, err := g.store.Events(messages.ChannelKey{Session: session, Name: channel}, nil, 50, false)
	if err != nil {
		g.t.Fatal(err)
	}
	var states []string
	for _, e := range page.Events {
		var event messages.TaskEvent
		if json.Unmarshal(e.Payload, &event) != nil {
			g.t.Fatalf("event %s", e.Payload)
		}
		states = append(states, string(event.State))
	}
	return strings.Join(states, " ")
}

// Background commands and handlers are tasks too, and tasks spawn tasks.
func TestEveryKindOfSpawnedTask(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	for src, want := range map[string]string{
		"(^printf x &).await().out":                                            "x",
		"spawn { spawn { 7 }.await() + 1 }.await()":                            "8",
		"(spawn { spawn { 9 } }).await().await()":                              "9",
		"fn f() { spawn { 3 } }; f().await()":                                  "3",
		"(spawn { [1][9] }).await() catch e { e.code }":                        "index_range",
		"(spawn { ^false }).await().ok":                                        "false",
		"let c = spawn { sleep 1h }; c.cancel(); c.await() catch e { e.code }": "cancelled",
		"(1..20).map(i => spawn { i }).map(t => t.await()).sum()":              "190",
		"(spawn { plan { mkdir x } }).await().effects.len()":                   "1",
	} {
		if got := g.render("s", src); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	for _, r := range g.tasks.of("s") {
		if r.spawned != nil && !r.hasEnded() {
			t.Errorf("%s lives on", r.id())
		}
	}
}

func TestSpawnedTaskIsCancelled(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	id := messages.TaskID("task:" + g.render("s", "let t = (^sleep 95 &)\nt.id"))
	if raw := g.task("s", "cancel", id); raw.Err != nil {
		t.Fatal(raw.Err)
	}
	if rec := g.record("s", "await", id); rec.State != messages.TaskCancelled || !strings.Contains(string(rec.Error), "cancelled") {
		t.Errorf("got %+v", rec)
	}
	if got := g.render("s", "t.await() catch e { e.code }"); got != "cancelled" {
		t.Errorf("awaited: %s", got)
	}
	if got := g.events("s", id.Channel()); got != "running cancelling cancelled" {
		t.Errorf("its events: %s", got)
	}
}

// A spawned task ends with its session, which takes no new one by then.
func TestSpawnedTaskEndsWithItsSession(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	id := messages.TaskID("task:" + g.render("s", "(spawn { try { ^sleep 94 } catch e { 1 }; spawn { 2 } }).id"))
	if done := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.CloseSession{Session: "s", Principal: owner})); done.Err != nil {
		t.Fatal(done.Err)
	}
	num, _ := id.Num()
	if r := g.tasks.get(num); r != nil && !r.hasEnded() {
		t.Errorf("%s lives on", id)
	}
}

// The kernel's death: the record says so, and the binding names itself.
func TestSpawnedTaskOfADeadKernel(t *testing.T) {
	dir := t.TempDir()
	g := openRig(t, dir, Interrupted{})
	g.attach("s")
	id := messages.TaskID("task:" + g.render("s", "let t = (^sleep 93 &)\nt.id"))
	num, _ := id.Num()
	raw, found, err := g.store.Get(tableTask, numKey(num))
	var saved taskRow
	if err != nil || !found || json.Unmarshal(raw, &saved) != nil || saved.Record.State != messages.TaskRunning {
		t.Fatalf("its record is %s, %v", raw, err)
	}
	g.task("s", "cancel", id)
	g.record("s", "await", id)
	if ack := g.d.write(messages.Record{Rows: []messages.Row{row(tableTask, numKey(num), saved)}}); ack.Err != nil {
		t.Fatal(ack.Err) // as it was when the kernel died
	}
	g.stop()
	g = openRig(t, dir, Interrupted{})
	g.attach("s")
	if rec := g.record("s", "get", id); rec.State != messages.TaskFailed || !strings.Contains(string(rec.Error), "interrupted") {
		t.Errorf("got %+v", rec)
	}
	if e := refused(t, g.run("s", "t.await()"), messages.CodeRaised); !strings.Contains(e.Message, "`t` could not be kept") {
		t.Errorf("got %v", e)
	}
}

// A task whose record cannot be written does not run.
func TestSpawnedTaskWithoutRecord(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", "var ran = false"))
	no := func(r messages.Record) bool {
		num := strings.TrimSuffix(strings.TrimPrefix(r.Key, "task-"), "-intent")
		return strings.HasSuffix(r.Key, "-intent") && num != "1"
	}
	g.journal.refuse.Store(&no)
	if got := g.render("s", "(spawn { ran = true }).await() catch e { e.msg }"); !strings.Contains(got, "the disk is full") {
		t.Errorf("got %s", got)
	}
	g.journal.refuse.Store(nil)
	if got := g.render("s", "ran"); got != "false" {
		t.Error("it ran")
	}
}

func TestSuspend(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", "var n = 0"))
	for name, start := range map[string]func(gate) messages.TaskID{
		"spawned": func(gt gate) messages.TaskID {
			return messages.TaskID("task:" + g.render("s", "let t = spawn { "+gt.src()+"; n += 1 }\nt.id"))
		},
		"background": func(gt gate) messages.TaskID { return handed(t, g.run("s", gt.src()+"; n += 1", background)).Task },
	} {
		gt := newGate(t)
		id := start(gt)
		num, _ := id.Num()
		var stopped []string
		within(t, name+" has a process", func() bool { return len(g.d.Runner.Leftovers(num)) > 0 })
		for range 2 {
			if raw := g.task("s", "suspend", id); raw.Err != nil || !strings.Contains(string(raw.JSON), `"suspended"`) {
				t.Fatalf("%s: suspend: %s %v", name, raw.JSON, raw.Err)
			}
		}
		for _, p := range g.d.Runner.Leftovers(num) {
			stopped = append(stopped, p.State)
		}
		if len(stopped) == 0 || strings.Trim(strings.Join(stopped, ""), "TD") != "" {
			t.Errorf("%s: its processes are %v", name, stopped)
		}
		if rec := g.record("s", "get", id); rec.State != messages.TaskSuspended {
			t.Errorf("%s: got %s", name, rec.State)
		}
		gt.open(t)
		if raw := g.task("s", "resume", id); raw.Err != nil {
			t.Fatalf("%s: resume: %v", name, raw.Err)
		}
		if rec := g.record("s", "await", id); rec.State != messages.TaskCompleted {
			t.Errorf("%s: it ended %s: %s", name, rec.State, rec.Error)
		}
		if raw := g.task("s", "suspend", id); raw.Err == nil || raw.Err.Code != messages.CodeTaskControl {
			t.Errorf("%s: suspended after its end: %v", name, raw.Err)
		}
		if got := g.events("s", id.Channel()); got != "running suspended running completed" {
			t.Errorf("%s: its events: %s", name, got)
		}
	}
	if got := g.render("s", "n"); got != "2" {
		t.Errorf("n is %s", got)
	}
	if got := g.render("s", "let u = spawn { sleep 1h }; u.suspend(); let s = u.is_suspended(); u.cancel(); [s, u.await() catch e { e.code }]"); got != "true\ncancelled" {
		t.Errorf("cancelled while suspended: %s", got)
	}
}

func TestTaskQuotaInTheLanguage(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", "fn many() { spawn { 1 } }"))
	g.tasks.mu.Lock()
	for i := range uint64(taskLimit - 1) {
		g.tasks.runs[1<<40+i] = &Run{num: 1<<40 + i, host: &sessionHost{name: "none"}, done: make(chan struct{})}
	}
	g.tasks.mu.Unlock()
	if got := g.render("s", "many() catch e { e.msg }"); got != fmt.Sprintf("%d tasks run already", taskLimit) {
		t.Errorf("got %s", got)
	}
	g.tasks.mu.Lock()
	for i := range uint64(taskLimit) {
		delete(g.tasks.runs, 1<<40+i)
	}
	g.tasks.mu.Unlock()
}

// Tasks that spawn tasks without end come to theirs, and nobody else is refused
// anything meanwhile.
func TestForkBomb(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.attach("other")
	finished(t, g.run("s", "fn f() { spawn { f() }; spawn { f() }; f() }"))
	if a := g.run("s", "f()"); a.Err == nil || !strings.Contains(a.Err.Message, "recursion_limit") {
		t.Errorf("the bomb: got %v", a.Err)
	}
	if got := g.render("other", "spawn { 7 }.await()"); got != "7" {
		t.Errorf("a task of another session: got %s", got)
	}
	within(t, "its tasks end", func() bool { return g.tasks.liveOf("s") == 0 })
	if got := g.render("s", "spawn { 8 }.await()"); got != "8" {
		t.Errorf("afterwards: got %s", got)
	}
}

// An ended task keeps its value alive only for those who hold it.
func TestSpawnedValueIsLetGo(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", "spawn { [1] }.await().len()"))
	for _, r := range g.tasks.of("s") {
		if r.spawned != nil && (r.spawned.ended != nil || r.spawned.spec.Run != nil) {
			t.Errorf("%s is still there", r.id())
		}
	}
}
