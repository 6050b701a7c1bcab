package syntax

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// scanner reads tokens at positions; it has no cursor, so a parser may look
// anywhere and come back. src may end before the whole source does: a hole of
// a string is scanned as if the source ended with it.
type scanner struct{ src string }

// token reads the expression token at pos or after the trivia there.
func (s *scanner) token(pos int) token {
	from := pos
	pos = s.skip(pos)
	if pos >= len(s.src) {
		if endsInJoin(s.src[min(from, pos):pos]) {
			return token{kind: tBad, start: pos, end: pos, bad: joinError(pos)}
		}
		return token{kind: tEOF, start: pos, end: pos}
	}
	c := s.src[pos]
	switch {
	case isIdentStart(c):
		return s.ident(pos)
	case isDigit(c):
		return token{kind: tNumber, start: pos, end: scanNumber(s.src, pos).end}
	case c == '"' || c == '\'':
		return s.quote(pos)
	}
	if c == '<' && strings.HasPrefix(s.src[pos:], "<<") {
		return token{kind: tBad, start: pos, end: pos + 2, bad: heredocError(s.src, pos)}
	}
	for _, p := range punct[c] {
		if len(p.text) == 1 || strings.HasPrefix(s.src[pos:], p.text) {
			return token{kind: p.kind, start: pos, end: pos + len(p.text)}
		}
	}
	bad := badCharacter(s.src, pos)
	return token{kind: tBad, start: pos, end: bad.End, bad: bad}
}

// skip passes blanks, joined lines and comments.
func (s *scanner) skip(pos int) int {
	for pos < len(s.src) {
		switch c := s.src[pos]; {
		case isBlank(c):
			pos++
		case c == '\\':
			n := lineJoin(s.src, pos)
			if n == 0 {
				return pos
			}
			pos += n
		case c == '#':
			i := strings.IndexByte(s.src[pos:], '\n')
			if i < 0 {
				return len(s.src)
			}
			pos += i
		default:
			return pos
		}
	}
	return pos
}

// skipBlank passes blanks and joined lines, not comments.
func (s *scanner) skipBlank(pos int) int {
	for pos < len(s.src) {
		if isBlank(s.src[pos]) {
			pos++
		} else if n := lineJoin(s.src, pos); n > 0 {
			pos += n
		} else {
			break
		}
	}
	return pos
}

// skipLines passes all trivia and newlines.
func (s *scanner) skipLines(pos int) int {
	for {
		pos = s.skip(pos)
		if pos >= len(s.src) || s.src[pos] != '\n' {
			return pos
		}
		pos++
	}
}

// at is the byte at pos, or 0 behind the end: source holds no NUL.
func (s *scanner) at(pos int) byte {
	if pos < len(s.src) {
		return s.src[pos]
	}
	return 0
}

func (s *scanner) ident(pos int) token {
	end := identEnd(s.src, pos)
	if s.at(end) == '"' {
		switch s.src[pos:end] {
		case "re":
			return s.tagged(tRegex, pos, end)
		case "t":
			return s.tagged(tDatetime, pos, end)
		}
	}
	return token{kind: tIdent, start: pos, end: end}
}

// tagged reads the quote of re"…" or t"…", which ends at the next quote.
func (s *scanner) tagged(k kind, pos, open int) token {
	i := strings.IndexAny(s.src[open+1:], "\"\n")
	if i < 0 {
		return s.unterminated(pos, len(s.src), "unterminated string", true)
	}
	if s.src[open+1+i] == '\n' {
		return s.unterminated(pos, open+1+i, "unterminated string (newline)", false)
	}
	return token{kind: k, start: pos, end: open + i + 2}
}

func (s *scanner) unterminated(start, end int, msg string, incomplete bool) token {
	return token{kind: tBad, start: start, end: end, bad: &Error{
		Span: Span{start, end}, Msg: msg, Incomplete: incomplete,
	}}
}

// quote reads a quoted string of any form.
func (s *scanner) quote(pos int) token {
	q, err := scanQuote(s.src, pos)
	if err != nil {
		return token{kind: tBad, start: pos, end: err.End, bad: err}
	}
	k := tString
	if q.raw {
		k = tRaw
	}
	return token{kind: k, start: pos, end: q.end}
}

// badCharacter words the error for a character that starts no token.
func badCharacter(src string, pos int) *Error {
	r, n := utf8.DecodeRuneInString(src[pos:])
	e := &Error{Span: Span{pos, pos + n}}
	switch r {
	case '$':
		return sigilError(src, pos)
	case '`':
		return backtickError(src, pos)
	case '\\':
		if pos+1 >= len(src) {
			e.Msg, e.Incomplete = "unexpected end after `\\`", true
			return e
		}
	}
	e.Msg = fmt.Sprintf("unexpected character `%c`", r)
	return e
}

// lineJoin is the length of a backslash with its newline at pos, or 0.
func lineJoin(src string, pos int) int {
	if pos+1 >= len(src) || src[pos] != '\\' {
		return 0
	}
	if src[pos+1] == '\n' {
		return 2
	}
	if strings.HasPrefix(src[pos+1:], "\r\n") {
		return 3
	}
	return 0
}

// endsInJoin reports whether trivia ends with a joined line.
func endsInJoin(trivia string) bool {
	i := len(trivia)
	for i > 0 && isBlank(trivia[i-1]) {
		i--
	}
	return strings.HasSuffix(trivia[:i], "\\\n") || strings.HasSuffix(trivia[:i], "\\\r\n")
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isIdentStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func isIdent(c byte) bool { return isIdentStart(c) || isDigit(c) }

// identEnd is the end of the identifier characters that start at pos.
func identEnd(src string, pos int) int {
	for pos < len(src) && isIdent(src[pos]) {
		pos++
	}
	return pos
}

// isName reports whether s is an identifier.
func isName(s string) bool {
	return s != "" && isIdentStart(s[0]) && identEnd(s, 0) == len(s)
}
