package main

import (
	"runtime"
	"strings"
	"testing"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/builtin"
)

// collections are the sections of the reference whose methods work on many items,
// and what the growth programs call them.
var collections = map[string][]string{
	"list": {""}, "list, table, range, glob (a bounded stream collects first)": {"", "table ", "range "}, "record": {"record "},
	"str": {"str "}, "str, bytes": {"str ", "bytes "}, "stream": {"stream "}, "bytes": {"bytes "},
}

// elsewhere are methods whose work is that of files and channels, and those that
// have none.
var elsewhere = []string{
	"record emit", "record events", "record latest", "record take", // of channels, which hold few events
	"stream append", "stream save", "stream into", "stream render",
	"bytes bytes", "bytes load", "bytes ref", // of the content store
	// What rows, or ints, cannot be asked for.
	"table flatten", "table join", "table max", "table min", "table sum", "range flatten", "range join", "range select",
}

// TestGrowthKnowsEveryCollectionMethod holds the growth row against the library
// table.
func TestGrowthKnowsEveryCollectionMethod(t *testing.T) {
	known := map[string]bool{}
	for _, name := range elsewhere {
		known[name] = true
	}
	for _, g := range growth {
		known[g.method] = true
	}
	found := 0
	for section, prefixes := range collections {
		_, text, ok := strings.Cut(builtin.Reference(), "\n## Methods and fields of "+section+"\n")
		if !ok {
			t.Fatalf("the reference has no section for %s", section)
		}
		text, _, _ = strings.Cut(text, "\n## ")
		for line := range strings.Lines(text) {
			if rest, ok := strings.CutPrefix(line, "| `."); ok {
				name, _, _ := strings.Cut(rest, "(")
				found++
				for _, prefix := range prefixes {
					if !known[prefix+name] {
						t.Errorf("growth has no program for %s.%s", prefix, name)
					}
				}
			}
		}
	}
	if found < 90 {
		t.Errorf("found only %d methods in the reference", found)
	}
}

// TestGrowthProgramsAllocateLinearly counts bytes: a hundred times the items
// may take a hundred times the memory and a little more.
func TestGrowthProgramsAllocateLinearly(t *testing.T) {
	const small, large = 200, 20_000
	cost := func(g growing, n int) float64 {
		c := lang.NewCompiler()
		s, err := growthSession(c, n)
		if err != nil {
			t.Fatal(err)
		}
		var bytes float64
		for range 2 { // the first run compiles
			before := allocatedBytes()
			if _, err := evaluateHere(c, s, g.source(n)); err != nil {
				t.Fatalf("%s: %v", g.method, err)
			}
			bytes = float64(allocatedBytes() - before)
		}
		return bytes
	}
	for _, g := range growth {
		few, many := cost(g, small), cost(g, large)
		if ratio := many / max(few, 16*small); ratio > 3*large/small {
			t.Errorf("%s: %d items take %.0f bytes, %d take %.0f, %.0f times as many", g.method, small, few, large, many, ratio)
		}
	}
}

// allocatedBytes is what this process has allocated so far.
func allocatedBytes() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}
