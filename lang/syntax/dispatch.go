package syntax

import "strings"

// What starts here: a command or an expression? The answer depends on the text
// and on whether the first name is bound, never on values.

// chain reads an operand that may be a command, with its `&&`/`||` chain and
// its catch: a statement, or what stands in parentheses.
func (p *parser) chain() Expr {
	if p.commandStarts() {
		return p.afterCommand(p.command())
	}
	return p.expr()
}

// afterCommand reads what may follow a command: its chain, and everything that
// may follow an expression when it is an interpreter block.
func (p *parser) afterCommand(c *Command) Expr {
	p.receiver = c
	return p.exprRest()
}

// commandStarts decides whether a command starts at the next token.
func (p *parser) commandStarts() bool {
	t := p.peek()
	switch {
	case t.kind == tCaret || p.pathAt(t.start):
		p.pos = t.start
		return true
	case t.kind != tIdent:
		return false
	}
	name := p.text(t)
	switch name {
	case "true", "false", "null", "if", "match", "try", "with", "spawn":
		return false
	case "let", "var", "export", "fn", "alias", "use", "return", "break", "continue", "for", "while":
		return false
	}
	if p.interpreterAt(t) {
		return false
	}
	switch p.at(t.end) {
	case '.', '(', '[':
		return false
	case '?':
		if p.at(t.end+1) == '.' {
			return false
		}
	case '=':
		if p.envPrefix(t.start, t.end) {
			p.pos = t.start
			return true
		}
	}
	if p.arrowAt(t.end) || p.dotLineAt(t.end) {
		return false
	}
	bound := p.names.lookup(name)
	if bound == valueBound {
		return false
	}
	if name == "it" || name == "out" {
		p.failReplOnly(t.span())
	}
	if bound == unbound {
		p.teachHead(t)
	}
	p.pos = t.start
	return true
}

// arrowAt reports whether `=>` follows pos on the same line.
func (p *parser) arrowAt(pos int) bool {
	return strings.HasPrefix(p.src[p.skipBlank(pos):], "=>")
}

// dotLineAt reports whether nothing but a line that starts with `.name`
// follows pos: a method chain laid out over lines.
func (p *parser) dotLineAt(pos int) bool {
	pos = p.skip(pos)
	return p.at(pos) == '\n' && p.dotName(p.skipLines(pos))
}

// dotName reports whether `.name` or `?.name` stands at pos.
func (p *parser) dotName(pos int) bool {
	if p.at(pos) == '?' {
		pos++
	}
	return p.at(pos) == '.' && isIdentStart(p.at(pos+1))
}

// pathAt reports whether a path-shaped word starts at pos.
func (p *parser) pathAt(pos int) bool {
	rest := p.src[min(pos, len(p.src)):]
	switch {
	case rest == "":
		return false
	case rest[0] == '/':
		return true
	case rest[0] == '~':
		return len(rest) == 1 || strings.IndexByte("/ \t\r\n;)}&|<>", rest[1]) >= 0
	}
	return strings.HasPrefix(rest, "./") || strings.HasPrefix(rest, "../")
}

// envPrefix reports whether the name at pos is `NAME=value` before a head.
func (p *parser) envPrefix(pos, end int) bool {
	c := p.at(end + 1)
	if p.at(end) != '=' || c == '=' || c == '>' || c == 0 || isBlank(c) || c == '\n' {
		return false
	}
	value := p.skimWord(end + 1)
	head := p.skipBlank(value)
	if head == value {
		return false
	}
	c = p.at(head)
	switch {
	case isIdentStart(c):
		word := p.src[head:identEnd(p.src, head)]
		return word != "catch" && word != "in" && word != "and" && word != "or"
	case isDigit(c), c == '^':
		return true
	case c == '/':
		next := p.at(head + 1)
		return isWord(next)
	}
	return c != 0 && p.pathAt(head)
}

// maxSkim is how long the value of an env prefix can be, in bytes: more than
// what systems let a variable hold. It bounds the look ahead for the head that
// must follow.
const maxSkim = 256 << 10

