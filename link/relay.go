package link

import (
	"bufio"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

const (
	// drainTimeout is how long open requests may still be answered after the
	// client's end of input.
	drainTimeout = 2 * time.Second
	// Idle attempts to reach a stopped kernel again are this far apart.
	idlePauseMin = 100 * time.Millisecond
	idlePauseMax = 5 * time.Second
	// After a start or an attachment failed, calls are refused this long
	// without another attempt.
	failPauseMin = 500 * time.Millisecond
	failPauseMax = 30 * time.Second
	// shortLife is how long a connection on which nothing was answered must last
	// to count as one that works.
	shortLife = 2 * time.Second
	// relayBuffer gathers small frames that come together.
	relayBuffer = 4 << 10
)

// Relay joins an MCP client on In and Out to a kernel session, and stays when
// the kernel goes. Its zero value lacks only In and Out.
type Relay struct {
	In  io.Reader // the client's frames
	Out io.Writer // protocol frames only
	// Log gets what people should know, never what frames contain; may be nil.
	Log     *slog.Logger
	Options Options
}

// phase is where the relay stands with its kernel.
type phase uint8

const (
	connecting phase = iota // client frames wait
	up                      // client frames go to the kernel
	down                    // requests are refused, or start another attempt
)

// relay is a running Relay. Three goroutines share it: the reader of the client,
// which alone writes client frames to the kernel; run, which connects and reads
// the kernel; and restore, which repeats a client's state to a new kernel before
// the first goes on. The mutex guards what they share; nobody writes to a peer
// while holding it, except to Out under outMu.
type relay struct {
	in        *wire.Reader
	connector connector
	log       *slog.Logger
	client    any // the client's side of stdio, to see whether it is still there

	outMu sync.Mutex
	out   *bufio.Writer
	lost  error // first error of Out

	mu       sync.Mutex
	phase    phase
	changed  chan struct{} // closed whenever phase changes
	conn     *wire.Conn    // set while up
	refusal  *messages.Error
	retryAt  time.Time // before it, calls in phase down start no attempt
	memory   memory
	stopped  bool // the last kernel said goodbye
	attached bool // some kernel has been reached
	failures int  // attempts in a row that may have started a kernel

	wanted bool // a call asks for an attempt that may start one

	wake  chan struct{} // gets a token with wanted
	ended chan struct{} // the client's input is over
	empty chan struct{} // gets a token when the last open request is answered
}

// Run relays until the client's input ends, and returns the exit code: 0, or 1
// when there was no kernel to talk to. The reader of In may outlive Run when ctx
// ends first, as a read of stdin cannot be interrupted.
func (r Relay) Run(ctx context.Context) int {
	log := r.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	paths, err := Locate(r.Options)
	r.Options.Kind = "mcp"
	l := &relay{
		in:        wire.NewReader(r.In),
		out:       bufio.NewWriterSize(r.Out, relayBuffer),
		connector: connector{options: r.Options, paths: paths, log: log},
		log:       log,
		client:    r.Out,
		changed:   make(chan struct{}),
		memory:    newMemory(),
		wake:      make(chan struct{}, 1),
		ended:     make(chan struct{}),
		empty:     make(chan struct{}, 1),
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		l.fromClient(ctx)
		close(l.ended)
	}()
	go func() { // ends with ctx at the latest
		l.drained(ctx)
		cancel()
	}()
	return l.run(ctx, err)
}

// run keeps a kernel until the client is done.
func (r *relay) run(ctx context.Context, hopeless error) int {
	short := 0 // connections in a row that ended at once
	for ctx.Err() == nil {
		err := hopeless
		if err == nil {
			err = r.once(ctx, &short)
		}
		if err != nil && ctx.Err() == nil {
			r.goDown(err)
			r.pause(ctx, isNotServing(err))
		}
		if r.over() {
			break
		}
	}
	r.flush()
	if r.fine() {
		return 0
	}
	return 1
}

// once connects and relays until the kernel is gone. An error means that there
// was no kernel, or none that took the client's state over.
func (r *relay) once(ctx context.Context, short *int) error {
	if *short > 1 { // a kernel that keeps dying at once is not to be hurried
		wait(ctx, min(idlePauseMin<<min(*short, 10), idlePauseMax))
	}
	conn, _, err := r.connector.connect(ctx, r.mayStart())
	if err != nil {
		return err
	}
	began, answers := time.Now(), r.answers()
	err = r.serve(ctx, conn)
	if *short++; time.Since(began) > shortLife || r.answers() > answers {
		*short = 0
	}
	return err
}

// serve relays over one connection until it ends. An error means that the
// kernel did not take the client's state over.
func (r *relay) serve(ctx context.Context, conn *wire.Conn) error {
	unwatch := context.AfterFunc(ctx, func() { conn.Stream().Close() })
	defer unwatch()
	if alive, err := r.reinitialize(conn); !alive || err != nil {
		conn.Stream().Close()
		r.forsake(ctx)
		return err
	}
	restored := make(chan struct{})
	go func() {
		defer close(restored)
		r.restore(conn)
	}()
	r.fromKernel(conn)
	conn.Stream().Close() // also ends a write that waits for a dead kernel
	<-restored
	r.forsake(ctx)
	return nil
}

// fromKernel relays the kernel's frames. Only the end of this loop means that
// the kernel is gone; a torn last line is dropped.
func (r *relay) fromKernel(conn *wire.Conn) {
	for {
		line, err := conn.NextRaw()
		if err != nil {
			r.flush()
			return
		}
		if r.kernelFrame(line) {
			r.write(line)
		}
		if !conn.Ready() && r.flush() != nil {
			return
		}
	}
}

// forsake answers what the lost kernel left open, and withdraws what it asked.
func (r *relay) forsake(ctx context.Context) {
	r.mu.Lock()
	reason, message := "kernel_lost", "the kernel was lost before it answered; what became of the call is in the journal"
	if r.stopped {
		reason, message = "kernel_stopped", "the kernel was stopped before it answered"
	}
	open, asked := r.memory.forsake(isClosed(r.ended))
	over := ctx.Err() != nil
	if !over {
		r.setLocked(connecting)
		r.conn = nil
	}
	r.mu.Unlock()
	if over { // the client is done: nobody waits for these
		return
	}
	refusal := wire.Lost(reason, "%s", message)
	for _, id := range open {
		r.write(wire.AppendError(nil, id, refusal))
	}
	for _, id := range asked {
		r.write(withdrawn(id))
	}
	r.flush()
	r.settle()
}

// pause waits for a reason to try again: a call, or, when it may be idle, time.
func (r *relay) pause(ctx context.Context, idle bool) {
	var tick <-chan time.Time
	if r.mayIdle() && idle {
		timer := time.NewTimer(r.idlePause())
		defer timer.Stop()
		tick = timer.C
	}
	select {
	case <-tick:
	case <-r.wake:
	case <-r.ended:
	case <-ctx.Done():
	}
}

// drained waits until the client is done with us: its input over and what was
// open answered, or no longer worth waiting for.
func (r *relay) drained(ctx context.Context) {
	select {
	case <-r.ended:
	case <-ctx.Done():
		return
	}
	timer := time.NewTimer(drainTimeout)
	defer timer.Stop()
	for !wire.HungUp(r.client) {
		changed, first := r.firstAttempt()
		if !first {
			changed = nil
			if !r.busy() {
				return
			}
		}
		select {
		case <-r.empty:
		case <-changed:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

// write puts a frame into the buffer of Out.
func (r *relay) write(frame []byte) {
	r.outMu.Lock()
	defer r.outMu.Unlock()
	if _, err := r.out.Write(frame); err != nil && r.lost == nil {
		r.lost = err
	}
}

// flush hands what is buffered to the client; an error means it is gone.
func (r *relay) flush() error {
	r.outMu.Lock()
	defer r.outMu.Unlock()
	if err := r.out.Flush(); err != nil && r.lost == nil {
		r.lost = err
	}
	return r.lost
}

// over reports whether nobody is left to relay for.
func (r *relay) over() bool {
	return isClosed(r.ended) || r.flush() != nil
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// wrap gives an attempt's failure the form of a refusal.
func (r *relay) wrapLocked(err error) *messages.Error {
	var refusal *messages.Error
	switch {
	case errors.As(err, &refusal):
		return named(refusal)
	case r.stopped:
		return wire.Lost("kernel_stopped", "the kernel was stopped and none serves: %v", err)
	case r.attached:
		return wire.Lost("kernel_lost", "the kernel was lost and none serves: %v", err)
	default:
		return wire.Lost("kernel_unavailable", "%v", err)
	}
}
