package syntax

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quote is the extent of a quoted string: its content is src[open:close].
type quote struct {
	open, close, end int
	raw, triple      bool
	special          bool // has escapes, holes or carriage returns
}

// scanQuote finds the end of the string that starts with the quote at pos.
func scanQuote(src string, pos int) (quote, *Error) {
	c := src[pos]
	q := quote{open: pos + 1, raw: c == '\''}
	if strings.HasPrefix(src[pos:], `"""`) || strings.HasPrefix(src[pos:], "'''") {
		q.open, q.triple = pos+3, true
	}
	if q.raw {
		return scanRaw(src, pos, q)
	}
	for i := q.open; i < len(src); {
		switch src[i] {
		case '"':
			if !q.triple {
				q.close, q.end = i, i+1
				return q, nil
			}
			if strings.HasPrefix(src[i:], `"""`) {
				q.close, q.end = i, i+3
				return q, nil
			}
			i++
		case '\\':
			q.special = true
			i += 2
			if !q.triple && i <= len(src) && src[i-1] == '\n' {
				i--
			}
		case '{':
			q.special = true
			end, err := holeEnd(src, i, q.triple)
			if err != "" {
				return q, openQuote(pos, min(end, len(src)), err)
			}
			i = end
		case '\n':
			if !q.triple {
				return q, openQuote(pos, i, "unterminated string (newline)")
			}
			i++
		case '\r':
			q.special = true
			i++
		default:
			i++
		}
	}
	return q, openQuote(pos, len(src), "unterminated string")
}

func scanRaw(src string, pos int, q quote) (quote, *Error) {
	if q.triple {
		i := strings.Index(src[q.open:], "'''")
		if i < 0 {
			return q, openQuote(pos, len(src), "unterminated raw string")
		}
		q.close, q.end = q.open+i, q.open+i+3
		return q, nil
	}
	i := strings.IndexAny(src[q.open:], "'\n")
	if i < 0 {
		return q, openQuote(pos, len(src), "unterminated raw string")
	}
	if src[q.open+i] == '\n' {
		return q, openQuote(pos, q.open+i, "unterminated string (newline)")
	}
	q.close, q.end = q.open+i, q.open+i+1
	return q, nil
}

func openQuote(start, end int, msg string) *Error {
	e := &Error{Span: Span{start, end}, Msg: msg}
	if strings.HasSuffix(msg, "(newline)") {
		e.Hint = "use \"\"\"…\"\"\" or '''…''' for text of several lines"
	} else {
		e.Incomplete = true
	}
	return e
}

// holeEnd is the position after the `}` that closes the hole at pos, or an
// error text. Quoted text inside is passed over whole.
func holeEnd(src string, pos int, multi bool) (int, string) {
	depth := 0
	for i := pos; i < len(src); i++ {
		switch src[i] {
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i + 1, ""
			}
		case '\\':
			i++
		case '\'':
			n := strings.IndexByte(src[i+1:], '\'')
			if n < 0 {
				return len(src), "unterminated string"
			}
			if !multi && strings.IndexByte(src[i+1:i+1+n], '\n') >= 0 {
				return i, "unterminated string (newline)"
			}
			i += n + 1
		case '"':
			end, msg := holeString(src, i, multi)
			if msg != "" {
				return end, msg
			}
			i = end
		case '\n':
			if !multi {
				return i, "unterminated string (newline)"
			}
		}
	}
	return len(src), "unterminated string"
}

// holeString is the position of the quote that closes the one at pos.
func holeString(src string, pos int, multi bool) (int, string) {
	for i := pos + 1; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			return i, ""
		case '\n':
			if !multi {
				return i, "unterminated string (newline)"
			}
		}
	}
	return len(src), "unterminated string"
}

// rawText is the content of a quote that has neither escapes nor holes.
func rawText(src string, q quote) string {
	text := src[q.open:q.close]
	if strings.IndexByte(text, '\r') >= 0 {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	if q.triple {
		text = dedent(text)
	}
	return text
}

// dedent drops a first newline and a last blank line and removes the common
// indentation; text before the first newline counts as not indented.
func dedent(text string) string {
	start, stop, indent := margins(text)
	text = text[start:stop]
	if indent == 0 {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for first := true; ; first = false {
		line, rest, more := strings.Cut(text, "\n")
		if !first {
			b.WriteByte('\n')
		}
		b.WriteString(line[min(indent, blankPrefix(line)):])
		if !more {
			return b.String()
		}
		text = rest
	}
}

// margins is what dedent removes: the content that stays is text[start:stop]
// less indent leading blanks on every line. Text uses "\n" or "\r\n".
func margins(text string) (start, stop, indent int) {
	stop = len(text)
	onOpener := true
	if strings.HasPrefix(text, "\n") {
		start, onOpener = 1, false
	} else if strings.HasPrefix(text, "\r\n") {
		start, onOpener = 2, false
	}
	last := strings.LastIndexByte(text, '\n') + 1
	if strings.Trim(text[last:], " \t\r") == "" {
		stop = max(last-1, 0)
		if stop > 0 && text[stop-1] == '\r' {
			stop--
		}
		stop = max(stop, start)
	}
	indent = -1
	for i := start; i < stop; {
		end := strings.IndexByte(text[i:stop], '\n')
		if end < 0 {
			end = stop - i
		}
		line := strings.TrimSuffix(text[i:i+end], "\r")
		if n := blankPrefix(line); n < len(line) {
			if onOpener && i == start {
				n = 0
			}
			if indent < 0 || n < indent {
				indent = n
			}
		}
		i += end + 1
	}
	return start, stop, max(indent, 0)
}

func blankPrefix(line string) int {
	n := 0
	for n < len(line) && (line[n] == ' ' || line[n] == '\t') {
		n++
	}
	return n
}

// unescape reads the escape at pos and returns its character and end.
func unescape(src string, pos int) (rune, int, *Error) {
	fail := func(end int, msg, hint string) (rune, int, *Error) {
		return 0, 0, &Error{Span: Span{pos, end}, Msg: msg, Hint: hint}
	}
	if pos+1 >= len(src) {
		return fail(len(src), "unknown escape `\\`", "")
	}
	switch c := src[pos+1]; c {
	case 'n':
		return '\n', pos + 2, nil
	case 't':
		return '\t', pos + 2, nil
	case 'r':
		return '\r', pos + 2, nil
	case '0':
		return 0, pos + 2, nil
	case '\\', '"', '{', '}':
		return rune(c), pos + 2, nil
	case 'u':
		rest := src[pos+2:]
		end := strings.IndexByte(rest[:min(len(rest), 10)], '}')
		if end < 2 || rest[0] != '{' {
			return fail(pos+2, "unknown escape `\\u`", "write \\u{1F980}")
		}
		n, err := strconv.ParseUint(rest[1:end], 16, 32)
		if err != nil || !utf8.ValidRune(rune(n)) || n > utf8.MaxRune {
			return fail(pos+2+end+1, "invalid character in `\\u{"+rest[1:end]+"}`", "")
		}
		return rune(n), pos + 2 + end + 1, nil
	}
	_, n := utf8.DecodeRuneInString(src[pos+1:])
	return fail(pos+1+n, "unknown escape `"+src[pos:pos+1+n]+"`", `escapes are \n \t \r \0 \\ \" \{ \} \u{HEX}; use '…' for text with backslashes`)
}
