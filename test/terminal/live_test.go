package terminal

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/ptyactor/recording"
	"shoal.dev/shoal/ptyactor/screen"
	"shoal.dev/shoal/test/kit"
)

// live is a program that an agent drives, and what it does with it.
type live struct {
	name  string
	cmd   string
	args  []string
	setup string // of the work directory, for sh
	moves []move
}

// move is one call of the agent: input, and what must be shown after it.
type move struct {
	input []any
	wait  kit.Args
}

func key(name string) kit.Args { return kit.Args{"key": name} }

func untilText(s string) kit.Args  { return kit.Args{"text": s, "timeout_ms": 20000} }
func untilRegex(s string) kit.Args { return kit.Args{"regex": s, "timeout_ms": 20000} }

const numbered = `seq -f 'line %03g of the file' 200 > file.txt`

// calm lets output end; programs with a clock in them are told to be slow.
var calm = kit.Args{"stable_ms": 300, "timeout_ms": 8000}

var lives = []live{
	{"bash", "bash", []string{"--norc", "--noprofile", "-i"}, "", []move{
		{[]any{"PS1='$ '", key("Enter")}, calm},
		{[]any{"echo $((6*7)) 世界", key("Enter")}, untilRegex(`(?m)^42 世界$`)},
		{[]any{"seq 40", key("Enter")}, untilRegex(`(?m)^40$`)},
	}},
	{"zsh", "zsh", []string{"-f", "-i"}, "", []move{
		{[]any{"echo $((6*7))", key("Enter")}, untilRegex(`(?m)^42$`)},
		{[]any{"ech", key("Tab"), " tab", key("Ctrl-A"), "x", key("Delete"), key("Ctrl-U")}, calm},
	}},
	{"fish", "fish", []string{"--no-config"}, "", []move{
		{nil, untilRegex("[>#]")},
		{[]any{"math 6 x 7", key("Enter")}, untilRegex(`(?m)^42$`)},
	}},
	{"vim", "vim", []string{"-u", "NONE", "-N", "file.txt"}, numbered, []move{
		{nil, untilText("line 001")},
		{[]any{"ohello 世界", key("Escape"), ":syntax on", key("Enter"), ":set number hlsearch", key("Enter"), "/line 1", key("Enter")}, calm},
		{[]any{":vsplit", key("Enter"), key("Ctrl-W"), "l", key("Ctrl-D")}, calm},
	}},
	{"nano", "nano", []string{"file.txt"}, numbered, []move{
		{nil, untilText("line 001")},
		{[]any{"hello ", key("Down"), key("End"), " there", key("PageDown")}, calm},
		{[]any{key("Ctrl-W"), "line 120", key("Enter")}, untilText("line 120")},
	}},
	{"less", "less", []string{"file.txt"}, numbered, []move{
		{nil, untilText("line 001")},
		{[]any{"G"}, untilText("line 200")},
		{[]any{"g/line 05", key("Enter")}, untilText("line 050")},
	}},
	{"man", "man", []string{"-l", "./page.1"}, `printf '.TH PAGE 1\n.SH NAME\npage \\- a page\n.SH TEXT\n\\fBbold\\fR and \\fIunderlined\\fR\n' > page.1`, []move{
		{nil, untilText("underlined")},
		{[]any{"h"}, calm},
	}},
	{"htop", "htop", []string{"-d", "100"}, "", []move{
		{nil, untilText("PID")},
		{[]any{key("F2")}, calm}, {[]any{key("Escape"), key("Down"), key("Down")}, calm},
	}},
	{"top", "top", []string{"-d", "30"}, "", []move{
		{nil, untilText("PID")}, {[]any{"h"}, calm}, {[]any{"q"}, calm},
	}},
	{"mc", "mc", []string{"-u"}, numbered, []move{
		{nil, untilText("file.txt")},
		{[]any{key("F9"), key("Enter")}, calm}, {[]any{key("Escape"), key("Escape"), key("Tab"), key("Down")}, calm},
	}},
	{"dialog", "dialog", []string{"--menu", "Choose", "12", "38", "3", "1", "one", "2", "two", "3", "three"}, "", []move{
		{nil, untilText("three")}, {[]any{key("Down"), key("Tab")}, calm},
	}},
	{"fzf", "sh", []string{"-c", "seq 500 | fzf"}, "", []move{
		{nil, untilText("500/500")}, {[]any{"42"}, untilText("23/500")}, {[]any{key("Up"), key("Up")}, calm},
	}},
	{"python3", "python3", []string{"-q"}, "", []move{
		{nil, untilText(">>>")},
		{[]any{"6*7", key("Enter")}, untilRegex(`(?m)^42$`)},
		{[]any{"for i in range(50): print(i)", key("Enter"), key("Enter")}, untilRegex(`(?m)^49$`)},
	}},
	{"node", "node", []string{"-i"}, "", []move{
		{nil, untilText(">")}, {[]any{"6*7", key("Enter")}, untilRegex(`(?m)^42$`)}, {[]any{"Arr", key("Tab")}, calm},
	}},
	{"sqlite3", "sqlite3", []string{"-box"}, "", []move{
		{nil, untilText("sqlite>")}, {[]any{"select 6*7 as answer;", key("Enter")}, untilText("42")},
	}},
	{"gdb", "gdb", []string{"-q", "-nx", "-tui", "/bin/true"}, "", []move{
		{nil, untilText("(gdb)")}, {[]any{"layout asm", key("Enter")}, calm}, {[]any{"print 6*7", key("Enter")}, untilText("$1 = 42")},
	}},
	{"git add -p", "git", []string{"add", "-p"}, `git init -q . && echo a > f && git add f && echo b >> f`, []move{
		{nil, untilText("Stage this hunk")}, {[]any{"?", key("Enter")}, calm},
	}},
	{"bubbletea", bubbletea, []string{}, "", []move{
		{nil, untilText("item 00")},
		{[]any{key("Down"), key("Down"), key("Space"), kit.Args{"paste": "two\nlines"}}, untilText("pasted two")},
		{[]any{kit.Args{"mouse": kit.Args{"row": 4, "col": 6}}, key("Down"), key("Up")}, untilText("clicked 6,4")},
	}},
	{"password", "python3", []string{"-c", "import getpass; p = getpass.getpass(); print('length', len(p)); input()"}, "", []move{
		{nil, untilText("Password:")}, {[]any{"hunter2hunter2", key("Enter")}, untilText("length 14")},
	}},
}

