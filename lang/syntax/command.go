package syntax

import "strings"

// command reads the command at p.pos: env prefixes, head, arguments,
// redirects, trailing block, `&`.
func (p *parser) command() *Command {
	c := &Command{}
	start := p.pos
	was := p.commandAt
	p.commandAt = start
	p.enter(start)
	for p.envAssign(c) {
	}
	if p.at(p.pos) == '^' {
		c.Force = true
		p.pos++
		p.checkForced()
	}
	p.commandHead(c)
	switch {
	case p.planned(c):
		c.Trailing = p.plannedCommand()
		p.depth--
		p.commandAt = was
		c.Span = Span{start, p.pos}
		return c
	case c.Interp == nil:
		p.arguments(c)
	default:
		p.redirects(c)
	}
	p.background(c)
	p.depth--
	p.commandAt = was
	c.Span = Span{start, p.pos}
	return c
}

// envAssign reads one `NAME=value` prefix.
func (p *parser) envAssign(c *Command) bool {
	if !isIdentStart(p.at(p.pos)) {
		return false
	}
	end := identEnd(p.src, p.pos)
	if !p.envPrefix(p.pos, end) {
		return false
	}
	e := EnvAssign{Name: p.src[p.pos:end]}
	start := p.pos
	p.pos = end + 1
	e.Value, _ = parts(p.pieces(nil), false)
	e.Span = Span{start, p.pos}
	c.EnvPrefix = append(c.EnvPrefix, e)
	p.pos = p.skipBlank(p.pos)
	return true
}

// checkForced refuses what `^` cannot force.
func (p *parser) checkForced() {
	switch c := p.at(p.pos); {
	case c == '(':
		p.fail(Span{p.pos, p.pos + 1}, "`^` needs a name", "a computed program is `run(name, args)`")
	case !isWord(c) && c != '"' && c != '\'':
		p.fail(Span{p.pos - 1, p.pos}, "`^` needs a name", "write `^name` without a blank")
	}
}

// commandHead reads the head, with its payload if it is an interpreter block.
func (p *parser) commandHead(c *Command) {
	start := p.pos
	if isIdentStart(p.at(start)) {
		t := token{kind: tIdent, start: start, end: identEnd(p.src, start)}
		if p.interpreterAt(t) {
			c.Head = CmdArg{Span: t.span(), Text: p.text(t)}
			c.Interp = p.payload(t)
			return
		}
	}
	head := p.argument()
	if head == nil {
		p.unexpected(p.peek(), "a command")
	}
	p.checkJoin(c, head)
	c.Head = *head
}

// checkJoin refuses a name that continues on the next line: its first half has
// already decided how the statement is read.
func (p *parser) checkJoin(c *Command, head *CmdArg) {
	if c.Force || head.Kind == ArgPath {
		return
	}
	for i := head.Start; i < head.End; i++ {
		if n := lineJoin(p.src, i); n > 0 && i+n < head.End {
			p.fail(Span{i, i + n}, "a command name cannot continue on the next line", "put a blank before the `\\`")
		}
	}
}

// payload reads the block of the interpreter head t.
func (p *parser) payload(t token) *Payload {
	open := p.skipBlank(t.end)
	if p.at(open) == '\'' {
		q, err := scanQuote(p.src, open)
		if err != nil {
			panic(err)
		}
		p.pos = q.end
		return &Payload{Span{open, q.end}, payloadText(p.src[q.open:q.close])}
	}
	end := payloadEnd(p.src, open, interpreters[p.text(t)])
	if end < 0 {
		panic(&Error{
			Span: Span{open, open + 1}, Msg: "unbalanced braces", Incomplete: len(p.src) == len(p.full),
			Hint: "the `{` after " + p.text(t) + " has no matching `}`; " + p.text(t) + "'''…''' takes any text",
		})
	}
	p.pos = end + 1
	return &Payload{Span{open, end + 1}, payloadText(p.src[open+1 : end])}
}

// arguments reads everything between the head and the end of the command.
func (p *parser) arguments(c *Command) {
	for {
		at := p.nextArgument()
		if at >= len(p.src) {
			return
		}
		switch ch := p.src[at]; {
		case ch == '<' || ch == '>':
			p.pos = at
			p.redirect(c)
		case ch == '{' && !(p.at(at+1) == '}' && p.braceWord(at)):
			if p.noBlock {
				return
			}
			p.pos = at
			c.Trailing = p.trailing()
			return
		case ch == '&' && p.at(at+1) == '>':
			p.failMerge(Span{at, at + 2})
		case strings.IndexByte("\n;)}&|", ch) >= 0:
			return
		default:
			p.pos = at
			a := p.argument()
			if a == nil {
				panic(badCharacter(p.src, at))
			}
			p.fdRedirect(a)
			c.Args = append(c.Args, *a)
		}
	}
}

// braceWord reports whether the `{}` at pos is a word of its own.
func (p *parser) braceWord(pos int) bool {
	was := p.pos
	p.pos = pos
	n := p.braceText(false)
	p.pos = was
	return n > 0
}

// nextArgument is where the next argument could start.
func (p *parser) nextArgument() int {
	at := p.skip(p.pos)
	if p.delim {
		at = p.skipLines(at)
	}
	if at >= len(p.src) && endsInJoin(p.src[p.pos:at]) {
		panic(joinError(at))
	}
	return at
}

