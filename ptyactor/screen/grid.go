package screen

import (
	"bytes"
	"slices"
	"unicode/utf8"
)

// grid is the cells of one screen: a ring of rows, so that scrolling the whole
// of it moves no cell.
type grid struct {
	lines []line // row y is lines[(base+y) % len]
	base  int
	cols  int
	moved []line // for scrolling parts
}

// line is one row. Its cells from used on are blank and plain. While the row has
// not been touched since the screen got narrower it still holds, beyond the
// screen's columns, what stood there.
type line struct {
	cells   []cell
	used    int
	wrapped bool // the text goes on in the next row

	fresh bool // text and style are up to date
	text  string
	style uint64 // a digest of how the cells look
}

func newGrid(cols, rows int) *grid {
	g := &grid{cols: cols, lines: make([]line, rows)}
	cells := make([]cell, cols*rows)
	for y := range g.lines {
		g.lines[y].cells, cells = cells[:cols:cols], cells[cols:]
	}
	return g
}

func (g *grid) rows() int { return len(g.lines) }

// row is row y, to be looked at.
func (g *grid) row(y int) *line {
	if y += g.base; y >= len(g.lines) {
		y -= len(g.lines)
	}
	return &g.lines[y]
}

// edit is row y, to be changed: what a narrower screen had cut off is gone.
func (g *grid) edit(y int) *line {
	l := g.row(y)
	l.fresh = false
	if l.used > g.cols {
		l.cut(g.cols)
	}
	return l
}

// cut drops the cells from column x on, and with them a wide character that
// they divide.
func (l *line) cut(x int) {
	l.split(x)
	clear(l.cells[x:l.used])
	l.cells, l.used = l.cells[:x], x
}

// split blanks the wide character whose right half is column x.
func (l *line) split(x int) {
	if x > 0 && x < l.used && l.cells[x].ch&rightBit != 0 {
		l.cells[x-1].ch, l.cells[x].ch = 0, 0
	}
}

// blank empties the row; fill is what its cells become.
func (l *line) blank(fill cell, cols int) {
	clear(l.cells[:l.used])
	l.cells = l.cells[:min(cols, len(l.cells))]
	l.used, l.wrapped, l.fresh = 0, false, false
	if fill != (cell{}) {
		l.erase(0, cols, fill)
	}
}

// erase makes the cells from one column up to another like fill.
func (l *line) erase(from, to int, fill cell) {
	l.split(from)
	l.split(to)
	if fill == (cell{}) {
		if to >= l.used {
			from = min(from, l.used)
			clear(l.cells[from:l.used])
			l.used = from
			return
		}
		clear(l.cells[from:to])
		return
	}
	for x := from; x < to; x++ {
		l.cells[x] = fill
	}
	l.used = max(l.used, to)
}

// eraseUnprotected is erase for cells that are not protected.
func (l *line) eraseUnprotected(from, to int, fill cell) {
	for x := from; x < to; x++ {
		if l.cells[x].ch&protectedBit == 0 {
			l.erase(x, x+1, fill)
		}
	}
}

// insert moves the cells from column x on to the right by n; what leaves the
// line is lost.
func (l *line) insert(x, n int, fill cell) {
	cols := len(l.cells)
	n = min(n, cols-x)
	l.split(x)
	l.split(cols - n)
	copy(l.cells[x+n:], l.cells[x:cols-n])
	if l.used > x {
		l.used = min(l.used+n, cols)
	}
	l.fill(x, x+n, fill)
}

// remove moves the cells from column x on to the left by n.
func (l *line) remove(x, n int, fill cell) {
	cols := len(l.cells)
	n = min(n, cols-x)
	l.split(x)
	l.split(x + n)
	copy(l.cells[x:], l.cells[x+n:])
	l.fill(cols-n, cols, fill)
	if fill == (cell{}) && l.used > x {
		l.used = max(x, l.used-n)
	}
}

// fill overwrites cells whatever they hold.
func (l *line) fill(from, to int, c cell) {
	for x := from; x < to; x++ {
		l.cells[x] = c
	}
	if c != (cell{}) {
		l.used = max(l.used, to)
	}
}

// up moves the rows from top up to bot (excluded) up by n.
func (g *grid) up(top, bot, n int, fill cell) {
	if top == 0 && bot == g.rows() {
		if g.base += n; g.base >= len(g.lines) {
			g.base -= len(g.lines)
		}
	} else {
		g.moved = g.moved[:0]
		for y := top; y < top+n; y++ {
			g.moved = append(g.moved, *g.row(y))
		}
		for y := top; y < bot-n; y++ {
			*g.row(y) = *g.row(y + n)
		}
		for i, l := range g.moved {
			*g.row(bot - n + i) = l
		}
	}
	for y := bot - n; y < bot; y++ {
		g.row(y).blank(fill, g.cols)
	}
}

// down moves the rows from top up to bot (excluded) down by n.
func (g *grid) down(top, bot, n int, fill cell) {
	if top == 0 && bot == g.rows() {
		if g.base -= n; g.base < 0 {
			g.base += len(g.lines)
		}
	} else {
		g.moved = g.moved[:0]
		for y := bot - n; y < bot; y++ {
			g.moved = append(g.moved, *g.row(y))
		}
		for y := bot - 1; y >= top+n; y-- {
			*g.row(y) = *g.row(y - n)
		}
		for i, l := range g.moved {
			*g.row(top + i) = l
		}
	}
	for y := top; y < top+n; y++ {
		g.row(y).blank(fill, g.cols)
	}
}

// appendText appends the text of the first cells of a row, without trailing
// blanks. A wide character that the last of them divides is a blank.
func (l *line) appendText(b []byte, cols int, c *clusters) []byte {
	cells := l.cells[:min(l.used, cols)]
	b = slices.Grow(b, len(cells))
	for x := range cells {
		ch := cells[x].ch
		switch {
		case ch-1 < utf8.RuneSelf-1:
			b = append(b, byte(ch))
		case ch&rightBit != 0:
		case ch&wideBit != 0 && x+1 == cols:
			b = append(b, ' ')
		default:
			b = c.appendText(b, ch)
		}
	}
	return bytes.TrimRight(b, " ")
}

// appendRuns appends how the cells of a row look; a plain row has no runs.
func (l *line) appendRuns(runs []styleRun) []styleRun {
	plain := true
	for x := range l.used {
		c := &l.cells[x]
		if last := len(runs) - 1; last >= 0 && runs[last].fg == c.fg && runs[last].bg == c.bg {
			runs[last].cells++
			continue
		}
		plain = plain && c.fg|c.bg == 0
		runs = append(runs, styleRun{1, c.fg, c.bg})
	}
	if plain {
		return runs[:0]
	}
	return runs
}

// digest is a number that differs, very likely, when cells look different.
func (l *line) digest(cols int) uint64 {
	const prime = 0x9e3779b97f4a7c15
	h, last, run := uint64(0), uint64(0), uint64(0)
	cells := l.cells[:min(l.used, cols)]
	for x := range cells {
		now := uint64(cells[x].fg)<<32 | uint64(cells[x].bg)
		if now == last {
			run++
			continue
		}
		h = (h^last+run)*prime ^ now>>7
		last, run = now, 1
	}
	if last == 0 {
		return h // plain cells at the end are like none
	}
	return (h ^ last + run) * prime
}
