package value

import (
	"time"
	"unsafe"
)

// slab cuts many small objects from few blocks. A block lives as long as any
// of its objects, so blocks are bounded: a survivor keeps a few neighbours, not
// the whole document.
type slab struct {
	texts   []farText
	records []Record
	times   []Datetime
	values  []Value
	bytes   []byte
}

const (
	slabFirst = 8
	slabMost  = 256
	// slabBytes bounds blocks of string bytes.
	slabBytes = 16 << 10
)

// grow is the size of the block after one of n.
func grow(n int) int { return min(max(2*n, slabFirst), slabMost) }

// str makes a str of a copy of s, so that the source of s can go.
func (b *slab) str(s string) Value {
	if len(s) >= pieceBytes {
		return StrOf(textBytes(s))
	}
	return nearText(KindStr, b.block(nearSize(len(s))), s)
}

// path makes a path of a copy of dir and name.
func (b *slab) path(dir, name string) Value {
	block := b.block(nearSize(len(dir) + len(name)))
	v := nearText(KindPath, block, dir)
	copy(block[headSize+len(dir):], name)
	v.n += int64(len(name))
	return v
}

// block is room for size bytes.
func (b *slab) block(size int) []byte {
	n := len(b.bytes)
	if n+size > cap(b.bytes) {
		if size > slabBytes/8 {
			return make([]byte, size)
		}
		b.bytes = make([]byte, 0, min(max(2*cap(b.bytes), 64, size), slabBytes))
		n = 0
	}
	b.bytes = b.bytes[:n+size]
	return b.bytes[n:]
}

// far makes a text that keeps the bytes of s.
func (b *slab) far(k Kind, s string) Value {
	if len(b.texts) == cap(b.texts) {
		b.texts = make([]farText, 0, grow(cap(b.texts)))
	}
	n := len(b.texts)
	b.texts = b.texts[:n+1]
	t := &b.texts[n]
	t.kind, t.data = k, unsafe.StringData(s)
	return farValue(t, len(s))
}

// datetime makes a datetime.
func (b *slab) datetime(t time.Time) Value {
	if len(b.times) == cap(b.times) {
		b.times = make([]Datetime, 0, grow(cap(b.times)))
	}
	b.times = append(b.times, Datetime{KindDatetime, t})
	return Value{unsafe.Pointer(&b.times[len(b.times)-1]), 0}
}

// vals is a copy of items.
func (b *slab) vals(items []Value) []Value {
	k := len(items)
	n := len(b.values)
	if n+k > cap(b.values) {
		if k > slabMost/4 {
			return Extend(nil, items)
		}
		b.values = make([]Value, 0, max(grow(cap(b.values)), k))
		n = 0
	}
	b.values = append(b.values, items...)
	return b.values[n : n+k : n+k]
}

// nulls is room for k values.
func (b *slab) nulls(k int) []Value {
	n := len(b.values)
	if n+k > cap(b.values) {
		if k > slabMost/4 {
			return make([]Value, k)
		}
		b.values = make([]Value, 0, max(grow(cap(b.values)), k))
		n = 0
	}
	b.values = b.values[:n+k]
	return b.values[n : n+k : n+k]
}

// record makes a record that owns vals.
func (b *slab) record(shape *Shape, vals []Value) Value {
	if len(b.records) == cap(b.records) {
		b.records = make([]Record, 0, grow(cap(b.records)))
	}
	n := len(b.records)
	b.records = b.records[:n+1]
	r := &b.records[n]
	r.kind, r.Shape, r.Vals = KindRecord, shape, vals
	return r.Value()
}
