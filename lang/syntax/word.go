package syntax

import (
	"strings"
	"unicode/utf8"
)

// Command words: one argument is a run of touching pieces, and its shape
// follows from its unquoted text.

// wordStop marks the ASCII characters that end a word.
var wordStop = [utf8.RuneSelf]bool{
	0: true, ' ': true, '\t': true, '\n': true, '\r': true, '\v': true, '\f': true,
	'(': true, ')': true, '{': true, '}': true, '"': true, '\'': true,
	';': true, '&': true, '<': true, '>': true, '|': true,
}

func isWord(c byte) bool { return c >= utf8.RuneSelf || !wordStop[c] }

// piece is one part of an argument while it is read.
type piece struct {
	text   string
	quoted bool
	glyph  bool // an escaped * ? [ ]: quoted in a glob, text elsewhere
	x      Expr
}

// argument reads the argument at p.pos, or returns nil where none starts.
func (p *parser) argument() *CmdArg {
	start := p.pos
	if strings.HasPrefix(p.src[start:], "...(") {
		p.pos += len("...")
		x := p.pieceGroup(start)
		if c := p.at(p.pos); isWord(c) || c == '"' || c == '\'' || c == '(' {
			p.fail(Span{p.pos, p.pos + 1}, "a spread is an argument of its own", "write a blank after `...(…)`")
		}
		return &CmdArg{Span: Span{start, p.pos}, Kind: ArgSpread, X: x}
	}
	if strings.HasPrefix(p.src[start:], "...[") {
		p.fail(Span{start, start + len("...")}, "a spread needs parentheses", "`...(xs)` makes an argument of each item")
	}
	var buf [4]piece
	pieces := p.pieces(buf[:0])
	if len(pieces) == 0 {
		return nil
	}
	a := &CmdArg{Span: Span{start, p.pos}}
	shape(a, pieces)
	return a
}

// pieces reads touching pieces.
func (p *parser) pieces(list []piece) []piece {
	start := p.pos
	for p.pos < len(p.src) {
		c := p.src[p.pos]
		switch {
		case c == '"' || c == '\'':
			list = addQuoted(list, p.quotedPiece())
		case c == '(':
			list = append(list, piece{x: p.pieceGroup(start)})
		case c == '{':
			n := p.braceText(len(list) > 0 && list[len(list)-1].x == nil && !list[len(list)-1].quoted)
			if n == 0 {
				return list
			}
			p.bracesNote(start, p.pos, n)
			list = addText(list, p.src[p.pos:p.pos+n])
			p.pos += n
		case isWord(c):
			if p.pos == start {
				p.checkWordStart(c)
				p.quoteNote(start)
			}
			list = p.wordText(list)
		default:
			return list
		}
	}
	return list
}

// checkWordStart refuses brackets that cannot start an argument.
func (p *parser) checkWordStart(c byte) {
	switch c {
	case '[':
		end := p.pos
		for end < len(p.src) && isWord(p.src[end]) {
			end++
		}
		if strings.IndexByte(p.src[p.pos:end], ']') < 0 {
			p.fail(Span{p.pos, p.pos + 1}, "`[` cannot start a command argument", "a list argument needs parentheses: `([a, b])`; conditions are expressions: `if x == 1 { … }`")
		}
	case ']':
		p.fail(Span{p.pos, p.pos + 1}, "unexpected `]`", "quote it: \"]\"")
	}
}

// maxBraceText is how long literal braces in a word can be, in bytes. It bounds
// the look ahead for their end.
const maxBraceText = 1 << 10

// braceText is the length of braces that are text of the word: `{}` that is the
// word or ends it, or a `{` that touches word characters and closes before the
// word does.
func (p *parser) braceText(touching bool) int {
	if next := p.at(p.pos + 2); p.at(p.pos+1) == '}' && !isWord(next) && strings.IndexByte("({\"'", next) < 0 {
		return 2
	}
	if !touching {
		return 0
	}
	depth := 0
	for i := p.pos; i < min(len(p.src), p.pos+maxBraceText); i++ {
		switch p.src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1 - p.pos
			}
		case ' ', '\t', '\n', '\r', '\v', '\f', '"', '\'':
			return 0
		}
	}
	return 0
}

