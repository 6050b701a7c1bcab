package ptyactor

import (
	"context"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

func onEngines(t *testing.T, run func(t *testing.T, r *Registry)) {
	for _, e := range []screen.Engine{screen.Own, screen.XVT} {
		t.Run(string(e), func(t *testing.T) { run(t, newRegistry(t, Config{Engine: e})) })
	}
}

// What a program draws between the marks of synchronized output is shown when it
// is whole.
func TestSynchronizedOutput(t *testing.T) {
	onEngines(t, func(t *testing.T, r *Registry) {
		h := start(t, r, "sleep", "600")
		h.feed([]byte("\x1b[32mfirst"))
		read := func() messages.Screen {
			s, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Attrs: true})
			if bad != nil {
				t.Fatal(bad)
			}
			return s
		}
		h.feed([]byte("\x1b[?2026h\x1b[2J\x1b[Hhalf"))
		h.mu.Lock()
		h.frameEnd = time.Now().Add(time.Hour) // the machine may be slow
		h.mu.Unlock()
		held := read()
		if got := strings.TrimSpace(strings.Join(held.Lines, "")); got != "first" || len(held.Runs) != 1 || held.Runs[0].Len != 5 {
			t.Errorf("in the middle of a picture: %q %v, want the one before", got, held.Runs)
		}
		h.feed([]byte(" whole\x1b[?2026l"))
		whole := read()
		if got := strings.TrimSpace(strings.Join(whole.Lines, "")); got != "half whole" || whole.Version <= held.Version {
			t.Errorf("the whole picture: %q, version %d after %d", got, whole.Version, held.Version)
		}
	})
}

// A picture whose end does not come is shown after a moment, and nothing counts
// as stable until then.
func TestSynchronizedOutputWithoutEnd(t *testing.T) {
	onEngines(t, func(t *testing.T, r *Registry) {
		for name, wait := range map[string]messages.PTYWait{"text": text("half"), "stable": {StableMS: ptr(1), TimeoutMS: 15000}} {
			h := start(t, r, "sleep", "600")
			h.feed([]byte("first"))
			began := time.Now()
			h.feed([]byte("\x1b[?2026h\x1b[2J\x1b[Hhalf"))
			s := until(t, h, wait)
			if took := time.Since(began); took < syncMax || strings.TrimSpace(strings.Join(s.Lines, "")) != "half" {
				t.Errorf("%s: after %v it shows %q", name, took, s.Lines)
			}
			h.feed([]byte(" more")) // still without end: shown at once
			if got := strings.TrimSpace(strings.Join(h.Snapshot().Lines, "")); got != "half more" {
				t.Errorf("%s: then %q", name, got)
			}
		}
	})
}

// The last picture of a program is shown, whole or not.
func TestSynchronizedOutputAtTheEnd(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "printf", `first\033[?2026h second`)
	if got := strings.Join(exited(t, h).Lines, ""); got != "first second" {
		t.Errorf("got %q", got)
	}
}
