package builtin

// Sorting extracts the keys once into a flat column, and chooses by what the
// column holds: integers of every sort (int, size, duration, time, datetime,
// bool) and floats become order-preserving uint64 and go through a radix sort;
// strings do the same, eight bytes at a time. Ties keep their order.

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// radixMin is from how many keys on radix passes beat comparing.
const radixMin = 512

// column is the keys of a sequence in comparable form.
type column struct {
	kind  value.Kind // of all keys; KindNull while there are none
	mixed bool       // ints and floats: compared as numbers
	keys  []value.Value
}

func seqSort(c *interp.Call, a []value.Value) (value.Value, error) {
	all, err := items(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	keys := all
	if !a[0].IsNull() {
		if keys, err = keyColumn(c, all, a[0]); err != nil {
			return value.Null, err
		}
	}
	order, err := sortOrder(c, keys)
	if err != nil {
		return value.Null, err
	}
	out := make([]value.Value, len(all))
	for i, at := range order {
		out[i] = all[at]
	}
	return value.NewList(out), nil
}

// keyColumn is f of every item.
func keyColumn(c *interp.Call, all []value.Value, fn value.Value) ([]value.Value, error) {
	keys := make([]value.Value, len(all))
	f, err := c.M.Callback(fn, 1)
	if err != nil {
		return nil, err
	}
	if name, ok := f.FieldName(); ok && fieldColumn(all, name, keys) {
		return keys, nil
	}
	for i, x := range all {
		k, err := f.Call1(x)
		if err != nil {
			return nil, err
		}
		keys[i] = k
	}
	return keys, nil
}

// fieldColumn reads a field of all items at once, if all are records that have
// it; otherwise the callback finds the right words.
func fieldColumn(all []value.Value, name string, keys []value.Value) bool {
	var shape *value.Shape
	slot := -1
	for i, x := range all {
		if x.Kind() != value.KindRecord {
			return false
		}
		r := x.AsRecord()
		if r.Shape != shape {
			shape = r.Shape
			slot = shape.Slot(name)
		}
		if slot < 0 {
			return false
		}
		keys[i] = r.Vals[slot]
	}
	return true
}

// sortOrder is the permutation that sorts keys.
func sortOrder(c *interp.Call, keys []value.Value) ([]uint32, error) {
	if len(keys) < 2 {
		return make([]uint32, len(keys)), nil
	}
	col, err := classify(c, keys)
	if err != nil {
		return nil, err
	}
	switch {
	case col.kind == value.KindStr || col.kind == value.KindPath:
		return orderStrings(keys), nil
	case col.mixed:
		return orderCompared(c, keys)
	default:
		return orderBits(bitKeys(col)), nil
	}
}

// classify checks that any two keys can be compared.
func classify(c *interp.Call, keys []value.Value) (column, error) {
	col := column{kind: keys[0].Kind(), keys: keys}
	for i, k := range keys {
		kind := k.Kind()
		if kind == value.KindFloat && math.IsNaN(k.AsFloat()) {
			return col, cannotCompare(c, k, keys[max(0, i-1)])
		}
		if kind == col.kind {
			continue
		}
		if !isNumber(kind) || !isNumber(col.kind) {
			return col, cannotCompare(c, keys[0], k)
		}
		col.mixed = true
	}
	if !comparable64[col.kind] && col.kind != value.KindStr && col.kind != value.KindPath {
		return col, cannotCompare(c, keys[0], keys[1])
	}
	return col, nil
}

func isNumber(k value.Kind) bool { return k == value.KindInt || k == value.KindFloat }

// comparable64 are the kinds whose order is that of a uint64.
var comparable64 = [64]bool{
	value.KindInt: true, value.KindFloat: true, value.KindSize: true, value.KindDuration: true,
	value.KindTime: true, value.KindBool: true, value.KindDatetime: true,
}

func cannotCompare(c *interp.Call, a, b value.Value) error {
	return typeErr(c.Span, "cannot compare %s with %s", a.Kind(), b.Kind())
}

// bitKeys maps keys to uint64 in the same order. A datetime outside the years
// that nanoseconds can count is rare enough to be compared instead.
func bitKeys(col column) []uint64 {
	bits := make([]uint64, len(col.keys))
	const sign = 1 << 63
	for i, k := range col.keys {
		switch col.kind {
		case value.KindFloat:
			b := math.Float64bits(k.AsFloat() + 0) // -0 sorts as 0
			if b&sign != 0 {
				b = ^b
			} else {
				b |= sign
			}
			bits[i] = b
		case value.KindSize:
			bits[i] = k.AsSize()
		case value.KindBool:
			if k.AsBool() {
				bits[i] = 1
			}
		case value.KindDatetime:
			bits[i] = uint64(k.AsDatetime().UnixNano()) ^ sign
		default:
			bits[i] = uint64(k.AsInt()) ^ sign
		}
	}
	return bits
}

type bitKey struct {
	bits uint64
	at   uint32
}

func orderBits(bits []uint64) []uint32 {
	keys := make([]bitKey, len(bits))
	var all, common uint64 = 0, math.MaxUint64
	sorted := true
	for i, b := range bits {
		keys[i] = bitKey{b, uint32(i)}
		all |= b
		common &= b
		sorted = sorted && (i == 0 || bits[i-1] <= b)
	}
	switch {
	case sorted:
	case len(keys) < radixMin:
		slices.SortFunc(keys, func(a, b bitKey) int {
			return cmp.Or(cmp.Compare(a.bits, b.bits), cmp.Compare(a.at, b.at))
		})
	default:
		keys = radix(keys, all&^common)
	}
	order := make([]uint32, len(keys))
	for i, k := range keys {
		order[i] = k.at
	}
	return order
}

// radix sorts by the bytes in which keys differ, least first; stable.
func radix(keys []bitKey, differ uint64) []bitKey {
	spare := make([]bitKey, len(keys))
	for shift := 0; shift < 64; shift += 8 {
		if differ>>shift&0xff == 0 {
			continue
		}
		var at [256]int
		for _, k := range keys {
			at[k.bits>>shift&0xff]++
		}
		sum := 0
		for i, n := range at {
			at[i] = sum
			sum += n
		}
		for _, k := range keys {
			b := k.bits >> shift & 0xff
			spare[at[b]] = k
			at[b]++
		}
		keys, spare = spare, keys
	}
	return keys
}

// orderStrings sorts eight bytes at a time: what the keys have in common is
// skipped, the next eight bytes go through orderBits, and keys that are still
// equal are sorted by what follows.
func orderStrings(keys []value.Value) []uint32 {
	order := make([]uint32, len(keys))
	for i := range order {
		order[i] = uint32(i)
	}
	sortStrings(keys, order, 0)
	return order
}

// sortStrings sorts part, whose keys agree in their first from bytes; equal
// keys keep their order.
func sortStrings(keys []value.Value, part []uint32, from int) {
	if len(part) < radixMin {
		slices.SortStableFunc(part, func(i, j uint32) int {
			return strings.Compare(keys[i].AsStr()[from:], keys[j].AsStr()[from:])
		})
		return
	}
	from, longest := commonPrefix(keys, part, from)
	if from == longest {
		return // all the same
	}
	bits := make([]uint64, len(part))
	for i, at := range part {
		bits[i] = headBits(keys[at].AsStr()[from:])
	}
	byHead := orderBits(bits)
	sorted := make([]uint32, len(part))
	for i, at := range byHead {
		sorted[i] = part[at]
	}
	copy(part, sorted)
	for start := 0; start < len(part); {
		end := start + 1
		for end < len(part) && bits[byHead[end]] == bits[byHead[start]] {
			end++
		}
		if end-start > 1 {
			sortTies(keys, part[start:end], from+8)
		}
		start = end
	}
}

// sortTies sorts keys whose bytes before from are equal once the missing ones
// are taken as zeros: shorter keys come first.
func sortTies(keys []value.Value, part []uint32, from int) {
	slices.SortStableFunc(part, func(i, j uint32) int {
		return cmp.Compare(min(len(keys[i].AsStr()), from), min(len(keys[j].AsStr()), from))
	})
	whole, _ := slices.BinarySearchFunc(part, from, func(at uint32, from int) int {
		return cmp.Compare(min(len(keys[at].AsStr()), from), from)
	})
	if rest := part[whole:]; len(rest) > 1 {
		sortStrings(keys, rest, from)
	}
}

// commonPrefix is how many bytes all keys of part have in common, from of them
// being known, and the length of the longest key.
func commonPrefix(keys []value.Value, part []uint32, from int) (common, longest int) {
	first := keys[part[0]].AsStr()
	common, longest = len(first), len(first)
	for _, at := range part[1:] {
		s := keys[at].AsStr()
		longest = max(longest, len(s))
		n := min(common, len(s))
		same := from
		for same < n && s[same] == first[same] {
			same++
		}
		common = same
	}
	return common, longest
}

// headBits is the first eight bytes, big endian, padded with zeros.
func headBits(s string) uint64 {
	if len(s) >= 8 {
		return binary.BigEndian.Uint64([]byte(s[:8]))
	}
	var b [8]byte
	copy(b[:], s)
	return binary.BigEndian.Uint64(b[:])
}

func orderCompared(c *interp.Call, keys []value.Value) ([]uint32, error) {
	order := make([]uint32, len(keys))
	for i := range order {
		order[i] = uint32(i)
	}
	var failed error
	slices.SortStableFunc(order, func(i, j uint32) int {
		n, err := compare(c, keys[i], keys[j])
		if err != nil && failed == nil {
			failed = err
		}
		return n
	})
	return order, failed
}

// extreme is the least (sign -1) or greatest (sign 1) item; the first of
// equals.
func extreme(c *interp.Call, sign int) (value.Value, error) {
	if c.Recv.Kind() == value.KindRange {
		return rangeExtreme(c.Recv.AsRange(), sign), nil
	}
	all, err := items(c, c.Recv)
	if err != nil || len(all) == 0 {
		return value.Null, err
	}
	best := all[0]
	for _, x := range all[1:] {
		n, err := compare(c, x, best)
		if err != nil {
			return value.Null, err
		}
		if n*sign > 0 {
			best = x
		}
	}
	return best, nil
}

func rangeExtreme(r *value.Range, sign int) value.Value {
	n := r.Len()
	switch {
	case n == 0:
		return value.Null
	case sign < 0:
		return value.Int(r.Start)
	}
	return value.Int(r.Start + (n - 1))
}

func seqMin(c *interp.Call, _ []value.Value) (value.Value, error) { return extreme(c, -1) }

func seqMax(c *interp.Call, _ []value.Value) (value.Value, error) { return extreme(c, 1) }
