package value

import (
	"encoding/binary"
	"fmt"
	"math"
	"time"
	"unsafe"
)

// The stored form is a version byte and one value. A value is a tag and its
// payload; numbers are varints, texts a length and bytes. A record names its
// shape by number; the number after the highest so far is followed by the
// keys. Tags and versions are never given a second meaning.
const storedVersion = 1

// The tags of stored values.
const (
	tagNull = iota + 1
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagStr
	tagStrRef // a text that lies out of line
	tagPath
	tagGlob
	tagRegex
	tagSize
	tagDuration
	tagDatetime
	tagTime
	tagBytes
	tagBytesRef // bytes that lie out of line
	tagList
	tagRecord
	tagTable
	tagRange
	tagError
	tagOutcome
	tagClosure
	tagCommand
)

const (
	// storedInline is up to how many bytes a text or bytes value is stored
	// within the record.
	storedInline = 64 << 10
	// StoredLimit bounds the stored form of one value, in bytes.
	StoredLimit = 256 << 20
	// storedRoom is room for any value but a text and what is put together.
	storedRoom = 64
)

// Codec connects stored values with what lies outside them. The zero Codec
// keeps all bytes inline and stores no closures.
type Codec struct {
	// PutBlob keeps large content and gives its ref.
	PutBlob func(Blob) (ref string, err error)
	// OpenBlob finds content of n bytes again.
	OpenBlob func(ref string, n int64) (Blob, error)
	// Stop, if it is set, is asked now and then; an error ends the storing.
	Stop func() error
	// Memory is set to about how many bytes the value takes in memory.
	Memory int64
	// Depth is how deep the stored value lies within another one.
	Depth int
	// Closure and LoadClosure write and read what only the engine knows. depth is
	// how deep the closure lies.
	Closure     func(c *Closure, depth int) ([]byte, error)
	LoadClosure func([]byte) (Value, error)
	// LoadCommand makes a command value of its spelling; without it the value
	// shows and compares as before but has no source.
	LoadCommand func(head, repr string) (Value, error)
}

// NotStorable says that a value has no stored form, and why.
type NotStorable struct {
	Kind   Kind
	Reason string
}

// Error is "cannot store KIND: reason".
func (e *NotStorable) Error() string { return "cannot store " + e.Kind.String() + ": " + e.Reason }

// AppendStored appends the stored form of v to dst. What cannot be stored is a
// *NotStorable.
func AppendStored(dst []byte, v Value, c *Codec) ([]byte, error) {
	if c == nil {
		c = &Codec{}
	}
	w := storedWriter{codec: c, dst: append(dst, storedVersion), start: len(dst), turns: turns{stop: c.Stop}}
	err := w.value(v, c.Depth)
	c.Memory = w.outOfLine + int64(len(w.dst)-w.start) + int64(w.turns.n)*int64(unsafe.Sizeof(Value{}))
	if err != nil {
		return dst, err
	}
	return w.dst, nil
}

type storedWriter struct {
	codec  *Codec
	dst    []byte
	start  int
	shapes map[*Shape]uint64
	turns  turns

	outOfLine int64 // bytes in memory that are no part of dst
}

func (w *storedWriter) tag(t byte)       { w.dst = append(w.dst, t) }
func (w *storedWriter) uint(n uint64)    { w.dst = binary.AppendUvarint(w.dst, n) }
func (w *storedWriter) int(n int64)      { w.dst = binary.AppendVarint(w.dst, n) }
func (w *storedWriter) text(s string)    { w.uint(uint64(len(s))); w.dst = ExtendText(w.dst, s) }
func (w *storedWriter) flags(fs ...bool) { w.dst = append(w.dst, packFlags(fs)) }

func packFlags(fs []bool) byte {
	var b byte
	for i, f := range fs {
		if f {
			b |= 1 << i
		}
	}
	return b
}

func (w *storedWriter) value(v Value, depth int) error {
	if depth > maxCompareDepth {
		return &NotStorable{v.Kind(), "it nests too deep"}
	}
	if len(w.dst)-w.start > StoredLimit {
		return &NotStorable{v.Kind(), fmt.Sprintf("it takes more than %d MiB", StoredLimit>>20)}
	}
	if err := w.turns.next(); err != nil {
		return err
	}
	w.dst = Room(w.dst, storedRoom)
	switch k := v.Kind(); k {
	case KindNull:
		w.tag(tagNull)
	case KindBool:
		if v.AsBool() {
			w.tag(tagTrue)
		} else {
			w.tag(tagFalse)
		}
	case KindInt:
		w.tag(tagInt)
		w.int(v.AsInt())
	case KindFloat:
		w.tag(tagFloat)
		w.dst = binary.LittleEndian.AppendUint64(w.dst, math.Float64bits(v.AsFloat()))
	case KindStr:
		return w.str(v.AsStr())
	case KindPath:
		w.tag(tagPath)
		w.text(v.AsStr())
	case KindGlob:
		g := v.AsGlob()
		w.tag(tagGlob)
		w.text(g.Pattern)
		w.text(g.Cwd)
		w.flags(g.Hidden, g.Follow)
	case KindRegex:
		w.tag(tagRegex)
		w.text(v.AsRegex().Src)
	case KindSize:
		w.tag(tagSize)
		w.uint(v.AsSize())
	case KindDuration:
		w.tag(tagDuration)
		w.int(v.n)
	case KindDatetime:
		w.tag(tagDatetime)
		w.datetime(v.AsDatetime())
	case KindTime:
		w.tag(tagTime)
		w.int(v.n)
	case KindRange:
		r := v.AsRange()
		w.tag(tagRange)
		w.int(r.Start)
		w.int(r.End)
		w.flags(r.Inclusive)
	case KindBytes:
		return w.bytes(v.AsBytes())
	case KindList, KindRecord, KindTable:
		return w.container(v, depth)
	default:
		return w.other(v, depth)
	}
	return nil
}

