package screen

import (
	"strconv"
	"strings"

	"github.com/charmbracelet/x/vt"
)

// xvt keeps its cells in charmbracelet/x/vt and does everything else itself.
//
// The library's emulator crashes, hangs or draws wrongly on many inputs, so it
// never sees the program's bytes: our parser cuts them, this type decides what
// they mean, and the emulator gets a small vocabulary with arguments that are
// known to be inside the grid. It runs without autowrap, origin, insert and
// newline mode; wrapping, margins, tabs, character sets, saved cursors, modes,
// scrollback and all replies are ours. A panic that happens all the same
// rebuilds the emulator from the last snapshot.
type xvt struct {
	e          *vt.Emulator // the one that is shown
	main       *vt.Emulator
	second     *vt.Emulator // the alternate screen, made when first used
	p          parser
	cols, rows int

	top, bot    int // scroll region, bot excluded
	wrapNext    bool
	wrapped     []bool
	mainWrapped []bool // while the alternate screen is shown
	last        rune   // for REP
	tabs        tabStops
	sets        charsets
	saved       [2]savedCursor // main, alternate
	mode        modes
	sgr         string // the last rendition, for DECRQSS
	pen         string // all renditions since the last reset

	answers answers
	back    scrollback

	dirty  bool
	shot   *Snapshot
	frames frames
	faults int
	buf    []byte
}

// savedCursor is what DECSC keeps.
type savedCursor struct {
	set      bool
	x, y     int
	wrapNext bool
	origin   bool
	sets     charsets
}

// NewXVT returns an engine over charmbracelet/x/vt that keeps the given number
// of scrollback lines.
func NewXVT(cols, rows, scrollbackLines int) Screen {
	x := &xvt{cols: clampSide(cols), rows: clampSide(rows)}
	x.back = newScrollback(scrollbackLines, x.cols)
	x.p.do = x
	x.build()
	return x
}

// build makes a fresh emulator and forgets what a reset forgets.
func (x *xvt) build() {
	x.main, x.second = newEmulator(x.cols, x.rows), nil
	x.e = x.main
	x.forget()
}

// newEmulator makes one without history of its own. Its built-in alternate
// screen is never used, as that keeps 10,000 lines nobody can reach.
func newEmulator(cols, rows int) *vt.Emulator {
	e := vt.NewEmulator(cols, rows)
	e.SetScrollbackSize(1)
	return e
}

func (x *xvt) forget() {
	x.emit("\x1b[?7l")
	x.top, x.bot, x.wrapNext, x.last = 0, x.rows, false, 0
	x.wrapped = make([]bool, x.rows)
	x.tabs = defaultTabs()
	x.sets, x.saved, x.mode = charsets{}, [2]savedCursor{}, newModes()
	x.answers.colours, x.sgr, x.pen, x.mainWrapped = nil, "", "", nil
	x.frames.drop()
	x.dirty = true
}

// Write implements Screen.
func (x *xvt) Write(p []byte) {
	x.dirty = true
	x.frames.wrote()
	for len(p) > 0 {
		p = p[x.step(p):]
	}
}

// stepMax bounds what is parsed between two looks for a flood.
const stepMax = 32 << 10

// step takes some bytes and returns how many: at least one, and no more than
// the one on which the emulator panicked.
func (x *xvt) step(p []byte) (taken int) {
	defer func() {
		if recover() != nil {
			taken = max(taken, 1)
			x.rebuild()
		}
	}()
	taken = x.flood(p)
	for end := min(len(p), taken+stepMax); taken < end; {
		if x.p.state == ground && len(x.p.utf) == 0 {
			if n := x.text(p[taken:end]); n > 0 {
				taken += n
				continue
			}
		}
		taken++
		x.p.next(p[taken-1])
	}
	return taken
}

// text prints plain characters that need no translation.
func (x *xvt) text(b []byte) int {
	if x.mode.insert || x.sets != (charsets{}) {
		return 0
	}
	n := asciiRun(b)
	x.printRun(b[:n])
	return n
}

// printRun draws plain characters, a row at a time.
func (x *xvt) printRun(p []byte) {
	for len(p) > 0 {
		cx, cy := x.cursor()
		n := min(len(p), x.cols-1-cx)
		if x.wrapNext || n < 2 {
			// At the margin: one by one.
			x.print(rune(p[0]))
			p = p[1:]
			continue
		}
		x.clearHalves(cx, cy, n)
		x.e.Write(p[:n])
		x.last = rune(p[n-1])
		if nx, ny := x.cursor(); nx != cx+n || ny != cy {
			x.emitCSI('H', cy+1, cx+n+1)
		}
		p = p[n:]
	}
}

// rebuild replaces a broken emulator and writes back the text that was shown
// last.
func (x *xvt) rebuild() {
	x.faults++
	old := x.shot
	x.p.reset()
	x.build()
	if old == nil {
		return
	}
	defer func() {
		if recover() != nil {
			x.build()
		}
	}()
	for y, line := range old.Lines[:min(len(old.Lines), x.rows)] {
		x.moveTo(0, y)
		for _, r := range line {
			if cx, _ := x.cursor(); cx+width(r) < x.cols {
				x.print(r)
			}
		}
	}
	x.moveTo(old.Col, old.Row)
}

// emit writes to the emulator; s comes from this package only.
func (x *xvt) emit(s string) { x.e.WriteString(s) }

