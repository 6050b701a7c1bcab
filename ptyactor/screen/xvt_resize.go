package screen

// Resize implements Screen. The line of the cursor stays: what has to leave the
// main screen goes to the scrollback, and comes back from it when the screen
// grows. Text is cut, not reflowed, when columns go.
func (x *xvt) Resize(cols, rows int) {
	cols, rows = clampSide(cols), clampSide(rows)
	if cols == x.cols && rows == x.rows {
		return
	}
	x.dirty = true
	defer func() {
		if recover() != nil {
			x.cols, x.rows = cols, rows
			x.rebuild()
		}
	}()
	cx, cy := x.cursor()
	x.top, x.bot = 0, x.rows
	x.setRegion()
	if n := cy - rows + 1; n > 0 && !x.alt() {
		x.scrollUp(0, n)
		cy -= n
	}
	grown := rows - x.rows
	x.e.Resize(cols, rows)
	x.cols, x.rows, x.bot = cols, rows, rows
	x.wrapped = fit(x.wrapped, rows)
	old := x.tabs
	x.tabs = defaultTabs(cols)
	copy(x.tabs, old)
	if grown > 0 && !x.alt() {
		cy += x.pullBack(min(grown, x.back.len()))
	}
	for i := range x.saved {
		s := &x.saved[i]
		s.x, s.y = min(s.x, cols-1), min(s.y, rows-1)
	}
	x.moveTo(min(cx, cols-1), min(cy, rows-1))
}

// pullBack moves n lines from the scrollback to the top of the screen.
func (x *xvt) pullBack(n int) int {
	if n == 0 {
		return 0
	}
	x.scrollDown(0, n)
	pen := x.sgr
	x.emit("\x1b[m")
	for y := n - 1; y >= 0; y-- {
		line, _ := x.back.pop()
		at := 0
		for _, r := range line {
			w := width(r)
			if w == 0 {
				x.combineAt(at, y, r)
				continue
			}
			if at+w > x.cols {
				break
			}
			x.emitCSI('H', y+1, at+1)
			x.emit(string(r))
			at += w
		}
	}
	x.emit("\x1b[" + pen + "m")
	return n
}

// combineAt puts a mark onto the character that ends before column at.
func (x *xvt) combineAt(at, y int, r rune) {
	x.emitCSI('H', y+1, min(at, x.cols-1)+1)
	x.wrapNext = at >= x.cols
	x.combine(r)
	x.wrapNext = false
}
