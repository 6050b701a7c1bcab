package screen

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseEngine(t *testing.T) {
	for name, want := range map[string]Engine{"": Own, "own": Own, "xvt": XVT} {
		got, err := ParseEngine(name)
		if got != want || err != nil {
			t.Errorf("%q: got %q %v, want %q", name, got, err, want)
		}
	}
	if _, err := ParseEngine("vt100"); err == nil {
		t.Error("vt100: want an error")
	}
	if _, ok := XVT.New(2, 2, 0).(*xvt); !ok {
		t.Error("xvt is not x/vt")
	}
	if _, ok := Engine("").New(2, 2, 0).(*terminal); !ok {
		t.Error("the default is not ours")
	}
}

// after is the lines that a 20x6 screen shows after the output.
func after(output string) []string {
	s := New(20, 6, 100)
	s.Write([]byte(output))
	return shown(s)
}

func TestScreens(t *testing.T) {
	tests := []struct {
		name, output string
		want         []string
	}{
		{"character inside a sequence", "a\x1b[3世1mb", []string{"a1mb"}},
		{"broken character inside a sequence", "a\x1b[3\xe4\xb8mb", []string{"amb"}},
		{"two intermediate bytes", "a\x1b(%5b", []string{"ab"}},
		{"too many parameters", "\x1b[2;3" + strings.Repeat(";1", 100) + "Hx", []string{"", "  x"}},
		{"protected cells stay", "a\x1b[1\"qb\x1b[0\"qc\r\x1b[?K", []string{" b"}},
		{"protected cells go", "a\x1b[1\"qb\x1b[0\"qc\r\x1b[K", []string{}},
		{"columns to the left", "abc\r\ndef\x1b[2 @", []string{"c", "f"}},
		{"columns to the right", "abc\x1b[2 A", []string{"  abc"}},
		{"insert before wide at the margin", strings.Repeat("x", 18) + "世\r\x1b[@", []string{" " + strings.Repeat("x", 18)}},
		{"mark on a blank", "\x1b[3C\u0301", []string{"  \u0020\u0301"}},
		{"repeat a wide character", "世\x1b[2b", []string{"世世世"}},
		{"repeat more than the screen holds", "a\x1b[205b", []string{strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), "aaaaaa"}},
		{"repeat very often", "a\x1b[60005b", []string{strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), strings.Repeat("a", 20), "aaaaaa"}},
		{"scrolling keeps a pending wrap", strings.Repeat("x", 20) + "\x1b[S\x1b[Ty", []string{"", "y"}},
		{"shifting keeps a pending wrap", strings.Repeat("x", 20) + "\x1b[ @\x1b[ Ay", []string{" " + strings.Repeat("x", 19), "y"}},
		{"down stops at the margin in origin mode", "\x1b[2;3r\x1b[?6h\x1b[9B\x1b[9ex", []string{"", "", "x"}},
		{"repeat forgets after an escape", "a\x1b7\x1b[2b", []string{"a"}},
		{"unknown mode 4 of erase display", "ab\x1b[4J", []string{"ab"}},
		{"scroll up by CSI S keeps the column", "a\r\nb\x1b[Sc", []string{"b", " c"}},
		{"saved background does not print", "\x1b[41m\x1b[2K\x1b[mx", []string{"x"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, after(tt.output)); diff != "" {
			t.Errorf("%s: %s", tt.name, diff)
		}
	}
}

// A row goes on in the next one only if its text has run over the margin.
func TestWrapped(t *testing.T) {
	over := strings.Repeat("x", 25)
	tests := map[string]bool{
		over: true,
		over + "\x1b[H" + strings.Repeat("y", 20) + "\x1b[2;1Hz": false,
		over + "\x1b[H" + strings.Repeat("y", 20) + "z":          true,
		over + "\x1b[1;5Hy":      true,
		over + "\x1b[1;5H\x1b[K": false,
		over[:20] + "\r\nx":      false,
	}
	for output, want := range tests {
		s := New(20, 6, 0)
		s.Write([]byte(output))
		if got := s.Snapshot().Wrapped[0]; got != want {
			t.Errorf("%q: got %v, want %v", output, got, want)
		}
	}
}

