package value

import (
	"sync"
	"unsafe"
)

// Shape is the ordered key list that records share: one pointer comparison
// tells whether two records have the same fields in the same order. Shapes
// form a tree of transitions and are safe for concurrent use.
type Shape struct {
	keys  []string
	index map[string]int // nil while there are few keys

	mu   sync.RWMutex
	next map[string]*Shape
}

// EmptyShape is the root of all shapes.
var EmptyShape = &Shape{}

// fewKeys is up to how many keys a linear search beats a map.
const fewKeys = 8

// Keys is the ordered key list; it must not be changed.
func (s *Shape) Keys() []string { return s.keys }

// Slot is the position of key, or -1.
func (s *Shape) Slot(key string) int {
	if s.index != nil {
		if i, ok := s.index[key]; ok {
			return i
		}
		return -1
	}
	for i, k := range s.keys {
		if k == key {
			return i
		}
	}
	return -1
}

// With is the shape with key appended; key must not be in s.
func (s *Shape) With(key string) *Shape {
	s.mu.RLock()
	next := s.next[key]
	s.mu.RUnlock()
	if next != nil {
		return next
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if next := s.next[key]; next != nil {
		return next
	}
	next = extend(s.keys, key)
	if len(s.next) < maxTransitions {
		if s.next == nil {
			s.next = make(map[string]*Shape)
		}
		s.next[key] = next
	}
	return next
}

// maxTransitions bounds the tree: objects used as maps (keys that are data)
// get shapes of their own instead of growing it for ever.
const maxTransitions = 64

// extend builds the shape of keys and one more.
func extend(keys []string, key string) *Shape {
	all := make([]string, len(keys)+1)
	copy(all, keys)
	all[len(keys)] = key
	s := &Shape{keys: all}
	if len(all) > fewKeys {
		s.index = make(map[string]int, len(all))
		for i, k := range all {
			s.index[k] = i
		}
	}
	return s
}

// ShapeOf is the shape of the given distinct keys.
func ShapeOf(keys ...string) *Shape {
	s := EmptyShape
	for _, k := range keys {
		s = s.With(k)
	}
	return s
}

// Record is the object behind a record: Vals[i] belongs to Shape.Keys()[i].
type Record struct {
	kind  Kind
	Shape *Shape
	Vals  []Value
}

// NewRecord makes a record that owns vals; len(vals) is the shape's length.
func NewRecord(shape *Shape, vals []Value) Value {
	return Value{unsafe.Pointer(&Record{KindRecord, shape, vals}), 0}
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

// Set returns a copy with key set; an existing key keeps its position.
func (r *Record) Set(key string, v Value) *Record {
	i := r.Shape.Slot(key)
	if i >= 0 {
		vals := append([]Value(nil), r.Vals...)
		vals[i] = v
		return &Record{KindRecord, r.Shape, vals}
	}
	vals := make([]Value, len(r.Vals)+1)
	copy(vals, r.Vals)
	vals[len(r.Vals)] = v
	return &Record{KindRecord, r.Shape.With(key), vals}
}

// RecordBuilder collects fields in order; a repeated key keeps its first
// position and its last value. The zero RecordBuilder is ready.
type RecordBuilder struct {
	shape *Shape
	vals  []Value
}

// Add sets a field.
func (b *RecordBuilder) Add(key string, v Value) {
	if b.shape == nil {
		b.shape = EmptyShape
	}
	if i := b.shape.Slot(key); i >= 0 {
		b.vals[i] = v
		return
	}
	b.shape = b.shape.With(key)
	b.vals = append(b.vals, v)
}

// Done is the finished record; the builder must not be used again.
func (b *RecordBuilder) Done() Value {
	if b.shape == nil {
		b.shape = EmptyShape
	}
	return NewRecord(b.shape, b.vals)
}

// Table is the object behind a table: records, usually of one shape.
type Table struct {
	kind Kind
	Rows []*Record
}

// NewTable makes a table that owns rows.
func NewTable(rows []*Record) Value { return Value{unsafe.Pointer(&Table{KindTable, rows}), 0} }

// AsTable is the object behind a table.
func (v Value) AsTable() *Table { return (*Table)(v.p) }

// Columns is the key list of all rows in first-seen order.
func (t *Table) Columns() []string {
	if len(t.Rows) == 0 {
		return nil
	}
	first := t.Rows[0].Shape
	cols := first.keys
	var seen map[string]bool
	for _, r := range t.Rows[1:] {
		if r.Shape == first {
			continue
		}
		if seen == nil {
			seen = make(map[string]bool, len(cols))
			for _, k := range cols {
				seen[k] = true
			}
			cols = append([]string(nil), cols...)
		}
		for _, k := range r.Shape.keys {
			if !seen[k] {
				seen[k] = true
				cols = append(cols, k)
			}
		}
	}
	return cols
}
