package syntax

// Binding powers, loose to tight. Unary binds tighter than all of them and
// postfix tighter than unary.
const (
	bindCoalesce = iota + 1
	bindOr
	bindAnd
	bindCompare
	bindRange
	bindAdd
	bindMul
)

// expr reads a whole expression: a lambda, or operators with any postfix
// catches.
func (p *parser) expr() Expr {
	if t := p.peek(); p.lambdaAt(t) {
		return p.lambda(t)
	}
	return p.exprRest()
}

// exprRest is expr where no lambda can start or p.receiver is set.
func (p *parser) exprRest() Expr {
	x := p.binary(bindCoalesce)
	for {
		t := p.peekLine()
		if !p.is(t, "catch") {
			return x
		}
		p.pos = t.end
		x = p.catchTail(x)
	}
}

// infix is the binding power of an operator token, or 0.
func (p *parser) infix(t token) int {
	switch t.kind {
	case tCoalesce:
		return bindCoalesce
	case tOr:
		return bindOr
	case tAnd:
		return bindAnd
	case tEq, tNe, tLt, tLe, tGt, tGe:
		return bindCompare
	case tDotDot, tDotDotEq:
		return bindRange
	case tPlus, tMinus:
		return bindAdd
	case tStar, tSlash, tPercent:
		return bindMul
	case tIdent:
		if p.src[t.start:t.end] == "in" {
			return bindCompare
		}
	}
	return 0
}

// binary reads operators that bind at least as tight as least.
func (p *parser) binary(least int) Expr {
	left := p.unary()
	compared, ranged := false, false
	for {
		t := p.peek()
		if t.kind == tNewline {
			switch t = p.peekLine(); t.kind {
			case tAnd, tOr, tCoalesce:
			default:
				return left
			}
		}
		power := p.infix(t)
		if power == 0 || power < least {
			return left
		}
		if power == bindCompare && compared {
			p.failChain(t)
		}
		if power == bindRange && ranged {
			p.fail(t.span(), "ranges do not chain", "a range has two ends")
		}
		compared, ranged = power == bindCompare, power == bindRange
		left = p.operator(left, t, power)
	}
}

// operator reads the right operand of t.
func (p *parser) operator(left Expr, t token, power int) Expr {
	p.take(t)
	p.newlines()
	var right Expr
	if power <= bindAnd && power != bindCoalesce && p.commandStarts() {
		c := p.command()
		p.receiver = c
		right = p.binary(power + 1)
	} else {
		right = p.binary(power + 1)
	}
	return &Binary{Span{left.Pos().Start, right.Pos().End}, p.text(t), t.span(), left, right}
}

// unary reads `!` and `-` before an operand.
func (p *parser) unary() Expr {
	if p.receiver != nil {
		return p.postfix()
	}
	t := p.peek()
	if t.kind != tBang && t.kind != tMinus {
		return p.postfix()
	}
	p.take(t)
	p.enter(t.start)
	x := p.unary()
	p.depth--
	return &Unary{Span{t.start, x.Pos().End}, p.text(t), x}
}

// postfix reads an operand with its fields, calls, indexes and trailing blocks.
func (p *parser) postfix() Expr {
	x := p.receiver
	p.receiver = nil
	if x == nil {
		x = p.primary()
	}
	if c, ok := x.(*Command); ok && c.Interp == nil {
		return x
	}
	for {
		t := p.peek()
		if t.kind == tNewline {
			if t = p.peekLine(); t.kind != tDot && t.kind != tSafeDot || !p.dotName(t.start) {
				return x
			}
		}
		switch {
		case t.kind == tDot || t.kind == tSafeDot:
			x = p.member(x, t)
		case t.nl:
			return x
		case t.kind == tLBracket:
			x = p.index(x, t)
		case t.kind == tLParen:
			x = p.call(x, t)
		default:
			return x
		}
	}
}

// member reads `.name`, `.name(args)` and their trailing block.
func (p *parser) member(x Expr, dot token) Expr {
	p.take(dot)
	n := p.peek()
	if n.kind != tIdent {
		p.unexpected(n, "a field name after `"+p.text(dot)+"`")
	}
	p.take(n)
	name, safe := p.text(n), dot.kind == tSafeDot
	start := x.Pos().Start
	t := p.peek()
	switch {
	case t.kind == tLParen && !t.nl:
		args := p.args(t, name == "feed")
		if name == "replace" && len(args) > 1 && !isText(args[0].X) { // of a regex: $1, $name
			p.forgetDollars(args[1].Span)
		}
		end := p.pos
		if b := p.trailingBlock(); b != nil {
			args, end = append(args, *b), b.End
		}
		return &Method{Span{start, end}, x, name, n.span(), safe, args}
	case t.kind == tLBrace && !t.nl && !p.noBlock:
		b := p.trailingBlock()
		return &Method{Span{start, b.End}, x, name, n.span(), safe, []Arg{*b}}
	}
	return &Field{Span{start, n.end}, x, name, n.span(), safe}
}

// trailingBlock reads the block after a call as its last argument, or returns
// nil.
func (p *parser) trailingBlock() *Arg {
	if t := p.peek(); t.kind != tLBrace || t.nl || p.noBlock {
		return nil
	}
	l := p.trailing()
	return &Arg{Span: l.Span, X: l}
}

func (p *parser) index(x Expr, open token) Expr {
	p.take(open)
	p.enter(open.start)
	m := p.open(true)
	i := p.expr()
	p.expect(tRBracket, "`]`")
	p.restore(m)
	p.depth--
	return &Index{Span{x.Pos().Start, p.pos}, x, i}
}

