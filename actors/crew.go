package actors

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

// crew is the goroutines that work for actors, so that a stopping kernel can
// wait for them. The zero value has none.
type crew struct {
	mu   sync.Mutex
	n    int
	idle chan struct{} // closed when the last one has ended; nil while nobody waits
}

// begin counts a goroutine that is about to start; it calls end.
func (c *crew) begin() {
	c.mu.Lock()
	c.n++
	c.mu.Unlock()
}

func (c *crew) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.idle != nil {
		close(c.idle)
		c.idle = nil
	}
}

func (c *crew) wait(ctx context.Context) error {
	c.mu.Lock()
	n := c.n
	if n > 0 && c.idle == nil {
		c.idle = make(chan struct{})
	}
	idle := c.idle
	c.mu.Unlock()
	if n == 0 {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("wait for %d goroutines of actors: %w", n, ctx.Err())
	}
}

// Wait waits for the goroutines that work for the actors, or until ctx ends.
func (d *Deps) Wait(ctx context.Context) error { return d.crew.wait(ctx) }

// work runs f in a goroutine that Wait waits for. If f panics, failed, which
// may be nil, hears of it.
func (d *Deps) work(what string, f func(), failed func(*messages.Error)) {
	d.crew.begin()
	d.Sys.Go(func() {
		defer d.crew.end()
		defer func() {
			if p := recover(); p != nil {
				d.Log.Error("goroutine panicked", "in", what, "panic", p, "stack", string(debug.Stack()))
				if failed != nil {
					failed(messages.Errorf(messages.CodeInternal, "%s: the kernel failed inside: %v", what, p))
				}
			}
		}()
		f()
	})
}

// serve answers a question in a goroutine of its own.
func (d *Deps) serve(what string, to *actor.PID, f func() messages.Raw) {
	d.work(what, func() { d.Sys.Reply(to, f()) },
		func(err *messages.Error) { d.Sys.Reply(to, messages.Raw{Err: err}) })
}

// write appends a record and waits until it is kept.
func (d *Deps) write(rec messages.Record) messages.Appended {
	done := make(chan messages.Appended, 1)
	d.Journal.Queue(rec, func(a messages.Appended) { done <- a })
	d.Journal.Write()
	return <-done
}
