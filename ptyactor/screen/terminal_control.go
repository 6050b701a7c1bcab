package screen

import (
	"bytes"
)

// escape executes ESC, intermediate, final.
func (t *terminal) escape(inter, final byte) {
	t.last = 0
	switch inter {
	case 0:
		t.plainEscape(final)
	case '(', ')', '*', '+':
		t.sets.g[inter-'('] = final
	case '#':
		if final == '8' {
			t.alignment()
		}
	}
}

func (t *terminal) plainEscape(final byte) {
	switch final {
	case '7':
		t.save()
	case '8':
		t.restore()
	case '=':
		t.mode.keypad = true
	case '>':
		t.mode.keypad = false
	case 'D':
		t.index()
	case 'E':
		t.index()
		t.x = 0
	case 'H':
		t.tabs[t.x] = true
	case 'M':
		t.reverseIndex()
	case 'N':
		t.sets.single = 2
	case 'O':
		t.sets.single = 3
	case 'Z':
		t.answers.reply(deviceAttributes)
	case 'n':
		t.sets.gl = 2
	case 'o':
		t.sets.gl = 3
	case 'c':
		t.reset()
	}
}

func (t *terminal) softReset() {
	t.mode.soft()
	t.sets, t.pen, t.protect, t.style = charsets{}, look{}, false, steadyBlock
	t.top, t.bot = 0, t.rows
	*t.slot() = savedState{}
}

// alignment fills the screen with E.
func (t *terminal) alignment() {
	t.top, t.bot, t.mode.origin = 0, t.rows, false
	for y := range t.rows {
		l := t.g.edit(y)
		l.wrapped = false
		l.fill(0, t.cols, cell{ch: 'E'})
	}
	t.moveTo(0, 0)
}

// csi executes one control sequence.
func (t *terminal) csi(s *sequence) {
	if s.final != 'b' {
		t.last = 0
	}
	switch {
	case s.final == 'm' && s.prefix == 0 && s.inter == 0:
		t.pen.set(s)
	case s.hasColon():
	case s.prefix == 0 && s.inter == 0:
		if !t.moves(s) && !t.edits(s) {
			t.answers.query(s, t.status())
		}
	case s.prefix == '?' && s.inter == 0 && (s.final == 'h' || s.final == 'l'):
		for _, mode := range s.params[:s.n] {
			t.privateMode(mode, s.final == 'h')
		}
	case s.prefix == '?' && s.inter == 0 && s.final == 'J':
		t.eraseDisplay(s.param(0, 0), (*line).eraseUnprotected)
	case s.prefix == '?' && s.inter == 0 && s.final == 'K':
		t.eraseLine(s.param(0, 0), (*line).eraseUnprotected)
	case s.prefix == 0 && t.withInter(s):
	default:
		t.answers.query(s, t.status())
	}
}

// withInter executes sequences with an intermediate byte.
func (t *terminal) withInter(s *sequence) bool {
	switch string([]byte{s.inter, s.final}) {
	case "!p":
		t.softReset()
	case " q":
		t.style = s.param(0, 1)
	case "\"q":
		t.protect = s.param(0, 0) == 1
	case " @":
		t.shiftColumns(s.param(0, 1), (*line).remove)
	case " A":
		t.shiftColumns(s.param(0, 1), (*line).insert)
	default:
		return false
	}
	return true
}

// moves executes what only moves the cursor.
func (t *terminal) moves(s *sequence) bool {
	n := s.param(0, 1)
	switch s.final {
	case 'A':
		t.moveTo(t.x, t.above(n))
	case 'B':
		t.moveTo(t.x, t.below(n))
	case 'C', 'a':
		t.moveTo(t.x+n, t.y)
	case 'D':
		t.left(n)
	case 'E':
		t.moveTo(0, t.below(n))
	case 'F':
		t.moveTo(0, t.above(n))
	case 'G', '`':
		t.moveTo(n-1, t.y)
	case 'H', 'f':
		t.address(s.param(1, 1)-1, n-1)
	case 'I':
		t.x = t.tabs.next(t.x, n, t.cols)
	case 'Z':
		t.moveTo(t.tabs.previous(t.x, n), t.y)
	case 'd':
		t.address(t.x, n-1)
	case 'e':
		t.moveTo(t.x, min(t.y+n, t.lowest()))
	case 's':
		t.save()
	case 'u':
		t.restore()
	default:
		return false
	}
	return true
}

// edits executes what changes cells, margins or modes. Counts are bounded by
// the grid: a program must not buy seconds with ten bytes.
func (t *terminal) edits(s *sequence) bool {
	n := s.param(0, 1)
	switch s.final {
	case '@':
		t.wrapNext = false
		t.g.edit(t.y).insert(t.x, n, t.blank())
	case 'P':
		t.wrapNext = false
		t.g.edit(t.y).remove(t.x, n, t.blank())
	case 'X':
		t.wrapNext = false
		t.g.edit(t.y).erase(t.x, min(t.x+n, t.cols), t.blank())
	case 'J':
		t.eraseDisplay(s.param(0, 0), (*line).erase)
	case 'K':
		t.eraseLine(s.param(0, 0), (*line).erase)
	case 'L':
		t.shiftRows(n, t.g.down)
	case 'M':
		t.shiftRows(n, t.g.up)
	case 'S':
		t.scrollUp(n)
	case 'T', '^':
		if s.final == '^' || s.n != trackParams {
			t.g.down(t.top, t.bot, min(n, t.bot-t.top), t.blank())
		}
	case 'b':
		t.repeat(n)
	case 'g':
		t.clearTabs(s.param(0, 0))
	case 'h', 'l':
		for _, mode := range s.params[:s.n] {
			t.mode.ansi(mode, s.final == 'h')
		}
	case 'r':
		t.margins(s.param(0, 1), s.param(1, t.rows))
	default:
		return false
	}
	return true
}

