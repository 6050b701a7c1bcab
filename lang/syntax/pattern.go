package syntax

import "slices"

// typeNames are the runtime types that a pattern can test.
var typeNames = []string{
	"null", "bool", "int", "float", "str", "path", "glob", "regex", "size", "duration", "datetime", "time",
	"bytes", "list", "record", "table", "range", "stream", "error", "outcome", "task", "closure", "command", "secret",
}

// matchExpr reads `match subject { arms }`.
func (p *parser) matchExpr(t token) Expr {
	p.take(t)
	x := &Match{Subject: p.head()}
	open := p.expect(tLBrace, "a block")
	p.enter(open.start)
	m := p.open(false)
	for {
		p.pos = p.skipTerminators(p.pos)
		n := p.peek()
		if n.kind == tRBrace {
			break
		}
		x.Arms = append(x.Arms, p.arm(n))
		p.accept(tComma)
	}
	x.Span = Span{t.start, p.take(p.peek()).end}
	p.restore(m)
	p.depth--
	return x
}

// arm reads `pat | pat if guard => body`.
func (p *parser) arm(t token) Arm {
	if t.kind == tPipe {
		p.fail(t.span(), "unexpected `|` at the start of a match arm", "`|` stands between patterns: `0 | 1 => …`")
	}
	scope := p.names.enter()
	a := Arm{Pats: []Pattern{p.pattern()}}
	names := binders(a.Pats[0], nil)
	for p.accept(tPipe) {
		p.newlines()
		pat := p.pattern()
		if !sameNames(names, binders(pat, nil)) {
			p.fail(pat.Pos(), "alternatives must bind the same names", "use `_` for parts that only some alternatives have")
		}
		a.Pats = append(a.Pats, pat)
	}
	if n := p.peek(); p.is(n, "if") {
		p.take(n)
		a.Guard = p.exprRest()
	}
	if n := p.peek(); n.kind != tArrow {
		p.unexpected(n, "`=>`")
	} else {
		p.take(n)
	}
	a.Body = p.armBody()
	p.names.leave(scope)
	a.Span = Span{t.start, a.Body.Pos().End}
	return a
}

// armBody is a body after which the next arm may follow without separator: a
// block ends it unless a field or method follows.
func (p *parser) armBody() Expr {
	p.newlines()
	t := p.peek()
	if t.kind != tLBrace {
		return p.expr()
	}
	x := p.braces(p.take(t), true)
	if _, ok := x.(*Block); ok {
		if n := p.peekLine(); !(n.kind == tDot || n.kind == tSafeDot) && !p.is(n, "catch") {
			return x
		}
	}
	p.receiver = x
	return p.exprRest()
}

// pattern reads one pattern and binds its names.
func (p *parser) pattern() Pattern {
	t := p.peek()
	switch t.kind {
	case tIdent:
		return p.namePattern(p.take(t))
	case tNumber, tMinus:
		return p.numberPattern(t)
	case tString, tRaw:
		lit, ok := p.stringLiteral(t).(*Literal)
		if !ok {
			p.fail(t.span(), "a pattern string has no holes", "bind the value and compare in a guard: `s if s == \"…\" => …`")
		}
		p.pos = t.end
		return &PatLit{t.span(), lit}
	case tLBrace:
		return p.recordPattern(p.take(t))
	case tLBracket:
		return p.listPattern(p.take(t))
	}
	p.unexpected(t, "a pattern")
	return nil
}

func (p *parser) namePattern(t token) Pattern {
	name := p.text(t)
	switch name {
	case "_":
		return &PatAny{t.span()}
	case "null":
		return &PatLit{t.span(), &Literal{Span: t.span()}}
	case "true", "false":
		return &PatLit{t.span(), &Literal{Span: t.span(), Kind: LitBool, Bool: name == "true"}}
	}
	n := p.peek()
	if n.kind != tIdent || p.is(n, "if") {
		p.names.bind(name, valueBound)
		return &PatBind{t.span(), name, ""}
	}
	if !slices.Contains(typeNames, name) {
		p.fail(t.span(), "unknown type `"+name+"` in a pattern", "a pattern is a literal, a name, or TYPE NAME such as `int n`")
	}
	p.take(n)
	p.names.bind(p.text(n), valueBound)
	return &PatBind{Span{t.start, n.end}, p.text(n), name}
}

