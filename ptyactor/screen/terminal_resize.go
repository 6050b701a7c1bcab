package screen

// Resize implements Screen. The line of the cursor stays: what has to leave the
// main screen goes to the scrollback, and comes back from it when the screen
// grows. Text is not reflowed. What fewer columns cut off the main screen comes
// back with them if the row has not been written to.
func (t *terminal) Resize(cols, rows int) {
	cols, rows = clampSide(cols), clampSide(rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	t.dirty = true
	t.frames.drop()
	defer func() {
		if recover() != nil {
			t.cols, t.rows = cols, rows
			t.rebuild()
		}
	}()
	alt, y := t.alt(), t.y
	if alt {
		y = t.mainY
	}
	up := max(0, y-rows+1)
	t.keep(up)
	down := min(max(0, rows-t.rows), t.back.len())
	t.main = t.main.resized(cols, rows, up-down, true)
	t.pullBack(down)
	shift := [2]int{up - down, 0}
	t.g = t.main
	if t.second != nil {
		if alt {
			shift[1] = max(0, t.y-rows+1)
		}
		t.second = t.second.resized(cols, rows, shift[1], false)
	}
	if alt {
		t.g = t.second
	}
	t.settle(cols, rows, shift)
}

// settle takes the new size over; each screen's rows have moved up by shift.
func (t *terminal) settle(cols, rows int, shift [2]int) {
	t.cols, t.rows, t.top, t.bot = cols, rows, 0, rows
	t.mainY = min(max(t.mainY-shift[0], 0), rows-1)
	for i := range t.saved {
		s := &t.saved[i]
		if !s.set {
			continue
		}
		s.x, s.y = min(s.x, cols-1), min(max(s.y-shift[i], 0), rows-1)
	}
	by := shift[0]
	if t.alt() {
		by = shift[1]
	}
	t.moveTo(t.x, t.y-by)
	t.back.fit(cols)
}

// resized is a grid of another size with the same rows, moved up by shift, or
// down when that is negative. Rows keep what does not fit, or lose it.
func (g *grid) resized(cols, rows, shift int, keepCut bool) *grid {
	to := newGrid(cols, rows)
	for y := range rows {
		from := y + shift
		if from < 0 || from >= g.rows() {
			continue
		}
		l, into := g.row(from), to.row(y)
		if l.used > cols && !keepCut {
			l.cut(cols)
		}
		into.grow(l.used)
		copy(into.cells, l.cells[:l.used])
		into.wrapped = l.wrapped
	}
	return to
}

// pullBack moves n lines from the scrollback to the top of the main screen.
func (t *terminal) pullBack(n int) {
	for y := n - 1; y >= 0; y-- {
		l, stored := t.main.row(y), t.back.pop()
		l.wrapped = stored.wrapped
		x := 0
		for _, r := range stored.text {
			x = t.place(l, x, r)
		}
		l.paint(stored.runs)
	}
}

// place puts a character of a stored line into a row, which grows for it, and
// returns the next column.
func (t *terminal) place(l *line, x int, r rune) int {
	w := width(r)
	if w == 0 {
		if x == 0 {
			return x
		}
		at := x - 1
		if l.cells[at].ch&rightBit != 0 {
			at--
		}
		text := t.marks.appendText(nil, l.cells[at].ch)
		l.cells[at].ch = l.cells[at].ch&^charMask | clusterBit | t.marks.number(string(text)+string(r))
		return x
	}
	l.grow(x + w)
	l.cells[x].ch = uint32(r)
	if w == 2 {
		l.cells[x].ch |= wideBit
		l.cells[x+1].ch = rightBit
	}
	return x + w
}

// grow makes the row use so many columns, which may be more than the screen has.
func (l *line) grow(n int) {
	if n > len(l.cells) {
		l.cells = append(l.cells, make([]cell, n-len(l.cells))...)
	}
	l.used = max(l.used, n)
}

// paint gives the cells of a row their looks.
func (l *line) paint(runs []styleRun) {
	x := 0
	for _, r := range runs {
		l.grow(x + r.cells)
		for range r.cells {
			l.cells[x].fg, l.cells[x].bg = r.fg, r.bg
			x++
		}
	}
}