func (w *storedWriter) container(v Value, depth int) error {
	switch v.Kind() {
	case KindList:
		items := v.AsList().Items
		w.tag(tagList)
		w.uint(uint64(len(items)))
		for _, item := range items {
			if err := w.value(item, depth+1); err != nil {
				return err
			}
		}
	case KindTable:
		t := v.AsTable()
		w.tag(tagTable)
		w.uint(uint64(t.Len()))
		for r := range t.Borrowed() {
			if err := w.record(r, depth+1); err != nil {
				return err
			}
		}
	case KindRecord:
		w.tag(tagRecord)
		return w.record(v.AsRecord(), depth)
	}
	return nil
}

func (w *storedWriter) record(r *Record, depth int) error {
	id, known := w.shapes[r.Shape]
	if !known {
		if w.shapes == nil {
			w.shapes = make(map[*Shape]uint64)
		}
		id = uint64(len(w.shapes))
		w.shapes[r.Shape] = id
	}
	w.uint(id)
	if !known {
		w.uint(uint64(len(r.Shape.keys)))
		for _, k := range r.Shape.keys {
			w.text(k)
		}
	}
	for _, v := range r.Vals {
		if err := w.value(v, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (w *storedWriter) str(s string) error {
	if len(s) <= storedInline || w.codec.PutBlob == nil {
		w.tag(tagStr)
		w.text(s)
		return nil
	}
	ref, err := w.codec.PutBlob(BytesBlob(textBytes(s)))
	if err != nil {
		return fmt.Errorf("store text: %w", err)
	}
	w.outOfLine += int64(len(s))
	w.tag(tagStrRef)
	w.text(ref)
	w.uint(uint64(len(s)))
	return nil
}

func (w *storedWriter) bytes(b *Bytes) error {
	ref := ""
	if b.Len() > storedInline {
		if ref = b.Ref(); ref == "" {
			w.outOfLine += int64(b.Len())
		}
		if w.codec.PutBlob != nil {
			var err error
			if ref, err = w.codec.PutBlob(b.Blob()); err != nil {
				return fmt.Errorf("store bytes: %w", err)
			}
		}
	}
	if ref != "" {
		w.tag(tagBytesRef)
		w.text(ref)
		w.uint(uint64(b.Len()))
		w.uint(uint64(b.Total()))
		return nil
	}
	all, err := b.All(StoredLimit)
	if err != nil {
		return fmt.Errorf("store bytes: %w", err)
	}
	w.tag(tagBytes)
	w.uint(uint64(len(all)))
	w.dst = Extend(w.dst, all)
	w.uint(uint64(b.Total()))
	return nil
}

// datetime writes the instant, the zone's name and, for where that name is not
// known, its offset.
func (w *storedWriter) datetime(t time.Time) {
	w.int(t.Unix())
	w.uint(uint64(t.Nanosecond()))
	name := t.Location().String()
	if name == "Local" {
		name = ""
	}
	w.text(name)
	_, offset := t.Zone()
	w.int(int64(offset))
}

func (w *storedWriter) other(v Value, depth int) error {
	switch v.Kind() {
	case KindError:
		w.errorValue(v.AsError())
	case KindOutcome:
		return w.outcome(v.AsOutcome(), depth)
	case KindCommand:
		c := v.AsCommand()
		w.tag(tagCommand)
		w.text(c.Head)
		w.text(c.Repr)
	case KindClosure:
		if w.codec.Closure == nil {
			return &NotStorable{KindClosure, "functions are not kept here"}
		}
		code, err := w.codec.Closure(v.AsClosure(), depth)
		if err != nil {
			return fmt.Errorf("store closure: %w", err)
		}
		w.tag(tagClosure)
		w.text(string(code))
	case KindTask:
		return &NotStorable{KindTask, "it is bound to running work"}
	case KindStream:
		return &NotStorable{KindStream, "its items have not been read"}
	case KindSecret:
		return &NotStorable{KindSecret, "secrets are never written down"}
	default:
		return &NotStorable{v.Kind(), "it has no stored form"}
	}
	return nil
}

func (w *storedWriter) errorValue(e *Error) {
	w.tag(tagError)
	w.text(e.Code)
	w.text(e.Msg)
	w.text(e.Hint)
	w.text(e.Stderr)
	w.flags(e.HasStderr, e.Status != nil, e.Span != nil, e.File != "")
	w.status(e.Status)
	w.span(e.Span)
	if e.File != "" {
		w.text(e.File)
	}
}

func (w *storedWriter) status(s *int) {
	if s != nil {
		w.int(int64(*s))
	}
}

func (w *storedWriter) span(s *Span) {
	if s != nil {
		w.int(int64(s.Start))
		w.int(int64(s.End))
	}
}

func (w *storedWriter) outcome(o *Outcome, depth int) error {
	w.tag(tagOutcome)
	w.flags(o.OK, o.HasOut, o.Status != nil, o.Span != nil)
	w.status(o.Status)
	w.span(o.Span)
	w.text(o.Signal)
	w.int(int64(o.Dur))
	w.int(int64(o.PID))
	w.text(o.Cmd)
	if o.HasOut {
		if err := w.value(o.Out, depth+1); err != nil {
			return err
		}
	}
	if err := w.bytes(o.Stdout.AsBytes()); err != nil {
		return err
	}
	return w.bytes(o.Stderr.AsBytes())
}
