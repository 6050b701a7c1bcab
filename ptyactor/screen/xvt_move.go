package screen

// control executes a C0 control.
func (x *xvt) control(b byte) {
	x.last = 0
	cx, cy := x.cursor()
	switch b {
	case '\b':
		x.backspace(cx, cy)
	case '\t':
		x.tabForward(1)
	case '\n', '\v', '\f':
		x.lineFeed()
		if x.mode.newline {
			x.moveTo(0, x.row())
		}
	case '\r':
		x.moveTo(0, cy)
	case 0x0e:
		x.sets.gl = 1
	case 0x0f:
		x.sets.gl = 0
	}
}

func (x *xvt) row() int { _, cy := x.cursor(); return cy }

func (x *xvt) backspace(cx, cy int) {
	switch {
	case cx > 0:
		if x.wrapNext && x.mode.reverseWrap && x.mode.autowrap {
			x.wrapNext = false
			return
		}
		x.moveTo(cx-1, cy)
	case x.mode.reverseWrap && x.mode.autowrap && cy > x.top:
		x.moveTo(x.cols-1, cy-1)
	default:
		x.moveTo(cx, cy)
	}
}

// tabForward goes to the nth next stop, or the last column.
func (x *xvt) tabForward(n int) {
	cx, cy := x.cursor()
	pending := x.wrapNext
	x.moveTo(x.tabs.next(cx, n, x.cols), cy)
	x.wrapNext = pending
}

func (x *xvt) tabBack(n int) {
	cx, cy := x.cursor()
	x.moveTo(x.tabs.previous(cx, n), cy)
}

// lineFeed moves down, scrolling the region at its bottom. The column stays,
// a pending wrap does not.
func (x *xvt) lineFeed() {
	cx, cy := x.cursor()
	switch {
	case cy == x.bot-1:
		x.scrollUp(x.top, 1)
		x.moveTo(cx, cy)
	default:
		x.moveTo(cx, min(cy+1, x.rows-1))
	}
}

func (x *xvt) reverseFeed() {
	cx, cy := x.cursor()
	if cy == x.top {
		x.scrollDown(x.top, 1)
		x.moveTo(cx, cy)
		return
	}
	x.moveTo(cx, cy-1)
}

// scrollUp moves the lines from row y to the region's bottom up by n. What
// leaves the top of the main screen becomes scrollback. The cursor is lost.
func (x *xvt) scrollUp(y, n int) {
	n = min(n, x.bot-y)
	if n <= 0 {
		return
	}
	if y == 0 && !x.alt() {
		for i := range n {
			x.back.push([]byte(x.line(i)), x.wrapped[i], nil)
		}
	}
	x.emitCSI('H', y+1, 1)
	x.emitCSI('M', n)
	copy(x.wrapped[y:x.bot], x.wrapped[y+n:x.bot])
	clear(x.wrapped[x.bot-n : x.bot])
	if y > 0 && y == x.top {
		x.wrapped[y-1] = false
	}
}

// scrollDown is the reverse; what leaves the bottom is gone.
func (x *xvt) scrollDown(y, n int) {
	n = min(n, x.bot-y)
	if n <= 0 {
		return
	}
	x.emitCSI('H', y+1, 1)
	x.emitCSI('L', n)
	copy(x.wrapped[y+n:x.bot], x.wrapped[y:x.bot-n])
	clear(x.wrapped[y : y+n])
}

// insertLines and deleteLines work from the cursor's row, inside the region.
func (x *xvt) insertLines(n int) {
	if _, cy := x.cursor(); cy >= x.top && cy < x.bot {
		x.scrollDown(cy, n)
		x.moveTo(0, cy)
	}
}

func (x *xvt) deleteLines(n int) {
	_, cy := x.cursor()
	if cy < x.top || cy >= x.bot {
		return
	}
	n = min(n, x.bot-cy)
	x.emitCSI('H', cy+1, 1)
	x.emitCSI('M', n)
	copy(x.wrapped[cy:x.bot], x.wrapped[cy+n:x.bot])
	clear(x.wrapped[x.bot-n : x.bot])
	x.moveTo(0, cy)
}

// shift moves the rest of the line from the cursor on to the right, or to the
// left when n is negative. The emulator's own way loses wide characters.
func (x *xvt) shift(n int) {
	cx, cy := x.cursor()
	x.wrapNext = false
	x.clearLeft(cx, cy)
	from := cx + max(-n, 0)
	rest := copyCells(x.e.CellAt, cy, from, x.cols)
	x.emitCSI('K', 0)
	at := cx + max(n, 0)
	for i := range rest {
		c := &rest[i]
		if c.Width > 0 && c.Content != "" && at+i+c.Width <= x.cols {
			x.e.SetCell(at+i, cy, c)
		}
	}
}

// copyCells copies part of a row; cells that do not exist are zero.
func copyCells[C any](at func(x, y int) *C, y, from, to int) []C {
	cells := make([]C, max(to-from, 0))
	for i := range cells {
		if c := at(from+i, y); c != nil {
			cells[i] = *c
		}
	}
	return cells
}

// setRegion tells the emulator our region; its cursor goes home.
func (x *xvt) setRegion() { x.emitCSI('r', x.top+1, x.bot) }

// up and down stop at the margin when they come from inside it.
func (x *xvt) up(n int) int {
	cy := x.row()
	if cy >= x.top {
		return max(cy-n, x.top)
	}
	return max(cy-n, 0)
}

func (x *xvt) down(n int) int {
	cy := x.row()
	if cy < x.bot {
		return min(cy+n, x.bot-1)
	}
	return min(cy+n, x.rows-1)
}

// address puts the cursor where the program counts it, from the region's top
// in origin mode.
func (x *xvt) address(cx, cy int) {
	if x.mode.origin {
		cy = min(cy+x.top, x.bot-1)
	}
	x.moveTo(cx, cy)
}

func (x *xvt) save() {
	cx, cy := x.cursor()
	x.emit("\x1b7")
	*x.savedSlot() = savedCursor{set: true, x: cx, y: cy, wrapNext: x.wrapNext, origin: x.mode.origin, sets: x.sets}
}

func (x *xvt) restore() {
	s := *x.savedSlot()
	x.emit("\x1b8")
	x.mode.origin, x.sets = s.origin, s.sets
	x.moveTo(s.x, s.y)
	x.wrapNext = s.wrapNext && s.x == x.cols-1
}

func (x *xvt) savedSlot() *savedCursor {
	if x.alt() {
		return &x.saved[1]
	}
	return &x.saved[0]
}