// numberPattern reads an int or a range of ints.
func (p *parser) numberPattern(t token) Pattern {
	low := p.patternInt()
	r := p.peek()
	if r.kind != tDotDot && r.kind != tDotDotEq {
		return &PatLit{low.Span, low}
	}
	p.take(r)
	high := p.patternInt()
	return &PatRange{Span{low.Start, high.End}, low.Int, high.Int, r.kind == tDotDotEq}
}

func (p *parser) patternInt() *Literal {
	t := p.peek()
	negative := t.kind == tMinus
	n := t
	if negative {
		p.take(t)
		n = p.peek()
	}
	if n.kind != tNumber {
		p.unexpected(n, "an int")
	}
	lit, err := numberLiteral(p.src, n.start)
	if err != nil {
		panic(err)
	}
	if lit.Kind != LitInt {
		p.fail(lit.Span, "a number pattern is an int", "bind the value and compare in a guard: `x if x == "+p.text(n)+" => …`")
	}
	p.take(n)
	lit.Start = t.start
	if negative {
		lit.Int = -lit.Int
	}
	return lit
}

func (p *parser) recordPattern(open token) Pattern {
	p.enter(open.start)
	m := p.open(true)
	r := &PatRecord{}
	for p.peek().kind != tRBrace {
		n := p.name("a field name")
		f := PatField{Span: n.span(), Name: p.text(n)}
		if p.accept(tColon) {
			f.Pat = p.pattern()
			f.End = f.Pat.Pos().End
		} else {
			p.names.bind(f.Name, valueBound)
		}
		r.Fields = append(r.Fields, f)
		if !p.accept(tComma) {
			if t := p.peek(); t.kind != tRBrace {
				p.unexpected(t, "`,` or `}`")
			}
		}
	}
	r.Span = Span{open.start, p.take(p.peek()).end}
	p.restore(m)
	p.depth--
	return r
}

func (p *parser) listPattern(open token) Pattern {
	p.enter(open.start)
	m := p.open(true)
	l := &PatList{}
	for {
		t := p.peek()
		if t.kind == tRBracket {
			break
		}
		if l.HasRest {
			p.fail(t.span(), "expected `]`, found "+t.kind.String(), "`...rest` must be the last item of a list pattern")
		}
		if t.kind == tEllipsis {
			p.take(t)
			n := p.name("a name after `...`")
			l.HasRest, l.Rest = true, p.text(n)
			p.names.bind(l.Rest, valueBound)
		} else {
			l.Items = append(l.Items, p.pattern())
		}
		if !p.accept(tComma) {
			if t := p.peek(); t.kind != tRBracket {
				p.unexpected(t, "`,` or `]`")
			}
		}
	}
	l.Span = Span{open.start, p.take(p.peek()).end}
	p.restore(m)
	p.depth--
	return l
}

// binders appends the names that a pattern binds.
func binders(pat Pattern, names []string) []string {
	add := func(name string) {
		if name != "_" && name != "" {
			names = append(names, name)
		}
	}
	switch x := pat.(type) {
	case *PatBind:
		add(x.Name)
	case *PatRecord:
		for _, f := range x.Fields {
			if f.Pat == nil {
				add(f.Name)
			} else {
				names = binders(f.Pat, names)
			}
		}
	case *PatList:
		for _, item := range x.Items {
			names = binders(item, names)
		}
		add(x.Rest)
	}
	return names
}

// sameNames compares two lists of names as sets.
func sameNames(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}
