// Package syntax turns source text into a tree and a tree back into text.
//
// It is pure: it owns no state between calls, reads nothing but its arguments
// and imports nothing of ours. It promises spans into the original source on
// every node and error, linear time, and an error instead of a panic for any
// input. It never resolves a name, runs a program or looks at a file; the one
// thing it asks of the session is which names are bound (Names).
package syntax

// Span is a half-open range of source bytes.
type Span struct{ Start, End int }

// Node is any part of the tree.
type Node interface{ Pos() Span }

// Pos makes everything that embeds a Span a Node.
func (s Span) Pos() Span { return s }

// Program is a whole parsed source.
type Program struct {
	Span
	Src   string
	Stmts []Stmt
	// Consulted lists, without repeats, the names whose binding in the session
	// decided how the source was read. The same source parses to the same tree
	// as long as the answers for these names stay the same.
	Consulted []string
	Notes     []Note
}

// Names are the session's bindings that decide between commands and
// expressions: Value holds variables, Command functions and aliases. A nil map
// holds nothing.
type Names struct{ Value, Command map[string]bool }

// Note is a remark about source that parses: dollar_in_string, unreachable.
type Note struct {
	Span
	Code string
	Msg  string
}

// Stmt is a statement.
type Stmt interface {
	Node
	stmt()
}

// Expr is an expression; a command is one too.
type Expr interface {
	Node
	expr()
}

// Statements.
type (
	// Let is `let NAME = value` or, when Mutable, `var NAME = value`. A Name of
	// "_" discards.
	Let struct {
		Span
		Name    string
		NamePos Span
		Mutable bool
		Export  bool
		Type    *Type
		Value   Expr
	}
	// Fn declares a named function. Doc is the comment block above it.
	Fn struct {
		Span
		Name   string
		Export bool
		Doc    string
		Func   *Lambda
	}
	// Alias stores a command under a name.
	Alias struct {
		Span
		Name string
		Cmd  *Command
	}
	// Use loads a module and binds it under its Stem.
	Use struct {
		Span
		Target CmdArg
	}
	// For runs Body for each item of Iter.
	For struct {
		Span
		Name string
		Iter Expr
		Body *Block
	}
	// While runs Body as long as Cond holds.
	While struct {
		Span
		Cond Expr
		Body *Block
	}
	// Return leaves the enclosing function; Value may be nil.
	Return struct {
		Span
		Value Expr
	}
	// Break leaves the innermost loop.
	Break struct{ Span }
	// Continue starts the next turn of the innermost loop.
	Continue struct{ Span }
	// Assign is `NAME op value`, or `env.NAME op value` when Env. Op is one of
	// = += -= *= /=.
	Assign struct {
		Span
		Name  string
		Env   bool
		Op    string
		Value Expr
	}
	// ExprStmt is an expression or command that stands as a statement,
	// together with its `&&`/`||` chain (a Binary) and its catch (a Catch).
	ExprStmt struct {
		Span
		X Expr
	}
)

func (*Let) stmt()      {}
func (*Fn) stmt()       {}
func (*Alias) stmt()    {}
func (*Use) stmt()      {}
func (*For) stmt()      {}
func (*While) stmt()    {}
func (*Return) stmt()   {}
func (*Break) stmt()    {}
func (*Continue) stmt() {}
func (*Assign) stmt()   {}
func (*ExprStmt) stmt() {}

// LitKind says what a Literal is.
type LitKind uint8

// The kinds of literal. LitSize counts bytes and LitDuration nanoseconds in
// Int; LitTime is seconds since midnight in Int; LitRegex, LitDatetime, LitStr
// and LitPath keep their text in Str.
const (
	LitNull LitKind = iota
	LitBool
	LitInt
	LitFloat
	LitStr
	LitSize
	LitDuration
	LitTime
	LitRegex
	LitDatetime
	LitPath
)

