package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

const (
	// keptBytes is how much of one session's events is kept for clients that
	// come back, and keptShort how much while all sessions keep keptTotal.
	keptBytes = 1 << 20
	keptShort = 64 << 10
	keptTotal = 256 << 20
	// keptStreams is how many answered streams of one session are kept.
	keptStreams = 32
)

// stream is what a client is sent on one response, numbered so that it can be
// taken up again. Its session's mutex guards it.
type stream struct {
	id          uint64 // 0: what belongs to no request
	origin      []byte // raw id of the request
	initializes bool
	events      bool // the client takes an event stream
	flows       bool // and gets one
	kept        []event
	last        uint64          // number of the newest event
	sent        uint64          // number of the newest event that was written
	gaps        map[string]*gap // by URI
	done        bool            // nothing follows
	takers      []*taker
}

// event is a frame with its number.
type event struct {
	n     uint64
	frame []byte
}

// gap counts notices about one resource that are not kept any more.
type gap struct {
	n, seq  uint64 // of the newest
	dropped uint64
	meta    json.RawMessage
}

// taker is a response on which a stream is written. Of several the newest is
// served; the others wait for its end.
type taker struct {
	wake chan struct{} // has a token when there may be something to do
}

func newTaker() *taker { return &taker{wake: make(chan struct{}, 1)} }

func (t *taker) nudge() {
	select {
	case t.wake <- struct{}{}:
	default:
	}
}

// nudge wakes who is served.
func (st *stream) nudge() {
	if n := len(st.takers); n > 0 {
		st.takers[n-1].nudge()
	}
}

// addLocked appends a frame to a stream, and forgets what is too old.
func (x *session) addLocked(st *stream, frame []byte) {
	st.last++
	st.kept = append(st.kept, event{st.last, frame})
	x.weighLocked(len(frame))
	limit := keptBytes
	if x.s.kept.Load() > keptTotal {
		limit = keptShort
	}
	x.forgetLocked(limit)
	st.nudge()
}

func (x *session) weighLocked(n int) {
	if x.over { // nothing of it counts any more
		return
	}
	x.kept += n
	x.s.kept.Add(int64(n))
}

// forgetLocked brings a session's events under a limit: whole answered streams
// first, then notices, oldest first. What somebody waits for stays, so that no
// answer is lost on its way out.
func (x *session) forgetLocked(limit int) {
	x.answered = slices.DeleteFunc(x.answered, func(st *stream) bool {
		if len(x.answered) <= keptStreams && x.kept <= limit || len(st.takers) > 0 {
			return false
		}
		x.dropLocked(st)
		return true
	})
	st := x.notices
	for x.kept > limit && len(st.kept) > 1 {
		old := st.kept[0]
		st.kept = st.kept[1:]
		x.weighLocked(-len(old.frame))
		st.missed(old)
	}
}

// dropLocked forgets a stream.
func (x *session) dropLocked(st *stream) {
	for _, e := range st.kept {
		x.weighLocked(-len(e.frame))
	}
	st.kept = nil
}

// maxGaps is for how many resources it is noted that notices were dropped.
const maxGaps = 1024

// missed notes a notice that is not kept any more.
func (st *stream) missed(e event) {
	head, _ := wire.Peek(e.frame)
	uri := wire.Unquote(wire.Member(head.Params, "uri"))
	if !head.MethodIs(methodUpdated) || uri == "" {
		return // a list that has changed, a log message: nothing to reconcile
	}
	if st.gaps == nil {
		st.gaps = map[string]*gap{}
	}
	g := st.gaps[uri]
	if g == nil && len(st.gaps) < maxGaps {
		g = &gap{}
		st.gaps[uri] = g
	}
	if g == nil {
		return
	}
	g.dropped++
	g.n, g.meta = e.n, bytes.Clone(wire.Member(head.Params, "_meta"))
	if seq, err := strconv.ParseUint(string(wire.Member(head.Params, "seq")), 10, 64); err == nil {
		g.seq = seq
	}
}

const methodUpdated = "notifications/resources/updated"

// filled are notices that stand for those that were dropped and that the client
// has not got, in the words of the bus.
func (st *stream) filled() []event {
	var out []event
	for uri, g := range st.gaps {
		if g.n <= st.sent {
			continue
		}
		delete(st.gaps, uri)
		params := map[string]any{"uri": uri, "seq": g.seq, "payload": map[string]uint64{"dropped": g.dropped, "latest_seq": g.seq}}
		meta := map[string]any{}
		json.Unmarshal(g.meta, &meta) // our own, or none
		meta["shoal/event"] = maps.Clone(params)
		params["_meta"] = meta
		out = append(out, event{frame: wire.AppendRequest(nil, nil, methodUpdated, messages.JSON(params))})
	}
	return out
}

// after is what a taker is to write next, once it is its turn.
func (x *session) after(st *stream, t *taker) (events []event, turn, done bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if n := len(st.takers); n == 0 || st.takers[n-1] != t {
		return nil, false, x.over
	}
	events = st.filled()
	for _, e := range st.kept {
		if e.n > st.sent {
			events = append(events, e)
		}
	}
	return events, true, st.done || x.over
}

