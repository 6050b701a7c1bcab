package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

// queuedTurn is how long a submission whose budget ended while it was queued
// keeps the line at its turn when it gave no budget.
const queuedTurn = 5 * time.Second

// session is the actor in front of a sessionHost: it orders executions and
// answers them.
type session struct {
	h     *sessionHost
	tasks *TaskStore
}

// Messages of a session to itself.
type (
	sessionLoaded struct{}
	budgetSpent   struct{ Num uint64 }
	deadlineMet   struct{ Num uint64 }
	runCancelled  struct{ Num uint64 } // it may still be queued
	handedOver    struct{ Num uint64 }
	planClaimed   struct{ Num uint64 }
)

// parked is a request that waits for the session to be loaded.
type parked struct {
	msg any
	to  *actor.PID
}

// Receive dispatches one message.
func (s *session) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.started(ctx)
	case sessionLoaded:
		s.loaded(ctx)
	case messages.Attach, messages.Exec, messages.ApplyPlan, messages.GetValue, messages.ViewSession, messages.OpenTerminal:
		s.request(ctx, m, ctx.Sender())
	case messages.AbandonExec:
		s.abandon(ctx, m)
	case messages.Detached:
		s.detached(m)
	case runMoved:
		s.moved(ctx, m.Num)
	case budgetSpent:
		s.budgetSpent(ctx, m.Num)
	case deadlineMet:
		s.deadlineMet(m.Num)
	case runCancelled:
		s.skip(m.Num)
	case handedOver:
		s.moved(ctx, m.Num)
	case planClaimed:
		s.planClaimed(ctx, m.Num)
	}
}

// started looks at the host as if every wake-up had just come.
func (s *session) started(ctx actor.Context) {
	h := s.h
	h.mu.Lock()
	load := !h.loaded && !h.loading
	h.loading = h.loading || load
	done := h.loaded || h.loadErr != nil
	h.mu.Unlock()
	if load {
		go h.bring()
		return
	}
	if done {
		s.loaded(ctx)
	}
}

// loaded serves what came before, and every run whose wake-up may be lost.
func (s *session) loaded(ctx actor.Context) {
	h := s.h
	h.mu.Lock()
	waiting := h.parked
	h.parked = nil
	runs := make([]*Run, 0, len(h.runs))
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	h.mu.Unlock()
	for _, r := range runs {
		s.moved(ctx, r.num)
	}
	for _, p := range waiting {
		s.request(ctx, p.msg, p.to)
	}
	s.advance(ctx)
}

// request serves a request, or parks it until the session is loaded.
func (s *session) request(ctx actor.Context, msg any, to *actor.PID) {
	h := s.h
	h.mu.Lock()
	h.idle = h.d.Now()
	if !h.loaded && h.loadErr == nil {
		h.parked = append(h.parked, parked{msg, to})
		h.mu.Unlock()
		return
	}
	loadErr := h.loadErr
	h.mu.Unlock()
	switch m := msg.(type) {
	case messages.Attach:
		s.attach(m, to)
	case messages.Exec:
		s.exec(ctx, m, to, loadErr)
	case messages.ApplyPlan:
		s.apply(ctx, m, to, loadErr)
	case messages.GetValue:
		if loadErr != nil {
			h.d.Sys.Reply(to, messages.Raw{Err: loadErr})
			return
		}
		h.d.aside(to, "reading a value", func() messages.Raw { return h.getValue(m.Params, s.tasks) })
	case messages.OpenTerminal:
		if loadErr != nil {
			h.d.Sys.Reply(to, messages.Raw{Err: loadErr})
			return
		}
		h.d.aside(to, "opening a terminal", func() messages.Raw { return h.openTerminal(m) })
	case messages.ViewSession:
		if loadErr != nil {
			h.d.Sys.Reply(to, messages.Raw{Err: loadErr})
			return
		}
		h.d.Sys.Reply(to, h.view(m.View))
	}
}

