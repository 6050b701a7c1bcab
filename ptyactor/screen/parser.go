package screen

import "unicode/utf8"

// parser is the state machine that cuts output into characters, controls and
// whole sequences. It knows UTF-8 only, without raw C1 controls: broken parts
// become U+FFFD and leave the bytes round them alone. Controls inside a
// sequence are executed at once, CAN and SUB abort it, ESC begins a new one.
// Strings and parameters are bounded, so that nothing is buffered without end.
type parser struct {
	do    actions
	state state
	utf   []byte // an incomplete character
	utf4  [utf8.UTFMax]byte
	seq   sequence
	data  []byte // of a string
	kind  byte   // ']' or 'P'
	over  bool   // the string is too long
}

// actions is what a parser calls.
type actions interface {
	print(r rune)
	control(b byte)
	escape(inter, final byte)
	csi(s *sequence)
	str(kind byte, data []byte, bell bool)
}

type state uint8

const (
	ground state = iota
	esc
	escInter
	csiParams
	csiIgnore
	inString
	inStringEsc
	skipString
	skipStringEsc
)

const (
	maxParams = 32
	maxParam  = 65535
	maxString = 4096
)

// sequence is one CSI sequence.
type sequence struct {
	prefix byte // one of < = > ? or 0
	inter  byte
	final  byte
	n      int
	params [maxParams]int // -1: left out
	colon  [maxParams]bool
}

// param is parameter i, or def when it is missing or zero.
func (s *sequence) param(i, def int) int {
	if i >= s.n || s.params[i] <= 0 {
		return def
	}
	return s.params[i]
}

// hasColon reports whether parameters have parts, which only colours may.
func (s *sequence) hasColon() bool {
	for _, c := range s.colon[:s.n] {
		if c {
			return true
		}
	}
	return false
}

func (p *parser) reset() {
	p.state, p.utf, p.data = ground, nil, nil
}

func (p *parser) write(b []byte) {
	for _, c := range b {
		p.next(c)
	}
}

func (p *parser) next(c byte) {
	if p.state == ground && (len(p.utf) > 0 || c >= 0x80) {
		p.decode(c)
		return
	}
	switch {
	case p.state >= inString:
		p.stringByte(c)
	case c == 0x1b:
		p.state = esc
		p.seq.inter = 0
	case c == 0x18 || c == 0x1a:
		p.state = ground
	case c < 0x20:
		p.do.control(c)
	case p.state == ground:
		if c != 0x7f {
			p.do.print(rune(c))
		}
	case c == 0x7f:
	case p.state == esc || p.state == escInter:
		p.escByte(c)
	default:
		p.csiByte(c)
	}
}

// decode collects a character; what cannot become one is replaced.
func (p *parser) decode(c byte) {
	if len(p.utf) == 0 {
		p.utf = p.utf4[:0]
	}
	if c < 0x80 || len(p.utf) > 0 && utf8.RuneStart(c) {
		p.utf = nil
		p.do.print(utf8.RuneError)
		p.next(c)
		return
	}
	p.utf = append(p.utf, c)
	if !utf8.FullRune(p.utf) {
		return
	}
	r, size := utf8.DecodeRune(p.utf)
	last := len(p.utf) > 1 && size == 1
	p.utf = nil
	switch {
	case last && utf8.RuneStart(c):
		p.do.print(utf8.RuneError)
		p.next(c)
	case last:
		// The byte could not continue what came before, nor begin anything.
		p.do.print(utf8.RuneError)
		p.do.print(utf8.RuneError)
	case r < 0xa0 && r >= 0x80:
		// C1 controls as characters: no program means them.
	default:
		p.do.print(r)
	}
}

func (p *parser) escByte(c byte) {
	switch {
	case c < 0x30:
		p.seq.inter = c
		p.state = escInter
	case p.state == esc && c == '[':
		p.seq = sequence{n: 1}
		p.seq.params[0] = -1
		p.state = csiParams
	case p.state == esc && (c == ']' || c == 'P'):
		p.kind, p.data, p.over = c, p.data[:0], false
		p.state = inString
	case p.state == esc && (c == 'X' || c == '^' || c == '_'):
		p.state = skipString
	default:
		p.state = ground
		p.do.escape(p.seq.inter, c)
	}
}

func (p *parser) csiByte(c byte) {
	s := &p.seq
	switch {
	case c >= 0x40:
		ignore := p.state == csiIgnore
		p.state = ground
		if !ignore {
			s.final = c
			p.do.csi(s)
		}
	case p.state == csiIgnore:
	case c >= 0x3c:
		if s.n > 1 || s.params[0] >= 0 || s.prefix != 0 {
			p.state = csiIgnore
		}
		s.prefix = c
	case c >= 0x30 && s.inter != 0:
		p.state = csiIgnore
	case c <= '9' && c >= '0':
		i := s.n - 1
		s.params[i] = min(max(s.params[i], 0)*10+int(c-'0'), maxParam)
	case c == ';' || c == ':':
		if s.n == maxParams {
			p.state = csiIgnore
			return
		}
		s.params[s.n], s.colon[s.n] = -1, c == ':'
		s.n++
	default:
		s.inter = c
	}
}

// stringByte collects an OSC or DCS string, or skips another one, to BEL, ST
// or an abort.
func (p *parser) stringByte(c byte) {
	collecting := p.state == inString || p.state == inStringEsc
	if p.state == inStringEsc || p.state == skipStringEsc {
		if c == '\\' {
			p.endString(collecting, false)
			return
		}
		p.state = esc
		p.seq.inter = 0
		p.next(c)
		return
	}
	switch {
	case c == 0x1b && collecting:
		p.state = inStringEsc
	case c == 0x1b:
		p.state = skipStringEsc
	case c == 0x07 && collecting && p.kind == ']':
		p.endString(true, true)
	case c == 0x18 || c == 0x1a:
		p.state = ground
	case collecting && (c >= 0x20 || p.kind == 'P'):
		if len(p.data) < maxString {
			p.data = append(p.data, c)
		} else {
			p.over = true
		}
	}
}

func (p *parser) endString(collected, bell bool) {
	p.state = ground
	if collected && !p.over {
		p.do.str(p.kind, p.data, bell)
	}
	if cap(p.data) > maxString {
		p.data = nil
	}
}
