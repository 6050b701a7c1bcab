package mcphttp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// session is an HTTP session: one connection of package mcp, for as long as it
// lasts. Requests get ids of ours on their way in, as two may have the same.
type session struct {
	s      *Server
	id     string
	name   messages.SessionName
	caller string
	seat   Seat
	in     chan []byte
	ended  chan struct{} // closed when no more frames are taken
	single bool          // one request without handshake, whose stream is notices

	deadline     chan struct{} // closed when Next is to return
	deadlineOnce sync.Once

	mu       sync.Mutex
	lose     func(id json.RawMessage)
	revision string // that the handshake has settled; "": it has not
	over     bool   // Serve has returned
	cause    error  // why it was ended, if from here
	hungUp   bool
	lastID   uint64
	open     map[uint64]*stream // requests without answer
	answered []*stream          // event streams that are kept, oldest first
	notices  *stream
	kept     int // bytes of kept events
	users    int // HTTP requests that are being served
	used     time.Time
}

// errEnded says that a session takes nothing any more.
var errEnded = errors.New("the session has ended")

// newSession makes a session and joins it to the kernel's.
func (s *Server) newSession(ctx context.Context, caller Caller, name messages.SessionName) (*session, *messages.Error) {
	x := &session{
		s: s, id: rand.Text(), name: name, caller: caller.ID, in: make(chan []byte), ended: make(chan struct{}),
		deadline: make(chan struct{}), open: map[uint64]*stream{}, notices: &stream{events: true, flows: true},
		users: 1, used: time.Now(),
	}
	if refusal := s.admit(x); refusal != nil {
		return nil, refusal
	}
	seat, refusal := caller.Join(ctx, name)
	if refusal != nil {
		s.forget(x)
		return nil, refusal
	}
	x.seat = seat
	if !s.start(x) {
		s.forget(x)
		seat.Leave()
		return nil, stopped()
	}
	return x, nil
}

// admit registers a session. One too many takes the place of the one that has
// been unused for longest.
func (s *Server) admit(x *session) *messages.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sessions) >= s.o.Sessions {
		var oldest *session
		var since time.Time
		for _, y := range s.sessions {
			if used, idle := y.idle(); idle && (oldest == nil || used.Before(since)) {
				oldest, since = y, used
			}
		}
		if oldest == nil {
			return messages.Errorf(messages.CodeQuota, "%d HTTP sessions are in use; end some with DELETE", s.o.Sessions).
				With(map[string]int{"limit": s.o.Sessions, "used": len(s.sessions), "retry_after_ms": 1000})
		}
		oldest.end(errIdle)
		delete(s.sessions, oldest.id)
	}
	s.sessions[x.id] = x
	return nil
}

// start serves a session unless the server is closed.
func (s *Server) start(x *session) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.quit:
		return false
	default:
	}
	s.running.Go(x.serve)
	return true
}

func (s *Server) forget(x *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sessions[x.id] == x {
		delete(s.sessions, x.id)
	}
}

// find is the session that a request names, in use until released. Somebody
// else's is not there.
func (s *Server) find(id string, caller Caller, name messages.SessionName) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := s.sessions[id]
	if x == nil || x.caller != caller.ID || x.name != name {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.users++
	return x
}

// release notes the end of a request.
func (x *session) release() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.users--
	x.used = time.Now()
}

// idle is when the session was last used, and whether it is unused now.
func (x *session) idle() (time.Time, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.used, x.users == 0
}

var errIdle = errors.New("the session was not used")

// expire ends sessions that nobody has used for long.
func (s *Server) expire() {
	limit := time.Now().Add(-s.o.IdleTime)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, x := range s.sessions {
		if used, idle := x.idle(); idle && used.Before(limit) {
			x.end(errIdle)
		}
	}
}

// serve is the session's life.
func (x *session) serve() {
	err := x.s.o.MCP.Serve(x.seat.Context(), x, x.seat.Backend())
	x.s.forget(x)
	x.seat.Leave()
	x.mu.Lock()
	x.s.kept.Add(int64(-x.kept))
	x.over, x.kept = true, 0
	if x.cause == nil {
		x.cause = err
	}
	for _, st := range x.open {
		st.wakeAll()
	}
	x.notices.wakeAll()
	for _, st := range x.answered {
		st.wakeAll()
	}
	x.mu.Unlock()
	x.end(nil)
	if err != nil {
		x.s.o.Log.Debug("HTTP session ended", "session", x.name, "err", err)
	}
}

func (st *stream) wakeAll() {
	for _, t := range st.takers {
		t.nudge()
	}
}

// end makes the session take nothing more and abandon what is open.
func (x *session) end(cause error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cause == nil {
		x.cause = cause
	}
	select {
	case <-x.ended:
	default:
		x.hungUp = true
		close(x.ended)
	}
}

// why says why the session has ended.
func (x *session) why() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.cause == nil {
		return errEnded
	}
	return x.cause
}

// primes reports whether the client knows what to make of an event without
// data.
func (x *session) primes() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.revision >= "2025-11-25"
}

