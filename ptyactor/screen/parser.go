package screen

import "unicode/utf8"

// parser cuts output into text, controls and whole sequences. It is the state
// machine that Paul Williams published for the DEC VT500 series, with three
// differences. It knows UTF-8 only, so the bytes from 0x80 are never controls:
// they make characters, whose broken parts become U+FFFD and leave the bytes
// round them alone. Parameters may have parts, set off by colons. And what a
// sequence or string may hold is bounded, so that nothing is buffered without
// end.
//
// Controls inside a sequence are executed at once, CAN and SUB abort it, ESC
// begins a new one. Any call may cut a character or a sequence in two.
type parser struct {
	do    actions
	state state
	utf   []byte // an incomplete character
	utf4  [utf8.UTFMax]byte
	seq   sequence
	data  []byte // of a string
	over  bool   // the string is too long
}

// actions is what a parser calls.
type actions interface {
	// text prints plain characters at the start of b, as many as it likes, and
	// returns how many bytes those were.
	text(b []byte) int
	print(r rune)
	control(b byte)
	escape(inter, final byte)
	csi(s *sequence)
	// osc and dcs get a whole string; bell says that BEL ended it.
	osc(data []byte, bell bool)
	dcs(s *sequence, data []byte)
}

type state uint8

const (
	ground state = iota
	escaped
	escapeInter
	csiEntry
	csiParam
	csiInter
	csiIgnore
	dcsEntry
	dcsParam
	dcsInter
	dcsPass
	dcsIgnore
	oscString
	otherString
	states
)

// action is what a byte does on its way to the next state.
type action uint8

const (
	ignore action = iota
	execute
	printIt
	collect
	param
	dispatchEscape
	dispatchCSI
	beginDCS
	put
	endOSC
)

// step is one entry of the machine.
type step struct {
	action action
	next   state
}

// machine says what to do with a byte below 0x80 in a state. ESC, CAN and SUB
// are the same everywhere and not in it.
var machine = buildMachine()

// edge is the entries of one state for a range of bytes.
type edge struct {
	in          state
	first, last byte
	step
}

func buildMachine() (m [states][0x80]step) {
	for s := range states {
		for b := range m[s] {
			m[s][b] = step{ignore, s}
		}
	}
	for _, s := range []state{ground, escaped, escapeInter, csiEntry, csiParam, csiInter, csiIgnore} {
		for b := range 0x20 {
			m[s][b] = step{execute, s}
		}
	}
	for _, e := range edges {
		for b := int(e.first); b <= int(e.last); b++ {
			m[e.in][b] = e.step
		}
	}
	return m
}

var edges = []edge{
	{ground, 0x20, 0x7e, step{printIt, ground}},

	{escaped, 0x20, 0x2f, step{collect, escapeInter}},
	{escaped, 0x30, 0x7e, step{dispatchEscape, ground}},
	{escaped, 'P', 'P', step{ignore, dcsEntry}},
	{escaped, 'X', 'X', step{ignore, otherString}},
	{escaped, '^', '_', step{ignore, otherString}},
	{escaped, '[', '[', step{ignore, csiEntry}},
	{escaped, ']', ']', step{ignore, oscString}},
	{escapeInter, 0x20, 0x2f, step{collect, escapeInter}},
	{escapeInter, 0x30, 0x7e, step{dispatchEscape, ground}},

	{csiEntry, 0x20, 0x2f, step{collect, csiInter}},
	{csiEntry, 0x30, 0x3b, step{param, csiParam}},
	{csiEntry, 0x3c, 0x3f, step{collect, csiParam}},
	{csiEntry, 0x40, 0x7e, step{dispatchCSI, ground}},
	{csiParam, 0x20, 0x2f, step{collect, csiInter}},
	{csiParam, 0x30, 0x3b, step{param, csiParam}},
	{csiParam, 0x3c, 0x3f, step{ignore, csiIgnore}},
	{csiParam, 0x40, 0x7e, step{dispatchCSI, ground}},
	{csiInter, 0x20, 0x2f, step{collect, csiInter}},
	{csiInter, 0x30, 0x3f, step{ignore, csiIgnore}},
	{csiInter, 0x40, 0x7e, step{dispatchCSI, ground}},
	{csiIgnore, 0x40, 0x7e, step{ignore, ground}},

	{dcsEntry, 0x20, 0x2f, step{collect, dcsInter}},
	{dcsEntry, 0x30, 0x3b, step{param, dcsParam}},
	{dcsEntry, 0x3c, 0x3f, step{collect, dcsParam}},
	{dcsEntry, 0x40, 0x7e, step{beginDCS, dcsPass}},
	{dcsParam, 0x20, 0x2f, step{collect, dcsInter}},
	{dcsParam, 0x30, 0x3b, step{param, dcsParam}},
	{dcsParam, 0x3c, 0x3f, step{ignore, dcsIgnore}},
	{dcsParam, 0x40, 0x7e, step{beginDCS, dcsPass}},
	{dcsInter, 0x20, 0x2f, step{collect, dcsInter}},
	{dcsInter, 0x30, 0x3f, step{ignore, dcsIgnore}},
	{dcsInter, 0x40, 0x7e, step{beginDCS, dcsPass}},
	{dcsPass, 0x00, 0x7e, step{put, dcsPass}},

	{oscString, 0x20, 0x7f, step{put, oscString}},
	{oscString, 0x07, 0x07, step{endOSC, ground}},
}

