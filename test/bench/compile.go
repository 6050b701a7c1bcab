package main

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"time"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// The limits of what is measured in the bench's own process.
const (
	compileMost = 0.001  // seconds for a program of 100 lines
	cachedMost  = 5e-6   // seconds for one that has been compiled
	rowMost     = 200.0  // bytes of a table row of five columns
	compileRuns = 100    // programs compiled for one number
	cachedRuns  = 20_000 // lookups for one number
	tableRows   = 100_000
)

// hundredLines is everyday code of 100 lines.
var hundredLines = strings.Repeat(`# count what matters
fn report(dir: path, limit: int = 10) {
  let rows = ls src
  rows.where(r => r.size > 1mb && r.type == "file").skip(1)
    .sort_by(.size)
    .map(r => {name: r.name, kb: r.size / 1kb})
    .take(limit)
}
var total = 0
for i in 1..100 {
  if i % 3 == 0 { continue }
  total += i * 2 - 1
}
let out1 = git log --oneline -n 20 --format="%h {total}" && echo done
match total { 0 => "none"; int n if n > 10 => "many: {n}"; _ => "some" }
try { ^false } catch e { echo "failed: {e.code}" }
python3 {
  import json
  print(json.dumps({"k": [1, 2]}))
}
`, 5)

// compileRows are measured in the bench's own process.
func compileRows() []row {
	return []row{
		{key: "lang.compile", what: "parse and compile 100 lines", unit: micros, ours: compileCost, most: compileMost},
		{key: "lang.cached", what: "compile 100 lines again", unit: micros, ours: cachedCost, most: cachedMost},
		{key: "lang.row", what: "memory of a table row of five columns, two of them str", unit: octets, ours: rowMemory, most: rowMost},
	}
}

// ownTime is the processor time of this process so far.
func ownTime() (time.Duration, error) {
	var u syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), err
}

// perRun is the processor time in seconds of one of n runs.
func perRun(n int, run func(i int) error) (float64, error) {
	before, err := ownTime()
	if err != nil {
		return 0, err
	}
	for i := range n {
		if err := run(i); err != nil {
			return 0, err
		}
	}
	after, err := ownTime()
	return (after - before).Seconds() / float64(n), err
}

func compileCost() (float64, error) {
	c, s := lang.NewCompiler(), interp.NewState("/", nil)
	return perRun(compileRuns, func(i int) error {
		return compiled(c, s, fmt.Sprintf("%s# %d", hundredLines, i)) // new to the cache
	})
}

func cachedCost() (float64, error) {
	c, s := lang.NewCompiler(), interp.NewState("/", nil)
	if err := compiled(c, s, hundredLines); err != nil {
		return 0, err
	}
	return perRun(cachedRuns, func(int) error { return compiled(c, s, hundredLines) })
}

func compiled(c *lang.Compiler, s *interp.State, src string) error {
	if _, err := c.Compile(src, s); err != nil {
		return fmt.Errorf("compile: %s", err.Msg)
	}
	return nil
}

// evaluateHere runs a source in this process.
func evaluateHere(c *lang.Compiler, s *interp.State, src string) (value.Value, error) {
	p, perr := c.Compile(src, s)
	if perr != nil {
		return value.Null, fmt.Errorf("compile %q: %s", src, perr.Msg)
	}
	return p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{}})
}

// rowMemory is what a row adds to the heap.
func rowMemory() (float64, error) {
	c, s := lang.NewCompiler(), interp.NewState("/", nil)
	before := liveBytes()
	v, err := evaluateHere(c, s, fmt.Sprintf(`(0..%d).map(i => {id: i, name: "name {i}", age: i %% 100, score: i / 7.0, city: "city {i %% 50}"})`, tableRows))
	if err != nil {
		return 0, err
	}
	after := liveBytes()
	runtime.KeepAlive(v)
	return float64(after-before) / tableRows, nil
}

// liveBytes is the size of what the heap needs.
func liveBytes() int64 {
	runtime.GC()
	runtime.GC() // what finalizers have let go
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
