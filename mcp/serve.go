package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/messages"
)

// stuckGrace is how long, after the end, a peer that reads nothing may hold up
// the frames that are on their way, before its connection is closed.
const stuckGrace = time.Second

// Serve speaks MCP on c until the peer ends or ctx does. When the peer only
// ended its writing, open calls are answered for the grace; when it is gone,
// they are abandoned at once. On return every open call has been answered or
// abandoned, every subscription has ended, and nothing is left running: nil at
// the peer's orderly end, else why it ended. It closes c only if that is the
// one way out, and then c must be an io.Closer.
func (s *Server) Serve(ctx context.Context, c Conn, b Backend) error {
	// Calls outlive ctx by the grace, so that a stopping kernel can answer.
	calls, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	p := &peer{s: s, conn: c, backend: b, open: map[*openCall]struct{}{}, asked: map[string]chan json.RawMessage{}, ending: make(chan struct{})}
	p.session = s.newSession(p)
	p.subs.all = map[followed]*subscription{}
	p.marks.last = map[string]uint64{}
	if l, ok := c.(Losing); ok {
		l.OnLoss(p.lose)
	}
	unwatch := context.AfterFunc(ctx, p.interrupt)
	err := p.read(calls)
	unwatch()
	p.drain(cancel)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// peer is one connection for as long as Serve runs.
type peer struct {
	s       *Server
	conn    Conn
	backend Backend
	session *session
	listed  atomic.Bool // the client has a resource list that may grow stale

	mu    sync.Mutex
	open  map[*openCall]struct{}
	bytes int                             // of the frames of open calls
	asked map[string]chan json.RawMessage // questions to the client, by id
	wait  sync.WaitGroup

	subs   subscriptions
	marks  marks
	ending chan struct{} // closed when no more frames are read
}

// job is what a request turned into when it was handed over.
type job struct {
	run     func(ctx context.Context) (json.RawMessage, *messages.Error)
	abandon func()          // says that the caller is gone; may be nil
	release func()          // says that it may come back for the answer; may be nil
	token   json.RawMessage // of the progress that the caller wants; may be nil
	after   func()          // once the answer is sent, or will not be; may be nil
	inOrder bool            // what is written after it had better wait for it
	effect  <-chan struct{} // closed when it has taken effect, if before its answer; may be nil
	keep    *int64          // milliseconds for which the result may be kept; nil: not said
}

// openCall is a request that has no answer yet.
type openCall struct {
	id       json.RawMessage
	size     int // of its frame
	job      job
	cancel   context.CancelFunc
	gone     bool // guarded by peer.mu: cancelled or abandoned
	lost     bool // guarded by peer.mu: its caller has left, but may come back
	finished chan struct{}
}

// read takes frames until the connection ends.
func (p *peer) read(ctx context.Context) error {
	for {
		line, err := p.conn.Next()
		switch {
		case err == nil:
			p.frame(ctx, line)
		case errors.Is(err, io.ErrUnexpectedEOF):
			p.frame(ctx, line) // a last line needs no newline
			return nil
		case errors.Is(err, io.EOF):
			return nil
		case len(line) > 0:
			p.refuse(json.RawMessage("null"), messages.Errorf(messages.CodeInvalidRequest, "%v", err))
			if err := p.conn.Skip(); err != nil {
				return nil // the peer ended within the line
			}
		default:
			return err
		}
	}
}

func (p *peer) frame(ctx context.Context, line []byte) {
	if len(line) == 0 {
		return
	}
	req, refusal := parseFrame(line)
	switch {
	case refusal != nil:
		p.refuse(bytes.Clone(req.id), refusal)
	case req.method == "":
		p.answered(req)
	case req.id == nil:
		p.notification(ctx, req)
	default:
		p.request(ctx, req, len(line))
	}
}

func (p *peer) notification(ctx context.Context, req request) {
	defer p.recovered(req.method, new(*messages.Error))
	if req.method == "notifications/cancelled" {
		p.cancelCall(member(req.params, "requestId"))
		return
	}
	p.s.notify(ctx, p.session, req.method, bytes.Clone(req.params))
}

// request hands a call over and leaves the waiting to a goroutine.
func (p *peer) request(ctx context.Context, req request, size int) {
	id := bytes.Clone(req.id)
	var refusal *messages.Error
	if req.meta, refusal = readMeta(req.params); refusal != nil {
		p.refuse(id, refusal)
		return
	}
	if req.method == "ping" && !req.meta.stateless { // asks whether frames are read, which nothing else may hold up
		p.conn.Send(resultFrame(id, json.RawMessage("{}")))
		return
	}
	if refusal := p.room(size); refusal != nil {
		p.refuse(id, refusal)
		return
	}
	j, refusal := p.begin(req)
	if refusal != nil {
		p.refuse(id, refusal)
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	o := &openCall{id: id, size: size, job: j, cancel: cancel, finished: make(chan struct{})}
	p.mu.Lock()
	p.open[o] = struct{}{}
	p.bytes += size
	p.mu.Unlock()
	p.wait.Add(1)
	p.s.o.Go(func() {
		defer p.wait.Done()
		p.await(ctx, o)
	})
	if j.inOrder {
		timer := time.NewTimer(inOrderWait)
		defer timer.Stop()
		select {
		case <-o.finished:
		case <-j.effect:
		case <-timer.C:
		}
	}
}

// room refuses a call beyond the limits of what one connection may have open. A
// call that is alone always has room.
func (p *peer) room(size int) *messages.Error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch calls := len(p.open); {
	case calls >= p.s.o.InFlight:
		return overLimit("open calls", p.s.o.InFlight, calls)
	case calls > 0 && p.bytes+size > inFlightBytes:
		return overLimit("bytes of open calls", inFlightBytes, p.bytes)
	}
	return nil
}

// overLimit is the refusal of what would pass a limit of one connection.
func overLimit(what string, limit, used int) *messages.Error {
	return messages.Errorf(messages.CodeQuota, "a connection may have %d %s", limit, what).
		With(map[string]any{"name": messages.CodeQuota.Name(), "limit": limit, "used": used})
}

// inOrderWait bounds how long the reading of frames waits for a call that ought
// to take effect before the next one.
const inOrderWait = 50 * time.Millisecond

func (p *peer) await(ctx context.Context, o *openCall) {
	defer close(o.finished)
	defer o.cancel()
	if o.job.after != nil {
		defer o.job.after()
	}
	result, refusal := p.outcome(ctx, o)
	p.mu.Lock()
	delete(p.open, o)
	p.bytes -= o.size
	silent := o.gone
	p.mu.Unlock()
	switch {
	case silent:
	case refusal != nil:
		p.refuse(o.id, refusal)
	default:
		p.conn.Send(resultFrame(o.id, result)) // a lost peer shows by reading
	}
}

// outcome runs a job, telling about its progress if that is wanted.
func (p *peer) outcome(ctx context.Context, o *openCall) (json.RawMessage, *messages.Error) {
	if o.job.token == nil {
		return p.run(ctx, o.job)
	}
	stop := p.progress(o.id, o.job.token)
	defer stop()
	return p.run(ctx, o.job)
}

// begin and run keep a fault to the call that met it.
func (p *peer) begin(req request) (j job, refusal *messages.Error) {
	defer p.recovered(req.method, &refusal)
	return p.dispatch(req)
}

func (p *peer) run(ctx context.Context, j job) (result json.RawMessage, refusal *messages.Error) {
	defer p.recovered("wait", &refusal)
	return j.run(ctx)
}

func (p *peer) recovered(where string, refusal **messages.Error) {
	if fault := recover(); fault != nil {
		p.s.o.Log.Error("call panicked", "method", where, "fault", fault, "stack", string(debug.Stack()))
		*refusal = messages.Errorf(messages.CodeInternal, "internal fault")
	}
}

func (p *peer) refuse(id json.RawMessage, refusal *messages.Error) {
	p.conn.Send(errorFrame(id, refusal))
}

// cancelCall ends the wait for the calls of that id: what an execution does
// goes on, everything else stops. They are not answered.
func (p *peer) cancelCall(id []byte) {
	var gone []*openCall
	p.mu.Lock()
	for o := range p.open {
		if !o.gone && sameID(o.id, id) {
			o.gone = true
			gone = append(gone, o)
		}
	}
	p.mu.Unlock()
	leave(gone)
}

// lose spends the wait budgets of the calls of that id, which are answered.
func (p *peer) lose(id json.RawMessage) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for o := range p.open {
		if !o.gone && !o.lost && o.job.release != nil && sameID(o.id, id) {
			o.lost = true
			o.job.release() // does not block
		}
	}
}

