package value

import "time"

// Maker makes many small values with few allocations. The zero Maker is ready;
// it is not safe for concurrent use. A value keeps up to a few hundred of its
// neighbours alive.
type Maker struct{ slab slab }

// Str makes a str of s. It keeps the bytes of a long one and copies a short
// one.
func (m *Maker) Str(s string) Value {
	if len(s) <= nearSlab {
		return m.slab.str(s)
	}
	return m.slab.far(KindStr, s)
}

// Path makes a path that keeps the native bytes of s.
func (m *Maker) Path(s string) Value { return m.slab.far(KindPath, s) }

// PathIn makes a path of a copy of the bytes of dir, which ends with a slash,
// and name.
func (m *Maker) PathIn(dir, name string) Value { return m.slab.path(dir, name) }

// Datetime makes a datetime.
func (m *Maker) Datetime(t time.Time) Value { return m.slab.datetime(t) }

// Record makes a record with a copy of vals.
func (m *Maker) Record(shape *Shape, vals []Value) *Record {
	return m.slab.record(shape, m.slab.vals(vals)).AsRecord()
}

// Row makes a record whose fields, null so far, the caller sets before anybody
// else sees it.
func (m *Maker) Row(shape *Shape) *Record {
	return m.slab.record(shape, m.slab.nulls(shape.Len())).AsRecord()
}