// bubbletea stands for the program of testdata/bubbletea, which the test builds.
const bubbletea = "testdata/bubbletea"

// program is where a program is; the test that needs it is skipped without it.
func (l live) program(t *testing.T) string {
	if l.cmd == bubbletea {
		return buildBubbletea(t)
	}
	path, err := exec.LookPath(l.cmd)
	if err != nil {
		t.Skipf("%s is not installed: %v", l.name, err)
	}
	return path
}

// buildBubbletea builds a module of its own, outside the repository, which does
// not depend on what that needs.
func buildBubbletea(t *testing.T) string {
	dir := t.TempDir()
	for from, to := range map[string]string{"go.mod": "go.mod", "go.sum": "go.sum", "main.go.txt": "main.go"} {
		text, err := os.ReadFile(filepath.Join(bubbletea, from))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, to), text, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	run := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %w: %s", args[0], err, out)
		}
		return nil
	}
	if err := run("mod", "download"); err != nil {
		t.Skipf("the modules of %s cannot be fetched: %v", bubbletea, err)
	}
	if err := run("build", "-o", "bubbletea", "."); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "bubbletea")
}

// sizes are what a terminal goes through, one after each move.
var sizes = [][2]int{{132, 43}, {40, 12}, {80, 24}}

// TestLive drives real programs through the tools of an agent. Whenever the
// screen has settled, what was recorded until then is played to other terminals,
// and ours must show what they agree on, or what one of them shows.
func TestLive(t *testing.T) {
	if testing.Short() {
		t.Skip("drives real programs")
	}
	bin, remove, err := kit.Bin()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(remove) // after the world, whose kernel is known by its binary
	w := kit.NewWorld(t, bin)
	w.StartKernel()
	agent, raw := w.Facade("live"), w.Raw("live")
	others := startOthers(t)
	for _, l := range lives {
		t.Run(l.name, func(t *testing.T) {
			l.cmd = l.program(t)
			(&stage{t: t, agent: agent, raw: raw, w: w, others: others}).play(l)
		})
	}
	t.Logf("%d screens compared with two other terminals, %d of them with xterm as the arbiter, %d with no arbiter at hand",
		others.compared, others.judged, others.open)
}

// others are the terminals that ours is compared with. One alone has ways of its
// own (tmux draws lines as letters in some locales); what two agree on counts.
// Where they do not, and where they have wrapped lines anew that xterm cuts,
// xterm itself decides.
type others struct {
	peers                  []peer
	arbiter                peer
	compared, judged, open int
}

func startOthers(t *testing.T) *others {
	o := &others{}
	if _, err := exec.LookPath("tmux"); err != nil || os.Getenv("SHOAL_XTERM_DIR") == "" {
		t.Log("no other terminals to compare with: they are tmux, and @xterm/headless by SHOAL_XTERM_DIR")
		return o
	}
	o.peers, o.arbiter = []peer{startTmux(t), startHeadless(t)}, startArbiter(t)
	return o
}

// judge says what is wrong with what ours shows; "" for nothing. Wrapped says
// that the others may have wrapped lines anew.
func (o *others) judge(c *testCase, ours shown, wrapped bool) (string, error) {
	if len(o.peers) == 0 {
		return "", nil
	}
	o.compared++
	var seen []shown
	for _, p := range o.peers {
		s, err := p.play(c)
		if err != nil {
			return "", err
		}
		seen = append(seen, s)
	}
	agree := seen[0].equal(seen[1])
	switch {
	case seen[0].equal(ours) && agree, !agree && slices.ContainsFunc(seen, ours.equal):
		return "", nil
	case agree && !wrapped:
		return fmt.Sprintf("got  %v\nthe others show %v", ours, seen[0]), nil
	case o.arbiter == nil:
		o.open++
		return "", nil
	}
	o.judged++
	s, err := o.arbiter.play(c)
	if err != nil || s.equal(ours) {
		return "", err
	}
	return fmt.Sprintf("got  %v\nxterm shows %v\nthe others show %v", ours, s, seen), nil
}

