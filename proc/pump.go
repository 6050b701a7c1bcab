package proc

import (
	"os"
	"sync"
)

// Reading starts with a small buffer, as most commands print little, and grows
// to chunks that make the number of reads irrelevant.
const (
	chunkMin = 4 << 10
	chunkMax = 1 << 20
	// pipeGrowAt is the size of a read that makes it worth growing the pipe.
	pipeGrowAt = 32 << 10
)

// pump moves one pipe into a capture and an output, straight into the memory
// that keeps the bytes. It ends at end of file, which may be long after its
// command: from freeze on, only the output grows.
type pump struct {
	f    *os.File
	cap  *Capture
	out  *Output // may be nil
	done chan struct{}

	mu     sync.Mutex
	frozen bool
}

func (r *Runner) startPump(f *os.File, c *Capture, out *Output) *pump {
	p := &pump{f: f, cap: c, out: out, done: make(chan struct{})}
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
	size := chunkMin
	buf := make([]byte, 0, size)
	grown := false
	for {
		if cap(buf)-len(buf) < cap(buf)/8 {
			size = min(size*4, chunkMax)
			buf = make([]byte, 0, size)
		}
		n, err := p.f.Read(buf[len(buf):cap(buf)])
		if n > 0 {
			if !grown && n >= pipeGrowAt {
				growPipe(p.f)
				grown = true
			}
			if p.keep(buf[len(buf) : len(buf)+n]) {
				buf = buf[:len(buf)+n]
			}
		}
		if err != nil {
			return
		}
	}
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

// freeze ends the capture: bytes read from now on go to the output only.
func (p *pump) freeze() {
	if p == nil {
		return
	}
	p.mu.Lock()
	p.frozen = true
	p.mu.Unlock()
}
