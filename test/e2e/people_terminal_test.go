package e2e

import (
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"os"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// What people do with a terminal from the command line.
func TestPeopleSeeTerminals(t *testing.T) {
	w := world(t)
	w.StartKernel()
	r := w.Raw("main")
	const script = `printf '\033[1;31mred\033[0m <世界>\n'; read x; exit 3`
	id := r.Must("pty.open", kit.Args{"cmd": "sh", "args": []string{"-c", script}, "cols": 40, "rows": 5, "record": true}).At("pty_id").Str()
	n := strings.TrimPrefix(id, "pty:")
	r.Must("pty.read", kit.Args{"pty_id": id, "wait": kit.Args{"text": "世界", "timeout_ms": 20000}})
	shoal := func(args ...string) string {
		t.Helper()
		out, errs, status := w.Shoal(append(append([]string{"pty"}, args...), "--session", "main", "--state-dir", w.State)...)
		if status != 0 {
			t.Errorf("%v: status %d: %s", args, status, errs)
		}
		return out
	}
	if out := shoal("list"); !strings.Contains(out, id) || !strings.Contains(out, "40x5") || !strings.Contains(out, "alive") {
		t.Errorf("list: %q", out)
	}
	picture := shoal("screenshot", n)
	for dec := xml.NewDecoder(strings.NewReader(picture)); ; {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("the picture is no XML: %v", err)
		}
	}
	for _, want := range []string{`width="320" height="85"`, `fill="#cd0000" font-weight="bold">r<`, `>&lt;<`, `>世<`} {
		if !strings.Contains(strings.ReplaceAll(picture, "\n", ""), want) {
			t.Errorf("the picture lacks %s:\n%s", want, picture)
		}
	}
	pngFile := w.Root + "/picture.png"
	shoal("screenshot", n, "-o", pngFile)
	for name, text := range map[string]string{"file": readFile(t, pngFile), "output": shoal("screenshot", n, "--format", "png")} {
		if img, err := png.Decode(strings.NewReader(text)); err != nil || img.Bounds().Dx() != 40*16 || img.Bounds().Dy() != 5*31 {
			t.Errorf("the PNG in the %s: %v", name, err)
		}
	}
	if _, errs, status := w.Shoal("pty", "screenshot", n, "--format", "gif", "--session", "main", "--state-dir", w.State); status != 2 || !strings.Contains(errs, "svg, png") {
		t.Errorf("a picture as gif: %d %s", status, errs)
	}
	if out := shoal("export", n, "--format", "v3"); !strings.HasPrefix(out, `{"version":3,`) || !strings.Contains(out, "世界") {
		t.Errorf("export v3: %q", out)
	}
	file := w.Root + "/log"
	shoal("export", id, "--format", "log", "-o", file)
	if out := shoal("replay", file, "--screen"); out != "red <世界>\n" {
		t.Errorf("replay of a file: %q", out)
	}
	if out := shoal("replay", n, "--speed", "1000"); !strings.Contains(out, "\x1b[1;31mred") {
		t.Errorf("replay: %q", out)
	}
	if err := os.Remove(file); err != nil {
		t.Error(err)
	}
	if _, errs, status := w.Shoal("pty", "attach", n, "--session", "main", "--state-dir", w.State); status != 1 || !strings.Contains(errs, "hint") && !strings.Contains(errs, "terminal") {
		t.Errorf("attach without a terminal: %d %s", status, errs)
	}
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// A person watches from a terminal, takes the keyboard, types, gives it back.
func TestPeopleAttach(t *testing.T) {
	w := world(t)
	w.StartKernel()
	agent, desk := w.Raw("main"), w.Raw("desk")
	pty := agent.Must("pty.open", kit.Args{"cmd": "cat", "cols": 40, "rows": 8}).At("pty_id").Str()
	seat := desk.Must("pty.open", kit.Args{
		"cmd": w.Bin + "/shoal", "args": []string{"pty", "attach", strings.TrimPrefix(pty, "pty:"), "--session", "main", "--state-dir", w.State},
		"cols": 80, "rows": 20,
	}).At("pty_id").Str()
	see := func(text string) {
		t.Helper()
		got := desk.Must("pty.read", kit.Args{"pty_id": seat, "wait": kit.Args{"text": text, "timeout_ms": 20000}})
		if !got.At("wait", "met").Bool() {
			t.Fatalf("the person never sees %q:\n%s", text, strings.Join(got.At("screen").Strs(), "\n"))
		}
	}
	press := func(input ...any) { desk.Must("pty.send", kit.Args{"pty_id": seat, "input": input}) }
	see("watching")
	agent.Must("pty.send", kit.Args{"pty_id": pty, "input": "from the agent"})
	see("from the agent")
	press("ignored")
	press(kit.Args{"key": "Ctrl-]"}, "k")
	see("you type")
	agent.Refused(messages.CodeTaskControl, "pty.send", kit.Args{"pty_id": pty, "input": "no"})
	press(" and a person")
	see("from the agent and a person")
	press(kit.Args{"key": "Ctrl-]"}, "k")
	see("watching")
	agent.Must("pty.send", kit.Args{"pty_id": pty, "input": " again"})
	see("from the agent and a person again")
	press(kit.Args{"key": "Ctrl-]"}, "q")
	if got := desk.Must("pty.read", kit.Args{"pty_id": seat, "wait": kit.Args{"exit": true, "timeout_ms": 20000}}); got.At("exit", "status").Int() != 0 || got.At("exit").IsNull() {
		t.Errorf("attach ended with %v:\n%s", got.At("exit"), strings.Join(got.At("screen").Strs(), "\n"))
	}
	if got := strings.Join(agent.Must("pty.read", kit.Args{"pty_id": pty}).At("screen").Strs(), ""); strings.Contains(got, "ignored") || strings.Contains(got, "no") {
		t.Errorf("typed without the keyboard: %q", got)
	}
}

// A keyboard is free again when the connection that held it is gone, however it
// went, and not only when its lease is over.
func TestPeopleLeaveKeyboards(t *testing.T) {
	w := world(t)
	w.StartKernel()
	agent, person := w.Raw("main"), w.Raw("main")
	pty := agent.Must("pty.open", kit.Args{"cmd": "cat"}).At("pty_id").Str()
	if held := person.Must("pty.keyboard", kit.Args{"pty_id": pty, "seconds": 3600}).At("keyboard"); !held.At("yours").Bool() {
		t.Fatalf("held: %v", held)
	}
	agent.Refused(messages.CodeTaskControl, "pty.send", kit.Args{"pty_id": pty, "input": "no"})
	person.Close()
	kit.Eventually(t, kit.Long, "the keyboard is free", func() bool {
		return agent.Must("pty.read", kit.Args{"pty_id": pty}).At("keyboard").IsNull()
	})
	agent.Must("pty.send", kit.Args{"pty_id": pty, "input": "yes"})
	got := agent.Must("pty.read", kit.Args{"pty_id": pty, "wait": kit.Args{"text": "yes", "timeout_ms": 20000}})
	if row := got.At("screen", 0).Str(); row != "yes" {
		t.Errorf("the terminal shows %q", row)
	}
}

// A person whose window is smaller sees the part with the cursor, and more of it
// when the window grows.
func TestPeopleAttachInASmallWindow(t *testing.T) {
	w := world(t)
	w.StartKernel()
	agent, desk := w.Raw("main"), w.Raw("desk")
	pty := agent.Must("pty.open", kit.Args{"cmd": "sh", "args": []string{"-c", `seq -f 'line %g of a terminal' 20; printf 'the end'; exec cat`}, "cols": 100, "rows": 30}).At("pty_id").Str()
	agent.Must("pty.read", kit.Args{"pty_id": pty, "wait": kit.Args{"text": "the end", "timeout_ms": 20000}})
	seat := desk.Must("pty.open", kit.Args{
		"cmd": w.Bin + "/shoal", "args": []string{"pty", "attach", strings.TrimPrefix(pty, "pty:"), "--session", "main", "--state-dir", w.State},
		"cols": 12, "rows": 4,
	}).At("pty_id").Str()
	see := func(text string) []string {
		t.Helper()
		got := desk.Must("pty.read", kit.Args{"pty_id": seat, "wait": kit.Args{"text": text, "timeout_ms": 20000}})
		rows := got.At("screen").Strs()
		if !got.At("wait", "met").Bool() {
			t.Fatalf("the person never sees %q:\n%s", text, strings.Join(rows, "\n"))
		}
		return rows
	}
	if rows := see("the end"); rows[0] != "line 19 of a" || rows[1] != "line 20 of a" || rows[2] != "the end" {
		t.Errorf("the small window shows %q", rows)
	}
	desk.Must("pty.resize", kit.Args{"pty_id": seat, "cols": 120, "rows": 40})
	if rows := see("line 1 of a terminal"); rows[20] != "the end" || !strings.Contains(rows[30], "watching") {
		t.Errorf("the large window shows %q", rows)
	}
	desk.Must("pty.resize", kit.Args{"pty_id": seat, "cols": 70, "rows": 11})
	if rows := see("of 100x30"); rows[9] != "the end" || !strings.Contains(rows[10], "rows 12-21, columns 1-70 of 100x30") {
		t.Errorf("the middle window shows %q", rows)
	}
}