// stage is where one program plays.
type stage struct {
	t      *testing.T
	agent  *kit.Facade
	raw    *kit.Raw
	w      *kit.World
	others *others
	// wrapped says that the main screen has had another width.
	wrapped bool
}

func (s *stage) play(l live) {
	dir := s.t.TempDir()
	setup := exec.Command("sh", "-c", l.setup)
	setup.Dir, setup.Env = dir, s.w.Env
	if out, err := setup.CombinedOutput(); err != nil {
		s.t.Fatalf("%v: %s", err, out)
	}
	pty := s.agent.MustTool("shoal_pty_open", kit.Args{"cmd": l.cmd, "args": l.args, "cwd": dir, "record": true}).Structured.At("pty_id").Str()
	for i, m := range l.moves {
		var got kit.Val
		if m.input == nil {
			got = s.agent.MustTool("shoal_pty_read", kit.Args{"pty_id": pty, "wait": m.wait}).Structured
		} else {
			got = s.agent.MustTool("shoal_pty_send", kit.Args{"pty_id": pty, "input": m.input, "wait": m.wait}).Structured
		}
		if !got.At("wait", "met").Bool() {
			s.t.Errorf("move %d: wait %v, screen\n%s", i, got.At("wait"), strings.Join(got.At("screen").Strs(), "\n"))
		}
		s.settle(pty, fmt.Sprintf("after move %d", i))
		size := sizes[i%len(sizes)]
		s.wrapped = s.wrapped || !got.At("alt_screen").Bool() && int64(size[0]) != got.At("cols").Int()
		s.agent.MustTool("shoal_pty_resize", kit.Args{"pty_id": pty, "cols": size[0], "rows": size[1]})
		s.settle(pty, fmt.Sprintf("at %dx%d", size[0], size[1]))
	}
	closed := s.agent.MustTool("shoal_pty_close", kit.Args{"pty_id": pty}).Structured
	if closed.At("recording", "ref").Str() == "" {
		s.t.Errorf("closed without a recording: %v", closed)
	}
}

// settle waits for the screen to be still and holds it against the others.
func (s *stage) settle(pty, when string) {
	for range 10 {
		seen := s.agent.MustTool("shoal_pty_read", kit.Args{"pty_id": pty, "wait": calm}).Structured
		kept := s.raw.Must("pty.record", kit.Args{"pty_id": pty})
		again := s.raw.Must("pty.read", kit.Args{"pty_id": pty})
		if seen.At("version").Int() == again.At("version").Int() {
			s.compare(seen, s.blob(kept.At("log").Str()), when)
			return
		}
	}
	s.t.Logf("%s: it never holds still", when)
}

// compare plays a log to our engine and to the others.
func (s *stage) compare(seen kit.Val, log []byte, when string) {
	c := caseOf(s.t, log)
	cursor := seen.At("cursor")
	want := shown{
		Screen: seen.At("screen").Strs(), Row: int(cursor.At("row").Int()), Col: int(cursor.At("col").Int()), Hidden: cursor.At("hidden").Bool(),
	}.trimmed()
	if got, err := ours(screen.New).play(c); err != nil || !got.equal(want) {
		s.t.Errorf("%s: the recording shows %v %v\nthe agent saw %v", when, got, err, want)
	}
	wrong, err := s.others.judge(c, want, s.wrapped)
	if err != nil {
		s.t.Fatal(err)
	}
	if wrong != "" {
		s.t.Errorf("%s: %s", when, wrong)
	}
}

// caseOf turns a log into steps.
func caseOf(t *testing.T, log []byte) *testCase {
	t.Helper()
	r, err := recording.NewReader(bytes.NewReader(log))
	if err != nil {
		t.Fatal(err)
	}
	c := &testCase{Cols: r.Header.Cols, Rows: r.Header.Rows}
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return c
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e.Kind {
		case recording.Output:
			c.Steps = append(c.Steps, step{Write: e.Data})
		case recording.Resize:
			size := make([]int, 2)
			fmt.Sscanf(string(e.Data), "%dx%d", &size[0], &size[1])
			c.Steps = append(c.Steps, step{Resize: size})
		}
	}
}

// blob reads content of the content store.
func (s *stage) blob(ref string) []byte {
	var all []byte
	for {
		piece := s.raw.Must("blob.get", kit.Args{"hash": ref, "offset": len(all)})
		b, err := base64.StdEncoding.DecodeString(piece.At("data_base64").Str())
		if err != nil {
			s.t.Fatal(err)
		}
		all = append(all, b...)
		if !piece.Has("next") {
			return all
		}
	}
}
