package syntax

import "strings"

// primary reads an operand.
func (p *parser) primary() Expr {
	t := p.peek()
	switch t.kind {
	case tIdent:
		return p.identExpr(t)
	case tNumber:
		lit, err := numberLiteral(p.src, t.start)
		if err != nil {
			panic(err)
		}
		p.take(t)
		return lit
	case tString, tRaw:
		x := p.stringLiteral(t)
		p.pos = t.end
		return x
	case tRegex:
		p.take(t)
		return &Literal{Span: t.span(), Kind: LitRegex, Str: p.src[t.start+3 : t.end-1]}
	case tDatetime:
		p.take(t)
		return &Literal{Span: t.span(), Kind: LitDatetime, Str: p.src[t.start+2 : t.end-1]}
	case tLParen:
		return p.group(p.take(t))
	case tLBracket:
		return p.list(p.take(t))
	case tLBrace:
		return p.braces(p.take(t), false)
	}
	home := p.at(t.start) == '~' && strings.IndexByte(",]", p.at(t.start+1)) >= 0
	if home || p.pathAt(t.start) {
		return p.pathLiteral(t.start)
	}
	p.unexpected(t, "expression")
	return nil
}

// pathLiteral reads a path-shaped word in an expression.
func (p *parser) pathLiteral(start int) Expr {
	end := start
	for end < len(p.src) && strings.IndexByte(" \t\r\n,;()[]{}\"'", p.src[end]) < 0 {
		end++
	}
	p.pos = end
	return &Literal{Span: Span{start, end}, Kind: LitPath, Str: p.src[start:end]}
}

// identExpr reads an operand that starts with a name.
func (p *parser) identExpr(t token) Expr {
	switch name := p.text(t); name {
	case "true", "false":
		p.take(t)
		return &Literal{Span: t.span(), Kind: LitBool, Bool: name == "true"}
	case "null":
		p.take(t)
		return &Literal{Span: t.span()}
	case "if":
		return p.ifExpr(t)
	case "match":
		return p.matchExpr(t)
	case "try":
		return p.tryExpr(t)
	case "with":
		return p.withExpr(t)
	case "spawn":
		p.take(t)
		b := p.block()
		return &Spawn{Span{t.start, b.End}, b}
	case "it", "out":
		if p.names.lookup(name) != valueBound {
			p.failReplOnly(t.span())
		}
	case "let", "var", "export", "fn", "alias", "use", "return", "break", "continue", "for", "while":
		p.failStatement(t)
	case "not":
		p.failNot(t)
	default:
		if p.interpreterAt(t) {
			return p.interpreter(t)
		}
	}
	p.take(t)
	return &Name{t.span(), p.text(t)}
}

// failStatement reports a statement keyword where an expression is needed,
// unless it is a variable of that name.
func (p *parser) failStatement(t token) {
	name := p.text(t)
	if p.names.lookup(name) == valueBound {
		return
	}
	hint := "put it in a block: `{ " + name + " … }`"
	if name == "fn" {
		hint = "a function value is a lambda: `(a, b) => a + b`"
	}
	p.fail(t.span(), "expected expression, found `"+name+"`", hint)
}

// failNot reports `not x`.
func (p *parser) failNot(t token) {
	n := p.token(t.end)
	switch n.kind {
	case tIdent, tNumber, tString, tRaw, tBang, tLBracket:
		p.fail(t.span(), "use `!`", "`!x`")
	case tLParen:
		if n.start > t.end {
			p.fail(t.span(), "use `!`", "`!x`")
		}
	}
}

// interpreter reads an interpreter block as an operand.
func (p *parser) interpreter(t token) Expr {
	c := &Command{Head: CmdArg{Span: t.span(), Text: p.text(t)}}
	c.Interp = p.payload(t)
	p.redirects(c)
	p.background(c)
	c.Span = Span{t.start, p.pos}
	return c
}

// group reads `( chain )` whose parenthesis has been taken.
func (p *parser) group(open token) *Paren {
	p.enter(open.start)
	m := p.open(true)
	if t := p.peek(); t.kind == tRParen {
		p.unexpected(t, "expression")
	}
	x := p.chain()
	t := p.peek()
	switch t.kind {
	case tRParen:
	case tSemi:
		p.fail(t.span(), "expected `)`, found Semi", "several statements need a block: `{ a; b }`")
	default:
		p.unexpected(t, "`)`")
	}
	p.take(t)
	p.restore(m)
	p.depth--
	return &Paren{Span{open.start, t.end}, x}
}

