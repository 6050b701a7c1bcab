package interp

import (
	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// receiver compiles what stands before `.name` or `[i]`. The bare name of a
// function or an alias is a command there: it runs without arguments, as the
// name of a builtin or a program does.
func (c *compiler) receiver(e syntax.Expr) code {
	x := c.expr(e, inValue)
	n, ok := e.(*syntax.Name)
	if !ok {
		return x
	}
	r, span := c.info.Refs[n], n.Span
	if r.Var != nil {
		if !c.runsBare(e) {
			return x
		}
		return func(m *Machine) value.Value {
			v := x(m)
			if m.ctl != running {
				return value.Null
			}
			return m.callValue(v, nil, nil, span)
		}
	}
	g := r.Global
	return func(m *Machine) value.Value {
		v := x(m)
		if k := v.Kind(); k != value.KindClosure && k != value.KindCommand || m.ctl != running {
			return v
		}
		if cell := m.links.cells[g]; cell != nil && (cell.bind == BindFn || cell.bind == BindAlias) {
			return m.callValue(v, nil, nil, span)
		}
		return v
	}
}

// runsBare reports whether an expression is the bare name of a local function
// or alias.
func (c *compiler) runsBare(e syntax.Expr) bool {
	n, ok := e.(*syntax.Name)
	if !ok {
		return false
	}
	v := c.info.Refs[n].Var
	return v != nil && (v.Kind == resolve.Fn || v.Kind == resolve.Alias)
}