// trackParams is how many parameters make CSI T the start of highlight tracking.
const trackParams = 5

// shiftRows inserts or deletes rows at the cursor's, inside the region.
func (t *terminal) shiftRows(n int, shift func(top, bot, n int, fill cell)) {
	if t.y < t.top || t.y >= t.bot {
		return
	}
	shift(t.y, t.bot, min(n, t.bot-t.y), t.blank())
	t.moveTo(0, t.y)
}

// shiftColumns moves all rows of the region sideways.
func (t *terminal) shiftColumns(n int, shift func(l *line, x, n int, fill cell)) {
	if t.y < t.top || t.y >= t.bot {
		return
	}
	for y := t.top; y < t.bot; y++ {
		shift(t.g.edit(y), 0, n, t.blank())
	}
}

func (t *terminal) repeat(n int) {
	r := t.last
	if r == 0 {
		return
	}
	n = enoughRepeats(n, width(r), t.cols, t.rows)
	if r < 0x80 {
		t.printASCII(bytes.Repeat([]byte{byte(r)}, n))
		return
	}
	for range n {
		t.print(r)
	}
}

// enoughRepeats is how often a character has to be printed to look as if it had
// been n times: when it fills the screen only the length of the last row counts.
func enoughRepeats(n, width, cols, rows int) int {
	perRow := max(cols/width, 1)
	if full := 2 * perRow * rows; n > full {
		return full + (n-full)%perRow
	}
	return n
}

func (t *terminal) clearTabs(which int) {
	switch which {
	case 0:
		t.tabs[t.x] = false
	case 3:
		t.tabs = tabStops{}
	}
}

func (t *terminal) margins(top, bot int) {
	bot = min(bot, t.rows)
	if top >= bot {
		return
	}
	t.top, t.bot = top-1, bot
	t.address(0, 0)
}

// eraser erases cells of a row.
type eraser func(l *line, from, to int, fill cell)

func (t *terminal) eraseLine(how int, erase eraser) {
	from, to := t.x, t.cols
	switch how {
	case 0:
	case 1:
		from, to = 0, t.x+1
	case 2:
		from = 0
	default:
		return
	}
	t.wrapNext = false
	l := t.g.edit(t.y)
	erase(l, from, to, t.blank())
	if how != 1 {
		l.wrapped = false
	}
}

func (t *terminal) eraseDisplay(how int, erase eraser) {
	switch how {
	case 0:
		t.eraseLine(0, erase)
		t.eraseRows(t.y+1, t.rows, erase)
	case 1:
		t.eraseRows(0, t.y, erase)
		t.eraseLine(1, erase)
	case 2:
		t.wrapNext = false
		t.eraseRows(0, t.rows, erase)
	case 3:
		t.back.clear()
	}
}

func (t *terminal) eraseRows(from, to int, erase eraser) {
	for y := from; y < to; y++ {
		l := t.g.edit(y)
		erase(l, 0, t.cols, t.blank())
		l.wrapped = false
	}
}

// privateMode sets or resets a DEC mode; unknown ones are ignored.
func (t *terminal) privateMode(mode int, on bool) {
	if mode == synchronized {
		t.frames.mark(on, t.frame)
	}
	if f := t.mode.flag(mode); f != nil {
		*f = on
		return
	}
	switch mode {
	case 6:
		t.mode.origin = on
		t.address(0, 0)
	case 25:
		t.mode.hidden = !on
	case 9, 1000, 1002, 1003:
		t.mode.setMouse(mode, on)
	case 47, 1047:
		if !on && mode == 1047 && t.alt() {
			t.wipe()
		}
		t.switchScreen(on)
	case 1048:
		if on {
			t.save()
		} else {
			t.restore()
		}
	case 1049:
		switch {
		case on && !t.alt():
			t.save()
			t.switchScreen(true)
			t.wipe()
		case !on:
			t.switchScreen(false)
			t.restore()
		}
	}
}

// wipe blanks the alternate screen.
func (t *terminal) wipe() {
	for y := range t.rows {
		t.g.row(y).blank(t.blank(), t.cols)
	}
}

// switchScreen shows the alternate screen or the main one again. The cursor
// stays where it is.
func (t *terminal) switchScreen(alt bool) {
	if alt == t.alt() {
		return
	}
	if !alt {
		t.g = t.main
		return
	}
	if t.second == nil {
		t.second = newGrid(t.cols, t.rows)
	}
	t.g, t.mainY = t.second, t.y
}

// status is what the answers to queries are about.
func (t *terminal) status() status {
	return status{cols: t.cols, rows: t.rows, x: t.x, y: t.y, top: t.top, bot: t.bot, origin: t.mode.origin,
		rendition: t.pen.String(), cursorStyle: t.style, protect: t.protect,
		setting: func(mode int, private bool) int {
			return t.mode.setting(mode, private, t.alt(), t.slot().set)
		}}
}

func (t *terminal) osc(data []byte, bell bool) {
	t.last = 0
	t.answers.osc(data, bell)
}

func (t *terminal) dcs(s *sequence, data []byte) {
	t.last = 0
	t.answers.dcs(s, data, t.status())
}
