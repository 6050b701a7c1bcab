package value

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// errStored is what damaged or foreign input gives.
var errStored = errors.New("stored value is damaged")

// LoadStored reads a value that AppendStored wrote. Damaged input gives an
// error, never a panic, and no more memory than in proportion to its length.
func LoadStored(b []byte, c *Codec) (Value, error) {
	if c == nil {
		c = &Codec{}
	}
	if len(b) == 0 {
		return Null, errStored
	}
	if b[0] != storedVersion {
		return Null, fmt.Errorf("stored value has version %d, this build knows %d", b[0], storedVersion)
	}
	r := storedReader{codec: c, b: b[1:]}
	v, err := r.value(0)
	if err != nil {
		return Null, err
	}
	if r.bad || len(r.b) > 0 {
		return Null, errStored
	}
	return v, nil
}

// storedReader consumes b. After damage bad is set and everything reads as
// zero.
type storedReader struct {
	codec  *Codec
	b      []byte
	bad    bool
	shapes []*Shape
	slab   slab
}

func (r *storedReader) damage() {
	r.bad = true
	r.b = nil
}

func (r *storedReader) byte() byte {
	if len(r.b) == 0 {
		r.damage()
		return 0
	}
	c := r.b[0]
	r.b = r.b[1:]
	return c
}

func (r *storedReader) uint() uint64 {
	n, k := binary.Uvarint(r.b)
	if k <= 0 {
		r.damage()
		return 0
	}
	r.b = r.b[k:]
	return n
}

func (r *storedReader) int() int64 {
	n, k := binary.Varint(r.b)
	if k <= 0 {
		r.damage()
		return 0
	}
	r.b = r.b[k:]
	return n
}

// count is a number of things of which each takes at least one more byte.
func (r *storedReader) count() int {
	n := r.uint()
	if n > uint64(len(r.b)) {
		r.damage()
		return 0
	}
	return int(n)
}

func (r *storedReader) raw() []byte {
	n := r.count()
	s := r.b[:n]
	r.b = r.b[n:]
	return s
}

func (r *storedReader) text() string { return string(r.raw()) }

// length is a byte count that fits an int64.
func (r *storedReader) length() int64 {
	n := r.uint()
	if n > math.MaxInt64 {
		r.damage()
		return 0
	}
	return int64(n)
}

func (r *storedReader) value(depth int) (Value, error) {
	if depth > maxCompareDepth+1 {
		return Null, errStored
	}
	switch r.byte() {
	case tagNull:
		return Null, nil
	case tagFalse:
		return Bool(false), nil
	case tagTrue:
		return Bool(true), nil
	case tagInt:
		return Int(r.int()), nil
	case tagFloat:
		if len(r.b) < 8 {
			return Null, errStored
		}
		bits := binary.LittleEndian.Uint64(r.b)
		r.b = r.b[8:]
		return Float(math.Float64frombits(bits)), nil
	case tagStr:
		return Str(r.text()), nil
	case tagStrRef:
		return r.strRef()
	case tagPath:
		return Path(r.text()), nil
	case tagGlob:
		g := Glob{Pattern: r.text(), Cwd: r.text()}
		f := r.byte()
		g.Hidden, g.Follow = f&1 != 0, f&2 != 0
		return NewGlob(g), nil
	case tagRegex:
		v, err := NewRegex(r.text())
		if err != nil {
			return Null, err
		}
		return v, nil
	case tagSize:
		return Size(r.uint()), nil
	case tagDuration:
		return Duration(time.Duration(r.int())), nil
	case tagDatetime:
		return r.datetime()
	case tagTime:
		ns := r.int()
		if ns < 0 || ns >= int64(24*time.Hour) {
			return Null, errStored
		}
		return TimeOfDay(ns), nil
	case tagRange:
		start, end := r.int(), r.int()
		return NewRange(start, end, r.byte()&1 != 0), nil
	case tagBytes:
		return r.bytes()
	case tagBytesRef:
		return r.bytesRef()
	case tagList:
		return r.list(depth)
	case tagRecord:
		rec, err := r.record(depth)
		if err != nil {
			return Null, err
		}
		return rec.Value(), nil
	case tagTable:
		return r.table(depth)
	case tagError:
		return r.errorValue(), nil
	case tagOutcome:
		return r.outcome(depth)
	case tagClosure:
		return r.closure()
	case tagCommand:
		return r.command()
	}
	return Null, errStored
}

func (r *storedReader) list(depth int) (Value, error) {
	items := make([]Value, r.count())
	for i := range items {
		v, err := r.value(depth + 1)
		if err != nil {
			return Null, err
		}
		items[i] = v
	}
	return NewList(items), nil
}

func (r *storedReader) table(depth int) (Value, error) {
	rows := make([]*Record, r.count())
	for i := range rows {
		rec, err := r.record(depth + 1)
		if err != nil {
			return Null, err
		}
		rows[i] = rec
	}
	return NewTable(rows), nil
}

