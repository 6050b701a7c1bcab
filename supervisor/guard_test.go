package supervisor

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
)

func TestAskerOfPanickingActorIsAnsweredAtOnce(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{Restart: patient})
	failed := mustFail(t, Start(s, pid, boom{"k"}), boom{"k"})
	if failed.Reason != "boom k" || failed.Actor != pid.GetId() {
		t.Errorf("got %+v, want reason %q and actor %q", failed, "boom k", pid.GetId())
	}
}

func TestMessagesBehindPanicReachTheNewInstance(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{Restart: patient})
	g := newGate()
	s.Tell(pid, do{func(actor.Context) { g.pass() }})
	recv(t, g.reached)
	bad := Start(s, pid, boom{})
	good := []*Pending[pong]{Start(s, pid, ping{1}), Start(s, pid, ping{2})}
	close(g.open)
	mustFail(t, bad, boom{})
	for i, p := range good {
		if got := mustPong(t, p, i+1); got.Instance != 2 {
			t.Errorf("ping %d answered by instance %d, want 2", i+1, got.Instance)
		}
	}
}

// A failed instance must see nothing between its panic and Restarting, not
// even a message that a slow sender is just posting.
func TestFailedInstanceGetsNoMoreMessages(t *testing.T) {
	s := shared()
	var failed [302]atomic.Bool
	var late atomic.Int32
	pid := top(t, s, Spec{Restart: patient, New: counted(func(ctx actor.Context, me int) {
		switch ctx.Message().(type) {
		case boom:
			failed[me].Store(true)
		case ping:
			if failed[me].Load() {
				late.Add(1)
			}
		}
	})})
	for i := range 300 {
		bad, good := Start(s, pid, boom{}), Start(s, pid, ping{i})
		s.guardOf(pid.GetId()).box.PostSystemMessage(&actor.Watch{Watcher: s.PID("nobody")})
		mustFail(t, bad, boom{})
		mustPong(t, good, i)
	}
	if n := late.Load(); n > 0 {
		t.Errorf("failed instances got %d messages", n)
	}
}

func TestPanicInLifecycleHandler(t *testing.T) {
	for _, tt := range []struct {
		name string
		at   any
		want []string
	}{
		{"started", &actor.Started{}, []string{"1 Started", "1 Restarting", "2 Started", "2 Stopping", "2 Stopped"}},
		{"stopping", &actor.Stopping{}, []string{"1 Started", "1 Stopping", "1 Stopped"}},
		{"stopped", &actor.Stopped{}, []string{"1 Started", "1 Stopping", "1 Stopped"}},
		{"restarting", &actor.Restarting{}, []string{"1 Started", "1 Restarting", "2 Started", "2 Stopping", "2 Stopped"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := shared()
			log := make(chan string, 20)
			parent := top(t, s, Spec{})
			pid := child(t, s, parent, Spec{Name: "c", New: counted(func(ctx actor.Context, me int) {
				switch ctx.Message().(type) {
				case *actor.Started, *actor.Restarting, *actor.Stopping, *actor.Stopped:
					kind := fmt.Sprintf("%T", ctx.Message())
					log <- fmt.Sprint(me, " ", strings.TrimPrefix(kind, "*actor."))
					if kind == fmt.Sprintf("%T", tt.at) && me == 1 {
						panic(kind)
					}
				}
			})})
			if tt.name == "restarting" {
				mustFail(t, Start(s, pid, boom{}), boom{})
			}
			mustPong(t, Start(s, pid, ping{1}), 1)
			if err := s.Stop(within(t), pid); err != nil {
				t.Fatal(err)
			}
			close(log)
			var got []string
			for line := range log {
				got = append(got, line)
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("lifecycle (-want +got):\n%s", d)
			}
			// The parent was told, or its own stop would hang.
			if err := s.Stop(within(t), parent); err != nil {
				t.Error(err)
			}
		})
	}
}

// A stop that is queued while a handler runs that then panics: the library
// stops the actor and then restarts it, unreachable and unstoppable.
func TestStopThenPanicLeavesNoZombie(t *testing.T) {
	s := shared()
	for _, nested := range []bool{false, true} {
		t.Run(fmt.Sprint("nested=", nested), func(t *testing.T) {
			var instances atomic.Int32
			spec := Spec{Name: "victim-" + fmt.Sprint(nested), Restart: patient, New: func() actor.Actor {
				instances.Add(1)
				return fn(func(ctx actor.Context) { basic(ctx, 0) })
			}}
			pid := s.PID(spec.Name)
			if nested {
				pid = child(t, s, top(t, s, Spec{}), spec)
			} else {
				top(t, s, spec)
			}
			g := newGate()
			s.Tell(pid, do{func(actor.Context) { g.pass(); panic("after the stop") }})
			recv(t, g.reached)
			behind := Start(s, pid, ping{1})
			s.Root().Stop(pid)
			failure := s.guardOf(pid.GetId())
			close(g.open)
			mustFail(t, behind, ping{1})
			eventually(t, "victim gone", func() bool { return !isLive(s, pid) })
			// Whatever the strategy still sends must not revive it.
			failure.box.PostSystemMessage(&actor.Restart{})
			mustFail(t, Start(s, pid, ping{2}), ping{2})
			eventually(t, "mailbox idle", func() bool {
				failure.box.mu.Lock()
				defer failure.box.mu.Unlock()
				return !failure.box.active
			})
			if n := instances.Load(); n != 1 {
				t.Errorf("constructor called %d times, want 1", n)
			}
		})
	}
}

