package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// engines are the terminal engines, each as arguments of a kernel.
var engines = map[string][]string{"own": nil, "xvt": {"--pty-engine", "xvt"}}

// onEngines runs a case on a kernel with each of the engines.
func onEngines(t *testing.T, run func(t *testing.T, w *kit.World)) {
	for name, args := range engines {
		t.Run(name, func(t *testing.T) {
			w := world(t)
			k := w.StartKernel(args...)
			run(t, w)
			if log := k.Stderr(); strings.Contains(log, "rebuilt") || strings.Contains(log, "panic") {
				t.Errorf("the kernel says %s", log)
			}
		})
	}
}

// console is a terminal as an agent uses it.
type console struct {
	t   *testing.T
	f   *kit.Facade
	id  string
	pid int64
}

func openConsole(t *testing.T, f *kit.Facade, open kit.Args) *console {
	t.Helper()
	got := f.MustTool("shoal_pty_open", open).Structured
	return &console{t, f, got.At("pty_id").Str(), got.At("pid").Int()}
}

// rawPython is a program in a terminal. It starts in raw mode and says so.
func rawPython(t *testing.T, f *kit.Facade, script string) *console {
	t.Helper()
	c := openConsole(t, f, kit.Args{"cmd": "python3", "args": []string{"-c", `import os, sys, tty, select, time
def say(s): os.write(1, s.encode())
def read(seconds):
    got = b''
    while select.select([0], [], [], seconds)[0]:
        got = os.read(0, 1000)
        break
    return got
tty.setraw(0)
` + script}})
	return c
}

func enter() kit.Args { return kit.Args{"key": "Enter"} }

func forText(s string) kit.Args  { return kit.Args{"text": s, "timeout_ms": 30000} }
func forRegex(s string) kit.Args { return kit.Args{"regex": s, "timeout_ms": 30000} }

// see waits until the screen meets the condition and returns it.
func (c *console) see(wait kit.Args) kit.Val {
	c.t.Helper()
	return c.met(c.f.MustTool("shoal_pty_read", kit.Args{"pty_id": c.id, "wait": wait}).Structured)
}

// send types and waits for the screen that meets the condition.
func (c *console) send(wait kit.Args, input ...any) kit.Val {
	c.t.Helper()
	args := kit.Args{"pty_id": c.id, "input": input}
	if wait == nil {
		return c.f.MustTool("shoal_pty_send", args).Structured
	}
	args["wait"] = wait
	return c.met(c.f.MustTool("shoal_pty_send", args).Structured)
}

func (c *console) met(shown kit.Val) kit.Val {
	c.t.Helper()
	if !shown.At("wait", "met").Bool() {
		c.t.Fatalf("wait %v, screen\n%s", shown.At("wait"), strings.Join(shown.At("screen").Strs(), "\n"))
	}
	return shown
}

func (c *console) close() {
	c.t.Helper()
	c.f.MustTool("shoal_pty_close", kit.Args{"pty_id": c.id})
}

// bestOf is the shortest of several runs: on a busy machine one of them shows
// what a call takes.
func bestOf(runs int, call func()) time.Duration {
	best := kit.Long
	for range runs {
		start := time.Now()
		call()
		best = min(best, time.Since(start))
	}
	return best
}

