package supervisor

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"
)

func TestBackoff(t *testing.T) {
	const ms, up = time.Millisecond, time.Nanosecond
	for _, tt := range []struct {
		name   string
		policy Restart
		up     []time.Duration // how long it ran before each failure
		want   []time.Duration // the wait after each; -1: given up
	}{
		{"doubles up to the maximum", Restart{Min: 2 * ms, Max: 10 * ms, Budget: 6},
			[]time.Duration{up, up, up, up, up, up, up}, []time.Duration{0, 2 * ms, 4 * ms, 8 * ms, 10 * ms, 10 * ms, -1}},
		{"odd maximum", Restart{Min: 3 * ms, Max: 7 * ms, Budget: 9},
			[]time.Duration{up, up, up, up}, []time.Duration{0, 3 * ms, 6 * ms, 7 * ms}},
		{"minimum above maximum", Restart{Min: 9 * ms, Max: 5 * ms, Budget: 9},
			[]time.Duration{up, up, up}, []time.Duration{0, 5 * ms, 5 * ms}},
		{"a window later it is forgiven", Restart{Min: 2 * ms, Max: 10 * ms, Budget: 2, Window: time.Second},
			[]time.Duration{up, up, time.Second, up, up}, []time.Duration{0, 2 * ms, 0, 2 * ms, -1}},
		{"waiting does not count as running", Restart{Min: time.Minute, Max: time.Minute, Budget: 3, Window: time.Second},
			[]time.Duration{up, up, up, up}, []time.Duration{0, time.Minute, time.Minute, -1}},
		{"no restart at all", Restart{Budget: -1}, []time.Duration{up}, []time.Duration{-1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			h := history{Restart: tt.policy.withDefaults()}
			now := time.Unix(0, 0)
			var got []time.Duration
			for _, up := range tt.up {
				now = now.Add(up)
				wait, ok := h.next(now)
				if !ok {
					wait = -1
				}
				got = append(got, wait)
				now = now.Add(max(wait, 0))
			}
			if d := cmp.Diff(tt.want, got); d != "" {
				t.Errorf("waits (-want +got):\n%s", d)
			}
		})
	}
}

func TestBackoffDoesNotOverflow(t *testing.T) {
	h := history{Restart: Restart{Min: time.Hour, Max: 1<<63 - 1, Budget: 1 << 30, Window: 1}}
	for n := range 200 {
		if wait := h.backoff(n); wait < 0 {
			t.Fatalf("backoff(%d) = %v", n, wait)
		}
	}
}

// eventLog collects events.
type eventLog struct {
	mu   sync.Mutex
	list []Event
}

func (l *eventLog) add(e Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = append(l.list, e)
}

func (l *eventLog) of(actor string) []Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	var of []Event
	for _, e := range l.list {
		if e.Actor == actor {
			of = append(of, e)
		}
	}
	return of
}

// An actor that panics whenever it starts is restarted as often as its budget
// says and then is gone, and nobody else notices.
func TestCrashLoopEndsAtTheBudget(t *testing.T) {
	for _, budget := range []int{0, 1, 5} {
		t.Run(fmt.Sprint("budget=", budget), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { crashLoop(t, budget) })
		})
	}
}

func crashLoop(t *testing.T, budget int) {
	var events eventLog
	s := New(Options{OnEvent: events.add})
	parent, err := s.Spawn(Spec{Name: "kernel", New: counted(nil)})
	if err != nil {
		t.Fatal(err)
	}
	healthy := child(t, s, parent, Spec{Name: "healthy", New: counted(nil)})
	mustPong(t, Start(s, healthy, ping{1}), 1)

	began := time.Now()
	starts := 0
	gaveUp := make(chan any, 2)
	loop := child(t, s, parent, Spec{
		Name:    "loop",
		Restart: Restart{Budget: budget},
		GaveUp: func(reason any) {
			if isLive(s, s.PID("kernel/loop")) {
				t.Error("given up while it lives")
			}
			gaveUp <- reason
		},
		New: func() actor.Actor {
			return fn(func(ctx actor.Context) {
				if _, ok := ctx.Message().(*actor.Started); ok {
					starts++
					panic(fmt.Sprint("start ", starts))
				}
			})
		},
	})
	waiting := Start(s, loop, ping{1})
	mustFail(t, waiting, ping{1}) // held all the time, answered at the end
	want := max(budget, 0)
	if budget == 0 {
		want = 20
		if took := time.Since(began); took < 11*time.Second || took > 12*time.Second {
			t.Errorf("crash loop with the default policy took %v, want about 11 s", took)
		}
	}
	if got := recv(t, gaveUp); got != fmt.Sprint("start ", want+1) {
		t.Errorf("gave up because of %v, want start %d", got, want+1)
	}
	if starts != want+1 {
		t.Errorf("got %d starts, want %d", starts, want+1)
	}
	synctest.Wait()
	if len(gaveUp) > 0 {
		t.Error("gave up twice")
	}
	got := events.of("kernel/loop")
	if len(got) != want+1 {
		t.Fatalf("got %d events, want %d restarts and the end", len(got), want)
	}
	for i, e := range got {
		kind := EventRestart
		if i == want {
			kind = EventGaveUp
		}
		if d := cmp.Diff(Event{kind, "kernel/loop", fmt.Sprint("start ", i+1)}, e); d != "" {
			t.Errorf("event %d (-want +got):\n%s", i, d)
		}
	}
	mustFail(t, Start(s, loop, ping{2}), ping{2})
	if got := mustPong(t, Start(s, healthy, ping{2}), 2); got.Instance != 1 {
		t.Errorf("the neighbour is instance %d, want 1", got.Instance)
	}
	shutdown(t, s)
}

func TestFirstRestartIsImmediateThenBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		pid := top(t, s, Spec{Name: "kernel", Restart: Restart{Min: time.Second, Max: time.Minute, Budget: 10}})
		for i, want := range []time.Duration{0, 1, 2, 4} {
			mustFail(t, Start(s, pid, boom{}), boom{})
			failed := time.Now()
			if got := mustPong(t, Start(s, pid, ping{i}), i); got.Instance != i+2 {
				t.Errorf("answered by instance %d, want %d", got.Instance, i+2)
			}
			if took := time.Since(failed); took != want*time.Second {
				t.Errorf("restart %d took %v, want %v", i+1, took, want*time.Second)
			}
		}
		shutdown(t, s)
	})
}

func TestTopSupervisorIsGivenUpToo(t *testing.T) {
	gaveUp := make(chan any, 1)
	s := shared()
	pid := top(t, s, Spec{Restart: Restart{Budget: -1}, GaveUp: func(reason any) { gaveUp <- reason }})
	kid := child(t, s, pid, Spec{Name: "c", New: counted(nil)})
	mustFail(t, Start(s, pid, boom{"top"}), boom{"top"})
	if got := recv(t, gaveUp); got != "boom top" {
		t.Errorf("gave up because of %v, want boom top", got)
	}
	if isLive(s, pid) || isLive(s, kid) {
		t.Error("top or child still lives")
	}
}

// Each actor has its own budget, whoever its parent is.
func TestBudgetsAreNotShared(t *testing.T) {
	s := shared()
	parent := top(t, s, Spec{})
	policy := Restart{Budget: 3, Max: time.Microsecond}
	for i := range 5 {
		pid := child(t, s, parent, Spec{Name: fmt.Sprint("c", i), New: counted(nil), Restart: policy})
		for range 3 {
			mustFail(t, Start(s, pid, boom{}), boom{})
			mustPong(t, Start(s, pid, ping{1}), 1)
		}
	}
}

// A callback that panics or blocks harms no actor.
func TestBadCallbacks(t *testing.T) {
	open := make(chan struct{})
	s := New(Options{OnEvent: func(Event) { <-open; panic("bad subscriber") }})
	gaveUp := make(chan struct{})
	pid := top(t, s, Spec{Restart: Restart{Budget: 1}, GaveUp: func(any) { close(gaveUp); panic("bad callback") }})
	mustFail(t, Start(s, pid, boom{}), boom{})
	mustPong(t, Start(s, pid, ping{1}), 1) // although the subscriber blocks
	mustFail(t, Start(s, pid, boom{}), boom{})
	recv(t, gaveUp)
	close(open)
	shutdown(t, s)
}

func TestAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{})
		began := time.Now()
		got := make(chan string, 4)
		pid := top(t, s, Spec{Name: "kernel", New: func() actor.Actor {
			return fn(func(ctx actor.Context) {
				if msg, ok := ctx.Message().(string); ok {
					got <- fmt.Sprint(msg, " after ", time.Since(began))
				}
			})
		}})
		s.After(2*time.Hour, pid, "two")
		s.After(time.Hour, pid, "one")
		cancel := s.After(time.Hour, pid, "never")
		cancel()
		cancel()
		<-time.After(3 * time.Hour) // by the clock of the bubble
		synctest.Wait()
		close(got)
		var all []string
		for line := range got {
			all = append(all, line)
		}
		if d := cmp.Diff([]string{"one after 1h0m0s", "two after 2h0m0s"}, all); d != "" {
			t.Errorf("timers (-want +got):\n%s", d)
		}
		shutdown(t, s)
	})
}

func TestFailedIsAnError(t *testing.T) {
	var err error = &Failed{Request: ping{1}, Actor: "kernel/x", Reason: "boom"}
	if got, want := err.Error(), "ask kernel/x for supervisor.ping: boom"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	var failed *Failed
	if !errors.As(fmt.Errorf("wrapped: %w", err), &failed) {
		t.Error("does not unwrap")
	}
}
