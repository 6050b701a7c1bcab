package actors

import (
	"sync"

	"shoal.dev/shoal/messages"
)

// watchers are those who want to know when something of a session changes. The
// zero value has none.
type watchers struct {
	mu sync.Mutex
	by map[messages.SessionName]map[chan struct{}]struct{}
}

// watch tells on changed, which holds one item at most, until stop.
func (w *watchers) watch(session messages.SessionName) (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
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

// tell tells those who watch a session.
func (w *watchers) tell(session messages.SessionName) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for c := range w.by[session] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// Watch tells on changed, which holds one item at most, whenever the list of a
// session's tasks, or the state of one of them, has changed, until stop.
func (st *TaskStore) Watch(session messages.SessionName) (changed <-chan struct{}, stop func()) {
	return st.d.watchers.watch(session)
}

// WatchThings tells on changed, which holds one item at most, whenever a session
// has got a plan, a task that stays when it has ended, or a terminal, or has lost
// one of those, until stop. Executions without effects that somebody waits
// for come and go without a word.
func (d *Deps) WatchThings(session messages.SessionName) (changed <-chan struct{}, stop func()) {
	return d.things.watch(session)
}

// ThingsChanged tells those who watch a session's things.
func (d *Deps) ThingsChanged(session messages.SessionName) { d.things.tell(session) }

// touched tells that a task has changed, and of a task that stays, once, that it
// has come.
func (d *Deps) touched(r *Run) {
	d.watchers.tell(r.host.name)
	r.mu.Lock()
	came := r.knownLocked() && !r.announced
	r.announced = r.announced || came
	r.mu.Unlock()
	if came {
		d.ThingsChanged(r.host.name)
	}
}
