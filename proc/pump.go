package proc

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"
)

// Reading starts with a small buffer, as most commands print little, and grows
// to chunks that make the number of reads irrelevant.
const (
	chunkMin = 4 << 10
	chunkMax = 1 << 20
	// pipeGrowAt is the size of a read that makes it worth growing the pipe.
	pipeGrowAt = 32 << 10
	// lastMax is how much a frozen capture takes of what still lies in its pipe:
	// all that a pipe holds, but not what a flood puts in meanwhile.
	lastMax = chunkMax
)

// pump moves one pipe into a capture and an output, straight into the memory
// that keeps the bytes. It ends at end of file, which may be long after its
// command: from freeze on, only the output grows.
type pump struct {
	f       *os.File
	cap     *Capture
	out     *Output // may be nil
	done    chan struct{}
	settled chan struct{} // closed when the capture has got its last bytes

	mu     sync.Mutex
	frozen bool
}

func (r *Runner) startPump(f *os.File, c *Capture, out *Output) *pump {
	p := &pump{f: f, cap: c, out: out, done: make(chan struct{}), settled: make(chan struct{})}
	r.hold(f)
	r.pumps.Add(1)
	go func() {
		defer r.pumps.Done()
		defer r.release(f)
		defer close(p.done)
		p.run()
	}()
	return p
}

func (p *pump) run() {
	var b chunk
	grown := false
	for {
		n, err := p.f.Read(b.room())
		if !grown && n >= pipeGrowAt {
			growPipe(p.f)
			grown = true
		}
		p.take(&b, n)
		if errors.Is(err, os.ErrDeadlineExceeded) { // freeze wants the rest
			p.last(&b)
			continue
		}
		if err != nil {
			return
		}
	}
}

// chunk is memory that is read into piece by piece.
type chunk struct{ buf []byte }

// room is the free part of the chunk, or of a new and larger one.
func (b *chunk) room() []byte {
	if free := cap(b.buf) - len(b.buf); free < cap(b.buf)/8 || free == 0 {
		b.buf = make([]byte, 0, max(chunkMin, min(4*cap(b.buf), chunkMax)))
	}
	return b.buf[len(b.buf):cap(b.buf)]
}

// take keeps the first n bytes of the room.
func (p *pump) take(b *chunk, n int) {
	if n > 0 && p.keep(b.buf[len(b.buf):len(b.buf)+n]) {
		b.buf = b.buf[:len(b.buf)+n]
	}
}

// last takes what lies in the pipe without waiting for more, and freezes the
// capture.
func (p *pump) last(b *chunk) {
	p.f.SetReadDeadline(time.Time{})
	if raw, err := p.f.SyscallConn(); err == nil {
		for taken := 0; taken < lastMax; {
			n := 0
			err := raw.Read(func(fd uintptr) bool {
				n, _ = syscall.Read(int(fd), b.room()) // an error shows at the next Read
				return true
			})
			if err != nil || n <= 0 {
				break
			}
			p.take(b, n)
			taken += n
		}
	}
	p.mu.Lock()
	p.frozen = true
	p.mu.Unlock()
	close(p.settled)
}

// keep files the bytes and reports whether their memory is now in use.
func (p *pump) keep(b []byte) (retained bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.frozen {
		return p.out != nil && p.out.append(b)
	}
	segs, retained := p.cap.s.add(b)
	if p.out != nil && p.out.share(segs, b) {
		retained = true
	}
	return retained
}

// freeze ends the capture with what the command has written: also bytes that
// the pump, on a busy machine, had no turn to read yet. What is read from then on
// goes to the output only. It is called once.
func (p *pump) freeze() {
	if p == nil {
		return
	}
	if p.f.SetReadDeadline(time.Unix(1, 0)) == nil {
		select {
		case <-p.settled:
		case <-p.done:
		}
	}
	p.mu.Lock()
	p.frozen = true
	p.mu.Unlock()
}
