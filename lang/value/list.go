package value

import (
	"sync/atomic"
	"unsafe"
)

// List is the object behind a list. Items are never changed once shared.
type List struct {
	kind  Kind
	grown atomic.Bool // the room behind Items has been given to a longer list
	Items []Value
}

// NewList makes a list that owns items.
func NewList(items []Value) Value {
	return Value{unsafe.Pointer(&List{kind: KindList, Items: items[:len(items):len(items)]}), 0}
}

// AsList is the object behind a list.
func (v Value) AsList() *List { return (*List)(v.p) }

// Value is the list as a Value again.
func (l *List) Value() Value { return Value{unsafe.Pointer(l), 0} }

// Append is a list of l's items and more. Appending again and again to the
// newest list is linear: the lists share their common beginning.
func (l *List) Append(more []Value) *List {
	items := l.Items
	if cap(items)-len(items) < len(more) || l.grown.Swap(true) {
		n := len(items) + len(more)
		items = make([]Value, len(l.Items), max(n, roomFor(len(l.Items))))
		copyPieces(items, l.Items)
	}
	return &List{kind: KindList, Items: Extend(items, more)}
}
