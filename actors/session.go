package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// session is the actor in front of a sessionHost: it orders executions and
// answers them.
type session struct {
	h     *sessionHost
	tasks *TaskStore
}

// sessionLoaded wakes a session whose host has been loaded, or could not be.
type sessionLoaded struct{}

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
	case messages.Attach, messages.Detached, messages.Exec, messages.AbandonExec, messages.ApplyPlan,
		messages.GetValue, messages.ReadSource, messages.ViewSession, messages.OpenTerminal, messages.CloseSession,
		messages.Members:
		s.request(ctx, m, ctx.Sender())
	case runMoved:
		s.moved(ctx, m.Num)
	}
}

// started looks at the host as if every wake-up had just come.
func (s *session) started(ctx actor.Context) {
	h := s.h
	h.mu.Lock()
	load := !h.loaded && h.loadErr == nil && !h.loading
	h.loading = h.loading || load
	done := h.loaded || h.loadErr != nil
	h.mu.Unlock()
	switch {
	case done:
		s.loaded(ctx)
	case load:
		self := ctx.Self()
		finish := func(err *messages.Error) {
			h.mu.Lock()
			h.loaded, h.loading, h.loadErr = err == nil, false, err
			h.mu.Unlock()
			h.d.Sys.Tell(self, sessionLoaded{})
		}
		h.d.work("load session", func() { finish(h.load()) }, finish)
	}
}

// loaded serves what came before, and every run whose wake-up may be lost. A
// session that could not be loaded has itself removed.
func (s *session) loaded(ctx actor.Context) {
	h := s.h
	h.mu.Lock()
	waiting, failed := h.parked, h.loadErr != nil
	h.parked = nil
	runs := h.runsLocked()
	h.mu.Unlock()
	for _, r := range runs {
		s.look(ctx, r)
	}
	for _, p := range waiting {
		s.request(ctx, p.msg, p.to)
	}
	if failed {
		h.d.Sys.Tell(h.d.pid(SessionsName), sessionEnded{h})
		return
	}
	s.advance(ctx)
}

// request serves a request, or parks it until the session is loaded.
func (s *session) request(ctx actor.Context, msg any, to *actor.PID) {
	h := s.h
	h.mu.Lock()
	h.idle = h.d.Now()
	if !h.loaded && h.loadErr == nil && !h.closed {
		h.parked = append(h.parked, parked{msg, to})
		h.mu.Unlock()
		return
	}
	loadErr, gone := h.loadErr, h.loadErr != nil || h.closed
	h.mu.Unlock()
	if gone {
		s.refuse(msg, to, loadErr)
		return
	}
	switch m := msg.(type) {
	case messages.Attach:
		s.attach(m, to)
	case messages.Detached:
		s.detached(m, to)
	case messages.Exec:
		s.exec(ctx, m, to)
	case messages.AbandonExec:
		s.abandon(ctx, m, to)
	case messages.ApplyPlan:
		s.apply(ctx, m, to)
	case messages.GetValue:
		h.d.serve("value.get", to, func() messages.Raw { return h.getValue(m.Params, s.tasks) })
	case messages.ReadSource:
		h.d.serve(m.Op, to, func() messages.Raw { return h.readSource(m, s.tasks) })
	case messages.OpenTerminal:
		s.openTerminal(m, to)
	case messages.CloseSession:
		h.close(m, to, s.tasks)
	case messages.Members:
		s.members(m, to)
	case messages.ViewSession:
		h.d.Sys.Reply(to, h.view(m))
	}
}

// refuse answers for a session that did not come up or is gone. Only the client
// whose attachment was to create it hears why it did not; the others ask again
// and try for themselves.
func (s *session) refuse(msg any, to *actor.PID, loadErr *messages.Error) {
	if m, ok := msg.(messages.Attach); ok && loadErr != nil && m.Conn == s.h.creator {
		s.h.d.Sys.Reply(to, messages.SessionInfo{Err: loadErr})
		return
	}
	s.retryLater(msg, to)
}

// retryLater has whoever asked ask again.
func (s *session) retryLater(msg any, to *actor.PID) {
	s.h.d.Sys.Reply(to, &supervisor.Failed{Request: msg, Actor: string(s.h.name), Reason: "the session is not there"})
}

// attach lets a member in: the owner of the session, whom it invited, and
// the local human everywhere, as far as policy permits the session's name.
func (s *session) attach(m messages.Attach, to *actor.PID) {
	h := s.h
	rules := h.rulesOf(m.Principal)
	h.mu.Lock()
	closing := h.closing
	member, permitted := h.memberLocked(m.Principal), rules.MayUseSession(string(h.name))
	if member && permitted && !closing {
		h.conns[m.Conn] = true
	}
	h.mu.Unlock()
	switch {
	case closing:
		s.retryLater(m, to)
	case !permitted:
		h.d.Sys.Reply(to, messages.SessionInfo{Err: h.d.mayNotUse(m.Principal, h.name)})
	case !member:
		h.d.Sys.Reply(to, messages.SessionInfo{Err: noMember(m.Principal, h.name)})
	default:
		h.d.Sys.Reply(to, h.info())
	}
}

// mayNotUse refuses whom policy does not let use a session of that name.
func (d *Deps) mayNotUse(p messages.Principal, name messages.SessionName) *messages.Error {
	table := d.PolicyPrincipal(p)
	return messages.Errorf(messages.CodeLeashDenied, "policy does not let %s use session %s", table, name).
		With(map[string]string{
			"dimension": "session", "target": string(name), "rule": "sessions",
			"hint": fmt.Sprintf("add %q to the sessions of [principal.%q] in the policy file; a principal without a table there may do nothing", name, table),
		})
}

// noMember refuses whoever may not use a session.
func noMember(p messages.Principal, name messages.SessionName) *messages.Error {
	return messages.Errorf(messages.CodeLeashDenied, "%s is no member of session %s", p, name).
		With(map[string]string{"dimension": "session", "target": string(name)})
}

func (s *session) detached(m messages.Detached, to *actor.PID) {
	s.h.mu.Lock()
	delete(s.h.conns, m.Conn)
	s.h.mu.Unlock()
	s.h.d.Sys.Reply(to, messages.Done{})
}
