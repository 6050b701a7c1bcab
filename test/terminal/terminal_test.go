// Package terminal runs byte sequences with known screens through the terminal
// engines.
//
// The cases are data, read from SHOAL_TERMINAL_DIR, by default
// ../shared/terminal beside the repository. Each is run on our own engine as it
// stands and again with its bytes in pieces of 1, 7 and 4096; the last line says
// how many passed. The second engine must do as well but for what wrong.txt
// lists.
//
// Where tmux, and xterm in its headless form, are installed, random programs and
// recorded sessions are also compared with what those show.
package terminal

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/ptyactor/screen"
)

// total counts the cases that our own engine has run.
var total struct{ passed, failed, skipped int }

func TestMain(m *testing.M) {
	if socket := os.Getenv(paneEnv); socket != "" {
		os.Exit(paneMain(socket))
	}
	if socket := os.Getenv(printEnv); socket != "" {
		os.Exit(printMain(socket))
	}
	code := m.Run()
	fmt.Printf("%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
	os.Exit(code)
}

// pieces are the sizes of writes that must make no difference; 0 is the writes
// of the data.
var pieces = []int{0, 1, 7, 4096}

// count notes the outcome of one case; wrong is "" when it passed.
func count(t *testing.T, id, wrong string) {
	t.Helper()
	if wrong == "" {
		total.passed++
		return
	}
	total.failed++
	t.Errorf("%s: %s", id, wrong)
}

func TestCases(t *testing.T) {
	for _, c := range load[testCase](t, "cases.jsonl") {
		count(t, c.ID, inPieces(c, (*testCase).judge))
	}
}

func TestQueries(t *testing.T) {
	for _, c := range load[testCase](t, "queries.jsonl") {
		count(t, c.ID, inPieces(c, (*testCase).judgeReplies))
	}
}

// inPieces judges our own engine with every size of writes.
func inPieces(c testCase, judge func(*testCase, screen.Screen) string) string {
	for _, piece := range pieces {
		if wrong := judge(&c, c.play(screen.New, piece)); wrong != "" {
			return fmt.Sprintf("in pieces of %d: %s\n%s", piece, wrong, c.program())
		}
	}
	return ""
}

// program is the steps of a case, to be read.
func (c *testCase) program() string {
	var b strings.Builder
	for _, st := range c.Steps {
		if st.Resize != nil {
			fmt.Fprintf(&b, " resize %v", st.Resize)
			continue
		}
		fmt.Fprintf(&b, " %.300q", st.Write)
	}
	return b.String()
}

// judge says what is wrong with a screen, "" for nothing.
func (c *testCase) judge(s screen.Screen) string {
	shot := s.Snapshot()
	ok := c.shows(shot)
	for _, p := range c.Also {
		ok = ok || p.shows(shot)
	}
	switch {
	case !ok:
		return fmt.Sprintf("got %q cursor %d,%d hidden %v, want %q %+v", shot.Lines, shot.Row, shot.Col, shot.Hidden, c.Screen, c.Cursor)
	case c.Title != nil && shot.Title != *c.Title:
		return fmt.Sprintf("got title %q, want %q", shot.Title, *c.Title)
	case c.Scrollback != nil:
		if lines, _, _ := s.Scrollback(0, 1<<40); plain(lines) != plain(c.Scrollback) {
			return fmt.Sprintf("got scrollback %q, want %q", lines, c.Scrollback)
		}
	case s.Faults() > 0:
		return "the engine broke"
	}
	return ""
}

// judgeReplies says what is wrong with the answers to queries.
func (c *testCase) judgeReplies(s screen.Screen) string {
	got := s.Replies()
	switch {
	case c.RepliesRE != "" && !regexp.MustCompile(c.RepliesRE).MatchString(latin1(got)):
		return fmt.Sprintf("got %q, want %s", got, c.RepliesRE)
	case c.RepliesRE == "" && !bytes.Equal(got, *c.Replies):
		return fmt.Sprintf("got %q, want %q", got, *c.Replies)
	}
	return ""
}

func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

func TestKeys(t *testing.T) {
	for _, c := range load[testCase](t, "keys.jsonl") {
		count(t, c.ID, c.judgeKey())
	}
}

// judgeKey puts an engine into the mode of the case and encodes the key.
func (c *testCase) judgeKey() string {
	s := screen.New(80, 24, 0)
	for _, m := range []struct {
		on  bool
		seq string
	}{{c.Mode.DECCKM, "\x1b[?1h"}, {c.Mode.DECKPAM, "\x1b="}, {c.Mode.LNM, "\x1b[20h"}, {c.Mode.DECBKM, "\x1b[?67h"}} {
		if m.on {
			s.Write([]byte(m.seq))
		}
	}
	name := ""
	for _, m := range c.Mods {
		name += m + "-"
	}
	key, mods, err := screen.ParseKey(name + c.Key)
	if err != nil {
		return err.Error()
	}
	got, err := screen.EncodeKey(key, mods, s.Modes())
	if err != nil || !bytes.Equal(got, c.Bytes) {
		return fmt.Sprintf("%s%s: got %q %v, want %q", name, c.Key, got, err, c.Bytes)
	}
	return ""
}

// Inputs that break other engines must end soon, leave the cursor inside, and
// leave an engine that works.
func TestLimits(t *testing.T) {
	for _, c := range load[testCase](t, "limits.jsonl") {
		count(t, c.ID, c.judgeLimit())
	}
}

// limitTime is the wall time that an input of limits.jsonl may take, the best of
// limitTries.
const (
	limitTime  = 200 * time.Millisecond
	limitTries = 3
)

func (c *testCase) judgeLimit() string {
	best := time.Hour
	for range limitTries {
		began := time.Now()
		s := c.play(screen.New, 0)
		best = min(best, time.Since(began))
		if wrong := outside(s); wrong != "" {
			return wrong
		}
		s.Write([]byte("\x18\x1bcok"))
		if got := strings.Join(s.Snapshot().Lines, ""); !strings.HasSuffix("ok", got) || got == "" {
			return fmt.Sprintf("afterwards %q, want ok", got)
		}
		if best <= limitTime {
			return ""
		}
	}
	return fmt.Sprintf("took %v, want %v at most", best, limitTime)
}

// outside says what is beyond the grid.
func outside(s screen.Screen) string {
	shot := s.Snapshot()
	if shot.Row < 0 || shot.Row >= shot.Rows || shot.Col < 0 || shot.Col >= shot.Cols || len(shot.Lines) != shot.Rows {
		return fmt.Sprintf("%d lines and cursor %d,%d on %dx%d", len(shot.Lines), shot.Row, shot.Col, shot.Cols, shot.Rows)
	}
	for y, line := range shot.Lines {
		if n := screen.Width(line); n > shot.Cols {
			return fmt.Sprintf("line %d takes %d of %d columns: %q", y, n, shot.Cols, line)
		}
	}
	if s.Faults() > 0 {
		return fmt.Sprintf("the engine broke %d times", s.Faults())
	}
	return ""
}

// Recorded programs show the right screen at every snapshot.
func TestSessions(t *testing.T) {
	for _, c := range load[session](t, "sessions/sessions.jsonl") {
		raw := unpack(t, c.File)
		wrong := make([]string, len(c.Events)) // at each event
		for _, piece := range pieces {
			for i, w := range c.replay(raw, screen.New, piece) {
				if wrong[i] == "" && w != "" {
					wrong[i] = fmt.Sprintf("in pieces of %d: %s", piece, w)
				}
			}
		}
		for i, e := range c.Events {
			if e.Screen != nil {
				count(t, fmt.Sprintf("%s@%d", c.ID, e.Offset), wrong[i])
			}
		}
	}
}

// replay plays a session; it says what is wrong at each event.
func (c *session) replay(raw []byte, of engine, piece int) []string {
	wrong := make([]string, len(c.Events))
	s, at := of(c.Cols, c.Rows, scrollbackLines), 0
	for i, e := range c.Events {
		feed(s, raw[at:e.Offset], piece)
		at = e.Offset
		if e.Resize != nil {
			s.Resize(e.Resize[0], e.Resize[1])
		}
		if shot := s.Snapshot(); e.Screen != nil && !e.shows(shot) {
			wrong[i] = fmt.Sprintf("got\n%s\ncursor %d,%d hidden %v, want\n%s\n%+v", plain(shot.Lines), shot.Row, shot.Col, shot.Hidden, plain(e.Screen), e.Cursor)
		}
	}
	return wrong
}

// The second engine is not ours; what it gets wrong is listed, so that the list
// can only shrink.
func TestSecondEngine(t *testing.T) {
	listed := readWrong(t)
	check := func(id, wrong string) {
		t.Helper()
		switch {
		case listed[id] && wrong == "":
			t.Errorf("%s: right, so take it off wrong.txt", id)
		case !listed[id] && wrong != "":
			t.Errorf("%s: %s", id, wrong)
		}
	}
	for _, c := range load[testCase](t, "cases.jsonl") {
		check(c.ID, c.judge(c.play(screen.NewXVT, 0)))
	}
	for _, c := range load[testCase](t, "queries.jsonl") {
		check(c.ID, c.judgeReplies(c.play(screen.NewXVT, 0)))
	}
	for _, c := range load[testCase](t, "limits.jsonl") {
		check(c.ID, outside(c.play(screen.NewXVT, 0)))
	}
	for _, c := range load[session](t, "sessions/sessions.jsonl") {
		for i, wrong := range c.replay(unpack(t, c.File), screen.NewXVT, 4096) {
			check(fmt.Sprintf("%s@%d", c.ID, c.Events[i].Offset), wrong)
		}
	}
}

func readWrong(t *testing.T) map[string]bool {
	f, err := os.Open("wrong.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	listed := map[string]bool{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		if id, _, _ := strings.Cut(in.Text(), " "); id != "" && id != "#" {
			listed[id] = true
		}
	}
	return listed
}
