package syntax

import "strings"

// Interpreter blocks: `python3 { … }`. To find the closing brace the scan below
// follows the quotes, comments and nested code of the payload's own language.
// It is a stack machine over a handful of contexts, so its time is linear. If
// it finds no end, a second scan that knows plain quotes only is tried.

// lexis is what brace matching must know of a language.
type lexis struct {
	single   quoting // '…'
	double   quoting // "…"
	back     quoting // `…`
	hash     commenting
	slashes  bool // // and /* */, regex literals
	dashes   bool // -- comment
	triple   bool // python triple quotes
	brackets bool // lua [[ ]], [=[ ]=]
	heredocs bool
	parens   bool // (* *) comments
}

// quoting says what a quote means.
type quoting uint8

const (
	notQuote  quoting = iota
	plain             // ends at the next quote
	escaped           // backslash protects
	shellText         // escaped, with ${…} $(…) `…` inside
	rubyText          // escaped, with #{…} inside
	template          // escaped, with ${…} inside
	jqText            // escaped, with \(…) inside
)

// commenting says where `#` starts a comment.
type commenting uint8

const (
	noHash commenting = iota
	hashAnywhere
	hashAtWord
)

var (
	shellLexis = lexis{single: plain, double: shellText, back: escaped, hash: hashAtWord, heredocs: true}
	fishLexis  = lexis{single: escaped, double: escaped, hash: hashAtWord}
	pyLexis    = lexis{single: escaped, double: escaped, hash: hashAnywhere, triple: true}
	jsLexis    = lexis{single: escaped, double: escaped, back: template, slashes: true}
	phpLexis   = lexis{single: escaped, double: escaped, back: escaped, hash: hashAtWord, slashes: true}
	rubyLexis  = lexis{single: escaped, double: rubyText, back: rubyText, hash: hashAtWord}
	perlLexis  = lexis{single: escaped, double: escaped, back: escaped, hash: hashAtWord}
	luaLexis   = lexis{single: escaped, double: escaped, dashes: true, brackets: true}
	rLexis     = lexis{single: escaped, double: escaped, back: escaped, hash: hashAnywhere}
	osaLexis   = lexis{double: escaped, hash: hashAtWord, dashes: true, parens: true}
	jqLexis    = lexis{double: jqText, hash: hashAnywhere}
	crudeLexis = lexis{single: plain, double: escaped}
)

// interpreters are the heads that take a block, with their lexis.
var interpreters = map[string]*lexis{
	"sh": &shellLexis, "bash": &shellLexis, "zsh": &shellLexis, "fish": &fishLexis,
	"python": &pyLexis, "python3": &pyLexis, "node": &jsLexis, "deno": &jsLexis,
	"ruby": &rubyLexis, "perl": &perlLexis, "php": &phpLexis, "lua": &luaLexis,
	"Rscript": &rLexis, "osascript": &osaLexis, "jq": &jqLexis, "yq": &jqLexis,
}

// context is one open construct of a payload.
type context uint8

const (
	inBraces context = iota
	inParens         // $(…), \(…): code up to the matching parenthesis
	inSingle
	inDouble
	inBack
)

// payloadEnd is the position of the brace that closes the one at open, or -1.
func payloadEnd(src string, open int, lx *lexis) int {
	m := matcher{src: src, lx: lx, pos: open + 1}
	if end := m.run(); end >= 0 {
		return end
	}
	m = matcher{src: src, lx: &crudeLexis, pos: open + 1}
	return m.run()
}

// matcher walks a payload. stack holds the constructs open at pos; the bottom
// is the block itself.
type matcher struct {
	src   string
	lx    *lexis
	pos   int
	stack []context
	docs  []string // delimiters of here-documents that start on the next line
	prev  byte     // last character of code that was no blank
	// noArith and noRegex end the lines on which looking for the end of an
	// arithmetic or a regex failed: each line is searched in vain only once.
	noArith, noRegex int
}

func (m *matcher) run() int {
	m.stack = append(m.stack, inBraces)
	for m.pos < len(m.src) {
		top := m.stack[len(m.stack)-1]
		if top >= inSingle {
			m.text(top)
			continue
		}
		if end, done := m.code(top); done {
			return end
		}
	}
	return -1
}

func (m *matcher) push(c context) { m.stack = append(m.stack, c) }
func (m *matcher) pop()           { m.stack = m.stack[:len(m.stack)-1] }

