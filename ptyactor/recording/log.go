// Package recording is what a terminal showed, byte by byte and in time.
//
// The log is the truth: a header line and events, each with its kind, the time
// since the one before it, and its bytes exactly as they came. Asciicasts are
// made from it; they hold text only, so broken UTF-8 is repaired in them.
package recording

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// Kind is a kind of event.
type Kind byte

// The kinds, named as in asciicasts.
const (
	Output Kind = 'o' // bytes of the program
	Input  Kind = 'i' // bytes typed
	Resize Kind = 'r' // "COLSxROWS"
	Exit   Kind = 'x' // the exit status, or the name of the signal
)

// Header says what was recorded.
type Header struct {
	Version int      `json:"shoal_terminal_log"`
	Cols    int      `json:"cols"`
	Rows    int      `json:"rows"`
	StartNS int64    `json:"start_ns"` // Unix time
	Cmd     []string `json:"cmd"`
	Term    string   `json:"term"` // the TERM of the program
}

const (
	// version is that of the log's form.
	version = 1
	// headerMax and eventMax bound what is read of a damaged log, in bytes.
	headerMax = 1 << 20
	eventMax  = 16 << 20
)

// Event is one thing that happened, At after the start.
type Event struct {
	At   time.Duration
	Kind Kind
	Data []byte
}

// Writer writes a log.
type Writer struct {
	w    io.Writer
	last time.Duration
	n    int64
}

// NewWriter writes the header.
func NewWriter(w io.Writer, h Header) (*Writer, error) {
	h.Version = version
	line, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("write recording: %w", err)
	}
	out := &Writer{w: w}
	return out, out.put(append(line, '\n'))
}

// Write appends an event; times before the last one's count as the same.
func (w *Writer) Write(e Event) error {
	e.At = max(e.At.Truncate(time.Microsecond), w.last)
	head := binary.AppendUvarint([]byte{byte(e.Kind)}, uint64((e.At-w.last)/time.Microsecond))
	w.last = e.At
	if err := w.put(binary.AppendUvarint(head, uint64(len(e.Data)))); err != nil {
		return err
	}
	return w.put(e.Data)
}

// Len is how many bytes have been written.
func (w *Writer) Len() int64 { return w.n }

func (w *Writer) put(b []byte) error {
	n, err := w.w.Write(b)
	w.n += int64(n)
	if err != nil {
		return fmt.Errorf("write recording: %w", err)
	}
	return nil
}

// Reader reads a log.
type Reader struct {
	Header Header

	r  *bufio.Reader
	at time.Duration
}

// NewReader reads the header.
func NewReader(r io.Reader) (*Reader, error) {
	in := &Reader{r: bufio.NewReader(r)}
	line, err := headerLine(in.r)
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(line, &in.Header) != nil || in.Header.Version != version {
		return nil, errors.New("read recording: this is no terminal log of version 1")
	}
	return in, nil
}

func headerLine(r *bufio.Reader) ([]byte, error) {
	var line []byte
	for len(line) < headerMax {
		c, err := r.ReadByte()
		if err != nil || c == '\n' {
			return line, noEOF(err)
		}
		line = append(line, c)
	}
	return nil, errors.New("read recording: the first line has no end")
}

// Next is the next event; io.EOF is the end.
func (r *Reader) Next() (Event, error) {
	kind, err := r.r.ReadByte()
	if err != nil {
		return Event{}, err
	}
	step, err := binary.ReadUvarint(r.r)
	if err != nil {
		return Event{}, noEOF(err)
	}
	size, err := binary.ReadUvarint(r.r)
	if err != nil {
		return Event{}, noEOF(err)
	}
	if size > eventMax || step > uint64((1<<62)/time.Microsecond) {
		return Event{}, errors.New("read recording: the log is damaged")
	}
	r.at += time.Duration(step) * time.Microsecond
	e := Event{At: r.at, Kind: Kind(kind), Data: make([]byte, size)}
	if _, err := io.ReadFull(r.r, e.Data); err != nil {
		return Event{}, noEOF(err)
	}
	return e, nil
}

// noEOF makes an end where none should be an error of its own.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("read recording: the log is cut off")
	}
	return err
}
