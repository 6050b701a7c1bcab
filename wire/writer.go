package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

const (
	// maxQueued bounds what waits for a peer that reads slowly; a sender waits
	// when it is reached. One frame beyond it is always taken.
	maxQueued = 4 << 20
	// maxShared is the same for what is sent by SendShared, whose senders can
	// wait: their frames are kept elsewhere.
	maxShared = 128 << 10
	// WriteTimeout is how long a peer may refuse to read before its connection
	// is given up.
	WriteTimeout = 30 * time.Second
	// closeTimeout is how long Close waits for the queue to drain.
	closeTimeout = 2 * time.Second
)

// ErrWriterClosed is the error of a send after Close.
var ErrWriterClosed = errors.New("send frame: connection is closed")

// Writer writes whole frames in the order in which they were sent. A sender
// that finds the writer idle writes its own frame itself; others queue, and one
// goroutine, which lives only as long as there is a queue, writes for them. So a
// silent connection costs nothing, and no sender ever writes for another.
// Any number of goroutines may send.
type Writer struct {
	dst     io.Writer
	timeout time.Duration

	mu     sync.Mutex
	change sync.Cond // room in the queue, or no longer busy
	queue  net.Buffers
	bytes  int
	busy   bool
	closed bool
	err    error
	until  time.Time // write deadline of dst; belongs to who writes
}

// NewWriter writes frames to dst. If dst has write deadlines they are used, and
// a dst that passes one is closed, as nothing sensible can follow half a frame.
func NewWriter(dst io.Writer) *Writer {
	w := &Writer{dst: dst, timeout: WriteTimeout}
	w.change.L = &w.mu
	return w
}

// Send queues a frame, with or without its newline; it takes the slice over.
// It waits only while the queue is full or, when the writer was idle, for the
// write of this very frame. The error is the writer's first one, for good.
func (w *Writer) Send(frame []byte) error {
	if n := len(frame); n == 0 || frame[n-1] != '\n' {
		frame = append(frame, '\n')
	}
	return w.send(frame, maxQueued)
}

// SendShared sends whole frames with their newlines, which it only reads. It
// waits until little else waits for the peer.
func (w *Writer) SendShared(frames []byte) error { return w.send(frames, maxShared) }

// send waits while most bytes or more are queued.
func (w *Writer) send(frame []byte, most int) error {
	w.mu.Lock()
	for w.bytes >= most && w.err == nil && !w.closed {
		w.change.Wait()
	}
	switch {
	case w.err != nil:
		defer w.mu.Unlock()
		return w.err
	case w.closed:
		w.mu.Unlock()
		return ErrWriterClosed
	case w.busy:
		w.queue = append(w.queue, frame)
		w.bytes += len(frame)
		w.mu.Unlock()
		return nil
	}
	w.busy = true
	w.mu.Unlock()
	return w.writeOwn(frame)
}

func (w *Writer) writeOwn(frame []byte) error {
	w.extend()
	_, err := w.dst.Write(frame)
	w.giveUp(err)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settleLocked(err)
	if w.busy {
		go w.flush()
	}
	return w.err
}

// flush writes until the queue is empty. Close waits for it.
func (w *Writer) flush() {
	for {
		w.mu.Lock()
		batch := w.queue
		w.queue, w.bytes = nil, 0
		w.change.Broadcast()
		w.mu.Unlock()

		w.extend()
		_, err := batch.WriteTo(w.dst)
		w.giveUp(err)
		w.mu.Lock()
		w.settleLocked(err)
		busy := w.busy
		w.mu.Unlock()
		if !busy {
			return
		}
	}
}

// settleLocked notes the end of a write: the writer stays busy only while
// there is something left that can be written.
func (w *Writer) settleLocked(err error) {
	if err != nil && w.err == nil {
		w.err = err
		w.queue, w.bytes = nil, 0
	}
	if len(w.queue) == 0 {
		w.busy = false
	}
	w.change.Broadcast()
}

// extend moves the write deadline on. As that costs about as much as a short
// write, an eighth of it may have passed before.
func (w *Writer) extend() {
	d, timed := w.dst.(interface{ SetWriteDeadline(time.Time) error })
	if !timed {
		return
	}
	now := time.Now()
	if w.until.Sub(now) > w.timeout-w.timeout/8 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.until = now.Add(w.timeout)
		d.SetWriteDeadline(w.until)
	}
}

// giveUp closes dst when a write to it has failed by its deadline.
func (w *Writer) giveUp(err error) {
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return
	}
	if c, ok := w.dst.(io.Closer); ok {
		c.Close()
	}
}

// Close refuses further frames and waits until the queued ones are written,
// at most two seconds where dst has deadlines. It does not close dst.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.closed = true
		if d, ok := w.dst.(interface{ SetWriteDeadline(time.Time) error }); ok {
			d.SetWriteDeadline(time.Now().Add(closeTimeout))
		}
	}
	w.change.Broadcast()
	for w.busy {
		w.change.Wait()
	}
	return w.err
}