// A restart that comes while the actor waits for its children to stop would
// make it live again: registered, without children, refusing for ever.
func TestRestartThatOvertakesAStopStopsAgain(t *testing.T) {
	s := shared()
	for i := range 50 {
		parent := top(t, s, Spec{Name: fmt.Sprint("overtaken-", i), Restart: patient})
		hold := newGate()
		child(t, s, parent, Spec{Name: "slow", New: counted(func(ctx actor.Context, _ int) {
			if _, ok := ctx.Message().(*actor.Stopping); ok {
				hold.pass()
			}
		})})
		g := newGate()
		s.Tell(parent, do{func(actor.Context) { g.pass(); panic("with a stop queued") }})
		recv(t, g.reached)
		s.Root().Stop(parent)
		close(g.open)
		recv(t, hold.reached) // now the parent is stopping
		s.guardOf(parent.GetId()).box.PostSystemMessage(&actor.Restart{})
		mustFail(t, Start(s, parent, ping{1}), ping{1})
		close(hold.open)
		eventually(t, "parent gone", func() bool { return !isLive(s, parent) })
	}
}

func TestStoppingActorRefusesWhileChildrenStop(t *testing.T) {
	s := shared()
	parent := top(t, s, Spec{})
	hold := newGate()
	child(t, s, parent, Spec{Name: "slow", New: counted(func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Stopping); ok {
			hold.pass()
		}
	})})
	s.Root().Stop(parent)
	recv(t, hold.reached)
	if failed := mustFail(t, Start(s, parent, ping{1}), ping{1}); failed.Reason != reasonStopping {
		t.Errorf("got reason %q, want %q", failed.Reason, reasonStopping)
	}
	close(hold.open)
}

func TestMessagesBehindAStopAreRefused(t *testing.T) {
	s := shared()
	for _, how := range []string{"stop", "poison"} {
		t.Run(how, func(t *testing.T) {
			pid := top(t, s, Spec{})
			g := newGate()
			s.Tell(pid, do{func(actor.Context) { g.pass() }})
			recv(t, g.reached)
			first := Start(s, pid, ping{1})
			if how == "stop" {
				s.Root().Stop(pid)
			} else {
				s.Root().Poison(pid)
			}
			second := Start(s, pid, ping{2})
			close(g.open)
			if how == "stop" {
				mustFail(t, first, ping{1})
			} else {
				mustPong(t, first, 1)
			}
			mustFail(t, second, ping{2})
		})
	}
}

// A failed actor that is stopped while it waits for its restart must answer
// what is queued.
func TestStopDuringBackoffAnswersTheQueue(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{Restart: Restart{Min: patience * 10, Max: patience * 10}})
	mustFail(t, Start(s, pid, boom{}), boom{}) // restarts at once
	mustFail(t, Start(s, pid, boom{}), boom{}) // waits
	queued := Start(s, pid, ping{1})
	if err := s.Stop(within(t), pid); err != nil {
		t.Fatal(err)
	}
	mustFail(t, queued, ping{1})
}

// A parent that respawns on Terminated would never finish its own stop or
// restart if it heard of its children's ends then.
func TestTerminatedIsDroppedWhileParentGoesDown(t *testing.T) {
	s := shared()
	var wrong atomic.Int32
	spawn := func(ctx actor.Context) {
		for i := range 5 {
			if _, err := s.SpawnChild(ctx, Spec{Name: fmt.Sprint("c", i), New: counted(nil)}); err != nil {
				wrong.Add(1)
			}
		}
	}
	parent := top(t, s, Spec{Restart: patient, New: func() actor.Actor {
		goingDown := false
		return fn(func(ctx actor.Context) {
			basic(ctx, 0)
			switch ctx.Message().(type) {
			case *actor.Started:
				spawn(ctx)
			case *actor.Restarting, *actor.Stopping:
				goingDown = true
			case *actor.Terminated:
				if goingDown {
					wrong.Add(1)
				}
				spawn(ctx)
			}
		})
	}})
	for i := range 20 {
		mustFail(t, Start(s, parent, boom{}), boom{})
		mustPong(t, Start(s, parent, ping{i}), i)
		mustPong(t, Start(s, s.PID(parent.GetId()+"/c3"), ping{i}), i)
	}
	// While it lives it does hear of them.
	s.KillStop(parent.GetId() + "/c2")
	eventually(t, "child is back", func() bool {
		_, err := Ask(within(t), s, s.PID(parent.GetId()+"/c2"), ping{1})
		return err == nil
	})
	if err := s.Stop(within(t), parent); err != nil {
		t.Fatal(err)
	}
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d notices or refused spawns while going down", n)
	}
}

