package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
)

const (
	// MaxInFlight is how many calls of one connection may be open at once.
	MaxInFlight = 1024
	// DrainGrace is how long the open calls of a connection that ended may
	// still be answered.
	DrainGrace = 2 * time.Second
)

// Call is a request that has been handed over and whose answer is awaited.
type Call interface {
	// Wait gives the answer. It returns early when ctx ends; its result is
	// then not used.
	Wait(ctx context.Context) (json.RawMessage, *messages.Error)
	// Abandon says that the caller is gone: it counts as wait budget spent. It
	// comes at most once, while Wait may be running, and does not block.
	Abandon()
}

// Handler is the kernel as one connection sees it.
type Handler interface {
	// Begin validates a call and hands it over before it returns, so that calls
	// arrive in the order in which they were written; it must not wait for the
	// answer. A nil Call without error is answered with null. Params are a copy
	// that the handler may keep; nil when absent.
	Begin(method string, params json.RawMessage) (Call, *messages.Error)
	// Close says that the connection has ended; no call is open any more.
	Close()
}

// ServeOptions are the knobs of Serve; zero values mean the defaults above.
type ServeOptions struct {
	InFlight int
	Grace    time.Duration
	Log      *slog.Logger
}

// Serve answers the calls on c until the peer ends or ctx does. First is a frame
// that the caller has read already, or nil. Calls run concurrently; answers
// leave as they come. When the peer only ended its writing, open calls are still
// answered for the grace; when it is gone, they are abandoned at once. Serve
// returns when no call is open and the handler is closed: nil at the peer's
// orderly end, else why it ended. It does not close c.
func Serve(ctx context.Context, c *Conn, first []byte, h Handler, o ServeOptions) error {
	if o.InFlight <= 0 {
		o.InFlight = MaxInFlight
	}
	if o.Grace <= 0 {
		o.Grace = DrainGrace
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	// Calls outlive ctx by the grace, so that a stopping kernel can answer.
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	s := &server{conn: c, handler: h, options: o, open: map[*openCall]struct{}{}}
	unwatch := context.AfterFunc(ctx, c.interrupt)
	err := s.read(calls, first)
	unwatch()
	s.drain(cancel)
	h.Close()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

type server struct {
	conn    *Conn
	handler Handler
	options ServeOptions

	mu   sync.Mutex
	open map[*openCall]struct{}
	wait sync.WaitGroup
}

type openCall struct {
	id   json.RawMessage // nil: nobody waits for the answer
	call Call
}

// read takes frames until the connection ends.
func (s *server) read(ctx context.Context, first []byte) error {
	if first != nil {
		s.frame(ctx, first)
	}
	for {
		line, err := s.conn.Next()
		switch {
		case err == nil:
			s.frame(ctx, line)
		case errors.Is(err, io.ErrUnexpectedEOF):
			s.frame(ctx, line) // a last line needs no newline
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case errors.Is(err, ErrTooLong):
			s.refuse(json.RawMessage("null"), messages.Errorf(messages.CodeInvalidRequest, "%v", err))
			return err
		default:
			return err
		}
	}
}

func (s *server) frame(ctx context.Context, line []byte) {
	req, refusal := ParseRequest(line)
	id := bytes.Clone(req.ID)
	if refusal != nil {
		if id == nil {
			id = json.RawMessage("null")
		}
		s.refuse(id, refusal)
		return
	}
	s.mu.Lock()
	used := len(s.open)
	s.mu.Unlock()
	if used >= s.options.InFlight {
		s.refuse(id, messages.Errorf(messages.CodeQuota, "too many open calls on one connection").
			With(map[string]int{"limit": s.options.InFlight, "used": used}))
		return
	}
	call, refusal := s.begin(req.Method, bytes.Clone(req.Params))
	if refusal != nil || call == nil {
		s.answer(id, nil, refusal)
		return
	}
	open := &openCall{id: id, call: call}
	s.mu.Lock()
	s.open[open] = struct{}{}
	s.mu.Unlock()
	s.wait.Go(func() { s.await(ctx, open) })
}

func (s *server) await(ctx context.Context, open *openCall) {
	result, refusal := s.result(ctx, open.call)
	s.mu.Lock()
	delete(s.open, open)
	s.mu.Unlock()
	if ctx.Err() == nil {
		s.answer(open.id, result, refusal)
	}
}

// begin and result keep a fault in the handler to the call that met it.
func (s *server) begin(method string, params json.RawMessage) (call Call, refusal *messages.Error) {
	defer s.recovered(method, &refusal)
	return s.handler.Begin(method, params)
}

func (s *server) result(ctx context.Context, call Call) (result json.RawMessage, refusal *messages.Error) {
	defer s.recovered("wait", &refusal)
	return call.Wait(ctx)
}

func (s *server) recovered(where string, refusal **messages.Error) {
	if fault := recover(); fault != nil {
		s.options.Log.Error("handler panicked", "method", where, "fault", fault, "stack", string(debug.Stack()))
		*refusal = messages.Errorf(messages.CodeInternal, "internal fault")
	}
}

func (s *server) answer(id, result json.RawMessage, refusal *messages.Error) {
	switch {
	case id == nil:
	case refusal != nil:
		s.refuse(id, refusal)
	default:
		frame := make([]byte, 0, len(id)+len(result)+64)
		s.conn.Send(AppendResult(frame, id, result)) // a lost peer shows by reading
	}
}

func (s *server) refuse(id json.RawMessage, refusal *messages.Error) {
	if id != nil {
		s.conn.Send(AppendError(nil, id, refusal))
	}
}

// drain lets open calls finish while somebody may still read their answers,
// then abandons the rest and waits for their goroutines.
func (s *server) drain(cancel context.CancelFunc) {
	done := make(chan struct{})
	go func() { s.wait.Wait(); close(done) }()
	if !s.conn.HungUp() {
		timer := time.NewTimer(s.options.Grace)
		defer timer.Stop()
		select {
		case <-done:
		case <-timer.C:
		}
	}
	cancel()
	s.mu.Lock()
	left := make([]Call, 0, len(s.open))
	for open := range s.open {
		left = append(left, open.call)
	}
	s.mu.Unlock()
	for _, call := range left {
		call.Abandon()
	}
	<-done
}
