package supervisor

import (
	"errors"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

func TestSpawnRefusesBadSpecs(t *testing.T) {
	s := shared()
	for _, tt := range []struct {
		name string
		spec Spec
	}{
		{"no name", Spec{New: counted(nil)}},
		{"no constructor", Spec{Name: "x"}},
		{"constructor panics", Spec{Name: "x", New: func() actor.Actor { panic("no") }}},
		{"name of the library", Spec{Name: "eventstream", New: counted(nil)}},
	} {
		pid, err := s.Spawn(tt.spec)
		if err == nil || pid != nil {
			t.Errorf("%s: got %v, %v, want an error", tt.name, pid, err)
		}
		if s.guardOf(tt.spec.Name) != nil {
			t.Errorf("%s: name stays taken", tt.name)
		}
	}
}

func TestTakenNameDoesNotCallTheConstructor(t *testing.T) {
	s := shared()
	parent := top(t, s, Spec{Name: "taken"})
	first := child(t, s, parent, Spec{Name: "c", New: counted(nil)})
	never := func() actor.Actor { t.Error("constructor called"); return fn(func(actor.Context) {}) }
	if again := child(t, s, parent, Spec{Name: "c", New: never}); !again.Equal(first) {
		t.Errorf("got %v, want %v", again, first)
	}
	pid, err := s.Spawn(Spec{Name: "taken", New: never})
	if !errors.Is(err, ErrNameTaken) || !pid.Equal(parent) {
		t.Errorf("got %v, %v, want %v, %v", pid, err, parent, ErrNameTaken)
	}
}

func TestAddressResolvesAcrossRestartsAndRespawns(t *testing.T) {
	s := shared()
	parent := top(t, s, Spec{})
	spec := Spec{Name: "c", New: counted(nil), Restart: patient}
	child(t, s, parent, spec)
	pid := s.PID(parent.GetId() + "/c")
	mustPong(t, Start(s, pid, ping{1}), 1)
	mustFail(t, Start(s, pid, boom{}), boom{})
	mustPong(t, Start(s, pid, ping{2}), 2)
	if err := s.Stop(within(t), pid); err != nil {
		t.Fatal(err)
	}
	mustFail(t, Start(s, pid, ping{3}), ping{3})
	child(t, s, parent, spec)
	mustPong(t, Start(s, pid, ping{4}), 4)
}

// Stopping a child and spawning it anew in one handler: the old one still has
// the name, and its end must not make the library forget the new one.
func TestNameIsFreeOnceItsHolderWasToldToStop(t *testing.T) {
	s := shared()
	for _, watched := range []bool{false, true} {
		t.Run(fmt.Sprint("watched=", watched), func(t *testing.T) {
			var terminated atomic.Int32
			parent := top(t, s, Spec{Name: fmt.Sprint("reuse-", watched), New: counted(func(ctx actor.Context, _ int) {
				if _, ok := ctx.Message().(*actor.Terminated); ok {
					terminated.Add(1)
				}
			})})
			pid := child(t, s, parent, Spec{Name: "c", New: counted(nil)})
			for i := range 100 {
				done := make(chan error, 1)
				s.Tell(parent, do{func(ctx actor.Context) {
					if watched {
						ctx.Watch(pid)
					}
					ctx.Stop(pid)
					_, err := s.SpawnChild(ctx, Spec{Name: "c", New: counted(nil)})
					done <- err
				}})
				if err := recv(t, done); err != nil {
					t.Fatal(err)
				}
				eventually(t, "successor answers", func() bool {
					_, err := Ask(within(t), s, pid, ping{i})
					return err == nil
				})
			}
			mustKnowItsChild(t, s, parent, pid)
			if err := s.Stop(within(t), parent); err != nil {
				t.Fatal(err)
			}
			if isLive(s, pid) {
				t.Error("successor outlives its parent")
			}
			if n := terminated.Load(); n > 0 {
				t.Errorf("parent heard %d times of the end of a child that lives", n)
			}
		})
	}
}

func mustKnowItsChild(t *testing.T, s *System, parent, pid *actor.PID) {
	t.Helper()
	children := make(chan []*actor.PID, 1)
	s.Tell(parent, do{func(ctx actor.Context) { children <- ctx.Children() }})
	if got := recv(t, children); len(got) != 1 || !got[0].Equal(pid) {
		t.Errorf("parent's children are %v, want only %v", got, pid)
	}
}

// The parent is told of the end after the name is free; a spawn between the
// two must leave the parent with its new child.
func TestSpawnBeforeTheNoticeOfTheEnd(t *testing.T) {
	s := shared()
	var terminated atomic.Int32
	parent := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Terminated); ok {
			terminated.Add(1)
		}
	})})
	pid := child(t, s, parent, Spec{Name: "c", New: counted(nil)})
	g := newGate()
	done := make(chan error, 1)
	s.Tell(parent, do{func(ctx actor.Context) {
		g.pass()
		_, err := s.SpawnChild(ctx, Spec{Name: "c", New: counted(nil)})
		done <- err
	}})
	recv(t, g.reached)
	if err := s.Stop(within(t), pid); err != nil {
		t.Fatal(err)
	}
	old := s.guardOf(parent.GetId()).box
	eventually(t, "notice queued", func() bool {
		old.mu.Lock()
		defer old.mu.Unlock()
		return old.system.len() > 0
	})
	close(g.open)
	if err := recv(t, done); err != nil {
		t.Fatal(err)
	}
	mustPong(t, Start(s, pid, ping{1}), 1)
	mustKnowItsChild(t, s, parent, pid)
	if n := terminated.Load(); n != 0 {
		t.Errorf("parent heard %d times of the end of a child that lives", n)
	}
}

