package syntax

import (
	"strings"
)

// stringLiteral reads the quoted token t: a Literal, or an Interp when it has
// holes. The caller moves behind it.
func (p *parser) stringLiteral(t token) Expr {
	q, err := scanQuote(p.src, t.start)
	if err != nil {
		panic(err)
	}
	if !q.raw {
		p.dollarNote(q)
	}
	if q.raw || !q.special {
		return &Literal{Span: t.span(), Kind: LitStr, Str: rawText(p.src, q)}
	}
	parts := p.stringParts(q)
	switch {
	case len(parts) == 0:
		return &Literal{Span: t.span(), Kind: LitStr}
	case len(parts) == 1 && parts[0].X == nil:
		return &Literal{Span: t.span(), Kind: LitStr, Str: parts[0].Text}
	}
	return &Interp{t.span(), parts}
}

// dollarNote remarks on `$NAME` and `${…}` in a string, in which `$` is plain text.
func (p *parser) dollarNote(q quote) {
	text := p.src[q.open:q.close]
	for i := strings.IndexByte(text, '$'); i >= 0; {
		if i+1 < len(text) && isIdentStart(text[i+1]) && (i == 0 || text[i-1] != '\\') {
			end := identEnd(text, i+1)
			hole := text[i+1 : end]
			if isEnvName(hole) {
				hole = "env." + hole
			}
			p.note(Span{q.open + i, q.open + end}, "dollar_in_string", "`"+text[i:end]+"` is plain text here; a hole is {"+hole+"}")
			return
		}
		if !q.raw && i+1 < len(text) && text[i+1] == '{' && (i == 0 || text[i-1] != '\\') {
			p.note(Span{q.open + i, q.open + i + 1}, "dollar_in_string", "`$` before a hole is plain text here; the hole alone is {…}")
			return
		}
		n := strings.IndexByte(text[i+1:], '$')
		if n < 0 {
			return
		}
		i += n + 1
	}
}

// stringParts decodes escapes and reads holes. Indentation goes by the raw
// source lines.
func (p *parser) stringParts(q quote) []InterpPart {
	start, stop, indent := 0, q.close-q.open, 0
	if q.triple {
		start, stop, indent = margins(p.src[q.open:q.close])
	}
	var parts []InterpPart
	var b strings.Builder
	i, stop := q.open+start, q.open+stop
	i += p.indentAt(i, stop, indent)
	for i < stop {
		switch c := p.src[i]; c {
		case '\\':
			r, end, err := unescape(p.src[:stop], i)
			if err != nil {
				panic(err)
			}
			b.WriteRune(r)
			i = end
		case '{':
			if b.Len() > 0 {
				parts = append(parts, InterpPart{Text: b.String()})
				b.Reset()
			}
			end, _ := holeEnd(p.src, i, q.triple)
			parts = append(parts, InterpPart{X: p.hole(i, end)})
			i = end
		case '\n':
			b.WriteByte('\n')
			i++
			i += p.indentAt(i, stop, indent)
		case '\r':
			if i++; i >= stop || p.src[i] != '\n' {
				b.WriteByte('\r')
			}
		default:
			n := strings.IndexAny(p.src[i:stop], "\\{\n\r")
			if n < 0 {
				n = stop - i
			}
			b.WriteString(p.src[i : i+n])
			i += n
		}
	}
	if b.Len() > 0 {
		parts = append(parts, InterpPart{Text: b.String()})
	}
	return parts
}

// indentAt is how much of the indentation at i is to be dropped.
func (p *parser) indentAt(i, stop, indent int) int {
	n := 0
	for n < indent && i+n < stop && (p.src[i+n] == ' ' || p.src[i+n] == '\t') {
		n++
	}
	return n
}

// hole reads the expression in p.src[start:end], braces included.
func (p *parser) hole(start, end int) Expr {
	p.enter(start)
	src, pos := p.src, p.pos
	m := p.open(true)
	dot := p.dotted
	p.dotted.active = false
	p.src, p.pos = p.src[:end-1], start+1
	at := Span{start, end}
	switch t := p.peek(); {
	case t.kind == tEOF, t.kind == tSemi, t.kind == tBad && p.at(t.start) == '\\':
		p.failHole(at)
	}
	x := p.expr()
	if t := p.peek(); t.kind != tEOF {
		switch t.kind {
		case tIdent:
			p.teachWord(t)
		case tPipe, tAmp:
			p.unexpected(t, "`}`")
		case tEq, tNe, tLt, tLe, tGt, tGe:
			p.failChain(t)
		}
		p.failHole(at)
	}
	p.src, p.pos, p.dotted = src, pos, dot
	p.restore(m)
	p.depth--
	return x
}

func (p *parser) failHole(at Span) {
	p.fail(at, "interpolation must contain one expression", `text with braces, such as JSON, belongs in '…' quotes or needs \{ and \}; a command in a hole needs parentheses: "{(cmd)}"`)
}
