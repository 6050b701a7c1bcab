package interp

import (
	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// code evaluates an expression. When it leaves the normal path it sets m.ctl
// and gives null; whoever does something with a result looks at m.ctl first.
type code func(m *Machine) value.Value

// test evaluates a condition; false when it leaves the normal path.
type test func(m *Machine) bool

// Program is a compiled program. It is immutable and safe for concurrent runs.
type Program struct {
	unit  *unit
	main  *funcCode
	stmts []topStmt
}

// topStmt is a top-level statement.
type topStmt struct {
	code      code
	span      syntax.Span
	src       string
	head      string
	isCommand bool
	isExpr    bool
}

// unit is one compiled source and what its functions share.
type unit struct {
	lib   Library
	tree  *syntax.Program
	info  *resolve.Info
	seeds syntax.Names
	codes map[syntax.Node]*funcCode

	// scope is where the unit's top-level names live: a module's or a script's
	// own; nil for those of the session that runs it. It is set before the unit
	// runs and then never changed, as are file and dir.
	scope *State
	file  string // "" for a session's own source
	dir   string // of the module that the unit belongs to, or ""
}

// links are the session's cells behind the names that a unit mentions; nil
// where the session has none, or one that raises when it is used.
type links struct {
	unit  *unit
	cells []*Cell
}

// Func is a function at run time: its code and what it captured.
type Func struct {
	code  *funcCode
	caps  []value.Value
	cells []*Cell
	self  value.Value
}

// funcCode is the compiled form of a function.
type funcCode struct {
	unit   *unit
	info   *resolve.Func
	name   string
	params []param
	rest   int // index of the rest parameter, or -1
	// arity is the number of arguments that may go straight into the frame, or
	// -1 when binding them takes more than that.
	arity  int
	slots  int
	boxes  int
	weight int
	body   code
	cond   test     // body as a condition, where that is cheaper
	field  string   // body reads only this field of the one parameter
	reads  []string // all that the body uses of the one parameter, if it is fields only
	lambda *syntax.Lambda
	doc    string
	sig    string
}

// param is a parameter.
type param struct {
	name string
	typ  *syntax.Type
	def  code
	v    *resolve.Var
}

// Source is the text that was compiled.
func (p *Program) Source() string { return p.unit.tree.Src }

// Tree is the parsed program; it must not be changed.
func (p *Program) Tree() *syntax.Program { return p.unit.tree }

// Parse parses and compiles src. seeds are the names that the session binds.
func Parse(src string, seeds syntax.Names, lib Library) (*Program, *syntax.Error) {
	tree, err := syntax.Parse(src, seeds)
	if err != nil {
		return nil, err
	}
	return compile(tree, seeds, lib)
}

// Compile compiles a tree that has been parsed with these seeds. One too deep
// to be compiled gives a program that raises.
func Compile(tree *syntax.Program, seeds syntax.Names, lib Library) *Program {
	p, err := compile(tree, seeds, lib)
	if err == nil {
		return p
	}
	empty := &syntax.Program{Span: tree.Span, Src: tree.Src}
	p, _ = compile(empty, seeds, lib)
	p.stmts = []topStmt{{span: tree.Span, code: func(m *Machine) value.Value {
		return m.fail(tree.Span, value.CodeRecursion, "%s", err.Msg)
	}}}
	return p
}

// compile turns a parsed program into closures.
func compile(tree *syntax.Program, seeds syntax.Names, lib Library) (*Program, *syntax.Error) {
	info := resolve.Program(tree)
	if info.TooDeep {
		return nil, &syntax.Error{Span: tree.Span, Msg: "nesting too deep"}
	}
	u := &unit{lib: lib, tree: tree, info: info, seeds: consulted(tree, seeds), codes: map[syntax.Node]*funcCode{}}
	c := &compiler{unit: u, info: u.info, fn: u.info.Main}
	p := &Program{unit: u, main: &funcCode{
		unit: u, info: u.info.Main, rest: -1, slots: u.info.Main.Slots,
		boxes: u.info.Main.Boxes, weight: u.info.Main.Weight,
	}}
	for i, s := range tree.Stmts {
		p.stmts = append(p.stmts, c.topStmt(s, i == len(tree.Stmts)-1))
	}
	return p, nil
}

// consulted keeps of the seeds what decided how the tree was read.
func consulted(tree *syntax.Program, seeds syntax.Names) syntax.Names {
	kept := syntax.Names{Value: map[string]bool{}, Command: map[string]bool{}}
	for _, name := range tree.Consulted {
		if seeds.Value[name] {
			kept.Value[name] = true
		}
		if seeds.Command[name] {
			kept.Command[name] = true
		}
	}
	return kept
}

// stackSlots is how many slots the stack has at first: enough for a line that
// calls little; it grows where more is called.
const stackSlots = 32

// enterMain prepares the machine for the program's top level.
func (m *Machine) enterMain(p *Program) {
	m.stack = make([]value.Value, max(stackSlots, p.main.slots))
	m.sp = p.main.slots
	m.fn = &Func{code: p.main}
	m.boxes = make([]*Cell, p.main.boxes)
	m.links = m.link(p.unit)
}

// link finds the session's cells for a unit.
func (m *Machine) link(u *unit) *links {
	if l := m.byUnit[u]; l != nil {
		return l
	}
	l := &links{unit: u, cells: make([]*Cell, len(u.info.Globals))}
	scope := m.scopeOf(u)
	scope.mu.Lock()
	for i, name := range u.info.Globals {
		if c := scope.names[name]; c != nil && c.lost == nil {
			l.cells[i] = c
		}
	}
	scope.mu.Unlock()
	m.byUnit[u] = l
	return l
}

// scopeOf is where a unit's top-level names live.
func (m *Machine) scopeOf(u *unit) *State {
	if u.scope != nil {
		return u.scope
	}
	return m.state
}

// scope is where the top-level names of the running code live.
func (m *Machine) scope() *State { return m.scopeOf(m.links.unit) }

// declare makes a top-level binding and points every unit that mentions the
// name at it.
func (m *Machine) declare(name string, kind Binding, v value.Value) {
	if name == "_" {
		return
	}
	if kind == BindExport && m.links.unit.scope == nil {
		kind = BindVar
	}
	m.relink(name, m.scope().declare(name, kind, v))
}

// relink points the units that share the running code's names at the cell that
// is now behind one of them.
func (m *Machine) relink(name string, c *Cell) {
	scope := m.links.unit.scope
	for u, l := range m.byUnit {
		if u.scope != scope {
			continue
		}
		if i := u.info.GlobalIndex(name); i >= 0 {
			l.cells[i] = c
		}
	}
}