func (p *parser) call(fn Expr, open token) Expr {
	args := p.args(open, false)
	end := p.pos
	if b := p.trailingBlock(); b != nil {
		args, end = append(args, *b), b.End
	}
	return &Call{Span{fn.Pos().Start, end}, fn, args}
}

// args reads call arguments; feed reads a command line as its argument.
func (p *parser) args(open token, feed bool) []Arg {
	p.take(open)
	p.enter(open.start)
	m := p.open(true)
	dot := p.dotted
	p.dotted.active = false
	var list []Arg
	for {
		t := p.peek()
		if t.kind == tRParen {
			break
		}
		list = append(list, p.arg(t, feed))
		if !p.accept(tComma) {
			if t := p.peek(); t.kind != tRParen {
				p.unexpected(t, "`,` or `)`")
			}
		}
	}
	p.take(p.peek())
	p.dotted = dot
	p.restore(m)
	p.depth--
	return list
}

// arg reads one argument.
func (p *parser) arg(t token, feed bool) Arg {
	switch {
	case t.kind == tDot && p.dotName(t.start):
		return p.shorthand(t)
	case t.kind == tLBrace && p.recordAt(t.end, false):
		return p.recordArg(t)
	case t.kind == tIdent && p.at(p.skip(t.end)) == ':':
		p.pos = p.skip(t.end) + 1
		x := p.expr()
		return Arg{Span: Span{t.start, x.Pos().End}, Name: p.text(t), X: x}
	case feed:
		return p.feedArg(t)
	}
	x := p.expr()
	if n := p.peek(); n.kind == tColon {
		p.fail(n.span(), "expected `,` or `)`, found Colon", "an argument name is a bare name: `f(name: 1)`")
	}
	return Arg{Span: x.Pos(), X: x}
}

// shorthand reads `.field …`, which means `item => item.field …`.
func (p *parser) shorthand(t token) Arg {
	item := Span{t.start, t.start}
	p.receiver = &Name{item, ImplicitParam}
	x := p.exprRest()
	span := Span{t.start, x.Pos().End}
	return Arg{Span: span, X: implicit(span, x)}
}

func implicit(span Span, body Expr) *Lambda {
	return &Lambda{Span: span, Params: []Param{{Span: Span{span.Start, span.Start}, Name: ImplicitParam}}, Body: body, Implicit: true}
}

// recordArg reads an argument that starts with a record. If the record is the
// whole argument its values may use shorthand.
func (p *parser) recordArg(open token) Arg {
	p.take(open)
	rec, used := p.record(open, true)
	if !used {
		p.receiver = rec
		x := p.exprRest()
		return Arg{Span: x.Pos(), X: x}
	}
	if t := p.peek(); t.kind != tComma && t.kind != tRParen {
		p.fail(rec.Span, "a leading `.` has no receiver here", "shorthand needs the record to be the whole argument; name the item: `item => …`")
	}
	return Arg{Span: rec.Span, X: implicit(rec.Span, rec)}
}

// feedArg reads the argument of feed: a command line unless its head is a
// variable.
func (p *parser) feedArg(t token) Arg {
	if p.commandStarts() {
		start := p.pos
		bare := t.kind == tIdent
		c := p.command()
		a := Arg{Span: Span{start, c.End}, X: c, Cmd: c}
		if bare && c.Span == t.span() {
			a.X = &Name{t.span(), p.text(t)}
		} else if n := p.peek(); n.kind == tAnd || n.kind == tOr {
			p.receiver = c
			a.X, a.Cmd = p.exprRest(), nil
			a.End = a.X.Pos().End
		}
		return a
	}
	x := p.expr()
	a := Arg{Span: x.Pos(), X: x}
	if c, ok := x.(*Command); ok {
		a.Cmd = c
	}
	return a
}

// catchTail reads `[binder] handler` after a postfix catch.
func (p *parser) catchTail(x Expr) Expr {
	p.enter(p.pos)
	c := &Catch{X: x}
	scope := p.names.enter()
	if t := p.peek(); p.binderAt(t) {
		p.take(t)
		c.Binder = p.text(t)
		p.names.bind(c.Binder, valueBound)
	}
	if t := p.peek(); t.kind == tLBrace {
		p.receiver = p.braces(p.take(t), false)
		c.Handler = p.binary(bindCoalesce)
	} else if p.lambdaAt(t) {
		c.Handler = p.lambda(t)
	} else {
		c.Handler = p.binary(bindCoalesce)
	}
	p.names.leave(scope)
	p.depth--
	c.Span = Span{x.Pos().Start, c.Handler.Pos().End}
	return c
}

// binderAt reports whether the name t after catch binds the error: something
// that starts an expression follows on the line.
func (p *parser) binderAt(t token) bool {
	if t.kind != tIdent {
		return false
	}
	switch p.text(t) {
	case "true", "false", "null", "if", "match", "try", "with", "spawn":
		return false
	}
	if p.interpreterAt(t) {
		return false
	}
	n := p.token(t.end)
	touching := n.start == t.end
	switch n.kind {
	case tLBrace:
		return !p.noBlock
	case tNumber, tString, tRaw, tRegex, tDatetime, tBang:
		return true
	case tIdent:
		switch p.text(n) {
		case "catch", "in", "and", "or", "else":
			return false
		}
		return true
	case tLParen, tLBracket:
		return !touching
	case tMinus:
		c := p.at(n.end)
		return !touching && c != 0 && !isBlank(c) && c != '\n'
	}
	return !touching && p.pathAt(n.start) && (n.kind != tSlash || isWord(p.at(n.end)))
}