// A wait for text counts only what the program shows, not the echo of what was
// typed: the words come when the program goes on.
func TestB68WaitIgnoresEcho(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	const pause = 3000 // ms
	type waiting struct {
		typed string
		open  *kit.Open
	}
	var all []waiting
	for _, c := range []struct {
		typed string
		wait  kit.Args
	}{
		{"echo MARK-$((40+2))", forText("MARK-42")},
		{"echo DONE", forText("DONE")},
		{"echo DONE", forRegex("DO+NE")},
		{"echo " + strings.Repeat("long ", 20) + "DONE", forText("long DONE")}, // its echo wraps
		{"true DONE; echo DONE DONE", forText("DONE DONE")},
	} {
		pty := openConsole(t, f, kit.Args{"cmd": "bash", "args": []string{"--norc", "--noprofile", "-i"}, "env": kit.Args{"PS1": "$ "}})
		pty.see(forText("$"))
		all = append(all, waiting{c.typed, f.StartTool("shoal_pty_send", kit.Args{
			"pty_id": pty.id, "input": []any{"sleep 3; " + c.typed, enter()}, "wait": c.wait,
		})})
	}
	for _, c := range all {
		wait := c.open.WaitTool().Structured.At("wait")
		if !wait.At("met").Bool() || wait.At("elapsed_ms").Int() < pause {
			t.Errorf("%s: %v, want it met after %d ms", c.typed, wait, pause)
		}
	}
}

// A program that asks its terminal is answered.
func TestB71QueriesAreAnswered(t *testing.T) {
	onEngines(t, func(t *testing.T, w *kit.World) {
		f := w.Facade("main")
		for query, want := range map[string]string{
			"abc\\x1b[6n":         `b'\x1b[1;4R'`,
			"\\x1b[c":             `b'\x1b[?`,
			"\\x1b[5n":            `b'\x1b[0n'`,
			"\\x1b[18t":           `b'\x1b[8;24;80t'`,
			"\\x1b[?2004$p":       `b'\x1b[?2004;2$y'`,
			"\\x1b]11;?\\x1b\\\\": `b'\x1b]11;rgb:`,
		} {
			c := rawPython(t, f, fmt.Sprintf(`say("%s"); got = read(20); say("\r\nGOT " + repr(got) + " END\r\n"); read(60)`, query))
			got := strings.Join(c.see(forText(" END")).At("screen").Strs(), "\n")
			if !strings.Contains(got, "GOT "+want) {
				t.Errorf("%s: want %s on\n%s", query, want, got)
			}
			c.close()
		}
	})
}

// A program that asks and never reads the answers blocks nobody.
func TestB72UnreadAnswersBlockNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, w *kit.World) {
		f := w.Facade("main")
		calm := openConsole(t, f, kit.Args{"cmd": "cat"})
		closes := kit.Long
		for i := range 3 {
			c := rawPython(t, f, `say("\x1b[6n\x1b[c\x1b[5n" * 10000 + "asked"); time.sleep(600)`)
			c.see(forText("asked"))
			if took := bestOf(3, func() { f.MustTool("shoal_pty_read", kit.Args{"pty_id": c.id}) }); took > 500*time.Millisecond {
				t.Errorf("a read takes %v", took)
			}
			word := fmt.Sprintf("word-%d", i)
			calm.send(forText(word), word, enter())
			closes = min(closes, bestOf(1, c.close))
		}
		if closes > time.Second {
			t.Errorf("closing takes %v", closes)
		}
	})
}

// Wide characters take two columns.
func TestB73WideCharacters(t *testing.T) {
	onEngines(t, func(t *testing.T, w *kit.World) {
		f := w.Facade("main")
		c := openConsole(t, f, kit.Args{"cmd": "sh", "args": []string{"-c", `printf '\033[1;1H日本語\033[1;7H[OK]'; exec cat`}, "cols": 20, "rows": 4})
		got := c.see(forText("[OK]"))
		if row := got.At("screen", 0).Str(); row != "日本語[OK]" || got.At("cursor", "row").Int() != 0 || got.At("cursor", "col").Int() != 10 {
			t.Errorf("got %q, cursor %v", row, got.At("cursor"))
		}
	})
}

