package screen

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// fragments are what random programs are made of, beside control sequences with
// random parameters.
var fragments = []string{"世", "a", "plain words ", "xxxxxxxxxxxxxxxxxxxxxxxxx", "界界界界界界界界界界", "\x1bM", "\n", "\r\n", "\r", "\t", "\b",
	"\x1b[?69h", "\x1b[1;30s", "\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1b#8", "\x1bc", "\x1b[!p", "\u0301", "\u200d👩", "👍🏽", "\x1b(0", "\x1b(B", "\x1b)0",
	"\x0e", "\x0f", "\x1bN", "\x1bn", "\x1b[31;48:2::1:2:3m", "\x1b[7m", "\x1b[m", "\x1b]0;title\x07", "\x1b]2;t\x1b\\", "\x1bH", "\x1b[1\"q", "\x1b[0\"q",
	"\xff", "\xe4\xb8", "\x1b", "\x1b[", "\x1b[?", "\x1bP", "\x1b]8;;x", "\x18", "\x1bP$qm\x1b\\"}

// finals are the last bytes of the control sequences that random programs use.
const finals = "@ABCDEFGHIJKLMPSTXZ`abdefgnrsut"

// switches are the modes that they set and reset.
var switches = []string{"4", "20", "?1", "?5", "?6", "?7", "?25", "?45", "?47", "?66", "?69", "?1047", "?1048", "?1049", "?2004", "?2026"}

var counts = []int{0, 1, 2, 3, 5, 9, 17, 80, 300, 100_000_000}

// source yields small numbers that make a program.
type source func(below int) int

// fragment is one piece of a random program.
func (next source) fragment() string {
	switch next(4) {
	case 0, 1:
		return fragments[next(len(fragments))]
	case 2:
		return "\x1b[" + switches[next(len(switches))] + string("hl"[next(2)])
	}
	final := finals[next(len(finals))]
	switch next(3) {
	case 0:
		return fmt.Sprintf("\x1b[%c", final)
	case 1:
		return fmt.Sprintf("\x1b[%d%c", counts[next(len(counts))], final)
	}
	return fmt.Sprintf("\x1b[%d;%d%c", counts[next(len(counts))], counts[next(len(counts))], final)
}

// act does one random thing to the screens and says what.
func (next source) act(screens ...Screen) string {
	if next(12) == 0 {
		cols, rows := 1+next(30), 1+next(12)
		for _, s := range screens {
			s.Resize(cols, rows)
		}
		return fmt.Sprintf("resize %dx%d", cols, rows)
	}
	text := next.fragment()
	for i, s := range screens {
		write(s, text, i)
	}
	return fmt.Sprintf("%q", text)
}

// write gives the text to a screen at once, or to a second one byte by byte.
func write(s Screen, text string, which int) {
	if which == 0 {
		s.Write([]byte(text))
		return
	}
	for i := range len(text) {
		s.Write([]byte{text[i]})
	}
}

// fromBytes makes a source of a fuzzer's input; it yields 0 when that is used up.
func fromBytes(b *[]byte) source {
	return func(below int) int {
		if len(*b) == 0 {
			return 0
		}
		n := int((*b)[0]) % below
		*b = (*b)[1:]
		return n
	}
}

func FuzzGrammar(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, program []byte) {
		next := fromBytes(&program)
		cols, rows := 1+next(30), 1+next(12)
		whole, bytewise := New(cols, rows, 20), New(cols, rows, 20)
		for range 300 {
			if len(program) == 0 {
				break
			}
			next.act(whole, bytewise)
			sound(t, whole)
		}
		same(t, whole, bytewise)
	})
}

func FuzzSecondEngine(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4})
	f.Fuzz(func(t *testing.T, program []byte) {
		next := fromBytes(&program)
		s := NewXVT(1+next(30), 1+next(12), 20)
		for range 300 {
			if len(program) == 0 {
				break
			}
			next.act(s)
		}
		inside(t, s)
	})
}

func FuzzBytes(f *testing.F) {
	f.Add([]byte("a\x1b[31mb\xe4\xb8\x96\r\n\x1b]0;t\x07"), uint8(10), uint8(4))
	f.Fuzz(func(t *testing.T, b []byte, cols, rows uint8) {
		whole, bytewise := New(int(cols), int(rows), 20), New(int(cols), int(rows), 20)
		write(whole, string(b), 0)
		write(bytewise, string(b), 1)
		sound(t, whole)
		same(t, whole, bytewise)
	})
}

