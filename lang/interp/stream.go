package interp

import (
	"cmp"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Source is what stands behind a stream: items, pulled by one consumer. A pull
// happens on the consumer's machine and goroutine, so a stage may call
// functions of the program. A source that waits does so Outside and obeys the
// machine's context.
type Source interface {
	// Next is the next item; ok is false at the end, and stays so.
	Next(m *Machine) (v value.Value, ok bool, err error)
	// Close ends the source and everything that it pulls from. It may be
	// called twice, and while Next waits.
	Close()
}

// OpenStream makes the caller the stream's consumer, who closes the source. A
// stream that has one already raises stream_consumed.
func OpenStream(s *value.Stream) (Source, error) {
	src, err := s.Take()
	if err != nil {
		return nil, err
	}
	return src.(Source), nil
}

// Unbounded is the error for a use that needs the end of a stream which has
// none.
func Unbounded(what string) *value.Error {
	return value.Errorf(value.CodeStreamUnbounded, "%s needs a stream that ends", what).
		WithHint("bound it first with `.take(n)`; `.each(f)`, `.save(path)` and `.feed(cmd)` take items as they come, up to where `.take_until(f)` ends them")
}

// pull is Next, with the reason of a cancellation as the error of whatever it
// cut short.
func (m *Machine) pull(src Source) (value.Value, bool, error) {
	v, ok, err := src.Next(m)
	if err != nil {
		if cancelled := m.Check(); cancelled != nil {
			err = cancelled
		}
	}
	return v, ok, err
}

// Each pulls a stream to its end, or until f says stop, and closes it.
func (m *Machine) Each(src Source, f func(value.Value) (bool, error)) error {
	defer src.Close()
	for {
		v, ok, err := m.pull(src)
		if err != nil || !ok {
			return err
		}
		if more, err := f(v); err != nil || !more {
			return err
		}
		if err := m.Check(); err != nil {
			return err
		}
	}
}

// Collect is the items of a bounded stream; what needs them is for the error
// that an unbounded one raises.
func (m *Machine) Collect(s *value.Stream, what string) ([]value.Value, error) {
	if !s.Bounded {
		return nil, Unbounded(what)
	}
	src, err := OpenStream(s)
	if err != nil {
		return nil, err
	}
	var items []value.Value
	err = m.Each(src, func(v value.Value) (bool, error) {
		if len(items) == MaxItems {
			return false, overflow("sequence")
		}
		items = append(value.Room(items, 1), v)
		return true, nil
	})
	return items, err
}

// forStream is `for x in stream`.
func (m *Machine) forStream(s *value.Stream, set func(*Machine, value.Value), body code, span syntax.Span) {
	if !s.Bounded {
		m.raise(Unbounded("for"), span)
		return
	}
	src, err := OpenStream(s)
	if err != nil {
		m.raise(err, span)
		return
	}
	err = m.Each(src, func(v value.Value) (bool, error) { return m.turn(set, v, body), nil })
	if err != nil {
		m.raise(err, span)
	}
}

// Producer is a live origin of items: a channel's cursor, a watch, a tail. It
// belongs to the session: Close is called when its stream ends, when nothing
// refers to it any more, and when the session closes.
type Producer struct {
	p    *producer
	kept *world
}

type producer struct{ close func() }

// Produce registers a producer; shut ends it and may be called from any
// goroutine, more than once.
func (m *Machine) Produce(shut func()) *Producer {
	p := &producer{shut}
	w := m.world
	w.mu.Lock()
	closed := w.live.closed
	if w.live.producers == nil {
		w.live.producers = map[*producer]struct{}{}
	}
	w.live.producers[p] = struct{}{}
	w.mu.Unlock()
	if closed {
		w.retire(p)
	}
	h := &Producer{p, w}
	runtime.AddCleanup(h, func(p *producer) { go w.retire(p) }, p)
	return h
}

// Close ends the producer.
func (h *Producer) Close() { h.kept.retire(h.p) }

func (w *world) retire(p *producer) {
	w.mu.Lock()
	_, live := w.live.producers[p]
	delete(w.live.producers, p)
	w.mu.Unlock()
	if live {
		p.close()
	}
}

// live is what a session runs itself. All but besides is guarded by the
// world.
type live struct {
	besides   atomic.Int32 // machines beside the runs' own
	closed    bool
	lastTask  uint64
	tasks     map[uint64]*localTask // those that have not ended
	taskGroup sync.WaitGroup
	producers map[*producer]struct{}
}

// Close ends what the session runs itself: its tasks, which it waits for, and
// the producers of its streams. Forks share them.
func (s *State) Close() {
	w := s.world
	w.mu.Lock()
	w.live.closed = true
	tasks, producers := w.live.tasks, w.live.producers
	for _, t := range tasks {
		t.cancel()
	}
	live := make([]*producer, 0, len(producers))
	for p := range producers {
		live = append(live, p)
	}
	w.mu.Unlock()
	for _, p := range live {
		w.retire(p)
	}
	w.live.taskGroup.Wait()
}

func (w *world) localTasks() []LocalTask {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := make([]LocalTask, 0, len(w.live.tasks))
	for _, t := range w.live.tasks {
		out = append(out, LocalTask{t.num, t.desc, t.Suspended()})
	}
	slices.SortFunc(out, func(a, b LocalTask) int { return cmp.Compare(a.Num, b.Num) })
	return out
}