// Resizing over wide characters harms nothing.
func TestB75ResizeOverWideCharacters(t *testing.T) {
	onEngines(t, func(t *testing.T, w *kit.World) {
		f := w.Facade("main")
		c := openConsole(t, f, kit.Args{"cmd": "sh", "args": []string{"-c", `printf '가나다%.0s' $(seq 600); printf ' filled'; exec cat`}})
		c.see(forText("filled"))
		sizes := [][2]int{{1, 24}, {80, 1}, {1, 1}, {2, 2}, {200, 60}, {80, 24}}
		for _, cols := range []int{79, 80, 77, 41, 55, 53, 51, 49, 47, 45, 1} {
			sizes = append(sizes, [2]int{cols, 24})
		}
		for _, size := range sizes {
			f.MustTool("shoal_pty_resize", kit.Args{"pty_id": c.id, "cols": size[0], "rows": size[1]})
			got := f.MustTool("shoal_pty_read", kit.Args{"pty_id": c.id}).Structured
			row, col := int(got.At("cursor", "row").Int()), int(got.At("cursor", "col").Int())
			if len(got.At("screen").List()) != size[1] || row < 0 || row >= size[1] || col < 0 || col >= size[0] {
				t.Errorf("at %v: %d rows, cursor %d,%d", size, len(got.At("screen").List()), row, col)
			}
			if got.At("pid").Int() != c.pid || !got.At("alive").Bool() {
				t.Errorf("at %v: %v", size, got)
			}
		}
		f.MustTool("shoal_pty_resize", kit.Args{"pty_id": c.id, "cols": 40, "rows": 5})
		c.send(forText("still here"), enter(), "still here", enter())
	})
}

// A line that the terminal will cut is told, whether it comes at once or in parts.
func TestB77LongLineIsTold(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	c := openConsole(t, f, kit.Args{"cmd": "cat"})
	warned := func(got kit.Val, bytes string) {
		t.Helper()
		text := got.At("warnings").String()
		if !strings.Contains(text, "canonical") || !strings.Contains(text, bytes+" bytes are lost") {
			t.Errorf("got warnings %s, want %s bytes lost", text, bytes)
		}
	}
	warned(c.send(nil, strings.Repeat("a", 5000), enter()), "905")
	if got := c.send(nil, strings.Repeat("a", 4095), enter()); len(got.At("warnings").List()) != 0 {
		t.Errorf("a line that fits: %v", got.At("warnings"))
	}
	c.send(nil, strings.Repeat("b", 3000))
	warned(c.send(nil, strings.Repeat("b", 2000)), "905")
	c.close()
	raw := rawPython(t, f, `say("raw\r\n"); n = 0
while n < 5001: n += len(os.read(0, 1000))
say("read %d" % n); time.sleep(600)`)
	raw.see(forText("raw"))
	if got := raw.send(forText("read 5001"), strings.Repeat("a", 5000), enter()); len(got.At("warnings").List()) != 0 {
		t.Errorf("a program that reads raw loses nothing: %v", got.At("warnings"))
	}
}

// Ctrl-C is a key, and the text C-c is text.
func TestB79CtrlCIsAKey(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	best := kit.Long
	for range 3 {
		c := openConsole(t, f, kit.Args{"cmd": "python3", "args": []string{"-q"}})
		c.see(forText(">>>"))
		c.send(forText("asleep"), `import time; print("as" "leep"); time.sleep(999)`, enter())
		got := c.send(forText("KeyboardInterrupt"), kit.Args{"key": "Ctrl-C"})
		best = min(best, time.Duration(got.At("wait", "elapsed_ms").Int())*time.Millisecond)
		c.send(nil, "print('C-c'", kit.Args{"text": ")"}, enter())
		c.see(forRegex(`(?m)^C-c$`))
		c.send(kit.Args{"exit": true, "timeout_ms": 30000}, kit.Args{"key": "Ctrl-D"})
		c.close()
	}
	if best > time.Second {
		t.Errorf("interrupted after %v", best)
	}
	c := openConsole(t, f, kit.Args{"cmd": "sleep", "args": []string{"600"}})
	got := c.send(kit.Args{"exit": true, "timeout_ms": 30000}, kit.Args{"key": "Ctrl-\\"})
	if got.At("exit", "signal").Str() != "SIGQUIT" {
		t.Errorf("Ctrl-\\ ended it with %v", got.At("exit"))
	}
}