// Limits of sequences. More parameters than maxParams are dropped, greater ones
// than maxParam are maxParam, and a string longer than maxString bytes is as if
// it had not been sent.
const (
	maxParams = 32
	maxParam  = 65535
	maxString = 4096
)

// sequence is one control sequence, or the head of a device control string.
type sequence struct {
	prefix byte // one of < = > ? or 0
	inter  byte // the intermediate byte, 0 if none, or manyInters
	final  byte
	n      int // parameters, at least 1
	full   bool
	params [maxParams]int // -1: left out
	colon  [maxParams]bool
}

// manyInters stands for more than one intermediate byte: nothing that is known
// has them.
const manyInters = 0xff

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

func (s *sequence) reset() {
	s.prefix, s.inter, s.final, s.n, s.full = 0, 0, 0, 1, false
	s.params[0], s.colon[0] = -1, false
}

// collect takes a private prefix or an intermediate byte.
func (s *sequence) collect(b byte) {
	switch {
	case b >= 0x3c:
		s.prefix = b
	case s.inter == 0:
		s.inter = b
	default:
		s.inter = manyInters
	}
}

// add takes a byte of the parameters.
func (s *sequence) add(b byte) {
	switch {
	case s.full:
	case b <= '9':
		i := s.n - 1
		s.params[i] = min(max(s.params[i], 0)*10+int(b-'0'), maxParam)
	case s.n == maxParams:
		s.full = true
	default:
		s.params[s.n], s.colon[s.n] = -1, b == ':'
		s.n++
	}
}

func (p *parser) reset() { p.state, p.utf, p.data, p.over = ground, nil, nil, false }

func (p *parser) write(b []byte) {
	for len(b) > 0 {
		if p.state == ground && len(p.utf) == 0 {
			if n := p.do.text(b); n > 0 {
				b = b[n:]
				continue
			}
		}
		p.next(b[0])
		b = b[1:]
	}
}

// next takes one byte.
func (p *parser) next(b byte) {
	if len(p.utf) > 0 || b >= 0x80 {
		p.high(b)
		return
	}
	switch b {
	case 0x1b:
		p.endString()
		p.state = escaped
		p.seq.reset()
		return
	case 0x18, 0x1a:
		p.dropString()
		p.state = ground
		return
	}
	was := p.state
	s := machine[was][b]
	p.state = s.next
	switch s.action {
	case execute:
		p.do.control(b)
	case printIt:
		p.do.print(rune(b))
	case collect:
		p.seq.collect(b)
	case param:
		p.seq.add(b)
	case dispatchEscape:
		p.do.escape(p.seq.inter, b)
	case dispatchCSI:
		p.seq.final = b
		p.do.csi(&p.seq)
	case beginDCS:
		p.seq.final = b
	case put:
		p.put(b)
	case endOSC:
		p.finishOSC(true)
	}
}

// high takes a byte of a character beyond ASCII, or the byte that cuts it off.
// In a control sequence it belongs to nothing and ends the sequence; a string
// keeps its bytes.
func (p *parser) high(b byte) {
	if p.state >= dcsEntry {
		p.utf = nil
		p.put(b)
		return
	}
	if len(p.utf) == 0 {
		p.utf = p.utf4[:0]
	}
	if b < 0x80 || len(p.utf) > 0 && utf8.RuneStart(b) {
		p.utf = nil
		p.print(utf8.RuneError)
		p.next(b)
		return
	}
	p.utf = append(p.utf, b)
	if utf8.FullRune(p.utf) {
		p.character()
	}
}

func (p *parser) print(r rune) {
	if p.state != ground {
		p.state = ground
		return
	}
	p.do.print(r)
}

// character prints what has been collected. A part that cannot begin or
// continue a character is one U+FFFD.
func (p *parser) character() {
	r, size := utf8.DecodeRune(p.utf)
	broken := r == utf8.RuneError && size == 1
	n := len(p.utf)
	p.utf = nil
	switch {
	case broken && n > 1:
		p.print(utf8.RuneError)
		p.print(utf8.RuneError)
	case r >= 0x80 && r < 0xa0:
		// C1 controls as characters: no program means them.
	default:
		p.print(r)
	}
}

// put keeps a byte of a string.
func (p *parser) put(b byte) {
	switch {
	case p.state != oscString && p.state != dcsPass:
	case len(p.data) < maxString:
		p.data = append(p.data, b)
	default:
		p.over = true
	}
}

// endString hands over the string that an ESC ends.
func (p *parser) endString() {
	switch p.state {
	case oscString:
		p.finishOSC(false)
	case dcsPass:
		if !p.over {
			p.do.dcs(&p.seq, p.data)
		}
		p.dropString()
	}
}

func (p *parser) finishOSC(bell bool) {
	if !p.over {
		p.do.osc(p.data, bell)
	}
	p.dropString()
}

// dropString makes room for the next string; a long one's memory is let go.
func (p *parser) dropString() {
	p.over = false
	if cap(p.data) > maxString/8 {
		p.data = nil
		return
	}
	p.data = p.data[:0]
}
