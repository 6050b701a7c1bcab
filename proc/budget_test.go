package proc

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What all streams have in memory is bounded; the rest lies in files, and
// nothing of it is lost.
func TestMemoryOfAllCaptures(t *testing.T) {
	r := newRunner(t, Limits{Memory: 1 << 20})
	var all []*Capture
	for range 8 {
		c := r.newCapture(0, 0)
		for range 8 {
			c.s.add(bytes.Repeat([]byte("x"), 100_000))
		}
		all = append(all, c)
	}
	most := int64(1<<20 + 8*firstBytes)
	if used := r.budget.memory.used.Load(); used < 1<<20 || used > most {
		t.Errorf("in memory: %d bytes, want between %d and %d", used, 1<<20, most)
	}
	for i, c := range all {
		if got := c.Bytes(); len(got) != 800_000 || strings.Trim(string(got), "x") != "" {
			t.Errorf("capture %d: %d bytes", i, len(got))
		}
		if _, _, resident := c.s.sizes(); resident < firstBytes {
			t.Errorf("capture %d: only %d bytes in memory", i, resident)
		}
		c.Close()
		c.Close()
	}
	if m, d := r.budget.memory.used.Load(), r.budget.disk.used.Load(); m != 0 || d != 0 {
		t.Errorf("after all are closed: %d bytes of memory, %d of disk", m, d)
	}
}

// What nobody refers to any more takes nothing, closed or not.
func TestForgottenCapture(t *testing.T) {
	r := newRunner(t, Limits{CaptureCap: 1000, SpillCap: 10_000})
	r.newCapture(0, 0).s.add(make([]byte, 5000))
	if m, d := r.budget.memory.used.Load(), r.budget.disk.used.Load(); m != 1000 || d != 4000 {
		t.Fatalf("%d bytes of memory, %d of disk, want 1000 and 4000", m, d)
	}
	within(t, 10*time.Second, "the budget is given back", func() bool {
		runtime.GC()
		return r.budget.memory.used.Load() == 0 && r.budget.disk.used.Load() == 0
	})
}

// Beyond the disk that all may take together output is counted only, and a note
// says why.
func TestDiskOfAllCaptures(t *testing.T) {
	r := newRunner(t, Limits{CaptureCap: 1 << 10, Disk: 100_000})
	res := sh(t, r, "head -c 500000 /dev/zero")
	if res.Stdout.Total() != 500_000 || res.Stdout.Len() > 102_000 {
		t.Errorf("kept %d of %d bytes", res.Stdout.Len(), res.Stdout.Total())
	}
	if len(res.Notes) != 1 || res.Notes[0].Code != NoteTruncated || !strings.Contains(res.Notes[0].Msg, errDiskBudget.Error()) {
		t.Errorf("notes: %+v", res.Notes)
	}
	if err := res.Stdout.lost(); !errors.Is(err, errDiskBudget) {
		t.Errorf("lost: %v", err)
	}
	res.Stdout.Close()
	res.Stderr.Close()
	if res := sh(t, r, "head -c 50000 /dev/zero"); res.Stdout.Len() != 50_000 || len(res.Notes) != 0 {
		t.Errorf("after the first was closed: kept %d, notes %+v", res.Stdout.Len(), res.Notes)
	}
}

// A stream is written to its file as far as it goes, whoever shares it.
func TestSharedOutputWithoutMemory(t *testing.T) {
	r := newRunner(t, Limits{Memory: 1})
	out := r.OpenOutput(7, nil)
	defer out.Close()
	spec := shSpec(7, "yes 0123456789 | head -c 2000000")
	spec.Stdout = out.Stdout
	res, err := r.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	all := make([]byte, 2_000_001)
	n, _ := out.Stdout.ReadAt(all, 0)
	if want := strings.Repeat("0123456789\n", 200_000)[:2_000_000]; string(all[:n]) != want || string(res.Stdout.Bytes()) != want {
		t.Errorf("output has %d bytes, capture %d", n, res.Stdout.Len())
	}
	if used := r.budget.memory.used.Load(); used > 4*firstBytes+1 {
		t.Errorf("in memory: %d bytes", used)
	}
}
