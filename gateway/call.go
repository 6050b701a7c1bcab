package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/wire"
)

// askDeadline bounds every call that is not an execution.
const askDeadline = 30 * time.Second

// askCall is a call that an actor answers. The request is in the actor's
// mailbox when the call exists; while the actor is being restarted the request
// is sent again, which its key makes harmless.
type askCall[R any] struct {
	b        *backend
	to       *actor.PID
	req      messages.Request[R]
	out      func(R) (json.RawMessage, *messages.Error)
	deadline time.Duration     // 0: as long as the caller waits
	gone     func(answer bool) // tells that the caller is gone, or may come back for the answer; may be nil
	left     atomic.Bool       // the caller is gone
	released atomic.Bool       // it may come back

	pending *supervisor.Pending[R]
}

// ask hands a request over.
func ask[R any](b *backend, to *actor.PID, req messages.Request[R], out func(R) (json.RawMessage, *messages.Error)) *askCall[R] {
	return &askCall[R]{
		b: b, to: to, req: req, out: out, deadline: askDeadline,
		pending: supervisor.Start(b.g.o.Sys, to, req),
	}
}

// Wait gives the answer.
func (c *askCall[R]) Wait(ctx context.Context) (json.RawMessage, *messages.Error) {
	if c.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.deadline)
		defer cancel()
	}
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		r, err := c.pending.Await(ctx)
		var failed *supervisor.Failed
		switch {
		case err == nil:
			return c.out(r)
		case !errors.As(err, &failed) || ctx.Err() != nil:
			return nil, c.lost(err)
		}
		select {
		case <-ctx.Done():
			return nil, c.lost(ctx.Err())
		case <-time.After(wait):
		}
		if refusal := c.b.revive(ctx, c.to); refusal != nil {
			return nil, refusal
		}
		c.pending = supervisor.Start(c.b.g.o.Sys, c.to, c.req)
		if c.gone != nil && (c.left.Load() || c.released.Load()) { // what was told before may have come too early
			c.gone(!c.left.Load())
		}
	}
}

func (c *askCall[R]) lost(err error) *messages.Error {
	var refusal *messages.Error
	if errors.As(err, &refusal) {
		return refusal
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return messages.Errorf(messages.CodeInternal, "no answer within %v; ask again", c.deadline)
	}
	return messages.Errorf(messages.CodeInterrupted, "the call was lost: %v", err).
		With(map[string]string{"reason": "caller_gone"})
}

// Abandon says that nobody waits any more.
func (c *askCall[R]) Abandon() {
	c.left.Store(true)
	if c.gone != nil {
		c.gone(false)
	}
}

// Release says that the caller may come back for the answer.
func (c *askCall[R]) Release() {
	c.released.Store(true)
	if c.gone != nil {
		c.gone(true)
	}
}

// deliver sends what nobody waits for but must not be lost: again and again
// while the actor is being restarted, for a while. The first try is in the
// actor's mailbox when deliver returns.
func deliver[R any](g *Gateway, to *actor.PID, req messages.Request[R]) {
	pending := supervisor.Start(g.o.Sys, to, req)
	g.wait.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), deliverTime)
		defer cancel()
		for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
			_, err := pending.Await(ctx)
			var failed *supervisor.Failed
			if !errors.As(err, &failed) || g.ctx.Err() != nil {
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-time.After(wait):
			}
			pending = supervisor.Start(g.o.Sys, to, req)
		}
	})
}

// deliverTime is how long delivery is tried.
const deliverTime = 3 * time.Second

// funcCall is a call that a function answers, on the waiter's goroutine.
type funcCall func(ctx context.Context) (json.RawMessage, *messages.Error)

// Wait runs the function.
func (f funcCall) Wait(ctx context.Context) (json.RawMessage, *messages.Error) { return f(ctx) }

// Abandon does nothing: a read that nobody waits for costs nothing more.
func (f funcCall) Abandon() {}

// revive brings a session back that has left memory; other actors come back by
// themselves.
func (b *backend) revive(ctx context.Context, to *actor.PID) *messages.Error {
	if to.Id != b.g.o.To.Session(b.session).Id {
		return nil
	}
	_, err := b.attachSession(ctx)
	return err
}

// raw passes an answer on that is JSON already.
func raw(r messages.Raw) (json.RawMessage, *messages.Error) { return r.JSON, r.Err }

// encoded encodes an answer that cannot fail.
func encoded[R any](r R) (json.RawMessage, *messages.Error) {
	if a, ok := any(r).(interface{ AppendJSON([]byte) []byte }); ok {
		return a.AppendJSON(nil), nil
	}
	return messages.JSON(r), nil
}

var _ wire.Call = funcCall(nil)
