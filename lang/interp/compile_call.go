package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// call compiles `f(args)`.
func (c *compiler) call(e *syntax.Call, pos position) code {
	args := c.args(e.Args)
	span := e.Span
	if n, ok := e.Fn.(*syntax.Name); ok {
		if row := c.unit.lib.Function(n.Name); row != nil {
			return c.functionCall(row, n.Name, args, span, pos)
		}
		if r := c.info.Refs[n]; r.Var == nil {
			return c.globalCall(n, r.Global, args, e, pos)
		}
	}
	fn := c.expr(e.Fn, inValue)
	return callCode(func(m *Machine) (value.Value, bool) {
		v := fn(m)
		return v, m.ctl == running
	}, args, span)
}

// functionCall compiles the call of a library function, which no binding can
// shadow.
func (c *compiler) functionCall(row *Function, name string, args callArgs, span syntax.Span, at position) code {
	return func(m *Machine) value.Value {
		call := m.newCall()
		defer m.freeCall(call)
		pos, named, ok := args.eval(m, call.buf[:])
		if !ok {
			return value.Null
		}
		v := m.runCall(row, call, name, pos, named, span)
		if row.Runs && v.Kind() == value.KindOutcome {
			return m.ranProgram(v.AsOutcome(), &streams{}, at, span)
		}
		return v
	}
}

// callCode compiles the call of a value that callee finds.
func callCode(callee func(*Machine) (value.Value, bool), args callArgs, span syntax.Span) code {
	if len(args.named) == 0 {
		switch len(args.pos) {
		case 0:
			return func(m *Machine) value.Value {
				fv, ok := callee(m)
				if !ok {
					return value.Null
				}
				if f, ok := m.callable(fv); ok {
					return m.call0(f, span)
				}
				return m.callValue(fv, nil, nil, span)
			}
		case 1:
			x := args.pos[0]
			return func(m *Machine) value.Value {
				fv, ok := callee(m)
				if !ok {
					return value.Null
				}
				a := x(m)
				if m.ctl != running {
					return value.Null
				}
				if f, ok := m.callable(fv); ok {
					return m.call1(f, a, span)
				}
				return m.callValue(fv, []value.Value{a}, nil, span)
			}
		case 2:
			x, y := args.pos[0], args.pos[1]
			return func(m *Machine) value.Value {
				fv, ok := callee(m)
				if !ok {
					return value.Null
				}
				a := x(m)
				if m.ctl != running {
					return value.Null
				}
				b := y(m)
				if m.ctl != running {
					return value.Null
				}
				if f, ok := m.callable(fv); ok {
					return m.call2(f, a, b, span)
				}
				return m.callValue(fv, []value.Value{a, b}, nil, span)
			}
		}
	}
	return func(m *Machine) value.Value {
		fv, ok := callee(m)
		if !ok {
			return value.Null
		}
		pos, named, ok := args.eval(m, nil)
		if !ok {
			return value.Null
		}
		return m.callValue(fv, pos, named, span)
	}
}

// callValue calls any value.
func (m *Machine) callValue(fv value.Value, pos []value.Value, named []Named, span syntax.Span) value.Value {
	if f, ok := m.callable(fv); ok {
		return m.apply(f, pos, named, span)
	}
	if a, ok := aliasOf(fv); ok {
		return m.runAlias(a, valueWords(pos, named), value.Null, inValue)
	}
	return m.raise(notCallable(fv), span)
}

func notCallable(v value.Value) *value.Error {
	return value.Errorf(value.CodeType, "%s is not callable", v.Kind()).
		WithHint("functions are: `x => x + 1`, `fn f(x) { … }`; a value is read without parentheses")
}

// globalCall compiles the call of a session name. When the session has none,
// the name is a command and the arguments are its words.
func (c *compiler) globalCall(n *syntax.Name, g int, args callArgs, e *syntax.Call, pos position) code {
	name, span := n.Name, e.Span
	bound := callCode(func(m *Machine) (value.Value, bool) {
		cell := m.links.cells[g]
		if cell == nil {
			return value.Null, false
		}
		return m.load(cell), true
	}, args, span)
	block := -1
	if len(e.Args) > 0 {
		if l, ok := e.Args[len(e.Args)-1].X.(*syntax.Lambda); ok && l.Trailing {
			block = len(args.pos) - 1
		}
	}
	site := &unboundSite{name: name, span: n.Span}
	slow := func(m *Machine) value.Value {
		if m.links.cells[g] != nil {
			return bound(m)
		}
		if !m.known(site) {
			return value.Null
		}
		vals, named, ok := args.eval(m, nil)
		if !ok {
			return value.Null
		}
		trailing := value.Null
		if block >= 0 {
			trailing, vals = vals[block], vals[:block]
		}
		return m.runNamed(name, valueWords(vals, named), trailing, pos, span)
	}
	if len(args.pos) != 1 || len(args.named) != 0 {
		return slow
	}
	x := args.pos[0]
	return func(m *Machine) value.Value {
		cell := m.links.cells[g]
		if cell == nil || m.locked {
			return slow(m)
		}
		f, ok := m.callable(cell.v)
		if !ok {
			return slow(m)
		}
		a := x(m)
		if m.ctl != running {
			return value.Null
		}
		return m.call1(f, a, span)
	}
}

// valueWords are call arguments as command words: named ones are long flags.
func valueWords(pos []value.Value, named []Named) []word {
	words := make([]word, 0, len(pos)+len(named))
	for _, v := range pos {
		words = append(words, word{Word: Word{Kind: syntax.ArgValue, Value: v, Has: true}})
	}
	for _, n := range named {
		w := word{Word: Word{Kind: syntax.ArgLong, Flag: n.Name, Text: "--" + n.Name, Span: n.Span}}
		if !n.Value.IsBool() || !n.Value.AsBool() {
			w.Value, w.Has = n.Value, true
		}
		words = append(words, w)
	}
	return words
}
