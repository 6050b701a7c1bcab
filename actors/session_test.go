package actors

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
)

func TestBindingsDirectoryAndEnvironmentStay(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", `let x = 7; env.FOO = "1"; mkdir d; cd d`))
	if got := g.render("s", `"{x}{env.FOO}"`); got != "71" {
		t.Errorf("got %q, want 71", got)
	}
	if got := g.render("s", `pwd`); !strings.HasSuffix(got, "/d") {
		t.Errorf("pwd: got %q, want it to end in /d", got)
	}
}

func TestMovingIsAnEvent(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.render("s", "cd /; let x = 1")
	g.render("s", "let y = 2")
	page, err := g.store.Events(messages.ChannelKey{Session: "s", Name: "session"}, nil, 10, false)
	if err != nil {
		t.Fatal(err)
	}
	var moves []string
	for _, e := range page.Events {
		if strings.Contains(string(e.Payload), `"kind":"cwd"`) {
			moves = append(moves, string(e.Payload))
		}
	}
	if len(moves) != 1 || !strings.Contains(moves[0], `"display":"/"`) {
		t.Errorf("events of moving: %q, want one that names /", moves)
	}
}

// What a program left running inside the kernel ends with its session.
func TestClosingASessionEndsWhatItSpawned(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.render("s", `let t = spawn { ^sh -c 'echo $$ > pid; exec sleep 600' }`)
	pid := 0
	within(t, "the task runs", func() bool {
		text, err := os.ReadFile(filepath.Join(g.dir, "pid"))
		pid, _ = strconv.Atoi(strings.TrimSpace(string(text)))
		return err == nil && pid > 0
	})
	done := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.CloseSession{Session: "s", Principal: owner}))
	if done.Err != nil {
		t.Fatal(done.Err)
	}
	within(t, "the task has ended", func() bool { return syscall.Kill(pid, 0) != nil })
}

func TestSubmissionsRunInOrder(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", `var n = 0`))
	var calls []*call
	for i := 1; i <= 50; i++ {
		calls = append(calls, g.submit("s", fmt.Sprintf("n = n * 2 %% 1000003 + %d; n", i)))
	}
	want := 0
	for i, c := range calls {
		want = want*2%1000003 + i + 1
		if got := finished(t, c.wait()).Render; got != fmt.Sprint(want) {
			t.Fatalf("call %d: got %s, want %d", i, got, want)
		}
	}
}

func TestAnswers(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	for _, c := range []struct {
		src     string
		options []option
		code    messages.Code
	}{
		{"1 +", nil, messages.CodeParseError},
		{"1 +", []option{background}, messages.CodeParseError},
		{"nothere", nil, messages.CodeRaised},
		{`fail "x"`, nil, messages.CodeRaised},
		{"^false", []option{func(p *messages.ExecParams) { p.Position = messages.PositionStmt }}, messages.CodeRaised},
	} {
		refused(t, g.run("s", c.src, c.options...), c.code)
	}
	if f := finished(t, g.run("s", "^false")); f.Ref == "" {
		t.Error("a failed outcome in value position has no ref")
	}
}

func TestNumbersRiseAndAreNeverUsedTwice(t *testing.T) {
	dir := t.TempDir()
	seen := map[messages.Ref]bool{}
	for round := range 3 {
		g := openRig(t, dir, Interrupted{})
		g.attach("s")
		for i := range 5 {
			ref := finished(t, g.run("s", fmt.Sprintf("%d", i))).Ref
			if seen[ref] {
				t.Fatalf("round %d: %s was given twice", round, ref)
			}
			seen[ref] = true
		}
		g.stop()
	}
}

func TestStateComesBackAfterARestart(t *testing.T) {
	dir := t.TempDir()
	g := openRig(t, dir, Interrupted{})
	g.attach("s")
	finished(t, g.run("s", `let x = [1, 2]; fn f(n) { n + 1 }; env.A = "b"; mkdir d; cd d`))
	g.stop()
	g = openRig(t, dir, Interrupted{})
	if info := g.attach("s"); info.RestartedAt == 0 || !strings.HasSuffix(info.Cwd.Display, "/d") {
		t.Errorf("attach: got %+v, want a restarted session in d", info)
	}
	if got := g.render("s", `"{f(x[1])} {env.A}"`); got != "3 b" {
		t.Errorf("got %q, want %q", got, "3 b")
	}
}

