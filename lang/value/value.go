// Package value holds the language's values: one file per type, and what every
// type needs: comparing, rendering, converting, encoding.
//
// Values are immutable and safe to share between goroutines; whoever makes a
// value owns its parts until it hands them over. Nothing here opens a file (but
// for the system's time zones), starts a program, or knows a session: bytes
// that live elsewhere come in through Blob. Input from outside (JSON, stored
// values) never makes this package panic or recurse without limit.
package value

import (
	"math"
	"time"
	"unsafe"
)

// Kind is the runtime type of a Value.
type Kind uint8

// The kinds, in the order of the type table.
const (
	KindNull Kind = iota
	KindBool
	KindInt
	KindFloat
	KindStr
	KindPath
	KindGlob
	KindRegex
	KindSize
	KindDuration
	KindDatetime
	KindTime
	KindBytes
	KindList
	KindRecord
	KindTable
	KindRange
	KindStream
	KindError
	KindOutcome
	KindTask
	KindClosure
	KindCommand
	KindSecret
	kindCount
)

var kindNames = [kindCount]string{
	"null", "bool", "int", "float", "str", "path", "glob", "regex", "size",
	"duration", "datetime", "time", "bytes", "list", "record", "table", "range",
	"stream", "error", "outcome", "task", "closure", "command", "secret",
}

// String is the type's name in messages, patterns and on the wire.
func (k Kind) String() string { return kindNames[k] }

// ParseKind finds a kind by its name.
func ParseKind(s string) (Kind, bool) {
	for k, name := range kindNames {
		if name == s {
			return Kind(k), true
		}
	}
	return 0, false
}

// Value is one immutable value in 16 bytes. Scalars keep their payload in n
// and point at a static tag; everything else points at an object whose first
// field is its kind. The zero Value is null.
type Value struct {
	p unsafe.Pointer
	n int64
}

// tags are what scalars point at: tags[k] == k.
var tags = [kindCount]Kind{
	KindBool: KindBool, KindInt: KindInt, KindFloat: KindFloat,
	KindSize: KindSize, KindDuration: KindDuration, KindTime: KindTime,
}

// Null is the null value.
var Null = Value{}

// Kind is the value's runtime type.
func (v Value) Kind() Kind {
	if v.p == nil {
		return KindNull
	}
	return *(*Kind)(v.p)
}

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.p == nil }

func scalar(k Kind, n int64) Value { return Value{unsafe.Pointer(&tags[k]), n} }

// Bool makes a bool.
func Bool(b bool) Value {
	if b {
		return scalar(KindBool, 1)
	}
	return scalar(KindBool, 0)
}

// Int makes an int.
func Int(n int64) Value { return scalar(KindInt, n) }

// Float makes a float.
func Float(f float64) Value { return scalar(KindFloat, int64(math.Float64bits(f))) }

// Size makes a size of n bytes.
func Size(n uint64) Value { return scalar(KindSize, int64(n)) }

// Duration makes a duration.
func Duration(d time.Duration) Value { return scalar(KindDuration, int64(d)) }

// TimeOfDay makes a time from nanoseconds since midnight.
func TimeOfDay(ns int64) Value { return scalar(KindTime, ns) }

// The accessors below do not check the kind; callers switch on Kind first.

// AsBool is the payload of a bool.
func (v Value) AsBool() bool { return v.n != 0 }

// AsInt is the payload of an int.
func (v Value) AsInt() int64 { return v.n }

// AsFloat is the payload of a float.
func (v Value) AsFloat() float64 { return math.Float64frombits(uint64(v.n)) }

// AsSize is the payload of a size, in bytes.
func (v Value) AsSize() uint64 { return uint64(v.n) }

// AsDuration is the payload of a duration.
func (v Value) AsDuration() time.Duration { return time.Duration(v.n) }

// AsTimeOfDay is the payload of a time, in nanoseconds since midnight.
func (v Value) AsTimeOfDay() int64 { return v.n }

// Glob is a pattern with the directory it is relative to.
type Glob struct {
	kind    Kind
	Pattern string
	Cwd     string
	Hidden  bool
	Follow  bool
}

// NewGlob makes a glob.
func NewGlob(g Glob) Value { g.kind = KindGlob; return Value{unsafe.Pointer(&g), 0} }

// AsGlob is the object behind a glob.
func (v Value) AsGlob() *Glob { return (*Glob)(v.p) }

// Datetime is an instant with its zone.
type Datetime struct {
	kind Kind
	T    time.Time
}

// NewDatetime makes a datetime.
func NewDatetime(t time.Time) Value { return Value{unsafe.Pointer(&Datetime{KindDatetime, t}), 0} }

// AsDatetime is the instant of a datetime.
func (v Value) AsDatetime() time.Time { return (*Datetime)(v.p).T }

// Range is two ints and whether the end belongs to it.
type Range struct {
	kind       Kind
	Start, End int64
	Inclusive  bool
}

// NewRange makes a range.
func NewRange(start, end int64, inclusive bool) Value {
	return Value{unsafe.Pointer(&Range{KindRange, start, end, inclusive}), 0}
}

// AsRange is the object behind a range.
func (v Value) AsRange() *Range { return (*Range)(v.p) }

// Len is the number of ints in the range, saturated at the largest int64.
func (r *Range) Len() int64 {
	end := r.End
	if r.Inclusive {
		if end == math.MaxInt64 {
			if r.Start <= 0 {
				return math.MaxInt64
			}
			return end - r.Start + 1
		}
		end++
	}
	if end <= r.Start {
		return 0
	}
	if n := uint64(end) - uint64(r.Start); n <= math.MaxInt64 {
		return int64(n)
	}
	return math.MaxInt64
}
