package value

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"
	"unsafe"
)

// sniffLimit is up to how many bytes captured text is tried as JSON.
const sniffLimit = 64 << 20

// failStderr is how many bytes of stderr a cmd_failed error carries at most.
const failStderr = 8 << 10

// Outcome is the object behind an outcome: what became of one command. Its
// exported fields are set before NewOutcome and not changed afterwards; it is
// safe for concurrent use.
type Outcome struct {
	kind   Kind
	OK     bool
	HasOut bool // Out is the command's structured value
	Status *int // nil after a signal
	Signal string
	Out    Value
	Stdout Value // bytes; null means none
	Stderr Value // bytes; null means none
	Dur    time.Duration
	PID    int
	Cmd    string
	Span   *Span

	decode  sync.Once
	decoded atomic.Bool
	out     Value
	isText  bool // out is the text of stdout
	outErr  *Error
}

// NewOutcome makes an outcome value of o, which it owns.
func NewOutcome(o *Outcome) Value {
	o.kind = KindOutcome
	if o.Stdout.IsNull() {
		o.Stdout = NewBytes(nil)
	}
	if o.Stderr.IsNull() {
		o.Stderr = NewBytes(nil)
	}
	return Value{unsafe.Pointer(o), 0}
}

// AsOutcome is the object behind an outcome.
func (v Value) AsOutcome() *Outcome { return (*Outcome)(v.p) }

// Value is the outcome as a Value again.
func (o *Outcome) Value() Value { return Value{unsafe.Pointer(o), 0} }

// Fail is the error that a failed outcome raises.
func (o *Outcome) Fail() *Error {
	var e *Error
	switch {
	case o.Signal != "":
		e = Errorf(CodeCmdFailed, "`%s` died from %s", o.Cmd, o.Signal)
	case o.Status != nil:
		e = Errorf(CodeCmdFailed, "`%s` exited with status %d", o.Cmd, *o.Status)
	default:
		e = Errorf(CodeCmdFailed, "`%s` exited with status -1", o.Cmd)
	}
	e.Status, e.Span = o.Status, o.Span
	e.Stderr, e.HasStderr = tailText(o.Stderr.AsBytes(), failStderr), true
	return e
}

// tailText is the last limit bytes as text, from a line start when it can.
func tailText(b *Bytes, limit int64) string {
	n := b.Len()
	off := max(0, n-limit)
	buf := make([]byte, n-off)
	got, err := b.ReadAt(buf, off)
	if err != nil && err != io.EOF {
		return ""
	}
	buf = buf[:got]
	if off > 0 {
		if i := bytes.IndexByte(buf, '\n'); i >= 0 && i+1 < len(buf) {
			buf = buf[i+1:]
		}
	}
	return Lossy(buf)
}

// Lossy is b as text, each wrong byte replaced by U+FFFD.
func Lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return LossyText(string(b))
}

// OutValue is the command's value: its structured value, else stdout decoded
// once. A failed outcome raises.
func (o *Outcome) OutValue() (Value, *Error) {
	if !o.OK {
		return Null, o.Fail()
	}
	if o.HasOut {
		return o.Out, nil
	}
	o.decode.Do(o.decodeStdout)
	return o.out, o.outErr
}

// TextOut reports whether the value is the text of stdout itself, so that
// showing both would show it twice.
func (o *Outcome) TextOut() bool {
	if !o.OK || o.HasOut {
		return false
	}
	o.decode.Do(o.decodeStdout)
	return o.isText
}

// largeText is the size in bytes from which on stdout is better not decoded
// just to be shown.
const largeText = 1 << 20

// LargeText is stdout when it is large, cannot be JSON by its first character
// and has not been decoded: what only shows the outcome can read it in pieces
// and need not ask for its value.
func (o *Outcome) LargeText() (*Bytes, bool) {
	b := o.Stdout.AsBytes()
	if !o.OK || o.HasOut || o.decoded.Load() || b.Len() < largeText {
		return nil, false
	}
	if b.Len() > sniffLimit {
		return b, true
	}
	head := strings.TrimLeft(b.Preview(4<<10), " \t\r\n")
	return b, head != "" && head[0] != '{' && head[0] != '['
}

func (o *Outcome) decodeStdout() {
	defer o.decoded.Store(true)
	b := o.Stdout.AsBytes()
	valid, _, err := b.IsText()
	if err != nil {
		o.outErr = Errorf(CodeIO, "read stdout: %v", err)
		return
	}
	if !valid {
		o.out = o.Stdout
		return
	}
	all, err := b.All(0)
	if err != nil {
		o.outErr = asError(err, CodeIO)
		return
	}
	all = bytes.TrimSuffix(all, []byte("\n"))
	text := unsafe.String(unsafe.SliceData(all), len(all))
	if _, shared := b.Resident(); shared {
		text = strings.Clone(text)
	}
	if v, ok := sniffJSON(text); ok {
		o.out = v
		return
	}
	o.out, o.isText = Str(text), true
}

// asError keeps an *Error and words any other error under code.
func asError(err error, code string) *Error {
	if e, ok := err.(*Error); ok {
		return e
	}
	return Errorf(code, "%v", err)
}

// Field reads a field by its language name; ok is false for a name that is no
// field of outcomes.
func (o *Outcome) Field(name string) (v Value, ok bool, err *Error) {
	switch name {
	case "status":
		if o.Status == nil {
			return Null, true, nil
		}
		return Int(int64(*o.Status)), true, nil
	case "ok":
		return Bool(o.OK), true, nil
	case "signal":
		if o.Signal == "" {
			return Null, true, nil
		}
		return Str(o.Signal), true, nil
	case "dur":
		return Duration(o.Dur), true, nil
	case "pid":
		return Int(int64(o.PID)), true, nil
	case "cmd":
		return Str(o.Cmd), true, nil
	case "stdout":
		return o.Stdout, true, nil
	case "stderr":
		return o.Stderr, true, nil
	case "out":
		v, err := o.OutValue()
		return v, true, err
	case "err":
		if !o.OK {
			return Null, true, o.Fail()
		}
		return o.Stderr, true, nil
	}
	return Null, false, nil
}

// OutcomeFields are the names that Field knows, in order.
func OutcomeFields() []string {
	return []string{"status", "ok", "signal", "out", "err", "stdout", "stderr", "dur", "pid", "cmd"}
}
