package proc

import (
	"errors"
	"io"
)

// Capture is what one command wrote to one stream until it was finished. It is
// frozen when Run returns. Close releases it; values read from it before stay
// valid.
type Capture struct {
	s      store
	runner *Runner
}

func (r *Runner) newCapture(memCap, spillCap int64) *Capture {
	if memCap <= 0 {
		memCap = r.opts.Limits.CaptureCap
	}
	if spillCap <= 0 {
		spillCap = r.opts.Limits.SpillCap
	}
	c := &Capture{runner: r, s: store{memCap: memCap, cap: max(memCap, spillCap), dir: r.opts.SpillDir, disk: &r.budget.disk}}
	c.s.memory = shareFor(c, &r.budget.memory)
	return c
}

// Len is how many bytes are kept.
func (c *Capture) Len() int64 { kept, _, _ := c.s.sizes(); return kept }

// lost is why bytes could not be kept, other than that there are too many of
// this stream; nil if none were lost so.
func (c *Capture) lost() error {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return c.s.spillErr
}

// Total is how many bytes were written; what exceeds Len was dropped.
func (c *Capture) Total() int64 { _, total, _ := c.s.sizes(); return total }

// Spilled reports whether part of the bytes lies in a file.
func (c *Capture) Spilled() bool { kept, _, resident := c.s.sizes(); return kept > resident }

// ReadAt implements io.ReaderAt over the kept bytes.
func (c *Capture) ReadAt(p []byte, off int64) (int, error) { return c.s.ReadAt(p, off) }

// Reader reads the kept bytes from the start.
func (c *Capture) Reader() *io.SectionReader { return io.NewSectionReader(&c.s, 0, c.Len()) }

// Chunks calls f with the kept bytes in order, without a flat copy, until f
// returns false. The slices must not be changed; those read from a file are
// valid only during the call. It returns the error of reading a spill file.
func (c *Capture) Chunks(f func([]byte) bool) error {
	var buf []byte
	for off := int64(0); ; {
		seg, ok := c.s.at(off)
		if !ok {
			return nil
		}
		if seg.mem != nil {
			if !f(seg.mem[off-seg.off : seg.n : seg.n]) {
				return nil
			}
			off = seg.off + seg.n
			continue
		}
		if buf == nil {
			buf = make([]byte, chunkMax)
		}
		n, err := c.s.ReadAt(buf[:min(int64(len(buf)), seg.off+seg.n-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if n == 0 || !f(buf[:n]) {
			return nil
		}
		off += int64(n)
	}
}

// Bytes is everything kept, in one slice that must not be changed. It copies
// when the bytes lie in several pieces: for large captures use Chunks.
func (c *Capture) Bytes() []byte { return c.slice(0, c.Len()) }

// Head is the first n bytes, or fewer.
func (c *Capture) Head(n int64) []byte { return c.slice(0, min(n, c.Len())) }

// Tail is the last n kept bytes, or fewer.
func (c *Capture) Tail(n int64) []byte {
	end := c.Len()
	return c.slice(max(0, end-n), end)
}

func (c *Capture) slice(from, to int64) []byte {
	if from >= to {
		return nil
	}
	if seg, ok := c.s.at(from); ok && seg.mem != nil && to <= seg.off+seg.n {
		return seg.mem[from-seg.off : to-seg.off : to-seg.off]
	}
	p := make([]byte, to-from)
	n, _ := c.s.ReadAt(p, from)
	return p[:n]
}

// Store puts the kept bytes into the content store.
func (c *Capture) Store() (hash string, n int64, err error) {
	if c.runner == nil || c.runner.opts.Spill == nil {
		return "", 0, errors.New("store capture: no content store")
	}
	return c.runner.opts.Spill(c.Reader())
}

// Close releases memory and files.
func (c *Capture) Close() error {
	c.s.close()
	return nil
}
