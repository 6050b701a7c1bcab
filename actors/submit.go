package actors

import (
	"encoding/json"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

// taskLimit is how many tasks may be live in one kernel.
const taskLimit = 4096

// exec takes a submission into the line, or starts it beside the line.
func (s *session) exec(ctx actor.Context, m messages.Exec, to *actor.PID) {
	if s.again(ctx, m.Key, to) || s.knownRequest(ctx, m, to) {
		return
	}
	r, err := s.newRun(m, to)
	if err != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: err})
		return
	}
	if ref := m.Params.PlanRef; ref != "" {
		r.kind, r.applies, r.planRef = messages.EntryApply, true, ref
	}
	if !s.enter(ctx, r) {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: closing(s.h.name)})
	}
}

// apply takes the application of a plan into the line.
func (s *session) apply(ctx actor.Context, m messages.ApplyPlan, to *actor.PID) {
	if s.again(ctx, m.Key, to) {
		return
	}
	r, err := s.newRun(messages.Exec{
		Key: m.Key, Conn: m.Conn, Principal: m.Principal,
		Params: messages.ExecParams{Elide: m.Elide, TimeoutMS: m.TimeoutMS, DeadlineMS: m.DeadlineMS},
	}, to)
	if err != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: err})
		return
	}
	r.kind, r.applies, r.planRef = messages.EntryApply, true, m.PlanRef
	if !s.enter(ctx, r) {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: closing(s.h.name)})
	}
}

// closing refuses work for a session that is being closed.
func closing(name messages.SessionName) *messages.Error {
	return messages.Errorf(messages.CodeInterrupted, "session %s is being closed; attach again for new work", name).
		With(map[string]string{"reason": "session_closed"})
}

// again answers a call that was made before: the same key is the same call.
func (s *session) again(ctx actor.Context, key string, to *actor.PID) bool {
	s.h.mu.Lock()
	r := s.h.byKey[key]
	s.h.mu.Unlock()
	if r == nil {
		return false
	}
	s.wait(ctx, r, waiter{key, to})
	return true
}

// wait makes w one more that waits for the run's answer.
func (s *session) wait(ctx actor.Context, r *Run, w waiter) {
	r.mu.Lock()
	if w.to != nil {
		r.waiters = append(r.waiters, w)
	}
	r.mu.Unlock()
	s.look(ctx, r)
}

// knownRequest answers a request id that was used before.
func (s *session) knownRequest(ctx actor.Context, m messages.Exec, to *actor.PID) bool {
	id := m.Params.RequestID
	if id == "" {
		return false
	}
	h := s.h
	h.mu.Lock()
	req := h.requests.find(m.Principal, id, h.d.Now())
	h.mu.Unlock()
	if req == nil {
		return false
	}
	if req.source != sourceHash(m.Params.Src) {
		h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: messages.Errorf(messages.CodeInvalidParams,
			"request_id %q was used for another source; use a new id for new work", id)})
		return true
	}
	if req.run == nil {
		h.d.work("answer a request id", func() { h.d.Sys.Reply(to, h.pastAnswer(m)) }, func(err *messages.Error) {
			h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: err})
		})
		return true
	}
	s.join(ctx, req.run, waiter{m.Key, to})
	return true
}

// join answers another call with what a run has come to, or makes it wait.
func (s *session) join(ctx actor.Context, r *Run, w waiter) {
	r.mu.Lock()
	ready, answer := r.ready, r.result
	r.mu.Unlock()
	if ready {
		s.h.d.Sys.Reply(w.to, messages.ExecResult{Key: w.key, JSON: answer.JSON, Err: answer.Err})
		return
	}
	s.h.mu.Lock()
	s.h.byKey[w.key] = r
	s.h.aliases[r.num] = append(s.h.aliases[r.num], w.key)
	s.h.mu.Unlock()
	s.wait(ctx, r, w)
}

