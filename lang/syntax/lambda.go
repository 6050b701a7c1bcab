package syntax

import "strings"

// lambdaAt reports whether t starts a lambda.
func (p *parser) lambdaAt(t token) bool {
	switch t.kind {
	case tIdent:
		return p.arrowAt(t.end)
	case tLParen:
		return p.paramsAt(t.end)
	}
	return false
}

// paramsAt reports whether what follows a parenthesis are lambda parameters.
// It looks at the first parameter only: nothing else in parentheses has a name
// followed by `,` or `:`.
func (p *parser) paramsAt(pos int) bool {
	pos = p.skipLines(pos)
	switch c := p.at(pos); {
	case c == ')':
		return p.arrowAt(pos + 1)
	case c == '.':
		return strings.HasPrefix(p.src[pos:], "...") && isIdentStart(p.at(pos+3))
	case !isIdentStart(c):
		return false
	}
	pos = p.skipLines(identEnd(p.src, pos))
	switch p.at(pos) {
	case ',':
		return true
	case ':':
		return p.at(pos+1) != '/' && p.at(pos+1) != ':'
	case ')':
		return p.arrowAt(pos + 1)
	}
	return false
}

// lambda reads `x => body` or `(params) => body`.
func (p *parser) lambda(t token) Expr {
	p.enter(t.start)
	scope := p.names.enter()
	l := &Lambda{}
	p.take(t)
	if t.kind == tLParen {
		l.Params = p.params(false)
	} else {
		l.Params = []Param{{Span: t.span(), Name: p.text(t)}}
		p.names.bind(p.text(t), valueBound)
	}
	p.expect(tArrow, "`=>`")
	l.Body = p.body()
	p.names.leave(scope)
	p.depth--
	l.Span = Span{t.start, l.Body.Pos().End}
	return l
}

// body reads what follows `=>`.
func (p *parser) body() Expr {
	p.newlines()
	t := p.peek()
	if t.kind != tLBrace {
		return p.expr()
	}
	p.receiver = p.braces(p.take(t), true)
	return p.exprRest()
}

// params reads parameters up to the closing parenthesis and binds them. Only a
// fn may give defaults.
func (p *parser) params(defaults bool) []Param {
	m := p.open(true)
	var list []Param
	for {
		t := p.peek()
		if t.kind == tRParen {
			break
		}
		param := p.param(t, defaults)
		for _, other := range list {
			if other.Name == param.Name && param.Name != "_" {
				p.failf(param.Span, "duplicate parameter `%s`", param.Name)
			}
		}
		list = append(list, param)
		comma := p.accept(tComma)
		n := p.peek()
		if n.kind == tRParen {
			break
		}
		if param.Rest {
			p.fail(n.span(), "expected `)`, found "+n.kind.String(), "`..."+param.Name+"` must be the last parameter")
		}
		if !comma {
			p.unexpected(n, "`,` or `)`")
		}
	}
	p.take(p.peek())
	p.restore(m)
	return list
}

func (p *parser) param(t token, defaults bool) Param {
	param := Param{}
	if t.kind == tEllipsis {
		p.take(t)
		param.Rest = true
	}
	n := p.name("a parameter name")
	param.Name, param.Span = p.text(n), Span{t.start, n.end}
	if p.accept(tColon) {
		param.Type = p.typ()
		param.End = param.Type.End
	}
	if e := p.peek(); e.kind == tAssign {
		switch {
		case param.Rest:
			p.failf(e.span(), "`...%s` takes no default", param.Name)
		case !defaults:
			p.fail(e.span(), "lambda parameters take no defaults", "declare a function: `fn f("+param.Name+" = …) { … }`")
		}
		p.take(e)
		param.Default = p.expr()
		param.End = param.Default.Pos().End
	}
	p.names.bind(param.Name, valueBound)
	return param
}

// typ reads a type such as list<int>?. Its punctuation is read by character,
// because `>=` and `?.` mean nothing here.
func (p *parser) typ() *Type {
	n := p.name("a type")
	p.enter(n.start)
	t := &Type{Span: n.span(), Name: p.text(n)}
	if at := p.skipBlank(p.pos); p.at(at) == '<' {
		p.pos = at + 1
		for {
			t.Args = append(t.Args, p.typ())
			p.pos = p.skipLines(p.pos)
			if p.at(p.pos) != ',' {
				break
			}
			p.pos = p.skipLines(p.pos + 1)
		}
		if p.at(p.pos) != '>' {
			p.unexpected(p.peek(), "`>`")
		}
		p.pos++
		t.End = p.pos
	}
	if p.at(p.pos) == '?' {
		p.pos++
		t.Optional, t.End = true, p.pos
	}
	p.depth--
	return t
}
