package actors

import (
	"context"
	"sort"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// sessionLimit is how many sessions one kernel holds in memory.
const sessionLimit = 4096

// idleTime is how long a session without connection, task or terminal stays in
// memory.
const idleTime = 30 * time.Minute

// SessionStore holds the session hosts; it outlives the actors.
type SessionStore struct {
	d     *Deps
	tasks *TaskStore

	mu    sync.Mutex
	hosts map[messages.SessionName]*sessionHost
}

// NewSessionStore is an empty store.
func NewSessionStore(d *Deps, tasks *TaskStore) *SessionStore {
	return &SessionStore{d: d, tasks: tasks, hosts: map[messages.SessionName]*sessionHost{}}
}

// sessions is the registry: it brings sessions to life and lets idle ones go.
type sessions struct{ st *SessionStore }

// NewSessions makes producers of the registry's actor.
func NewSessions(st *SessionStore) func() actor.Actor {
	return func() actor.Actor { return &sessions{st} }
}

// sweepIdle is the registry's reminder to itself.
type sweepIdle struct{}

// Receive dispatches one message.
func (s *sessions) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.respawn(ctx)
		s.st.d.Sys.After(time.Minute, ctx.Self(), sweepIdle{})
	case *actor.Terminated:
		s.respawn(ctx)
	case messages.Attach:
		s.attach(ctx, m)
	case messages.ListSessions:
		ctx.Respond(s.st.list())
	case messages.CloseSession:
		s.close(ctx, m)
	case sessionEnded:
		s.ended(ctx, m.name)
	case sweepIdle:
		s.sweep(ctx)
		s.st.d.Sys.After(time.Minute, ctx.Self(), sweepIdle{})
	}
}

// respawn brings back the actors of every session in the store.
func (s *sessions) respawn(ctx actor.Context) {
	s.st.mu.Lock()
	defer s.st.mu.Unlock()
	for _, h := range s.st.hosts {
		if !h.closed {
			s.spawn(ctx, h)
		}
	}
}

func (s *sessions) spawn(ctx actor.Context, h *sessionHost) {
	_, err := s.st.d.Sys.SpawnChild(ctx, supervisor.Spec{
		Name:   string(h.name),
		New:    func() actor.Actor { return &session{h, s.st.tasks} },
		GaveUp: func(reason any) { h.abandonAll(reason) },
	})
	if err != nil {
		s.st.d.Log.Error("spawn session", "session", h.name, "err", err)
	}
}

// attach forwards to the session, which it brings to life if need be.
func (s *sessions) attach(ctx actor.Context, m messages.Attach) {
	if !m.Session.Valid() {
		ctx.Respond(messages.SessionInfo{Err: messages.Errorf(messages.CodeInvalidParams,
			"session %q: names are 1 to 64 of A-Z a-z 0-9 . _ - and do not start with a dot", m.Session)})
		return
	}
	s.st.mu.Lock()
	h := s.st.hosts[m.Session]
	full := h == nil && len(s.st.hosts) >= sessionLimit
	if h == nil && !full {
		h = newSessionHost(s.st.d, m)
		s.st.hosts[m.Session] = h
	}
	s.st.mu.Unlock()
	if full {
		ctx.Respond(messages.SessionInfo{Err: messages.Errorf(messages.CodeQuota, "%d sessions are open; close some", sessionLimit).
			With(map[string]int{"limit": sessionLimit, "used": sessionLimit})})
		return
	}
	s.retry(h, m)
	s.spawn(ctx, h)
	ctx.Forward(s.st.d.sessionPID(m.Session))
}

// retry gives a session that could not be created or loaded another chance,
// with what this client brings.
func (s *sessions) retry(h *sessionHost, m messages.Attach) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.loadErr == nil {
		return
	}
	h.loadErr, h.cwd0, h.base, h.loading = nil, m.Cwd, m.Env, true
	go h.bring()
}

