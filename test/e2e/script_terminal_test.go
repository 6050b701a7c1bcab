package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"shoal.dev/shoal/test/kit"
)

// seat is a terminal at which a person runs a script, without a kernel of its
// own: the kernel of the test only holds the terminal.
type seat struct {
	t   *testing.T
	raw *kit.Raw
	pty string
}

func sit(t *testing.T, w *kit.World, script string) seat {
	t.Helper()
	file := filepath.Join(t.TempDir(), "s.shl")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	raw := w.Raw("desk")
	pty := raw.Must("pty.open", kit.Args{
		"cmd": "sh", "args": []string{"-c", `trap : INT; "$0" --state-dir "$1" "$2"; printf '<%s>' $?; stty -a | grep -c ' icanon'`, w.Bin + "/shoal", w.State, file},
		"cols": 60, "rows": 12,
	}).At("pty_id").Str()
	return seat{t, raw, pty}
}

func (s seat) see(text string) {
	s.t.Helper()
	got := s.raw.Must("pty.read", kit.Args{"pty_id": s.pty, "wait": kit.Args{"text": text, "timeout_ms": 20000}})
	if !got.At("wait", "met").Bool() {
		s.t.Fatalf("the person never sees %q:\n%s", text, strings.Join(got.At("screen").Strs(), "\n"))
	}
}

func (s seat) press(input ...any) { s.raw.Must("pty.send", kit.Args{"pty_id": s.pty, "input": input}) }

// ends waits until the script has ended with a status, and the terminal is as it
// was before.
func (s seat) ends(status string) string {
	s.t.Helper()
	got := s.raw.Must("pty.read", kit.Args{"pty_id": s.pty, "wait": kit.Args{"exit": true, "timeout_ms": 20000}})
	screen := strings.Join(got.At("screen").Strs(), "\n")
	if !got.At("wait", "met").Bool() || !strings.Contains(screen, "<"+status+">1") {
		s.t.Errorf("want the end %s and a terminal that takes lines:\n%s", status, screen)
	}
	return screen
}

func key(name string) kit.Args { return kit.Args{"key": name} }

func TestScriptPicks(t *testing.T) {
	w := world(t)
	w.StartKernel()

	s := sit(t, w, `let f = ["apple", "banana", "cherry pie"].pick(prompt: "fruit? "); "took " + f`)
	s.see("fruit?")
	s.press("err")
	s.see("1 of 3")
	s.press(key("Enter"))
	s.see("took cherry pie")
	if screen := s.ends("0"); strings.Contains(screen, "banana") || strings.Contains(screen, "fruit?") {
		t.Errorf("the choice is left on the screen:\n%s", screen)
	}

	s = sit(t, w, `(1..=40).pick(multi: true).map(x => x * 10).json()`)
	s.see("40 of 40")
	s.press(key("Tab"), key("PageDown"), key("Tab"))
	s.see("2 chosen")
	s.press(key("Enter"))
	s.see("[10,")
	s.ends("0")

	s = sit(t, w, `["a"].pick() catch e { "{e.code}: {e.msg}" }`)
	s.see("1 of 1")
	s.press(key("Escape"))
	s.see("custom: pick: cancelled")
	s.ends("0")
}

func TestScriptInteracts(t *testing.T) {
	w := world(t)
	w.StartKernel()

	// The program has the terminal, the script its outcome.
	s := sit(t, w, `
let r = (interact sh -c 'stty raw -echo; test -t 0 && test -t 1 && test -t 2 && printf "name? "; dd bs=1 count=3 2>/dev/null; exit 3')
"{r.status} {r.ok} {r.stdout.len()}"`)
	s.see("name?")
	s.press("bob")
	s.see("bob")
	s.see("3 false 0")
	s.ends("0")

	// What the person types to stop it stops it alone; the script goes on.
	s = sit(t, w, "let r = (interact sh -c 'echo waiting; exec sleep 600')\n\"{r.signal} and on\"")
	s.see("waiting")
	s.press(key("Ctrl-C"))
	s.see("SIGINT and on")
	s.ends("0")

	// With no program on the terminal, it stops the script.
	s = sit(t, w, "echo begun\nsleep 10m")
	s.see("begun")
	s.press(key("Ctrl-C"))
	s.ends("1")

	// A program that leaves the terminal in another mode, or in the hands of a
	// group that is gone, does no harm.
	s = sit(t, w, `
let r = (interact bash -ic 'stty raw -echo; kill -9 $$')
["x", "y"].pick(prompt: "{r.signal}> ")`)
	s.see("SIGKILL>")
	s.press(key("Down"), key("Enter"))
	s.ends("0")
}

// Without a terminal the error says what to do.
func TestScriptWithoutTerminal(t *testing.T) {
	w := world(t)
	for _, src := range []string{"interact cat", "[1].pick()"} {
		cmd := w.Command("shoal", "--state-dir", w.State, "-c", src)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState.ExitCode() != 1 || !strings.Contains(string(out), "no terminal") || !strings.Contains(string(out), "shoal_pty_open") {
			t.Errorf("%s: %v, %s", src, err, out)
		}
	}
}

// A script sees the configuration and the secrets that the kernel's programs see.
func TestScriptHost(t *testing.T) {
	w := world(t)
	dir := filepath.Join(w.Home, ".config", "shoal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "shoal.toml"), []byte("[limits]\nresident_bytes = 5000000\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	keep(t, w, "token", "s3cr3t-value")
	keep(t, w, "open", "s3cr3t-value")
	secrets := filepath.Join(w.State, "secrets")
	if err := os.Chmod(filepath.Join(secrets, "open"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ src, out, errs string }{
		{"config.limits", "resident_bytes  5000000\n", ""},
		{`secret.get("token")`, "secret(token)\n", ""},
		{"env.T = secret.get(\"token\")\n(sh { printf %s ${#T} }).out", "12\n", ""},
		{`secret.get("gone")`, "", filepath.Join(secrets, "gone")},
		{`secret.get("open")`, "", "chmod 600"},
		{`undo`, "", "--session"},
	} {
		out, errs, _ := w.Shoal("--state-dir", w.State, "-c", c.src)
		if out != c.out || !strings.Contains(errs, c.errs) || (errs == "") != (c.errs == "") {
			t.Errorf("%s: got %q and %q, want %q and %q", c.src, out, errs, c.out, c.errs)
		}
	}
}
