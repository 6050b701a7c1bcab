package value

import "unsafe"

// IsInt reports whether v is an int, with one comparison.
func (v Value) IsInt() bool { return v.p == unsafe.Pointer(&tags[KindInt]) }

// IsBool reports whether v is a bool, with one comparison.
func (v Value) IsBool() bool { return v.p == unsafe.Pointer(&tags[KindBool]) }

// IsFloat reports whether v is a float, with one comparison.
func (v Value) IsFloat() bool { return v.p == unsafe.Pointer(&tags[KindFloat]) }
