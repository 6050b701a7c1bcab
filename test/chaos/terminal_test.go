package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/test/kit"
)

// terminalKills is how often a terminal's actor is killed while its program
// repaints.
const terminalKills = 100

// killable is a kernel in this process, whose actors can be killed, and a
// connection to it. Nothing of it is left behind at the end.
func killable(t *testing.T) (*kernel.Kernel, *kit.World, *kit.Raw) {
	t.Helper()
	goroutines, descriptors := runtime.NumGoroutine(), kit.Descriptors(os.Getpid())
	w := kit.NewWorld(t, bin)
	k, err := kernel.Start(kernel.Options{Paths: w.Paths(), Environ: w.Env, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	raw := w.Raw("s")
	t.Cleanup(func() {
		raw.Close()
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
		checkNothingLeft(t, w, goroutines, descriptors)
	})
	return k, w, raw
}

// TestTerminalActorIsKilled kills the actor of a terminal while vim repaints and
// keys arrive. The caller notices nothing: every key arrives, once and in order;
// vim is the same process at the end, and its screen is right.
func TestTerminalActorIsKilled(t *testing.T) {
	if _, err := exec.LookPath("vim"); err != nil {
		t.Skip("no vim: ", err)
	}
	k, w, raw := killable(t)
	v := &typist{t: t, raw: raw}
	opened := raw.Must("pty.open", kit.Args{"cmd": "vim", "args": []string{"-u", "NONE", "-N", "-n", "text"}})
	v.pty = opened.At("pty_id").Str()
	v.read(kit.Args{"text": "~", "timeout_ms": 20000})
	victim := "kernel/ptys/" + strings.Replace(v.pty, ":", "-", 1)
	for i := range terminalKills {
		call := raw.Start("pty.send", kit.Args{"pty_id": v.pty, "input": []any{
			fmt.Sprintf("oline %03d", i), kit.Args{"key": "Escape"}, kit.Args{"key": "Ctrl-L"},
		}})
		switch {
		case i%10 == 9: // and the one above, which starts it again
			k.Actors().Kill("kernel/ptys")
		case i%2 == 0:
			k.Actors().KillStop(victim)
		default:
			k.Actors().Kill(victim)
		}
		call.Must()
	}
	v.check(w, opened.At("pid").Int())
}

// TestTerminalsOpenWhileActorsDie kills the actor above the terminals, and the
// session's, while terminals are opened. Every call is answered with a terminal
// of its own, and there are no others.
func TestTerminalsOpenWhileActorsDie(t *testing.T) {
	k, _, raw := killable(t)
	var open []*kit.Pending
	for i := range 60 {
		open = append(open, raw.Start("pty.open", kit.Args{"cmd": "cat"}))
		switch i % 3 {
		case 1:
			k.Actors().Kill("kernel/ptys")
		case 2:
			k.Actors().KillStop("kernel/ptys")
		}
		if i%10 == 5 {
			k.Actors().Kill("kernel/sessions/s")
		}
	}
	opened := map[string]bool{}
	for _, o := range open {
		opened[o.Must().At("pty_id").Str()] = true
	}
	if len(opened) != len(open) {
		t.Errorf("%d calls opened %d terminals", len(open), len(opened))
	}
	listed := raw.Must("pty.list", nil).At("ptys").List()
	if len(listed) != len(open) {
		t.Errorf("%d terminals are listed, want %d", len(listed), len(open))
	}
	for _, p := range listed {
		if id := p.At("pty_id").Str(); !opened[id] || !p.At("alive").Bool() {
			t.Errorf("listed %v", p)
		}
	}
}

// typist types into a terminal.
type typist struct {
	t   *testing.T
	raw *kit.Raw
	pty string
}

func (v *typist) read(wait kit.Args) kit.Val {
	return v.raw.Must("pty.read", kit.Args{"pty_id": v.pty, "wait": wait})
}

// check holds vim's file and screen against what was typed.
func (v *typist) check(w *kit.World, pid int64) {
	v.read(kit.Args{"stable_ms": 200, "timeout_ms": 10000})
	v.raw.Must("pty.send", kit.Args{"pty_id": v.pty, "input": []any{":w", kit.Args{"key": "Enter"}}, "wait": kit.Args{"text": "written", "timeout_ms": 10000}})
	text, err := os.ReadFile(w.Work + "/text")
	if err != nil {
		v.t.Fatal(err)
	}
	var want []string
	for i := range terminalKills {
		want = append(want, fmt.Sprintf("line %03d", i))
	}
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(string(text)), "\n")); diff != "" {
		v.t.Errorf("what vim got (-typed +got):\n%s", diff)
	}
	s := v.read(kit.Args{"stable_ms": 200, "timeout_ms": 10000})
	if s.At("pid").Int() != pid || !s.At("alive").Bool() {
		v.t.Errorf("got %v, want vim %d alive", s, pid)
	}
	rows := s.At("screen").Strs()
	for y, line := range want[len(want)-(len(rows)-1):] {
		if rows[y] != line {
			v.t.Errorf("row %d shows %q, want %q", y, rows[y], line)
		}
	}
}
