package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxNesting is how deep source may nest.
const maxNesting = 500

// Parse reads a whole source. seed holds the session's bindings.
func Parse(src string, seed Names) (prog *Program, err *Error) {
	p := &parser{scanner: scanner{src}, full: src, names: newNames(seed)}
	prog = &Program{Span: Span{0, len(src)}, Src: src}
	defer func() {
		switch r := recover().(type) {
		case nil:
		case *Error:
			prog, err = nil, p.finish(r)
		default:
			panic(r)
		}
	}()
	p.checkText()
	if strings.HasPrefix(src, "\ufeff") {
		p.pos = len("\ufeff")
	}
	prog.Stmts = p.stmts(tEOF)
	prog.Consulted, prog.Notes = p.names.consulted, p.notes
	if len(src) > smallSource {
		checkHeight(prog)
	}
	return prog, nil
}

// parser reads statements and expressions by recursive descent. It has one
// position and looks ahead by scanning from any other; errors leave it as a
// panic with an *Error that Parse turns into a result.
type parser struct {
	scanner
	full  string // the source; scanner.src ends at the end of a hole
	names *names
	notes []Note

	pos   int
	depth int
	// delim: newlines mean nothing, because the innermost open delimiter is
	// ( [ or a record brace.
	delim bool
	// noBlock: a `{` belongs to the statement round this expression.
	noBlock bool
	// receiver is an operand that is already there: the item of a shorthand, or
	// a command or record read before its operators.
	receiver Expr
	// heads are the starts of the if and while heads being read, for the
	// diagnostics of shell syntax.
	heads []int
	// dotted is the command word with a dot that touches the parenthesis being
	// read: `git log.len()`.
	dotted dotted
	// commandAt is the start of the command being read.
	commandAt int

	tok      token // the token at tokAt, read with tokDelim
	tokAt    int
	tokDelim bool
	tokEnd   int
	next     token // the first token after newlines from nextAt
	nextAt   int
	nextEnd  int
}

// fail ends parsing with an error.
func (p *parser) fail(at Span, msg, hint string) {
	panic(&Error{Span: at, Msg: msg, Hint: hint})
}

// failf is fail without a hint.
func (p *parser) failf(at Span, format string, args ...any) {
	p.fail(at, fmt.Sprintf(format, args...), "")
}

// checkText refuses source that is no text.
func (p *parser) checkText() {
	if i := strings.IndexByte(p.src, 0); i >= 0 {
		p.fail(Span{i, i + 1}, "NUL in source", "write \\0 in a string")
	}
	if utf8.ValidString(p.src) {
		return
	}
	for i, r := range p.src {
		if _, n := utf8.DecodeRuneInString(p.src[i:]); r == utf8.RuneError && n == 1 {
			p.fail(Span{i, i + 1}, "source is not valid UTF-8", "")
		}
	}
}

// finish completes an error: whether more input could help, whether shell
// syntax explains it better, and which habit is behind it.
func (p *parser) finish(e *Error) *Error {
	if e.Start >= len(p.full) && len(p.src) == len(p.full) {
		e.Incomplete = true
	}
	p.src = p.full
	if better := p.shellHead(e); better != nil {
		return p.teach(better)
	}
	return p.teach(e)
}

// peek is the next token; newlines are passed inside delimiters.
func (p *parser) peek() token {
	if p.tokAt == p.pos && p.tokDelim == p.delim && p.tokEnd == len(p.src) {
		return p.tok
	}
	t := p.token(p.pos)
	if p.delim && t.kind == tNewline {
		t = p.token(p.skipLines(t.end))
		t.nl = true
	}
	p.tok, p.tokAt, p.tokDelim, p.tokEnd = t, p.pos, p.delim, len(p.src)
	return t
}

// peekLine is the next token after any newlines. Many levels of an expression
// ask at the same place, so the answer is kept.
func (p *parser) peekLine() token {
	t := p.peek()
	if t.kind != tNewline {
		return t
	}
	if p.nextAt != p.pos || p.nextEnd != len(p.src) {
		p.next = p.token(p.skipLines(t.end))
		p.nextAt, p.nextEnd = p.pos, len(p.src)
	}
	return p.next
}

// take consumes a peeked token.
func (p *parser) take(t token) token {
	p.pos = t.end
	return t
}

// accept consumes the next token if it is of kind k.
func (p *parser) accept(k kind) bool {
	t := p.peek()
	if t.kind != k {
		return false
	}
	p.pos = t.end
	return true
}

// expect consumes a token of kind k or fails with what was wanted.
func (p *parser) expect(k kind, want string) token {
	t := p.peek()
	if t.kind != k {
		p.unexpected(t, want)
	}
	return p.take(t)
}

// newlines passes newlines where an expression continues anyway.
func (p *parser) newlines() {
	if t := p.peek(); t.kind == tNewline {
		p.pos = p.skipLines(t.start)
	}
}

func (p *parser) text(t token) string { return p.src[t.start:t.end] }

func (t token) span() Span { return Span{t.start, t.end} }

// is reports whether t is the word.
func (p *parser) is(t token, word string) bool {
	return t.kind == tIdent && p.src[t.start:t.end] == word
}

// enter counts a level of nesting; the caller leaves with p.depth--.
func (p *parser) enter(at int) {
	if p.depth++; p.depth > maxNesting {
		p.fail(Span{at, min(at+1, len(p.src))}, "nesting too deep", fmt.Sprintf("source may nest %d levels", maxNesting))
	}
}

// mode is what delimiters and block positions change.
type mode struct{ delim, noBlock bool }

// open starts text in which newlines do or do not count, and gives the mode to
// come back to.
func (p *parser) open(delim bool) mode {
	m := mode{p.delim, p.noBlock}
	p.delim, p.noBlock = delim, false
	return m
}

func (p *parser) restore(m mode) { p.delim, p.noBlock = m.delim, m.noBlock }

// note adds a remark.
func (p *parser) note(at Span, code, msg string) {
	p.notes = append(p.notes, Note{at, code, msg})
}
