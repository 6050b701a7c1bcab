package screen

// tabStops says of each column whether a tab stops there. It is as wide as any
// screen may get, so stops outlive a narrow one.
type tabStops [MaxSide]bool

const tabWidth = 8

func defaultTabs() (t tabStops) {
	for i := tabWidth; i < len(t); i += tabWidth {
		t[i] = true
	}
	return t
}

// next is the nth stop after column x, or the last column.
func (t *tabStops) next(x, n, cols int) int {
	for ; n > 0 && x < cols-1; n-- {
		for x++; x < cols-1 && !t[x]; x++ {
		}
	}
	return x
}

// previous is the nth stop before column x, or the first column.
func (t *tabStops) previous(x, n int) int {
	for ; n > 0 && x > 0; n-- {
		for x--; x > 0 && !t[x]; x-- {
		}
	}
	return x
}

// control executes a C0 control.
func (t *terminal) control(b byte) {
	t.last = 0
	switch b {
	case '\b':
		t.backspace()
	case '\t':
		t.x = t.tabs.next(t.x, 1, t.cols)
	case '\n', '\v', '\f':
		t.index()
		if t.mode.newline {
			t.x = 0
		}
	case '\r':
		t.x, t.wrapNext = 0, false
	case 0x0e:
		t.sets.gl = 1
	case 0x0f:
		t.sets.gl = 0
	}
}

// moveTo puts the cursor into a cell; outside positions are clamped.
func (t *terminal) moveTo(x, y int) {
	t.x, t.y, t.wrapNext = min(max(x, 0), t.cols-1), min(max(y, 0), t.rows-1), false
}

// address puts the cursor where the program counts it, from the region's top
// in origin mode.
func (t *terminal) address(x, y int) {
	if t.mode.origin {
		y += t.top
	}
	t.moveTo(x, min(y, t.lowest()))
}

// above and below are the rows n up and down; they stop at the margin when they
// come from inside it.
func (t *terminal) above(n int) int {
	if t.y >= t.top {
		return max(t.y-n, t.top)
	}
	return max(t.y-n, 0)
}

func (t *terminal) below(n int) int {
	if t.y < t.bot {
		return min(t.y+n, t.bot-1)
	}
	return min(t.y+n, t.rows-1)
}

// lowest is the last row that a program can address.
func (t *terminal) lowest() int {
	if t.mode.origin {
		return t.bot - 1
	}
	return t.rows - 1
}

func (t *terminal) backspace() {
	reverse := t.mode.reverseWrap && t.mode.autowrap
	switch {
	case reverse && t.wrapNext:
		t.wrapNext = false
	case t.x == 0 && reverse && t.y > t.top:
		t.moveTo(t.cols-1, t.y-1)
	default:
		t.moveTo(t.x-1, t.y)
	}
}

func (t *terminal) left(n int) {
	if !t.mode.reverseWrap || !t.mode.autowrap {
		t.moveTo(t.x-n, t.y)
		return
	}
	for range min(n, t.cols*t.rows) {
		t.backspace()
	}
}

// index moves down, scrolling the region at its bottom. The column stays, a
// pending wrap does not.
func (t *terminal) index() {
	t.wrapNext = false
	switch {
	case t.y == t.bot-1:
		t.scrollUp(1)
	case t.y < t.rows-1:
		t.y++
	}
}

func (t *terminal) reverseIndex() {
	t.wrapNext = false
	switch {
	case t.y == t.top:
		t.g.down(t.top, t.bot, 1, t.blank())
	case t.y > 0:
		t.y--
	}
}

// scrollUp moves the region up by n. What leaves the top of the main screen
// becomes scrollback.
func (t *terminal) scrollUp(n int) {
	n = min(n, t.bot-t.top)
	switch {
	case t.top > 0:
		t.g.row(t.top - 1).wrapped = false
	case !t.alt():
		t.keep(n)
	}
	t.g.up(t.top, t.bot, n, t.blank())
}

// keep copies the first n rows of the main screen into the scrollback.
func (t *terminal) keep(n int) {
	for y := range n {
		l := t.main.row(y)
		t.buf = l.appendText(t.buf[:0], len(l.cells), &t.marks)
		t.runs = l.appendRuns(t.runs[:0])
		t.back.push(t.buf, l.wrapped, t.runs)
	}
}

// save and restore are DECSC and DECRC; each screen has its own.
func (t *terminal) save() {
	*t.slot() = savedState{set: true, x: t.x, y: t.y, wrapNext: t.wrapNext, origin: t.mode.origin,
		protect: t.protect, pen: t.pen, sets: t.sets}
}

func (t *terminal) restore() {
	s := *t.slot()
	t.mode.origin, t.protect, t.pen, t.sets = s.origin, s.protect, s.pen, s.sets
	t.moveTo(s.x, s.y)
	t.wrapNext = s.wrapNext && t.x == t.cols-1
}

func (t *terminal) slot() *savedState {
	if t.alt() {
		return &t.saved[1]
	}
	return &t.saved[0]
}