// attach lets a member in: the owner of the session, and the local human
// everywhere, as far as policy permits the session's name.
func (s *session) attach(m messages.Attach, to *actor.PID) {
	h := s.h
	h.mu.Lock()
	owner, failed := h.owner, h.loadErr != nil
	member := m.Principal == owner || m.Principal == h.d.Owner
	if member && !failed {
		h.conns[m.Conn] = true
	}
	h.mu.Unlock()
	rules := h.d.Policy().For(h.d.PolicyPrincipal(m.Principal))
	if !failed && (!member || !rules.MayUseSession(string(h.name))) {
		h.d.Sys.Reply(to, messages.SessionInfo{Err: messages.Errorf(messages.CodeLeashDenied,
			"%s is no member of session %s", m.Principal, h.name).With(map[string]string{"dimension": "session", "target": string(h.name)})})
		return
	}
	s.h.d.Sys.Reply(to, s.h.info())
}

func (s *session) detached(m messages.Detached) {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	delete(s.h.conns, m.Conn)
	s.h.idle = s.h.d.Now()
}

// exec takes a submission into the line, or starts it beside the line.
func (s *session) exec(ctx actor.Context, m messages.Exec, to *actor.PID, loadErr *messages.Error) {
	if s.again(ctx, m.Key, to) {
		return
	}
	if loadErr != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: loadErr})
		return
	}
	if s.knownRequest(ctx, m, to) {
		return
	}
	r, err := s.newRun(m, to)
	if err != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: err})
		return
	}
	s.enter(ctx, r)
}

// again answers a call that was made before: the same key is the same call.
func (s *session) again(ctx actor.Context, key string, to *actor.PID) bool {
	s.h.mu.Lock()
	r := s.h.byKey[key]
	s.h.mu.Unlock()
	if r == nil {
		return false
	}
	s.wait(ctx, r, to)
	return true
}

// wait makes to one more that waits for the run's answer.
func (s *session) wait(ctx actor.Context, r *Run, to *actor.PID) {
	r.mu.Lock()
	r.waiters = append(r.waiters, to)
	r.mu.Unlock()
	s.moved(ctx, r.num)
}

// knownRequest answers a request id that was used before.
func (s *session) knownRequest(ctx actor.Context, m messages.Exec, to *actor.PID) bool {
	id := m.Params.RequestID
	if id == "" {
		return false
	}
	s.h.mu.Lock()
	req := s.h.requests[string(m.Principal)+"\x00"+id]
	s.h.mu.Unlock()
	if req == nil || req.past != nil && req.past.TS < s.h.d.Now().UnixNano()-requestTTLNS {
		return false
	}
	source := ""
	if req.past != nil {
		source = req.past.SourceHash
	} else {
		source = sourceHash(req.run.params.Src)
	}
	if source != sourceHash(m.Params.Src) {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: messages.Errorf(messages.CodeInvalidParams,
			"request_id %q was used for another source; use a new id for new work", id)})
		return true
	}
	if req.past != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, JSON: req.past.JSON, Err: req.past.Err})
		return true
	}
	r := req.run
	r.mu.Lock()
	handed := r.handedOK && !r.ready
	r.mu.Unlock()
	if handed {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, JSON: messages.JSON(r.handOver())})
		return true
	}
	s.wait(ctx, r, to)
	return true
}

// newRun makes the facts of a submission.
func (s *session) newRun(m messages.Exec, to *actor.PID) (*Run, *messages.Error) {
	h := s.h
	num, err := h.d.NextTask()
	if err != nil {
		return nil, messages.Errorf(messages.CodeInternal, "number a task: %v", err)
	}
	entry, err := h.d.NextEntry()
	if err != nil {
		return nil, messages.Errorf(messages.CodeInternal, "number an entry: %v", err)
	}
	if live := s.tasks.Live(); live >= taskLimit {
		return nil, messages.Errorf(messages.CodeQuota, "%d tasks run already; cancel or await some", live).
			With(map[string]int{"limit": taskLimit, "used": live})
	}
	r := &Run{
		num: num, entry: messages.EntryID(entry), host: h, key: m.Key, conn: m.Conn,
		principal: m.Principal, kind: messages.EntryExec, params: m.Params, arrived: h.d.Now(),
		state: messages.TaskQueued, background: m.Params.Background || m.Params.Async, done: make(chan struct{}),
	}
	if to != nil {
		r.waiters = []*actor.PID{to}
	}
	if r.params.Position == "" {
		r.params.Position = messages.PositionStmt
	}
	if r.params.Mode == messages.ModePlan {
		r.background = false
	}
	return r, nil
}

// taskLimit is how many tasks may be live in one kernel.
const taskLimit = 4096

