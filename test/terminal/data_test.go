package terminal

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/text/unicode/norm"

	"shoal.dev/shoal/ptyactor/screen"
)

// dataDir is where the shared data sets lie.
func dataDir(t testing.TB) string {
	dir := os.Getenv("SHOAL_TERMINAL_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "terminal")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no terminal data: %v; set SHOAL_TERMINAL_DIR", err)
	}
	return dir
}

// step is one thing that happens to a terminal: output, or another size.
type step struct {
	Write  []byte `json:"write_b64"`
	Repeat int    `json:"repeat"`
	Resize []int  `json:"resize"`
}

// picture is what a terminal should show.
type picture struct {
	Screen []string
	Cursor *struct{ Row, Col int }
	Hidden *bool
}

// testCase is a line of cases.jsonl, queries.jsonl, keys.jsonl or limits.jsonl.
type testCase struct {
	ID, Group  string
	Cols, Rows int
	Steps      []step
	picture
	Also       []picture
	Scrollback []string
	Title      *string

	Replies   *[]byte `json:"replies_b64"`
	RepliesRE string  `json:"replies_re"`

	Key   string
	Mods  []string
	Mode  struct{ DECCKM, DECKPAM, LNM, DECBKM bool }
	Bytes []byte `json:"bytes_b64"`
}

// session is a line of sessions.jsonl.
type session struct {
	ID, File   string
	Cols, Rows int
	Events     []struct {
		Offset int
		Resize []int
		picture
	}
}

// load reads a file of JSON lines.
func load[T any](t testing.TB, name string) []T {
	f, err := os.Open(filepath.Join(dataDir(t), name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []T
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var one T
		if err := json.Unmarshal(in.Bytes(), &one); err != nil {
			t.Fatalf("%s, line %d: %v", name, len(all)+1, err)
		}
		all = append(all, one)
	}
	if err := in.Err(); err != nil || len(all) == 0 {
		t.Fatalf("%s: %d lines, %v", name, len(all), err)
	}
	return all
}

// unpack reads the bytes of a recorded session.
func unpack(t testing.TB, file string) []byte {
	f, err := os.Open(filepath.Join(dataDir(t), "sessions", file))
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

// scrollbackLines is how much the engines keep in these tests.
const scrollbackLines = 300

// engine makes a terminal.
type engine func(cols, rows, scrollback int) screen.Screen

// play gives the steps to a new terminal, in writes of at most piece bytes; 0
// leaves writes as they are.
func (c *testCase) play(of engine, piece int) screen.Screen {
	s := of(c.Cols, c.Rows, scrollbackLines)
	for _, st := range c.Steps {
		if st.Resize != nil {
			s.Resize(st.Resize[0], st.Resize[1])
			continue
		}
		for range max(st.Repeat, 1) {
			feed(s, st.Write, piece)
		}
	}
	return s
}

// feed writes in pieces.
func feed(s screen.Screen, b []byte, piece int) {
	if piece == 0 {
		piece = len(b)
	}
	for len(b) > 0 {
		n := min(piece, len(b))
		s.Write(b[:n])
		b = b[n:]
	}
}

var invisible = regexp.MustCompile("[\u200b-\u200f\u2060\ufeff]")

// plain is lines as they are compared.
func plain(lines []string) string {
	var out []string
	for _, l := range lines {
		out = append(out, strings.TrimRight(invisible.ReplaceAllString(norm.NFC.String(l), ""), " "))
	}
	return strings.Join(out, "\n")
}

// shows reports whether a snapshot is the picture.
func (p *picture) shows(s *screen.Snapshot) bool {
	return plain(p.Screen) == plain(s.Lines) &&
		(p.Cursor == nil || p.Cursor.Row == s.Row && p.Cursor.Col == s.Col) &&
		(p.Hidden == nil || *p.Hidden == s.Hidden)
}
