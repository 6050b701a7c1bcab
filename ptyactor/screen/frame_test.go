package screen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// While output is held together the picture from before lasts.
func TestFrame(t *testing.T) {
	for name, engine := range engines {
		t.Run(name, func(t *testing.T) {
			s := engine(20, 3, 10)
			shows := func(after, held, now string) {
				t.Helper()
				s.Write([]byte(after))
				got := ""
				if f := s.Frame(); f != nil {
					got = strings.TrimSpace(strings.Join(f.Lines, "\n"))
				}
				if got != held {
					t.Errorf("after %q: %q is held, want %q", after, got, held)
				}
				if got := strings.TrimSpace(strings.Join(s.Snapshot().Lines, "\n")); got != now {
					t.Errorf("after %q: shows %q, want %q", after, got, now)
				}
			}
			shows("\x1b[31mone", "", "one")
			shows("\x1b[?2026h\x1b[2J\x1b[Htw", "one", "tw")
			if diff := cmp.Diff([]Run{{Row: 0, Col: 0, Len: 3, SGR: "31"}}, s.Frame().Runs); diff != "" {
				t.Error(diff)
			}
			shows("\x1b[?2026h", "one", "tw")
			shows("o\x1b[?2026l", "", "two")
			shows("!\x1b[?2026h?", "two!", "two!?")
			version := s.Frame().Version
			shows("\x1b[?2026l", "", "two!?")
			if now := s.Snapshot().Version; now <= version {
				t.Errorf("version %d after %d", now, version)
			}
			shows("\x1b[?2026h\x1b[?2026l 1 \x1b[?2026h 2", "two!?", "two!? 1  2") // one picture per write
			shows("\x1bc", "", "")
			shows("x\x1b[?2026hy", "x", "xy")
			s.Resize(10, 3)
			shows("", "", "xy")
		})
	}
}
