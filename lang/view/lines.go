package view

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// lineSink takes the finished lines of a text, without their newlines. A line
// is valid until the call returns and may hold bytes that are no UTF-8.
type lineSink interface {
	line(b []byte)
	// block takes several whole lines at once, each with its newline and free
	// of control sequences.
	block(b []byte)
}

// resolver turns what a program wrote for a terminal into lines as they stood
// there in the end: carriage returns and erasures take effect, colours and
// other control sequences vanish. It keeps one line, up to limit characters
// of it; what is longer is dropped from the line's end.
type resolver struct {
	sink    lineSink
	limit   int
	cells   []rune
	col     int
	edited  bool // something was overwritten, so blanks at the end mean nothing
	started bool // the line has begun, if only with nothing visible
	state   escState
	params  []byte
	partial []byte // an incomplete character
}

type escState uint8

const (
	ground   escState = iota
	afterEsc          // ESC
	inCSI             // ESC [
	inString          // ESC ] and other strings, to BEL or ST
	stringEsc
	inCharset // ESC ( and the like, one more byte
)

// special reports whether b holds a byte that needs the resolver.
func special(b []byte) bool {
	return bytes.IndexByte(b, 0x1B) >= 0 || bytes.IndexByte(b, '\r') >= 0 || bytes.IndexByte(b, '\b') >= 0
}

// Write takes the next bytes; it never fails.
func (r *resolver) Write(b []byte) {
	if !r.started && r.state == ground && len(r.partial) == 0 {
		if end := bytes.LastIndexByte(b, '\n'); end >= 0 {
			if whole := b[:end+1]; !special(whole) {
				r.sink.block(whole)
				b = b[end+1:]
			}
		}
	}
	for len(b) > 0 {
		if !r.started && r.state == ground && len(r.partial) == 0 {
			end := bytes.IndexByte(b, '\n')
			if end >= 0 {
				line := bytes.TrimSuffix(b[:end], []byte("\r"))
				if !special(line) {
					r.sink.line(line)
					b = b[end+1:]
					continue
				}
			}
		}
		b = r.step(b)
	}
}

// Close ends a last line that has no newline.
func (r *resolver) Close() {
	for range r.partial {
		r.put(utf8.RuneError)
	}
	r.partial = r.partial[:0]
	if r.started {
		r.endLine()
	}
}

func (r *resolver) endLine() {
	text := string(r.cells)
	if r.edited {
		text = strings.TrimRight(text, " ")
	}
	r.sink.line([]byte(text))
	r.cells, r.col = r.cells[:0], 0
	r.edited, r.started = false, false
}

// step consumes at least one byte of b.
func (r *resolver) step(b []byte) []byte {
	c := b[0]
	r.started = r.started || c != '\n'
	switch r.state {
	case afterEsc:
		r.escape(c)
		return b[1:]
	case inCSI:
		if c >= 0x40 && c <= 0x7E {
			r.csi(c)
			r.state = ground
		} else if len(r.params) < 64 {
			r.params = append(r.params, c)
		}
		return b[1:]
	case inString:
		if c == 0x07 || c == '\n' {
			r.state = ground
		} else if c == 0x1B {
			r.state = stringEsc
		}
		if c == '\n' {
			return b
		}
		return b[1:]
	case stringEsc:
		r.state = ground
		if c != '\\' {
			r.escape(c)
		}
		return b[1:]
	case inCharset:
		r.state = ground
		return b[1:]
	}
	return r.ground(b)
}

func (r *resolver) ground(b []byte) []byte {
	c := b[0]
	if c >= utf8.RuneSelf || len(r.partial) > 0 {
		return r.char(b)
	}
	switch {
	case c == '\n':
		r.endLine()
	case c == '\r':
		r.col = 0
	case c == '\b':
		r.col = max(0, r.col-1)
	case c == 0x1B:
		r.state = afterEsc
	case c == '\t' || c >= 0x20 && c != 0x7F:
		r.put(rune(c))
	}
	return b[1:]
}

// char consumes a character of several bytes, which may be cut in two by the
// end of b.
func (r *resolver) char(b []byte) []byte {
	had := len(r.partial)
	r.partial = append(r.partial, b[:min(utf8.UTFMax, len(b))]...)
	if !utf8.FullRune(r.partial) {
		return nil
	}
	c, n := utf8.DecodeRune(r.partial)
	if n <= had { // the kept beginning was no character after all
		for range had {
			r.put(utf8.RuneError)
		}
		n = had
	} else {
		r.put(c)
	}
	r.partial = r.partial[:0]
	return b[n-had:]
}

func (r *resolver) put(c rune) {
	for len(r.cells) < r.col && len(r.cells) < r.limit {
		r.cells = append(r.cells, ' ')
	}
	switch {
	case r.col < len(r.cells):
		r.cells[r.col] = c
		r.edited = true
	case len(r.cells) < r.limit:
		r.cells = append(r.cells, c)
	}
	r.col++
}

func (r *resolver) escape(c byte) {
	r.params = r.params[:0]
	switch c {
	case '[':
		r.state = inCSI
	case ']', 'P', 'X', '^', '_':
		r.state = inString
	case '(', ')', '*', '+', '#', '%', ' ':
		r.state = inCharset
	default:
		r.state = ground
	}
}

// param is the first number of a control sequence.
func (r *resolver) param(byDefault int) int {
	n, any := 0, false
	for _, c := range r.params {
		if c < '0' || c > '9' {
			break
		}
		n, any = min(n*10+int(c-'0'), 1<<20), true
	}
	if !any {
		return byDefault
	}
	return n
}

// csi does what a sequence means for its own line; the rest has no place in
// lines.
func (r *resolver) csi(final byte) {
	switch final {
	case 'K', 'J':
		r.erase(r.param(0))
	case 'G', '`':
		r.col = max(0, r.param(1)-1)
	case 'C':
		r.col += max(1, r.param(1))
	case 'D':
		r.col = max(0, r.col-max(1, r.param(1)))
	}
}

func (r *resolver) erase(mode int) {
	r.edited = true
	switch mode {
	case 0:
		r.cells = r.cells[:min(r.col, len(r.cells))]
	case 1:
		for i := range min(r.col+1, len(r.cells)) {
			r.cells[i] = ' '
		}
	case 2, 3:
		r.cells = r.cells[:0]
	}
}

// oneLineSink keeps the first line.
type oneLineSink struct{ text []byte }

func (s *oneLineSink) line(b []byte) {
	if s.text == nil {
		s.text = append([]byte{}, b...)
	}
}

func (s *oneLineSink) block(b []byte) { s.line(b[:bytes.IndexByte(b, '\n')]) }

// cleanLine resolves one line of text and drops what is not printable.
func cleanLine(s string) string {
	clean := true
	for i := range len(s) {
		if c := s[i]; c < 0x20 && c != '\t' || c == 0x7F {
			clean = false
			break
		}
	}
	if clean {
		return dropControls(s)
	}
	sink := &oneLineSink{}
	r := resolver{sink: sink, limit: len(s)}
	r.Write([]byte(strings.ReplaceAll(strings.TrimSuffix(s, "\r"), "\n", " ")))
	r.Close()
	return dropControls(string(sink.text))
}

// dropControls removes control characters but the tab, and replaces each wrong
// byte, as Map does.
func dropControls(s string) string {
	return strings.Map(func(c rune) rune {
		if c < 0x20 && c != '\t' || c == 0x7F {
			return -1
		}
		return c
	}, s)
}
