package wire

import (
	"bytes"
	"errors"
	"io"
)

const (
	// MaxFrame is the most bytes a frame may have, its newline not counted.
	MaxFrame = 16 << 20
	// idleBuffer is what a silent connection keeps; a bigger buffer lives only
	// as long as the frame that needed it.
	idleBuffer = 4 << 10
	// maxEmptyReads is how often a source may return nothing in a row.
	maxEmptyReads = 100
)

// ErrTooLong says that a line passed MaxFrame. The line has not been read to
// its end: Skip does that, or the connection is closed.
var ErrTooLong = errors.New("frame is longer than 16777216 bytes")

// Reader splits a byte stream into lines. It belongs to one goroutine.
type Reader struct {
	src        io.Reader
	buf        []byte
	start, end int
	scanned    int // bytes after start known to hold no newline
	err        error
}

// NewReader reads frames from src.
func NewReader(src io.Reader) *Reader { return &Reader{src: src} }

// Next returns the next line that is not blank, without its newline; the bytes
// stay valid until the following call. A last line without newline comes with
// io.ErrUnexpectedEOF, the end with io.EOF, a line beyond MaxFrame with
// ErrTooLong and the line's beginning.
func (r *Reader) Next() ([]byte, error) {
	line, err := r.NextRaw()
	if err == nil {
		line = line[:len(line)-1]
	}
	return line, err
}

// NextRaw is Next with the newline, for passing a line on as it is; a line that
// comes with an error has none.
func (r *Reader) NextRaw() ([]byte, error) {
	for {
		line, err := r.line()
		if err != nil || len(bytes.TrimSpace(line)) > 0 {
			return line, err
		}
	}
}

// Ready reports whether Next has a whole line at hand and will not read.
func (r *Reader) Ready() bool {
	return bytes.IndexByte(r.buf[r.start+r.scanned:r.end], '\n') >= 0
}

// Skip discards the rest of the line that was too long, in bounded memory.
func (r *Reader) Skip() error {
	for {
		if i := bytes.IndexByte(r.buf[r.start:r.end], '\n'); i >= 0 {
			r.start, r.scanned = r.start+i+1, 0
			return nil
		}
		r.start, r.end, r.scanned = 0, 0, 0
		if r.err != nil {
			return r.err
		}
		if len(r.buf) > idleBuffer {
			r.buf = make([]byte, idleBuffer)
		}
		r.fill()
	}
}

// line is the next line with its newline, blank or not.
func (r *Reader) line() ([]byte, error) {
	for {
		if i := bytes.IndexByte(r.buf[r.start+r.scanned:r.end], '\n'); i >= 0 {
			from, to := r.start, r.start+r.scanned+i
			r.start, r.scanned = to+1, 0
			if to-from > MaxFrame {
				r.start = to // leave the newline for Skip
				return r.buf[from:to], ErrTooLong
			}
			return r.buf[from : to+1], nil
		}
		r.scanned = r.end - r.start
		if r.scanned > MaxFrame {
			return r.buf[r.start:r.end], ErrTooLong
		}
		if r.err != nil {
			return r.rest()
		}
		r.room()
		r.fill()
	}
}

// rest hands out what the source left when it ended or failed.
func (r *Reader) rest() ([]byte, error) {
	tail := r.buf[r.start:r.end]
	r.start, r.end, r.scanned = 0, 0, 0
	if r.err == io.EOF && len(bytes.TrimSpace(tail)) > 0 {
		return tail, io.ErrUnexpectedEOF
	}
	return nil, r.err
}

// room makes space behind end: by sliding, by growing, or by going back to the
// small buffer once a large frame has been consumed.
func (r *Reader) room() {
	pending := r.end - r.start
	switch {
	case r.buf == nil, pending <= idleBuffer/2 && len(r.buf) > idleBuffer:
		r.move(idleBuffer)
	case r.end < len(r.buf):
	case pending <= len(r.buf)/2:
		copy(r.buf, r.buf[r.start:r.end])
		r.start, r.end = 0, pending
	default:
		r.move(min(2*len(r.buf), MaxFrame+idleBuffer))
	}
}

func (r *Reader) move(size int) {
	bigger := make([]byte, size)
	r.end = copy(bigger, r.buf[r.start:r.end])
	r.start, r.buf = 0, bigger
}

func (r *Reader) fill() {
	for range maxEmptyReads {
		n, err := r.src.Read(r.buf[r.end:])
		r.end += n
		if err != nil {
			r.err = err
		}
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}
