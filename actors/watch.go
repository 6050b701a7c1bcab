package actors

import (
	"sync"

	"shoal.dev/shoal/messages"
)

// watchers are those who want to know when the tasks of a session change. The
// zero value has none.
type watchers struct {
	mu sync.Mutex
	by map[messages.SessionName]map[chan struct{}]struct{}
}

// Watch tells on changed, which holds one item at most, whenever the list of a
// session's tasks, or the state of one of them, has changed, until stop.
func (st *TaskStore) Watch(session messages.SessionName) (changed <-chan struct{}, stop func()) {
	w, c := &st.d.watchers, make(chan struct{}, 1)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.by == nil {
		w.by = map[messages.SessionName]map[chan struct{}]struct{}{}
	}
	if w.by[session] == nil {
		w.by[session] = map[chan struct{}]struct{}{}
	}
	w.by[session][c] = struct{}{}
	return c, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.by[session], c)
		if len(w.by[session]) == 0 {
			delete(w.by, session)
		}
	}
}

// touched tells that tasks of a session have changed.
func (d *Deps) touched(session messages.SessionName) {
	d.watchers.mu.Lock()
	defer d.watchers.mu.Unlock()
	for c := range d.watchers.by[session] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}
