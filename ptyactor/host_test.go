package ptyactor

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

func TestShellPrompt(t *testing.T) {
	h := bash(t, newRegistry(t, Config{}))
	w := regex(`(?m)^42 xterm-256color \d+x\d+ tmux=$`)
	s := send(t, h, &w, `echo $((6*7)) $TERM $(stty size | sed 's/ /x/') tmux=$TMUX`, key("Enter"))
	if !s.Wait.Met || s.BytesSent == 0 || len(s.Warnings) != 0 || s.Blocked {
		t.Errorf("got %+v\n%s", s, strings.Join(s.Lines, "\n"))
	}
	if !strings.Contains(strings.Join(s.Lines, "\n"), "24x80") {
		t.Errorf("size: %v", s.Lines)
	}
}

func TestExit(t *testing.T) {
	tests := []struct{ name, script, want string }{
		{"status", "echo bye; exit 7", `{"status":7,"signal":null}`},
		{"signal", "echo bye; kill -TERM $$", `{"status":null,"signal":"SIGTERM"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			h := start(t, newRegistry(t, Config{}), "sh", "-c", tt.script)
			s := exited(t, h)
			if got := string(messages.JSON(s.Exit)); got != tt.want || s.Alive {
				t.Errorf("got %s alive %v, want %s", got, s.Alive, tt.want)
			}
			if s.Lines[0] != "bye" {
				t.Errorf("the last screen is lost: %q", s.Lines)
			}
			after := send(t, h, nil, "x")
			if after.BytesSent != 0 || len(after.Warnings) == 0 {
				t.Errorf("sending to the dead: %+v", after)
			}
		})
	}
}

func TestLastOutputIsKept(t *testing.T) {
	r := newRegistry(t, Config{})
	for range 40 {
		h := start(t, r, "sh", "-c", "seq 1 2000; printf END")
		if s := exited(t, h); s.Lines[23] != "END" {
			t.Fatalf("got last line %q, want END", s.Lines[23])
		}
		r.Close(context.Background(), h.id)
	}
}

// A grandchild that keeps the terminal does not keep it alive.
func TestAliveIsTheChild(t *testing.T) {
	r := newRegistry(t, Config{})
	h := start(t, r, "sh", "-c", "setsid sleep 3141 & echo done")
	began := time.Now()
	exited(t, h)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("took %v", took)
	}
	if _, bad := r.Close(context.Background(), h.id); bad != nil {
		t.Fatal(bad)
	}
	if out, err := exec.Command("pgrep", "-f", "^sleep 3141$").Output(); err == nil {
		t.Errorf("the grandchild lives: %s", out)
	}
}

func TestWaitIgnoresEcho(t *testing.T) {
	r := newRegistry(t, Config{})
	h := bash(t, r)
	for _, tt := range []struct{ line, mark string }{
		{"sleep 1; echo MARK-$((40+2))", "MARK-42"},
		{"sleep 1; echo DONE", "DONE"},
	} {
		w := text(tt.mark)
		s := send(t, h, &w, tt.line, key("Enter"))
		if !s.Wait.Met || s.Wait.ElapsedMS < 900 {
			t.Errorf("%s: got %+v, want after a second\n%s", tt.mark, s.Wait, strings.Join(s.Lines[:8], "\n"))
		}
		send(t, h, &messages.PTYWait{StableMS: ptr(200), TimeoutMS: 5000}, "clear", key("Enter"))
	}
}

func ptr[T any](v T) *T { return &v }

func TestWaitOutcomes(t *testing.T) {
	r := newRegistry(t, Config{})
	h := bash(t, r)
	s, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Wait: &messages.PTYWait{Text: ptr("never"), TimeoutMS: 50}})
	if bad != nil || s.Wait.Met || s.Wait.Rule != "timeout" || s.Wait.ElapsedMS < 50 {
		t.Errorf("timeout: %+v %v", s.Wait, bad)
	}
	w := messages.PTYWait{StableMS: ptr(100), Text: ptr("abc"), TimeoutMS: 5000}
	if sent := send(t, h, &w, "echo a''bc", key("Enter")); !sent.Wait.Met || sent.Wait.Rule != "stable_ms+text" {
		t.Errorf("stable and text: %+v", sent.Wait)
	}
	version := until(t, h, messages.PTYWait{StableMS: ptr(50)}).Version
	w = messages.PTYWait{ScreenChangedSince: &version, TimeoutMS: 5000}
	if sent := send(t, h, &w, "x"); !sent.Wait.Met || sent.Version <= version {
		t.Errorf("changed since: %+v", sent.Wait)
	}
	w = text("never")
	if sent := send(t, h, &w, key("Ctrl-U"), "exit 3", key("Enter")); sent.Wait.Met || sent.Wait.Rule != "exit" || sent.Exit == nil {
		t.Errorf("exit first: %+v", sent.Wait)
	}
	for name, w := range map[string]messages.PTYWait{"regex": {Regex: ptr("(")}, "timeout": {TimeoutMS: 60001}, "stable": {StableMS: ptr(-1)}} {
		if _, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Wait: &w}); bad == nil || bad.Code != messages.CodeInvalidParams {
			t.Errorf("%s: got %v, want invalid params", name, bad)
		}
	}
}

func TestInterruptIsAKey(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "python3", "-q")
	until(t, h, text(">>>"))
	w := regex(`(?m)^42$`)
	if s := send(t, h, &w, "print(6*7)", key("Enter")); !s.Wait.Met {
		t.Fatalf("got %+v\n%s", s.Wait, strings.Join(s.Lines, "\n"))
	}
	send(t, h, &messages.PTYWait{StableMS: ptr(300)}, "import time; time.sleep(999)", key("Enter"))
	w = text("KeyboardInterrupt")
	if s := send(t, h, &w, key("Ctrl-C")); !s.Wait.Met || s.Wait.ElapsedMS > 5000 {
		t.Errorf("got %+v\n%s", s.Wait, strings.Join(s.Lines, "\n"))
	}
	s := send(t, h, &messages.PTYWait{StableMS: ptr(300)}, "C-c")
	if !strings.Contains(strings.Join(s.Lines, "\n"), ">>> C-c") {
		t.Errorf("text must stay text:\n%s", strings.Join(s.Lines, "\n"))
	}
}

func TestVim(t *testing.T) {
	r := newRegistry(t, Config{})
	req := request(t, "vim", "-u", "NONE", "-N", "file.txt")
	opened, bad := r.Open(req)
	if bad != nil {
		t.Fatal(bad)
	}
	h, _ := r.Adopt(opened.PTY)
	until(t, h, text("~"))
	send(t, h, &messages.PTYWait{StableMS: ptr(200), TimeoutMS: 5000}, "ihello 世界", key("Escape"))
	if s := h.Snapshot(); s.Lines[0] != "hello 世界" || !s.AltScreen {
		t.Errorf("got %q alt %v", s.Lines[0], s.AltScreen)
	}
	if _, bad := r.Resize(h, 60, 10); bad != nil {
		t.Fatal(bad)
	}
	s := send(t, h, &messages.PTYWait{StableMS: ptr(200), TimeoutMS: 5000}, ":w", key("Enter"))
	if len(s.Lines) != 10 || s.Cols != 60 {
		t.Errorf("after resize: %d rows, %d columns", len(s.Lines), s.Cols)
	}
	send(t, h, nil, ":q", key("Enter"))
	exited(t, h)
	if got, err := os.ReadFile(filepath.Join(req.Dir, "file.txt")); string(got) != "hello 世界\n" {
		t.Errorf("file holds %q %v", got, err)
	}
}

func TestCanonicalLineLimit(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "cat")
	s := send(t, h, nil, strings.Repeat("a", 5000), key("Enter"))
	if len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0], "905 bytes") {
		t.Errorf("got %q, want a warning of 905 lost bytes", s.Warnings)
	}
	if s := send(t, h, nil, "short", key("Enter")); len(s.Warnings) != 0 {
		t.Errorf("short line: %q", s.Warnings)
	}
}

// readLogger prints every read of its raw input by itself.
const readLogger = `import os,tty,sys
tty.setraw(0)
sys.stdout.write("%sready\r\n" % sys.argv[1].encode().decode("unicode_escape")); sys.stdout.flush()
while True:
    b=os.read(0,1024)
    sys.stdout.write("read %r\r\n" % b); sys.stdout.flush()
    if b"q" in b: break
`

func TestEnterIsItsOwnRead(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "python3", "-c", readLogger, "")
	until(t, h, text("ready"))
	send(t, h, nil, "hello", key("Enter"))
	s := until(t, h, text(`b'\r'`))
	if !strings.Contains(strings.Join(s.Lines, "\n"), "read b'hello'\n") {
		t.Errorf("got\n%s", strings.Join(s.Lines, "\n"))
	}
}

func TestPaste(t *testing.T) {
	for name, tt := range map[string]struct{ setup, want string }{
		"on": {`\x1b[?2004h`, `read b'\x1b[200~a\nb\nc\x1b[201~'`}, "off": {"", `read b'a\nb\nc'`},
	} {
		t.Run(name, func(t *testing.T) {
			h := start(t, newRegistry(t, Config{}), "python3", "-c", readLogger, tt.setup)
			until(t, h, text("ready"))
			send(t, h, nil, map[string]string{"paste": "a\nb\nc"})
			until(t, h, text(tt.want))
		})
	}
}

func TestQueriesAreAnswered(t *testing.T) {
	const ask = `import os,tty,sys,select
tty.setraw(0)
for q in ("abc\x1b[6n","\x1b[c","\x1b[5n"):
    os.write(1,q.encode()); select.select([0],[],[],5); r=os.read(0,100)
    os.write(1,("\r\n%r\r\n"%r).encode())
os.write(1,b"fin")
`
	h := start(t, newRegistry(t, Config{}), "python3", "-c", ask)
	s := until(t, h, text("fin"))
	want := []string{"abc", `b'\x1b[1;4R'`, `b'\x1b[?62;1;6;22c'`, "", `b'\x1b[0n'`, "fin"}
	got := s.Lines[:len(want)]
	if diff := cmp.Diff(strings.Join(want, "|"), strings.ReplaceAll(strings.Join(got, "|"), "||", "|")); diff != "" {
		// The middle question starts on a line of its own.
		if joined := strings.Join(s.Lines, "\n"); !strings.Contains(joined, want[1]) || !strings.Contains(joined, want[2]) || !strings.Contains(joined, want[4]) {
			t.Error(diff)
		}
	}
}

// A program that asks without end and never listens blocks nobody.
func TestUnreadReplies(t *testing.T) {
	r := newRegistry(t, Config{})
	h := start(t, r, "python3", "-c", `import os,tty,time
tty.setraw(0)
os.write(1,b"\x1b[6n"*10000); os.write(1,b"asked"); time.sleep(600)`)
	until(t, h, text("asked"))
	began := time.Now()
	if _, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id}); bad != nil {
		t.Fatal(bad)
	}
	r.Close(context.Background(), h.id)
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("read and close took %v", took)
	}
}

// A child that does not read gets what fits; the rest is reported.
func TestBlockedInput(t *testing.T) {
	r := newRegistry(t, Config{})
	h := start(t, r, "python3", "-c", `import os,tty,time
tty.setraw(0)
os.write(1,b"up"); time.sleep(600)`)
	until(t, h, text("up"))
	h.writer.limit = 200 * time.Millisecond
	s := send(t, h, nil, strings.Repeat("x", 200_000))
	if !s.Blocked || s.BytesSent == 0 || s.BytesSent >= 200_000 {
		t.Errorf("got %+v, want blocked with a part", s)
	}
}

func TestFloodKeepsReadsFast(t *testing.T) {
	r := newRegistry(t, Config{})
	h := start(t, r, "yes")
	until(t, h, messages.PTYWait{Regex: ptr(`(?s)^(y\n){23}`), TimeoutMS: 15000})
	var took []time.Duration
	for range 50 {
		began := time.Now()
		h.Read(context.Background(), messages.ReadPTY{PTY: h.id})
		took = append(took, time.Since(began))
		<-time.After(2 * time.Millisecond)
	}
	slices.Sort(took)
	if middle, worst := took[len(took)/2], took[len(took)-1]; middle > 50*time.Millisecond || worst > time.Second {
		t.Errorf("a read takes %v, the slowest %v", middle, worst)
	}
	began := time.Now()
	r.Close(context.Background(), h.id)
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("close took %v", took)
	}
}

func TestCloseEndsJobs(t *testing.T) {
	r := newRegistry(t, Config{})
	h := bash(t, r)
	dir := t.TempDir()
	send(t, h, nil, fmt.Sprintf(`(trap "" HUP TERM; exec sleep 611) & echo $! > %s/a; setsid sleep 612 & echo $! > %s/b; echo r''eady`, dir, dir), key("Enter"))
	until(t, h, text("ready"))
	closed, bad := r.Close(context.Background(), h.id)
	if bad != nil || !closed.Closed || closed.Exit == nil {
		t.Fatalf("got %+v %v", closed, bad)
	}
	for _, name := range []string{"a", "b"} {
		pid, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat")
		if err == nil && !strings.Contains(string(stat), ") Z ") {
			t.Errorf("job %s lives: %s", name, stat)
		}
	}
	if _, bad := r.Close(context.Background(), h.id); bad == nil || bad.Code != messages.CodeUnknownPTY {
		t.Errorf("closing again: %v", bad)
	}
	if _, bad := h.Send(context.Background(), messages.SendPTY{Input: json.RawMessage(`"x"`)}); bad == nil {
		t.Error("sending to a closed terminal: want an error")
	}
}

func TestChangedPerReader(t *testing.T) {
	h := bash(t, newRegistry(t, Config{}))
	until(t, h, messages.PTYWait{StableMS: ptr(200)})
	read := func(reader string) bool {
		s, _ := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Reader: reader})
		return s.Changed
	}
	got := []bool{read("a"), read("a"), read(""), read("b"), read("a")}
	send(t, h, &messages.PTYWait{StableMS: ptr(100)}, "x")
	got = append(got, read("a"), read("a"), read("b"))
	if diff := cmp.Diff([]bool{true, false, true, true, false, true, false, true}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAttrs(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "sh", "-c", `printf 'a\033[1;31mred\033[0mz'; sleep 300`)
	until(t, h, text("redz"))
	s, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Attrs: true})
	if bad != nil || s.PTYAttrs == nil {
		t.Fatal(bad)
	}
	if diff := cmp.Diff([]messages.PTYRun{{Row: 0, Col: 1, Len: 3, SGR: "1;31"}}, s.Runs); diff != "" {
		t.Error(diff)
	}
	if s, _ = h.Read(context.Background(), messages.ReadPTY{PTY: h.id}); s.PTYAttrs != nil {
		t.Errorf("attributes that nobody asked for: %v", s.Runs)
	}
}

func TestScrollbackRead(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "sh", "-c", "seq 1 100; sleep 300")
	until(t, h, text("100"))
	s, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Scrollback: &messages.PTYRange{From: 10, To: 13}})
	if bad != nil || s.PTYLines == nil {
		t.Fatal(bad)
	}
	if diff := cmp.Diff(messages.PTYLines{Text: []string{"11", "12", "13"}, FirstLine: 10, NextLine: 77}, *s.PTYLines); diff != "" {
		t.Error(diff)
	}
	var wire map[string]any
	json.Unmarshal(messages.JSON(s), &wire)
	if wire["lines"] == nil || wire["first_line"] != 10.0 || len(wire["screen"].([]any)) != 24 {
		t.Errorf("on the wire: %v", wire)
	}
}

func TestInputRefusals(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "cat")
	for _, input := range []string{``, `5`, `null`, `{}`, `{"text":"a","key":"Enter"}`, `{"key":"C-c"}`, `{"glyph":"x"}`, `{"bytes":"%%"}`,
		`{"text":5}`, `["ok",{"key":"Nope"}]`, `[`, `{"mouse":{}}`, `{"key":"Ctrl-é"}`, `{"text":null}`} {
		_, bad := h.Send(context.Background(), messages.SendPTY{PTY: h.id, Input: json.RawMessage(input)})
		if bad == nil || bad.Code != messages.CodeInvalidParams {
			t.Errorf("%s: got %v, want invalid params", input, bad)
		}
	}
	send(t, h, nil, map[string]string{"bytes": "cXVpZXQK"})
	if s := until(t, h, text("quiet\nquiet")); strings.Contains(strings.Join(s.Lines, ""), "ok") {
		t.Errorf("part of a refused array was sent: %q", s.Lines)
	}
}

func TestOpenRefusals(t *testing.T) {
	r := newRegistry(t, Config{Max: 2})
	ok := request(t, "cat")
	missing := ok
	missing.Path = "/none/here"
	dir := ok
	dir.Dir = "/none"
	big := ok
	big.Cols = 1001
	for name, tt := range map[string]struct {
		req  messages.OpenPTY
		code messages.Code
	}{"missing program": {missing, messages.CodePTYSpawn}, "bad directory": {dir, messages.CodePTYSpawn},
		"too wide": {big, messages.CodeInvalidParams}, "no command": {messages.OpenPTY{}, messages.CodeInvalidParams}} {
		if _, bad := r.Open(tt.req); bad == nil || bad.Code != tt.code {
			t.Errorf("%s: got %v, want %d", name, bad, tt.code)
		}
	}
	for range 2 {
		if _, bad := r.Open(ok); bad != nil {
			t.Fatal(bad)
		}
	}
	if _, bad := r.Open(ok); bad == nil || bad.Code != messages.CodeQuota {
		t.Errorf("over the limit: got %v", bad)
	}
}

func TestManyTerminalsLeakNothing(t *testing.T) {
	r := newRegistry(t, Config{})
	warm := start(t, r, "true")
	r.Close(context.Background(), warm.id)
	fds, goroutines := countFDs(t), runtime.NumGoroutine()
	for range 25 {
		var hosts []*Host
		for range 4 {
			hosts = append(hosts, start(t, r, "cat"))
		}
		bad := request(t, "cat")
		bad.Path = "/none"
		r.Open(bad)
		for _, h := range hosts {
			r.Close(context.Background(), h.id)
		}
	}
	within(t, 5*time.Second, "descriptors are closed", func() bool { return countFDs(t) <= fds })
	within(t, 5*time.Second, "goroutines end", func() bool { return runtime.NumGoroutine() <= goroutines })
	if len(r.hosts) != 0 || r.cells != 0 || len(r.perWho) != 0 {
		t.Errorf("still remembered: %d hosts, %d cells, %v", len(r.hosts), r.cells, r.perWho)
	}
}

func countFDs(t testing.TB) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(names)
}

// Bytes that break other engines reach ours through a real terminal.
func TestHostileOutput(t *testing.T) {
	evil := []string{`\033[1;30r\033[L`, `\033[;300r\033[M`, `\033[?69h\033[1;30sL`, `a\033[10000000b`, `\033[1000000000X`, `\033[c\033[c`, `\033]0;`,
		`\033P$qm`, `\377\376`, `\342`, `\033[1;30r\033[4;1H\033[B`, `\033[9999;9999H世`}
	h := start(t, newRegistry(t, Config{}), "sh", "-c", "stty raw -echo; printf '"+strings.Join(evil, "")+`'; printf '\030\033cfine'; sleep 300`)
	s := until(t, h, text("fine"))
	if s.Lines[0] != "fine" {
		t.Errorf("got %q", s.Lines[0])
	}
}
