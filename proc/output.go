package proc

import (
	"io"
	"sync"
	"time"
)

// growEvery is the least time between two notices that an output grew.
const growEvery = 50 * time.Millisecond

// Stream tells stdout from stderr.
type Stream int

// The streams of a task.
const (
	Stdout Stream = iota
	Stderr
)

// TaskOutput is everything the commands of one task print, by stream, while
// the task runs and after.
type TaskOutput struct {
	Stdout, Stderr *Output
	tail           *tail
}

// OpenOutput starts the output log of a task. onGrow, which may be nil, is
// called at most 20 times a second per stream, from any goroutine and never
// again after Close; it must not block, and the last growth is never missed.
func (r *Runner) OpenOutput(task uint64, onGrow func(Stream)) *TaskOutput {
	t := &TaskOutput{tail: &tail{pool: r.tails, task: task}}
	make1 := func(which Stream) *Output {
		o := &Output{which: which, tail: t.tail, onGrow: onGrow}
		o.s = store{memCap: r.opts.Limits.CaptureCap, cap: r.opts.Limits.SpillCap, dir: r.opts.SpillDir, disk: &r.budget.disk}
		o.s.memory = shareFor(o, &r.budget.memory)
		return o
	}
	t.Stdout, t.Stderr = make1(Stdout), make1(Stderr)
	return t
}

// Finish gives the mirror of the newest output back: call it once the task's
// record is kept elsewhere. The output stays readable, and still grows by what
// leftovers print.
func (t *TaskOutput) Finish() { t.tail.release() }

// Close releases everything. Later output of leftovers is dropped.
func (t *TaskOutput) Close() {
	t.Finish()
	t.Stdout.close()
	t.Stderr.close()
}

// Output is one stream of a task: append-only, read by byte offset.
type Output struct {
	s      store
	which  Stream
	tail   *tail
	onGrow func(Stream)

	mu      sync.Mutex
	last    time.Time
	pending *time.Timer
	closed  bool
}

// Len is how many bytes can be read.
func (o *Output) Len() int64 { kept, _, _ := o.s.sizes(); return kept }

// Total is how many bytes were written; what exceeds Len was dropped.
func (o *Output) Total() int64 { _, total, _ := o.s.sizes(); return total }

// ReadAt implements io.ReaderAt.
func (o *Output) ReadAt(p []byte, off int64) (int, error) { return o.s.ReadAt(p, off) }

// ReadText is ReadAt that does not end inside a character: a character whose
// end is not yet there, or not in p, is left for the next read, unless the
// output has ended or p is too small for it. Bytes that are no UTF-8 pass as
// they are.
func (o *Output) ReadText(p []byte, off int64, ended bool) (int, error) {
	n, err := o.s.ReadAt(p, off)
	if err != nil && err != io.EOF {
		return n, err
	}
	if whole := WholeRunes(p[:n]); whole > 0 || !ended && n < len(p) {
		return whole, err
	}
	return n, err
}

// Write appends bytes of the evaluator itself; p is copied.
func (o *Output) Write(p []byte) (int, error) {
	o.append(append([]byte(nil), p...))
	return len(p), nil
}

// append adds p, whose memory may be kept: it says whether it is.
func (o *Output) append(p []byte) (retained bool) {
	_, retained = o.s.add(p)
	o.tail.write(o.which, p)
	o.grew()
	return retained
}

// share adds what a capture has just kept, and counts what it did not.
func (o *Output) share(segs []segment, p []byte) (retained bool) {
	var n int64
	for _, seg := range segs {
		n += seg.n
	}
	retained = o.s.share(segs)
	if rest := p[n:]; len(rest) > 0 {
		_, kept := o.s.add(rest)
		retained = retained || kept
	}
	o.tail.write(o.which, p)
	o.grew()
	return retained
}

func (o *Output) grew() {
	if o.onGrow == nil {
		return
	}
	o.mu.Lock()
	if o.pending != nil || o.closed {
		o.mu.Unlock()
		return
	}
	if wait := growEvery - time.Since(o.last); wait > 0 {
		o.pending = time.AfterFunc(wait, o.notify)
		o.mu.Unlock()
		return
	}
	o.last = time.Now()
	o.mu.Unlock()
	o.onGrow(o.which)
}

func (o *Output) notify() {
	o.mu.Lock()
	o.pending = nil
	o.last = time.Now()
	closed := o.closed
	o.mu.Unlock()
	if !closed {
		o.onGrow(o.which)
	}
}

func (o *Output) close() {
	o.mu.Lock()
	o.closed = true
	if o.pending != nil {
		o.pending.Stop()
	}
	o.mu.Unlock()
	o.s.close()
}
