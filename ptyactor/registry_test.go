package ptyactor

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"

	"shoal.dev/shoal/messages"
)

// However terminals are resized and closed at once, the cells that they take are
// what is counted, and never more than there may be.
func TestCellsAreCounted(t *testing.T) {
	r := newRegistry(t, Config{})
	var all []*Host
	for range 6 {
		all = append(all, start(t, r, "sleep", "600"))
	}
	const room = 50_000
	r.mu.Lock()
	others := cellsMax - r.cells - room // as if somebody else had the rest
	r.cells += others
	r.mu.Unlock()
	shown := func() int {
		n := 0
		for _, h := range r.all() {
			s := h.Snapshot()
			n += s.Cols * s.Rows
		}
		return n
	}
	refused := 0
	var mu sync.Mutex
	var wg sync.WaitGroup
	for i := range 2 * len(all) { // two for each
		rng := rand.New(rand.NewPCG(uint64(i), 1))
		wg.Go(func() {
			for range 60 {
				_, bad := r.Resize(all[i/2], 1+rng.IntN(200), 1+rng.IntN(200))
				r.mu.Lock()
				over := r.cells > cellsMax
				r.mu.Unlock()
				mu.Lock()
				if bad != nil && bad.Code == messages.CodeQuota {
					refused++
				} else if bad != nil {
					t.Error(bad)
				}
				mu.Unlock()
				if over {
					t.Error("more cells than there may be")
				}
			}
		})
	}
	wg.Wait()
	counted := func() int { r.mu.Lock(); defer r.mu.Unlock(); return r.cells - others }
	if n := shown(); n != counted() {
		t.Errorf("%d cells are counted, %d shown", counted(), n)
	}
	if refused == 0 {
		t.Error("nothing was refused")
	}
	wg.Go(func() { r.Close(context.Background(), all[0].id) })
	wg.Go(func() { r.Resize(all[0], 10, 10) }) // refused, or counted until it is closed
	wg.Wait()
	if n := shown(); n != counted() {
		t.Errorf("after a close %d cells are counted, %d shown", counted(), n)
	}
	r.mu.Lock()
	r.cells -= others
	r.mu.Unlock()
}