// Expressions.
type (
	// Literal is a constant. A size or duration that is out of range parses:
	// Overflow is set, Int is the largest one, Str the spelling, and evaluating
	// it raises overflow.
	Literal struct {
		Span
		Kind  LitKind
		Bool  bool
		Int   int64 // also the bits of a size above 2^63-1
		Float float64
		Str   string

		Overflow bool
	}
	// Interp is a string with holes; a part is text when X is nil.
	Interp struct {
		Span
		Parts []InterpPart
	}
	// InterpPart is one piece of an Interp.
	InterpPart struct {
		Text string
		X    Expr
	}
	// Name is an identifier in expression position.
	Name struct {
		Span
		Name string
	}
	// List is `[a, b]`.
	List struct {
		Span
		Items []Expr
	}
	// Record is `{k: v}`; `{a, b}` fields carry a Name of the same name.
	Record struct {
		Span
		Fields []RecordField
	}
	// RecordField is one entry of a Record.
	RecordField struct {
		Key   string
		KeyAt Span
		Value Expr
	}
	// Block is `{ stmts }`; as an expression its value is its last statement's.
	Block struct {
		Span
		Stmts []Stmt
	}
	// Paren is `( chain )`: kept, because a parenthesised command differs.
	Paren struct {
		Span
		X Expr
	}
	// If has an Else of nil, *Block or *If.
	If struct {
		Span
		Cond Expr
		Then *Block
		Else Expr
	}
	// Match tries its arms in order.
	Match struct {
		Span
		Subject Expr
		Arms    []Arm
	}
	// Arm is `pat | pat if guard => body`.
	Arm struct {
		Span
		Pats  []Pattern
		Guard Expr
		Body  Expr
	}
	// Try is `try { } catch e { }`. Binder is "" when there is none.
	Try struct {
		Span
		Body    *Block
		Binder  string
		Handler *Block
	}
	// Catch is the postfix form. Handler is any expression.
	Catch struct {
		Span
		X       Expr
		Binder  string
		Handler Expr
	}
	// With is `with cwd: …, env: … { }`.
	With struct {
		Span
		Entries []RecordField
		Body    *Block
	}
	// Spawn is `spawn { }`.
	Spawn struct {
		Span
		Body *Block
	}
	// Unary is `!x` or `-x`.
	Unary struct {
		Span
		Op string
		X  Expr
	}
	// Binary holds every infix operator: + - * / % == != < <= > >= in .. ..=
	// && || ??.
	Binary struct {
		Span
		Op    string
		OpPos Span
		L, R  Expr
	}
	// Field is `x.name` or, when Safe, `x?.name`.
	Field struct {
		Span
		X       Expr
		Name    string
		NamePos Span
		Safe    bool
	}
	// Method is `x.name(args)`; a trailing block is appended to Args as a
	// zero-parameter Lambda, also for `x.name { }` without parentheses.
	Method struct {
		Span
		X       Expr
		Name    string
		NamePos Span
		Safe    bool
		Args    []Arg
	}
	// Index is `x[i]`.
	Index struct {
		Span
		X, I Expr
	}
	// Call is `f(args)`, with a trailing block as in Method.
	Call struct {
		Span
		Fn   Expr
		Args []Arg
	}
	// Arg is one call argument; Name is "" for positional ones. Shorthand
	// arguments have become a Lambda with Implicit set. Cmd is set for the
	// argument of a method named feed when it reads as a command line (its head
	// is no variable): X is then a Name when the command is a bare name that
	// could also be a value, and the same *Command otherwise. Cmd is nil
	// elsewhere.
	Arg struct {
		Span
		Name string
		X    Expr
		Cmd  *Command
	}
	// Lambda is `x => body`, a fn's function, a shorthand argument (Implicit:
	// one parameter named ImplicitParam), or a trailing block (Trailing).
	Lambda struct {
		Span
		Params   []Param
		Ret      *Type
		Body     Expr // a *Block for fn and trailing blocks
		Implicit bool
		Trailing bool
		Fn       bool
		Name     string // of a fn
	}
	// Param is a parameter; Rest is `...name`.
	Param struct {
		Span
		Name    string
		Type    *Type
		Default Expr
		Rest    bool
	}
	// Type is an annotation such as list<int>?.
	Type struct {
		Span
		Name     string
		Args     []*Type
		Optional bool
	}
	// Command is a command line.
	Command struct {
		Span
		EnvPrefix  []EnvAssign
		Force      bool // ^
		Head       CmdArg
		Interp     *Payload // interpreter block; Head then holds its name
		Args       []CmdArg
		Redirects  []Redirect
		Trailing   *Lambda
		Background bool
	}
	// EnvAssign is a `NAME=value` prefix.
	EnvAssign struct {
		Span
		Name  string
		Value []WordPart
	}
	// Payload is the text of an interpreter block, ready to be passed on.
	Payload struct {
		Span
		Text string
	}
	// Redirect is `< > >>` with its target.
	Redirect struct {
		Span
		Op     string
		Target CmdArg
	}
)

