package screen

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// engines are what most tests run on.
var engines = map[string]func(cols, rows, scrollbackLines int) Screen{"own": New, "xvt": NewXVT}

// onEngines runs a test on each engine.
func onEngines(t *testing.T, test func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen)) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) { test(t, engine) })
	}
}

func shown(s Screen) []string {
	lines := s.Snapshot().Lines
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

func TestParseKeyRefuses(t *testing.T) {
	for _, name := range []string{"", "C-c", "Ctrl", "Ctrl-", "Ctrl-Ctrl-A", "Hyper-A", "F13", "Alt-Foo", "ctrl-alt-", "\xff"} {
		if key, _, err := ParseKey(name); err == nil {
			t.Errorf("%q: got %q, want an error", name, key)
		}
	}
	if _, err := EncodeKey("é", Ctrl, Modes{}); err == nil {
		t.Error("Ctrl-é: want an error")
	}
	tests := map[string]string{"CTRL-c": "\x03", "alt-X": "\x1bX", "Alt--": "\x1b-", "Ctrl-\\": "\x1c", "Ctrl-]": "\x1d",
		"Ctrl-Space": "\x00", "Shift-Tab": "\x1b[Z", "Shift-a": "A", "enter": "\r", "Ctrl-Alt-Left": "\x1b[1;7D"}
	for name, want := range tests {
		key, mods, err := ParseKey(name)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := EncodeKey(key, mods, Modes{}); string(got) != want || err != nil {
			t.Errorf("%s: got %q %v, want %q", name, got, err, want)
		}
	}
}

func TestEncodePaste(t *testing.T) {
	if got := string(EncodePaste("a\nb", Modes{})); got != "a\nb" {
		t.Errorf("bare: got %q", got)
	}
	got := string(EncodePaste("a\x1b[20\x1b[201~1~b", Modes{BracketedPaste: true}))
	if got != "\x1b[200~ab\x1b[201~" {
		t.Errorf("bracketed: got %q, want no end marker inside", got)
	}
}

// Where a write is cut must make no difference.
func TestCutAnywhere(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		data := []byte("a\xe4\xb8\x96é\u0301 \x1b[31mred\x1b[0m\r\n\x1b]0;title; with\x1b\\\xff\xfe\xe2\x82x\x1b(0qq\x1b(B\x1b[3;4H日本\x1b[K\x1bP$qm\x1b\\z")
		whole := engine(20, 5, 10)
		whole.Write(data)
		for i := range data {
			s := engine(20, 5, 10)
			s.Write(data[:i])
			s.Write(data[i:])
			if !s.Snapshot().same(whole.Snapshot()) || string(s.Replies()) == "" {
				t.Fatalf("cut at %d: got %q, want %q", i, shown(s), shown(whole))
			}
		}
	})
}

func TestBrokenUTF8(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		tests := map[string]string{
			"caf\xe9 ok": "caf\uFFFD ok", "\x9b31mx": "\uFFFD31mx", "a\xe4\xb8\x1b[1mb": "a\uFFFDb",
			"\xf0\x9f\x98x": "\uFFFDx", "\xc0\xafz": "\uFFFD\uFFFDz", "\xed\xa0\x80y": "\uFFFD\uFFFD\uFFFDy",
		}
		for in, want := range tests {
			s := engine(20, 2, 0)
			s.Write([]byte(in))
			if got := shown(s); len(got) != 1 || got[0] != want {
				t.Errorf("%q: got %q, want %q", in, got, want)
			}
		}
	})
}

// A flood must leave the same screen and scrollback as the same lines one by
// one.
func TestFloodIsEquivalent(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
			var b strings.Builder
			b.WriteString("begin")
			for i := range 3000 {
				fmt.Fprintf(&b, "%d%s\r\n", i, strings.Repeat(" word", i%7))
			}
			b.WriteString("end")
			fast, slow := engine(20, 6, 50), engine(20, 6, 50)
			fast.Write([]byte(b.String()))
			for _, c := range []byte(b.String()) {
				slow.Write([]byte{c})
			}
			if diff := cmp.Diff(shown(slow), shown(fast)); diff != "" {
				t.Error(diff)
			}
			wantLines, _, _ := slow.Scrollback(0, 1<<40)
			gotLines, first, next := fast.Scrollback(0, 1<<40)
			if diff := cmp.Diff(wantLines, gotLines); diff != "" {
				t.Error(diff)
			}
			if len(gotLines) != 50 || next-first != 50 {
				t.Errorf("got %d lines, %d..%d, want 50", len(gotLines), first, next)
			}
		})
	})
}

func TestScrollbackNumbers(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
			s := engine(10, 2, 5)
			for i := range 8 {
				s.Write(fmt.Appendf(nil, "l%d\r\n", i))
			}
			lines, first, next := s.Scrollback(0, 4)
			if diff := cmp.Diff([]string{"l2", "l3"}, lines); diff != "" || first != 2 || next != 7 {
				t.Errorf("got %d..%d %s", first, next, diff)
			}
			if lines, first, _ := s.Scrollback(100, 3); len(lines) != 0 || first != 7 {
				t.Errorf("beyond: got %v from %d", lines, first)
			}
		})
	})
}

