package supervisor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
)

func TestStopWaitsForTheWholeSubtree(t *testing.T) {
	s := shared()
	var mu sync.Mutex
	var order []string
	note := func(ctx actor.Context, _ int) {
		if _, ok := ctx.Message().(*actor.Stopped); ok {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, ctx.Self().GetId())
		}
	}
	a := top(t, s, Spec{Name: "tree", New: counted(note)})
	b := child(t, s, a, Spec{Name: "b", New: counted(note)})
	child(t, s, b, Spec{Name: "c", New: counted(note)})
	if err := s.Stop(within(t), a); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"tree/b/c", "tree/b", "tree"}, order); d != "" {
		t.Errorf("order of ends (-want +got):\n%s", d)
	}
	for _, pid := range []*actor.PID{a, s.PID("never"), nil} {
		if err := s.Stop(within(t), pid); err != nil {
			t.Errorf("stop of %v: %v", pid, err)
		}
	}
}

func TestStopIsBoundedAndSaysWhoHangs(t *testing.T) {
	s := shared()
	g := newGate()
	parent := top(t, s, Spec{Name: "hangs"})
	kid := child(t, s, parent, Spec{Name: "c", New: counted(nil)})
	s.Tell(kid, do{func(actor.Context) { g.pass() }})
	recv(t, g.reached)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err := s.Stop(ctx, parent)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "hangs/c") {
		t.Errorf("got %v, want a cancelled stop that names hangs/c", err)
	}
	close(g.open)
	// Two who wait for the same end both see it.
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			if err := s.Stop(within(t), parent); err != nil {
				t.Error(err)
			}
			if isLive(s, parent) || isLive(s, kid) {
				t.Error("stopped, but still live")
			}
		})
	}
	wg.Wait()
}

func TestShutdown(t *testing.T) {
	s := New(Options{})
	for i := range 3 {
		pid, err := s.Spawn(Spec{Name: fmt.Sprint("top", i), New: counted(nil)})
		if err != nil {
			t.Fatal(err)
		}
		child(t, s, pid, Spec{Name: "c", New: counted(nil)})
	}
	want := []string{"top0", "top0/c", "top1", "top1/c", "top2", "top2/c"}
	if d := cmp.Diff(want, s.Live()); d != "" {
		t.Errorf("live (-want +got):\n%s", d)
	}
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() { shutdown(t, s) })
	}
	wg.Wait()
	shutdown(t, s)
	if live := s.Live(); len(live) > 0 {
		t.Errorf("still live: %v", live)
	}
	if _, err := s.Spawn(Spec{Name: "late", New: counted(nil)}); !errors.Is(err, ErrShutdown) {
		t.Errorf("got %v, want %v", err, ErrShutdown)
	}
	mustFail(t, Start(s, s.PID("top0"), ping{1}), ping{1})
}

func TestKillAndKillStop(t *testing.T) {
	s := shared()
	parent := top(t, s, Spec{})
	pid := child(t, s, parent, Spec{Name: "c", New: counted(nil), Restart: patient})
	s.Kill(pid.GetId())
	if got := mustPong(t, Start(s, pid, ping{1}), 1); got.Instance != 2 {
		t.Errorf("after Kill answered by instance %d, want 2", got.Instance)
	}
	s.KillStop(pid.GetId())
	eventually(t, "child is gone", func() bool { return !isLive(s, pid) })
	mustFail(t, Start(s, pid, ping{2}), ping{2})
	s.Kill("nobody")
	s.KillStop("nobody")
}

// The log says what failed and where, but not what was in the message.
func TestLogKeepsMessagesOut(t *testing.T) {
	var mu sync.Mutex
	var out bytes.Buffer
	s := New(Options{Log: slog.New(slog.NewTextHandler(lockedWriter{&mu, &out}, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	pid := top(t, s, Spec{Restart: patient, New: counted(func(ctx actor.Context, _ int) {
		if msg, ok := ctx.Message().(ping); ok && msg.N == 123456789 {
			panic("went wrong")
		}
	})})
	mustFail(t, Start(s, pid, ping{123456789}), ping{123456789})
	s.Tell(s.PID("nobody"), ping{123456789})
	s.Tell(pid, &actor.Stopped{})
	mustPong(t, Start(s, pid, ping{1}), 1)
	shutdown(t, s)
	mu.Lock()
	defer mu.Unlock()
	log := out.String()
	for _, want := range []string{
		"level=ERROR msg=\"actor failed\" actor=" + pid.GetId() + " reason=\"went wrong\" message=supervisor.ping",
		"level=DEBUG msg=\"[ACTOR] Recovering\" lib=protoactor self=" + pid.GetId() + " reason=\"went wrong\"",
		"level=DEBUG msg=[DeadLetter] lib=protoactor pid=nobody message=supervisor.ping",
		"level=WARN msg=\"lifecycle message from outside dropped\"",
		"stop_test.go", // the stack leads to the handler
	} {
		if !strings.Contains(log, want) {
			t.Errorf("log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, "123456789") {
		t.Errorf("log shows a message:\n%s", log)
	}
}

type lockedWriter struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (w lockedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.to.Write(b)
}
