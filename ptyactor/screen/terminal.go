package screen

import "unicode/utf8"

// terminal is our own engine: what xterm shows, on a grid of compact cells.
type terminal struct {
	p          parser
	cols, rows int

	main, second *grid // second is the alternate screen, made when first used
	g            *grid // the one that is shown
	marks        clusters

	x, y     int
	wrapNext bool // the next character goes to the next row
	top, bot int  // scroll region, bot excluded
	pen      look
	protect  bool // DECSCA
	last     rune // for REP
	sets     charsets
	tabs     tabStops
	saved    [2]savedState // main, alternate
	mainY    int           // the main screen's row while the other is shown
	mode     modes
	style    int // of the cursor, DECSCUSR
	answers  answers
	back     scrollback

	dirty  bool
	shot   *Snapshot
	frames frames
	faults int
	buf    []byte
	runs   []styleRun
}

// savedState is what DECSC keeps.
type savedState struct {
	set      bool
	x, y     int
	wrapNext bool
	origin   bool
	protect  bool
	pen      look
	sets     charsets
}

// New returns our own engine, which keeps the given number of scrollback lines.
func New(cols, rows, scrollbackLines int) Screen {
	t := &terminal{cols: clampSide(cols), rows: clampSide(rows)}
	t.back = newScrollback(scrollbackLines, t.cols)
	t.p.do = t
	t.reset()
	return t
}

func clampSide(n int) int { return min(max(n, 1), MaxSide) }

// reset is the state after power-up; titles and scrollback stay.
func (t *terminal) reset() {
	t.main, t.second = newGrid(t.cols, t.rows), nil
	t.g, t.marks = t.main, clusters{}
	t.x, t.y, t.wrapNext, t.mainY = 0, 0, false, 0
	t.top, t.bot = 0, t.rows
	t.pen, t.protect, t.last, t.style = look{}, false, 0, steadyBlock
	t.sets, t.tabs, t.saved, t.mode = charsets{}, defaultTabs(), [2]savedState{}, newModes()
	t.answers.colours = nil
	t.frames.drop()
	t.dirty = true
}

// Write implements Screen. An error of ours costs the picture, never the
// program that many terminals share.
func (t *terminal) Write(p []byte) {
	t.dirty = true
	t.frames.wrote()
	defer func() {
		if recover() != nil {
			t.rebuild()
		}
	}()
	t.p.write(p)
}

// steadyBlock is the cursor's shape as long as no program asks for another.
const steadyBlock = 2

// rebuild starts anew after an error of ours.
func (t *terminal) rebuild() {
	t.faults++
	t.p.reset()
	t.reset()
}

// alt says that the alternate screen is shown.
func (t *terminal) alt() bool { return t.g != t.main }

// blank is an erased cell: it keeps the background of the pen.
func (t *terminal) blank() cell { return cell{bg: t.pen.bg & colourMask} }

// text prints plain characters at the start of b, and line ends between them.
func (t *terminal) text(b []byte) int {
	done := 0
	for done < len(b) {
		rest := b[done:]
		c := rest[0]
		switch {
		case c >= 0x20 && c < 0x7f:
			n := asciiRun(rest)
			t.printASCII(rest[:n])
			done += n
		case c >= 0x80:
			r, n := utf8.DecodeRune(rest)
			if r == utf8.RuneError && n == 1 || r < 0xa0 {
				return done
			}
			t.print(r)
			done += n
		case c == '\n' || c == '\r':
			t.control(c)
			done++
		default:
			return done
		}
	}
	return done
}

// asciiRun is how many bytes at the start of b are plain characters.
func asciiRun(b []byte) int {
	for i, c := range b {
		if c < 0x20 || c >= 0x7f {
			return i
		}
	}
	return len(b)
}

// printASCII draws plain characters, a row at a time.
func (t *terminal) printASCII(b []byte) {
	if t.mode.insert || t.sets != (charsets{}) {
		for _, c := range b {
			t.print(rune(c))
		}
		return
	}
	t.last = rune(b[len(b)-1])
	for len(b) > 0 {
		if t.wrapNext {
			t.wrap()
		}
		n := min(len(b), t.cols-t.x)
		l := t.g.edit(t.y)
		l.split(t.x)
		l.split(t.x + n)
		c := t.cell(0)
		cells := l.cells[t.x : t.x+n]
		for i, ch := range b[:n] {
			c.ch = c.ch&^charMask | uint32(ch)
			cells[i] = c
		}
		l.used = max(l.used, t.x+n)
		t.advance(l, n)
		b = b[n:]
	}
}

// cell is a character drawn with the pen.
func (t *terminal) cell(ch uint32) cell {
	if t.protect {
		ch |= protectedBit
	}
	return cell{ch, t.pen.fg, t.pen.bg}
}

