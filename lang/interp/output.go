package interp

import "sync"

// output guards what a run tells its host: machines beside the run's own tell
// too, and nothing is told once the run has ended.
type output struct {
	mu    sync.Mutex
	ended bool
}

// tell calls f unless the run has ended.
func (o *output) tell(f func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended {
		f()
	}
}

func (o *output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
}
