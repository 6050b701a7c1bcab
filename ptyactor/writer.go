package ptyactor

import (
	"errors"
	"os"
	"sync"
	"time"
)

const (
	// inputTimeout is how long a child may leave its input unread before a send
	// is given up.
	inputTimeout = 5 * time.Second
	// replyTimeout is the same for answers to the program's own queries.
	replyTimeout = time.Second
	// keyGap lies between text and a key, so that the program reads them apart.
	keyGap = 20 * time.Millisecond
	// queueMax bounds the input that waits to be written, in bytes.
	queueMax = 1 << 20
)

// writer feeds a terminal's input, one write at a time, answers to queries
// first. It never holds up whoever queues.
type writer struct {
	dev     *os.File
	limit   time.Duration  // of one user job
	typed   func(b []byte) // told of input before it is written
	mu      sync.Mutex
	replies []byte
	jobs    []*job
	queued  int
	stopped bool
	wake    chan struct{}
	done    chan struct{}
}

// job is the input of one send.
type job struct {
	pieces []piece
	ended  chan struct{}
	sent   int
	stuck  bool
}

func startWriter(dev *os.File, limit time.Duration, typed func([]byte)) *writer {
	w := &writer{dev: dev, limit: limit, typed: typed, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go w.run()
	return w
}

// send queues input; nil means that too much waits already.
func (w *writer) send(pieces []piece) *job {
	j := &job{pieces: pieces, ended: make(chan struct{})}
	size := 0
	for _, p := range pieces {
		size += len(p.data)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.queued > 0 && w.queued+size > queueMax {
		return nil
	}
	if w.stopped {
		close(j.ended)
		return j
	}
	w.queued += size
	w.jobs = append(w.jobs, j)
	w.signal()
	return j
}

// reply queues answers to queries; those that do not fit are dropped.
func (w *writer) reply(b []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped && len(w.replies)+len(b) <= 64<<10 {
		w.replies = append(w.replies, b...)
		w.signal()
	}
}

func (w *writer) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// stop ends the writer; the device must be closed, or be about to be.
func (w *writer) stop() {
	w.mu.Lock()
	w.stopped = true
	w.signal()
	w.mu.Unlock()
}

func (w *writer) run() {
	defer close(w.done)
	for range w.wake {
		for {
			w.mu.Lock()
			if w.stopped {
				for _, j := range w.jobs {
					close(j.ended)
				}
				w.jobs = nil
				w.mu.Unlock()
				return
			}
			replies := w.replies
			w.replies = nil
			var next *job
			if len(w.jobs) > 0 {
				next, w.jobs = w.jobs[0], w.jobs[1:]
			}
			w.mu.Unlock()
			if len(replies) == 0 && next == nil {
				break
			}
			w.write(replies, replyTimeout)
			if next != nil {
				w.do(next)
			}
		}
	}
}

// do writes the pieces of one job, each key apart from what is round it.
func (w *writer) do(j *job) {
	size := 0
	deadline := time.Now().Add(w.limit)
	for i, p := range j.pieces {
		size += len(p.data)
		if j.stuck {
			continue
		}
		if i > 0 && (p.own || j.pieces[i-1].own) {
			<-time.After(keyGap)
		}
		w.typed(p.data)
		n, err := w.write(p.data, time.Until(deadline))
		j.sent += n
		j.stuck = err != nil && errors.Is(err, os.ErrDeadlineExceeded)
	}
	w.mu.Lock()
	w.queued -= size
	w.mu.Unlock()
	close(j.ended)
}

func (w *writer) write(b []byte, limit time.Duration) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	if err := w.dev.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return 0, err
	}
	return w.dev.Write(b)
}
