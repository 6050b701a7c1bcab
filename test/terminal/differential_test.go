package terminal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"shoal.dev/shoal/ptyactor/screen"
)

// The grammar of the random programs that terminals are compared with. What is
// not in it, as terminals differ and ours has chosen:
//
//   - marks after blanks: xterm forgets them, we keep them on a blank
//   - CSI T with two to four parameters, which xterm takes for half of a mouse
//     protocol and we, tmux and headless xterm for scrolling
//   - reverse wrap (mode 45) from the top left corner, where xterm goes to the
//     bottom right one and nobody else moves
//   - mode 1049 set twice: xterm clears again, nobody else does
//   - characters beyond ASCII while G2 holds graphics, and single shifts before
//     CAN, which xterm draws as something else
//   - wide characters at the margin without autowrap, where xterm's answer
//     depends on how it gets its text
//   - mode 1049 while a wrap is pending, which xterm forgets
//   - resizes on the alternate screen, where xterm moves the main one wrongly
//   - resizes on xterm itself: it brings back what CSI M has deleted at the top,
//     which nobody else keeps
var pieceGrammar = []string{"世", "a", "word ", "xxxxxxxxxxxxxxxxxxxxxxxxx", "界界界界界界界界界界", "\x1bM", "\n", "\r\n", "\r", "\t", "\b", "\b\b",
	"\x1b7", "\x1b8", "\x1bD", "\x1bE", "\x1b#8", "👍", "e\u0301", "\x1b[31;48:2::1:2:3m", "\x1b[7m", "\x1b[m", "\x1b]0;title\x07",
	"\x1b]2;t\x1b\\", "\x1bH", "\x1bn", "\x1bo", "\x1b[s", "\x1b[u"}

// Pieces that some terminals lack.
var (
	graphics    = []string{"\x1b(0", "\x1b(B", "\x1b)0", "\x0e", "\x0f", "qx"}
	resets      = []string{"\x1bc", "\x1b[!p"}
	protections = []string{"\x1b[1\"q", "\x1b[0\"q", "\x1b[?J", "\x1b[?1K"}
	cutOff      = []string{"\x1b[3世H", "\x1b[2é;3H", "\x1b[2:3H"}
	shifts      = []string{"\x1b[ @", "\x1b[2 A"}
)

const finalGrammar = "@ABCDEFGHIJKLMPSXZ`abdefgr"

var modeGrammar = []string{"4", "20", "?6", "?7", "?25", "?1047", "?47", "?1048"}

var countGrammar = []int{0, 1, 1, 2, 3, 5, 9, 17, 80}

// generator makes random programs.
type generator struct {
	rng     *rand.Rand
	pieces  []string
	modes   []string
	finals  string
	resizes bool
}

func newGenerator(seed uint64, pieces ...[]string) *generator {
	return &generator{rng: rand.New(rand.NewPCG(seed, 1)), pieces: slices.Concat(append(pieces, pieceGrammar)...), modes: modeGrammar, finals: finalGrammar}
}

func (g *generator) program() testCase {
	c := testCase{Cols: 10 + g.rng.IntN(16), Rows: 2 + g.rng.IntN(6)}
	for range 14 {
		if g.resizes && g.rng.IntN(6) == 0 {
			c.Steps = append(c.Steps, step{Resize: []int{c.Cols, 2 + g.rng.IntN(6)}})
			continue
		}
		c.Steps = append(c.Steps, step{Write: []byte(g.piece())})
	}
	return c
}

func (g *generator) piece() string {
	count := func() int { return countGrammar[g.rng.IntN(len(countGrammar))] }
	switch g.rng.IntN(5) {
	case 0, 1:
		return g.pieces[g.rng.IntN(len(g.pieces))]
	case 2:
		return "\x1b[" + g.modes[g.rng.IntN(len(g.modes))] + string("hl"[g.rng.IntN(2)])
	}
	final := g.finals[g.rng.IntN(len(g.finals))]
	if g.rng.IntN(3) > 0 {
		return fmt.Sprintf("\x1b[%d%c", count(), final)
	}
	return fmt.Sprintf("\x1b[%d;%d%c", count(), count(), final)
}

