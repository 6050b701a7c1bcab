package screen

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/unicode/norm"
)

// corpusDir is where the terminal data sets lie.
func corpusDir(t testing.TB) string {
	dir := os.Getenv("SHOAL_TERMINAL_DIR")
	if dir == "" {
		dir = "../../../shared/terminal"
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no terminal data at %s: set SHOAL_TERMINAL_DIR", dir)
	}
	return dir
}

type step struct {
	Write  []byte `json:"write_b64"`
	Repeat int    `json:"repeat"`
	Resize []int  `json:"resize"`
}

type picture struct {
	Screen []string `json:"screen"`
	Cursor *struct {
		Row, Col int
	} `json:"cursor"`
	Hidden *bool `json:"hidden"`
}

type corpusCase struct {
	ID, Group  string
	Cols, Rows int
	Steps      []step
	picture
	Also       []picture
	Scrollback []string
	Title      *string
	Replies    *[]byte `json:"replies_b64"`
	RepliesRE  string  `json:"replies_re"`

	Key  string
	Mods []string
	Mode struct {
		DECCKM, DECKPAM, LNM, DECBKM bool
	}
	Bytes []byte `json:"bytes_b64"`
}

func load(t testing.TB, name string) []corpusCase {
	f, err := os.Open(filepath.Join(corpusDir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var cases []corpusCase
	in := bufio.NewScanner(f)
	in.Buffer(nil, 8<<20)
	for in.Scan() {
		var c corpusCase
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		cases = append(cases, c)
	}
	return cases
}

func (c corpusCase) play() Screen {
	s := NewXVT(c.Cols, c.Rows, 300)
	for _, st := range c.Steps {
		if st.Resize != nil {
			s.Resize(st.Resize[0], st.Resize[1])
			continue
		}
		for range max(st.Repeat, 1) {
			s.Write(st.Write)
		}
	}
	return s
}

var invisible = regexp.MustCompile("[\u200b-\u200f\u2060\ufeff]")

func plain(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(invisible.ReplaceAllString(norm.NFC.String(l), ""), " "))
	}
	return strings.Join(out, "\n")
}

func (p picture) matches(s *Snapshot) bool {
	return plain(p.Screen) == plain(s.Lines) &&
		(p.Cursor == nil || p.Cursor.Row == s.Row && p.Cursor.Col == s.Col) &&
		(p.Hidden == nil || *p.Hidden == s.Hidden)
}

// The engine behind the interface cannot draw everything right; the share that
// it does must not fall.
func TestCases(t *testing.T) {
	const want = 0.98
	cases := load(t, "cases.jsonl")
	var failed []string
	for _, c := range cases {
		s := c.play()
		shot := s.Snapshot()
		ok := c.matches(shot)
		for _, p := range c.Also {
			ok = ok || p.matches(shot)
		}
		if c.Title != nil {
			ok = ok && shot.Title == *c.Title
		}
		if c.Scrollback != nil {
			lines, _, _ := s.Scrollback(0, 1<<40)
			ok = ok && plain(lines) == plain(c.Scrollback)
		}
		if s.Faults() > 0 {
			t.Errorf("%s: the emulator broke", c.ID)
		}
		if !ok {
			failed = append(failed, c.ID)
			if os.Getenv("SHOAL_TERMINAL_VERBOSE") != "" {
				t.Logf("%s\n got %q %d,%d hidden %v\nwant %q %+v", c.ID, shot.Lines, shot.Row, shot.Col, shot.Hidden, c.Screen, c.Cursor)
			}
		}
	}
	share := 1 - float64(len(failed))/float64(len(cases))
	t.Logf("%d of %d cases right; wrong: %s", len(cases)-len(failed), len(cases), strings.Join(failed, " "))
	if share < want {
		t.Errorf("got %.3f right, want at least %.2f", share, want)
	}
}

