package e2e

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
	"shoal.dev/shoal/wire"
)

// broken is a kernel in this process whose actors fail when chaos says so.
func broken(t *testing.T, w *kit.World, chaos func(name string, msg any, after bool) bool) *kernel.Kernel {
	t.Helper()
	k, err := kernel.Start(kernel.Options{
		Paths: w.Paths(), Environ: w.Env, Log: slog.New(slog.DiscardHandler), Chaos: chaos,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return k
}

// client is a raw client of a kernel in this process, outside any world.
func client(t *testing.T, k *kernel.Kernel, session string) func(method string, params any) (kit.Val, *messages.Error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), kit.Long)
	t.Cleanup(cancel)
	c, err := wire.Dial(ctx, k.Socket(), wire.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	call := func(method string, params any) (kit.Val, *messages.Error) {
		t.Helper()
		var v any
		err := c.Call(ctx, method, params, &v)
		var refusal *messages.Error
		if err != nil && !errors.As(err, &refusal) {
			t.Fatalf("%s: %v", method, err)
		}
		return kit.Of(v), refusal
	}
	if _, err := call("session.attach", kit.Args{"session": session}); err != nil {
		t.Fatalf("attach: %v", err)
	}
	return call
}

func value(src string) kit.Args { return kit.Args{"src": src, "position": "value"} }

// A session's actor that panics while it deals with a call loses nothing that
// was committed, and whoever waits is answered.
func TestB58SessionPanics(t *testing.T) {
	w := world(t)
	var armed atomic.Int64
	k := broken(t, w, func(name string, msg any, after bool) bool {
		_, lifecycle := msg.(actor.SystemMessage)
		switch msg.(type) {
		case *actor.Started, *actor.Stopping, *actor.Stopped, *actor.Restarting:
			lifecycle = true
		}
		return strings.HasSuffix(name, "sessions/main") && !lifecycle && armed.Add(-1) >= 0
	})
	main, other := client(t, k, "main"), client(t, k, "other")
	if _, err := main("exec", value("let a = 1")); err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		armed.Store(int64(1 + round%2)) // more would be a crash loop, see below
		v, err := main("exec", value("a + 1"))
		switch {
		case err == nil && v.At("value", "v").Int() != 2:
			t.Errorf("round %d: got %v, want 2", round, v)
		case err != nil && err.Code != messages.CodeInterrupted:
			t.Errorf("round %d: got %v, want a result or -32041", round, err)
		}
		armed.Store(0)
		if v, err := other("exec", value("7")); err != nil || v.At("value", "v").Int() != 7 {
			t.Errorf("round %d: another session sees %v %v", round, v, err)
		}
	}
	if v, err := main("exec", value("a")); err != nil || v.At("value", "v").Int() != 1 {
		t.Errorf("afterwards: got %v %v, want the committed 1", v, err)
	}
	if _, err := main("session.close", kit.Args{}); err != nil {
		t.Errorf("close: %v", err)
	}
	list, err := other("session.list", kit.Args{})
	if err != nil || strings.Contains(list.String(), `"main"`) {
		t.Errorf("after close: got %v %v, want no ghost of main", list, err)
	}
	again := client(t, k, "main")
	if v, err := again("exec", value("a")); err != nil || v.At("value", "v").Int() != 1 {
		t.Errorf("attached again: got %v %v, want 1", v, err)
	}
}

// A session that panics at every start is given up, its callers are answered,
// the event says so, and other sessions notice nothing.
func TestB59CrashLoop(t *testing.T) {
	t.Parallel() // most of it is waiting for longer and longer restarts
	w := world(t)
	var starts atomic.Int64
	var cursed atomic.Bool
	k := broken(t, w, func(name string, msg any, after bool) bool {
		if _, started := msg.(*actor.Started); !started || after || !strings.HasSuffix(name, "sessions/bad") || !cursed.Load() {
			return false
		}
		starts.Add(1)
		return true
	})
	good := client(t, k, "good")
	bad := client(t, k, "bad")
	if _, err := bad("exec", value("let a = 1")); err != nil {
		t.Fatal(err)
	}
	if _, err := bad("session.close", kit.Args{}); err != nil {
		t.Fatal(err)
	}
	cursed.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), kit.Long)
	defer cancel()
	c, err := wire.Dial(ctx, k.Socket(), wire.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	err = c.Call(ctx, "session.attach", kit.Args{"session": "bad"}, nil)
	var refusal *messages.Error
	if !errors.As(err, &refusal) {
		t.Errorf("attach to a session that cannot start: got %v, want an error", err)
	}
	if v, err := good("exec", value("7")); err != nil || v.At("value", "v").Int() != 7 {
		t.Errorf("another session sees %v %v", v, err)
	}
	events, _ := good("events.read", kit.Args{"channel": "kernel"})
	if !strings.Contains(events.String(), "sessions/bad") {
		t.Errorf("kernel channel: got %v, want it to name the session's actor", events)
	}
	before := starts.Load()
	if before > 1000 {
		t.Errorf("starts: got %d, want a limit", before)
	}
	cursed.Store(false)
	kit.Eventually(t, kit.Long, "the session is given another chance", func() bool {
		return c.Call(ctx, "session.attach", kit.Args{"session": "bad"}, nil) == nil
	})
	again := client(t, k, "bad")
	if v, err := again("exec", value("a")); err != nil || v.At("value", "v").Int() != 1 {
		t.Errorf("once it can start: got %v %v, want 1", v, err)
	}
}
