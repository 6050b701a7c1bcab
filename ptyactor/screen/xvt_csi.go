package screen

import (
	"bytes"
	"strconv"
	"strings"
)

// escape executes ESC, intermediate, final.
func (x *xvt) escape(inter, final byte) {
	x.last = 0
	switch inter {
	case 0:
		x.plainEscape(final)
	case '(', ')', '*', '+':
		x.sets.g[inter-'('] = final
	case '#':
		if final == '8' {
			x.alignment()
		}
	}
}

func (x *xvt) plainEscape(final byte) {
	switch final {
	case '7':
		x.save()
	case '8':
		x.restore()
	case '=':
		x.mode.keypad = true
	case '>':
		x.mode.keypad = false
	case 'D':
		x.lineFeed()
	case 'E':
		x.lineFeed()
		x.moveTo(0, x.row())
	case 'H':
		cx, _ := x.cursor()
		x.tabs[cx] = true
	case 'M':
		x.reverseFeed()
	case 'N':
		x.sets.single = 2
	case 'O':
		x.sets.single = 3
	case 'Z':
		x.answers.reply(deviceAttributes)
	case 'n':
		x.sets.gl = 2
	case 'o':
		x.sets.gl = 3
	case 'c':
		x.fullReset()
	}
}

func (x *xvt) fullReset() {
	x.e = x.main
	x.emit("\x1bc")
	x.forget()
}

func (x *xvt) softReset() {
	x.mode.soft()
	x.sets = charsets{}
	cx, cy := x.cursor()
	x.top, x.bot = 0, x.rows
	x.setRegion()
	x.emit("\x1b[m")
	x.sgr, x.pen = "", ""
	*x.savedSlot() = savedCursor{}
	x.emitCSI('H', cy+1, cx+1)
}

// alignment fills the screen with E.
func (x *xvt) alignment() {
	x.top, x.bot = 0, x.rows
	x.setRegion()
	clear(x.wrapped)
	for y := range x.rows {
		x.emitCSI('H', y+1, 1)
		x.emit(strings.Repeat("E", x.cols))
	}
	x.mode.origin = false
	x.moveTo(0, 0)
}

// csi executes one CSI sequence.
func (x *xvt) csi(s *sequence) {
	if s.final != 'b' {
		x.last = 0
	}
	switch {
	case s.final != 'm' && s.hasColon():
	case s.prefix == 0 && s.inter == 0:
		if !x.moves(s) {
			x.edits(s)
		}
	case s.prefix == '?' && s.inter == 0 && (s.final == 'h' || s.final == 'l'):
		for i := range s.n {
			x.privateMode(s.params[i], s.final == 'h')
		}
	case s.prefix == '?' && s.inter == 0 && (s.final == 'J' || s.final == 'K'):
		// Selective erase: nothing is ever protected here.
		x.edits(s)
	case s.inter == '!' && s.final == 'p':
		x.softReset()
	default:
		x.answers.query(s, x.status())
	}
}

// moves executes what only moves the cursor.
func (x *xvt) moves(s *sequence) bool {
	n := s.param(0, 1)
	cx, cy := x.cursor()
	switch s.final {
	case 'A':
		x.moveTo(cx, x.up(n))
	case 'B':
		x.moveTo(cx, x.down(n))
	case 'C', 'a':
		x.moveTo(cx+n, cy)
	case 'D':
		x.left(n)
	case 'E':
		x.moveTo(0, x.down(n))
	case 'F':
		x.moveTo(0, x.up(n))
	case 'G', '`':
		x.moveTo(n-1, cy)
	case 'H', 'f':
		x.address(s.param(1, 1)-1, n-1)
	case 'I':
		x.tabForward(n)
	case 'Z':
		x.tabBack(n)
	case 'd':
		x.address(cx, n-1)
	case 'e':
		if x.mode.origin {
			n = min(n, max(0, x.bot-1-cy))
		}
		x.moveTo(cx, cy+n)
	case 's':
		x.save()
	case 'u':
		x.restore()
	default:
		return false
	}
	return true
}

func (x *xvt) left(n int) {
	cx, cy := x.cursor()
	if !x.mode.reverseWrap || !x.mode.autowrap {
		x.moveTo(cx-n, cy)
		return
	}
	for range min(n, x.cols*x.rows) {
		x.backspace(x.cursor())
	}
}