func TestWidths(t *testing.T) {
	tests := map[rune]int{'a': 1, 'é': 1, 0xad: 1, 0x301: 0, 0x200d: 0, 0xfe0f: 0, '─': 1, '世': 2, '한': 2, 'ー': 2, 'Ж': 1,
		0x1160: 0, '😀': 2, 0x1f3fd: 2, '①': 1, 0x3248: 2, 0x2630: 1, 0xe0061: 0, 0x1d300: 1, 0x3000: 2}
	for r, want := range tests {
		if got := width(r); got != want {
			t.Errorf("%U: got %d, want %d", r, got, want)
		}
	}
	if got := Width("a世e\u0301"); got != 4 {
		t.Errorf("got %d, want 4", got)
	}
}

func TestRendition(t *testing.T) {
	tests := map[string]string{
		"\x1b[1;3;4;7;9m":                      "1;4;7;3;9",
		"\x1b[4:3m":                            "4:3",
		"\x1b[21m":                             "21",
		"\x1b[4m\x1b[24m\x1b[1m\x1b[22m":       "",
		"\x1b[38;5;200;1m":                     "1;38;5;200",
		"\x1b[38:5:3m":                         "33",
		"\x1b[38:2:1:2:3m":                     "38;2;1;2;3",
		"\x1b[48:2::1:2:3;3m":                  "3;48;2;1;2;3",
		"\x1b[38;5m":                           "",
		"\x1b[38;2;1;2m":                       "",
		"\x1b[38;7;1m":                         "1",
		"\x1b[38;2;1;2;999m\x1b[31m":           "31",
		"\x1b[91;102m":                         "91;102",
		"\x1b[31;41m\x1b[39m":                  "41",
		"\x1b[58;5;3;1m":                       "1",
		"\x1b[58:2::1:2:3;1m":                  "1",
		"\x1b[5;8;53m\x1b[25;28;55m":           "",
		"\x1b[1m\x1b[m":                        "",
		"\x1b[31m\x1b7\x1b[0m\x1b8":            "31",
		"\x1b[31m\x1b[?1049h\x1b[m\x1b[?1049l": "31",
	}
	for output, want := range tests {
		s := New(20, 2, 0)
		s.Write([]byte(output + "x"))
		got := ""
		if runs := s.Runs(); len(runs) > 0 {
			got = runs[0].SGR
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}

// A highlight that moves is a visible change.
func TestVersionRisesOnStyles(t *testing.T) {
	s := New(20, 3, 0)
	s.Write([]byte("\x1b[?25lone\r\ntwo\x1b[H"))
	last := s.Snapshot().Version
	for _, output := range []string{"\x1b[7mone\x1b[m\x1b[H", "one\r\n\x1b[7mtwo\x1b[m\x1b[H", "\x1b[31m\x1b[3;1H\x1b[41m \x1b[m\x1b[H"} {
		s.Write([]byte(output))
		now := s.Snapshot().Version
		if now != last+1 {
			t.Errorf("%q: got version %d, want %d", output, now, last+1)
		}
		s.Write([]byte(output))
		if again := s.Snapshot().Version; again != now {
			t.Errorf("%q again: got version %d, want %d", output, again, now)
		}
		last = now
	}
}

// Lines that come back from the scrollback look as they did, wide characters,
// marks and colours included.
func TestScrollbackKeepsLooks(t *testing.T) {
	s := New(20, 4, 10)
	s.Write([]byte("\x1b[31mred\x1b[m 世e\u0301\r\n" + strings.Repeat("y", 25) + "\r\nlast"))
	want, runs := s.Snapshot(), s.Runs()
	s.Resize(20, 1)
	s.Write([]byte("!\b \b"))
	s.Resize(20, 4)
	got := s.Snapshot()
	if diff := cmp.Diff(want.Lines, got.Lines); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(want.Wrapped, got.Wrapped); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(runs, s.Runs()); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}

// What fewer columns cut off comes back, unless the row was written to; a line
// that scrolls off meanwhile is kept whole.
func TestCutColumnsComeBack(t *testing.T) {
	s := New(20, 3, 10)
	s.Write([]byte("one two three\r\nfour five 世 six\r\nseven"))
	s.Resize(11, 3)
	if diff := cmp.Diff([]string{"one two thr", "four five", "seven"}, shown(s)); diff != "" {
		t.Error(diff)
	}
	s.Write([]byte("\x1b[2;1HFOUR\x1b[3;1H\n"))
	if lines, _, _ := s.Scrollback(0, 9); len(lines) != 1 || lines[0] != "one two three" {
		t.Errorf("scrollback %q", lines)
	}
	s.Resize(20, 4)
	if diff := cmp.Diff([]string{"one two three", "FOUR five", "seven"}, shown(s)); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}

func TestAlternateScreen(t *testing.T) {
	s := New(10, 4, 100)
	s.Write([]byte("1\r\n2\r\n3\r\n4\x1b[?1049h"))
	for i := range 300 {
		s.Write(fmt.Appendf(nil, "%d\r\n", i))
	}
	if got := s.Snapshot(); got.Scrollback != 0 || !got.AltScreen {
		t.Errorf("got %d lines of scrollback, alternate %v", got.Scrollback, got.AltScreen)
	}
	s.Resize(10, 2)
	if diff := cmp.Diff([]string{"299"}, shown(s)); diff != "" {
		t.Error(diff)
	}
	s.Write([]byte("\x1b[?1049lX"))
	if diff := cmp.Diff([]string{"3", "4X"}, shown(s)); diff != "" {
		t.Error(diff)
	}
}

// A cursor that was never saved is restored to the top left corner, whatever
// the sizes in between.
func TestRestoreWithoutSave(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(16, 7, 100)
		s.Write([]byte("\x1b[9;9f"))
		s.Resize(16, 3)
		s.Resize(16, 6)
		s.Write([]byte("\x1b8"))
		if got := s.Snapshot(); got.Row != 0 || got.Col != 0 {
			t.Errorf("cursor %d,%d, want 0,0", got.Row, got.Col)
		}
	})
}