func TestQueries(t *testing.T) {
	var failed []string
	cases := load(t, "queries.jsonl")
	for _, c := range cases {
		got := c.play().Replies()
		ok := false
		switch {
		case c.RepliesRE != "":
			ok = regexp.MustCompile(c.RepliesRE).MatchString(latin1(got))
		case c.Replies != nil:
			ok = bytes.Equal(got, *c.Replies)
		}
		if !ok {
			failed = append(failed, c.ID)
			t.Logf("%s: got %q", c.ID, got)
		}
	}
	if len(failed) > 4 {
		t.Errorf("%d of %d wrong: %v", len(failed), len(cases), failed)
	}
}

func latin1(b []byte) string {
	r := make([]rune, len(b))
	for i, c := range b {
		r[i] = rune(c)
	}
	return string(r)
}

func TestKeyCases(t *testing.T) {
	for _, c := range load(t, "keys.jsonl") {
		var name string
		for _, m := range c.Mods {
			name += m + "-"
		}
		key, mods, err := ParseKey(name + c.Key)
		if err != nil {
			t.Errorf("%s: %v", c.ID, err)
			continue
		}
		got, err := EncodeKey(key, mods, Modes{AppCursor: c.Mode.DECCKM, AppKeypad: c.Mode.DECKPAM, NewLine: c.Mode.LNM, BackarrowIsBS: c.Mode.DECBKM})
		if err != nil || !bytes.Equal(got, c.Bytes) {
			t.Errorf("%s (%s%s %+v): got %q %v, want %q", c.ID, name, c.Key, c.Mode, got, err, c.Bytes)
		}
	}
}

// Inputs that break other engines must end soon, leave the cursor inside, and
// leave an engine that works.
func TestLimits(t *testing.T) {
	for _, c := range load(t, "limits.jsonl") {
		began := time.Now()
		s := c.play()
		if took := time.Since(began); took > 200*time.Millisecond {
			t.Logf("%s: took %v", c.ID, took)
		}
		shot := s.Snapshot()
		if shot.Row < 0 || shot.Row >= shot.Rows || shot.Col < 0 || shot.Col >= shot.Cols || len(shot.Lines) != shot.Rows {
			t.Errorf("%s: cursor %d,%d outside %dx%d", c.ID, shot.Row, shot.Col, shot.Cols, shot.Rows)
		}
		if s.Faults() > 0 {
			t.Errorf("%s: the emulator broke %d times", c.ID, s.Faults())
		}
		s.Write([]byte("\x18\x1bcok"))
		if got := s.Snapshot().Lines[0]; got != "ok"[:min(2, shot.Cols)] && shot.Cols > 1 {
			t.Errorf("%s: afterwards %q, want ok", c.ID, got)
		}
	}
}

func TestSessions(t *testing.T) {
	f, err := os.Open(filepath.Join(corpusDir(t), "sessions/sessions.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	right, all := 0, 0
	var wrong []string
	for in.Scan() {
		var c struct {
			ID, Name, File string
			Cols, Rows     int
			Events         []struct {
				Offset int
				Resize []int
				picture
			}
		}
		if err := json.Unmarshal(in.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		name := c.File
		if name == "" {
			name = c.ID + c.Name + ".raw.gz"
		}
		raw := unpack(t, filepath.Join(corpusDir(t), "sessions", filepath.Base(name)))
		s := NewXVT(c.Cols, c.Rows, 300)
		at, bad := 0, 0
		for _, e := range c.Events {
			for at < e.Offset {
				n := min(1+rand.IntN(3000), e.Offset-at)
				s.Write(raw[at : at+n])
				at += n
			}
			if e.Resize != nil {
				s.Resize(e.Resize[0], e.Resize[1])
			}
			if e.Screen != nil {
				all++
				if e.matches(s.Snapshot()) {
					right++
				} else {
					bad++
				}
			}
		}
		if s.Faults() > 0 {
			t.Errorf("%s: the emulator broke", name)
		}
		if bad > 0 {
			wrong = append(wrong, name)
		}
	}
	t.Logf("%d of %d snapshots right; wrong in %v", right, all, wrong)
	if all == 0 || float64(right) < 0.99*float64(all) {
		t.Errorf("got %d of %d right, want 99%%", right, all)
	}
}

func unpack(t *testing.T, name string) []byte {
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
