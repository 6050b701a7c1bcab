package main

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPick(t *testing.T) {
	lines := []string{"alpha", "Beta", "gamma ray", "delta"}
	for _, c := range []struct {
		name  string
		multi bool
		keys  string
		want  []int
		ends  verdict
	}{
		{"the first", false, "\r", []int{0}, taken},
		{"down and up", false, "\x1b[B\x1b[B\x1bOA\r", []int{1}, taken},
		{"control keys", false, "\x0e\x0e\x10\n", []int{1}, taken},
		{"no further than the ends", false, "\x1b[A\x1b[6~\x1b[B\r", []int{3}, taken},
		{"home and end", false, "\x1b[F\x1b[H\r", []int{0}, taken},
		{"typed words", false, "ray ga\r", []int{2}, taken},
		{"any case", false, "beta\r", []int{1}, taken},
		{"a capital matters", false, "Al\r", nil, undecided},
		{"nothing found, less typed", false, "deltx\x7f\r", []int{3}, taken},
		{"begin again", false, "zzz\x15\x1b[B\r", []int{1}, taken},
		{"Tab without multi", false, "\t\r", []int{0}, taken},
		{"several", true, "\x1b[B\x1b[B\t\x1b[H\t\r", []int{0, 2}, taken},
		{"chosen no longer", true, "\t\x1b[A\t\x1b[A\t\x1b[A\t\x1b[F\r", []int{3}, taken},
		{"chosen and hidden", true, "\tray\t\x15\r", []int{0, 2}, taken},
		{"the marked one", true, "delta\r", []int{3}, taken},
		{"none", true, "zzz\r", nil, taken},
		{"Escape", false, "\x1b", nil, givenUp},
		{"Ctrl-C after text", true, "al\x03", nil, givenUp},
		{"Ctrl-D", false, "\x04", nil, givenUp},
		{"Ctrl-D after text", false, "a\x04", nil, undecided},
		{"other keys do nothing", false, "\x1b[15~\x1b[1;5C\x01\r", []int{0}, taken},
	} {
		p := newPicker("> ", lines, c.multi)
		p.draw(24, 80)
		got := p.typed([]byte(c.keys))
		if got != c.ends {
			t.Errorf("%s: ended with %d, want %d", c.name, got, c.ends)
			continue
		}
		if got == taken {
			if diff := cmp.Diff(c.want, p.result()); diff != "" {
				t.Errorf("%s: %s", c.name, diff)
			}
		}
	}
}

func TestPickDraw(t *testing.T) {
	lines := []string{"plain", "two\nlines\x1b[2J", strings.Repeat("世", 30), "d", "e"}
	p := newPicker("? ", lines, true)
	p.move("F")
	got := p.draw(6, 12)
	for _, want := range []string{"\r\x1b[J? \r\n", "\r\n  two␤line…\r\n", "\r\n  世世世世…\r\n", "\x1b[7m  e\x1b[0m", "\x1b[5A\r\x1b[2C"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q lacks %q", got, want)
		}
	}
	if strings.Contains(got, "plain") || strings.Contains(got, "\x1b[2J") {
		t.Errorf("%q shows what does not fit, or obeys an item", got)
	}
}

func TestCutOff(t *testing.T) {
	for text, want := range map[string]bool{
		"a": false, "\x1b": true, "\x1b[": true, "\x1bO": true, "\x1b[5": true, "\x1b[5~": false, "\x1b[A": false,
		"\x1b[Aé": false, "\xc3": true, "a\xe4\xb8": true, "\xff": false, "\x1bx": false,
	} {
		if got := cutOff([]byte(text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
