package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// matcher tests a value and binds the names of its pattern. It cannot fail.
type matcher func(m *Machine, v value.Value) bool

type matchArm struct {
	pats  []matcher
	guard test // nil: none
	body  code
}

func (c *compiler) match(e *syntax.Match) code {
	subject := c.expr(e.Subject, inValue)
	arms := make([]matchArm, len(e.Arms))
	for i := range e.Arms {
		a := &e.Arms[i]
		for _, p := range a.Pats {
			arms[i].pats = append(arms[i].pats, c.pattern(p))
		}
		if a.Guard != nil {
			arms[i].guard = c.test(a.Guard)
		}
		arms[i].body = c.expr(a.Body, inValue)
	}
	return func(m *Machine) value.Value {
		v := subject(m)
		if m.ctl != running {
			return value.Null
		}
		for i := range arms {
			a := &arms[i]
			for _, p := range a.pats {
				if !p(m, v) {
					continue
				}
				if a.guard == nil || a.guard(m) {
					return a.body(m)
				}
				if m.ctl != running {
					return value.Null
				}
			}
		}
		return value.Null
	}
}

func (c *compiler) pattern(p syntax.Pattern) matcher {
	switch p := p.(type) {
	case *syntax.PatBind:
		return c.patBind(p)
	case *syntax.PatLit:
		want, err := LiteralValue(p.Lit)
		if err != nil {
			return func(*Machine, value.Value) bool { return false }
		}
		return func(_ *Machine, v value.Value) bool {
			return v.Kind() != value.KindStream && value.Same(v, want)
		}
	case *syntax.PatRange:
		r := *p
		return func(_ *Machine, v value.Value) bool {
			n := v.AsInt()
			return v.IsInt() && n >= r.Start && (n < r.End || r.Inclusive && n == r.End)
		}
	case *syntax.PatRecord:
		return c.patRecord(p)
	case *syntax.PatList:
		return c.patList(p)
	}
	return func(*Machine, value.Value) bool { return true }
}

// bind is how a pattern gives a value to the name declared at node.
func (c *compiler) bind(node syntax.Node) func(*Machine, value.Value) {
	v, _ := c.declared(node)
	return c.setVar(v)
}

func (c *compiler) patBind(p *syntax.PatBind) matcher {
	set := c.bind(p)
	if p.Type == "" {
		return func(m *Machine, v value.Value) bool { set(m, v); return true }
	}
	kind, known := value.ParseKind(p.Type)
	return func(m *Machine, v value.Value) bool {
		if !known || v.Kind() != kind {
			return false
		}
		set(m, v)
		return true
	}
}

func (c *compiler) patRecord(p *syntax.PatRecord) matcher {
	names := make([]string, len(p.Fields))
	subs := make([]matcher, len(p.Fields))
	for i := range p.Fields {
		f := &p.Fields[i]
		names[i] = f.Name
		if f.Pat != nil {
			subs[i] = c.pattern(f.Pat)
			continue
		}
		set := c.bind(f)
		subs[i] = func(m *Machine, v value.Value) bool { set(m, v); return true }
	}
	return func(m *Machine, v value.Value) bool {
		if v.Kind() != value.KindRecord {
			return false
		}
		r := v.AsRecord()
		for i, name := range names {
			field, ok := r.Get(name)
			if !ok || !subs[i](m, field) {
				return false
			}
		}
		return true
	}
}

func (c *compiler) patList(p *syntax.PatList) matcher {
	subs := make([]matcher, len(p.Items))
	for i, item := range p.Items {
		subs[i] = c.pattern(item)
	}
	hasRest := p.HasRest
	var set func(*Machine, value.Value)
	if hasRest {
		set = c.bind(p)
	}
	return func(m *Machine, v value.Value) bool {
		if k := v.Kind(); k != value.KindList && k != value.KindTable {
			return false
		}
		items := sequenceItems(v)
		if len(items) < len(subs) || len(items) > len(subs) && !hasRest {
			return false
		}
		for i, sub := range subs {
			if !sub(m, items[i]) {
				return false
			}
		}
		if hasRest {
			set(m, value.NewList(items[len(subs):]))
		}
		return true
	}
}
