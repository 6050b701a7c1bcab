package interp

import (
	"math"
	"strconv"
	"strings"

	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// slotOf is the frame slot of an expression that is a plain local variable.
func (c *compiler) slotOf(e syntax.Expr) (int, bool) {
	n, ok := unparen(e).(*syntax.Name)
	if !ok {
		return 0, false
	}
	r := c.info.Refs[n]
	if r == nil || r.Var == nil || r.Capture >= 0 || r.Self || r.Var.Boxed() {
		return 0, false
	}
	return r.Var.Slot, true
}

// globalOf is the link of an expression that is a session name.
func (c *compiler) globalOf(e syntax.Expr) (int, bool) {
	n, ok := unparen(e).(*syntax.Name)
	if !ok {
		return 0, false
	}
	r := c.info.Refs[n]
	if r == nil || r.Var != nil {
		return 0, false
	}
	return r.Global, true
}

// name compiles a name in an expression.
func (c *compiler) name(e *syntax.Name) code {
	r := c.info.Refs[e]
	if r.Var != nil {
		return c.load(r)
	}
	g, site := r.Global, &unboundSite{name: e.Name, span: e.Span}
	return func(m *Machine) value.Value {
		if cell := m.links.cells[g]; cell != nil && !m.locked {
			return cell.v
		}
		return m.globalSlow(g, site)
	}
}

// globalSlow reads a session name that is shared, lost or not there.
func (m *Machine) globalSlow(g int, site *unboundSite) value.Value {
	if cell := m.links.cells[g]; cell != nil {
		return m.load(cell)
	}
	return m.unbound(site)
}

// load compiles the reading of a local or captured variable.
func (c *compiler) load(r *resolve.Ref) code {
	switch {
	case r.Self:
		return func(m *Machine) value.Value { return m.fn.self }
	case r.Capture >= 0:
		capture := c.fn.Captures[r.Capture]
		i := capture.Index
		if capture.Boxed() {
			return func(m *Machine) value.Value { return m.load(m.fn.cells[i]) }
		}
		return func(m *Machine) value.Value { return m.fn.caps[i] }
	case r.Var.Boxed():
		i := r.Var.Box
		return func(m *Machine) value.Value { return m.load(m.boxes[i]) }
	}
	i := r.Var.Slot
	return func(m *Machine) value.Value { return m.stack[m.bp+i] }
}

// cellOf compiles the finding of the cell behind a boxed variable.
func (c *compiler) cellOf(r *resolve.Ref) func(m *Machine) *Cell {
	if r.Capture >= 0 {
		i := c.fn.Captures[r.Capture].Index
		return func(m *Machine) *Cell { return m.fn.cells[i] }
	}
	i := r.Var.Box
	return func(m *Machine) *Cell { return m.boxes[i] }
}

// assign compiles an assignment, whose value is the assigned one.
func (c *compiler) assign(s *syntax.Assign) code {
	if s.Env {
		return c.assignEnv(s)
	}
	r := c.info.Refs[s]
	if r.Var != nil {
		s = c.compound(s)
	}
	if r.Var == nil {
		return c.assignGlobal(s, r)
	}
	if r.Var.Kind != resolve.Mutable {
		name, span := s.Name, s.Span
		return func(m *Machine) value.Value { return m.raise(immutable(name), span) }
	}
	if r.Capture < 0 && !r.Var.Boxed() {
		return c.assignSlot(s, r.Var.Slot)
	}
	x, cellOf := c.expr(s.Value, inValue), c.cellOf(r)
	if s.Op == "=" {
		return func(m *Machine) value.Value {
			v := x(m)
			if m.ctl == running {
				m.store(cellOf(m), v)
			}
			return v
		}
	}
	o, span := opOf(s.Op), s.Span
	return func(m *Machine) value.Value {
		cell := cellOf(m)
		v := m.apply2(o, m.load(cell), x, span)
		if m.ctl == running {
			m.store(cell, v)
		}
		return v
	}
}

// compound is `x = x + y` as `x += y`: the same in what it reads, computes and
// writes.
func (c *compiler) compound(s *syntax.Assign) *syntax.Assign {
	b, ok := s.Value.(*syntax.Binary)
	if !ok || s.Op != "=" || b.Op != "+" && b.Op != "-" && b.Op != "*" {
		return s
	}
	n, ok := b.L.(*syntax.Name)
	if !ok || n.Name != s.Name {
		return s
	}
	if ref, own := c.info.Refs[n], c.info.Refs[s]; ref.Var != own.Var || ref.Var == nil && ref.Global != own.Global {
		return s
	}
	return &syntax.Assign{Span: b.Span, Name: s.Name, Op: b.Op + "=", Value: b.R}
}

// apply2 applies an operator to a value that has been read and an operand that
// has not.
func (m *Machine) apply2(o op, a value.Value, x code, span syntax.Span) value.Value {
	b := x(m)
	if m.ctl != running {
		return value.Null
	}
	if o == opAdd && a.IsInt() && b.IsInt() {
		if n, ok := addInt(a.AsInt(), b.AsInt()); ok {
			return value.Int(n)
		}
	}
	v, err := m.operate(o, a, b)
	if err != nil {
		return m.raise(err, span)
	}
	return v
}

// assignSlot compiles the assignment to a plain local variable.
func (c *compiler) assignSlot(s *syntax.Assign, slot int) code {
	span := s.Span
	if k, ok := c.fixed(s.Value); ok && k.IsInt() && (s.Op == "+=" || s.Op == "-=") && k.AsInt() != math.MinInt64 {
		step := k.AsInt()
		o := opOf(s.Op)
		if o == opSub {
			step = -step
		}
		return func(m *Machine) value.Value {
			p := &m.stack[m.bp+slot]
			if p.IsInt() {
				if n, ok := addInt(p.AsInt(), step); ok {
					*p = value.Int(n)
					return *p
				}
			}
			return m.assignSlow(slot, o, k, span)
		}
	}
	x := c.expr(s.Value, inValue)
	if s.Op == "=" {
		return func(m *Machine) value.Value {
			v := x(m)
			if m.ctl == running {
				m.stack[m.bp+slot] = v
			}
			return v
		}
	}
	o := opOf(s.Op)
	if other, ok := c.slotOf(s.Value); ok && o == opAdd {
		return func(m *Machine) value.Value {
			a, b := m.stack[m.bp+slot], m.stack[m.bp+other]
			if a.IsInt() && b.IsInt() {
				if n, ok := addInt(a.AsInt(), b.AsInt()); ok {
					v := value.Int(n)
					m.stack[m.bp+slot] = v
					return v
				}
			}
			return m.assignOp(slot, o, a, b, span)
		}
	}
	if o == opAdd {
		return func(m *Machine) value.Value {
			a := m.stack[m.bp+slot]
			b := x(m)
			if a.IsInt() && b.IsInt() {
				if n, ok := addInt(a.AsInt(), b.AsInt()); ok {
					v := value.Int(n)
					m.stack[m.bp+slot] = v
					return v
				}
			}
			if m.ctl != running {
				return value.Null
			}
			return m.assignOp(slot, o, a, b, span)
		}
	}
	return func(m *Machine) value.Value {
		a := m.stack[m.bp+slot]
		b := x(m)
		if m.ctl != running {
			return value.Null
		}
		return m.assignOp(slot, o, a, b, span)
	}
}

func (m *Machine) assignSlow(slot int, o op, b value.Value, span syntax.Span) value.Value {
	return m.assignOp(slot, o, m.stack[m.bp+slot], b, span)
}

func (m *Machine) assignOp(slot int, o op, a, b value.Value, span syntax.Span) value.Value {
	v, err := m.operate(o, a, b)
	if err != nil {
		return m.raise(err, span)
	}
	m.stack[m.bp+slot] = v
	return v
}

// assignGlobal compiles the assignment to a session name.
func (c *compiler) assignGlobal(s *syntax.Assign, r *resolve.Ref) code {
	g, name, span := r.Global, s.Name, s.Span
	if s.Op != "=" {
		return c.compoundGlobal(s, r)
	}
	x := c.expr(s.Value, inValue)
	text := c.assignedText(s.Value)
	emptied := c.emptied(s)
	plain := func(m *Machine) value.Value {
		if m.links.cells[g] == nil {
			err := undeclared(name, text)
			if emptied {
				err = err.WithHint("an empty value has quotes: `%s=\"\" %s`; `env.%s = \"…\"` sets a variable", name, text, name)
			}
			return m.raise(err, span)
		}
		v := x(m)
		if m.ctl != running {
			return value.Null
		}
		if cell := m.assignable(g, name, false, span); cell != nil {
			m.storeGlobal(cell, v)
		}
		return v
	}
	same := c.compound(s)
	if same == s {
		return plain
	}
	compound := c.compoundGlobal(same, r)
	return func(m *Machine) value.Value {
		if cell := m.links.cells[g]; cell == nil || cell.bind != BindVar {
			return plain(m)
		}
		return compound(m)
	}
}

func (c *compiler) compoundGlobal(s *syntax.Assign, r *resolve.Ref) code {
	g, name, span, o := r.Global, s.Name, s.Span, opOf(s.Op)
	x := c.expr(s.Value, inValue)
	if k, ok := c.fixed(s.Value); ok && k.IsInt() && o == opAdd {
		step := k.AsInt()
		return func(m *Machine) value.Value {
			cell := m.links.cells[g]
			if cell == nil || cell.bind != BindVar || m.locked || !cell.v.IsInt() {
				return m.assignGlobalSlow(g, name, o, x, span)
			}
			n, ok := addInt(cell.v.AsInt(), step)
			if !ok {
				return m.assignGlobalSlow(g, name, o, x, span)
			}
			v := value.Int(n)
			cell.v, cell.dirty = v, true
			return v
		}
	}
	return func(m *Machine) value.Value {
		cell := m.links.cells[g]
		if cell == nil || cell.bind != BindVar || m.locked {
			return m.assignGlobalSlow(g, name, o, x, span)
		}
		a := cell.v
		b := x(m)
		if m.ctl != running {
			return value.Null
		}
		if o == opAdd && a.IsInt() && b.IsInt() {
			if n, ok := addInt(a.AsInt(), b.AsInt()); ok {
				v := value.Int(n)
				m.store(cell, v)
				return v
			}
		}
		v, err := m.operate(o, a, b)
		if err != nil {
			return m.raise(err, span)
		}
		m.store(cell, v)
		return v
	}
}

func (m *Machine) assignGlobalSlow(g int, name string, o op, x code, span syntax.Span) value.Value {
	cell := m.assignable(g, name, true, span)
	if cell == nil {
		return value.Null
	}
	v := m.apply2(o, m.load(cell), x, span)
	if m.ctl == running {
		m.storeGlobal(cell, v)
	}
	return v
}

// storeGlobal writes a top-level variable; an exported one shows in its module.
func (m *Machine) storeGlobal(cell *Cell, v value.Value) {
	m.store(cell, v)
	if cell.bind == BindExport {
		m.republish()
	}
}

// assignable is the cell of a session `var`, or nil after raising.
func (m *Machine) assignable(g int, name string, compound bool, span syntax.Span) *Cell {
	cell := m.links.cells[g]
	switch {
	case cell != nil && (cell.bind == BindVar || cell.bind == BindExport):
		return cell
	case cell != nil:
		m.raise(immutable(name), span)
	case compound:
		m.raise(value.Errorf(value.CodeUndefined, "undefined variable `%s`", name).
			WithHint("declare it first: `var %s = …`", name), span)
	default:
		m.raise(undeclared(name, "…"), span)
	}
	return nil
}

// maxAssigned is how much source, in bytes, a hint repeats.
const maxAssigned = 60

// assignedText is the value of an assignment as source; a bare word was meant
// as text.
func (c *compiler) assignedText(e syntax.Expr) string {
	at := e.Pos()
	if at.End-at.Start > maxAssigned || at.End > len(c.unit.tree.Src) {
		return "…"
	}
	text := c.unit.tree.Src[at.Start:at.End]
	if _, bare := e.(*syntax.Name); bare {
		return strconv.Quote(text)
	}
	return text
}

// emptied reports whether an assignment is written as other shells write a
// command that gets an empty variable: `NAME= cmd arg`.
func (c *compiler) emptied(s *syntax.Assign) bool {
	_, command := s.Value.(*syntax.Command)
	return command && strings.HasPrefix(c.text(s.Span), s.Name+"= ")
}

func undeclared(name, text string) *value.Error {
	quoted := text
	switch {
	case strings.ContainsAny(text, "()[]{}.,"):
		quoted = "\"…\""
	case !strings.HasPrefix(text, "\""):
		quoted = strconv.Quote(text)
	}
	return value.Errorf(value.CodeType, "cannot assign to undeclared `%s`", name).
		WithHint("`let %s = %s` declares a name; `env.%s = %s` sets an environment variable", name, text, name, quoted)
}

func immutable(name string) *value.Error {
	return value.Errorf(value.CodeType, "cannot assign to immutable `%s`", name).
		WithHint("`let %s = …` declares it anew; `var %s = …` makes it assignable", name, name)
}

func (c *compiler) assignEnv(s *syntax.Assign) code {
	x, name, span, plain := c.expr(s.Value, inValue), s.Name, s.Span, s.Op == "="
	o := opAdd
	if !plain {
		o = opOf(s.Op)
	}
	return func(m *Machine) value.Value {
		var v value.Value
		if plain {
			v = x(m)
		} else {
			old, _ := m.Getenv(name)
			v = m.apply2(o, old, x, span)
		}
		if m.ctl != running {
			return value.Null
		}
		if err := m.Setenv(name, v); err != nil {
			return m.raise(err, span)
		}
		return v
	}
}