// newRun makes the facts of a submission.
func (s *session) newRun(m messages.Exec, to *actor.PID) (*Run, *messages.Error) {
	h := s.h
	if live := s.tasks.Live(); live >= taskLimit {
		return nil, messages.Errorf(messages.CodeQuota, "%d tasks run already; cancel or await some", live).
			With(map[string]int{"limit": taskLimit, "used": live})
	}
	num, err := h.d.NextTask()
	if err != nil {
		return nil, messages.Errorf(messages.CodeInternal, "number a task: %v", err)
	}
	entry, err := h.d.NextEntry()
	if err != nil {
		return nil, messages.Errorf(messages.CodeInternal, "number an entry: %v", err)
	}
	r := &Run{
		num: num, entry: messages.EntryID(entry), host: h, key: m.Key, conn: m.Conn,
		principal: m.Principal, kind: messages.EntryExec, params: m.Params, arrived: h.d.Now(),
		state: messages.TaskQueued, background: m.Params.Background || m.Params.Async, done: make(chan struct{}),
	}
	if to != nil {
		r.waiters = []waiter{{m.Key, to}}
	}
	if r.params.Position == "" {
		r.params.Position = messages.PositionStmt
	}
	if r.params.Mode == messages.ModePlan {
		r.background = false
	}
	return r, nil
}

// enter puts a run into the host, arms its timers, and moves on; false when the
// session takes no more.
func (s *session) enter(ctx actor.Context, r *Run) bool {
	h := s.h
	h.mu.Lock()
	if h.closing {
		h.mu.Unlock()
		return false
	}
	h.runs[r.num], h.byKey[r.key] = r, r
	gone := h.requests.open(r, h.d.Now())
	if r.background {
		r.fork = h.state.Fork()
	} else {
		h.line = append(h.line, r)
	}
	s.tasks.add(r) // before anybody can close the session
	h.mu.Unlock()
	if len(gone) > 0 {
		h.d.Journal.Append(messages.Record{Rows: gone}, func(messages.Appended) {})
	}
	s.arm(r)
	if r.background {
		s.look(ctx, r)
	} else {
		s.advance(ctx)
	}
	return true
}

// arm starts the run's timers. What they have to tell is put down as a fact
// before the session is woken, as a message to it may be lost.
func (s *session) arm(r *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ms := r.params.TimeoutMS; ms != nil && !r.background {
		s.armBudgetLocked(r, millis(*ms))
	}
	if ms := r.params.DeadlineMS; ms != nil {
		t := time.AfterFunc(millis(*ms), func() { s.tasks.cancel(r, errDeadline) })
		r.deadline = func() { t.Stop() }
	}
}

func (s *session) armBudgetLocked(r *Run, d time.Duration) {
	h := s.h
	t := time.AfterFunc(d, func() {
		r.mu.Lock()
		r.spent = true
		r.mu.Unlock()
		h.wake(r.num)
	})
	r.budget = func() { t.Stop() }
}

// millis is ms milliseconds, saturated at a hundred years.
func millis(ms int64) time.Duration {
	const most = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
}

// pastAnswer is the remembered answer to a request id whose run is over. It
// blocks and runs in a goroutine of its own.
func (h *sessionHost) pastAnswer(m messages.Exec) messages.ExecResult {
	out := messages.ExecResult{Key: m.Key}
	var past requestRow
	raw, found, err := h.d.Journal.Get(tableRequest, requestKey(h.name, m.Principal, m.Params.RequestID))
	if err == nil && found {
		err = json.Unmarshal(raw, &past)
	}
	switch {
	case err != nil || !found:
		out.Err = messages.Errorf(messages.CodeInternal, "read the answer to request_id %q: found %t, %v", m.Params.RequestID, found, err)
	case past.JSON == nil && past.Err == nil:
		out.Err = messages.Errorf(messages.CodeInterrupted,
			"the kernel died while it ran this; %s and the journal entry say how far it got; use a new request_id to run it again", past.Task).
			With(map[string]any{"reason": "kernel_lost", "task": past.Task, "entry": past.Entry})
	default:
		out.JSON, out.Err = past.JSON, past.Err
	}
	return out
}