// advance moves the cursor over what has been drawn in the row; at the margin it
// stays on the last column and the next character wraps. Only that one says that
// the row goes on in the next: what was there before has been drawn over.
func (t *terminal) advance(l *line, n int) {
	if t.x += n; t.x >= t.cols {
		t.x, t.wrapNext = t.cols-1, true
		l.wrapped = false
	}
}

// wrap goes to the next row if the terminal wraps at all.
func (t *terminal) wrap() {
	t.wrapNext = false
	if !t.mode.autowrap {
		return
	}
	t.g.row(t.y).wrapped = true
	t.index()
	t.x = 0
}

// print draws one character where the cursor is.
func (t *terminal) print(r rune) {
	if r < 0x80 {
		r = t.sets.translate(r)
	} else {
		t.sets.single = 0
	}
	w := width(r)
	if w == 0 {
		t.combine(r)
		return
	}
	if w > t.cols {
		return
	}
	if t.wrapNext || t.x+w > t.cols && t.mode.autowrap {
		t.wrap()
	}
	if t.x+w > t.cols {
		return
	}
	l := t.g.edit(t.y)
	if t.mode.insert {
		l.insert(t.x, w, t.blank())
	}
	l.split(t.x)
	l.split(t.x + w)
	c := t.cell(uint32(r))
	if w == 2 {
		c.ch |= wideBit
		l.cells[t.x+1] = t.cell(rightBit)
	}
	l.cells[t.x] = c
	l.used = max(l.used, t.x+w)
	t.last = r
	t.advance(l, w)
}

// combine puts a mark of no width onto the character before the cursor.
func (t *terminal) combine(r rune) {
	x := t.x
	if !t.wrapNext {
		x--
	}
	if x < 0 {
		return
	}
	l := t.g.edit(t.y)
	if l.cells[x].ch&rightBit != 0 {
		x--
	}
	if t.marks.isFull() {
		t.sweep()
	}
	c := &l.cells[x]
	t.buf = t.marks.appendText(t.buf[:0], c.ch)
	if len(t.buf) > clusterMax || len(t.marks.texts) > charMask {
		return
	}
	t.buf = utf8.AppendRune(t.buf, r)
	c.ch = c.ch&^charMask | clusterBit | t.marks.number(string(t.buf))
	l.used = max(l.used, x+1)
}

func (t *terminal) sweep() {
	if t.second != nil {
		t.marks.sweep(t.main, t.second)
		return
	}
	t.marks.sweep(t.main)
}

// Snapshot implements Screen.
func (t *terminal) Snapshot() *Snapshot {
	if !t.dirty && t.shot != nil {
		return t.shot
	}
	s := &Snapshot{Cols: t.cols, Rows: t.rows, Row: t.y, Col: t.x, Hidden: t.mode.hidden, Title: t.answers.title,
		AltScreen: t.alt(), Mouse: t.mode.mouse != 0, Paste: t.mode.paste,
		Scrollback: t.back.len(), Top: t.back.next,
		Lines: make([]string, t.rows), Wrapped: make([]bool, t.rows), styles: make([]uint64, t.rows)}
	for y := range s.Lines {
		l := t.g.row(y)
		t.render(l)
		s.Lines[y], s.Wrapped[y], s.styles[y] = l.text, l.wrapped, l.style
	}
	t.dirty = false
	s.follow(t.shot)
	t.shot = s
	return s
}

// render brings the text of a row up to date.
func (t *terminal) render(l *line) {
	if l.fresh {
		return
	}
	t.buf = l.appendText(t.buf[:0], t.cols, &t.marks)
	if string(t.buf) != l.text {
		l.text = string(t.buf)
	}
	l.style, l.fresh = l.digest(t.cols), true
}

// Frame implements Screen.
func (t *terminal) Frame() *Frame { return t.frames.held }

// frame is the picture in the middle of a write.
func (t *terminal) frame() *Frame {
	f := &Frame{t.Snapshot(), t.Runs()}
	t.dirty = true
	return f
}

// Runs implements Screen.
func (t *terminal) Runs() []Run {
	var out []Run
	for y := range t.rows {
		t.runs = t.g.row(y).appendRuns(t.runs[:0])
		x := 0
		for _, r := range t.runs {
			n := min(r.cells, t.cols-x)
			if sgr := (look{r.fg, r.bg}).String(); sgr != "" && n > 0 {
				out = append(out, Run{Row: y, Col: x, Len: n, SGR: sgr})
			}
			x += r.cells
		}
	}
	return out
}

// Scrollback implements Screen.
func (t *terminal) Scrollback(from, to int64) (lines []string, first, next int64) {
	return t.back.read(from, to)
}

// Modes implements Screen.
func (t *terminal) Modes() Modes { return t.mode.public() }

// Replies implements Screen.
func (t *terminal) Replies() []byte { return t.answers.take() }

// Faults implements Screen.
func (t *terminal) Faults() int { return t.faults }
