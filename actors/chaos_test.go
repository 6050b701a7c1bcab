package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// target is which actors a chaos test kills: by the last part or the parent of
// their name.
func isTarget(name string, targets ...string) bool {
	for _, want := range targets {
		if name == "kernel/"+want || strings.HasPrefix(name, "kernel/"+want+"/") {
			return true
		}
	}
	return false
}

// install makes chaos decide.
func (g *rig) install(chaos supervisor.Chaos) { g.chaos.Store(&chaos) }

// work is a scripted workload in one session; every answer is checked.
func work(t *testing.T, g *rig, name messages.SessionName, rounds int) {
	n := 0
	finished(t, g.run(name, "var n = 0"))
	for i := range rounds {
		n++
		if got := finished(t, g.run(name, "n = n + 1; n")).Render; got != fmt.Sprint(n) {
			t.Errorf("%s round %d: n is %s, want %d: a call ran twice or not at all", name, i, got, n)
			return
		}
		switch i % 6 {
		case 0:
			path := filepath.Join(g.dir, fmt.Sprintf("%s-%d", name, i))
			finished(t, g.run(name, fmt.Sprintf("mkdir %s", path)))
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%s round %d: %v", name, i, err)
			}
		case 1:
			h := handed(t, g.run(name, "7", background))
			if rec := g.record(name, "await", h.Task); rec.State != messages.TaskCompleted {
				t.Errorf("%s round %d: task is %s", name, i, rec.State)
			}
		case 2:
			var p messages.Plan
			r := g.run(name, fmt.Sprintf("mkdir %s/%s-plan-%d; n", g.dir, name, i), planned, value1)
			if r.Err != nil || json.Unmarshal(r.JSON, &p) != nil || p.PlanRef == "" {
				t.Errorf("%s round %d: plan: %s %v", name, i, r.JSON, r.Err)
				return
			}
			if got := finished(t, g.applyPlan(name, p.PlanRef)).Render; got != fmt.Sprint(n) {
				t.Errorf("%s round %d: apply gave %s", name, i, got)
			}
		case 3:
			gt := gate{filepath.Join(g.dir, fmt.Sprintf("%s-gate-%d", name, i))}
			h := handed(t, g.run(name, gt.src(), budget(5*ms)))
			gt.open(t)
			if rec := g.record(name, "await", h.Task); rec.State != messages.TaskCompleted {
				t.Errorf("%s round %d: task is %s", name, i, rec.State)
			}
		case 4:
			refused(t, g.run(name, `fail "x"`), messages.CodeRaised)
			g.submit(name, "^/bin/sleep 0.01").abandon()
		case 5:
			c := g.submit(name, "^/bin/sleep 20")
			answer := make(chan messages.ExecResult, 1)
			go func() { // asks again if the call itself is lost
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				defer cancel()
				r, err := c.waitIn(ctx)
				if err != nil {
					t.Errorf("%s round %d: %v", name, i, err)
				}
				answer <- r
			}()
			within(t, "the sleeper is listed", func() bool {
				list := ask(g, "", g.d.tasksPID(), messages.Request[messages.TaskList](messages.ListTasks{Session: name, Principal: owner, Live: true}))
				for _, rec := range list.Tasks {
					if rec.Src == "^/bin/sleep 20" {
						return g.task(name, "cancel", rec.Task).Err == nil
					}
				}
				return false
			})
			refused(t, <-answer, messages.CodeRaised)
		}
	}
}

func (g *rig) applyPlan(name messages.SessionName, ref messages.PlanRef) messages.ExecResult {
	g.t.Helper()
	req := messages.ApplyPlan{Key: fmt.Sprintf("call-%d", g.calls.Add(1)), Conn: "conn-1", Principal: owner, PlanRef: ref}
	return ask(g, name, g.d.sessionPID(name), messages.Request[messages.ExecResult](req))
}

// Every kind of actor is killed before and after each kind of message that it
// handles, once each, while a workload runs.
func TestKilledAtEveryHandler(t *testing.T) {
	for _, target := range []string{"sessions", "tasks", "plans"} {
		for _, after := range []bool{false, true} {
			// Not in parallel: an unmarked child that has just been forked is taken
			// for an orphan of whichever runner of the process looks first.
			t.Run(fmt.Sprintf("%s after=%t", target, after), func(t *testing.T) {
				g := newRig(t)
				g.attach("s")
				var mu sync.Mutex
				met := map[string]int{}
				g.install(func(name string, msg any, late bool) bool {
					if late != after || !isTarget(name, target) {
						return false
					}
					depth := strings.Count(name, "/")
					key := fmt.Sprintf("%d %T", depth, msg)
					if req, ok := msg.(messages.RunTask); ok {
						key += req.Op
					}
					mu.Lock()
					defer mu.Unlock()
					met[key]++
					return met[key] == 2 || met[key] == 11
				})
				work(t, g, "s", 18)
				g.chaos.Store(nil)
				mu.Lock()
				if len(met) < 2 {
					t.Errorf("only these were met: %v", met)
				}
				mu.Unlock() // an actor may still be asking the hook
				within(t, "no task is left", func() bool { return g.tasks.Live() == 0 })
			})
		}
	}
}