// list reads `[ … ]` whose bracket has been taken.
func (p *parser) list(open token) Expr {
	p.enter(open.start)
	m := p.open(true)
	l := &List{}
	for p.peek().kind != tRBracket {
		l.Items = append(l.Items, p.expr())
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

// braces reads a record or a block whose brace has been taken. Directly after
// `=>` empty braces are a block.
func (p *parser) braces(open token, afterArrow bool) Expr {
	if p.recordAt(open.end, afterArrow) {
		rec, _ := p.record(open, false)
		return rec
	}
	return p.blockRest(open)
}

// recordAt reports whether what follows a brace makes it a record.
func (p *parser) recordAt(pos int, afterArrow bool) bool {
	pos = p.skipLines(pos)
	switch c := p.at(pos); {
	case c == '}':
		return !afterArrow
	case isIdentStart(c):
		end := p.skip(identEnd(p.src, pos))
		switch p.at(end) {
		case ',':
			return true
		case ':':
			return !strings.HasPrefix(p.src[end:], "://")
		}
	case c == '"' || c == '\'':
		q, err := scanQuote(p.src, pos)
		return err == nil && p.at(p.skip(q.end)) == ':'
	}
	return false
}

// record reads `{ fields }` whose brace has been taken. With shorthand a field
// value may start with `.name` of the item; used reports that one did.
func (p *parser) record(open token, shorthand bool) (rec *Record, used bool) {
	p.enter(open.start)
	m := p.open(true)
	rec = &Record{}
	for {
		t := p.peek()
		if t.kind == tRBrace {
			break
		}
		f, item := p.field(t, shorthand)
		used = used || item
		rec.Fields = append(rec.Fields, f)
		if !p.accept(tComma) {
			if t := p.peek(); t.kind != tRBrace {
				p.unexpected(t, "`,` or `}`")
			}
		}
	}
	rec.Span = Span{open.start, p.take(p.peek()).end}
	p.restore(m)
	p.depth--
	return rec, used
}

// field reads one entry of a record.
func (p *parser) field(t token, shorthand bool) (f RecordField, used bool) {
	f.KeyAt = t.span()
	switch t.kind {
	case tIdent:
		f.Key = p.text(t)
		p.take(t)
		if n := p.peek(); n.kind == tComma || n.kind == tRBrace {
			if (f.Key == "it" || f.Key == "out") && p.names.lookup(f.Key) != valueBound {
				p.failReplOnly(t.span())
			}
			f.Value = &Name{t.span(), f.Key}
			return f, false
		}
	case tString, tRaw:
		lit, ok := p.stringLiteral(t).(*Literal)
		if !ok {
			p.fail(t.span(), "a record key has no holes", "build the record with `r.set(key, value)`")
		}
		f.Key = lit.Str
		p.pos = t.end
	default:
		p.unexpected(t, "a field name")
	}
	p.expect(tColon, "`:`")
	f.Value, used = p.fieldValue(shorthand)
	return f, used
}

func (p *parser) fieldValue(shorthand bool) (Expr, bool) {
	t := p.peek()
	switch {
	case !shorthand:
	case t.kind == tDot && p.dotName(t.start):
		p.receiver = &Name{Span{t.start, t.start}, ImplicitParam}
		return p.exprRest(), true
	case t.kind == tLBrace && p.recordAt(t.end, false):
		rec, used := p.record(p.take(t), true)
		p.receiver = rec
		x := p.exprRest()
		if used && x != Expr(rec) {
			p.fail(rec.Span, "a leading `.` has no receiver here", "shorthand needs the record to be the whole value; name the item: `item => …`")
		}
		return x, used
	}
	return p.expr(), false
}

// ifExpr reads an if with its whole else-if chain.
func (p *parser) ifExpr(t token) Expr {
	depth := p.depth
	var links []*If
	for {
		p.take(t)
		p.enter(t.start)
		p.heads = append(p.heads, t.start)
		cur := &If{Cond: p.head()}
		cur.Then = p.blockAfterHead()
		cur.Span = Span{t.start, cur.Then.End}
		if n := len(links); n > 0 {
			links[n-1].Else = cur
		}
		links = append(links, cur)
		e := p.peekLine()
		if !p.is(e, "else") {
			break
		}
		p.pos = e.end
		if t = p.peek(); !p.is(t, "if") {
			cur.Else = p.block()
			break
		}
	}
	p.depth = depth
	for _, f := range links {
		f.End = p.pos
	}
	return links[0]
}

func (p *parser) tryExpr(t token) Expr {
	p.take(t)
	x := &Try{Body: p.block()}
	c := p.peekLine()
	if !p.is(c, "catch") {
		hint := "`try { … } catch e { … }`"
		p.fail(c.span(), "expected catch, found "+c.kind.String(), hint)
	}
	p.pos = c.end
	scope := p.names.enter()
	if n := p.peek(); n.kind == tIdent {
		p.take(n)
		x.Binder = p.text(n)
		p.names.bind(x.Binder, valueBound)
	}
	x.Handler = p.block()
	p.names.leave(scope)
	x.Span = Span{t.start, x.Handler.End}
	return x
}

func (p *parser) withExpr(t token) Expr {
	p.take(t)
	w := &With{}
	for {
		n := p.peek()
		if n.kind != tIdent {
			p.unexpected(n, "`cwd:`, `env:` or `reef:`")
		}
		key := p.text(n)
		if key != "cwd" && key != "env" && key != "reef" {
			p.fail(n.span(), "with accepts only cwd, env, and reef", "`with cwd: ./dir, env: {NAME: \"value\"} { … }`")
		}
		for _, e := range w.Entries {
			if e.Key == key {
				p.failf(n.span(), "`%s` is given twice", key)
			}
		}
		p.take(n)
		p.expect(tColon, "`:`")
		p.newlines()
		w.Entries = append(w.Entries, RecordField{key, n.span(), p.head()})
		if !p.accept(tComma) {
			break
		}
		p.newlines()
	}
	w.Body = p.block()
	w.Span = Span{t.start, w.Body.End}
	return w
}