func (st *SessionStore) list() messages.Sessions {
	st.mu.Lock()
	defer st.mu.Unlock()
	out := messages.Sessions{Sessions: []messages.SessionSummary{}}
	for _, h := range st.hosts {
		h.mu.Lock()
		if h.loaded {
			out.Sessions = append(out.Sessions, messages.SessionSummary{
				Session: h.name, Owner: h.owner, Conns: len(h.conns), Tasks: st.tasks.liveOf(h.name),
			})
		}
		h.mu.Unlock()
	}
	sort.Slice(out.Sessions, func(i, j int) bool { return out.Sessions[i].Session < out.Sessions[j].Session })
	return out
}

// sessionEnded says that a session's tasks and terminals are gone.
type sessionEnded struct{ name messages.SessionName }

// close ends a session's tasks and terminals, then its actor.
func (s *sessions) close(ctx actor.Context, m messages.CloseSession) {
	s.st.mu.Lock()
	h := s.st.hosts[m.Session]
	s.st.mu.Unlock()
	if h == nil {
		ctx.Respond(messages.Done{})
		return
	}
	to, self, st := ctx.Sender(), ctx.Self(), s.st
	go func() {
		defer st.d.recovered("closing the session", func(err *messages.Error) { st.d.Sys.Reply(to, messages.Done{Err: err}) })
		cctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		st.tasks.endSession(cctx, m.Session)
		st.d.ClosePTYs(cctx, m.Session)
		st.d.Journal.Append(messages.Record{Events: []messages.Draft{{
			Key:     messages.ChannelKey{Session: m.Session, Name: "session"},
			Payload: messages.JSON(map[string]any{"kind": "closed", "principal": m.Principal}),
		}}}, func(a messages.Appended) {
			st.d.Sys.Tell(self, sessionEnded{m.Session})
			st.d.Sys.Reply(to, messages.Done{Err: a.Err})
		})
	}()
}

// ended lets a session's actor go; its state stays in the journal.
func (s *sessions) ended(ctx actor.Context, name messages.SessionName) {
	s.st.mu.Lock()
	h := s.st.hosts[name]
	delete(s.st.hosts, name)
	s.st.mu.Unlock()
	if h == nil {
		return
	}
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	ctx.Stop(s.st.d.sessionPID(name))
}

// sweep lets sessions go that nobody has used for a while.
func (s *sessions) sweep(ctx actor.Context) {
	limit := s.st.d.Now().Add(-idleTime)
	var gone []messages.SessionName
	s.st.mu.Lock()
	for name, h := range s.st.hosts {
		h.mu.Lock()
		if len(h.conns) == 0 && h.current == nil && len(h.line) == 0 && h.idle.Before(limit) &&
			s.st.tasks.liveOf(name) == 0 && !s.st.d.HasPTYs(name) {
			gone = append(gone, name)
		}
		h.mu.Unlock()
	}
	s.st.mu.Unlock()
	for _, name := range gone {
		s.ended(ctx, name)
	}
}

// abandonAll answers everyone who waits for a session whose actor was given
// up.
func (h *sessionHost) abandonAll(reason any) {
	h.mu.Lock()
	runs := make([]*Run, 0, len(h.runs))
	for _, r := range h.runs {
		runs = append(runs, r)
	}
	waiting := h.parked
	h.parked, h.line = nil, nil
	h.mu.Unlock()
	h.d.Log.Error("session given up", "session", h.name, "reason", reason)
	for _, r := range runs {
		r.mu.Lock()
		to := r.waiters
		r.waiters = nil
		r.mu.Unlock()
		for _, pid := range to {
			h.d.Sys.Reply(pid, messages.ExecResult{Key: r.key, Err: interrupted(r.entry)})
		}
	}
	for _, p := range waiting {
		h.d.Sys.Reply(p.to, &supervisor.Failed{Request: p.msg, Actor: string(h.name), Reason: "the session was given up"})
	}
}

// interrupted says that what served a call was lost, and what was recorded.
func interrupted(entry messages.EntryID) *messages.Error {
	return messages.Errorf(messages.CodeInterrupted,
		"the session serving this call was lost; the journal entry says how far it got").
		With(map[string]any{"reason": "session_lost", "entry": entry})
}