func TestBadDirectoryIsRefusedByName(t *testing.T) {
	g := newRig(t)
	m := g.join("s", "conn-1")
	m.Cwd = g.dir + "/nothere"
	info := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](m))
	if info.Err == nil || info.Err.Code != messages.CodeInvalidParams || !strings.Contains(info.Err.Message, "nothere") {
		t.Fatalf("got %v, want a refusal that names the directory", info.Err)
	}
	if info := g.attach("s"); info.Err != nil {
		t.Errorf("attach with a good directory afterwards: %v", info.Err)
	}
}

func TestBadSessionNames(t *testing.T) {
	g := newRig(t)
	for _, name := range []messages.SessionName{"", ".a", "a/b", "a\x00", "a b", messages.SessionName(strings.Repeat("a", 65))} {
		if info := g.attach(name); info.Err == nil || info.Err.Code != messages.CodeInvalidParams {
			t.Errorf("session %q: got %v, want it refused", name, info.Err)
		}
	}
}

func TestOnlyMembersEnter(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	m := g.join("s", "conn-2")
	m.Principal = "uid:2"
	info := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.SessionInfo](m))
	if info.Err == nil || info.Err.Code != messages.CodeLeashDenied {
		t.Errorf("attach: got %v, want it denied", info.Err)
	}
	done := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.CloseSession{Session: "s", Principal: "uid:2"}))
	if done.Err == nil || done.Err.Code != messages.CodeLeashDenied {
		t.Errorf("close: got %v, want it denied", done.Err)
	}
	list := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Sessions](messages.ListSessions{Principal: "uid:2"}))
	if len(list.Sessions) != 0 {
		t.Errorf("list: got %v, want nothing", list.Sessions)
	}
}

func TestTheSameCallIsAnsweredOnce(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", `var n = 0`))
	c := g.submit("s", `n = n + 1; n`)
	first := c.wait()
	again := ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.ExecResult](c.req))
	if string(first.JSON) != string(again.JSON) {
		t.Errorf("the same call again: got %s, want %s", again.JSON, first.JSON)
	}
	if got := g.render("s", "n"); got != "1" {
		t.Errorf("n is %s, want 1", got)
	}
}

func TestAnsweredRunsAreForgotten(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	for range 3 * answersKept {
		g.run("s", "1")
	}
	g.clock.Store(int64(2 * answerTime))
	g.run("s", "1")
	h := g.sessions.get("s")
	within(t, "old runs are forgotten", func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		return len(h.runs) <= answersKept && len(h.byKey) == len(h.runs) && len(h.answers) == len(h.runs)
	})
	within(t, "tasks that nobody saw are forgotten", func() bool { return g.tasks.Live() == 0 })
	g.tasks.mu.Lock()
	defer g.tasks.mu.Unlock()
	if len(g.tasks.runs) != 0 {
		t.Errorf("%d runs are left in the task store", len(g.tasks.runs))
	}
}

func TestEndedRunsLetGoOfOldValues(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	h := handed(t, g.run("s", "1", background))
	g.record("s", "await", h.Task)
	num, _ := h.Task.Num()
	r := g.tasks.get(num)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.fork != nil || r.printed.head != nil || r.budget != nil || r.deadline != nil {
		t.Error("an ended run still holds the session's state or timers")
	}
}

func TestIdleSessionsLeaveMemoryAndComeBack(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	finished(t, g.run("s", "let x = 1"))
	g.clock.Store(int64(2 * idleTime))
	if idle := g.sessions.idle(idleTime); len(idle) != 0 {
		t.Fatal("a session with a connection counts as idle")
	}
	ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.Detached{Session: "s", Conn: "conn-1"}))
	g.clock.Add(int64(2 * idleTime))
	g.sys.Tell(g.d.pid(SessionsName), sweepIdle{})
	within(t, "the session leaves memory", func() bool { return g.sessions.get("s") == nil })
	if got := g.render("s", "x"); got != "1" {
		t.Errorf("after it came back x is %s, want 1", got)
	}
}

