package mcphttp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// shortBody is how long a body may be without counting against all bodies.
const shortBody = 64 << 10

// statelessRevision is the oldest revision without a handshake.
const statelessRevision = "2026-07-28"

const (
	keyRevision                      = "io.modelcontextprotocol/protocolVersion"
	codeHeaderMismatch messages.Code = -32020
)

func isStateless(revision string) bool {
	return len(revision) == len(statelessRevision) && revision >= statelessRevision
}

// body is a request's frame, read and counted.
type body struct {
	s       *Server
	frame   []byte
	whole   bool // all of it has arrived
	head    wire.Head
	counted int64
}

// release forgets the frame's size.
func (b *body) release() { b.s.bodies.Add(-b.counted) }

// count notes n more bytes, unless that are too many together.
func (b *body) count(n int64) bool {
	if b.s.bodies.Add(n) > b.s.o.Bodies {
		b.s.bodies.Add(-n)
		return false
	}
	b.counted += n
	return true
}

// read reads a request's frame, or answers why not. On success the caller is to
// release it.
func (s *Server) read(w http.ResponseWriter, r *http.Request) (*body, bool) {
	b := &body{s: s}
	control := http.NewResponseController(w)
	control.SetReadDeadline(time.Now().Add(s.o.ReadTime)) // a reader without deadlines is a test's
	status, refusal := b.take(w, r)
	if refusal == nil {
		control.SetReadDeadline(time.Time{}) // from here on reading only shows whether the peer is there
		status, refusal = b.parse()
	}
	if refusal != nil {
		b.release()
		if !b.whole {
			w.Header().Set("Connection", "close") // the rest of the body is not waited for
		}
		s.fail(w, status, refusal)
		return nil, false
	}
	return b, true
}

// take reads the bytes. What is long is counted as it arrives, so that who only
// announces much keeps nobody else out.
func (b *body) take(w http.ResponseWriter, r *http.Request) (int, *messages.Error) {
	if r.ContentLength > b.s.o.Body {
		return b.tooLarge()
	}
	in := http.MaxBytesReader(w, r.Body, b.s.o.Body)
	if n := r.ContentLength; n >= 0 && n <= shortBody {
		frame := make([]byte, n)
		_, err := io.ReadFull(in, frame)
		return b.ended(frame, err)
	}
	var buf bytes.Buffer
	for {
		before := buf.Cap()
		_, err := io.CopyN(&buf, in, shortBody)
		if grown := int64(buf.Cap() - before); grown > 0 && !b.count(grown) {
			return b.busy(w)
		}
		if errors.Is(err, io.EOF) {
			err = nil
		} else if err == nil {
			continue
		}
		return b.ended(buf.Bytes(), err)
	}
}

func (b *body) ended(frame []byte, err error) (int, *messages.Error) {
	var large *http.MaxBytesError
	switch {
	case err == nil:
		b.frame, b.whole = frame, true
		return 0, nil
	case errors.As(err, &large):
		return b.tooLarge()
	}
	return http.StatusBadRequest, messages.Errorf(messages.CodeInvalidRequest, "the body did not arrive: %v", err)
}

func (b *body) tooLarge() (int, *messages.Error) {
	return http.StatusRequestEntityTooLarge, messages.Errorf(messages.CodeInvalidRequest, "the body is larger than %d bytes", b.s.o.Body)
}

func (b *body) busy(w http.ResponseWriter) (int, *messages.Error) {
	w.Header().Set("Retry-After", "1")
	return http.StatusServiceUnavailable, messages.Errorf(messages.CodeQuota, "requests of %d bytes in all are being served already; try again", b.s.o.Bodies).
		With(map[string]int64{"limit": b.s.o.Bodies, "used": b.s.bodies.Load(), "retry_after_ms": 1000})
}

// parse looks at what kind of frame it is.
func (b *body) parse() (int, *messages.Error) {
	refuse := func(code messages.Code, what string) (int, *messages.Error) {
		return http.StatusBadRequest, messages.Errorf(code, "%s", what)
	}
	switch {
	case !utf8.Valid(b.frame):
		return refuse(messages.CodeParse, "the body is not valid UTF-8")
	case !json.Valid(b.frame):
		return refuse(messages.CodeParse, "the body is not valid JSON")
	}
	var object bool
	b.head, object = wire.Peek(b.frame)
	h := b.head
	switch {
	case !object && bytes.HasPrefix(bytes.TrimSpace(b.frame), []byte("[")):
		return refuse(messages.CodeInvalidRequest, "batches are not supported: send one message per request")
	case !object:
		return refuse(messages.CodeInvalidRequest, "the body is not an object")
	case h.Method == nil && h.Result == nil && h.Error == nil:
		return refuse(messages.CodeInvalidRequest, "the body is neither a request nor an answer: it has no method, result or error")
	case h.Method != nil && string(h.ID) == "null":
		return refuse(messages.CodeInvalidRequest, "id: expected a string or a number")
	}
	return 0, nil
}

// revision is the revision that the request itself names.
func (b *body) revision() string {
	return wire.Unquote(wire.Member(wire.Member(b.head.Params, "_meta"), keyRevision))
}

// withID is the frame with another id in the place of its own.
func (b *body) withID(id []byte) []byte {
	at := cap(b.frame) - cap(b.head.ID)
	frame := make([]byte, 0, len(b.frame)+len(id))
	frame = append(append(frame, b.frame[:at]...), id...)
	return append(frame, b.frame[at+len(b.head.ID):]...)
}
