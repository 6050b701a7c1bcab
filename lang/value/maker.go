package value

import "unsafe"

// Maker makes many small values with few allocations. The zero Maker is ready;
// it is not safe for concurrent use. A value keeps up to a few hundred of its
// neighbours alive.
type Maker struct{ slab slab }

// Str makes a str of s, whose bytes it keeps.
func (m *Maker) Str(s string) Value {
	b := &m.slab
	if len(b.texts) == cap(b.texts) {
		b.texts = make([]text, 0, grow(cap(b.texts)))
	}
	n := len(b.texts)
	b.texts = b.texts[:n+1]
	t := &b.texts[n]
	t.kind, t.s = KindStr, s
	return Value{unsafe.Pointer(t), 0}
}

// Record makes a record with a copy of vals.
func (m *Maker) Record(shape *Shape, vals []Value) *Record {
	return m.slab.record(shape, m.slab.vals(vals)).AsRecord()
}