func TestInsertBeforeWide(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(7, 2, 0)
		s.Write([]byte("世界\x1b[H\x1b[3@"))
		if diff := cmp.Diff([]string{"   世界"}, shown(s)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestTitles(t *testing.T) {
	s := New(10, 2, 0)
	s.Write([]byte("\x1b]2;shell\x07\x1b[22;0;0t\x1b]0;vim\x1b\\"))
	if got := s.Snapshot().Title; got != "vim" {
		t.Errorf("got %q, want vim", got)
	}
	s.Write([]byte("\x1b[23;0;0t\x1b[23;0;0t\x1b[21t"))
	if got := s.Snapshot().Title; got != "shell" {
		t.Errorf("got %q, want shell", got)
	}
	if got := s.Replies(); len(got) > 0 {
		t.Errorf("it told its title: %q", got)
	}
}

func TestReplies(t *testing.T) {
	tests := map[string]string{
		"\x1b[?15n":                                    "\x1b[?13n",
		"\x1b[3;4H\x1b[?6n":                            "\x1b[?3;4;1R",
		"\x1b[4 q\x1bP$q q\x1b\\":                      "\x1bP1$r4 q\x1b\\",
		"\x1b[1\"q\x1bP$q\"q\x1b\\":                    "\x1bP1$r1\"q\x1b\\",
		"\x1bP$qx\x1b\\":                               "\x1bP0$r\x1b\\",
		"\x1bP+q544e\x1b\\":                            "\x1bP0+r\x1b\\",
		"\x1b]4;1;?\x07":                               "\x1b]4;1;rgb:cdcd/0000/0000\x07",
		"\x1b]4;1;#fff;1;?\x07":                        "\x1b]4;1;rgb:ffff/ffff/ffff\x07",
		"\x1b]4;1;#fff\x07\x1b]104\x07\x1b]4;1;?\x07":  "\x1b]4;1;rgb:cdcd/0000/0000\x07",
		"\x1b]11;#102030\x07\x1b]111\x07\x1b]11;?\x07": "\x1b]11;rgb:0000/0000/0000\x07",
		"\x1b[16t":                                     "\x1b[6;16;8t",
		"\x1bP$q q\x1b\\":                              "\x1bP1$r2 q\x1b\\",
		"\x1b[0 q\x1bP$q q\x1b\\":                      "\x1bP1$r1 q\x1b\\",
		"\x1b[5;8;2;3;9m\x1bP$qm\x1b\\":                "\x1bP1$r0;5;8;2;3;9m\x1b\\",
		"\x1b]17;?\x07":                                "\x1b]17;rgb:ffff/ffff/ffff\x07",
		"\x1b[12$p\x1b[10$p":                           "\x1b[12;1$y\x1b[10;4$y",
		"\x1b[?12$p":                                   "\x1b[?12;2$y",
		"\x1b]11;?\x1b[c":                              "\x1b]11;rgb:0000/0000/0000\x1b\\" + deviceAttributes,
		"\x1b]52;c;?\x07":                              "",
	}
	for output, want := range tests {
		s := New(20, 6, 0)
		s.Write([]byte(output))
		if got := string(s.Replies()); got != want {
			t.Errorf("%q: got %q, want %q", output, got, want)
		}
	}
}

// Marks pile up in a table of their own, which is swept.
func TestMarksAreSwept(t *testing.T) {
	s := New(10, 2, 10).(*terminal)
	for r := rune(0x4e00); r < 0x4e00+5000; r++ {
		s.Write([]byte("\r" + string(r) + "\u0301"))
	}
	if n := len(s.marks.texts); n > 2*sweepLeast {
		t.Errorf("got %d texts for one cell", n)
	}
	if diff := cmp.Diff([]string{string(rune(0x4e00+4999)) + "\u0301"}, shown(s)); diff != "" {
		t.Error(diff)
	}
	sound(t, s)
}

// An error of ours costs the picture, not the process.
func TestRebuild(t *testing.T) {
	s := New(10, 2, 10).(*terminal)
	s.main.lines[0].cells = nil
	s.Write([]byte("broken"))
	if s.Faults() != 1 {
		t.Fatalf("got %d faults, want 1", s.Faults())
	}
	s.main.lines[1].cells = nil
	s.main.lines[1].used = 3
	s.Resize(20, 4)
	if s.Faults() != 2 {
		t.Fatalf("got %d faults, want 2", s.Faults())
	}
	s.Write([]byte("works"))
	if diff := cmp.Diff([]string{"works"}, shown(s)); diff != "" {
		t.Error(diff)
	}
	if got := s.Snapshot(); got.Cols != 20 || got.Rows != 4 {
		t.Errorf("got %dx%d, want 20x4", got.Cols, got.Rows)
	}
}

// terminalBytes is what one 80x24 terminal with 1,000 lines of scrollback may
// take.
const terminalBytes = 512 << 10

func TestMemory(t *testing.T) {
	colour := func(i int) string {
		var b strings.Builder
		for x := range 80 {
			fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm%c", i%256, x, (i*x)%256, 'a'+x%26)
		}
		return b.String()
	}
	for name, line := range map[string]func(int) string{
		"text": func(i int) string { return strings.Repeat("some words and more ", 4)[:79] },
		"colour": func(i int) string {
			return fmt.Sprintf("\x1b[32m%d\x1b[m %s", i, strings.Repeat("\x1b[1mx\x1b[m y ", 18))
		},
		"every cell another colour": colour,
		"wide":                      func(i int) string { return strings.Repeat("世界", 20) },
	} {
		const n = 20
		var all [n]Screen
		before := heap()
		for i := range all {
			all[i] = New(80, 24, 1000)
			all[i].Write([]byte("\x1b[?1049h\x1b[?1049l"))
			for j := range 1100 {
				all[i].Write([]byte(line(j) + "\r\n"))
			}
			all[i].Snapshot()
		}
		each := (heap() - before) / n
		t.Logf("%s: %d KiB each, %d lines", name, each>>10, all[0].Snapshot().Scrollback)
		if each > terminalBytes {
			t.Errorf("%s: got %d KiB each, want at most %d", name, each>>10, terminalBytes>>10)
		}
		runtime.KeepAlive(all)
	}
}

// heap is the bytes of live objects.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