// code steps over one element of code.
func (m *matcher) code(top context) (end int, done bool) {
	c := m.src[m.pos]
	if m.comment(c) || m.special(c) {
		return 0, false
	}
	m.pos++
	switch {
	case c == '{':
		m.push(inBraces)
	case c == '}':
		if top == inBraces {
			m.pop()
			if len(m.stack) == 0 {
				return m.pos - 1, true
			}
		}
	case c == '(' && top == inParens:
		m.push(inParens)
	case c == ')' && top == inParens:
		m.pop()
	case c == '\'' && m.lx.single != notQuote:
		m.push(inSingle)
	case c == '"' && m.lx.double != notQuote:
		m.push(inDouble)
	case c == '`' && m.lx.back != notQuote:
		m.push(inBack)
	case c == '\\' && m.pos < len(m.src):
		m.pos++
	case c == '\n' && !m.hereDocs():
		m.fail()
	}
	if !isBlank(c) && c != '\n' {
		m.prev = c
	}
	return 0, false
}

// fail ends the scan without a result.
func (m *matcher) fail() { m.pos = len(m.src) }

// text steps over one element of quoted text.
func (m *matcher) text(top context) {
	rule, close := m.lx.single, byte('\'')
	switch top {
	case inDouble:
		rule, close = m.lx.double, '"'
	case inBack:
		rule, close = m.lx.back, '`'
	}
	c := m.src[m.pos]
	next := byte(0)
	if m.pos+1 < len(m.src) {
		next = m.src[m.pos+1]
	}
	m.pos++
	switch {
	case c == close:
		m.pop()
		m.prev = close
	case rule == plain:
	case c == '\\':
		m.pos++
		if rule == jqText && next == '(' {
			m.push(inParens)
		}
	case rule == shellText && c == '`':
		m.push(inBack)
	case c == '$' && rule == shellText && next == '(':
		m.pos++
		m.push(inParens)
	case c == '$' && next == '{' && (rule == shellText || rule == template), c == '#' && next == '{' && rule == rubyText:
		m.pos++
		m.push(inBraces)
	}
}

// comment passes a comment that starts at pos.
func (m *matcher) comment(c byte) bool {
	rest := m.src[m.pos:]
	lx := m.lx
	switch {
	case c == '#' && (lx.hash == hashAnywhere || lx.hash == hashAtWord && m.wordStart()):
		return m.toLineEnd()
	case c == '/' && lx.slashes && strings.HasPrefix(rest, "//"):
		return m.toLineEnd()
	case c == '/' && lx.slashes && strings.HasPrefix(rest, "/*"):
		return m.past("*/", 2)
	case c == '(' && lx.parens && strings.HasPrefix(rest, "(*"):
		return m.past("*)", 2)
	case c == '-' && lx.dashes && strings.HasPrefix(rest, "--"):
		if n := longBracket(rest[2:]); lx.brackets && n > 0 {
			return m.past("]"+strings.Repeat("=", n-2)+"]", 2+n)
		}
		return m.toLineEnd()
	}
	return false
}

// wordStart reports whether a word could start at pos.
func (m *matcher) wordStart() bool {
	c := m.src[m.pos-1]
	return isBlank(c) || strings.IndexByte("\n;&|()", c) >= 0 || m.prev == 0
}

// toLineEnd leaves the newline, which may start a here-document.
func (m *matcher) toLineEnd() bool {
	i := strings.IndexByte(m.src[m.pos:], '\n')
	if i < 0 {
		i = len(m.src) - m.pos
	}
	m.pos += i
	return true
}

// past moves behind the next close that follows skip characters.
func (m *matcher) past(close string, skip int) bool {
	i := strings.Index(m.src[m.pos+skip:], close)
	if i < 0 {
		m.fail()
		return true
	}
	m.pos += skip + i + len(close)
	return true
}

// longBracket is the length of a Lua long bracket opener, or 0.
func longBracket(s string) int {
	if s == "" || s[0] != '[' {
		return 0
	}
	n := 1
	for n < len(s) && s[n] == '=' {
		n++
	}
	if n < len(s) && s[n] == '[' {
		return n + 1
	}
	return 0
}

