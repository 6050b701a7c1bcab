package syntax

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// conformanceCase is the part of a shared case that concerns parsing.
type conformanceCase struct {
	ID       string `json:"id"`
	Suite    string `json:"suite"`
	Src      string `json:"src"`
	Fails    bool   `json:"parse_error"`
	Contains string `json:"parse_error_contains"`
}

func conformanceCases(tb testing.TB) []conformanceCase {
	tb.Helper()
	dir := os.Getenv("SHOAL_CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "conformance")
	}
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil || len(files) == 0 {
		tb.Skipf("no *.jsonl in %s; set SHOAL_CONFORMANCE_DIR to the shared conformance cases", dir)
	}
	var cases []conformanceCase
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var c conformanceCase
			if err := json.Unmarshal(in.Bytes(), &c); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			cases = append(cases, c)
		}
		if err := in.Err(); err != nil {
			tb.Fatal(err)
		}
		f.Close()
	}
	return cases
}

func TestConformanceSourcesParse(t *testing.T) {
	for _, c := range conformanceCases(t) {
		_, err := Parse(c.Src, Names{})
		switch {
		case c.Fails && err == nil:
			t.Errorf("%s/%s: %q parses, want an error", c.Suite, c.ID, c.Src)
		case c.Fails && !strings.Contains(err.Msg, c.Contains):
			t.Errorf("%s/%s: %q: got message %q, want %q", c.Suite, c.ID, c.Src, err.Msg, c.Contains)
		case !c.Fails && err != nil:
			t.Errorf("%s/%s: %q: %s at %d", c.Suite, c.ID, c.Src, err.Msg, err.Start)
		}
	}
}
