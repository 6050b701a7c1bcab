package supervisor

import (
	"runtime"
	"sync"
	"testing"
)

// TestPool runs more mailboxes at a time than goroutines may wait, twice, and
// leaves no goroutine behind.
func TestPool(t *testing.T) {
	before := runtime.NumGoroutine()
	p := newPool()
	for range 2 {
		const many = 3 * poolIdle
		var ran, begun sync.WaitGroup
		all := make(chan struct{})
		ran.Add(many)
		begun.Add(many)
		for range many {
			p.Schedule(func() {
				begun.Done()
				<-all // none may wait for another to end
				ran.Done()
			})
		}
		begun.Wait()
		close(all)
		ran.Wait()
		eventually(t, "no more goroutines wait than may", func() bool {
			return int(p.idle.Load()) <= poolIdle && runtime.NumGoroutine() <= before+poolIdle
		})
	}
	p.close()
	p.close()
	eventually(t, "goroutines are gone", func() bool { return runtime.NumGoroutine() <= before })
	late := make(chan struct{})
	p.Schedule(func() { close(late) })
	<-late
}