// leave tells calls that nobody waits for them any more.
func leave(calls []*openCall) {
	for _, o := range calls {
		if o.job.abandon != nil {
			o.job.abandon()
		}
		o.cancel()
	}
}

// interrupt makes a waiting Next return.
func (p *peer) interrupt() {
	if p.conn.SetReadDeadline(time.Unix(1, 0)) != nil {
		p.close()
	}
}

func (p *peer) close() {
	if c, ok := p.conn.(io.Closer); ok {
		c.Close()
	}
}

// drain lets open calls finish while somebody may still read their answers,
// then abandons the rest, ends the subscriptions and waits for all goroutines.
func (p *peer) drain(cancel context.CancelFunc) {
	close(p.ending)
	done := make(chan struct{})
	go func() { p.wait.Wait(); close(done) }()
	if !p.conn.HungUp() {
		waitFor(done, p.s.o.Grace)
	}
	p.mu.Lock()
	var left []*openCall
	for o := range p.open {
		if !o.gone {
			o.gone = true
			left = append(left, o)
		}
	}
	p.mu.Unlock()
	leave(left)
	cancel()
	ended := make(chan struct{})
	go func() { <-done; p.subs.end(); close(ended) }()
	if !waitFor(ended, stuckGrace) {
		p.close()
	}
	<-ended
}

// waitFor waits for done, but no longer than d.
func waitFor(done <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-done:
		return true
	case <-timer.C:
		return false
	}
}
