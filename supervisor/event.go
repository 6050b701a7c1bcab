package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// The kinds of event.
const (
	EventRestart = "restart" // an actor failed and is restarted, at once or after a wait
	EventGaveUp  = "gave_up" // an actor spent its budget and is gone
)

// Event says what became of an actor that failed.
type Event struct {
	Kind   string
	Actor  string // full name
	Reason string // the failure
}

// events hands events to the subscriber, in order, from a goroutine that lives
// only while there are any.
type events struct {
	fn    func(Event) // nil: nobody listens
	calls *calls

	mu      sync.Mutex
	queue   []Event
	handing bool
}

func (e *events) emit(event Event) {
	if e.fn == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.queue = append(e.queue, event)
	if !e.handing {
		e.handing = true
		e.calls.run(e.hand)
	}
}

func (e *events) hand() {
	for {
		e.mu.Lock()
		batch := e.queue
		e.queue = nil
		e.handing = len(batch) > 0
		e.mu.Unlock()
		if len(batch) == 0 {
			return
		}
		for _, event := range batch {
			e.calls.guarded(func() { e.fn(event) })
		}
	}
}

// calls runs the owner's callbacks, each on a goroutine of its own, and knows
// when none is left.
type calls struct {
	log *slog.Logger

	mu   sync.Mutex
	open int
	idle chan struct{} // made by who waits, closed when open falls to zero
}

// begin counts a call that done ends.
func (c *calls) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
}

func (c *calls) run(f func()) {
	c.begin()
	go func() {
		defer c.done()
		c.guarded(f)
	}()
}

// guarded runs f; a panic in a callback is logged and ends there.
func (c *calls) guarded(f func()) {
	defer func() {
		if r := recover(); r != nil {
			c.log.Error("callback panicked", "reason", clip(fmt.Sprint(r)), "stack", string(debug.Stack()))
		}
	}()
	f()
}

func (c *calls) done() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.open == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

// wait returns when no callback runs, or when ctx ends.
func (c *calls) wait(ctx context.Context) error {
	c.mu.Lock()
	if c.open == 0 {
		c.mu.Unlock()
		return nil
	}
	if c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for callbacks: %w", ctx.Err())
	}
}
