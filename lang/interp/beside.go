package interp

import (
	"context"
	"sync"

	"shoal.dev/shoal/lang/value"
)

// maxBeside is how many machines may evaluate beside the runs of a session at
// once, tasks included.
const maxBeside = 4096

// besideDepth is how many nested calls a machine beside another one counts for,
// so that functions which start each other without end meet the limit early.
const besideDepth = 50

// beside is what evaluates for a machine on other goroutines. It ends with the
// machine's run.
type beside struct {
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
}

// endBeside stops what evaluates for m and waits for it. m must have left its
// world.
func (m *Machine) endBeside() {
	if m.beside != nil {
		m.beside.cancel()
		m.beside.wg.Wait()
	}
}

// Branch is an evaluation beside a machine: on a machine and a goroutine of its
// own, which end with the run at the latest.
type Branch struct {
	cancel context.CancelFunc
	done   chan struct{}
	v      value.Value
	err    error
}

// Branch starts f on a machine that shares m's cells and has a copy of its
// directory and environment. ended, which may be nil, is called on the branch's
// goroutine once there is a result. Whoever waits for it does so Outside.
func (m *Machine) Branch(f func(b *Machine) (value.Value, error), ended func()) (*Branch, error) {
	if err := m.world.admit(m); err != nil {
		return nil, err
	}
	if m.beside == nil {
		ctx, cancel := context.WithCancel(m.ctx)
		m.beside = &beside{ctx: ctx, cancel: cancel}
	}
	ctx, cancel := context.WithCancel(m.beside.ctx)
	b := m.sibling(ctx)
	b.parent = m
	br := &Branch{cancel: cancel, done: make(chan struct{})}
	m.beside.wg.Go(func() {
		defer m.world.dismiss()
		defer cancel()
		br.v, br.err = b.alone(f)
		close(br.done)
		if ended != nil {
			ended()
		}
	})
	return br, nil
}

// Stop cancels the branch and does not wait.
func (b *Branch) Stop() { b.cancel() }

// Done is closed when the branch has ended.
func (b *Branch) Done() <-chan struct{} { return b.done }

// Result is what the branch gave, once it is done.
func (b *Branch) Result() (value.Value, error) { return b.v, b.err }

// servesFor reports whether m is a branch of other, or a branch of one.
func (m *Machine) servesFor(other *Machine) bool {
	for m = m.parent; m != nil; m = m.parent {
		if m == other {
			return true
		}
	}
	return false
}

// sibling is a machine like m for another goroutine.
func (m *Machine) sibling(ctx context.Context) *Machine {
	b := &Machine{
		ctx: ctx, life: ctx, run: m.run, state: m.state.Fork(), world: m.world, host: m.host,
		lib: m.lib, log: m.log, tail: Value, byUnit: map[*unit]*links{}, out: m.out,
		overlay: m.overlay[:len(m.overlay):len(m.overlay)],
		depth:   m.depth + besideDepth, aliases: m.aliases, gate: m.gate,
	}
	b.stack = make([]value.Value, 64)
	b.links = b.link(m.links.unit)
	b.fn = &Func{code: &funcCode{unit: m.links.unit}}
	return b
}

// alone runs f on a machine that is no program's own, from the start to the end
// of its goroutine.
func (m *Machine) alone(f func(*Machine) (value.Value, error)) (v value.Value, err error) {
	m.world.enter(m)
	m.host.Memory.enter(m)
	defer m.host.Memory.leave(m)
	defer m.endBeside()
	defer m.world.leave(m)
	m.gate.enter(m)
	defer m.gate.leave(m)
	stop := context.AfterFunc(m.ctx, func() { m.signal.Or(signalCancel) })
	defer stop()
	defer func() {
		if cause := recover(); cause != nil {
			v, err = value.Null, m.internal(cause)
		}
	}()
	if m.ctx.Err() != nil {
		return value.Null, m.cancelled()
	}
	return f(m)
}

// Outside runs a wait for something that other machines may have to do first.
func (m *Machine) Outside(f func()) {
	m.leaveCells()
	defer m.enterCells()
	f()
}

// admit counts one more machine beside a run.
func (w *world) admit(m *Machine) error {
	if m.depth+besideDepth >= maxDepth {
		return value.Errorf(value.CodeRecursion, "more than %d nested calls", maxDepth)
	}
	if w.live.besides.Add(1) > maxBeside {
		w.live.besides.Add(-1)
		return value.Errorf(value.CodeRecursion, "more than %d tasks and callbacks at once", maxBeside).
			WithHint("wait for some of them first")
	}
	return nil
}

func (w *world) dismiss() { w.live.besides.Add(-1) }