func (p *parser) failMerge(at Span) {
	p.fail(at, "shoal has no stream-merging redirect", "a result keeps both: `(cmd).out`, `(cmd).stderr`; or write `sh { cmd &> f }`")
}

// fdRedirect refuses a number that touches a redirect.
func (p *parser) fdRedirect(a *CmdArg) {
	if c := p.at(p.pos); c != '<' && c != '>' || a.Kind != ArgWord || a.Parts != nil {
		return
	}
	if digitsEnd(a.Text, 0) == len(a.Text) {
		p.fail(Span{a.Start, p.pos + 1}, "shoal has no fd-numbered redirects", "a result keeps it: `(cmd).stderr`; or write `sh { cmd 2>f }`")
	}
}

// redirects reads the redirects after an interpreter block.
func (p *parser) redirects(c *Command) {
	for {
		at := p.nextArgument()
		switch p.at(at) {
		case '<', '>':
			p.pos = at
			p.redirect(c)
		case '&':
			if p.at(at+1) == '>' {
				p.failMerge(Span{at, at + 2})
			}
			return
		default:
			return
		}
	}
}

// redirect reads one `<`, `>` or `>>` with its target.
func (p *parser) redirect(c *Command) {
	r := Redirect{Op: p.src[p.pos : p.pos+1]}
	start := p.pos
	if strings.HasPrefix(p.src[start:], "<<") {
		panic(heredocError(p.src, start))
	}
	if strings.HasPrefix(p.src[start:], ">>") {
		r.Op = ">>"
	}
	p.pos += len(r.Op)
	if p.at(p.pos) == '&' {
		p.failMerge(Span{start, p.pos + 1})
	}
	p.pos = p.skipBlank(p.pos)
	target := p.argument()
	if target == nil {
		p.unexpected(p.peek(), "a file after `"+r.Op+"`")
	}
	r.Target, r.Span = *target, Span{start, target.End}
	if isComparison(target) {
		text := target.Text
		if strings.HasPrefix(text, "=") {
			text = "="
		}
		p.fail(target.Span, "redirect to `"+text+"`?", p.comparisonHint(c, text))
	}
	if r.Op == "<" {
		for _, other := range c.Redirects {
			if other.Op == "<" {
				p.failChain(token{start: start, end: start + 1})
			}
		}
	}
	c.Redirects = append(c.Redirects, r)
}

// comparisonHint is for a comparison that was read as a redirect to text.
func (p *parser) comparisonHint(c *Command, text string) string {
	quoted := "a file of that name needs quotes: \"" + text + "\""
	if len(c.Args) > 0 {
		return quoted + "; a comparison needs values on both sides, and a filter is `.where(.field > value)`"
	}
	name := p.src[c.Head.Start:c.Head.End]
	return "`" + name + "` is not defined here, so this is a command; `let " + name + " = …` defines it; " + quoted
}

// isComparison reports whether a redirect's target is a number or the rest of
// `>=`: then the redirect was meant as a comparison.
func isComparison(a *CmdArg) bool {
	if a.Kind != ArgWord || a.Parts != nil || a.Text == "" {
		return false
	}
	text := strings.TrimPrefix(a.Text, "-")
	if text == "" {
		return false
	}
	if text[0] == '=' {
		return true
	}
	if !isDigit(text[0]) || scanNumber(text, 0).end != len(text) {
		return false
	}
	_, err := numberLiteral(text, 0)
	return err == nil
}

// background reads `&` at the end of a command.
func (p *parser) background(c *Command) {
	at := p.nextArgument()
	if p.at(at) != '&' || p.at(at+1) == '&' {
		return
	}
	after := p.skip(at + 1)
	if p.delim {
		after = p.skipLines(after)
	}
	if ch := p.at(after); ch != 0 && strings.IndexByte("\n;)}", ch) < 0 {
		p.failAmp(Span{at, at + 1})
	}
	p.pos = at + 1
	c.Background = true
}

// trailing reads a block that is passed as a closure without parameters.
func (p *parser) trailing() *Lambda {
	b := p.block()
	return &Lambda{Span: b.Span, Body: b, Trailing: true}
}

// planned reports whether the head just read is `plan` with a command after it.
func (p *parser) planned(c *Command) bool {
	if p.noBlock || c.Force || c.Interp != nil || len(c.EnvPrefix) > 0 || c.Head.Kind != ArgWord || c.Head.Text != "plan" ||
		c.Head.Parts != nil || p.names.lookup("plan") != unbound {
		return false
	}
	at := p.nextArgument()
	ch := p.at(at)
	return at > p.pos && (ch == '^' || isIdentStart(ch) || p.pathAt(at))
}

// plannedCommand reads `plan CMD ARG…` as `plan { CMD ARG… }`: the command is
// looked at, not run.
func (p *parser) plannedCommand() *Lambda {
	p.pos = p.nextArgument()
	cmd := p.command()
	body := &Block{Span: cmd.Span, Stmts: []Stmt{&ExprStmt{cmd.Span, cmd}}}
	return &Lambda{Span: cmd.Span, Body: body, Trailing: true}
}
