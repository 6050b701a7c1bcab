package mcphttp

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// legacy are the revisions with a handshake.
var legacy = map[string]bool{"2024-11-05": true, "2025-03-26": true, "2025-06-18": true, "2025-11-25": true}

// post serves a message of the client.
func (s *Server) post(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName) {
	asJSON, asEvents := accepts(r.Header)
	switch {
	case !asJSON && !asEvents:
		s.fail(w, http.StatusNotAcceptable, messages.Errorf(messages.CodeInvalidRequest, "Accept: expected %s and %s", typeJSON, typeEvents))
		return
	case !isJSON(r.Header):
		s.fail(w, http.StatusUnsupportedMediaType, messages.Errorf(messages.CodeInvalidRequest, "Content-Type: expected %s", typeJSON))
		return
	}
	b, ok := s.read(w, r)
	if !ok {
		return
	}
	defer b.release()
	header := r.Header.Get(headerRevision)
	switch spoken := b.revision(); {
	case isStateless(spoken) || isStateless(header):
		s.single(w, r, caller, name, b, spoken)
	case header != "" && !legacy[header]:
		s.failFor(w, http.StatusBadRequest, idOf(b.head), messages.Errorf(messages.CodeInvalidRequest, "%s: revision %.40q is not spoken here", headerRevision, header))
	case b.head.MethodIs("initialize") && b.head.IsRequest() && r.Header.Get(headerSession) == "":
		s.initialize(w, r, caller, name, b, replies{asJSON, asEvents})
	default:
		x := s.named(w, r, caller, name)
		if x == nil {
			return
		}
		defer x.release()
		x.message(w, r, b, replies{asJSON, asEvents})
	}
}

// replies are the kinds of answer that a client takes.
type replies struct{ json, events bool }

// idOf is the id to answer a request with.
func idOf(head wire.Head) json.RawMessage {
	if head.ID == nil {
		return json.RawMessage("null")
	}
	return head.ID
}

// named finds the session that a request is for, or answers why it cannot.
func (s *Server) named(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName) *session {
	id := r.Header.Get(headerSession)
	if id == "" {
		s.fail(w, http.StatusBadRequest, messages.Errorf(messages.CodeInvalidRequest, "%s is missing: send initialize first, or name revision %s in the request", headerSession, statelessRevision))
		return nil
	}
	x := s.find(id, caller, name)
	if x == nil {
		s.fail(w, http.StatusNotFound, messages.Errorf(messages.CodeInvalidRequest, "there is no such HTTP session; send initialize to begin one").
			With(map[string]string{"reason": "unknown_session"}))
	}
	return x
}

// initialize begins a session, which lives on if the handshake succeeds.
func (s *Server) initialize(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName, b *body, takes replies) {
	x, refusal := s.newSession(r.Context(), caller, name)
	if refusal != nil {
		s.refused(w, idOf(b.head), refusal)
		return
	}
	defer x.release()
	w.Header().Set(headerSession, x.id)
	x.message(w, r, b, takes)
	x.mu.Lock()
	failed := x.revision == ""
	x.mu.Unlock()
	if failed {
		s.forget(x)
		x.end(errEnded)
	}
}

// refused answers a call that the kernel did not let in.
func (s *Server) refused(w http.ResponseWriter, id json.RawMessage, refusal *messages.Error) {
	status := http.StatusOK
	switch refusal.Code {
	case messages.CodeAuthFailed:
		status = http.StatusUnauthorized
		w.Header().Set("WWW-Authenticate", `Bearer realm="shoal", error="invalid_token"`)
	case messages.CodeLeashDenied:
		status = http.StatusForbidden
	case messages.CodeQuota, messages.CodeInterrupted:
		status = http.StatusServiceUnavailable
		w.Header().Set("Retry-After", "1")
	}
	s.failFor(w, status, id, refusal)
}

// message serves one message of a session.
func (x *session) message(w http.ResponseWriter, r *http.Request, b *body, takes replies) {
	switch {
	case b.head.IsRequest():
		x.call(w, r, b, takes)
	case b.head.MethodIs("notifications/cancelled"):
		x.accepted(w, x.cancelled(r.Context(), wire.Member(b.head.Params, "requestId")))
	default:
		x.accepted(w, x.submit(r.Context(), b.frame))
	}
}

// accepted answers what gets no answer.
func (x *session) accepted(w http.ResponseWriter, err error) {
	if err != nil {
		x.s.gone(w, json.RawMessage("null"), err)
		return
	}
	x.s.arm(w)
	w.WriteHeader(http.StatusAccepted)
}

// gone answers for a session that ended meanwhile.
func (s *Server) gone(w http.ResponseWriter, id json.RawMessage, err error) {
	if s.stopping.Load() {
		s.failFor(w, http.StatusServiceUnavailable, id, stopped())
		return
	}
	s.failFor(w, http.StatusNotFound, id, messages.Errorf(messages.CodeInterrupted, "the HTTP session has ended: %v; send initialize to begin another", err).
		With(map[string]string{"reason": "session_ended"}))
}

