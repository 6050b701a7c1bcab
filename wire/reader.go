package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
)

const (
	// MaxFrame is the most bytes a frame may have, its newline not counted.
	MaxFrame = 16 << 20
	// idleBuffer is what is read at once; a bigger buffer lives only as long as
	// the frame that needed it.
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
	raw        syscall.RawConn // of a source that can be waited for; nil: of none
	try        func(fd uintptr) bool
}

// buffers are those of connections that are not silent.
var buffers = sync.Pool{New: func() any { return new([idleBuffer]byte) }}

// NewReader reads frames from src. While it waits for a frame of a network
// connection it has no buffer.
func NewReader(src io.Reader) *Reader {
	r := &Reader{src: src}
	if c, ok := src.(interface {
		net.Conn
		syscall.Conn
	}); ok {
		if raw, err := c.SyscallConn(); err == nil {
			r.raw, r.try = raw, r.readNow
		}
	}
	return r
}

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
		if r.raw != nil && r.scanned == 0 {
			r.first()
			continue
		}
		r.room()
		r.fill()
	}
}

// first waits for the beginning of a line.
func (r *Reader) first() {
	if len(r.buf) == idleBuffer {
		buffers.Put((*[idleBuffer]byte)(r.buf))
	}
	r.buf, r.start, r.end = nil, 0, 0
	if err := r.raw.Read(r.try); err != nil {
		r.err = err
	}
}

// readNow reads what there is. It reports false when there is nothing yet.
func (r *Reader) readNow(fd uintptr) bool {
	buf := buffers.Get().(*[idleBuffer]byte)
	n, err := syscall.Read(int(fd), buf[:])
	for errors.Is(err, syscall.EINTR) {
		n, err = syscall.Read(int(fd), buf[:])
	}
	switch {
	case n > 0:
		r.buf, r.end = buf[:], n
		return true
	case err == nil:
		r.err = io.EOF
	case errors.Is(err, syscall.EAGAIN):
		buffers.Put(buf)
		return false
	default:
		r.err = os.NewSyscallError("read", err)
	}
	buffers.Put(buf)
	return true
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
