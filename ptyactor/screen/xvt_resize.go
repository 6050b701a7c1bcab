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
	x.frames.drop()
	defer func() {
		if recover() != nil {
			x.cols, x.rows = cols, rows
			x.rebuild()
		}
	}()
	if x.alt() {
		shown := x.e
		x.e, x.wrapped, x.mainWrapped = x.main, x.mainWrapped, x.wrapped
		cx, cy := x.resizeMain(cols, rows)
		x.emitCSI('H', cy+1, cx+1)
		x.e, x.wrapped, x.mainWrapped = shown, x.mainWrapped, x.wrapped
		cx, cy = x.cursor()
		x.emit("\x1b[r")
		x.e.Resize(cols, rows)
		x.settle(cols, rows, cx, cy)
		return
	}
	cx, cy := x.resizeMain(cols, rows)
	x.settle(cols, rows, cx, cy)
}

// settle takes the new size over.
func (x *xvt) settle(cols, rows, cx, cy int) {
	x.cols, x.rows, x.top, x.bot = cols, rows, 0, rows
	x.wrapped = fit(x.wrapped, rows)
	if x.mainWrapped != nil {
		x.mainWrapped = fit(x.mainWrapped, rows)
	}
	for i := range x.saved {
		s := &x.saved[i]
		if !s.set {
			*s = savedCursor{}
			continue
		}
		s.x, s.y = min(s.x, cols-1), min(max(s.y, 0), rows-1)
	}
	x.moveTo(cx, cy)
	x.back.fit(cols)
}

// resizeMain gives the main screen, which is selected, another size, and
// returns where its cursor is then. The engine's own size stays.
func (x *xvt) resizeMain(cols, rows int) (cx, cy int) {
	cx, cy = x.cursor()
	wasCols, wasRows := x.cols, x.rows
	x.top, x.bot = 0, x.rows
	x.emit("\x1b[r")
	if n := cy - rows + 1; n > 0 {
		for i := range n {
			x.back.push([]byte(x.line(i)), x.wrapped[i], nil)
		}
		x.emitCSI('H', 1, 1)
		x.emitCSI('M', n)
		copy(x.wrapped, x.wrapped[n:])
		cy -= n
		x.saved[0].y -= n
	}
	x.e.Resize(cols, rows)
	x.cols, x.rows, x.bot = cols, rows, rows
	x.wrapped = fit(x.wrapped, rows)
	if grown := rows - wasRows; grown > 0 {
		n := x.pullBack(min(grown, x.back.len()))
		cy += n
		x.saved[0].y += n
	}
	x.cols, x.rows, x.bot = wasCols, wasRows, wasRows
	return min(cx, cols-1), min(max(cy, 0), rows-1)
}

// pullBack moves n lines from the scrollback to the top of the screen.
func (x *xvt) pullBack(n int) int {
	if n == 0 {
		return 0
	}
	x.emitCSI('H', 1, 1)
	x.emit("\x1b[m")
	x.emitCSI('L', n)
	copy(x.wrapped[n:], x.wrapped)
	for y := n - 1; y >= 0; y-- {
		line := x.back.pop()
		x.wrapped[y] = line.wrapped
		at := 0
		for _, r := range line.text {
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
	x.emit(x.pen)
	return n
}

// combineAt puts a mark onto the character that ends before column at.
func (x *xvt) combineAt(at, y int, r rune) {
	x.emitCSI('H', y+1, min(at, x.cols-1)+1)
	x.wrapNext = at >= x.cols
	x.combine(r)
	x.wrapNext = false
}