// call makes a request and writes its answer: as plain JSON when it comes soon,
// as events otherwise.
func (x *session) call(w http.ResponseWriter, r *http.Request, b *body, takes replies) {
	st, t, err := x.request(r.Context(), b, takes.events)
	if err != nil {
		if r.Context().Err() == nil {
			x.s.gone(w, b.head.ID, err)
		}
		return
	}
	defer x.leave(st, t)
	x.reply(w, r, st, t, takes)
}

// reply writes the answer to a request.
func (x *session) reply(w http.ResponseWriter, r *http.Request, st *stream, t *taker, takes replies) {
	switch x.first(r.Context(), st, t, takes) {
	case answerPlain:
		x.mu.Lock()
		frame := st.kept[0].frame
		x.dropLocked(st)
		failed := st.initializes && x.revision == ""
		x.mu.Unlock()
		status := http.StatusOK
		if x.single {
			status = statusOf(frame)
		}
		if failed {
			w.Header().Del(headerSession)
		}
		x.s.plain(w, status, frame)
	case answerFlows:
		if x.flow(w, r, st, t) != nil {
			x.lost(st)
		}
	case answerNone:
		if err := x.why(); x.isOver() {
			x.s.gone(w, st.origin, err)
		} else {
			x.accepted(w, nil) // cancelled
		}
	case answerLost:
		if !x.single { // its end says the same
			x.submit(context.WithoutCancel(r.Context()), cancelFrame(st.id)) // fails when there is nobody left to tell
			x.close(st)
		}
	}
}

// How a request is answered.
const (
	answerPlain = iota // with the one frame that is there
	answerFlows        // with a stream of events
	answerNone         // not at all: it was cancelled, or the session has ended
	answerLost         // nobody waits any more
)

// first waits until it is clear how a request is answered.
func (x *session) first(ctx context.Context, st *stream, t *taker, takes replies) int {
	patience := time.NewTimer(x.s.o.StreamAfter)
	defer patience.Stop()
	late := patience.C
	for {
		select {
		case <-t.wake:
		case <-late:
			late = nil
			if takes.events {
				x.mu.Lock()
				st.flows = st.flows || !st.done
				x.mu.Unlock()
			}
		case <-ctx.Done():
			return answerLost
		}
		x.mu.Lock()
		over, flows, done, answer := x.over, st.flows, st.done, len(st.kept) > 0
		if done && answer && !flows && !takes.json {
			st.flows, flows = true, true
			x.answered = append(x.answered, st)
		}
		x.mu.Unlock()
		switch {
		case flows:
			return answerFlows
		case done && answer:
			return answerPlain
		case done || over:
			return answerNone
		}
	}
}

func (x *session) isOver() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.over
}

// lost says that the client of an event stream has gone. It may come back for
// the answer, which an execution gives at once by becoming a task.
func (x *session) lost(st *stream) {
	x.mu.Lock()
	open, lose := x.open[st.id] == st && len(st.takers) <= 1, x.lose
	x.mu.Unlock()
	if open && lose != nil {
		lose(strconv.AppendUint(nil, st.id, 10))
	}
}

// get serves what belongs to no request, or the rest of a stream that a client
// has lost.
func (s *Server) get(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName) {
	if _, asEvents := accepts(r.Header); !asEvents {
		s.fail(w, http.StatusNotAcceptable, messages.Errorf(messages.CodeInvalidRequest, "Accept: expected %s", typeEvents))
		return
	}
	if header := r.Header.Get(headerRevision); header != "" && !legacy[header] {
		s.fail(w, http.StatusBadRequest, messages.Errorf(messages.CodeInvalidRequest, "%s: revision %.40q is not spoken here", headerRevision, header))
		return
	}
	x := s.named(w, r, caller, name)
	if x == nil {
		return
	}
	defer x.release()
	st, from := x.notices, (*uint64)(nil)
	if last := r.Header.Get(headerLast); last != "" {
		if st, from = x.resume(last); st == nil {
			s.fail(w, http.StatusBadRequest, messages.Errorf(messages.CodeBadPath, "%s: nothing is kept of the stream of event %.60q; the journal says what became of a call", headerLast, last).
				With(map[string]string{"reason": "stream_gone"}))
			return
		}
	}
	t := x.take(st, from)
	defer x.leave(st, t)
	if x.flow(w, r, st, t) != nil && st.id != 0 {
		x.lost(st)
	}
}

// resume finds the stream of an event.
func (x *session) resume(last string) (*stream, *uint64) {
	id, n, ok := parseEventID(last)
	if !ok {
		return nil, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if id == 0 {
		return x.notices, &n
	}
	if st := x.open[id]; st != nil && st.flows {
		return st, &n
	}
	for _, st := range x.answered {
		if st.id == id {
			return st, &n
		}
	}
	return nil, nil
}

// delete ends a session.
func (s *Server) delete(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName) {
	x := s.named(w, r, caller, name)
	if x == nil {
		return
	}
	defer x.release()
	s.forget(x)
	x.end(errEnded)
	s.arm(w)
	w.WriteHeader(http.StatusNoContent)
}