func TestAskingActorLearnsWhichRequestFailed(t *testing.T) {
	s := shared()
	got := make(chan any, 10)
	asker := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		switch msg := ctx.Message().(type) {
		case *Failed, *actor.DeadLetterResponse:
			got <- msg
		}
	})})
	other := child(t, s, asker, Spec{Name: "other", Restart: patient, New: counted(nil)})
	nobody := s.PID("nobody")
	s.Tell(asker, do{func(ctx actor.Context) {
		ctx.Request(other, boom{"x"})
	}})
	want := any(&Failed{Request: boom{"x"}, Actor: other.GetId(), Reason: "boom x"})
	if d := cmp.Diff(want, recv(t, got)); d != "" {
		t.Errorf("panicking actor (-want +got):\n%s", d)
	}
	s.Tell(asker, do{func(ctx actor.Context) { ctx.Request(nobody, ping{7}) }})
	want = &Failed{Request: ping{7}, Actor: "nobody", Reason: reasonDead}
	if d := cmp.Diff(want, recv(t, got)); d != "" {
		t.Errorf("dead letter (-want +got):\n%s", d)
	}
	mustPong(t, Start(s, asker, ping{1}), 1) // both answers to the dead letter are through
	select {
	case extra := <-got:
		t.Errorf("got a second answer: %#v", extra)
	default:
	}
}

// What a killed actor was told is gone with it, so a fact goes into the host
// before the message that announces it, and Started looks at the host.
func TestFactInHostSurvivesTheKillOfItsMessenger(t *testing.T) {
	s := New(Options{Chaos: chaosOnce(func(msg any) bool { return msg == any("wake") })})
	defer shutdown(t, s)
	var fact atomic.Int32
	seen := make(chan int32, 2)
	pid := top(t, s, Spec{Restart: patient, New: func() actor.Actor {
		return fn(func(ctx actor.Context) {
			switch ctx.Message().(type) {
			case *actor.Started, string:
				if n := fact.Load(); n != 0 {
					seen <- n
				}
			}
		})
	}})
	fact.Store(42)
	s.Tell(pid, "wake")
	if got := recv(t, seen); got != 42 {
		t.Errorf("got %d, want 42", got)
	}
}

func TestChaosFailsBeforeOrAfterTheHandler(t *testing.T) {
	for _, tt := range []struct {
		after     bool
		processed int32
	}{{false, 0}, {true, 1}} {
		var processed atomic.Int32
		s := New(Options{Chaos: func(actor string, msg any, after bool) bool {
			return actor == "kernel" && msg == any("work") && after == tt.after
		}})
		pid := top(t, s, Spec{Name: "kernel", Restart: patient, New: counted(func(ctx actor.Context, _ int) {
			if ctx.Message() == any("work") {
				processed.Add(1)
			}
		})})
		s.Tell(pid, "work")
		if got := mustPong(t, Start(s, pid, ping{1}), 1); got.Instance != 2 || processed.Load() != tt.processed {
			t.Errorf("after=%t: instance %d, processed %d times; want 2, %d", tt.after, got.Instance, processed.Load(), tt.processed)
		}
		shutdown(t, s)
	}
}

// chaosOnce fails the first message that matches, before its handler.
func chaosOnce(match func(any) bool) Chaos {
	var done atomic.Bool
	return func(_ string, msg any, after bool) bool {
		return !after && match(msg) && done.CompareAndSwap(false, true)
	}
}

func shutdown(t testing.TB, s *System) {
	t.Helper()
	if err := s.Shutdown(within(t)); err != nil {
		t.Error(err)
	}
}

func TestLifecycleMessagesFromOutsideAreDropped(t *testing.T) {
	s := shared()
	var got atomic.Int32
	pid := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		switch ctx.Message().(type) {
		case *actor.Stopping, *actor.Stopped, *actor.Restarting, *actor.Terminated:
			got.Add(1)
		}
	})})
	for _, msg := range []any{&actor.Stopping{}, &actor.Stopped{}, &actor.Restarting{}, &actor.Restart{}, &actor.Terminated{Who: pid}, &actor.Started{}} {
		s.Tell(pid, msg)
	}
	mustPong(t, Start(s, pid, ping{1}), 1)
	if n := got.Load(); n != 0 || !isLive(s, pid) {
		t.Errorf("got %d lifecycle messages, live %t; want 0, true", n, isLive(s, pid))
	}
}

func TestHandlerThatEndsItsGoroutineIsAFailure(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{Restart: patient})
	s.Tell(pid, do{func(actor.Context) { runtime.Goexit() }})
	if got := mustPong(t, Start(s, pid, ping{1}), 1); got.Instance != 2 {
		t.Errorf("answered by instance %d, want 2", got.Instance)
	}
}

func TestHugeReasonIsClipped(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{Restart: patient})
	failed := mustFail(t, Start(s, pid, boom{strings.Repeat("x", 1<<20)}), boom{strings.Repeat("x", 1<<20)})
	if len(failed.Reason) > maxReason+len("…") {
		t.Errorf("reason has %d bytes, want at most %d", len(failed.Reason), maxReason)
	}
}
