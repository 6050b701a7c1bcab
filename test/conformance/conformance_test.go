// Package conformance runs programs with known results through the whole
// language: parser, engine, library, on real files and programs.
//
// The cases are data. A shared set is read from SHOAL_CONFORMANCE_DIR, by
// default ../shared/conformance beside the repository, and our own from cases/.
// Every case is also planned, and what its run does must be in the plan.
//
// What needs parts that are not built yet is listed in later.txt; a listed case
// that passes is a failure, so the list can only shrink.
package conformance

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"shoal.dev/shoal/lang"
)

// tally is the result of a whole set of cases.
type tally struct{ passed, failed, skipped int }

var total struct {
	sync.Mutex
	tally
}

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Printf("%d passed, %d failed, %d skipped\n", total.passed, total.failed, total.skipped)
	os.Exit(code)
}

func TestShared(t *testing.T) {
	dir := os.Getenv("SHOAL_CONFORMANCE_DIR")
	if dir == "" {
		dir = filepath.Join("..", "..", "..", "shared", "conformance")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no shared cases: %v", err)
	}
	runCases(t, dir)
}

func TestOwn(t *testing.T) { runCases(t, "cases") }

// runCases runs the cases of a directory, as many at once as there are
// processors.
func runCases(t *testing.T, dir string) {
	cases, err := readCases(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) == 0 {
		t.Fatalf("no cases in %s", dir)
	}
	later, err := readLater("later.txt")
	if err != nil {
		t.Fatal(err)
	}
	compiler := lang.NewCompiler()
	hosts, err := newHosts()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hosts.runner.Close(); err != nil {
			t.Error(err)
		}
	})
	queue := make(chan *testCase)
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for c := range queue {
				verdict := runCase(t, c, hosts, compiler)
				record(t, c, verdict, later[c.name()])
			}
		})
	}
	seen := map[string]bool{}
	for i := range cases {
		c := &cases[i]
		if seen[c.ID] {
			t.Errorf("%s: id used twice", c.name())
		}
		seen[c.ID] = true
		queue <- c
	}
	close(queue)
	workers.Wait()
}

// runCase is "" when the case passes, "skip" when it says so itself, else what
// is wrong.
func runCase(t *testing.T, c *testCase, hosts *hosts, compiler *lang.Compiler) string {
	if c.Skip != "" {
		return "skip"
	}
	root, err := os.MkdirTemp(t.TempDir(), "case")
	if err != nil {
		t.Error(err)
		return err.Error()
	}
	dir, trash := filepath.Join(root, "cwd"), filepath.Join(root, "trash")
	if err := os.Mkdir(trash, 0o700); err != nil {
		return err.Error()
	}
	if err := os.Mkdir(dir, 0o777); err != nil {
		return err.Error()
	}
	if err := fill(dir, c.Fixture); err != nil {
		return err.Error()
	}
	r := evaluate(dir, c.Src, hosts.host(trash), compiler)
	if verdict := c.judge(r); verdict != "" || c.Form == "" {
		return verdict
	}
	if verdict := c.shows(r); verdict != "" {
		return verdict
	}
	if verdict := runCase(t, c.works(), hosts, compiler); verdict != "" {
		return "written as it says, " + verdict
	}
	return ""
}

func record(t *testing.T, c *testCase, verdict, later string) {
	total.Lock()
	defer total.Unlock()
	switch {
	case verdict == "skip":
		total.skipped++
	case later != "" && verdict == "":
		total.failed++
		t.Errorf("%s: passes, so take it off later.txt (%s)", c.name(), later)
	case later != "":
		total.skipped++
	case verdict != "":
		total.failed++
		t.Errorf("%s: %s\n\t%q", c.name(), verdict, c.Src)
	default:
		total.passed++
	}
}

// readLater reads lines of a case name and the reason why it has to wait.
func readLater(name string) (map[string]string, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	later := map[string]string{}
	in := bufio.NewScanner(f)
	for in.Scan() {
		line := strings.TrimSpace(in.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		id, reason, ok := strings.Cut(line, " ")
		if !ok {
			return nil, fmt.Errorf("%s: %q has no reason", name, line)
		}
		later[id] = strings.TrimSpace(reason)
	}
	return later, in.Err()
}
