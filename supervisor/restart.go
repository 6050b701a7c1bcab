package supervisor

import (
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// Restart says how an actor is restarted when it fails. The first failure in a
// window restarts it at once; the second after Min, and each further one after
// twice the time before, at most Max. With more than Budget failures in a Window
// it is given up. A window counts only time in which the actor was not waiting
// for a restart; otherwise the waiting would stretch a crash loop until it fits
// any budget.
//
// Zero fields have defaults: 2 ms, 1 s, 20 restarts, 10 s. A negative Budget
// allows no restart.
type Restart struct {
	Min, Max time.Duration
	Budget   int
	Window   time.Duration
}

func (r Restart) withDefaults() Restart {
	if r.Min <= 0 {
		r.Min = 2 * time.Millisecond
	}
	if r.Max <= 0 {
		r.Max = time.Second
	}
	if r.Budget == 0 {
		r.Budget = 20
	}
	if r.Window <= 0 {
		r.Window = 10 * time.Second
	}
	return r
}

// history is the failures of one actor in its current window.
type history struct {
	Restart
	failures []time.Time // oldest first, at most Budget+1, less the waiting before each
	waited   time.Duration
}

// next records a failure and says how long to wait before the restart; ok is
// false when the budget is spent.
func (h *history) next(now time.Time) (wait time.Duration, ok bool) {
	now = now.Add(-h.waited)
	old := 0
	for old < len(h.failures) && now.Sub(h.failures[old]) >= h.Window {
		old++
	}
	h.failures = append(h.failures[:0], h.failures[old:]...)
	h.failures = append(h.failures, now)
	n := len(h.failures)
	if n > h.Budget {
		return 0, false
	}
	wait = h.backoff(n)
	h.waited += wait
	return wait, true
}

// backoff is the wait after the n-th failure in a window.
func (h *history) backoff(n int) time.Duration {
	if n <= 1 {
		return 0
	}
	wait := min(h.Min, h.Max)
	for range n - 2 {
		if wait > h.Max/2 {
			return h.Max
		}
		wait *= 2
	}
	return wait
}

// failure is what a guard gives the library as the reason, so that the strategy
// deals with the very actor that failed, not with who has its name by then.
type failure struct {
	guard  *guard
	reason string
}

// LogValue is what the library logs.
func (f *failure) LogValue() slog.Value { return slog.StringValue(f.reason) }

// strategy decides what becomes of an actor that failed. It runs on the
// parent's goroutine; for a top supervisor on its own.
type strategy struct{}

// HandleFailure restarts the child, at once or later, or gives it up.
func (*strategy) HandleFailure(_ *actor.ActorSystem, parent actor.Supervisor, child *actor.PID, _ *actor.RestartStatistics, reason, _ any) {
	f, ok := reason.(*failure)
	if !ok {
		parent.StopChildren(child) // not spawned by us, so there is no policy
		return
	}
	g := f.guard
	wait, ok := g.history.next(time.Now())
	if !ok {
		g.verdict.Store(&f.reason)
		g.box.PostSystemMessage(&actor.Stop{})
		return
	}
	g.sys.events.emit(Event{Kind: EventRestart, Actor: g.name, Reason: f.reason})
	if wait == 0 {
		g.box.PostSystemMessage(&actor.Restart{})
		return
	}
	// No need to cancel it: a guard drops a restart after a stop.
	time.AfterFunc(wait, func() { g.box.PostSystemMessage(&actor.Restart{}) })
}