// ImplicitParam is the parameter name of shorthand lambdas; no source can
// spell it.
const ImplicitParam = "\x00item"

func (*Literal) expr() {}
func (*Interp) expr()  {}
func (*Name) expr()    {}
func (*List) expr()    {}
func (*Record) expr()  {}
func (*Block) expr()   {}
func (*Paren) expr()   {}
func (*If) expr()      {}
func (*Match) expr()   {}
func (*Try) expr()     {}
func (*Catch) expr()   {}
func (*With) expr()    {}
func (*Spawn) expr()   {}
func (*Unary) expr()   {}
func (*Binary) expr()  {}
func (*Field) expr()   {}
func (*Method) expr()  {}
func (*Index) expr()   {}
func (*Call) expr()    {}
func (*Lambda) expr()  {}
func (*Command) expr() {}

// ArgKind is the shape of a command word.
type ArgKind uint8

// The shapes of command words.
const (
	ArgWord     ArgKind = iota // plain word, possibly of several touching pieces
	ArgString                  // one quoted string alone
	ArgPath                    // ~/ ./ ../ / or ~
	ArgGlob                    // has unquoted * ? [
	ArgValue                   // one (expr) alone
	ArgLong                    // --name or --name=value
	ArgShort                   // -abc
	ArgDash                    // -
	ArgDashDash                // --
	ArgSpread                  // ...(expr)
)

// CmdArg is one argument of a command. Text is the source spelling of words
// and flags with escapes and quotes removed, when it has no computed piece.
//
// Parts is nil when the argument is a single piece that Text or X says
// completely: an unquoted word, a quoted string without holes, one (expr).
// Otherwise it lists the touching pieces in order; for ArgLong with a value it
// always lists the pieces of the value, which may be none.
type CmdArg struct {
	Span
	Kind     ArgKind
	Text     string
	Parts    []WordPart // see above
	Flag     string     // name of a long flag, letters of a short cluster
	HasValue bool       // ArgLong with "="
	X        Expr       // ArgValue, ArgSpread
}

// WordPart is one touching piece of a word: text, quoted text, or a value. A
// quoted piece with holes has Quoted set and an *Interp in X. In an ArgGlob
// only unquoted text is a pattern (a backslash in it is an ordinary character);
// an escaped `*` there is a quoted piece of its own.
type WordPart struct {
	Text   string
	Quoted bool
	X      Expr
}

// Pattern is a match pattern.
type Pattern interface {
	Node
	pattern()
}

// Patterns.
type (
	// PatAny is `_`.
	PatAny struct{ Span }
	// PatBind binds Name; with Type set it also tests the runtime type.
	PatBind struct {
		Span
		Name string
		Type string
	}
	// PatLit tests equality with null, a bool, an int or a string.
	PatLit struct {
		Span
		Lit *Literal
	}
	// PatRange tests ints.
	PatRange struct {
		Span
		Start, End int64
		Inclusive  bool
	}
	// PatRecord tests named fields.
	PatRecord struct {
		Span
		Fields []PatField
	}
	// PatField is one field; Pat nil binds the field under its own name.
	PatField struct {
		Span
		Name string
		Pat  Pattern
	}
	// PatList tests items; HasRest allows more, bound to Rest unless "_".
	PatList struct {
		Span
		Items   []Pattern
		HasRest bool
		Rest    string
	}
)

func (*PatAny) pattern()    {}
func (*PatBind) pattern()   {}
func (*PatLit) pattern()    {}
func (*PatRange) pattern()  {}
func (*PatRecord) pattern() {}
func (*PatList) pattern()   {}
