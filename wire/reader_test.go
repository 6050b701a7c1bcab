package wire

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReaderLines(t *testing.T) {
	long := strings.Repeat("x", 10*idleBuffer)
	tests := []struct {
		name, in string
		want     []string
		end      error
	}{
		{"nothing", "", nil, io.EOF},
		{"blank lines", "\n \t\r\n\n", nil, io.EOF},
		{"two", "a\nb\n", []string{"a", "b"}, io.EOF},
		{"blank between", "a\n\n\nb\n", []string{"a", "b"}, io.EOF},
		{"carriage return stays", "a\r\n", []string{"a\r"}, io.EOF},
		{"no last newline", "a\nb", []string{"a", "b"}, io.ErrUnexpectedEOF},
		{"beyond the buffer", long + "\nb\n" + long + "\n", []string{long, "b", long}, io.EOF},
	}
	for _, tt := range tests {
		for how, wrap := range map[string]func(io.Reader) io.Reader{
			"whole":           func(r io.Reader) io.Reader { return r },
			"bytes":           iotest.OneByteReader,
			"half":            iotest.HalfReader,
			"data with error": func(r io.Reader) io.Reader { return iotest.DataErrReader(r) },
		} {
			t.Run(tt.name+"/"+how, func(t *testing.T) {
				r := NewReader(wrap(strings.NewReader(tt.in)))
				var got []string
				line, err := r.Next()
				for ; err == nil; line, err = r.Next() {
					got = append(got, string(line))
				}
				if err == io.ErrUnexpectedEOF {
					got = append(got, string(line))
				}
				if diff := cmp.Diff(tt.want, got); diff != "" {
					t.Errorf("lines (-want +got):\n%s", diff)
				}
				if err != tt.end {
					t.Errorf("end: got %v, want %v", err, tt.end)
				}
			})
		}
	}
}

// endless gives the same byte for ever and counts what was taken.
type endless struct {
	left int
	tail string
}

func (e *endless) Read(p []byte) (int, error) {
	if e.left == 0 {
		if e.tail == "" {
			return 0, io.EOF
		}
		n := copy(p, e.tail)
		e.tail = e.tail[n:]
		return n, nil
	}
	n := min(len(p), e.left)
	for i := range n {
		p[i] = 'y'
	}
	e.left -= n
	return n, nil
}

func TestReaderTooLongAndResync(t *testing.T) {
	for _, size := range []int{MaxFrame, MaxFrame + 1, MaxFrame + idleBuffer, 40 << 20} {
		r := NewReader(&endless{left: size, tail: "\nnext\n"})
		line, err := r.Next()
		if size <= MaxFrame {
			if err != nil || len(line) != size {
				t.Fatalf("size %d: got %d bytes, %v", size, len(line), err)
			}
		} else {
			if !errors.Is(err, ErrTooLong) {
				t.Fatalf("size %d: got %v, want ErrTooLong", size, err)
			}
			if len(r.buf) > MaxFrame+2*idleBuffer {
				t.Errorf("size %d: buffer has %d bytes", size, len(r.buf))
			}
			if err := r.Skip(); err != nil {
				t.Fatalf("size %d: skip: %v", size, err)
			}
		}
		line, err = r.Next()
		if string(line) != "next" || err != nil {
			t.Errorf("size %d: after it: got %q, %v", size, line, err)
		}
	}
}

func TestReaderShrinksAfterLargeFrame(t *testing.T) {
	r := NewReader(io.MultiReader(&endless{left: 1 << 20, tail: "\n"}, iotest.OneByteReader(strings.NewReader("a\n"))))
	for range 2 {
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
	}
	if len(r.buf) != idleBuffer {
		t.Errorf("buffer after a large frame: got %d bytes, want %d", len(r.buf), idleBuffer)
	}
}

func TestReaderStuckSource(t *testing.T) {
	r := NewReader(iotest.ErrReader(io.ErrClosedPipe))
	if _, err := r.Next(); err != io.ErrClosedPipe {
		t.Errorf("got %v, want the source's error", err)
	}
	r = NewReader(silent{})
	if _, err := r.Next(); err != io.ErrNoProgress {
		t.Errorf("got %v, want ErrNoProgress", err)
	}
}

type silent struct{}

func (silent) Read([]byte) (int, error) { return 0, nil }

func FuzzReader(f *testing.F) {
	f.Add([]byte("a\n\nb"), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, chunk uint8) {
		r := NewReader(&chunked{data, int(chunk)%7 + 1})
		var got [][]byte
		for {
			line, err := r.Next()
			if err == io.EOF {
				break
			}
			got = append(got, bytes.Clone(line))
			if err != nil {
				break
			}
		}
		var want [][]byte
		for _, line := range bytes.Split(data, []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				want = append(want, line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	})
}

type chunked struct {
	data []byte
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.data[:min(c.size, len(c.data))])
	c.data = c.data[n:]
	return n, nil
}

// A reader of a connection has a buffer only between the beginning of a line and
// the next time it waits.
func TestReaderWaitsWithoutBuffer(t *testing.T) {
	a, b := pair(t)
	r := NewReader(b)
	long := strings.Repeat("x", 3*idleBuffer)
	for _, want := range []string{"a", long, "b"} {
		for _, piece := range []string{want, "\n"} {
			if _, err := a.Write([]byte(piece)); err != nil {
				t.Fatal(err)
			}
		}
		if line, err := r.Next(); err != nil || string(line) != want {
			t.Fatalf("got %.20q %v, want %.20q", line, err, want)
		}
	}
	b.SetReadDeadline(time.Now())
	if _, err := r.Next(); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want a passed deadline", err)
	}
	if r.buf != nil {
		t.Errorf("it has a buffer of %d bytes", len(r.buf))
	}
	for end, hangUp := range map[error]func(c *net.UnixConn){
		io.EOF:              func(c *net.UnixConn) { c.Close() },
		io.ErrUnexpectedEOF: func(c *net.UnixConn) { c.Write([]byte("x")); c.Close() },
	} {
		a, b := pair(t)
		hangUp(a)
		if line, err := NewReader(b).Next(); err != end {
			t.Errorf("got %q %v, want %v", line, err, end)
		}
		b.Close()
		if _, err := NewReader(b).Next(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("closed: got %v", err)
		}
	}
}