// enter puts a run into the host, arms its timers, and moves on.
func (s *session) enter(ctx actor.Context, r *Run) {
	h := s.h
	h.mu.Lock()
	h.runs[r.num], h.byKey[r.key] = r, r
	if id := r.params.RequestID; id != "" {
		h.requests[string(r.principal)+"\x00"+id] = &request{run: r}
	}
	h.forgetLocked()
	if r.background {
		r.fork = h.state.Fork()
	} else {
		h.line = append(h.line, r)
	}
	h.mu.Unlock()
	s.tasks.add(r)
	s.arm(ctx, r)
	if r.background {
		s.launch(r)
		return
	}
	s.advance(ctx)
}

// arm starts the run's timers.
func (s *session) arm(ctx actor.Context, r *Run) {
	sys, self := s.h.d.Sys, ctx.Self()
	r.mu.Lock()
	defer r.mu.Unlock()
	if ms := r.params.TimeoutMS; ms != nil && !r.background {
		r.budget = sys.After(millis(*ms), self, budgetSpent{r.num})
	}
	if ms := r.params.DeadlineMS; ms != nil {
		r.deadline = sys.After(millis(*ms), self, deadlineMet{r.num})
	}
}

// millis is ms milliseconds, saturated at a hundred years.
func millis(ms int64) time.Duration {
	const most = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(ms, most)) * time.Millisecond
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
	h.line = h.line[1:]
	h.current = r
	r.fork = h.state.Fork()
	h.mu.Unlock()
	r.mu.Lock()
	overdue := r.overdue
	r.mu.Unlock()
	if overdue {
		turn := queuedTurn
		if ms := r.params.TimeoutMS; ms != nil {
			turn = millis(*ms)
		}
		r.mu.Lock()
		r.budget = h.d.Sys.After(turn, ctx.Self(), budgetSpent{r.num})
		r.mu.Unlock()
	}
	if r.planRef != "" {
		s.claim(ctx, r)
		return
	}
	s.launch(r)
}

// launch has the run's task started.
func (s *session) launch(r *Run) { s.h.d.Sys.Tell(s.h.d.tasksPID(), messages.StartTask{Task: r.num}) }

// find is a run of this session.
func (s *session) find(num uint64) *Run {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	return s.h.runs[num]
}

// moved looks at a run's facts: frees the line, answers who waits.
func (s *session) moved(ctx actor.Context, num uint64) {
	r := s.find(num)
	if r == nil {
		return
	}
	r.mu.Lock()
	evaluated, ready, handed := r.evaluated, r.ready, r.handedOK && (r.background || r.handed)
	var answer messages.ExecResult
	var to []*actor.PID
	switch {
	case r.background && r.handedOK && !r.told: // also when it has ended since
		answer = messages.ExecResult{Key: r.key, JSON: messages.JSON(r.handOverLocked())}
		to, r.waiters, r.told = r.waiters, nil, true
	case ready:
		answer, to, r.waiters = r.result, r.waiters, nil
	case handed:
		answer = messages.ExecResult{Key: r.key, JSON: messages.JSON(r.handOverLocked())}
		to, r.waiters = r.waiters, nil
	}
	r.mu.Unlock()
	if evaluated {
		s.free(ctx, r)
	}
	if ready {
		s.remember(r)
	}
	for _, pid := range to {
		s.h.d.Sys.Reply(pid, answer)
	}
}

// free takes a run out of the line.
func (s *session) free(ctx actor.Context, r *Run) {
	s.h.mu.Lock()
	mine := s.h.current == r
	if mine {
		s.h.current = nil
	}
	for i, waiting := range s.h.line {
		if waiting == r {
			s.h.line = append(s.h.line[:i:i], s.h.line[i+1:]...)
			break
		}
	}
	s.h.mu.Unlock()
	if mine {
		s.advance(ctx)
	}
}

// remember turns an ended run with a request id into its remembered answer.
func (s *session) remember(r *Run) {
	id := r.params.RequestID
	if id == "" {
		return
	}
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	req := s.h.requests[string(r.principal)+"\x00"+id]
	if req == nil || req.run != r {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.resultRef == "" { // refused: nothing ran, so the id is free again
		delete(s.h.requests, string(r.principal)+"\x00"+id)
		return
	}
	req.run = nil
	req.past = &requestRow{
		SourceHash: sourceHash(r.params.Src), Task: r.id(), TS: r.arrived.UnixNano(),
		JSON: r.result.JSON, Err: r.result.Err,
	}
}