// wordText reads unquoted text up to the end of the word or a piece of another
// kind. Text without escapes is a slice of the source.
func (p *parser) wordText(list []piece) []piece {
	from := p.pos
	var joined []byte // text before from, once there was an escape
	for p.pos < len(p.src) && isWord(p.src[p.pos]) {
		switch p.src[p.pos] {
		case '$':
			panic(sigilError(p.src, p.pos))
		case '`':
			panic(backtickError(p.src, p.pos))
		case '\\':
			joined = append(joined, p.src[from:p.pos]...)
			text, glyph := p.escapedText()
			if glyph {
				list = append(addText(list, string(joined)), piece{text: text, glyph: true})
				joined = joined[:0]
			} else {
				joined = append(joined, text...)
			}
			from = p.pos
		default:
			p.pos++
		}
	}
	if joined == nil {
		return addText(list, p.src[from:p.pos])
	}
	return addText(list, string(append(joined, p.src[from:p.pos]...)))
}

// escapedText reads a backslash and what it protects; glyph reports a pattern
// character.
func (p *parser) escapedText() (text string, glyph bool) {
	if n := lineJoin(p.src, p.pos); n > 0 {
		p.pos += n
		if p.pos >= len(p.src) {
			panic(joinError(p.pos))
		}
		return "", false
	}
	if p.pos+1 >= len(p.src) && len(p.src) == len(p.full) {
		panic(joinError(p.pos))
	}
	c := p.at(p.pos + 1)
	if c == 0 || strings.IndexByte(";&|<>(){}[]*?$\"'#\\` \t", c) < 0 {
		p.pos++
		return `\`, false
	}
	p.pos += 2
	return p.src[p.pos-1 : p.pos], strings.IndexByte("*?[]", c) >= 0
}

// joinError reports source that ends in the middle of a joined line.
func joinError(pos int) *Error {
	return &Error{Span: Span{pos, pos}, Msg: "unexpected end after `\\`", Incomplete: true}
}

// addText appends unquoted text, joining it to text before it.
func addText(list []piece, text string) []piece {
	if text == "" {
		return list
	}
	if n := len(list); n > 0 && list[n-1].x == nil && !list[n-1].quoted && !list[n-1].glyph {
		list[n-1].text += text
		return list
	}
	return append(list, piece{text: text})
}

// addQuoted appends a quoted piece. Touching quotes are one piece as far as
// they can be.
func addQuoted(list []piece, q piece) []piece {
	n := len(list)
	if n == 0 || !list[n-1].quoted {
		return append(list, q)
	}
	last := &list[n-1]
	switch {
	case last.x == nil && q.x == nil:
		last.text += q.text
	case last.x == nil && last.text == "":
		*last = q
	case q.x == nil && q.text == "":
	default:
		return append(list, q)
	}
	return list
}

// quotedPiece reads a quoted piece.
func (p *parser) quotedPiece() piece {
	t := p.quote(p.pos)
	if t.kind == tBad {
		panic(t.bad)
	}
	x := p.stringLiteral(t)
	p.pos = t.end
	if lit, ok := x.(*Literal); ok {
		return piece{text: lit.Str, quoted: true}
	}
	return piece{quoted: true, x: x}
}

// pieceGroup reads the `(expr)` at p.pos of an argument that starts at start.
func (p *parser) pieceGroup(start int) Expr {
	was := p.dotted
	p.dotted = dotted{}
	dot := start + strings.LastIndexByte(p.src[start:p.pos], '.')
	if dot > start && isIdentStart(p.at(dot+1)) && identEnd(p.src, dot+1) == p.pos {
		p.dotted = dotted{true, p.commandAt, dot}
	}
	g := p.group(p.take(p.peekAt(p.pos)))
	p.dotted = was
	return g.X
}

// peekAt is the token at pos.
func (p *parser) peekAt(pos int) token {
	p.pos = pos
	return p.peek()
}

// shape decides what an argument is from its pieces.
func shape(a *CmdArg, list []piece) {
	first := list[0]
	bare := first.x == nil && !first.quoted
	if !bare && len(list) == 1 {
		single(a, first)
		return
	}
	lead := ""
	if bare && !first.glyph {
		lead = first.text
	}
	switch {
	case longFlag(a, lead, list):
		return
	case len(list) == 1 && lead == "-":
		a.Kind = ArgDash
	case len(list) == 1 && lead == "--":
		a.Kind = ArgDashDash
	case len(list) == 1 && isCluster(lead):
		a.Kind, a.Flag = ArgShort, lead[1:]
	case strings.HasPrefix(lead, "-") || isURL(lead):
		a.Kind = ArgWord
	case hasGlob(list):
		a.Kind = ArgGlob
	case isPathText(lead, len(list) == 1):
		a.Kind = ArgPath
	}
	fill(a, list)
}

// single is an argument of one quoted or computed piece.
func single(a *CmdArg, only piece) {
	switch {
	case !only.quoted:
		a.Kind, a.X = ArgValue, only.x
	case only.x != nil:
		a.Kind, a.Parts = ArgString, []WordPart{{Quoted: true, X: only.x}}
	default:
		a.Kind, a.Text = ArgString, only.text
	}
}

// longFlag recognises --NAME and --NAME=value.
func longFlag(a *CmdArg, lead string, list []piece) bool {
	if len(lead) < 3 || lead[:2] != "--" || !isIdent(lead[2]) || lead[2] == '_' {
		return false
	}
	end := 3
	for end < len(lead) && (isIdent(lead[end]) || lead[end] == '.' || lead[end] == '-') {
		end++
	}
	switch {
	case end == len(lead) && len(list) == 1:
		a.Kind, a.Flag, a.Text = ArgLong, lead[2:], lead
		return true
	case end == len(lead) || lead[end] != '=':
		return false
	}
	a.Kind, a.Flag, a.HasValue = ArgLong, lead[2:end], true
	value := append([]piece{{text: lead[end+1:]}}, list[1:]...)
	if value[0].text == "" {
		value = value[1:]
	}
	a.Parts, a.Text = parts(value, false)
	if a.Text != "" || !computed(value) {
		a.Text = lead[:end+1] + a.Text
	}
	return true
}

// fill sets Text and Parts of a word, path or glob.
func fill(a *CmdArg, list []piece) {
	ps, text := parts(list, a.Kind == ArgGlob)
	a.Text = text
	if len(ps) > 1 || len(ps) == 1 && (ps[0].Quoted || ps[0].X != nil) {
		a.Parts = ps
	}
}

// parts turns pieces into word parts, and into one text if none is computed.
// In a glob escaped pattern characters stay pieces of their own.
func parts(list []piece, glob bool) ([]WordPart, string) {
	ps := make([]WordPart, 0, len(list))
	for _, c := range list {
		part := WordPart{Text: c.text, Quoted: c.quoted || c.glyph && glob, X: c.x}
		if n := len(ps); n > 0 && part.X == nil && ps[n-1].X == nil && part.Quoted == ps[n-1].Quoted {
			ps[n-1].Text += part.Text
			continue
		}
		ps = append(ps, part)
	}
	if computed(list) {
		return ps, ""
	}
	if len(ps) == 1 {
		return ps, ps[0].Text
	}
	var b strings.Builder
	for _, part := range ps {
		b.WriteString(part.Text)
	}
	return ps, b.String()
}

func computed(list []piece) bool {
	for _, c := range list {
		if c.x != nil {
			return true
		}
	}
	return false
}

func isCluster(s string) bool {
	if len(s) < 2 || s[0] != '-' {
		return false
	}
	digits := true
	for i := 1; i < len(s); i++ {
		if !isIdent(s[i]) || s[i] == '_' {
			return false
		}
		digits = digits && isDigit(s[i])
	}
	return !digits
}

// isURL reports whether s starts with `scheme://`.
func isURL(s string) bool {
	i := strings.Index(s, "://")
	if i <= 0 || !isIdentStart(s[0]) {
		return false
	}
	for _, c := range []byte(s[:i]) {
		if !isIdent(c) && c != '+' && c != '-' && c != '.' {
			return false
		}
	}
	return true
}

func isPathText(s string, whole bool) bool {
	return strings.HasPrefix(s, "/") || strings.HasPrefix(s, "./") || strings.HasPrefix(s, "../") ||
		strings.HasPrefix(s, "~/") || s == "~" && whole
}

// hasGlob reports whether unquoted text holds a pattern character.
func hasGlob(list []piece) bool {
	for _, c := range list {
		if c.x != nil || c.quoted || c.glyph {
			continue
		}
		if strings.ContainsAny(c.text, "*?") {
			return true
		}
		if i := strings.IndexByte(c.text, '['); i >= 0 && strings.IndexByte(c.text[i:], ']') > 0 {
			return true
		}
	}
	return false
}
