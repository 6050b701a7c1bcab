package interp

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// turnsOf is a machine of a session for tests of turns alone.
func turnsOf(ctx context.Context, w *world) *Machine { return &Machine{world: w, life: ctx} }

// Sessions are served in turn, however many machines one of them has, and a
// machine that is cancelled does not wait.
func TestTurnsAreFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, crowd, single := NewTurns(1), newWorld(), newWorld()
		first := turnsOf(t.Context(), crowd)
		turns.take(first)
		var served []string
		done := make(chan struct{})
		wait := func(name string, m *Machine) {
			go func() {
				turns.take(m)
				served = append(served, name)
				turns.give(m)
				done <- struct{}{}
			}()
			synctest.Wait()
		}
		wait("crowd", turnsOf(t.Context(), crowd))
		wait("crowd", turnsOf(t.Context(), crowd))
		wait("single", turnsOf(t.Context(), single))
		wait("single", turnsOf(t.Context(), single))
		ctx, cancel := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() { turns.take(turnsOf(ctx, crowd)); close(left) }()
		synctest.Wait()
		cancel()
		<-left
		turns.give(first)
		for range 4 {
			<-done
		}
		if want := []string{"crowd", "single", "crowd", "single"}; !slices.Equal(served, want) {
			t.Errorf("served %v, want %v", served, want)
		}
		if len(turns.parties)+turns.waiting+len(turns.holding) != 0 {
			t.Errorf("left behind: %+v", turns)
		}
	})
}

// Who waits is let in at the end of a slice by a machine that listens, and beside
// one that does not.
func TestTurnsEnd(t *testing.T) {
	for _, listens := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			turns := NewTurns(1)
			busy, next := turnsOf(t.Context(), newWorld()), turnsOf(t.Context(), newWorld())
			turns.take(busy)
			if listens {
				go func() {
					for busy.signal.Load()&signalTurn == 0 {
						time.Sleep(time.Millisecond)
					}
					turns.give(busy)
				}()
			}
			began := time.Now()
			turns.take(next)
			if waited := time.Since(began); waited < turnSlice || waited > 4*turnSlice {
				t.Errorf("listens %v: waited %s", listens, waited)
			}
			turns.give(next)
			turns.give(busy)
			if len(turns.holding)+turns.late+len(turns.parties) != 0 {
				t.Errorf("listens %v: left behind: %+v", listens, turns)
			}
			synctest.Wait()
		})
	}
}

// A session with several turns gives one up at once.
func TestTurnsAskTheLargest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns, crowd := NewTurns(2), newWorld()
		a, b := turnsOf(t.Context(), crowd), turnsOf(t.Context(), crowd)
		turns.take(a)
		turns.take(b)
		began := time.Now()
		go turns.take(turnsOf(t.Context(), newWorld()))
		synctest.Wait()
		if (a.signal.Load()|b.signal.Load())&signalTurn == 0 || time.Since(began) != 0 {
			t.Errorf("asked %d and %d after %s, want one of them at once", a.signal.Load(), b.signal.Load(), time.Since(began))
		}
		turns.give(a)
		turns.give(b)
	})
}
