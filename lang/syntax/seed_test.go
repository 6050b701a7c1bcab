package syntax

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

// addSeeds gives a fuzzer the seeds and the sources of our conformance cases.
func addSeeds(f *testing.F) {
	f.Helper()
	for _, s := range seeds {
		f.Add(s)
	}
	for _, src := range ownSources(f) {
		f.Add(src)
	}
}

// ownSources are the sources of the conformance cases of this repository.
func ownSources(tb testing.TB) (all []string) {
	tb.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", "test", "conformance", "cases", "*.jsonl"))
	if err != nil || len(files) == 0 {
		tb.Fatalf("no conformance cases: %v", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			tb.Fatal(err)
		}
		defer f.Close()
		in := bufio.NewScanner(f)
		in.Buffer(nil, 1<<20)
		for in.Scan() {
			var c conformanceCase
			if err := json.Unmarshal(in.Bytes(), &c); err != nil {
				tb.Fatalf("%s: %v", name, err)
			}
			all = append(all, c.Src)
		}
		if err := in.Err(); err != nil {
			tb.Fatal(err)
		}
	}
	return all
}