// programs is how many programs are compared with terminals outside this
// process; SHOAL_TERMINAL_PROGRAMS asks for more.
func programs() int {
	if n, err := strconv.Atoi(os.Getenv("SHOAL_TERMINAL_PROGRAMS")); err == nil {
		return n
	}
	return 40
}

// compare plays random programs on our engine and on all peers. Where the peers
// agree ours must show the same, or what the arbiter shows if there is one. What
// fails is made shorter first.
func compare(t *testing.T, g *generator, n int, arbiter peer, peers ...peer) {
	agreed, judged := 0, 0
	differ := func(c *testCase) (want, got shown, differs bool) {
		got, err := ours(screen.New).play(c)
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range peers {
			s, err := p.play(c)
			switch {
			case errors.Is(err, errBroke):
				return want, got, false
			case err != nil:
				t.Fatalf("%s: %v", c.program(), err)
			case i > 0 && !s.equal(want):
				return want, got, false
			}
			want = s
		}
		agreed++
		if want.equal(got) || arbiter == nil {
			return want, got, !want.equal(got)
		}
		judged++
		s, err := arbiter.play(c)
		if err != nil {
			t.Fatalf("the arbiter, %s: %v", c.program(), err)
		}
		return want, got, !s.equal(got)
	}
	for range n {
		c := g.program()
		if _, _, differs := differ(&c); !differs {
			continue
		}
		for i := 0; i < len(c.Steps); {
			less := c
			less.Steps = slices.Delete(slices.Clone(c.Steps), i, i+1)
			if _, _, differs := differ(&less); differs {
				c = less
				continue
			}
			i++
		}
		want, got, _ := differ(&c)
		t.Errorf("on %dx%d%s\ngot  %v\nwant %v", c.Cols, c.Rows, c.program(), got, want)
	}
	t.Logf("%d programs, the others agreed on %d, the arbiter was asked for %d", n, agreed, judged)
}

// TestAgainstXterm compares with xterm itself, the arbiter.
func TestAgainstXterm(t *testing.T) {
	x := startXterm(t)
	g := newGenerator(1, graphics, resets, protections, cutOff, shifts, []string{"\x1b[T", "\x1b[3T", "\x1b[2^", "\x1b[1;3^"})
	g.modes = without(g.modes, "?7")
	compare(t, g, programs(), nil, x)
	g.modes = modeGrammar
	g.pieces = without(g.pieces, "世", "界界界界界界界界界界", "👍")
	compare(t, g, programs(), nil, x)
}

// without is a list without some of its members.
func without(list []string, some ...string) []string {
	return slices.DeleteFunc(slices.Clone(list), func(s string) bool { return slices.Contains(some, s) })
}

// newPlainGenerator makes programs of what tmux and headless xterm have as well.
// Their alternate screen is always new, and xterm's is not.
func newPlainGenerator(seed uint64) *generator {
	g := newGenerator(seed, []string{"\x1b[T", "\x1b[3T", "\x1b[2;3T", "\x1b[?1049h", "\x1b[?1049l"})
	g.modes = without(g.modes, "?47")
	return g
}

// TestAgainstTmuxAndHeadless compares with what two other terminals agree on.
func TestAgainstTmuxAndHeadless(t *testing.T) {
	compare(t, newPlainGenerator(2), programs(), startArbiter(t), startTmux(t), startHeadless(t))
}

func TestResizesAgainstTmuxAndHeadless(t *testing.T) {
	g := newPlainGenerator(3)
	g.resizes = true
	arbiter := startArbiter(t)
	if arbiter == nil {
		// What CSI S moves off the screen comes back with more rows on xterm and on
		// ours, never on headless xterm, and on tmux unless it is blank.
		g.finals = strings.ReplaceAll(g.finals, "S", "")
	}
	compare(t, g, programs(), arbiter, startTmux(t), startHeadless(t))
}

// TestAgainstSecondEngine compares our engine with the other one, whose
// alternate screen is always new.
func TestAgainstSecondEngine(t *testing.T) {
	g := newGenerator(4, graphics, resets, cutOff, []string{"\x1b[T", "\x1b[3T"})
	g.modes = []string{"4", "20", "?6", "?7", "?25", "?45", "?1048", "?1049"}
	compare(t, g, 1000, nil, ours(screen.NewXVT))
}
