// Package resolve decides, before anything runs, what every name of a program
// refers to: a slot of the running function, a value or cell that a closure
// captured, the function itself, or a binding of the session.
//
// It owns nothing and keeps nothing: Program reads a tree and gives tables
// about it. It promises that a variable is put into a cell of its own only when
// a closure captures it and something assigns it afterwards, and that every
// other captured variable may be copied. It never looks at a session: names
// that no enclosing function declares are left to the run, because sessions
// differ and programs are shared between them.
//
// The one difficulty is a closure that uses a name which an enclosing block
// declares further down (two local functions that call each other). Such uses
// wait in the block's scope; when the block ends and has declared the name,
// they are bound to it and the variable becomes hoisted: its cell exists from
// the start of the block. Earlier declarations always win.
package resolve

import "shoal.dev/shoal/lang/syntax"

// VarKind says how a variable came to be.
type VarKind uint8

// The kinds of variable. A Binder is a parameter, loop variable, pattern or
// catch name.
const (
	Let VarKind = iota
	Mutable
	Fn
	Alias
	Binder
)

// Var is a variable of a function. Slot is its place in the frame; Box, when
// not negative, its place among the function's cells, which it then uses
// instead.
type Var struct {
	Name    string
	Kind    VarKind
	Slot    int
	Box     int
	Hoisted bool

	owner    *Func
	captured bool
	mutated  bool
	self     *Func // the function that a Fn variable holds
}

// Boxed reports whether the variable lives in a cell.
func (v *Var) Boxed() bool { return v.Box >= 0 }

// Ref is what a name refers to in the function in which it stands.
type Ref struct {
	Name    string
	Global  int  // index into Info.Globals, when Var is nil
	Var     *Var // nil: a session name
	Self    bool // the running function itself
	Capture int  // index into the function's Captures, -1 for its own variables

	in *Func
}

// Capture is a variable that a closure takes along when it is made. Index
// counts boxed and plain captures separately. From is where the enclosing
// function finds it.
type Capture struct {
	Var   *Var
	Index int
	From  Ref
}

// Boxed reports whether the closure takes the variable's cell instead of its
// value.
func (c *Capture) Boxed() bool { return c.Var.Boxed() && !c.From.Self }

// Func is a function, the program itself, or the body of a spawn.
type Func struct {
	Node     syntax.Node
	Params   []*Var
	Slots    int // size of the frame
	Boxes    int // number of cells
	Captures []*Capture
	// Weight is the depth of the deepest expression: what one call can take of
	// the evaluator's own stack.
	Weight int
	// Stmt is the index of the top-level statement that holds the function,
	// Ordinal its number among the functions of that statement.
	Stmt    int
	Ordinal int

	parent     *Func
	outerDepth int
	selfVar    *Var
	next       int
	vars       []*Var
}

// SelfName is the name under which the function refers to itself as a local
// variable, or "".
func (f *Func) SelfName() string {
	if f.selfVar == nil {
		return ""
	}
	return f.selfVar.Name
}

// Info is all there is to know about a program's names.
type Info struct {
	Main    *Func
	Funcs   map[syntax.Node]*Func
	Refs    map[syntax.Node]*Ref   // Name, Assign and Command nodes
	Decls   map[syntax.Node][]*Var // Let, Fn, Alias, For, Try, Catch nodes and patterns
	Hoisted map[*syntax.Block][]*Var
	Globals []string
	// TooDeep is set when the tree is too deep to be compiled; the tables are
	// then incomplete.
	TooDeep bool

	globals map[string]int
}

// Program resolves a program.
func Program(p *syntax.Program) *Info {
	r := &resolver{info: &Info{
		Funcs:   map[syntax.Node]*Func{},
		Refs:    map[syntax.Node]*Ref{},
		Decls:   map[syntax.Node][]*Var{},
		Hoisted: map[*syntax.Block][]*Var{},
		globals: map[string]int{},
	}}
	r.fn = &Func{Node: p}
	r.info.Main = r.fn
	r.info.Funcs[p] = r.fn
	r.funcs = append(r.funcs, r.fn)
	for i, s := range p.Stmts {
		r.stmtIndex, r.ordinal = i, 0
		r.stmt(s)
	}
	r.finish()
	return r.info
}

// GlobalIndex is the index of a session name in Globals, or -1 when the
// program does not mention it.
func (i *Info) GlobalIndex(name string) int {
	if n, ok := i.globals[name]; ok {
		return n
	}
	return -1
}

type resolver struct {
	info      *Info
	fn        *Func
	scope     *scope // nil at the top level, whose names are the session's
	funcs     []*Func
	depth     int // within fn
	nesting   int // of the functions around fn
	stmtIndex int
	ordinal   int
}

// scope is a block, call, arm or handler.
type scope struct {
	parent  *scope
	fn      *Func
	vars    map[string]*Var
	mark    int // fn.next when the scope was opened
	pending []*Ref
	hoisted []*Var
}

