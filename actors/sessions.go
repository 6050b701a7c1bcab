package actors

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

const (
	// sessionLimit is how many sessions one kernel holds in memory.
	sessionLimit = 4096
	// idleTime is how long a session without connection, task or terminal
	// stays in memory.
	idleTime = 30 * time.Minute
	// evictTime is how long such a session is spared when there is no room for
	// another one: it may be on its way to its first connection.
	evictTime = time.Second
	// sweepTime is how often the registry looks for such sessions.
	sweepTime = time.Minute
	// reviveTime is how long a session whose actor was given up stays down
	// before an attachment may bring it back.
	reviveTime = time.Second
)

// SessionStore holds the session hosts; it outlives the actors.
type SessionStore struct {
	d     *Deps
	tasks *TaskStore

	limit int // sessionLimit

	mu    sync.Mutex
	hosts map[messages.SessionName]*sessionHost
}

// NewSessionStore is an empty store.
func NewSessionStore(d *Deps, tasks *TaskStore) *SessionStore {
	return &SessionStore{d: d, tasks: tasks, limit: sessionLimit, hosts: map[messages.SessionName]*sessionHost{}}
}

// sessions is the registry: it brings sessions to life and lets idle ones go.
type sessions struct {
	st    *SessionStore
	sweep func() // stops the timer of the next sweep
}

// NewSessions makes producers of the registry's actor.
func NewSessions(st *SessionStore) func() actor.Actor {
	return func() actor.Actor { return &sessions{st: st, sweep: func() {}} }
}

// Messages to the registry.
type (
	// sweepIdle is its reminder to itself.
	sweepIdle struct{}
	// memoryShort asks to let sessions go that have been unused for so long.
	memoryShort struct{ unused time.Duration }
	// sessionEnded says that a session is to leave memory.
	sessionEnded struct{ h *sessionHost }
)

// Receive dispatches one message.
func (s *sessions) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		s.started(ctx)
	case *actor.Restarting, *actor.Stopped:
		s.sweep()
	case *actor.Terminated:
		s.terminated(ctx, m.Who)
	case messages.Attach:
		s.attach(ctx, m)
	case messages.Detached:
		s.detached(ctx, m)
	case messages.ListSessions:
		ctx.Respond(s.st.list(m.Principal))
	case messages.CloseSession:
		s.close(ctx, m)
	case sessionEnded:
		s.ended(ctx, m.h)
	case sweepIdle:
		s.letGo(ctx, idleTime)
		s.sweepLater(ctx)
	case memoryShort:
		s.letGo(ctx, m.unused)
	}
}

// letGo takes the sessions that nobody has used for so long out of memory.
func (s *sessions) letGo(ctx actor.Context, unused time.Duration) {
	for _, h := range s.st.idle(unused) {
		s.ended(ctx, h)
	}
}

// Relieve lets go of what the journal can give again: older values, and
// sessions that nobody has used for so long. It is called while memory is short
// and reports whether there is anything to let go of.
func (st *SessionStore) Relieve(unused time.Duration) bool {
	some := false
	for _, h := range st.all() {
		some = h.values.relieve() || some
	}
	if len(st.idle(unused)) == 0 {
		return some
	}
	st.d.Sys.Tell(st.d.pid(SessionsName), memoryShort{unused})
	return true
}

func (s *sessions) sweepLater(ctx actor.Context) {
	s.sweep = s.st.d.Sys.After(sweepTime, ctx.Self(), sweepIdle{})
}

// started brings back the actors of every session in the store, and lets those
// go that were about to.
func (s *sessions) started(ctx actor.Context) {
	for _, h := range s.st.all() {
		if h.isLeaving() {
			s.ended(ctx, h)
		} else {
			s.spawn(ctx, h)
		}
	}
	s.sweepLater(ctx)
}

// terminated brings a session's actor back unless it was given up.
func (s *sessions) terminated(ctx actor.Context, who *actor.PID) {
	name := who.GetId()[strings.LastIndexByte(who.GetId(), '/')+1:]
	if h := s.st.get(messages.SessionName(name)); h != nil && !h.isLeaving() {
		s.spawn(ctx, h)
	}
}

// spawn starts a session's actor unless it runs.
func (s *sessions) spawn(ctx actor.Context, h *sessionHost) {
	if h.isDown() {
		return
	}
	_, err := s.st.d.Sys.SpawnChild(ctx, supervisor.Spec{
		Name:   string(h.name),
		New:    func() actor.Actor { return &session{h, s.st.tasks} },
		GaveUp: func(reason any) { h.giveUp(reason, s.st.tasks) },
	})
	if err != nil {
		s.st.d.Log.Error("spawn session", "session", h.name, "err", err)
	}
}

// attach forwards to the session, which it brings to life if need be.
func (s *sessions) attach(ctx actor.Context, m messages.Attach) {
	if !m.Session.Valid() {
		ctx.Respond(messages.SessionInfo{Err: messages.Errorf(messages.CodeInvalidParams,
			"session %.80q: names are 1 to 64 of A-Z a-z 0-9 . _ - and do not start with a dot", m.Session)})
		return
	}
	if h := s.st.get(m.Session); h != nil && h.isLeaving() {
		s.ended(ctx, h)
	}
	s.makeRoom(ctx, m.Session)
	h, refusal := s.st.open(m)
	if refusal == nil {
		refusal = h.rise()
	}
	if refusal != nil {
		ctx.Respond(messages.SessionInfo{Err: refusal})
		return
	}
	s.spawn(ctx, h)
	ctx.Forward(s.st.d.sessionPID(m.Session))
}

