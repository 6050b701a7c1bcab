package syntax

import "strings"

// stmts reads statements up to a token of kind end, which is not consumed.
func (p *parser) stmts(end kind) []Stmt {
	var list []Stmt
	left := false // a return or exit ended the block
	for {
		p.pos = p.skipTerminators(p.pos)
		t := p.peek()
		if t.kind == end {
			return list
		}
		if t.kind == tEOF {
			p.unexpected(t, "`}`")
		}
		s := p.stmt(t)
		if left {
			p.note(s.Pos(), "unreachable", "this statement is never reached")
		}
		left = p.leaves(s)
		list = append(list, s)
		switch t = p.peek(); t.kind {
		case tNewline, tSemi, end:
		case tEOF:
			p.unexpected(t, "`}`")
		default:
			p.terminator(s, t)
		}
	}
}

// leaves reports whether nothing after s in its block can run.
func (p *parser) leaves(s Stmt) bool {
	switch s := s.(type) {
	case *Return:
		return true
	case *ExprStmt:
		c, ok := s.X.(*Command)
		return ok && !c.Background && (c.Head.Text == "exit" || c.Head.Text == "quit") &&
			p.names.current[c.Head.Text] == unbound
	}
	return false
}

// skipTerminators passes newlines, `;` and trivia.
func (p *parser) skipTerminators(pos int) int {
	for {
		pos = p.skip(pos)
		if c := p.at(pos); c != '\n' && c != ';' {
			return pos
		}
		pos++
	}
}

// stmt reads one statement, deciding by its first word.
func (p *parser) stmt(t token) Stmt {
	if t.kind != tIdent {
		return p.exprStmt(t)
	}
	switch p.text(t) {
	case "let", "var":
		return p.letStmt(t, t.start, false)
	case "export":
		return p.exportStmt(t)
	case "fn":
		return p.fnStmt(t, t.start, false)
	case "alias":
		return p.aliasStmt(t)
	case "use":
		return p.useStmt(t)
	case "return":
		return p.returnStmt(t)
	case "break":
		p.take(t)
		return &Break{t.span()}
	case "continue":
		p.take(t)
		return &Continue{t.span()}
	case "for":
		return p.forStmt(t)
	case "while":
		return p.whileStmt(t)
	case "true", "false", "null", "if", "match", "try", "with", "spawn":
		return p.exprStmt(t)
	}
	if a := p.assignStmt(t); a != nil {
		return a
	}
	if p.at(t.end) == ':' && p.at(t.end+1) != '/' && p.at(t.end+1) != ':' {
		p.fail(Span{t.start, t.end + 1}, "a record needs its own braces here", "write `{ {"+p.text(t)+": …} }` for a block whose value is a record")
	}
	p.teachFunction(t)
	return p.exprStmt(t)
}

// exprStmt reads an expression or command with its chain and catch.
func (p *parser) exprStmt(t token) Stmt {
	x := p.chain()
	return &ExprStmt{Span{t.start, x.Pos().End}, x}
}

// name reads a name that is being declared.
func (p *parser) name(what string) token {
	t := p.peek()
	if t.kind != tIdent {
		p.unexpected(t, what)
	}
	return p.take(t)
}

func (p *parser) letStmt(t token, start int, export bool) Stmt {
	p.take(t)
	s := &Let{Mutable: p.text(t) == "var", Export: export}
	switch n := p.peek(); n.kind {
	case tLBracket, tLBrace, tLParen:
		p.fail(n.span(), p.text(t)+" binds one name", "take values apart with `match`, an index or a field: `let x = xs[0]`")
	}
	n := p.name("a name")
	s.Name, s.NamePos = p.text(n), n.span()
	if p.accept(tColon) {
		s.Type = p.typ()
	}
	if n := p.peek(); n.kind == tComma {
		p.fail(n.span(), p.text(t)+" binds one name", "write one `"+p.text(t)+"` for each name")
	}
	p.expect(tAssign, "`=`")
	p.newlines()
	s.Value = p.rhs()
	s.Span = Span{start, s.Value.Pos().End}
	p.names.bind(s.Name, valueBound)
	return s
}

