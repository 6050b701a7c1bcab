package supervisor

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// The size of the chaos run. It is bounded by counts, not by time.
const (
	chaosGroups   = 10
	chaosWorkers  = 30 // per group
	chaosAskers   = 16
	chaosAsks     = 500 // per asker
	chaosKillers  = 4
	chaosKills    = 400 // per killer
	chaosOneIn    = 50  // a message in so many fails, before or after its handler
	chaosAnswers  = chaosAskers * chaosAsks
	chaosMaxTries = 5000
)

// TestChaos kills and stops random actors of a tree of 311, while every
// fiftieth message fails as well. The tree rebuilds itself.
func TestChaos(t *testing.T) {
	before := runtime.NumGoroutine()
	var events atomic.Int64
	s := New(Options{Chaos: oneIn(chaosOneIn), OnEvent: func(Event) { events.Add(1) }})
	forest := &forest{s: s}
	if _, err := s.Spawn(forest.kernel()); err != nil {
		t.Fatal(err)
	}

	var work sync.WaitGroup
	var failures atomic.Int64
	for i := range chaosAskers {
		work.Go(func() { failures.Add(forest.ask(t, rand.New(rand.NewPCG(1, uint64(i))))) })
	}
	for i := range chaosKillers {
		work.Go(func() { forest.kill(rand.New(rand.NewPCG(2, uint64(i)))) })
	}
	work.Wait()
	shutdown(t, s)

	if live := s.Live(); len(live) > 0 {
		t.Errorf("still live after the shutdown: %v", live)
	}
	if n := forest.instances.Load(); n != 0 {
		t.Errorf("%d instances were started and never torn down", n)
	}
	if n := forest.twice.Load(); n != 0 {
		t.Errorf("%d messages reached an instance before its start or after its end", n)
	}
	if failures.Load() == 0 || events.Load() == 0 {
		t.Errorf("%d failed asks and %d events: there was no chaos", failures.Load(), events.Load())
	}
	eventually(t, "goroutines are back to where they were", func() bool { return runtime.NumGoroutine() <= before })
	t.Logf("%d asks answered, %d failed on the way, %d events, %d instances", chaosAnswers, failures.Load(), events.Load(), forest.made.Load())
}

// oneIn fails random messages to handlers that can fail. A swallowed panic
// before a handler that tears down would make the count of instances wrong.
func oneIn(n int) Chaos {
	return func(_ string, msg any, after bool) bool {
		switch msg.(type) {
		case *actor.Restarting, *actor.Stopping, *actor.Stopped:
			return false
		}
		return rand.N(2*n) == 0 // asked twice per message
	}
}

// forest makes the tree kernel/group/worker and counts its instances.
type forest struct {
	s         *System
	instances atomic.Int64 // started, not yet torn down
	made      atomic.Int64
	twice     atomic.Int64 // messages out of their time
}

func (f *forest) kernel() Spec {
	return f.parent("kernel", func(i int) Spec {
		return f.parent(fmt.Sprint("group", i), func(i int) Spec {
			return Spec{Name: fmt.Sprint("worker", i), Restart: patient, New: func() actor.Actor { return &tree{forest: f} }}
		}, chaosWorkers)
	}, chaosGroups)
}

func (f *forest) parent(name string, child func(int) Spec, children int) Spec {
	return Spec{Name: name, Restart: patient, New: func() actor.Actor {
		return &tree{forest: f, child: child, children: children}
	}}
}

// tree is an actor of the forest: it answers pings and keeps its children.
type tree struct {
	forest   *forest
	child    func(int) Spec
	children int
	up       bool // between Started and Restarting or Stopped
}

func (a *tree) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		a.up = true
		a.forest.instances.Add(1)
		a.forest.made.Add(1)
		a.spawn(ctx)
	case *actor.Restarting, *actor.Stopped:
		if a.up {
			a.up = false
			a.forest.instances.Add(-1)
		}
	case *actor.Terminated:
		a.spawn(ctx)
	case ping:
		if !a.up {
			a.forest.twice.Add(1)
		}
		ctx.Respond(pong{N: msg.N})
	}
}

func (a *tree) spawn(ctx actor.Context) {
	for i := range a.children {
		if _, err := a.forest.s.SpawnChild(ctx, a.child(i)); err != nil && !errors.Is(err, ErrShutdown) {
			panic(err)
		}
	}
}

// ask asks random actors until each has answered; failed answers are tried
// again. Each single ask must be answered in time, with a pong or a *Failed.
func (f *forest) ask(t *testing.T, random *rand.Rand) (failures int64) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	for i := range chaosAsks {
		to := f.s.PID(fmt.Sprintf("kernel/group%d/worker%d", random.IntN(chaosGroups), random.IntN(chaosWorkers)))
		for try := 0; ; try++ {
			got, err := Ask(ctx, f.s, to, ping{i})
			if err == nil && got.N == i {
				break
			}
			var failed *Failed
			if !errors.As(err, &failed) || failed.Request != any(ping{i}) || try == chaosMaxTries {
				t.Errorf("ask %d of %s, try %d: got %v, %v", i, to.GetId(), try, got, err)
				return failures
			}
			failures++
			runtime.Gosched()
		}
	}
	return failures
}

// kill makes random actors panic or stop for good; the higher up, the rarer.
func (f *forest) kill(random *rand.Rand) {
	for range chaosKills {
		live := f.s.Live()
		if len(live) == 0 {
			return
		}
		victim := live[random.IntN(len(live))]
		switch {
		case victim == "kernel":
		case strings.Count(victim, "/") == 1 && random.IntN(4) > 0:
		case random.IntN(2) == 0:
			f.s.Kill(victim)
		default:
			f.s.KillStop(victim)
		}
		runtime.Gosched()
	}
}
