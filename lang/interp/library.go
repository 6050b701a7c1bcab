package interp

import (
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Library is the standard library as the engine sees it: rows of a table that
// lives elsewhere. The engine looks names up in it and never knows a builtin
// by name.
type Library interface {
	// Head finds a command head such as ls; nil if there is none.
	Head(name string) *Head
	// Method finds the method for a receiver kind. A method that exists only
	// for other kinds gives nil.
	Method(k value.Kind, name string) *Method
	// Field finds a computed field of a kind that is no record, such as a
	// path's stem; nil if there is none.
	Field(k value.Kind, name string) *Method
	// Function finds a reserved or constructor call name such as range.
	Function(name string) *Function
	// Member finds a namespace member such as json.parse.
	Member(namespace, name string) *Function
	// Namespace reports whether the name is a namespace.
	Namespace(name string) bool
	// MissingMethod words the error for a method that does not exist on v.
	MissingMethod(v value.Value, name string, span syntax.Span) *value.Error
	// HeadNames lists the command heads, for "did you mean".
	HeadNames() []string
}

// Word is one evaluated argument of a command head.
type Word struct {
	Kind  syntax.ArgKind
	Text  string      // words and flags: spelling without quotes
	Flag  string      // long flag: its name; short cluster: its letters
	Value value.Value // the value of an argument, or of a flag with "="
	Has   bool        // Value is set
	Span  syntax.Span
}

// Named is a named argument of a call.
type Named struct {
	Name  string
	Value value.Value
	Span  syntax.Span
}

// Call is what a library function gets. The engine uses the Call and Args again
// after Run has returned: what outlives the call must be copied.
type Call struct {
	M     *Machine
	Name  string
	Recv  value.Value // methods and fields only
	Args  []value.Value
	Named []Named
	Span  syntax.Span

	buf [4]value.Value // room for Args
}

// HeadCall is what a command head gets.
type HeadCall struct {
	M     *Machine
	Name  string
	Words []Word
	Block value.Value // trailing block, or null
	Span  syntax.Span
	// Unmatched says that there are fewer Words than were written, because a
	// pattern matched nothing.
	Unmatched bool
}

// Doc is the part of a row that references are generated from.
type Doc struct {
	Name      string
	Signature string
	Text      string
}

// EffectArg is an argument as the planner knows it: a constant, or not.
type EffectArg struct {
	Known  bool
	Value  value.Value
	Flag   string
	Prefix string // what a text, or the name of a channel, that is not known begins with
}

// EffectFunc derives effects from arguments without running anything; cwd
// resolves relative paths.
type EffectFunc func(args []EffectArg, cwd string) []effect.Effect

// Head is the row of a command head. Structured heads give an outcome around
// their value, direct ones the value itself. What a head that Runs programs
// gives is the program's outcome: where it stands decides whether a failed one
// raises, and a redirect gets its output.
type Head struct {
	Doc
	Structured bool
	Runs       bool
	Effects    EffectFunc // nil: none
	Run        func(c *HeadCall) (value.Value, error)
}

// Method is the row of a method or computed field.
type Method struct {
	Doc
	Effects func(recv EffectArg, args []EffectArg, cwd string) []effect.Effect // nil: none
	Run     func(c *Call) (value.Value, error)
	// Plain, where it is set, gives at once what Run gives of a str and no
	// arguments; false leaves it to Run.
	Plain func(recv value.Value) (value.Value, bool)
}

// Function is the row of a call name, constructor or namespace member. Const
// marks a member that is a value, not a call (math.pi); Runs is as in Head.
type Function struct {
	Doc
	Const   bool
	Runs    bool
	Effects EffectFunc
	Run     func(c *Call) (value.Value, error)
}
