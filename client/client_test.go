package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"shoal.dev/shoal/client"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

var bin string

func TestMain(m *testing.M) {
	os.Exit(kit.Main(m, &bin))
}

// dial makes a client of a world of its own; a kernel is started if it must be.
func dial(t *testing.T, w *kit.World) *client.Client {
	t.Helper()
	c, err := client.Dial(patience(t), client.Options{
		StateDir: w.State, Session: "main", Environ: w.Env, Cwd: w.Work, Kind: "test",
		Kernel: filepath.Join(bin, "shoal-kernel"),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func patience(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), kit.Long)
	t.Cleanup(cancel)
	return ctx
}

func publish(t *testing.T, c *client.Client, channel string, from, to int) {
	t.Helper()
	for n := from; n <= to; n++ {
		if err := c.Call(patience(t), "events.publish", map[string]any{"channel": channel, "payload": n}, nil); err != nil {
			t.Fatalf("publish %d: %v", n, err)
		}
	}
}

// kill kills the kernel and waits until the client has another one.
func kill(t *testing.T, w *kit.World, c *client.Client) {
	t.Helper()
	pid := w.KernelPID()
	w.KillKernel()
	kit.Eventually(t, kit.Long, "the client is attached again", func() bool {
		var info messages.KernelInfo
		return c.Call(patience(t), "kernel.info", nil, &info) == nil && info.PID != pid
	})
}

func subscribe(t *testing.T, c *client.Client, channel string, from client.From) *client.Subscription {
	t.Helper()
	s, err := c.Subscribe(patience(t), channel, from)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// expect reads events up to a sequence, which must rise by one, gaps counted.
func expect(t *testing.T, s *client.Subscription, next, last uint64) (events, lost uint64) {
	t.Helper()
	for next <= last {
		e, err := s.Next(patience(t))
		if err != nil {
			t.Fatalf("event %d: %v", next, err)
		}
		if e.Gap != nil {
			if e.Gap.From != next || e.Gap.To < e.Gap.From {
				t.Fatalf("gap %+v, want it to begin at %d", *e.Gap, next)
			}
			lost += e.Gap.To - e.Gap.From + 1
			next = e.Gap.To + 1
			continue
		}
		if e.Seq != next || string(e.Payload) != strconv.FormatUint(next, 10) {
			t.Fatalf("got event %d %s, want %d", e.Seq, e.Payload, next)
		}
		events++
		next++
	}
	return events, lost
}

func TestCalls(t *testing.T) {
	c := dial(t, kit.NewWorld(t, bin))
	if a := c.Attachment(); a.Session != "main" || a.Protocol != messages.ProtocolVersion {
		t.Errorf("attached as %+v", a)
	}
	var calls sync.WaitGroup
	for n := range 50 {
		calls.Go(func() {
			a, err := c.Exec(patience(t), messages.ExecParams{Src: fmt.Sprintf("9007199254740993 + %d", n)})
			if err != nil || a.Finished == nil {
				t.Errorf("exec: %+v, %v", a, err)
				return
			}
			if want := fmt.Sprintf(`{"$":"int","v":%d}`, 9007199254740993+n); string(a.Finished.Value) != want {
				t.Errorf("got %s, want %s", a.Finished.Value, want)
			}
		})
	}
	calls.Wait()
	var shown struct {
		Value map[string]any `json:"value"`
	}
	if err := c.Call(patience(t), "value.get", map[string]any{"ref": "out:1"}, &shown); err != nil {
		t.Fatal(err)
	}
	if n, ok := shown.Value["v"].(json.Number); !ok || n.String() < "9007199254740993" {
		t.Errorf("an integer in an any: %T %v", shown.Value["v"], shown.Value["v"])
	}
	a, err := c.Exec(patience(t), messages.ExecParams{Src: "1", Background: true})
	if err != nil || a.Handed == nil || a.Handed.Task == "" {
		t.Errorf("in the background: %+v, %v", a, err)
	}
	if a, err = c.Exec(patience(t), messages.ExecParams{Src: "mkdir x", Mode: messages.ModePlan}); err != nil || a.Plan == nil {
		t.Errorf("a plan: %+v, %v", a, err)
	}
	var refusal *messages.Error
	if _, err := c.Exec(patience(t), messages.ExecParams{Src: "1 +"}); !errors.As(err, &refusal) || refusal.Code != messages.CodeParseError {
		t.Errorf("half a source: %v", err)
	}
}

// A client outlives its kernel, and its subscriptions miss nothing.
func TestKilledKernel(t *testing.T) {
	w := kit.NewWorld(t, bin)
	c := dial(t, w)
	live := subscribe(t, c, "user.live", client.Live())
	empty := subscribe(t, c, "user.empty", client.Oldest())
	publish(t, c, "user.live", 0, 9)
	expect(t, live, 0, 4)
	open := make(chan error, 1)
	started := w.Write("started", "")
	os.Remove(started)
	go func() {
		_, err := c.Exec(context.Background(), messages.ExecParams{Src: "touch started; ^/bin/sleep 600"})
		open <- err
	}()
	kit.Eventually(t, kit.Long, "the call runs", func() bool { _, err := os.Stat(started); return err == nil })
	first := c.Attachment().KernelID
	kill(t, w, c)
	var refusal *messages.Error
	if err := <-open; !errors.As(err, &refusal) || refusal.Code != messages.CodeInterrupted {
		t.Errorf("the open call: got %v, want -32041", err)
	}
	publish(t, c, "user.live", 10, 19)
	publish(t, c, "user.empty", 0, 3)
	if events, lost := expect(t, live, 5, 19); events != 15 || lost != 0 {
		t.Errorf("%d events and %d lost, want 15 and 0", events, lost)
	}
	kill(t, w, c)
	publish(t, c, "user.empty", 4, 5)
	if events, lost := expect(t, empty, 0, 5); events != 6 || lost != 0 {
		t.Errorf("%d events and %d lost, want 6 and 0", events, lost)
	}
	if second := c.Attachment().KernelID; second != first {
		t.Errorf("the state directory's kernel was %s and is %s", first, second)
	}
}

// What the kernel keeps no more is told, with its bounds.
func TestGap(t *testing.T) {
	c := dial(t, kit.NewWorld(t, bin))
	publish(t, c, "user.many", 0, messages.RingSize+300)
	s := subscribe(t, c, "user.many", client.After(0))
	if events, lost := expect(t, s, 1, messages.RingSize+300); lost == 0 || events+lost != messages.RingSize+300 {
		t.Errorf("%d events and %d lost", events, lost)
	}
}

// A reader that does not keep up is told what it missed and goes on.
func TestSlowReader(t *testing.T) {
	c := dial(t, kit.NewWorld(t, bin))
	s := subscribe(t, c, "user.fast", client.Live())
	const last = 3 * messages.RingSize
	publish(t, c, "user.fast", 0, last)
	if events, lost := expect(t, s, 0, last); events+lost != last+1 || lost == 0 {
		t.Errorf("%d events and %d lost of %d", events, lost, last+1)
	}
	publish(t, c, "user.fast", last+1, last+5)
	if events, lost := expect(t, s, last+1, last+5); events != 5 || lost != 0 {
		t.Errorf("afterwards: %d events and %d lost", events, lost)
	}
}

// A kernel that was stopped in order is not started again by its clients.
func TestStoppedKernel(t *testing.T) {
	w := kit.NewWorld(t, bin)
	c := dial(t, w)
	s := subscribe(t, c, "user.x", client.Live())
	w.StopKernel()
	answered := make(chan error, 1)
	go func() {
		answered <- c.Call(context.Background(), "events.publish", map[string]any{"channel": "user.x", "payload": 0}, nil)
	}()
	soon, cancel := context.WithTimeout(context.Background(), kit.Long/50)
	defer cancel()
	if err := c.Call(soon, "session.cwd", nil, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call without a kernel: got %v", err)
	}
	if n := len(w.Kernels()); n != 0 {
		t.Errorf("%d kernels were started", n)
	}
	w.StartKernel()
	if err := <-answered; err != nil {
		t.Errorf("the call that waited: %v", err)
	}
	expect(t, s, 0, 0)
}

func TestClose(t *testing.T) {
	w := kit.NewWorld(t, bin)
	c := dial(t, w)
	s := subscribe(t, c, "user.x", client.Live())
	if _, err := c.Subscribe(patience(t), "user.x", client.Live()); err == nil {
		t.Error("one channel is followed twice")
	}
	if err := s.Close(patience(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Next(patience(t)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("next of a closed subscription: %v", err)
	}
	again := subscribe(t, c, "user.x", client.Live())
	c.Close()
	if _, err := again.Next(patience(t)); !errors.Is(err, client.ErrClosed) {
		t.Errorf("next after the end: %v", err)
	}
	if err := c.Call(patience(t), "session.cwd", nil, nil); !errors.Is(err, client.ErrClosed) {
		t.Errorf("a call after the end: %v", err)
	}
	if _, err := client.Dial(patience(t), client.Options{StateDir: w.State, Cwd: w.Work, Environ: w.Env, Kind: "mcp"}); err == nil {
		t.Error("a client of kind mcp")
	}
}