// makeRoom lets the session go that has been unused for longest when one more
// would be too many. The journal brings it back when somebody attaches.
func (s *sessions) makeRoom(ctx actor.Context, name messages.SessionName) {
	s.st.mu.Lock()
	full := s.st.hosts[name] == nil && len(s.st.hosts) >= s.st.limit
	s.st.mu.Unlock()
	if !full {
		return
	}
	if unused := s.st.idle(evictTime); len(unused) > 0 {
		s.ended(ctx, slices.MinFunc(unused, func(a, b *sessionHost) int { return a.lastUse().Compare(b.lastUse()) }))
	}
}

// lastUse is when the session was last asked for something.
func (h *sessionHost) lastUse() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.idle
}

// detached goes the way that attach went, so that it comes after it.
func (s *sessions) detached(ctx actor.Context, m messages.Detached) {
	if s.st.get(m.Session) == nil {
		ctx.Respond(messages.Done{})
		return
	}
	ctx.Forward(s.st.d.sessionPID(m.Session))
}

// Retire ends what every session's programs left running inside the kernel:
// tasks, timers, watches. It returns at once; Deps.Wait waits.
func (st *SessionStore) Retire() {
	st.mu.Lock()
	defer st.mu.Unlock()
	for _, h := range st.hosts {
		h.retire()
	}
}

// retire ends what the session's programs left running inside the kernel.
func (h *sessionHost) retire() {
	h.mu.Lock()
	state := h.state
	h.mu.Unlock()
	if state != nil {
		h.d.work("close session state", state.Close, nil)
	}
}

// ended lets a session's actor go; its state stays in the journal. Who still
// waits for something of it is answered.
func (s *sessions) ended(ctx actor.Context, h *sessionHost) {
	s.st.mu.Lock()
	current := s.st.hosts[h.name] == h
	if current {
		delete(s.st.hosts, h.name)
	}
	s.st.mu.Unlock()
	h.mu.Lock()
	h.closed = true
	h.mu.Unlock()
	h.dismiss()
	h.retire()
	h.empty()
	if current {
		ctx.Stop(s.st.d.sessionPID(h.name))
	}
}

// open finds or makes the host of a session.
func (st *SessionStore) open(m messages.Attach) (*sessionHost, *messages.Error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	h := st.hosts[m.Session]
	if h != nil {
		return h, nil
	}
	if !st.d.Policy().For(st.d.PolicyPrincipal(m.Principal)).MayUseSession(string(m.Session)) {
		return nil, st.d.mayNotUse(m.Principal, m.Session) // nor may it create one, whose name it would then own
	}
	if len(st.hosts) >= st.limit {
		return nil, messages.Errorf(messages.CodeQuota, "%d sessions are in use; close some, or end their connections, tasks and terminals", st.limit).
			With(map[string]int64{"limit": int64(st.limit), "used": int64(len(st.hosts)), "retry_after_ms": evictTime.Milliseconds()})
	}
	h = newSessionHost(st.d, st.tasks, m)
	st.hosts[m.Session] = h
	return h, nil
}

func (st *SessionStore) get(name messages.SessionName) *sessionHost {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.hosts[name]
}

// all are the hosts in name order.
func (st *SessionStore) all() []*sessionHost {
	st.mu.Lock()
	defer st.mu.Unlock()
	hosts := make([]*sessionHost, 0, len(st.hosts))
	for _, h := range st.hosts {
		hosts = append(hosts, h)
	}
	slices.SortFunc(hosts, func(a, b *sessionHost) int { return cmp.Compare(a.name, b.name) })
	return hosts
}

// list shows the sessions that a principal is a member of.
func (st *SessionStore) list(p messages.Principal) messages.Sessions {
	out := messages.Sessions{Sessions: []messages.SessionSummary{}}
	for _, h := range st.all() {
		h.mu.Lock()
		shown := h.loaded && h.memberLocked(p)
		line := messages.SessionSummary{Session: h.name, Owner: h.owner, Conns: len(h.conns)}
		h.mu.Unlock()
		if shown {
			line.Tasks = st.tasks.liveOf(h.name)
			out.Sessions = append(out.Sessions, line)
		}
	}
	return out
}

// idle are the sessions that nobody has used for so long.
func (st *SessionStore) idle(unused time.Duration) []*sessionHost {
	limit := st.d.Now().Add(-unused)
	var gone []*sessionHost
	for _, h := range st.all() {
		h.mu.Lock()
		idle := len(h.conns) == 0 && h.current == nil && len(h.line) == 0 && len(h.parked) == 0 &&
			len(h.opening) == 0 && !h.closing && !h.loading && h.idle.Before(limit)
		h.mu.Unlock()
		if idle && st.tasks.liveOf(h.name) == 0 && !st.d.HasPTYs(h.name) {
			gone = append(gone, h)
		}
	}
	return gone
}