func TestCloseUnderLoad(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	var calls []*call
	for i := range 40 {
		calls = append(calls, g.submit("s", fmt.Sprintf("^/bin/sleep 0.%d", i%3)))
		calls = append(calls, g.submit("s", "^/bin/sleep 30", background))
	}
	closing := messages.Request[messages.Done](messages.CloseSession{Session: "s", Principal: owner})
	first := make(chan messages.Done, 1)
	go func() { first <- ask(g, "", g.d.pid(SessionsName), closing) }()
	for range 20 {
		calls = append(calls, g.submit("s", "1"))
	}
	if done := ask(g, "", g.d.pid(SessionsName), closing); done.Err != nil {
		t.Errorf("close: %v", done.Err)
	}
	if done := <-first; done.Err != nil {
		t.Errorf("close: %v", done.Err)
	}
	for _, c := range calls {
		if r := c.wait(); r.JSON == nil && r.Err == nil {
			t.Errorf("%q: an empty answer", c.req.Params.Src)
		}
	}
	left := func() (out []string) {
		g.tasks.mu.Lock()
		defer g.tasks.mu.Unlock()
		for _, r := range g.tasks.runs {
			if !r.hasEnded() {
				out = append(out, r.params.Src+" "+string(r.record().State))
			}
		}
		return out
	}
	if l := left(); len(l) > 0 {
		t.Errorf("left: %v of %d/%d", l, len(g.tasks.runs), len(g.tasks.ended))
	}
	within(t, "no task is left", func() bool { return g.tasks.Live() == 0 })
	if got := g.render("s", "2"); got != "2" {
		t.Errorf("after the close: got %s", got)
	}
}

func TestTerminalIsOpenedOncePerCall(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	req := messages.OpenTerminal{Key: "k", Principal: owner, Cmd: "cat"}
	first := ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.Raw](req))
	again := ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.Raw](req))
	if first.Err != nil || string(first.JSON) != string(again.JSON) || g.ptys.Load() != 1 {
		t.Errorf("got %s %v, then %s %v; %d terminals", first.JSON, first.Err, again.JSON, again.Err, g.ptys.Load())
	}
}

// counting is a journal that counts how many batches of printed values wait.
type counting struct {
	*faulty
	mu         sync.Mutex
	open, most int
}

func (c *counting) Append(rec messages.Record, done func(messages.Appended)) {
	if len(rec.Events) != renderBatch || rec.Entry != nil {
		c.faulty.Append(rec, done)
		return
	}
	c.mu.Lock()
	c.open++
	c.most = max(c.most, c.open)
	c.mu.Unlock()
	c.faulty.Append(rec, func(a messages.Appended) {
		c.mu.Lock()
		c.open--
		c.mu.Unlock()
		done(a)
	})
}

func TestProgramsThatPrintWaitForTheJournal(t *testing.T) {
	g := newRig(t)
	count := &counting{faulty: g.journal}
	g.d.Journal = count
	g.attach("s")
	f := finished(t, g.run("s", strings.Repeat("pwd\n", 2000)))
	count.mu.Lock()
	defer count.mu.Unlock()
	if f.PrintedTotal != 1999 || len(f.Printed) > 100 || count.most != 1 {
		t.Errorf("printed %d, shown %d, batches at once %d", f.PrintedTotal, len(f.Printed), count.most)
	}
}

func TestBudgetsAndDeadlines(t *testing.T) {
	const long = time.Hour
	for _, ms := range []int64{1, 1 << 40, 1<<63 - 1} {
		if d := millis(ms); d <= 0 || ms > 1<<39 && d < long {
			t.Errorf("%d ms: got %v", ms, d)
		}
	}
}