// hoist makes a variable's cell exist from the start of the scope.
func (s *scope) hoist(v *Var) {
	if !v.Hoisted {
		v.Hoisted, v.mutated = true, true
		s.hoisted = append(s.hoisted, v)
	}
}

func (r *resolver) open() {
	r.scope = &scope{parent: r.scope, fn: r.fn, mark: r.fn.next}
}

// close ends a scope and gives the variables that had to be hoisted.
func (r *resolver) close() []*Var {
	s := r.scope
	r.scope = s.parent
	r.fn.next = s.mark
	for _, ref := range s.pending {
		if v := s.vars[ref.Name]; v != nil {
			s.hoist(v)
			r.bind(ref, v)
		} else if outer := outside(s.parent, ref.in); outer != nil {
			outer.pending = append(outer.pending, ref)
		}
	}
	return s.hoisted
}

// outside is the innermost scope from s outwards that does not belong to fn.
func outside(s *scope, fn *Func) *scope {
	for s != nil && s.fn == fn {
		s = s.parent
	}
	return s
}

// declare makes a variable in the current scope. Declaring a name again in the
// same scope replaces what it holds, also for closures that captured it.
func (r *resolver) declare(name string, kind VarKind) *Var {
	s := r.scope
	if v := s.vars[name]; v != nil {
		v.Kind, v.mutated, v.self = kind, true, nil
		s.hoist(v)
		return v
	}
	v := &Var{Name: name, Kind: kind, Slot: r.fn.next, Box: -1, owner: r.fn}
	r.fn.next++
	r.fn.Slots = max(r.fn.Slots, r.fn.next)
	r.fn.vars = append(r.fn.vars, v)
	if s.vars == nil {
		s.vars = map[string]*Var{}
	}
	s.vars[name] = v
	return v
}

// declareAt records the variable that node declares; at the top level it is the
// session's and there is none.
func (r *resolver) declareAt(node syntax.Node, name string, kind VarKind) *Var {
	if name == "_" {
		r.info.Decls[node] = append(r.info.Decls[node], nil)
		return nil
	}
	if r.scope == nil {
		r.global(name)
		return nil
	}
	v := r.declare(name, kind)
	r.info.Decls[node] = append(r.info.Decls[node], v)
	return v
}

// module declares the name of a module. Its variable is a cell, because a
// module's exports may change.
func (r *resolver) module(s *syntax.Use) {
	if v := r.declareAt(s, s.Stem(), Let); v != nil {
		v.captured, v.mutated = true, true
	}
}

func (r *resolver) global(name string) int {
	if n, ok := r.info.globals[name]; ok {
		return n
	}
	n := len(r.info.Globals)
	r.info.globals[name] = n
	r.info.Globals = append(r.info.Globals, name)
	return n
}

// use resolves a name that stands at node.
func (r *resolver) use(node syntax.Node, name string) *Ref {
	ref := &Ref{Name: name, Capture: -1, in: r.fn}
	r.info.Refs[node] = ref
	for s := r.scope; s != nil; s = s.parent {
		if v := s.vars[name]; v != nil {
			r.bind(ref, v)
			return ref
		}
	}
	ref.Global = r.global(name)
	if s := outside(r.scope, r.fn); s != nil {
		s.pending = append(s.pending, ref)
	}
	return ref
}

// bind points ref at v, capturing it through every function in between.
func (r *resolver) bind(ref *Ref, v *Var) {
	ref.Var = v
	from := place(ref.in, v)
	ref.Self, ref.Capture = from.Self, from.Capture
}

// place is how fn reaches v.
func place(fn *Func, v *Var) Ref {
	if v.owner == fn {
		return Ref{Name: v.Name, Var: v, Capture: -1, in: fn}
	}
	if fn.selfVar == v && v.self == fn && !v.mutated {
		return Ref{Name: v.Name, Var: v, Self: true, Capture: -1, in: fn}
	}
	for i, c := range fn.Captures {
		if c.Var == v {
			return Ref{Name: v.Name, Var: v, Capture: i, in: fn}
		}
	}
	from := place(fn.parent, v)
	v.captured = true
	fn.Captures = append(fn.Captures, &Capture{Var: v, From: from})
	return Ref{Name: v.Name, Var: v, Capture: len(fn.Captures) - 1, in: fn}
}

// finish gives boxed variables their cells and numbers the captures, once all
// assignments are known.
func (r *resolver) finish() {
	for _, f := range r.funcs {
		for _, v := range f.vars {
			if v.captured && v.mutated {
				v.Box = f.Boxes
				f.Boxes++
			}
		}
	}
	for _, f := range r.funcs {
		plain, boxed := 0, 0
		for _, c := range f.Captures {
			if c.Boxed() {
				c.Index, boxed = boxed, boxed+1
			} else {
				c.Index, plain = plain, plain+1
			}
		}
	}
}
