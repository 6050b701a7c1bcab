package supervisor

import (
	"context"
	"fmt"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

// Pending is a request that was sent and whose reply is awaited.
type Pending[R any] struct{ reply *reply }

// Start sends a request. When it returns, the request is in the mailbox, so
// requests started one after the other arrive in that order. Await must be
// called once, or the reply process stays until the answer comes.
func Start[R any](s *System, to *actor.PID, req messages.Request[R]) *Pending[R] {
	r := &reply{sys: s, req: req, to: to.GetId(), answer: make(chan any, 1)}
	r.pid, _ = s.as.ProcessRegistry.Add(r, "reply"+s.as.ProcessRegistry.NextID())
	if to == nil {
		r.settle(&Failed{Request: req, Reason: reasonDead})
	} else {
		s.as.Root.RequestWithCustomSender(to, req, r.pid)
	}
	return &Pending[R]{r}
}

// Await waits for the reply until ctx ends; then the reply is abandoned. An
// answer that is a *Failed, a *messages.Error or any other error is returned as
// the error.
func (p *Pending[R]) Await(ctx context.Context) (R, error) {
	msg, err := p.reply.await(ctx)
	if err != nil {
		var none R
		return none, err
	}
	return decode[R](p.reply.to, msg)
}

// Ask sends a request and waits for its reply. ctx must have a deadline unless
// the caller means to wait for ever. Never call it in an actor's handler; use
// ctx.Request there, and expect the reply or a *Failed in the mailbox.
func Ask[R any](ctx context.Context, s *System, to *actor.PID, req messages.Request[R]) (R, error) {
	return Start(s, to, req).Await(ctx)
}

func decode[R any](from string, msg any) (R, error) {
	if r, ok := msg.(R); ok {
		return r, nil
	}
	var none R
	switch msg := msg.(type) {
	case error:
		return none, msg
	case messages.Error:
		return none, &msg
	}
	return none, fmt.Errorf("ask %s: answer is a %T, not a %T", from, msg, none)
}

// reply is a process that takes one answer: the first. Whoever settles it, the
// answer or the end of the wait, takes it out of the registry.
type reply struct {
	sys     *System
	req     any
	to      string
	pid     *actor.PID
	settled atomic.Bool
	answer  chan any // holds the one answer
}

var _ actor.Process = (*reply)(nil)

// SendUserMessage takes the answer; all after the first are dropped.
func (r *reply) SendUserMessage(_ *actor.PID, msg any) {
	body := actor.UnwrapEnvelopeMessage(msg)
	if _, ok := body.(*actor.DeadLetterResponse); ok {
		body = &Failed{Request: r.req, Actor: r.to, Reason: reasonDead}
	}
	r.settle(body)
}

// SendSystemMessage does nothing: a reply process cannot be watched or stopped.
func (r *reply) SendSystemMessage(*actor.PID, any) {}

// Stop does nothing, for the same reason.
func (r *reply) Stop(*actor.PID) {}

func (r *reply) settle(answer any) {
	if r.close() {
		r.answer <- answer
	}
}

// close reports whether the caller is the one who settles r.
func (r *reply) close() bool {
	if !r.settled.CompareAndSwap(false, true) {
		return false
	}
	r.sys.as.ProcessRegistry.Remove(r.pid)
	return true
}

func (r *reply) await(ctx context.Context) (any, error) {
	select {
	case answer := <-r.answer:
		return answer, nil
	case <-ctx.Done():
		if r.close() {
			return nil, fmt.Errorf("await %s: %w", r.to, ctx.Err())
		}
		return <-r.answer, nil // an answer that came in time counts
	}
}