func (p *parser) exportStmt(t token) Stmt {
	p.take(t)
	n := p.peek()
	switch {
	case p.is(n, "let"), p.is(n, "var"):
		return p.letStmt(n, t.start, true)
	case p.is(n, "fn"):
		return p.fnStmt(n, t.start, true)
	}
	hint := "`export let x = …`; for the environment `env.X = \"…\"`"
	if n.kind == tIdent {
		hint = "for the environment write `env." + p.text(n) + " = \"…\"`"
	}
	p.fail(t.span(), "export must precede let, var, or fn", hint)
	return nil
}

func (p *parser) fnStmt(t token, start int, export bool) Stmt {
	p.take(t)
	n := p.name("a function name")
	f := &Fn{Name: p.text(n), Export: export, Doc: p.docAbove(start)}
	p.names.bind(f.Name, commandBound)
	p.enter(t.start)
	defer func() { p.depth-- }()
	scope := p.names.enter()
	l := &Lambda{Fn: true, Name: f.Name}
	open := p.expect(tLParen, "`(`")
	l.Params = p.params(true)
	if p.accept(tThinArrow) {
		l.Ret = p.typ()
	}
	l.Body = p.block()
	p.names.leave(scope)
	l.Span = Span{open.start, l.Body.Pos().End}
	f.Func, f.Span = l, Span{start, l.End}
	return f
}

// docAbove is the comment block on the lines directly above the one at start.
func (p *parser) docAbove(start int) string {
	bol := strings.LastIndexByte(p.src[:start], '\n') + 1
	if strings.Trim(p.src[bol:start], " \t\r") != "" {
		return ""
	}
	var lines []string
	for bol > 0 {
		end := bol - 1
		bol = strings.LastIndexByte(p.src[:end], '\n') + 1
		line := strings.Trim(p.src[bol:end], " \t\r")
		if !strings.HasPrefix(line, "#") {
			break
		}
		lines = append(lines, strings.TrimPrefix(line[1:], " "))
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "\n")
}

func (p *parser) aliasStmt(t token) Stmt {
	p.take(t)
	n := p.name("a name")
	a := &Alias{Name: p.text(n)}
	p.expect(tAssign, "`=`")
	p.pos = p.skip(p.pos)
	if c := p.at(p.pos); c == '"' || c == '\'' {
		p.fail(Span{p.pos, p.pos + 1}, "expected a command after `=`", "an alias is a command, not a string: `alias "+a.Name+" = git status`")
	}
	if c := p.at(p.pos); c != '^' && !isIdent(c) && !p.pathAt(p.pos) {
		p.unexpected(p.peek(), "a command")
	}
	a.Cmd = p.command()
	a.Span = Span{t.start, a.Cmd.End}
	p.names.bind(a.Name, commandBound)
	return a
}

func (p *parser) useStmt(t token) Stmt {
	p.take(t)
	p.pos = p.skip(p.pos)
	arg := p.argument()
	switch {
	case arg == nil:
		p.unexpected(p.peek(), "a module path")
	case arg.Kind != ArgWord && arg.Kind != ArgPath && arg.Kind != ArgString, arg.Parts != nil && arg.Text == "":
		p.fail(arg.Span, "use needs a module path", "`use ./lib/tools`")
	}
	u := &Use{Span{t.start, arg.End}, *arg}
	p.names.bind(u.Stem(), valueBound)
	return u
}

// Stem is the name that a module is bound to: its file's, without the ending.
func (u *Use) Stem() string {
	return strings.TrimSuffix(u.Target.Text[strings.LastIndexByte(u.Target.Text, '/')+1:], ".shl")
}

