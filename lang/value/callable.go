package value

import "unsafe"

// Closure is the object behind a closure. Only the engine knows what Fn is.
type Closure struct {
	kind Kind
	Sig  string // inline rendering: "fn name(a, ...r)" or "closure(a)"
	Fn   any
}

// NewClosure makes a closure.
func NewClosure(sig string, fn any) Value {
	return Value{unsafe.Pointer(&Closure{KindClosure, sig, fn}), 0}
}

// AsClosure is the object behind a closure.
func (v Value) AsClosure() *Closure { return (*Closure)(v.p) }

// Command is the object behind a command value, such as an alias. Only the
// engine knows what Src is; Repr is the command's normal spelling and decides
// equality.
type Command struct {
	kind Kind
	Head string
	Repr string
	Src  any
}

// NewCommand makes a command value.
func NewCommand(head, repr string, src any) Value {
	return Value{unsafe.Pointer(&Command{KindCommand, head, repr, src}), 0}
}

// AsCommand is the object behind a command value.
func (v Value) AsCommand() *Command { return (*Command)(v.p) }