func TestResizeKeepsTheCursorLine(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(10, 6, 20)
		s.Write([]byte("l1\r\nl2\r\nl3\r\nl4\r\nl5\r\nl6X"))
		s.Resize(10, 3)
		if diff := cmp.Diff([]string{"l4", "l5", "l6X"}, shown(s)); diff != "" {
			t.Error(diff)
		}
		s.Resize(10, 5)
		if diff := cmp.Diff([]string{"l2", "l3", "l4", "l5", "l6X"}, shown(s)); diff != "" {
			t.Error(diff)
		}
		if got := s.Snapshot(); got.Row != 4 || got.Col != 3 {
			t.Errorf("cursor %d,%d", got.Row, got.Col)
		}
	})
}

func TestResizeOverWide(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(80, 24, 100)
		s.Write([]byte(strings.Repeat("가나다", 200)))
		for _, cols := range []int{79, 80, 77, 41, 55, 53, 51, 49, 47, 45, 1, 80} {
			s.Resize(cols, 24)
			s.Write([]byte("가"))
			if got := s.Snapshot(); len(got.Lines) != 24 || got.Col >= cols {
				t.Fatalf("%d columns: %d lines, cursor %d", cols, len(got.Lines), got.Col)
			}
		}
		if s.Faults() > 0 {
			t.Errorf("the emulator broke %d times", s.Faults())
		}
	})
}

func TestVersionRisesOnChangeOnly(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(10, 2, 0)
		s.Write([]byte("abc"))
		v := s.Snapshot().Version
		s.Write([]byte("\rabc\x1b[1m\x1b[0m"))
		if got := s.Snapshot().Version; got != v {
			t.Errorf("repainting the same: got %d, want %d", got, v)
		}
		s.Write([]byte("\x1b[?25l"))
		if got := s.Snapshot().Version; got != v+1 {
			t.Errorf("hiding the cursor: got %d, want %d", got, v+1)
		}
	})
}

func TestRepliesAreBounded(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(80, 24, 0)
		for range 100_000 {
			s.Write([]byte("\x1b[6n"))
		}
		if got := len(s.Replies()); got > replyMax || got < replyMax/2 {
			t.Errorf("got %d bytes of replies, want at most %d", got, replyMax)
		}
	})
}

func TestRuns(t *testing.T) {
	onEngines(t, func(t *testing.T, engine func(cols, rows, scrollbackLines int) Screen) {
		s := engine(12, 3, 0)
		s.Write([]byte("ab\x1b[1;31mcd\x1b[0mef\r\n\x1b[7m世x\x1b[0m\r\n\x1b[38;5;200mm\x1b[48;2;1;2;3mn\x1b[0m"))
		want := []Run{
			{Row: 0, Col: 2, Len: 2, SGR: "1;31"},
			{Row: 1, Col: 0, Len: 3, SGR: "7"},
			{Row: 2, Col: 0, Len: 1, SGR: "38;5;200"},
			{Row: 2, Col: 1, Len: 1, SGR: "38;5;200;48;2;1;2;3"},
		}
		if diff := cmp.Diff(want, s.Runs()); diff != "" {
			t.Error(diff)
		}
		s.Resize(1, 1)
		if runs := s.Runs(); len(runs) > 1 {
			t.Errorf("after a resize: %v", runs)
		}
		if runs := engine(80, 24, 0).Runs(); len(runs) != 0 {
			t.Errorf("an empty screen has %v", runs)
		}
	})
}

// Lines that scroll off the alternate screen are nowhere kept.
func TestXVTAlternateScreenKeepsNothing(t *testing.T) {
	s := NewXVT(80, 24, 100).(*xvt)
	s.Write([]byte("main\x1b[?1049h"))
	for i := range 3000 {
		s.Write(fmt.Appendf(nil, "\x1b[m%d\r\n", i))
	}
	if got := s.e.ScrollbackLen() + s.back.len(); got > 1 {
		t.Errorf("got %d lines, want none", got)
	}
	s.Write([]byte("\x1b[?1049l"))
	if diff := cmp.Diff([]string{"main"}, shown(s)); diff != "" {
		t.Error(diff)
	}
}

// The screen survives a broken emulator with its text.
func TestXVTRebuild(t *testing.T) {
	s := NewXVT(20, 3, 0).(*xvt)
	s.Write([]byte("kept 世界\r\nline"))
	want := shown(s)
	s.rebuild()
	if diff := cmp.Diff(want, shown(s)); diff != "" || s.Faults() != 1 {
		t.Errorf("faults %d: %s", s.Faults(), diff)
	}
	s.Write([]byte("!"))
	if got := shown(s)[1]; got != "line!" {
		t.Errorf("got %q", got)
	}
}
