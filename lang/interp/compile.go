package interp

import (
	"strings"

	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// position is where an expression stands: what its command does when it fails.
type position uint8

const (
	inValue position = iota // a failed command is an outcome
	inStmt                  // a failed command raises
	inTail                  // the run decides: its last statement
)

// raises reports whether a failed command raises there.
func (m *Machine) raises(p position) bool {
	return p == inStmt || p == inTail && m.tail == Stmt
}

// compiler turns the nodes of one unit into closures.
type compiler struct {
	unit *unit
	info *resolve.Info
	fn   *resolve.Func // the function being compiled
}

// constant is code that gives v.
func constant(v value.Value) code { return func(*Machine) value.Value { return v } }

// topStmt compiles a top-level statement.
func (c *compiler) topStmt(s syntax.Stmt, last bool) topStmt {
	pos := inStmt
	if last {
		pos = inTail
	}
	span := s.Pos()
	t := topStmt{span: span, src: c.text(span), head: StmtHead(s), isCommand: isCommand(s)}
	x, isExpr := s.(*syntax.ExprStmt)
	t.isExpr = isExpr
	if isExpr {
		t.code = c.topExpr(x.X, pos)
	} else {
		t.code = c.stmt(s, false)
	}
	return t
}

// topExpr compiles an expression that is a statement: a chain of && and || gives
// the values of its commands to the sink.
func (c *compiler) topExpr(e syntax.Expr, pos position) code {
	if b, ok := e.(*syntax.Binary); ok && (b.Op == "&&" || b.Op == "||") {
		return c.chain(b, true)
	}
	return c.expr(unparen(e), pos)
}

// unparen drops the parentheses round a command, which keeps its position.
func unparen(e syntax.Expr) syntax.Expr {
	for {
		p, ok := e.(*syntax.Paren)
		if !ok {
			return e
		}
		e = p.X
	}
}

// isCommand reports whether a statement is a command, whose value goes to the
// sink when it is not the result.
func isCommand(s syntax.Stmt) bool {
	x, ok := s.(*syntax.ExprStmt)
	if !ok {
		return false
	}
	return commandLike(x.X)
}

func commandLike(e syntax.Expr) bool {
	switch e := unparen(e).(type) {
	case *syntax.Command:
		return true
	case *syntax.Catch:
		return commandLike(e.X)
	case *syntax.Binary:
		return (e.Op == "&&" || e.Op == "||") && (commandLike(e.R) || commandLike(e.L))
	}
	return false
}

// StmtHead is the command head a statement begins with, "" when it is no command.
func StmtHead(s syntax.Stmt) string {
	if x, ok := s.(*syntax.ExprStmt); ok {
		return exprHead(x.X)
	}
	return ""
}

func exprHead(e syntax.Expr) string {
	switch e := unparen(e).(type) {
	case *syntax.Command:
		return e.Head.Text
	case *syntax.Catch:
		return exprHead(e.X)
	case *syntax.Binary:
		return exprHead(e.L)
	case *syntax.Method:
		return exprHead(e.X)
	case *syntax.Field:
		return exprHead(e.X)
	}
	return ""
}

// text is the source of a span.
func (c *compiler) text(s syntax.Span) string {
	src := c.unit.tree.Src
	if s.Start < 0 || s.End > len(src) || s.Start > s.End {
		return ""
	}
	return strings.TrimSpace(src[s.Start:s.End])
}

// block compiles the statements of a block whose value is its last one's. pos
// is the position of that last statement.
func (c *compiler) block(b *syntax.Block, pos position) code {
	codes := make([]code, len(b.Stmts))
	for i, s := range b.Stmts {
		if i < len(b.Stmts)-1 {
			codes[i] = c.stmt(s, true)
		} else if x, ok := s.(*syntax.ExprStmt); ok {
			codes[i] = c.tail(x.X, pos)
		} else {
			codes[i] = c.stmt(s, false)
		}
	}
	return c.hoist(b, sequence(codes))
}

// tail compiles the last expression of a block. Parentheses do not hide a
// command there.
func (c *compiler) tail(e syntax.Expr, pos position) code {
	if pos != inValue {
		return c.expr(unparen(e), pos)
	}
	return c.expr(e, inValue)
}

// loopBody compiles a block all of whose statements are discarded.
func (c *compiler) loopBody(b *syntax.Block) code {
	codes := make([]code, len(b.Stmts))
	for i, s := range b.Stmts {
		codes[i] = c.stmt(s, true)
	}
	return c.hoist(b, sequence(codes))
}

// hoist makes the cells that closures may use before their declaration.
func (c *compiler) hoist(b *syntax.Block, body code) code {
	vars := c.info.Hoisted[b]
	if len(vars) == 0 {
		return body
	}
	return func(m *Machine) value.Value {
		for _, v := range vars {
			if v.Boxed() {
				m.boxes[v.Box] = &Cell{}
			}
		}
		return body(m)
	}
}

// sequence runs codes one after another and gives the last value.
func sequence(codes []code) code {
	switch len(codes) {
	case 0:
		return constant(value.Null)
	case 1:
		return codes[0]
	case 2:
		a, b := codes[0], codes[1]
		return func(m *Machine) value.Value {
			if a(m); m.ctl != running {
				return value.Null
			}
			return b(m)
		}
	}
	first, last := codes[:len(codes)-1], codes[len(codes)-1]
	return func(m *Machine) value.Value {
		for _, c := range first {
			if c(m); m.ctl != running {
				return value.Null
			}
		}
		return last(m)
	}
}

// stmt compiles a statement. A discarded command raises when it fails and gives
// its value to the sink.
func (c *compiler) stmt(s syntax.Stmt, discarded bool) code {
	switch s := s.(type) {
	case *syntax.Let:
		return c.let(s)
	case *syntax.Fn:
		return c.declareFn(s)
	case *syntax.Alias:
		return c.declareAlias(s)
	case *syntax.For:
		return c.forLoop(s)
	case *syntax.While:
		return c.whileLoop(s)
	case *syntax.Return:
		return c.returnStmt(s)
	case *syntax.Break:
		return func(m *Machine) value.Value { m.ctl = breaking; return value.Null }
	case *syntax.Continue:
		return func(m *Machine) value.Value { m.ctl = continuing; return value.Null }
	case *syntax.Assign:
		return c.assign(s)
	case *syntax.ExprStmt:
		if discarded {
			return c.discarded(s.X)
		}
		return c.expr(s.X, inValue)
	case *syntax.Use:
		return c.use(s)
	}
	panic("interp: unknown statement")
}

// discarded compiles an expression whose value nobody takes.
func (c *compiler) discarded(e syntax.Expr) code {
	if b, ok := e.(*syntax.Binary); ok && (b.Op == "&&" || b.Op == "||") {
		e := c.chain(b, true)
		if !commandLike(b) {
			return e
		}
		return sunk(e)
	}
	if commandLike(e) {
		return sunk(c.expr(unparen(e), inStmt))
	}
	return c.expr(e, inStmt)
}

// sunk gives the value to the sink.
func sunk(x code) code {
	return func(m *Machine) value.Value {
		v := x(m)
		if m.ctl == running {
			m.Sink(v)
		}
		return v
	}
}

// setVar is how a declaration puts a value into its variable.
func (c *compiler) setVar(v *resolve.Var) func(m *Machine, x value.Value) {
	switch {
	case v == nil:
		return func(*Machine, value.Value) {}
	case v.Boxed() && v.Hoisted:
		box := v.Box
		return func(m *Machine, x value.Value) { m.store(m.boxes[box], x) }
	case v.Boxed():
		box := v.Box
		return func(m *Machine, x value.Value) { m.boxes[box] = &Cell{v: x} }
	}
	slot := v.Slot
	return func(m *Machine, x value.Value) { m.stack[m.bp+slot] = x }
}

// declared is the variable that a node declares; ok is false for a session
// name.
func (c *compiler) declared(n syntax.Node) (v *resolve.Var, ok bool) {
	vars, ok := c.info.Decls[n]
	if !ok {
		return nil, false
	}
	return vars[0], true
}

func (c *compiler) let(s *syntax.Let) code {
	x := c.expr(s.Value, inValue)
	v, local := c.declared(s)
	if !local {
		name, kind := s.Name, BindLet
		switch {
		case s.Mutable && s.Export:
			kind = BindExport
		case s.Mutable:
			kind = BindVar
		}
		return func(m *Machine) value.Value {
			if v := x(m); m.ctl == running {
				m.declare(name, kind, v)
			}
			return value.Null
		}
	}
	if v != nil && !v.Boxed() {
		slot := v.Slot
		return func(m *Machine) value.Value {
			v := x(m) // may move the stack
			m.stack[m.bp+slot] = v
			return value.Null
		}
	}
	set := c.setVar(v)
	return func(m *Machine) value.Value {
		if v := x(m); m.ctl == running {
			set(m, v)
		}
		return value.Null
	}
}

func (c *compiler) declareFn(s *syntax.Fn) code {
	x := c.closure(s.Func, s.Func, s)
	v, local := c.declared(s)
	if !local {
		name := s.Name
		return func(m *Machine) value.Value {
			m.declare(name, BindFn, x(m))
			return value.Null
		}
	}
	set := c.setVar(v)
	return func(m *Machine) value.Value {
		set(m, x(m))
		return value.Null
	}
}

func (c *compiler) returnStmt(s *syntax.Return) code {
	if s.Value == nil {
		return func(m *Machine) value.Value {
			m.ctl, m.ret = returning, value.Null
			return value.Null
		}
	}
	x := c.expr(s.Value, inValue)
	return func(m *Machine) value.Value {
		if v := x(m); m.ctl == running {
			m.ctl, m.ret = returning, v
		}
		return value.Null
	}
}