// edits executes what changes cells, margins or modes. Counts are bounded by
// the grid: a program must not buy seconds with ten bytes.
func (x *xvt) edits(s *sequence) {
	n := s.param(0, 1)
	cx, cy := x.cursor()
	switch s.final {
	case '@':
		x.shift(min(n, x.cols-cx))
	case 'P':
		x.shift(-min(n, x.cols-cx))
	case 'X':
		x.wrapNext = false
		x.emitCSI('X', min(n, x.cols-cx))
	case 'J':
		x.eraseDisplay(s.param(0, 0))
	case 'K':
		x.eraseLine(s.param(0, 0))
	case 'L':
		x.insertLines(n)
	case 'M':
		x.deleteLines(n)
	case 'S', 'T', '^':
		pending := x.wrapNext
		switch {
		case s.final == 'S':
			x.scrollUp(x.top, n)
		case s.final == '^' || s.n != trackParams:
			x.scrollDown(x.top, n)
		}
		x.moveTo(cx, cy)
		x.wrapNext = pending
	case 'b':
		x.repeat(n)
	case 'g':
		x.clearTabs(s.param(0, 0))
	case 'h', 'l':
		for i := range s.n {
			x.mode.ansi(s.params[i], s.final == 'h')
		}
	case 'm':
		x.rendition(s)
	case 'r':
		x.margins(s.param(0, 1), s.param(1, x.rows))
	default:
		x.answers.query(s, x.status())
	}
}

func (x *xvt) repeat(n int) {
	if x.last == 0 {
		return
	}
	n = enoughRepeats(n, width(x.last), x.cols, x.rows)
	if x.last < 0x80 && !x.mode.insert && x.sets == (charsets{}) {
		x.printRun(bytes.Repeat([]byte{byte(x.last)}, n))
		return
	}
	for range n {
		x.print(x.last)
	}
}

func (x *xvt) clearTabs(which int) {
	switch which {
	case 0:
		cx, _ := x.cursor()
		x.tabs[cx] = false
	case 3:
		x.tabs = tabStops{}
	}
}

func (x *xvt) margins(top, bot int) {
	bot = min(bot, x.rows)
	if top >= bot {
		return
	}
	x.top, x.bot = top-1, bot
	x.setRegion()
	x.address(0, 0)
}

func (x *xvt) eraseLine(how int) {
	_, cy := x.cursor()
	if how > 2 {
		return
	}
	x.wrapNext = false
	x.emitCSI('K', how)
	if how != 1 {
		x.wrapped[cy] = false
	}
}

func (x *xvt) eraseDisplay(how int) {
	cx, cy := x.cursor()
	pending := false
	switch how {
	case 0:
		x.emitCSI('J', 0)
		clear(x.wrapped[cy:])
	case 1:
		for y := range cy {
			x.emitCSI('H', y+1, 1)
			x.emitCSI('K', 2)
		}
		x.emitCSI('H', cy+1, cx+1)
		x.emitCSI('K', 1)
		clear(x.wrapped[:cy])
	case 2:
		x.emitCSI('H', 1, 1)
		x.emitCSI('J', 0)
		clear(x.wrapped)
	case 3:
		x.back.clear()
		pending = x.wrapNext
	}
	x.moveTo(cx, cy)
	x.wrapNext = pending
}

// penMax bounds the renditions that are remembered, in bytes.
const penMax = 512

// rendition passes colours and attributes on.
func (x *xvt) rendition(s *sequence) {
	var b strings.Builder
	for i := range s.n {
		if i > 0 {
			b.WriteByte(map[bool]byte{true: ':', false: ';'}[s.colon[i]])
		}
		if s.params[i] >= 0 {
			b.WriteString(strconv.Itoa(s.params[i]))
		}
	}
	x.sgr = b.String()
	set := "\x1b[" + x.sgr + "m"
	x.emit(set)
	switch {
	case s.params[0] > 0 && len(x.pen) < penMax:
		x.pen += set
	case s.n == 1 && s.params[0] <= 0:
		x.pen = ""
	default:
		x.pen = set
	}
}
