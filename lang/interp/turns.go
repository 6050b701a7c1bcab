package interp

import (
	"slices"
	"sync"
	"time"
)

// Turns bounds how many machines of a process evaluate at the same time, so that
// everything else in it finds a processor soon, however many machines there are.
// Those that wait for the world outside do not count. When more want to, the
// sessions take turns, each with as many machines as the others, and within a
// session the machines do.
//
// A machine gives its turn up when it is asked to, at its next check. One that
// does not answer in time, being inside a long operation of the library, counts
// no longer. The nil Turns bounds nothing.
type Turns struct {
	most int

	mu      sync.Mutex
	holding []*Machine
	late    int // of holding, those that did not answer
	parties map[*world]*party
	waiting int
	events  uint64 // waits that began and turns that they led to, so far
	ticking bool
}

// party is a session with machines that want a turn.
type party struct {
	holds  int
	queue  []*turnWait
	served uint64 // when it was given the last turn, or began to wait, in events
}

type turnWait struct {
	m     *Machine
	given chan struct{}
}

// turnSlice is how long a machine keeps its turn while others wait, and how
// long it may take to notice that it is over.
const turnSlice = 5 * time.Millisecond

// NewTurns lets most machines evaluate at once.
func NewTurns(most int) *Turns {
	return &Turns{most: most, parties: map[*world]*party{}}
}

// take waits for a turn. A machine that is cancelled meanwhile goes on without:
// it has little left to do.
func (t *Turns) take(m *Machine) {
	if t == nil {
		return
	}
	t.mu.Lock()
	p := t.parties[m.world]
	if p == nil {
		p = &party{served: t.events}
		t.parties[m.world] = p
	}
	if len(t.holding)-t.late < t.most {
		t.grant(m, p)
		t.mu.Unlock()
		return
	}
	w := &turnWait{m: m, given: make(chan struct{})}
	p.queue = append(p.queue, w)
	t.waiting++
	t.events++
	if p.holds == 0 {
		t.askLargest()
	}
	if !t.ticking {
		t.ticking = true
		time.AfterFunc(turnSlice, t.tick)
	}
	t.mu.Unlock()
	select {
	case <-w.given:
	case <-m.life.Done():
		t.quit(w, p)
	}
}

// give gives m's turn to the next, if it has one.
func (t *Turns) give(m *Machine) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.holding, m)
	if i < 0 {
		return
	}
	t.holding = slices.Delete(t.holding, i, i+1)
	if m.turnAge == turnLate {
		t.late--
	}
	p := t.parties[m.world]
	p.holds--
	t.drop(m.world, p)
	t.next()
}

// grant gives m a turn.
func (t *Turns) grant(m *Machine, p *party) {
	m.turnAge = turnFresh
	m.signal.And(^signalTurn)
	t.holding = append(t.holding, m)
	p.holds++
}

// next gives free turns to those who wait: to the sessions that have fewest, and
// of those to the one that was not served for longest.
func (t *Turns) next() {
	for t.waiting > 0 && len(t.holding)-t.late < t.most {
		var least *party
		for _, p := range t.parties {
			if len(p.queue) > 0 && (least == nil || p.holds < least.holds || p.holds == least.holds && p.served < least.served) {
				least = p
			}
		}
		w := least.queue[0]
		least.queue[0] = nil
		least.queue = least.queue[1:]
		t.waiting--
		t.events++
		least.served = t.events
		t.grant(w.m, least)
		close(w.given)
	}
}

// quit takes w out of the line; it may have its turn already.
func (t *Turns) quit(w *turnWait, p *party) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case <-w.given:
		return
	default:
	}
	t.waiting--
	i := slices.Index(p.queue, w)
	p.queue = slices.Delete(p.queue, i, i+1)
	t.drop(w.m.world, p)
}

// drop forgets a session that has no turn and wants none.
func (t *Turns) drop(w *world, p *party) {
	if p.holds == 0 && len(p.queue) == 0 {
		delete(t.parties, w)
	}
}

// The ages of a turn, in ticks that others waited.
const (
	turnFresh = iota
	turnUsed
	turnAsked
	turnLate
)

// tick ages the turns as long as anybody waits.
func (t *Turns) tick() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, m := range t.holding {
		switch m.turnAge {
		case turnFresh:
			m.turnAge = turnUsed
		case turnUsed:
			t.ask(m)
		case turnAsked:
			m.turnAge = turnLate
			t.late++
		}
	}
	t.next()
	if t.ticking = t.waiting > 0; t.ticking {
		time.AfterFunc(turnSlice, t.tick)
	}
}

// ask has m give up its turn at its next check.
func (t *Turns) ask(m *Machine) {
	m.turnAge = turnAsked
	m.signal.Or(signalTurn)
}

// askLargest asks a machine of the session that has more than one turn, if there
// is any: one that has none need not wait for the end of a slice.
func (t *Turns) askLargest() {
	for _, m := range t.holding {
		if m.turnAge < turnAsked && t.parties[m.world].holds > 1 {
			t.ask(m)
			return
		}
	}
}