func (r *storedReader) record(depth int) (*Record, error) {
	id := r.uint()
	if id > uint64(len(r.shapes)) || r.bad {
		return nil, errStored
	}
	if id == uint64(len(r.shapes)) {
		if err := r.shape(); err != nil {
			return nil, err
		}
	}
	shape := r.shapes[id]
	if len(shape.keys) > len(r.b) {
		return nil, errStored
	}
	vals := make([]Value, len(shape.keys))
	for i := range vals {
		v, err := r.value(depth + 1)
		if err != nil {
			return nil, err
		}
		vals[i] = v
	}
	return r.slab.record(shape, vals).AsRecord(), nil
}

// shape reads the keys of a shape that is met for the first time.
func (r *storedReader) shape() error {
	keys := make([]string, r.count())
	seen := make(map[string]bool, len(keys))
	for i := range keys {
		keys[i] = r.text()
		if seen[keys[i]] {
			return errStored
		}
		seen[keys[i]] = true
	}
	if r.bad {
		return errStored
	}
	r.shapes = append(r.shapes, ShapeOf(keys...))
	return nil
}

func (r *storedReader) strRef() (Value, error) {
	ref, n := r.text(), r.length()
	blob, err := r.open(ref, n)
	if err != nil {
		return Null, err
	}
	buf, err := NewBlob(blob).AsBytes().All(0)
	if err != nil {
		return Null, err
	}
	return Str(string(buf)), nil
}

func (r *storedReader) open(ref string, n int64) (Blob, error) {
	if r.bad {
		return nil, errStored
	}
	if r.codec.OpenBlob == nil {
		return nil, Errorf(CodeNotFound, "no content store for %s", ref)
	}
	return r.codec.OpenBlob(ref, n)
}

// partBlob is a blob of which some bytes were dropped when it was captured.
type partBlob struct {
	Blob
	total int64
}

func (p partBlob) Total() int64 { return p.total }

func withTotal(b Blob, total int64) Value {
	if total > b.Len() {
		b = partBlob{b, total}
	}
	return NewBlob(b)
}

func (r *storedReader) bytes() (Value, error) {
	raw := append([]byte(nil), r.raw()...)
	return withTotal(BytesBlob(raw), r.length()), nil
}

func (r *storedReader) bytesRef() (Value, error) {
	ref, n, total := r.text(), r.length(), r.length()
	blob, err := r.open(ref, n)
	if err != nil {
		return Null, err
	}
	return withTotal(blob, total), nil
}

func (r *storedReader) datetime() (Value, error) {
	sec, ns, name, offset := r.int(), r.uint(), r.text(), r.int()
	const farthest = 1 << 40 // seconds; some 35,000 years
	if ns >= 1e9 || sec > farthest || sec < -farthest || offset > 1<<20 || offset < -1<<20 {
		return Null, errStored
	}
	loc := time.FixedZone(name, int(offset))
	if name == "UTC" {
		loc = time.UTC
	} else if name != "" && name != "Local" {
		if named, err := time.LoadLocation(name); err == nil {
			loc = named
		}
	}
	return NewDatetime(time.Unix(sec, int64(ns)).In(loc)), nil
}

func (r *storedReader) errorValue() Value {
	e := &Error{kind: KindError, Code: r.text(), Msg: r.text(), Hint: r.text(), Stderr: r.text()}
	f := r.byte()
	e.HasStderr = f&1 != 0
	e.Status = r.status(f&2 != 0)
	e.Span = r.span(f&4 != 0)
	if f&8 != 0 {
		e.File = r.text()
	}
	return NewError(e)
}

func (r *storedReader) status(has bool) *int {
	if !has {
		return nil
	}
	n := int(r.int())
	return &n
}

func (r *storedReader) span(has bool) *Span {
	if !has {
		return nil
	}
	return &Span{int(r.int()), int(r.int())}
}

func (r *storedReader) outcome(depth int) (Value, error) {
	f := r.byte()
	o := &Outcome{OK: f&1 != 0, HasOut: f&2 != 0}
	o.Status = r.status(f&4 != 0)
	o.Span = r.span(f&8 != 0)
	o.Signal = r.text()
	o.Dur = time.Duration(r.int())
	o.PID = int(r.int())
	o.Cmd = r.text()
	var err error
	if o.HasOut {
		if o.Out, err = r.value(depth + 1); err != nil {
			return Null, err
		}
	}
	if o.Stdout, err = r.value(depth + 1); err != nil {
		return Null, err
	}
	if o.Stderr, err = r.value(depth + 1); err != nil {
		return Null, err
	}
	if o.Stdout.Kind() != KindBytes || o.Stderr.Kind() != KindBytes {
		return Null, errStored
	}
	return NewOutcome(o), nil
}

func (r *storedReader) closure() (Value, error) {
	code := r.raw()
	if r.bad {
		return Null, errStored
	}
	if r.codec.LoadClosure == nil {
		return Null, &NotStorable{KindClosure, "functions are not kept here"}
	}
	return r.codec.LoadClosure(code)
}

func (r *storedReader) command() (Value, error) {
	head, repr := r.text(), r.text()
	if r.bad || r.codec.LoadCommand == nil {
		return NewCommand(head, repr, nil), nil
	}
	return r.codec.LoadCommand(head, repr)
}

var _ io.ReaderAt = partBlob{}
