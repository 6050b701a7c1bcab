package view

import (
	"fmt"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

// length is how many items, characters or bytes v has for a slice.
func length(v value.Value) (int64, bool) {
	switch v.Kind() {
	case value.KindList:
		return int64(len(v.AsList().Items)), true
	case value.KindTable:
		return int64(v.AsTable().Len()), true
	case value.KindRange:
		return v.AsRange().Len(), true
	case value.KindBytes:
		return v.AsBytes().Len(), true
	case value.KindStr:
		return int64(utf8.RuneCountInString(v.AsStr())), true
	}
	return 0, false
}

// Slice is the part of v from start up to end: of lists, tables and ranges by
// item, of str by Unicode scalar, of bytes by byte. An end beyond the length
// is clamped; a start beyond it or past end is a *PathError.
func (w Viewer) Slice(v value.Value, start, end int64) (value.Value, error) {
	n, ok := length(v)
	if !ok {
		return value.Null, &PathError{"", fmt.Sprintf("%s cannot be sliced", v.Kind())}
	}
	if start < 0 || start > n || end < start {
		return value.Null, badSlice(start, end, n)
	}
	end = min(end, n)
	switch v.Kind() {
	case value.KindList:
		return value.NewList(v.AsList().Items[start:end]), nil
	case value.KindTable:
		return v.AsTable().Slice(int(start), int(end)), nil
	case value.KindRange:
		first := v.AsRange().Start
		if end == start { // first+end may lie beyond int64
			return value.NewRange(first, first, false), nil
		}
		return value.NewRange(first+start, first+end-1, true), nil
	case value.KindBytes:
		return w.bytes(v.AsBytes(), start, end), nil
	}
	return value.Str(w.scalars(v.AsStr(), start, end)), nil
}

func badSlice(start, end, n int64) error {
	return &PathError{"", fmt.Sprintf("slice %d..%d does not fit, length %d", start, end, n)}
}

// scalars is where the part of s from character start up to end, which exist,
// begins and ends in bytes.
func scalars(s string, start, end int64) (from, to int) {
	from, n := len(s), int64(0)
	for i := range s {
		if n == start {
			from = i
		}
		if n == end {
			return min(from, i), i
		}
		n++
	}
	return from, len(s)
}
