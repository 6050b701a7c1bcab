package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// test compiles an expression that stands where a condition is wanted.
func (c *compiler) test(e syntax.Expr) test {
	switch x := e.(type) {
	case *syntax.Paren:
		if _, isCommand := unparen(x).(*syntax.Command); !isCommand {
			return c.test(x.X)
		}
	case *syntax.Literal:
		if x.Kind == syntax.LitBool {
			yes := x.Bool
			return func(*Machine) bool { return yes }
		}
	case *syntax.Unary:
		if x.Op == "!" {
			t := c.test(x.X)
			return func(m *Machine) bool { return !t(m) && m.ctl == running }
		}
	case *syntax.Binary:
		if t := c.binaryTest(x); t != nil {
			return t
		}
	}
	x, span := c.expr(e, inValue), e.Pos()
	return func(m *Machine) bool {
		v := x(m)
		if v.IsBool() {
			return v.AsBool()
		}
		return m.condition(v, span)
	}
}

// condition is an evaluated value as a condition.
func (m *Machine) condition(v value.Value, span syntax.Span) bool {
	if m.ctl != running {
		return false
	}
	yes, err := condition(v)
	if err != nil {
		m.raise(err, span)
	}
	return yes
}

func (c *compiler) binaryTest(e *syntax.Binary) test {
	switch e.Op {
	case "&&":
		l, r := c.test(e.L), c.test(e.R)
		return func(m *Machine) bool { return l(m) && r(m) }
	case "||":
		l, r := c.test(e.L), c.test(e.R)
		return func(m *Machine) bool { return l(m) || m.ctl == running && r(m) }
	case "in":
		return c.inTest(e)
	}
	if o, ok := compareOps[e.Op]; ok {
		return c.comparison(o, e)
	}
	return nil
}

func (c *compiler) inTest(e *syntax.Binary) test {
	l, r, span := c.expr(e.L, inValue), c.expr(e.R, inValue), e.Span
	return func(m *Machine) bool {
		x := l(m)
		if m.ctl != running {
			return false
		}
		in := r(m)
		if m.ctl != running {
			return false
		}
		yes, err := contains(x, in)
		if err != nil {
			m.raise(err, span)
		}
		return yes
	}
}

// comparison compiles a comparison. A local or session variable or a field
// against a constant is what conditions of loops and predicates are made of.
func (c *compiler) comparison(o compareOp, e *syntax.Binary) test {
	span := e.Span
	if k, ok := c.fixed(e.R); ok && k.IsInt() {
		if slot, ok := c.slotOf(e.L); ok {
			return slotCompare(o, slot, k.AsInt(), span)
		}
		l, n := c.expr(e.L, inValue), k.AsInt()
		if g, ok := c.globalOf(e.L); ok {
			return globalCompare(o, g, n, l, span)
		}
		return func(m *Machine) bool {
			a := l(m)
			if a.IsInt() {
				return compareInt(o, a.AsInt(), n)
			}
			return m.compare(o, a, k, span)
		}
	}
	if x, ok := c.slotOf(e.L); ok {
		if y, ok := c.slotOf(e.R); ok {
			return func(m *Machine) bool {
				a, b := m.stack[m.bp+x], m.stack[m.bp+y]
				if a.IsInt() && b.IsInt() {
					return compareInt(o, a.AsInt(), b.AsInt())
				}
				return m.compare(o, a, b, span)
			}
		}
	}
	l, r := c.expr(e.L, inValue), c.expr(e.R, inValue)
	return func(m *Machine) bool {
		a := l(m)
		if m.ctl != running {
			return false
		}
		b := r(m)
		if a.IsInt() && b.IsInt() {
			return compareInt(o, a.AsInt(), b.AsInt())
		}
		return m.compare(o, a, b, span)
	}
}

// globalCompare compares a session variable with a constant; load reads it where
// that is not simple.
func globalCompare(o compareOp, g int, k int64, load code, span syntax.Span) test {
	return func(m *Machine) bool {
		if cell := m.links.cells[g]; cell != nil && !m.locked && cell.v.IsInt() {
			return compareInt(o, cell.v.AsInt(), k)
		}
		return m.compare(o, load(m), value.Int(k), span)
	}
}

func slotCompare(o compareOp, slot int, k int64, span syntax.Span) test {
	slow := func(m *Machine, a value.Value) bool { return m.compare(o, a, value.Int(k), span) }
	switch o {
	case cmpLt:
		return func(m *Machine) bool {
			if a := m.stack[m.bp+slot]; a.IsInt() {
				return a.AsInt() < k
			} else {
				return slow(m, a)
			}
		}
	case cmpLe:
		return func(m *Machine) bool {
			if a := m.stack[m.bp+slot]; a.IsInt() {
				return a.AsInt() <= k
			} else {
				return slow(m, a)
			}
		}
	case cmpEq:
		return func(m *Machine) bool {
			if a := m.stack[m.bp+slot]; a.IsInt() {
				return a.AsInt() == k
			} else {
				return slow(m, a)
			}
		}
	}
	return func(m *Machine) bool {
		if a := m.stack[m.bp+slot]; a.IsInt() {
			return compareInt(o, a.AsInt(), k)
		} else {
			return slow(m, a)
		}
	}
}

func compareInt(o compareOp, a, b int64) bool {
	switch o {
	case cmpEq:
		return a == b
	case cmpNe:
		return a != b
	case cmpLt:
		return a < b
	case cmpLe:
		return a <= b
	case cmpGt:
		return a > b
	}
	return a >= b
}

// compare compares evaluated operands.
func (m *Machine) compare(o compareOp, a, b value.Value, span syntax.Span) bool {
	if m.ctl != running {
		return false
	}
	yes, err := compare(o, a, b)
	if err != nil {
		m.raise(err, span)
		return false
	}
	return yes
}
