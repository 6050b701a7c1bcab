package mcphttp

import (
	"bytes"
	"context"
	"encoding/base64"
	"net/http"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// seatKey names a seat that the requests of one token share.
type seatKey struct {
	caller string
	name   messages.SessionName
}

// sharedSeat is a seat that outlasts the requests which use it, for a while: to
// attach for each would cost more than most of them. The server's mutex guards
// its counts.
type sharedSeat struct {
	Seat
	s     *Server
	key   seatKey
	users int
	used  time.Time
}

// seatLinger is how long a shared seat is kept for the next request.
const seatLinger = time.Minute

// share finds the seat of a caller, or joins.
func (s *Server) share(ctx context.Context, caller Caller, name messages.SessionName) (*sharedSeat, *messages.Error) {
	key := seatKey{caller.ID, name}
	if seat := s.reuse(key); seat != nil {
		return seat, nil
	}
	joined, refusal := caller.Join(ctx, name)
	if refusal != nil {
		return nil, refusal
	}
	if seat := s.reuse(key); seat != nil { // another request was faster
		joined.Leave()
		return seat, nil
	}
	seat := &sharedSeat{Seat: joined, s: s, key: key, users: 1}
	context.AfterFunc(joined.Context(), func() { s.dropSeats(seatLinger) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.seats[key]; old != nil && old.users == 0 {
		old.Seat.Leave()
	}
	s.seats[key] = seat
	return seat, nil
}

func (s *Server) reuse(key seatKey) *sharedSeat {
	s.mu.Lock()
	defer s.mu.Unlock()
	seat := s.seats[key]
	if seat == nil || seat.Context().Err() != nil {
		return nil
	}
	seat.users++
	return seat
}

// Leave ends one use.
func (seat *sharedSeat) Leave() {
	s := seat.s
	s.mu.Lock()
	seat.users--
	seat.used = time.Now()
	last := seat.users == 0 && (s.seats[seat.key] != seat || s.closed() || seat.Context().Err() != nil)
	if last && s.seats[seat.key] == seat {
		delete(s.seats, seat.key)
	}
	s.mu.Unlock()
	if last {
		seat.Seat.Leave()
	}
}

func (s *Server) closed() bool {
	select {
	case <-s.quit:
		return true
	default:
		return false
	}
}

// dropSeats gives up the seats that nobody has used for so long, or that were
// taken away.
func (s *Server) dropSeats(unused time.Duration) {
	limit := time.Now().Add(-unused)
	var gone []Seat
	s.mu.Lock()
	for key, seat := range s.seats {
		if seat.users == 0 && (!seat.used.After(limit) || seat.Context().Err() != nil) {
			delete(s.seats, key)
			gone = append(gone, seat.Seat)
		}
	}
	s.mu.Unlock()
	for _, seat := range gone {
		seat.Leave()
	}
}

// single serves a message of the era without handshake: a connection of its own
// that ends with its answer, or with its client.
func (s *Server) single(w http.ResponseWriter, r *http.Request, caller Caller, name messages.SessionName, b *body, spoken string) {
	if status, refusal := checkHeaders(r.Header, b, spoken); refusal != nil {
		s.failFor(w, status, idOf(b.head), refusal)
		return
	}
	if !b.head.IsRequest() { // a request is cancelled by leaving it
		s.arm(w)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	seat, refusal := s.share(r.Context(), caller, name)
	if refusal != nil {
		s.refused(w, b.head.ID, refusal)
		return
	}
	asJSON, asEvents := accepts(r.Header)
	t := newTaker()
	st := &stream{id: 1, origin: bytes.Clone(b.head.ID), events: asEvents, takers: []*taker{t}}
	x := &session{
		s: s, name: name, caller: caller.ID, seat: seat, in: make(chan []byte, 1), ended: make(chan struct{}),
		deadline: make(chan struct{}), open: map[uint64]*stream{st.id: st}, notices: st, single: true,
	}
	x.in <- b.frame
	if !s.start(x) {
		seat.Leave()
		s.failFor(w, http.StatusServiceUnavailable, b.head.ID, stopped())
		return
	}
	defer x.end(errEnded)
	x.reply(w, r, st, t, replies{asJSON, asEvents})
}

// checkHeaders holds what the headers say against the message, as the era
// without handshake demands.
func checkHeaders(h http.Header, b *body, spoken string) (int, *messages.Error) {
	mismatch := func(format string, args ...any) (int, *messages.Error) {
		return http.StatusBadRequest, messages.Errorf(codeHeaderMismatch, format, args...)
	}
	method, want := b.head.MethodName(), ""
	switch method {
	case "tools/call", "prompts/get":
		want = wire.Unquote(wire.Member(b.head.Params, "name"))
	case "resources/read":
		want = wire.Unquote(wire.Member(b.head.Params, "uri"))
	}
	name, ok := decodeHeader(h.Get("Mcp-Name"))
	switch header := h.Get(headerRevision); {
	case h.Get(headerLast) != "":
		return mismatch("%s: streams of revision %s are not taken up again; send the request anew", headerLast, statelessRevision)
	case header == "":
		return mismatch("%s is missing: it must name the revision that the request's _meta names", headerRevision)
	case spoken == "" && b.head.IsRequest():
		return http.StatusBadRequest, messages.Errorf(messages.CodeInvalidParams, "_meta.%s is missing: the header names revision %.40s", keyRevision, header)
	case spoken != "" && header != spoken:
		return mismatch("%s names revision %.40q, the request's _meta %.40q", headerRevision, header, spoken)
	case h.Get("Mcp-Method") != method && b.head.Method != nil:
		return mismatch("Mcp-Method is %.80q, the request's method %.80q", h.Get("Mcp-Method"), method)
	case !ok:
		return mismatch("Mcp-Name is not valid base64")
	case want != "" && name != want:
		return mismatch("Mcp-Name is %.200q, the request names %.200q", name, want)
	}
	return 0, nil
}

// decodeHeader reads a header value, which is base64 where it had to be.
func decodeHeader(value string) (string, bool) {
	coded, ok := strings.CutPrefix(value, "=?base64?")
	if !ok {
		return value, true
	}
	coded, ok = strings.CutSuffix(coded, "?=")
	if !ok {
		return value, true
	}
	plain, err := base64.StdEncoding.DecodeString(coded)
	return string(plain), err == nil
}

// statusOf is the HTTP status of an answer in the era without handshake.
func statusOf(frame []byte) int {
	head, _ := wire.PeekReply(frame)
	if head.Error == nil {
		return http.StatusOK
	}
	full, _ := wire.Peek(frame)
	switch string(wire.Member(full.Error, "code")) {
	case "-32601":
		return http.StatusNotFound
	case "-32700", "-32600", "-32602", "-32020", "-32021", "-32022":
		return http.StatusBadRequest
	}
	return http.StatusOK
}