// readLog is a program that shows every read it makes.
const readLog = `while True:
    got = read(600)
    say(repr(got) + "\r\n")
    if b'q' in got: break
`

// Enter comes in a read of its own, so a program takes text and Enter not for a
// paste.
func TestB80EnterIsReadAlone(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	c := rawPython(t, f, `say("ready\r\n")`+"\n"+readLog)
	c.see(forText("ready"))
	for _, word := range []string{"hello", "again"} {
		c.send(nil, word, enter())
		c.see(forText("b'" + word + "'\nb'\\r'"))
	}
	c.send(nil, []any{kit.Args{"key": "Escape"}, ":w", enter()}...)
	c.see(forText("b'\\x1b'\nb':w'\nb'\\r'"))
}

// Pasted text is marked as such if the program asked for that, and an end mark
// in it is none.
func TestB81Paste(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	c := rawPython(t, f, `say("\x1b[?2004hready\r\n")
say(repr(read(600)) + "\r\n")
say(repr(read(600)) + "\r\n\x1b[?2004loff\r\n")
say(repr(read(600)) + "\r\n"); time.sleep(600)`)
	paste := kit.Args{"paste": "a\nb\nc"}
	if got := c.see(forText("ready")); !got.At("bracketed_paste").Bool() {
		t.Errorf("the screen does not say that pastes are marked: %v", got)
	}
	c.send(forRegex(`b'\\x1b\[200~a\\[rn]b\\[rn]c\\x1b\[201~'`), paste)
	c.send(forRegex(`(?s)b'\\x1b\[200~xy\\x1b\[201~'.*off`), kit.Args{"paste": "x\x1b[201~y"})
	c.send(forRegex(`(?m)^b'a\\[rn]b\\[rn]c'$`), paste)
}

// What leaves the alternate screen is kept nowhere.
func TestB83AlternateScreenKeepsNothing(t *testing.T) {
	onEngines(t, func(t *testing.T, w *kit.World) {
		f := w.Facade("main")
		kernel := w.KernelPID()
		const terminals, most = 8, 20 << 20
		before := kit.Resident(kernel)
		for range terminals {
			openConsole(t, f, kit.Args{"cmd": "sh", "args": []string{"-c",
				`printf '\033[?1049h'; seq -f 'line %.0f of what nobody keeps' 100000; printf 'drawn'; exec cat`}}).see(forText("drawn"))
		}
		if grown := kit.Resident(kernel) - before; grown > terminals*most {
			t.Errorf("%d terminals take %d MiB, want %d each at most", terminals, grown>>20, most>>20)
		}
	})
}

// A terminal that floods leaves another session alone, and closes.
func TestB84FloodLeavesOthersAlone(t *testing.T) {
	onEngines(t, func(t *testing.T, w *kit.World) {
		noisy, f := w.Facade("noisy"), w.Facade("main")
		c := openConsole(t, noisy, kit.Args{"cmd": "yes"})
		c.see(forText("y\ny"))
		var all []time.Duration
		for range 60 {
			start := time.Now()
			f.Exec("1 + 1")
			all = append(all, time.Since(start))
		}
		slices.Sort(all)
		if p95 := all[len(all)*95/100]; p95 > 250*time.Millisecond {
			t.Errorf("beside it `1 + 1` takes %v, p95 of 60", p95)
		}
		closes := bestOf(1, c.close)
		for range 2 {
			again := openConsole(t, noisy, kit.Args{"cmd": "yes"})
			again.see(forText("y\ny"))
			closes = min(closes, bestOf(1, again.close))
		}
		if closes > time.Second {
			t.Errorf("closing takes %v", closes)
		}
		if got := noisy.Tool("shoal_pty_read", kit.Args{"pty_id": c.id}); got.Code() != messages.CodeUnknownPTY {
			t.Errorf("closed: %v", got)
		}
	})
}
