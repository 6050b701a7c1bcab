package interp

import (
	"strings"

	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// closure compiles a function and gives the code that makes a closure of it.
// fn is the declaration when it has a name.
func (c *compiler) closure(node syntax.Node, l *syntax.Lambda, fn *syntax.Fn) code {
	fc := c.function(node, l, fn)
	capture := c.captures(fc.info)
	return func(m *Machine) value.Value {
		f := &Func{code: fc}
		capture(m, f)
		return f.value()
	}
}

// captures compiles the taking along of what a function captured.
func (c *compiler) captures(info *resolve.Func) func(*Machine, *Func) {
	var plain []code
	var boxed []func(*Machine) *Cell
	for _, capture := range info.Captures {
		from := capture.From
		if capture.Boxed() {
			boxed = append(boxed, c.cellOf(&from))
		} else {
			plain = append(plain, c.load(&from))
		}
	}
	return func(m *Machine, f *Func) {
		if len(plain) > 0 {
			f.caps = make([]value.Value, len(plain))
			for i, x := range plain {
				f.caps[i] = x(m)
			}
		}
		if len(boxed) > 0 {
			f.cells = make([]*Cell, len(boxed))
			for i, x := range boxed {
				f.cells[i] = x(m)
			}
		}
	}
}

// value is the closure as a value.
func (f *Func) value() value.Value {
	if f.self.IsNull() {
		f.self = value.NewClosure(f.code.sig, f)
	}
	return f.self
}

// function compiles the body of a function in its own frame.
func (c *compiler) function(node syntax.Node, l *syntax.Lambda, fn *syntax.Fn) *funcCode {
	info := c.info.Funcs[node]
	fc := &funcCode{
		unit: c.unit, info: info, rest: -1, lambda: l, name: l.Name,
		slots: info.Slots, boxes: info.Boxes, weight: info.Weight,
	}
	if fn != nil {
		fc.name, fc.doc = fn.Name, fn.Doc
	}
	c.unit.codes[node] = fc
	outer := c.fn
	c.fn = info
	defer func() { c.fn = outer }()

	plain := info.Boxes == 0
	for i := range l.Params {
		p := &l.Params[i]
		cp := param{name: p.Name, typ: p.Type, v: info.Params[i]}
		if p.Default != nil {
			cp.def = c.expr(p.Default, inValue)
		}
		if p.Rest {
			fc.rest = i
		}
		plain = plain && p.Default == nil && !p.Rest && elementType(p.Type) == "" && cp.v.Slot == i
		fc.params = append(fc.params, cp)
	}
	fc.arity = -1
	if plain {
		fc.arity = len(l.Params)
	}
	fc.sig = signature(l, fc.name)
	c.functionBody(fc, l)
	return fc
}

func (c *compiler) functionBody(fc *funcCode, l *syntax.Lambda) {
	if b, ok := l.Body.(*syntax.Block); ok {
		fc.body = c.fnBlock(b)
	} else {
		fc.body = c.expr(l.Body, inValue)
	}
	if fc.arity != 1 {
		return
	}
	fc.reads = c.fieldsRead(l.Body, fc.params[0].v)
	switch e := unparen(l.Body).(type) {
	case *syntax.Binary:
		fc.cond = c.binaryTest(e)
		if k, ok := c.fieldPredicate(e, fc); ok {
			fc.cond = k
		}
	case *syntax.Field:
		if slot, ok := c.slotOf(e.X); ok && slot == fc.params[0].v.Slot && !e.Safe {
			fc.field = e.Name
		}
	}
}

// fieldsRead are the fields that an expression reads of p; nil unless it does so
// at once and p occurs nowhere else. What may do more with its names is not
// looked into.
func (c *compiler) fieldsRead(body syntax.Expr, p *resolve.Var) []string {
	names, only := []string{}, true
	syntax.Walk(body, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Field:
			if x, ok := n.X.(*syntax.Name); ok && c.info.Refs[x].Var == p {
				names = append(names, n.Name)
				return false
			}
		case *syntax.Name:
			only = only && c.info.Refs[n].Var != p
		case *syntax.Method:
			only = only && n.Name != "feed"
		case *syntax.Block, *syntax.Lambda, *syntax.Spawn, *syntax.Command, *syntax.Match:
			only = false
		}
		return only
	})
	if !only {
		return nil
	}
	return names
}

// fnBlock compiles a function's block. A return at its end is its value.
func (c *compiler) fnBlock(b *syntax.Block) code {
	n := len(b.Stmts)
	if n == 0 {
		return constant(value.Null)
	}
	last, ok := b.Stmts[n-1].(*syntax.Return)
	if !ok {
		return c.block(b, inValue)
	}
	codes := make([]code, n)
	for i, s := range b.Stmts[:n-1] {
		codes[i] = c.stmt(s, true)
	}
	codes[n-1] = constant(value.Null)
	if last.Value != nil {
		codes[n-1] = c.expr(last.Value, inValue)
	}
	return c.hoist(b, sequence(codes))
}

// signature is a function as it is shown: "fn name(a, ...r)" or "closure(a)".
func signature(l *syntax.Lambda, name string) string {
	var names []string
	for i := range l.Params {
		p := l.Params[i].Name
		if p == syntax.ImplicitParam {
			p = "item"
		}
		if l.Params[i].Rest {
			p = "..." + p
		}
		names = append(names, p)
	}
	params := "(" + strings.Join(names, ", ") + ")"
	if name != "" {
		return "fn " + name + params
	}
	return "closure" + params
}

// fieldPredicate compiles `.field op const` without evaluating the field as an
// expression of its own.
func (c *compiler) fieldPredicate(e *syntax.Binary, fc *funcCode) (test, bool) {
	o, ok := compareOps[e.Op]
	if !ok {
		return nil, false
	}
	f, ok := unparen(e.L).(*syntax.Field)
	if !ok || f.Safe {
		return nil, false
	}
	slot, ok := c.slotOf(f.X)
	k, fixed := c.fixed(e.R)
	if !ok || !fixed || slot != fc.params[0].v.Slot {
		return nil, false
	}
	site := &fieldSite{name: f.Name, span: f.Span}
	span := e.Span
	return func(m *Machine) bool {
		v, ok := site.cached(m.stack[m.bp+slot])
		if !ok {
			if v = m.field(m.stack[m.bp+slot], site); m.ctl != running {
				return false
			}
		}
		if v.IsInt() && k.IsInt() {
			return compareInt(o, v.AsInt(), k.AsInt())
		}
		return m.compare(o, v, k, span)
	}, true
}