// special passes constructs of one language: triple quotes, long brackets,
// regex literals, here-document operators, arithmetic.
func (m *matcher) special(c byte) bool {
	rest := m.src[m.pos:]
	switch {
	case m.lx.triple && (strings.HasPrefix(rest, `"""`) || strings.HasPrefix(rest, "'''")):
		m.pos += 3
		for m.pos < len(m.src) && !strings.HasPrefix(m.src[m.pos:], rest[:3]) {
			if m.src[m.pos] == '\\' {
				m.pos++
			}
			m.pos++
		}
		m.pos += 3
		return true
	case c == '[' && m.lx.brackets:
		if n := longBracket(rest); n > 0 {
			return m.past("]"+strings.Repeat("=", n-2)+"]", n)
		}
	case c == '/' && m.lx.slashes && m.pos >= m.noRegex:
		return m.regex(rest)
	case !m.lx.heredocs:
	case strings.HasPrefix(rest, "$'"):
		m.pos += 2
		for m.pos < len(m.src) && m.src[m.pos] != '\'' {
			if m.src[m.pos] == '\\' {
				m.pos++
			}
			m.pos++
		}
		m.pos++
		return true
	case strings.HasPrefix(rest, "((") && m.pos >= m.noArith:
		// Shifts are no here-documents.
		line, _, _ := strings.Cut(rest, "\n")
		i := strings.Index(line, "))")
		if i < 0 {
			m.noArith = m.pos + len(line)
			return false
		}
		m.pos += i + 2
		return true
	case strings.HasPrefix(rest, "<<<"):
		m.pos += 3
		return true
	case strings.HasPrefix(rest, "<<"):
		m.hereDoc()
		return true
	}
	return false
}

// regex passes a JavaScript regex literal where an operand is expected.
func (m *matcher) regex(rest string) bool {
	if m.prev != 0 && strings.IndexByte("(,=:[!&|?{};+-*%<>~^", m.prev) < 0 {
		return false
	}
	class := false
	i := 1
	for ; i < len(rest) && rest[i] != '\n'; i++ {
		switch rest[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '/':
			if !class {
				m.pos += i + 1
				m.prev = '/'
				return true
			}
		}
	}
	m.noRegex = m.pos + i
	return false
}

// hereDoc notes the delimiter after << or <<-.
func (m *matcher) hereDoc() {
	m.pos += 2
	if m.pos < len(m.src) && m.src[m.pos] == '-' {
		m.pos++
	}
	for m.pos < len(m.src) && isBlank(m.src[m.pos]) {
		m.pos++
	}
	if delim := m.hereDelimiter(); delim != "" {
		m.docs = append(m.docs, delim)
	}
}

// hereDelimiter reads a delimiter without its quotes; in them it may hold
// anything but a newline.
func (m *matcher) hereDelimiter() string {
	var b strings.Builder
	quote := byte(0)
	for ; m.pos < len(m.src) && m.src[m.pos] != '\n'; m.pos++ {
		c := m.src[m.pos]
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote != 0:
			b.WriteByte(c)
		case c == '\'' || c == '"':
			quote = c
		case c == '\\':
		case strings.IndexByte(" \t\r;&|<>(){}", c) >= 0:
			return b.String()
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// hereDocs passes the bodies that start at pos. A terminator may be indented:
// the payload's common indentation has not been removed yet.
func (m *matcher) hereDocs() bool {
	for _, delim := range m.docs {
		found := false
		for !found && m.pos < len(m.src) {
			line, _, _ := strings.Cut(m.src[m.pos:], "\n")
			m.pos += len(line) + 1
			found = strings.Trim(line, " \t\r") == delim
		}
		if !found {
			return false
		}
	}
	m.docs = m.docs[:0]
	m.pos = min(m.pos, len(m.src))
	return true
}

// payloadText is the payload as the interpreter gets it.
func payloadText(raw string) string {
	raw = unixLines(raw)
	if strings.TrimSpace(raw) == "" {
		return ""
	}
	if lead := raw[blankPrefix(raw):]; strings.HasPrefix(lead, "\n") {
		return dedent(lead)
	}
	return strings.TrimSpace(raw)
}

// unixLines drops carriage returns at the ends of lines.
func unixLines(s string) string {
	if strings.IndexByte(s, '\r') < 0 {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for {
		line, rest, more := strings.Cut(s, "\n")
		b.WriteString(strings.TrimRight(line, "\r"))
		if !more {
			return b.String()
		}
		b.WriteByte('\n')
		s = rest
	}
}