func (p *parser) returnStmt(t token) Stmt {
	p.take(t)
	switch n := p.peek(); n.kind {
	case tNewline, tSemi, tRBrace, tEOF:
		return &Return{Span: t.span()}
	}
	x := p.rhs()
	return &Return{Span{t.start, x.Pos().End}, x}
}

func (p *parser) forStmt(t token) Stmt {
	p.take(t)
	if n := p.peek(); n.kind == tLBracket || n.kind == tLBrace {
		p.fail(n.span(), "for binds one name", "take the item apart in the body: `let x = item[0]`")
	}
	f := &For{Name: p.text(p.name("a name"))}
	if n := p.peek(); n.kind == tComma {
		p.fail(n.span(), "for binds one name", "take the item apart in the body: `let x = item[0]`")
	}
	if n := p.peek(); !p.is(n, "in") {
		p.unexpected(n, "`in`")
	} else {
		p.take(n)
	}
	f.Iter = p.head()
	scope := p.names.enter()
	p.names.bind(f.Name, valueBound)
	f.Body = p.block()
	p.names.leave(scope)
	f.Span = Span{t.start, f.Body.End}
	return f
}

func (p *parser) whileStmt(t token) Stmt {
	p.take(t)
	w := &While{}
	p.heads = append(p.heads, t.start)
	w.Cond = p.head()
	w.Body = p.blockAfterHead()
	w.Span = Span{t.start, w.Body.End}
	return w
}

// head reads an expression whose `{` belongs to the statement round it.
func (p *parser) head() Expr {
	was := p.noBlock
	p.noBlock = true
	x := p.expr()
	p.noBlock = was
	return x
}

// blockAfterHead reads the block of an if or while; from its brace on the head
// is known to be no shell syntax.
func (p *parser) blockAfterHead() *Block {
	if t := p.peek(); t.kind != tLBrace {
		p.unexpected(t, "a block")
	}
	p.heads = p.heads[:len(p.heads)-1]
	return p.block()
}

// block reads `{ stmts }` in its own scope.
func (p *parser) block() *Block {
	t := p.peek()
	if t.kind != tLBrace {
		p.unexpected(t, "a block")
	}
	p.take(t)
	return p.blockRest(t)
}

// blockRest reads a block whose brace has been taken.
func (p *parser) blockRest(open token) *Block {
	p.enter(open.start)
	m := p.open(false)
	scope := p.names.enter()
	b := &Block{Stmts: p.stmts(tRBrace)}
	b.Span = Span{open.start, p.take(p.peek()).end}
	p.names.leave(scope)
	p.restore(m)
	p.depth--
	return b
}

// assignStmt reads `NAME op rhs` and `env.NAME op rhs`, or returns nil when t
// starts something else.
func (p *parser) assignStmt(t token) Stmt {
	a := &Assign{Name: p.text(t)}
	end := t.end
	if a.Name == "env" && p.at(end) == '.' && isIdentStart(p.at(end+1)) {
		a.Env = true
		end = identEnd(p.src, t.end+1)
		a.Name = p.src[t.end+1 : end]
	}
	at := p.skipBlank(end)
	a.Op = assignOp(p.src[at:])
	if a.Op == "" || !a.Env && p.envPrefix(t.start, t.end) {
		return nil
	}
	p.pos = at + len(a.Op)
	p.newlines()
	a.Value = p.rhs()
	a.Span = Span{t.start, a.Value.Pos().End}
	return a
}

// assignOp is the assignment operator that s starts with, or "".
func assignOp(s string) string {
	if s == "" {
		return ""
	}
	switch s[0] {
	case '=':
		if len(s) == 1 || s[1] != '=' && s[1] != '>' {
			return "="
		}
	case '+', '-', '*', '/':
		if len(s) > 1 && s[1] == '=' && (len(s) == 2 || s[2] != '=') {
			return s[:2]
		}
	}
	return ""
}