func (x *session) wrote(st *stream, n uint64) {
	x.mu.Lock()
	defer x.mu.Unlock()
	st.sent = max(st.sent, n)
	for x.single && len(st.kept) > 0 && st.kept[0].n <= n { // nobody comes back for it
		x.weighLocked(-len(st.kept[0].frame))
		st.kept = st.kept[1:]
	}
}

// maxTakers is how many responses may wait for one stream.
const maxTakers = 4

// take makes a response the one on which a stream is written. From is the last
// event that the client has, if it says so.
func (x *session) take(st *stream, from *uint64) *taker {
	t := newTaker()
	x.mu.Lock()
	defer x.mu.Unlock()
	if from != nil {
		st.sent = min(*from, st.last)
	}
	st.takers = append(st.takers, t)
	if len(st.takers) > maxTakers {
		st.takers[0].nudge() // finds that it is not among them any more
		st.takers = st.takers[1:]
	}
	t.nudge()
	return t
}

// leave gives a stream up; the taker before it is served from then on.
func (x *session) leave(st *stream, t *taker) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for i := range st.takers {
		if st.takers[i] == t {
			st.takers = append(st.takers[:i:i], st.takers[i+1:]...)
			break
		}
	}
	st.nudge()
}

func (x *session) waits(st *stream, t *taker) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, other := range st.takers {
		if other == t {
			return true
		}
	}
	return false
}

// errPeer says that the peer does not take what it is sent.
var errPeer = errors.New("peer is gone")

// flow writes a stream until its end, the peer's, or somebody else's turn that
// lasts. Silence is broken by comments, which also show that a peer is gone.
func (x *session) flow(w http.ResponseWriter, r *http.Request, st *stream, t *taker) error {
	out := &eventWriter{s: x.s, w: w, numbered: !x.single}
	if err := out.begin(st.id, x.primes()); err != nil {
		return err
	}
	alive := time.NewTimer(x.s.o.KeepAlive)
	defer alive.Stop()
	for {
		events, turn, done := x.after(st, t)
		for _, e := range events {
			if err := out.event(st.id, e); err != nil {
				return err
			}
			x.wrote(st, e.n)
		}
		if err := out.flush(); err != nil {
			return err
		}
		if turn && done || !turn && !x.waits(st, t) || !turn && done {
			return nil
		}
		alive.Reset(x.s.o.KeepAlive)
		select {
		case <-t.wake:
		case <-alive.C:
			if err := out.comment(); err != nil {
				return err
			}
		case <-r.Context().Done():
			return errPeer
		}
	}
}

// eventWriter writes server-sent events.
type eventWriter struct {
	s        *Server
	w        http.ResponseWriter
	buf      bytes.Buffer
	numbered bool
}

// begin sends the head of the response. Where the client knows what to make of
// it, an event without data follows, so that it can come back even before there
// was anything to say.
func (o *eventWriter) begin(stream uint64, prime bool) error {
	h := o.w.Header()
	h.Set("Content-Type", typeEvents)
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	o.w.WriteHeader(http.StatusOK)
	if prime {
		o.buf.WriteString("id: " + eventID(stream, 0) + "\nretry: 1000\ndata:\n\n")
	}
	return o.write(true)
}

func (o *eventWriter) event(stream uint64, e event) error {
	if e.n > 0 && o.numbered {
		o.buf.WriteString("id: " + eventID(stream, e.n) + "\n")
	}
	o.buf.WriteString("data: ")
	o.buf.Write(bytes.TrimSuffix(e.frame, []byte("\n")))
	o.buf.WriteString("\n\n")
	if o.buf.Len() < 32<<10 {
		return nil
	}
	return o.write(false)
}

func (o *eventWriter) comment() error {
	o.buf.WriteString(":\n\n")
	return o.write(true)
}

func (o *eventWriter) flush() error {
	if o.buf.Len() == 0 {
		return nil
	}
	return o.write(true)
}

func (o *eventWriter) write(flush bool) error {
	o.s.arm(o.w)
	_, err := o.w.Write(o.buf.Bytes())
	o.buf.Reset()
	if err == nil && flush {
		err = http.NewResponseController(o.w).Flush()
	}
	return err
}

// eventID names an event: the number of its stream, and its own there.
func eventID(stream, n uint64) string {
	return strconv.FormatUint(stream, 10) + "-" + strconv.FormatUint(n, 10)
}

// parseEventID reads what eventID wrote.
func parseEventID(id string) (stream, n uint64, ok bool) {
	left, right, found := strings.Cut(id, "-")
	stream, err1 := strconv.ParseUint(left, 10, 64)
	n, err2 := strconv.ParseUint(right, 10, 64)
	return stream, n, found && err1 == nil && err2 == nil
}

// plain answers with one frame of JSON.
func (s *Server) plain(w http.ResponseWriter, status int, parts ...[]byte) {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	h := w.Header()
	h.Set("Content-Type", typeJSON)
	h.Set("Content-Length", strconv.Itoa(size))
	s.arm(w)
	w.WriteHeader(status)
	for _, p := range parts {
		if _, err := w.Write(p); err != nil {
			return // the peer is gone, and so is what it asked for
		}
	}
}
