package link

import (
	"context"
	"encoding/json"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// clientCheck is how often somebody who waits for the kernel looks whether the
// client is still there to wait for.
const clientCheck = time.Second

func (r *relay) setLocked(p phase) {
	r.phase = p
	close(r.changed)
	r.changed = make(chan struct{})
}

// goUp lets client frames through to conn.
func (r *relay) goUp(conn *wire.Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.conn, r.attached, r.stopped, r.failures, r.refusal = conn, true, false, 0, nil
	r.setLocked(up)
}

// goDown notes why there is no kernel.
func (r *relay) goDown(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refusal = r.wrapLocked(err)
	r.retryAt = time.Now()
	if !isNotServing(err) { // an attempt that cost something, or will fail again
		r.retryAt = r.retryAt.Add(min(failPauseMin<<min(r.failures, 10), failPauseMax))
		r.log.Warn("no kernel", "err", err)
	}
	r.failures++
	if !r.wanted { // else the call that came meanwhile has its own attempt
		r.setLocked(down)
	}
}

// ready waits until it is known whether there is a kernel: its connection, or
// the refusal that requests get. A request may cause an attempt. Both are nil
// when the client is gone.
func (r *relay) ready(ctx context.Context, request bool) (*wire.Conn, *messages.Error) {
	for {
		r.mu.Lock()
		switch {
		case r.phase == up:
			defer r.mu.Unlock()
			return r.conn, nil
		case r.phase == down && (!request || time.Now().Before(r.retryAt)):
			defer r.mu.Unlock()
			return nil, r.refusal
		case r.phase == down:
			r.wanted = true
			r.setLocked(connecting)
			select {
			case r.wake <- struct{}{}:
			default:
			}
		}
		changed := r.changed
		r.mu.Unlock()
		request = false // one attempt per call
		if !r.await(ctx, changed) {
			return nil, nil
		}
	}
}

// await waits for a change while the client is there.
func (r *relay) await(ctx context.Context, changed <-chan struct{}) bool {
	timer := time.NewTimer(clientCheck)
	defer timer.Stop()
	for {
		select {
		case <-changed:
			return true
		case <-ctx.Done():
			return false
		case <-timer.C:
			if wire.HungUp(r.client) {
				return false
			}
			timer.Reset(clientCheck)
		}
	}
}

// mayStart says whether the next attempt may start a kernel: not after a
// goodbye, and not without a call when the last attempt failed.
func (r *relay) mayStart() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	wanted := r.wanted
	r.wanted = false
	return !r.stopped && (r.failures == 0 || wanted)
}

// mayIdle says whether to look for a kernel while no call asks for one: only
// somebody who had one has something to go back to.
func (r *relay) mayIdle() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attached
}

func (r *relay) idlePause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return min(idlePauseMin<<min(max(r.failures-1, 0), 10), idlePauseMax)
}

// fine reports whether the relay had a kernel to the end, or was deliberately
// left without one.
func (r *relay) fine() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.phase != down || r.stopped
}

// firstAttempt reports whether the first attempt at a kernel is still going on,
// and what closes when that changes.
func (r *relay) firstAttempt() (<-chan struct{}, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed, r.phase == connecting && !r.attached
}

// busy reports whether somebody still waits for an answer; a listen request has
// none as long as it lasts.
func (r *relay) busy() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.memory.open) > r.memory.listening
}

// answers is how many requests have been answered by kernels.
func (r *relay) answers() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.memory.answers
}

// settle tells the drain that an answer may have been the last one.
func (r *relay) settle() {
	if !r.busy() {
		select {
		case r.empty <- struct{}{}:
		default:
		}
	}
}

// named makes sure that a refusal's data carries the symbolic name of its code.
func named(e *messages.Error) *messages.Error {
	fields := map[string]json.RawMessage{}
	if len(e.Data) > 0 && json.Unmarshal(e.Data, &fields) != nil {
		return e
	}
	if fields == nil {
		fields = map[string]json.RawMessage{}
	}
	if _, ok := fields["name"]; !ok {
		fields["name"] = messages.JSON(e.Code.Name())
	}
	return e.With(fields)
}
