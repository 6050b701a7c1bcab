package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

// queuedTurn is how long a submission whose budget ended while it was queued
// keeps the line at its turn when it gave no budget.
const queuedTurn = 5 * time.Second

// runMoved says that a run's facts have changed.
type runMoved struct{ Num uint64 }

// wake has the session look at a run.
func (h *sessionHost) wake(num uint64) { h.d.Sys.Tell(h.d.sessionPID(h.name), runMoved{num}) }

// moved looks at a run whose facts have changed.
func (s *session) moved(ctx actor.Context, num uint64) {
	s.h.mu.Lock()
	r := s.h.runs[num]
	s.h.mu.Unlock()
	if r != nil {
		s.look(ctx, r)
	}
}

// look takes every step that a run's facts call for. Each is taken once, so it
// may be called at any time, and after a crash is called for every run.
func (s *session) look(ctx actor.Context, r *Run) {
	s.leaveLine(r)
	s.handOver(r)
	s.begin(r)
	s.launch(r)
	r.answer(s.h.d)
	s.retire(r)
	s.free(ctx, r)
	s.forget(r)
}

// advance gives the line to the next submission when it is free.
func (s *session) advance(ctx actor.Context) {
	h := s.h
	h.mu.Lock()
	if h.current != nil || len(h.line) == 0 || !h.loaded {
		h.mu.Unlock()
		return
	}
	r := h.line[0]
	h.line[0] = nil
	h.line = h.line[1:]
	h.current = r
	r.mu.Lock()
	r.fork = h.state.Fork()
	if r.overdue {
		turn := queuedTurn
		if ms := r.params.TimeoutMS; ms != nil {
			turn = millis(*ms)
		}
		s.armBudgetLocked(r, turn)
	}
	r.mu.Unlock()
	h.mu.Unlock()
	s.look(ctx, r)
}

// leaveLine takes a run that was cancelled out of the line: it is started only
// to find that out, beside the line.
func (s *session) leaveLine(r *Run) {
	h := s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cause == nil || r.due || r.background {
		return
	}
	if i := slices.Index(h.line, r); i >= 0 {
		h.line = slices.Delete(h.line, i, i+1)
		r.fork, r.detached = h.state.Fork(), true
	}
}

// begin finds a run due that has the line, or needs none. A plan is taken from
// the plan store first.
func (s *session) begin(r *Run) {
	h := s.h
	h.mu.Lock()
	defer h.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.due || r.evaluated || h.current != r && !r.background && !r.detached {
		return
	}
	if r.applies && r.plan == nil && (r.cause == nil || r.claiming) {
		if !r.claiming {
			r.claiming = true
			h.d.work("claim a plan", func() { s.claim(r) }, func(err *messages.Error) { newWorker(h.d, r).refuse(err) })
		}
		return
	}
	if r.plan != nil {
		r.ownCwd = r.fork.Cwd()
		r.fork.SetCwd(r.plan.Cwd)
	}
	r.due = true
}

// actorAfter is how long a run goes on before it gets an actor of its own: most
// are over sooner, and an actor's life costs more than theirs. One in the
// background has it at once.
const actorAfter = 5 * time.Millisecond

// launch starts the worker of a run that is due, once.
func (s *session) launch(r *Run) {
	r.mu.Lock()
	if !r.due || r.launched {
		r.mu.Unlock()
		return
	}
	r.launched = true
	if !r.background {
		t := time.AfterFunc(actorAfter, func() { s.tasks.act(r) })
		r.acting = func() { t.Stop() }
	}
	background := r.background
	r.mu.Unlock()
	s.h.d.work("run", newWorker(s.h.d, r).work, nil)
	if background {
		s.tasks.act(r)
	}
}

// retire has the task store count a run as ended that had no actor to do so.
func (s *session) retire(r *Run) {
	r.mu.Lock()
	over := r.ready && !r.acted
	r.mu.Unlock()
	if over {
		s.tasks.retire(r)
	}
}

// answer answers who waits, if there is an answer. A call that was handed over
// is told so even when its run has ended meanwhile: what the run did after that
// is no longer the session's.
func (r *Run) answer(d *Deps) {
	r.mu.Lock()
	var answer messages.ExecResult
	switch {
	case r.handErr != nil:
		answer.Err = r.handErr
	case r.handedOK && (r.background || r.handed):
		answer.JSON = messages.JSON(r.handOverLocked())
	case r.ready:
		answer = r.result
	default:
		r.mu.Unlock()
		return
	}
	waiting := r.waiters
	r.waiters = nil
	r.mu.Unlock()
	for _, w := range waiting {
		answer.Key = w.key
		d.Sys.Reply(w.to, answer)
	}
}

// free takes a run that needs the line no more out of it.
func (s *session) free(ctx actor.Context, r *Run) {
	s.h.mu.Lock()
	r.mu.Lock()
	over := s.h.current == r && (r.evaluated || r.detached && isClosed(r.handing))
	r.mu.Unlock()
	if over {
		s.h.current = nil
	}
	s.h.mu.Unlock()
	if over {
		s.advance(ctx)
	}
}

// isClosed reports whether c, which may be nil, is closed.
func isClosed(c chan struct{}) bool {
	if c == nil {
		return false
	}
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// forget puts a run that was answered among those that may be forgotten.
func (s *session) forget(r *Run) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ready || len(r.waiters) > 0 {
		return
	}
	s.h.requests.close(r)
	s.h.answeredLocked(r)
}
