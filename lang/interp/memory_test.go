package interp_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// bounds gives a bound that leaves room beside what the test binary itself holds
// by now, and how an error names it.
func bounds() (memory *interp.Memory, name string) {
	runtime.GC()
	runtime.GC() // what the first one found is swept
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	limit := int64(stats.HeapInuse) + 96<<20
	return interp.NewMemory(limit), fmt.Sprintf("%d MiB", limit>>20)
}

// What piles up without end is ended by the bound, and the next program has
// its memory.
func TestMemoryEndsWhatPilesUp(t *testing.T) {
	memory, name := bounds()
	for _, src := range []string{
		`var l = []; while true { l = [l, 1, 2, 3, 4, 5, 6, 7] }`,
		`var l = []; while true { l = l + ["some text {l.len()}"] }`,
		`var s = "0123456789"; while true { s = s + s }`,
		`var l = [1, 2, 3]; while true { l = l + l }`,
	} {
		err := runBounded(t, memory, src)
		if e, ok := err.(*value.Error); !ok || e.Code != value.CodeOverflow || !strings.Contains(e.Msg, name) {
			t.Errorf("%s: got %v, want overflow that names the bound", src, err)
		}
		if err := runBounded(t, memory, `var s = "0123456789"; for i in 0..20 { s = s + s }; s.len()`); err != nil {
			t.Errorf("10 MB of text after it: got %v", err)
		}
	}
}

// A program that asks for little is not ended for one that asks for much.
func TestMemoryEndsTheGreediest(t *testing.T) {
	memory, _ := bounds()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	modest := make(chan error, 1)
	go func() {
		_, err := bounded(t, memory, `while true { [1].len() }`)(ctx)
		modest <- err
	}()
	for range 3 {
		err := runBounded(t, memory, `var l = []; while true { l = l + ["some text {l.len()}"] }`)
		if e, ok := err.(*value.Error); !ok || e.Code != value.CodeOverflow {
			t.Fatalf("got %v, want overflow", err)
		}
	}
	cancel()
	if e, ok := (<-modest).(*value.Error); !ok || e.Code != value.CodeCancelled {
		t.Errorf("the modest program: got %v, want it to run until it is cancelled", e)
	}
}

func runBounded(t *testing.T, memory *interp.Memory, src string) error {
	t.Helper()
	_, err := bounded(t, memory, src)(t.Context())
	return err
}

func bounded(t *testing.T, memory *interp.Memory, src string) func(context.Context) (value.Value, error) {
	t.Helper()
	p, perr := interp.Parse(src, interp.NewState("/", nil).Names(), lib)
	if perr != nil {
		t.Fatalf("%s: %v", src, perr)
	}
	return func(ctx context.Context) (value.Value, error) {
		return p.Run(ctx, interp.Run{State: interp.NewState("/", nil), Host: &interp.Host{Memory: memory}})
	}
}
