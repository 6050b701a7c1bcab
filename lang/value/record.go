package value

import (
	"sync/atomic"
	"unsafe"
)

// Record is the object behind a record: Vals[i] belongs to Shape.Keys()[i].
// Neither is changed once the record is shared.
type Record struct {
	kind  Kind
	grown atomic.Bool // the room behind Vals has been given to a longer record
	Shape *Shape
	Vals  []Value
}

// NewRecord makes a record that owns vals; len(vals) is the shape's length.
func NewRecord(shape *Shape, vals []Value) Value {
	return newRecord(shape, vals).Value()
}

func newRecord(shape *Shape, vals []Value) *Record {
	return &Record{kind: KindRecord, Shape: shape, Vals: vals[:len(vals):len(vals)]}
}

// roomy is a record with its values in the same object.
type roomy[Vals any] struct {
	Record
	vals Vals
}

// NewRow makes a record whose fields, null so far, the caller sets before
// anybody else sees it.
func NewRow(shape *Shape) *Record {
	switch shape.Len() {
	case 1:
		r := &roomy[[1]Value]{}
		return r.own(shape, r.vals[:])
	case 2:
		r := &roomy[[2]Value]{}
		return r.own(shape, r.vals[:])
	case 3:
		r := &roomy[[3]Value]{}
		return r.own(shape, r.vals[:])
	case 4:
		r := &roomy[[4]Value]{}
		return r.own(shape, r.vals[:])
	case 5:
		r := &roomy[[5]Value]{}
		return r.own(shape, r.vals[:])
	case 6:
		r := &roomy[[6]Value]{}
		return r.own(shape, r.vals[:])
	}
	return newRecord(shape, make([]Value, shape.Len()))
}

// own makes r a record of vals.
func (r *Record) own(shape *Shape, vals []Value) *Record {
	r.kind, r.Shape, r.Vals = KindRecord, shape, vals
	return r
}

// AsRecord is the object behind a record.
func (v Value) AsRecord() *Record { return (*Record)(v.p) }

// Value is the record as a Value again.
func (r *Record) Value() Value { return Value{unsafe.Pointer(r), 0} }

// Len is the number of fields.
func (r *Record) Len() int { return len(r.Vals) }

// Get finds a field.
func (r *Record) Get(key string) (Value, bool) {
	if i := r.Shape.Slot(key); i >= 0 {
		return r.Vals[i], true
	}
	return Null, false
}

// Set returns a copy with key set; an existing key keeps its position. Adding
// new keys one after the other to the newest record is linear: the copies
// share their common beginning.
func (r *Record) Set(key string, v Value) *Record {
	if i := r.Shape.Slot(key); i >= 0 {
		vals := append([]Value(nil), r.Vals...)
		vals[i] = v
		return newRecord(r.Shape, vals)
	}
	vals := r.Vals
	if cap(vals) == len(vals) || r.grown.Swap(true) {
		vals = make([]Value, len(r.Vals), roomFor(len(r.Vals)))
		copy(vals, r.Vals)
	}
	return &Record{kind: KindRecord, Shape: r.Shape.With(key), Vals: append(vals, v)}
}

// roomFor is the capacity for n items that are about to grow.
func roomFor(n int) int {
	if n < fewKeys {
		return n + 1
	}
	return 2 * n
}

// RecordBuilder collects fields in order; a repeated key keeps its first
// position and its last value. The zero RecordBuilder is ready.
type RecordBuilder struct {
	shape *Shape         // while there are few keys
	keys  []string       // after that
	at    map[string]int // positions in keys
	vals  []Value
}

// Add sets a field.
func (b *RecordBuilder) Add(key string, v Value) {
	if b.at != nil {
		b.addKey(key, v)
		return
	}
	if b.shape == nil {
		b.shape = EmptyShape
	}
	if i := b.shape.Slot(key); i >= 0 {
		b.vals[i] = v
		return
	}
	if b.shape.Len() >= maxTracked {
		b.leaveTree()
		b.addKey(key, v)
		return
	}
	b.shape = b.shape.With(key)
	b.vals = append(b.vals, v)
}

// leaveTree goes on with a key list of the builder's own.
func (b *RecordBuilder) leaveTree() {
	b.keys = append(b.keys, b.shape.keys...)
	b.at = make(map[string]int, 2*len(b.keys))
	for i, k := range b.keys {
		b.at[k] = i
	}
}

func (b *RecordBuilder) addKey(key string, v Value) {
	if i, ok := b.at[key]; ok {
		b.vals[i] = v
		return
	}
	b.at[key] = len(b.keys)
	b.keys = append(b.keys, key)
	b.vals = append(b.vals, v)
}

// Len is the number of fields so far.
func (b *RecordBuilder) Len() int { return len(b.vals) }

// Done is the finished record; the builder must not be used again.
func (b *RecordBuilder) Done() Value {
	if b.at != nil {
		return NewRecord(&Shape{keys: b.keys, index: &keyIndex{at: b.at}}, b.vals)
	}
	if b.shape == nil {
		b.shape = EmptyShape
	}
	return NewRecord(b.shape, b.vals)
}
