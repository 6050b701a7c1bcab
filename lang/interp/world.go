package interp

import (
	"sync"
	"weak"

	"shoal.dev/shoal/lang/value"
)

// world is what a session and its forks share: their cells, and the rule by
// which machines take turns with them.
//
// A machine that is alone in its world uses cells without locking. Before a
// second one may start, the first has to be told: it is asked through its
// signal word and answers at its next safe point, a loop turn, call or check.
// A machine that is inside a blocking operation counts as told: it looks before
// it goes on.
type world struct {
	cells sync.Mutex // guards cell contents while machines share them

	mu      sync.Mutex
	told    *sync.Cond
	live    live
	running map[*Machine]struct{}
	nextID  uint64
	byID    map[uint64]weak.Pointer[Cell]  // cells of closures that were loaded
	loaded  map[string]*Program            // sources of closures that were loaded
	scopes  map[uint64]weak.Pointer[State] // of modules and scripts, by number

	visits map[string]visit // by directory; guarded by mu

	modules modules
	plans   plans
}

func newWorld() *world {
	w := &world{running: map[*Machine]struct{}{}, byID: map[uint64]weak.Pointer[Cell]{}, scopes: map[uint64]weak.Pointer[State]{}}
	w.told = sync.NewCond(&w.mu)
	return w
}

// enter adds a machine. It returns when every other machine locks its cells and
// m may evaluate.
func (w *world) enter(m *Machine) {
	w.add(m)
	m.turns = m.host.Turns
	m.turns.take(m)
}

func (w *world) add(m *Machine) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.askLocked() {
		w.told.Wait()
	}
	for other := range w.running {
		other.shared = true // one outside takes notice when it comes back
	}
	m.shared = len(w.running) > 0
	m.locked = m.shared
	w.running[m] = struct{}{}
}

// leave removes a machine; a last one that remains goes on locking.
func (w *world) leave(m *Machine) {
	m.turns.give(m)
	w.mu.Lock()
	delete(w.running, m)
	w.told.Broadcast()
	w.mu.Unlock()
}

// inspect runs f, which reads or writes cells from outside any machine. A
// machine that is inside a blocking operation cannot come back meanwhile, and
// need not lock afterwards.
func (w *world) inspect(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.askLocked() {
		w.told.Wait()
	}
	w.cells.Lock()
	defer w.cells.Unlock()
	f()
}

// askLocked asks the machines that use cells without locking to lock, and
// reports whether there are any.
func (w *world) askLocked() bool {
	asked := false
	for m := range w.running {
		if !m.shared && m.outside == 0 {
			m.signal.Or(signalShare)
			asked = true
		}
	}
	return asked
}

// answer is a machine's consent at a safe point.
func (w *world) answer(m *Machine) {
	w.mu.Lock()
	m.signal.And(^uint32(signalShare))
	m.shared = true
	w.told.Broadcast()
	w.mu.Unlock()
	m.locked = true
}

// leaveCells is called before a blocking operation, enterCells after it.
func (m *Machine) leaveCells() {
	w := m.world
	w.mu.Lock()
	m.outside++
	if m.signal.Load()&signalShare != 0 {
		m.signal.And(^uint32(signalShare))
		m.shared = true
	}
	w.told.Broadcast()
	w.mu.Unlock()
	if m.outside == 1 {
		m.turns.give(m)
	}
}

func (m *Machine) enterCells() {
	if m.outside == 1 {
		m.turns.take(m)
	}
	w := m.world
	w.mu.Lock()
	m.outside--
	m.locked = m.shared
	w.mu.Unlock()
	if m.life.Err() != nil { // the signal may be on its way
		m.signal.Or(signalCancel)
	}
}

// yield lets other machines evaluate.
func (m *Machine) yield() {
	m.signal.And(^signalTurn)
	if m.outside == 0 {
		m.leaveCells()
		m.enterCells()
	}
}

// Blocking runs an operation that may wait for the world outside.
func (m *Machine) Blocking(f func() (value.Value, error)) (value.Value, error) {
	m.leaveCells()
	defer m.enterCells()
	return f()
}
