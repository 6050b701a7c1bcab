package interp

import "sync"

// Gate is where the machines of a run rest while it is suspended: its own and
// those beside it. The zero value is open. It is safe for concurrent use; what
// the run has started outside the evaluator goes on.
type Gate struct {
	mu       sync.Mutex
	opened   chan struct{} // of the present rest; nil while open
	machines map[*Machine]struct{}
}

// Shut stops the machines at their next steps.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened != nil {
		return
	}
	g.opened = make(chan struct{})
	for m := range g.machines {
		m.signal.Or(signalPause)
	}
}

// Open lets them go on.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.opened == nil {
		return
	}
	for m := range g.machines {
		m.signal.And(^signalPause)
	}
	close(g.opened)
	g.opened = nil
}

// IsShut reports whether the machines rest, or are about to.
func (g *Gate) IsShut() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.opened != nil
}

// enter and leave say which machines rest here; a machine without gate never
// rests.
func (g *Gate) enter(m *Machine) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.machines == nil {
		g.machines = map[*Machine]struct{}{}
	}
	g.machines[m] = struct{}{}
	if g.opened != nil {
		m.signal.Or(signalPause)
	}
}

func (g *Gate) leave(m *Machine) {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.machines, m)
}

// rest waits until the machine may go on or has been cancelled.
func (m *Machine) rest() {
	m.gate.mu.Lock()
	opened := m.gate.opened
	m.gate.mu.Unlock()
	if opened == nil {
		return
	}
	m.Outside(func() {
		select {
		case <-opened:
		case <-m.ctx.Done():
		}
	})
}
