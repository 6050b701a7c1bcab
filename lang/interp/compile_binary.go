package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// binary compiles an infix operator.
func (c *compiler) binary(e *syntax.Binary) code {
	switch e.Op {
	case "+", "-", "*", "/", "%":
		return c.arithmetic(e)
	case "==", "!=", "<", "<=", ">", ">=", "in":
		t := c.test(e)
		return func(m *Machine) value.Value { return value.Bool(t(m)) }
	case "&&", "||":
		return c.chain(e, false)
	case "??":
		return c.coalesce(e)
	}
	return c.rangeExpr(e)
}

// arithmetic compiles + - * / %. The fused forms are those of loops and
// recursive functions: a local variable against a constant or another local.
func (c *compiler) arithmetic(e *syntax.Binary) code {
	o, span := opOf(e.Op), e.Span
	if slot, ok := c.slotOf(e.L); ok {
		if k, ok := c.fixed(e.R); ok && k.IsInt() {
			if f := slotConst(o, slot, k.AsInt(), span); f != nil {
				return f
			}
		}
		if other, ok := c.slotOf(e.R); ok {
			if f := slotSlot(o, slot, other, span); f != nil {
				return f
			}
		}
	}
	l, r := c.expr(e.L, inValue), c.expr(e.R, inValue)
	switch o {
	case opAdd:
		return func(m *Machine) value.Value {
			a := l(m)
			if m.ctl != running {
				return value.Null
			}
			b := r(m)
			if a.IsInt() && b.IsInt() {
				if n, ok := addInt(a.AsInt(), b.AsInt()); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, b, span)
		}
	case opMul:
		return func(m *Machine) value.Value {
			a := l(m)
			if m.ctl != running {
				return value.Null
			}
			b := r(m)
			if a.IsInt() && b.IsInt() {
				if n, ok := mulInt(a.AsInt(), b.AsInt()); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, b, span)
		}
	}
	return func(m *Machine) value.Value {
		a := l(m)
		if m.ctl != running {
			return value.Null
		}
		return m.arith(o, a, r(m), span)
	}
}

// arith applies an operator to evaluated operands.
func (m *Machine) arith(o op, a, b value.Value, span syntax.Span) value.Value {
	if m.ctl != running {
		return value.Null
	}
	v, err := m.operate(o, a, b)
	if err != nil {
		return m.raise(err, span)
	}
	return v
}

func slotConst(o op, slot int, k int64, span syntax.Span) code {
	switch o {
	case opAdd:
		return func(m *Machine) value.Value {
			a := m.stack[m.bp+slot]
			if a.IsInt() {
				if n, ok := addInt(a.AsInt(), k); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, value.Int(k), span)
		}
	case opSub:
		return func(m *Machine) value.Value {
			a := m.stack[m.bp+slot]
			if a.IsInt() {
				if n, ok := subInt(a.AsInt(), k); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, value.Int(k), span)
		}
	case opMul:
		return func(m *Machine) value.Value {
			a := m.stack[m.bp+slot]
			if a.IsInt() {
				if n, ok := mulInt(a.AsInt(), k); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, value.Int(k), span)
		}
	case opRem:
		if k <= 0 {
			return nil
		}
		return func(m *Machine) value.Value {
			a := m.stack[m.bp+slot]
			if a.IsInt() {
				return value.Int(a.AsInt() % k)
			}
			return m.arith(o, a, value.Int(k), span)
		}
	}
	return nil
}

func slotSlot(o op, x, y int, span syntax.Span) code {
	switch o {
	case opAdd:
		return func(m *Machine) value.Value {
			a, b := m.stack[m.bp+x], m.stack[m.bp+y]
			if a.IsInt() && b.IsInt() {
				if n, ok := addInt(a.AsInt(), b.AsInt()); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, b, span)
		}
	case opSub:
		return func(m *Machine) value.Value {
			a, b := m.stack[m.bp+x], m.stack[m.bp+y]
			if a.IsInt() && b.IsInt() {
				if n, ok := subInt(a.AsInt(), b.AsInt()); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, b, span)
		}
	case opMul:
		return func(m *Machine) value.Value {
			a, b := m.stack[m.bp+x], m.stack[m.bp+y]
			if a.IsInt() && b.IsInt() {
				if n, ok := mulInt(a.AsInt(), b.AsInt()); ok {
					return value.Int(n)
				}
			}
			return m.arith(o, a, b, span)
		}
	}
	return nil
}

func (c *compiler) coalesce(e *syntax.Binary) code {
	l, r := c.expr(e.L, inValue), c.expr(e.R, inValue)
	return func(m *Machine) value.Value {
		v := l(m)
		if m.ctl != running || !v.IsNull() {
			return v
		}
		return r(m)
	}
}

func (c *compiler) rangeExpr(e *syntax.Binary) code {
	l, r, inclusive, span := c.expr(e.L, inValue), c.expr(e.R, inValue), e.Op == "..=", e.Span
	return func(m *Machine) value.Value {
		a := l(m)
		if m.ctl != running {
			return value.Null
		}
		b := r(m)
		if m.ctl != running {
			return value.Null
		}
		if !a.IsInt() || !b.IsInt() {
			return m.fail(span, value.CodeType, "range bounds must be int, found %s and %s", a.Kind(), b.Kind())
		}
		return value.NewRange(a.AsInt(), b.AsInt(), inclusive)
	}
}

// chain compiles && and ||: the deciding operand is the value, unchanged. At
// statement level the values of command operands that are not the result go to
// the sink.
func (c *compiler) chain(e *syntax.Binary, stmt bool) code {
	l := c.chainOperand(e.L, stmt)
	r := c.chainOperand(e.R, stmt)
	and, span := e.Op == "&&", e.L.Pos()
	sinks := stmt && commandLike(e.L)
	return func(m *Machine) value.Value {
		v := l(m)
		if m.ctl != running {
			return value.Null
		}
		yes, err := condition(v)
		if err != nil {
			return m.raise(err, span)
		}
		if yes != and {
			return v
		}
		if sinks {
			m.Sink(v)
		}
		return r(m)
	}
}

func (c *compiler) chainOperand(e syntax.Expr, stmt bool) code {
	if b, ok := e.(*syntax.Binary); ok && stmt && (b.Op == "&&" || b.Op == "||") {
		return c.chain(b, true)
	}
	return c.expr(e, inValue)
}