// submit hands a frame over, unless the session ends or ctx does.
func (x *session) submit(ctx context.Context, frame []byte) error {
	select {
	case x.in <- frame:
		return nil
	case <-x.ended:
		return errEnded
	case <-x.seat.Context().Done():
		return context.Cause(x.seat.Context())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request opens the stream of a request and hands it over under an id of ours.
func (x *session) request(ctx context.Context, b *body, asEvents bool) (*stream, *taker, error) {
	t := newTaker()
	x.mu.Lock()
	x.lastID++
	st := &stream{
		id: x.lastID, origin: bytes.Clone(b.head.ID), initializes: b.head.MethodIs("initialize"),
		events: asEvents, takers: []*taker{t},
	}
	x.open[st.id] = st
	x.mu.Unlock()
	if err := x.submit(ctx, b.withID(strconv.AppendUint(nil, st.id, 10))); err != nil {
		x.close(st)
		return nil, nil, err
	}
	return st, t, nil
}

// close forgets a request.
func (x *session) close(st *stream) {
	x.mu.Lock()
	defer x.mu.Unlock()
	delete(x.open, st.id)
	x.dropLocked(st)
	st.done = true
	st.wakeAll()
}

// cancelled hands a cancellation over, for all requests that had that id, and
// ends their streams: they will not be answered.
func (x *session) cancelled(ctx context.Context, id []byte) error {
	x.mu.Lock()
	var gone []*stream
	for _, st := range x.open {
		if sameID(st.origin, id) {
			gone = append(gone, st)
		}
	}
	x.mu.Unlock()
	for _, st := range gone {
		if err := x.submit(ctx, cancelFrame(st.id)); err != nil {
			return err
		}
		x.close(st)
	}
	return nil
}

func sameID(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	return len(a) > 0 && len(b) > 0 && a[0] == '"' && b[0] == '"' && wire.Unquote(a) == wire.Unquote(b)
}

func cancelFrame(id uint64) []byte {
	return wire.AppendRequest(nil, nil, "notifications/cancelled", json.RawMessage(`{"requestId":`+strconv.FormatUint(id, 10)+`}`))
}

// Next is the next frame.
func (x *session) Next() ([]byte, error) {
	select {
	case frame := <-x.in:
		return frame, nil
	case <-x.ended:
		return nil, io.EOF
	case <-x.deadline:
		return nil, os.ErrDeadlineExceeded
	}
}

// Skip is never called: frames come whole.
func (x *session) Skip() error { return nil }

// SetReadDeadline with a time that has passed makes Next return.
func (x *session) SetReadDeadline(t time.Time) error {
	if !t.IsZero() && !t.After(time.Now()) {
		x.deadlineOnce.Do(func() { close(x.deadline) })
	}
	return nil
}

// HungUp reports whether the client has ended the session.
func (x *session) HungUp() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.hungUp
}

// OnLoss takes the function by which a request's loss is told.
func (x *session) OnLoss(lose func(id json.RawMessage)) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.lose = lose
}

// Send takes an answer to its request, and everything else to the stream that
// belongs to none.
func (x *session) Send(frame []byte) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	id, rest, isAnswer := answerID(frame)
	switch {
	case !isAnswer && x.single: // there is nobody to tell
	case !isAnswer:
		x.addLocked(x.notices, frame)
	case x.single:
		x.notices.done = true
		x.addLocked(x.notices, frame)
	default:
		n, err := strconv.ParseUint(string(id), 10, 64)
		if st := x.open[n]; st != nil && err == nil { // else cancelled, or its client is gone
			x.answerLocked(st, rest)
		}
	}
	return nil
}

// answerLocked ends a request's stream with its answer, under its own id.
func (x *session) answerLocked(st *stream, rest []byte) {
	delete(x.open, st.id)
	st.done = true
	frame := make([]byte, 0, len(answerHead)+len(st.origin)+len(rest))
	frame = append(append(append(frame, answerHead...), st.origin...), rest...)
	if st.initializes {
		head, _ := wire.Peek(frame)
		x.revision = wire.Unquote(wire.Member(head.Result, "protocolVersion"))
	}
	if st.flows {
		x.answered = append(x.answered, st)
	}
	x.addLocked(st, frame)
}

// SendFor takes what belongs to a request to its stream, which becomes one of
// events; where its client takes none, to the stream of no request.
func (x *session) SendFor(request json.RawMessage, frame []byte) error {
	id, err := strconv.ParseUint(string(request), 10, 64)
	x.mu.Lock()
	defer x.mu.Unlock()
	st := x.open[id]
	if x.single || err != nil || st == nil || !st.events {
		st = x.notices
	}
	st.flows = true
	x.addLocked(st, frame)
	return nil
}

const answerHead = `{"jsonrpc":"2.0","id":`

// answerID is the raw id of an answer, with which the frames of package mcp
// begin, and what follows it. A request of the server's is no answer.
func answerID(frame []byte) (id, rest []byte, ok bool) {
	if !bytes.HasPrefix(frame, []byte(answerHead)) {
		return nil, nil, false
	}
	head, _ := wire.PeekReply(frame)
	if head.Method != nil || head.ID == nil {
		return nil, nil, false
	}
	return head.ID, frame[len(answerHead)+len(head.ID):], true
}
