package supervisor

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// patience is how long a test waits for what should come at once.
const patience = 20 * time.Second

// shared is the actor system of all tests that can do with a plain one.
var shared = sync.OnceValue(func() *System { return New(Options{}) })

// ping asks for a pong with the same number.
type ping struct{ N int }

func (ping) Reply(pong) {}

type pong struct{ N, Instance int }

// boom asks for a panic.
type boom struct{ Key string }

func (boom) Reply(pong) {}

// do makes an actor run a function in its handler.
type do struct{ f func(actor.Context) }

// fn is an actor that is a function.
type fn func(actor.Context)

func (f fn) Receive(ctx actor.Context) { f(ctx) }

// basic answers the messages of this file; it is what most tests build upon.
func basic(ctx actor.Context, instance int) {
	switch msg := ctx.Message().(type) {
	case ping:
		ctx.Respond(pong{msg.N, instance})
	case boom:
		panic("boom " + msg.Key)
	case do:
		msg.f(ctx)
	}
}

// counted makes instances that know their number and pass each message to
// each, then to basic.
func counted(each func(ctx actor.Context, instance int)) func() actor.Actor {
	instances := 0
	return func() actor.Actor {
		instances++
		me := instances
		return fn(func(ctx actor.Context) {
			if each != nil {
				each(ctx, me)
			}
			basic(ctx, me)
		})
	}
}

// patient is a policy that never gives up in a test.
var patient = Restart{Max: time.Microsecond, Budget: 1 << 30}

// top spawns a top supervisor named for the test, and stops it at its end.
func top(t testing.TB, s *System, spec Spec) *actor.PID {
	t.Helper()
	if spec.Name == "" {
		spec.Name = strings.ReplaceAll(t.Name(), "/", "-")
	}
	if spec.New == nil {
		spec.New = counted(nil)
	}
	pid, err := s.Spawn(spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Stop(within(t), pid); err != nil {
			t.Error(err)
		}
	})
	return pid
}

// child makes the parent spawn a child, and waits until it has.
func child(t testing.TB, s *System, parent *actor.PID, spec Spec) *actor.PID {
	t.Helper()
	type spawned struct {
		pid *actor.PID
		err error
	}
	done := make(chan spawned, 1)
	s.Tell(parent, do{func(ctx actor.Context) {
		pid, err := s.SpawnChild(ctx, spec)
		done <- spawned{pid, err}
	}})
	got := recv(t, done)
	if got.err != nil {
		t.Fatal(got.err)
	}
	return got.pid
}

// within is a context that ends with the test's patience.
func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	t.Cleanup(cancel)
	return ctx
}

func recv[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

// eventually waits until cond holds.
func eventually(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("never happened: %s", what)
		}
	}
}

// mustPong awaits a pong with the number n.
func mustPong(t testing.TB, p *Pending[pong], n int) pong {
	t.Helper()
	got, err := p.Await(within(t))
	if err != nil {
		t.Fatalf("ask: %v", err)
	}
	if got.N != n {
		t.Fatalf("got pong %d, want %d", got.N, n)
	}
	return got
}

// mustFail awaits a *Failed that carries the request.
func mustFail(t testing.TB, p *Pending[pong], request any) *Failed {
	t.Helper()
	got, err := p.Await(within(t))
	var failed *Failed
	if !errors.As(err, &failed) {
		t.Fatalf("got %v, %v, want a *Failed", got, err)
	}
	if failed.Request != request {
		t.Fatalf("got *Failed for %#v, want %#v", failed.Request, request)
	}
	return failed
}

// gate is a place where a handler waits for the test.
type gate struct{ reached, open chan struct{} }

func newGate() gate { return gate{make(chan struct{}, 1), make(chan struct{})} }

func (g gate) pass() {
	g.reached <- struct{}{}
	<-g.open
}

func isLive(s *System, pid *actor.PID) bool { return s.guardOf(pid.GetId()) != nil }
