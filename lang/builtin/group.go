package builtin

import (
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// index numbers values in the order in which they are first seen; equal ones
// share a number.
type index struct {
	hash   *value.Hasher
	newest map[uint64]int32 // of each hash: the newest value that has it
	values []indexed
}

type indexed struct {
	v     value.Value
	older int32 // with the same hash, or -1
}

func newIndex() *index { return &index{hash: value.NewHasher(), newest: map[uint64]int32{}} }

// add is the number of v and whether it was known.
func (x *index) add(v value.Value) (number int, known bool) {
	h := x.hash.Hash(v)
	older, found := x.newest[h]
	if !found {
		older = -1
	}
	for at := older; at >= 0; at = x.values[at].older {
		if value.Same(x.values[at].v, v) {
			return int(at), true
		}
	}
	x.newest[h] = int32(len(x.values))
	x.values = value.Push(x.values, indexed{v, older})
	return len(x.values) - 1, false
}

var groupShape = value.ShapeOf("key", "values")

func seqGroup(c *interp.Call, a []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	keys, err := keyColumn(c, all, a[0])
	if err != nil {
		return value.Null, err
	}
	// First count, then cut all groups out of one backing array.
	group := make([]uint32, len(all))
	var counts []int
	seen := newIndex()
	for i, k := range keys {
		if err := checkAt(c, i); err != nil {
			return value.Null, err
		}
		at, known := seen.add(k)
		if !known {
			counts = value.Push(counts, 0)
		}
		group[i] = uint32(at)
		counts[at]++
	}
	backing := make([]value.Value, len(all))
	parts := make([][]value.Value, len(counts))
	for g, n := range counts {
		parts[g], backing = backing[:0:n], backing[n:]
	}
	for i, g := range group {
		if err := checkAt(c, i); err != nil {
			return value.Null, err
		}
		parts[g] = append(parts[g], all[i])
	}
	out := make([]value.Value, len(counts))
	for g, head := range seen.values {
		if err := checkAt(c, g); err != nil {
			return value.Null, err
		}
		out[g] = value.NewRecord(groupShape, []value.Value{head.v, value.NewList(parts[g])})
	}
	return value.NewList(out), nil
}