// skimWord passes a command argument without reading it.
func (p *parser) skimWord(pos int) int {
	depth := 0
	for end := min(len(p.src), pos+maxSkim); pos < end; pos++ {
		switch c := p.src[pos]; {
		case c == '\\':
			pos++
		case c == '"' || c == '\'':
			q, err := scanQuote(p.src, pos)
			if err != nil {
				return len(p.src)
			}
			pos = q.end - 1
		case c == '(':
			depth++
		case c == ')' && depth > 0:
			depth--
		case depth == 0 && !isWord(c):
			return pos
		}
	}
	return len(p.src)
}

// interpreterAt reports whether t is an interpreter head with a block.
func (p *parser) interpreterAt(t token) bool {
	name := p.text(t)
	if interpreters[name] == nil {
		return false
	}
	switch p.at(t.end) {
	case '\'':
		return true
	case '{':
	default:
		if p.at(p.skipBlank(t.end)) != '{' {
			return false
		}
	}
	// In the head of an if or a match the brace after a variable is the
	// statement's.
	return !p.noBlock || p.names.lookup(name) != valueBound
}

// rhs reads what stands after `=` and return: an expression, or a command when
// an unbound name is followed by what can only be an argument.
func (p *parser) rhs() Expr {
	t := p.peek()
	switch {
	case t.kind == tCaret:
		p.pos = t.start
		return p.afterCommand(p.command())
	case t.kind != tIdent:
		return p.expr()
	}
	name := p.text(t)
	switch name {
	case "true", "false", "null", "if", "match", "try", "with", "spawn":
		return p.expr()
	case "let", "var", "export", "fn", "alias", "use", "return", "break", "continue", "for", "while":
		return p.expr()
	}
	if p.interpreterAt(t) || !p.argumentFollows(t.end) && !p.planBlockAt(t) || p.names.lookup(name) == valueBound {
		return p.expr()
	}
	if name == "it" || name == "out" {
		p.failReplOnly(t.span())
	}
	p.teachHead(t)
	p.pos = t.start
	return p.afterCommand(p.command())
}

// planBlockAt reports whether t is `plan` before its block: no other head takes
// nothing but a block.
func (p *parser) planBlockAt(t token) bool {
	return p.is(t, "plan") && !p.noBlock && p.at(p.skipBlank(t.end)) == '{'
}

// argumentFollows reports whether a blank and something that cannot continue
// an expression follow pos on the same line. An operator with a blank on both
// sides is an operator.
func (p *parser) argumentFollows(pos int) bool {
	i := p.skipBlank(pos)
	if i == pos || i >= len(p.src) {
		return false
	}
	c, next := p.src[i], p.at(i+1)
	switch {
	case isIdentStart(c):
		switch p.src[i:identEnd(p.src, i)] {
		case "in", "catch", "and", "or":
			return false
		}
		return true
	case c == '.':
		return p.dotArgument(i)
	case c == '?':
		return !p.dotName(i) && !(next == '?' && p.spaced(i+2, true))
	case c == '*' || c == '-' || c == '/':
		return !p.spaced(i+1, false) && next != '=' && !(c == '-' && next == '>')
	case c == '+' || c == '%':
		return !p.spaced(i+1, true) && next != '='
	case c == '!':
		return next != '='
	}
	return strings.IndexByte("\n;(){}[],:=<>&|#", c) < 0
}

// dotArgument reports whether the dots at i are a word.
func (p *parser) dotArgument(i int) bool {
	rest := p.src[i:]
	switch {
	case strings.HasPrefix(rest, "..."):
		return p.at(i+3) == '('
	case strings.HasPrefix(rest, "../"):
		return true
	case strings.HasPrefix(rest, ".."):
		c := p.at(i + 2)
		return !p.spaced(i+2, false) && (c == 0 || isBlank(c) || strings.IndexByte("\n;)}", c) >= 0)
	}
	return !isIdentStart(p.at(i + 1))
}

// spaced reports whether a blank at pos separates an operator from a right
// operand. Where none can follow, atEnd says whether the operator still is one
// that waits for it, or a word of its own.
func (p *parser) spaced(pos int, atEnd bool) bool {
	after := p.skipBlank(pos)
	if c := p.at(after); c == 0 || strings.IndexByte("\n;)}&|<>,]", c) >= 0 || c == '#' && after > pos {
		return atEnd
	}
	return after > pos
}