// emitCSI writes CSI, numbers and a final byte.
func (x *xvt) emitCSI(final byte, nums ...int) {
	b := append(x.buf[:0], "\x1b["...)
	for i, n := range nums {
		if i > 0 {
			b = append(b, ';')
		}
		b = strconv.AppendInt(b, int64(n), 10)
	}
	x.buf = append(b, final)
	x.e.Write(x.buf)
}

// cursor is the emulator's cursor, inside the grid whatever it says.
func (x *xvt) cursor() (cx, cy int) {
	pos := x.e.CursorPosition()
	return min(max(pos.X, 0), x.cols-1), min(max(pos.Y, 0), x.rows-1)
}

// moveTo puts the cursor into a cell; outside positions are clamped.
func (x *xvt) moveTo(cx, cy int) {
	x.wrapNext = false
	x.emitCSI('H', min(max(cy, 0), x.rows-1)+1, min(max(cx, 0), x.cols-1)+1)
}

// print draws one character where the cursor is.
func (x *xvt) print(r rune) {
	if r < 0x80 {
		r = x.sets.translate(r)
	} else {
		x.sets.single = 0
	}
	w := width(r)
	if w == 0 {
		x.combine(r)
		return
	}
	if w > x.cols {
		return
	}
	cx, cy := x.cursor()
	if x.wrapNext && x.mode.autowrap || w == 2 && cx == x.cols-1 && x.mode.autowrap {
		x.wrapped[cy] = true
		x.lineFeed()
		_, cy = x.cursor()
		x.moveTo(0, cy)
		cx = 0
	}
	x.wrapNext = false
	if cx+w > x.cols {
		return
	}
	if x.mode.insert {
		x.shift(w)
	}
	x.clearHalves(cx, cy, w)
	x.last = r
	x.buf = append(x.buf[:0], string(r)...)
	x.e.Write(x.buf)
	if cx+w >= x.cols {
		x.emitCSI('H', cy+1, x.cols)
		x.wrapNext = true
		return
	}
	if nx, ny := x.cursor(); nx != cx+w || ny != cy {
		x.emitCSI('H', cy+1, cx+w+1)
	}
}

// clearHalves blanks the other halves of wide characters that w cells at cx
// are about to cut.
func (x *xvt) clearHalves(cx, cy, w int) {
	x.clearLeft(cx, cy)
	if end := cx + w - 1; end+1 < x.cols {
		if c := x.e.CellAt(end, cy); c != nil && c.Width == 2 {
			blank := *c
			blank.Content, blank.Width = " ", 1
			x.e.SetCell(end, cy, &blank)
			x.e.SetCell(end+1, cy, &blank)
		}
	}
}

// clearLeft blanks the left half of a wide character whose right half is at cx.
func (x *xvt) clearLeft(cx, cy int) {
	if cx == 0 {
		return
	}
	if c := x.e.CellAt(cx-1, cy); c != nil && c.Width == 2 {
		blank := *c
		blank.Content, blank.Width = " ", 1
		x.e.SetCell(cx-1, cy, &blank)
	}
}

// combineMax bounds the marks on one cell, in bytes.
const combineMax = 64

// combine puts a mark of no width onto the character before the cursor.
func (x *xvt) combine(r rune) {
	cx, cy := x.cursor()
	if !x.wrapNext {
		cx--
	}
	if cx < 0 {
		return
	}
	c := x.e.CellAt(cx, cy)
	if c != nil && c.Width == 0 && cx > 0 {
		cx--
		c = x.e.CellAt(cx, cy)
	}
	if c == nil || len(c.Content) > combineMax {
		return
	}
	cell := *c
	if cell.Content == "" {
		cell.Content, cell.Width = " ", 1
	}
	cell.Content += string(r)
	x.e.SetCell(cx, cy, &cell)
}

// line is the text of a row without trailing blanks.
func (x *xvt) line(y int) string {
	var b strings.Builder
	blanks := 0
	for cx := 0; cx < x.cols; {
		c := x.e.CellAt(cx, y)
		w := 1
		if c == nil || c.Content == "" || c.Content == " " {
			blanks++
			cx++
			continue
		}
		if w = max(c.Width, 1); cx+w > x.cols {
			blanks++
			cx += w
			continue
		}
		for ; blanks > 0; blanks-- {
			b.WriteByte(' ')
		}
		b.WriteString(c.Content)
		cx += w
	}
	return b.String()
}

// Snapshot implements Screen.
func (x *xvt) Snapshot() *Snapshot {
	if !x.dirty && x.shot != nil {
		return x.shot
	}
	s := &Snapshot{Cols: x.cols, Rows: x.rows, Hidden: x.mode.hidden, Title: x.answers.title,
		AltScreen: x.alt(), Mouse: x.mode.mouse != 0, Paste: x.mode.paste,
		Scrollback: x.back.len(), Top: x.back.next,
		Lines: make([]string, x.rows), Wrapped: append([]bool(nil), x.wrapped...)}
	for y := range s.Lines {
		s.Lines[y] = x.line(y)
	}
	s.Col, s.Row = x.cursor()
	x.dirty = false
	s.follow(x.shot)
	x.shot = s
	return s
}

// Frame implements Screen.
func (x *xvt) Frame() *Frame { return x.frames.held }

// frame is the picture in the middle of a write.
func (x *xvt) frame() *Frame {
	f := &Frame{x.Snapshot(), x.Runs()}
	x.dirty = true
	return f
}

// Scrollback implements Screen.
func (x *xvt) Scrollback(from, to int64) (lines []string, first, next int64) {
	return x.back.read(from, to)
}

// Faults implements Screen.
func (x *xvt) Faults() int { return x.faults }

func (x *xvt) alt() bool { return x.e != x.main }
