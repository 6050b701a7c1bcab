package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// closeTime bounds the end of a session's tasks and terminals.
const closeTime = 8 * time.Second

// close has the session end itself, behind what was asked of it before; one
// without actor is ended from here.
func (s *sessions) close(ctx actor.Context, m messages.CloseSession) {
	h := s.st.get(m.Session)
	switch {
	case h == nil:
		ctx.Respond(messages.Done{})
	case h.isDown():
		h.close(m, ctx.Sender(), s.st.tasks)
	default:
		ctx.Forward(s.st.d.sessionPID(m.Session))
	}
}

// close ends the session's tasks and terminals, then its actor. Asking again
// while that goes on waits for the same end.
func (h *sessionHost) close(m messages.CloseSession, to *actor.PID, tasks *TaskStore) {
	h.mu.Lock()
	member, first := h.memberLocked(m.Principal), !h.closing
	if member {
		h.closing = true
		h.closers = append(h.closers, to)
	}
	h.mu.Unlock()
	switch {
	case !member:
		h.d.Sys.Reply(to, messages.Done{Err: noMember(m.Principal, m.Session)})
	case first:
		h.d.work("close session", func() { h.closeDone(h.end(tasks, m.Principal)) }, h.closeDone)
	}
}

// end ends what the session holds and says so. A session whose tasks do not end
// stays, as they use its numbers. It blocks.
func (h *sessionHost) end(tasks *TaskStore, by messages.Principal) *messages.Error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	h.away.Store(true)
	tasks.endSession(ctx, h.name)
	tasks.retireEnded(h.name)
	h.d.ClosePTYs(ctx, h.name)
	if n := tasks.liveOf(h.name); n > 0 {
		return messages.Errorf(messages.CodeInternal, "%d tasks of session %s have not ended; close it again", n, h.name)
	}
	return h.d.write(messages.Record{Events: []messages.Draft{{
		Key:     messages.ChannelKey{Session: h.name, Name: "session"},
		Payload: messages.JSON(map[string]any{"kind": "closed", "principal": by}),
	}}}).Err
}

// closeDone answers who asked for the end, after the registry was told.
func (h *sessionHost) closeDone(err *messages.Error) {
	h.mu.Lock()
	closers := h.closers
	h.closers = nil
	h.closed, h.closing = err == nil, err == nil
	h.away.Store(err == nil)
	h.mu.Unlock()
	if err == nil {
		h.d.Sys.Tell(h.d.pid(SessionsName), sessionEnded{h})
	}
	for _, to := range closers {
		h.d.Sys.Reply(to, messages.Done{Err: err})
	}
}

// isDown reports whether the session's actor was given up.
func (h *sessionHost) isDown() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.gaveUp.IsZero()
}

// isLeaving reports whether the session is to leave memory: it was closed, or it
// never came up.
func (h *sessionHost) isLeaving() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed || h.loadErr != nil && !h.loading && len(h.parked) == 0
}

// dismiss answers everybody who waits for something of a session that leaves
// memory.
func (h *sessionHost) dismiss() {
	h.mu.Lock()
	runs, waiting := h.runsLocked(), h.parked
	h.parked = nil
	h.mu.Unlock()
	for _, r := range runs {
		r.mu.Lock()
		to, answer := r.waiters, r.result
		if !r.ready {
			answer = messages.ExecResult{Err: interrupted(r.entry)}
		}
		r.waiters = nil
		r.mu.Unlock()
		for _, w := range to {
			h.d.Sys.Reply(w.to, messages.ExecResult{Key: w.key, JSON: answer.JSON, Err: answer.Err})
		}
	}
	for _, p := range waiting {
		h.d.Sys.Reply(p.to, &supervisor.Failed{Request: p.msg, Actor: string(h.name), Reason: "the session has left memory"})
	}
}

// empty lets go of what the session holds in memory. Its ended tasks know it for
// as long as they are kept themselves, and are not to keep its bindings alive.
func (h *sessionHost) empty() {
	h.mu.Lock()
	h.state = interp.NewState(h.cwd0, nil)
	h.runs, h.byKey, h.aliases = map[uint64]*Run{}, map[string]*Run{}, map[uint64][]string{}
	h.answers, h.bytes = nil, 0
	h.requests = newRequests(h.name)
	h.mu.Unlock()
	h.values.empty()
}

// giveUp is called when the session's actor was given up: what is queued does
// not run, and everybody who waits is answered. What runs goes on.
func (h *sessionHost) giveUp(reason any, tasks *TaskStore) {
	h.away.Store(true)
	h.mu.Lock()
	h.gaveUp, h.gaveUpWhy = h.d.Now(), fmt.Sprint(reason)
	queued := h.line
	h.line = nil
	if r := h.current; r != nil && !r.hasWorker() {
		queued = append(queued, r)
		h.current = nil
	}
	h.mu.Unlock()
	h.d.Log.Error("session given up", "session", h.name, "reason", reason)
	for _, r := range queued {
		newWorker(h.d, r).refuse(interrupted(r.entry))
	}
	tasks.retireEnded(h.name)
	h.dismiss()
}

// hasWorker reports whether the run's worker was launched; then it comes to an
// end of its own.
func (r *Run) hasWorker() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.launched
}

// rise lets a session that was given up have another try, after a while.
func (h *sessionHost) rise() *messages.Error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.gaveUp.IsZero() {
		return nil
	}
	if h.d.Now().Sub(h.gaveUp) < reviveTime {
		return messages.Errorf(messages.CodeInterrupted,
			"session %s failed again and again (%s) and was given up; attach again in a while", h.name, h.gaveUpWhy).
			With(map[string]any{"reason": "session_lost", "retry_after_ms": reviveTime.Milliseconds()})
	}
	h.gaveUp = time.Time{}
	h.away.Store(false)
	return nil
}

// interrupted says that what served a call was lost, and what was recorded.
func interrupted(entry messages.EntryID) *messages.Error {
	return messages.Errorf(messages.CodeInterrupted,
		"the session serving this call was lost; the journal entry says how far it got").
		With(map[string]any{"reason": "session_lost", "entry": entry})
}