// Random kills under load, many sessions at once.
func TestKilledAtRandom(t *testing.T) {
	g := newRig(t)
	var seed atomic.Uint64
	g.install(func(name string, msg any, after bool) bool {
		h := fnv.New64a()
		fmt.Fprintf(h, "%s %T %t %d", name, msg, after, seed.Add(1))
		return isTarget(name, "sessions", "tasks", "plans") && rand.New(rand.NewPCG(h.Sum64(), 1)).IntN(200) == 0
	})
	var wg sync.WaitGroup
	for i := range 6 {
		name := messages.SessionName(fmt.Sprintf("s%d", i))
		g.attach(name)
		wg.Go(func() { work(t, g, name, 24) })
	}
	wg.Wait()
	g.chaos.Store(nil)
	within(t, "no task is left", func() bool { return g.tasks.Live() == 0 })
}

// A panic in the session actor in the midst of an execution: the caller gets its
// result, the state is the last committed one, and closing leaves no ghost.
func TestPanicInMidExecution(t *testing.T) {
	for _, after := range []bool{false, true} {
		g, gt := newRig(t), newGate(t)
		g.attach("s")
		finished(t, g.run("s", "let a = 1"))
		c := g.submit("s", "let b = 2; "+gt.src()+"; a + b")
		within(t, "it runs", func() bool { return g.tasks.Live() == 1 })
		var once sync.Once
		g.install(func(name string, msg any, late bool) bool {
			kill := false
			if _, ok := msg.(messages.ViewSession); ok && late == after && isTarget(name, "sessions/s") {
				once.Do(func() { kill = true })
			}
			return kill
		})
		ask(g, "s", g.d.sessionPID("s"), messages.Request[messages.Raw](messages.ViewSession{View: "cwd", Principal: owner}))
		gt.open(t)
		if got := finished(t, c.wait()).Render; got != "3" {
			t.Errorf("after=%t: got %s", after, got)
		}
		if got := g.render("s", "a"); got != "1" {
			t.Errorf("after=%t: a is %s", after, got)
		}
		done := ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.CloseSession{Session: "s", Principal: owner}))
		if done.Err != nil {
			t.Errorf("after=%t: close: %v", after, done.Err)
		}
		within(t, "no ghost is left", func() bool {
			for _, name := range g.sys.Live() {
				if strings.HasPrefix(name, "kernel/sessions/") || strings.HasPrefix(name, "kernel/tasks/") {
					return false
				}
			}
			return true
		})
	}
}

// A session that cannot come up is given up after a while; whoever waits for it
// is told, other sessions are not touched, and later it may come back.
func TestCrashLoopEnds(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.attach("good")
	g.attach("bad")
	gt := newGate(t)
	running := g.submit("bad", gt.src())
	queued := g.submit("bad", "1")
	within(t, "both are there", func() bool { return g.tasks.Live() == 2 })
	var starts atomic.Int64
	g.install(func(name string, msg any, after bool) bool {
		if !isTarget(name, "sessions/bad") || after {
			return false
		}
		if _, ok := msg.(*actor.Started); ok {
			starts.Add(1)
			return true
		}
		_, ok := msg.(messages.ViewSession)
		return ok
	})
	g.sys.Tell(g.d.sessionPID("bad"), messages.ViewSession{})
	for _, c := range []*call{running, queued} {
		err := refused(t, c.wait(), messages.CodeInterrupted)
		if !strings.Contains(string(err.Data), `"entry"`) {
			t.Errorf("got %s, want the entry named", err.Data)
		}
	}
	if got := g.render("good", "1"); got != "1" {
		t.Errorf("the other session: %s", got)
	}
	n := starts.Load()
	if info := g.attach("bad"); info.Err == nil || info.Err.Code != messages.CodeInterrupted {
		t.Errorf("attach at once: got %v, want it refused", info.Err)
	}
	if m := starts.Load(); m > 2*n {
		t.Errorf("it was started %d times, then %d", n, m)
	}
	g.chaos.Store(nil)
	gt.open(t)
	within(t, "the running one ends", func() bool { return g.tasks.Live() == 0 })
	g.clock.Store(int64(2 * reviveTime))
	if got := g.render("bad", "1"); got != "1" {
		t.Errorf("after it was brought back: %s", got)
	}
}

// A run whose actor cannot come up goes on, ends and is forgotten.
func TestRunWithoutItsActor(t *testing.T) {
	t.Parallel()
	g := newRig(t)
	g.attach("s")
	g.install(func(name string, msg any, after bool) bool {
		_, started := msg.(*actor.Started)
		return started && !after && strings.HasPrefix(name, "kernel/tasks/")
	})
	gt := newGate(t)
	c := g.submit("s", gt.src())
	within(t, "its actor is given up", func() bool {
		for _, r := range g.tasks.of("s") {
			r.mu.Lock()
			lost := r.actorLost
			r.mu.Unlock()
			if lost {
				return true
			}
		}
		return false
	})
	gt.open(t)
	finished(t, c.wait())
	if got := g.render("s", "2"); got != "2" {
		t.Errorf("the line is stuck: %s", got)
	}
	within(t, "no task is left", func() bool { return g.tasks.Live() == 0 })
}

// Actors that are stopped for good by somebody else come back.
func TestStoppedActorsComeBack(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		victims := []string{"sessions/s", "tasks", "sessions", "plans"}
		tick := time.NewTicker(15 * ms)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			case <-tick.C:
			}
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			if err := g.sys.Stop(ctx, g.d.pid(victims[i%len(victims)])); err != nil && !errors.Is(err, context.Canceled) {
				t.Errorf("stop: %v", err)
			}
			cancel()
		}
	})
	work(t, g, "s", 18)
	close(stop)
	wg.Wait()
	within(t, "no task is left", func() bool { return g.tasks.Live() == 0 })
}