// same fails when two screens differ in what they show or answer.
func same(t testing.TB, a, b Screen) {
	t.Helper()
	x, y := a.Snapshot(), b.Snapshot()
	if !x.same(y) {
		t.Fatalf("cut into bytes it shows\n%q\ncursor %d,%d instead of\n%q\ncursor %d,%d", y.Lines, y.Row, y.Col, x.Lines, x.Row, x.Col)
	}
	if ra, rb := a.Replies(), b.Replies(); string(ra) != string(rb) {
		t.Fatalf("cut into bytes it answers %q instead of %q", rb, ra)
	}
}

func inside(t testing.TB, s Screen) {
	t.Helper()
	shot := s.Snapshot()
	if shot.Row < 0 || shot.Row >= shot.Rows || shot.Col < 0 || shot.Col >= shot.Cols {
		t.Fatalf("cursor %d,%d outside %dx%d", shot.Row, shot.Col, shot.Cols, shot.Rows)
	}
	for _, line := range shot.Lines {
		if n := Width(line); n > shot.Cols {
			t.Fatalf("line of %d cells on %d columns: %q", n, shot.Cols, line)
		}
	}
	if f := s.Frame(); f != nil && (f.Cols != shot.Cols || f.Rows != shot.Rows || f.Version > shot.Version) {
		t.Fatalf("version %d of %dx%d is held on version %d of %dx%d", f.Version, f.Cols, f.Rows, shot.Version, shot.Cols, shot.Rows)
	}
	if s.Faults() > 0 {
		t.Fatalf("the engine broke %d times", s.Faults())
	}
}

// sound checks what our own engine's parts rely on.
func sound(t testing.TB, s Screen) {
	t.Helper()
	inside(t, s)
	e := s.(*terminal)
	for _, g := range []*grid{e.main, e.second} {
		if g == nil {
			continue
		}
		if g.cols != e.cols || g.rows() != e.rows {
			t.Fatalf("a grid of %dx%d on a screen of %dx%d", g.cols, g.rows(), e.cols, e.rows)
		}
		for y := range g.lines {
			if wrong := unsound(g.row(y), g.cols, &e.marks); wrong != "" {
				t.Fatalf("row %d: %s", y, wrong)
			}
		}
	}
}

func unsound(l *line, cols int, marks *clusters) string {
	switch {
	case len(l.cells) < cols || l.used > len(l.cells):
		return fmt.Sprintf("%d cells, %d used, of %d columns", len(l.cells), l.used, cols)
	case len(l.cells) > cols && l.used < len(l.cells):
		return fmt.Sprintf("%d cells, but %d used, of %d columns", len(l.cells), l.used, cols)
	case l.fresh && string(l.appendText(nil, cols, marks)) != l.text:
		return fmt.Sprintf("stale text %q", l.text)
	case l.fresh && l.digest(cols) != l.style:
		return "stale style"
	}
	for x, c := range l.cells {
		switch {
		case x >= l.used && c != cell{}:
			return fmt.Sprintf("cell %d of %d used is not blank", x, l.used)
		case c.ch&rightBit != 0 && (x == 0 || l.cells[x-1].ch&wideBit == 0):
			return fmt.Sprintf("cell %d is half a character", x)
		case c.ch&wideBit != 0 && (x+1 == len(l.cells) || l.cells[x+1].ch&rightBit == 0):
			return fmt.Sprintf("cell %d is half a character", x)
		case c.ch&clusterBit != 0 && int(c.ch&charMask) >= len(marks.texts):
			return fmt.Sprintf("cell %d has no text", x)
		}
	}
	return ""
}

func TestRandomPrograms(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	next := source(rng.IntN)
	for range 2000 {
		cols, rows := 1+next(30), 1+next(12)
		whole, bytewise := New(cols, rows, 20), New(cols, rows, 20)
		program := fmt.Sprintf("%dx%d", cols, rows)
		ok := t.Run("", func(t *testing.T) {
			for range 60 {
				program += " " + next.act(whole, bytewise)
				sound(t, whole)
			}
			same(t, whole, bytewise)
		})
		if !ok {
			t.Fatal(program)
		}
	}
}

func TestRandomProgramsOnSecondEngine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	next := source(rng.IntN)
	for range 300 {
		s := NewXVT(1+next(30), 1+next(12), 20)
		for range 40 {
			next.act(s)
		}
		inside(t, s)
	}
}