func TestAnotherStopCallsTheSuccessorOff(t *testing.T) {
	s := shared()
	ended := make(chan struct{}, 1)
	parent := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Terminated); ok {
			ended <- struct{}{}
		}
	})})
	pid := child(t, s, parent, Spec{Name: "c", New: counted(nil)})
	s.Tell(parent, do{func(ctx actor.Context) {
		ctx.Stop(pid)
		if _, err := s.SpawnChild(ctx, Spec{Name: "c", New: counted(nil)}); err != nil {
			t.Error(err)
		}
		ctx.Stop(pid)
	}})
	recv(t, ended)
	if isLive(s, pid) {
		t.Error("successor was started")
	}
}

// The same while the old child handles Stopped: the library has forgotten it by
// then, so the second stop reaches nobody.
func TestStopOfAChildInItsLastWordsCallsTheSuccessorOff(t *testing.T) {
	s := shared()
	ended := make(chan struct{}, 1)
	g := newGate()
	parent := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Terminated); ok {
			ended <- struct{}{}
		}
	})})
	pid := child(t, s, parent, Spec{Name: "c", New: counted(func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Stopped); ok {
			g.pass()
		}
	})})
	s.Root().Stop(pid)
	recv(t, g.reached)
	done := make(chan error, 1)
	s.Tell(parent, do{func(ctx actor.Context) {
		_, err := s.SpawnChild(ctx, Spec{Name: "c", New: counted(nil)})
		ctx.Stop(pid)
		done <- err
	}})
	if err := recv(t, done); err != nil {
		t.Fatal(err)
	}
	close(g.open)
	recv(t, ended)
	if isLive(s, pid) {
		t.Error("successor was started")
	}
}

func TestNoChildIsBornToAParentThatGoesDown(t *testing.T) {
	s := shared()
	errs := make(chan error, 10)
	pid := top(t, s, Spec{Restart: patient, New: counted(func(ctx actor.Context, _ int) {
		switch ctx.Message().(type) {
		case *actor.Restarting, *actor.Stopping, *actor.Stopped:
			_, err := s.SpawnChild(ctx, Spec{Name: "late", New: counted(nil)})
			errs <- err
		}
	})})
	mustFail(t, Start(s, pid, boom{}), boom{})
	mustPong(t, Start(s, pid, ping{1}), 1)
	if err := s.Stop(within(t), pid); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if recv(t, errs) == nil {
			t.Error("a child was spawned")
		}
	}
	if late := s.PID(pid.GetId() + "/late"); isLive(s, late) {
		t.Error("an orphan lives")
	}
}

func TestParentRestartRespawnsUnderTheSameNames(t *testing.T) {
	s := shared()
	var bad atomic.Int32
	pid := top(t, s, Spec{Restart: patient, New: counted(func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Started); ok {
			if len(ctx.Children()) > 0 {
				bad.Add(1)
			}
			for _, name := range []string{"a", "b"} {
				if _, err := s.SpawnChild(ctx, Spec{Name: name, New: counted(nil)}); err != nil {
					bad.Add(1)
				}
			}
		}
	})})
	for i := range 20 {
		mustFail(t, Start(s, pid, boom{}), boom{})
		mustPong(t, Start(s, pid, ping{i}), i)
		mustPong(t, Start(s, s.PID(pid.GetId()+"/b"), ping{i}), i)
	}
	if n := bad.Load(); n > 0 {
		t.Errorf("%d children left over or not spawned", n)
	}
}

func TestConstructorPanicDuringRestartKeepsTheQueue(t *testing.T) {
	s := shared()
	var made atomic.Int32
	pid := top(t, s, Spec{Restart: patient, New: func() actor.Actor {
		n := int(made.Add(1))
		if n == 2 || n == 3 {
			panic("not yet")
		}
		return fn(func(ctx actor.Context) { basic(ctx, n) })
	}})
	g := newGate()
	s.Tell(pid, do{func(actor.Context) { g.pass(); panic("now") }})
	recv(t, g.reached)
	queued := Start(s, pid, ping{1})
	close(g.open)
	if got := mustPong(t, queued, 1); got.Instance != 4 {
		t.Errorf("answered by instance %d, want 4", got.Instance)
	}
}
