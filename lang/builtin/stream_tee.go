package builtin

import (
	"sync"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// forkPending is how many items a live fork keeps for its consumer.
const forkPending = 64

// teeMost is how many forks a stream may have.
const teeMost = 1024

var droppedShape = value.ShapeOf("dropped")

// dropped is the notice that n items were lost here.
func dropped(n int64) value.Value {
	return value.NewRecord(droppedShape, []value.Value{value.Int(n)})
}

// forks checks the number of forks.
func forks(c *interp.Call, v value.Value) (int, error) {
	switch n := v.AsInt(); {
	case n == 0:
		return 0, argErr(c.Span, "tee: n must be at least 1")
	case n > teeMost:
		return 0, argErr(c.Span, "tee: at most %d forks, got %d", teeMost, n)
	default:
		return int(n), nil
	}
}

// seqTee gives replays of a sequence.
func seqTee(c *interp.Call, a []value.Value) (value.Value, error) {
	n, err := forks(c, a[0])
	if err != nil {
		return value.Null, err
	}
	out := make([]value.Value, n)
	for i := range out {
		src, err := sequenceSource(c, c.Recv)
		if err != nil {
			return value.Null, err
		}
		out[i] = value.NewStream(c.Recv.Kind().String(), true, src)
	}
	return value.NewList(out), nil
}

// streamTee gives replays of a bounded stream, and forks of any other, which
// share one upstream.
func streamTee(c *interp.Call, a []value.Value) (value.Value, error) {
	n, err := forks(c, a[0])
	if err != nil {
		return value.Null, err
	}
	s := c.Recv.AsStream()
	if s.Bounded {
		all, err := c.M.Collect(s, ".tee")
		if err != nil {
			return value.Null, err
		}
		out := make([]value.Value, n)
		for i := range out {
			out[i] = value.NewStream(s.Label, true, &listSource{all})
		}
		return value.NewList(out), nil
	}
	up, err := opened(c)
	if err != nil {
		return value.Null, err
	}
	split := &splitter{up: up, turn: make(chan struct{}, 1), forks: make([]fork, n), open: n}
	out := make([]value.Value, n)
	for i := range out {
		out[i] = value.NewStream(s.Label, false, &forkSource{split, i})
	}
	return value.NewList(out), nil
}

// splitter is the upstream that live forks share: whoever has nothing pending
// pulls for all, one at a time.
type splitter struct {
	up    source
	turn  chan struct{} // held during a pull
	mu    sync.Mutex    // guards what follows
	forks []fork
	open  int
	ended bool
	err   error
}

// fork is what waits for one consumer.
type fork struct {
	pending []value.Value
	lost    int64 // items for which there was no room, after the pending ones
	closed  bool
}

// add keeps an item, behind the notice of those lost before it.
func (f *fork) add(v value.Value) {
	switch {
	case f.closed:
	case len(f.pending) >= forkPending:
		f.lost++
	default:
		if f.lost > 0 {
			f.pending = append(f.pending, dropped(f.lost))
			f.lost = 0
		}
		f.pending = append(f.pending, v)
	}
}

func (f *fork) take() (value.Value, bool) {
	switch {
	case len(f.pending) > 0:
		v := f.pending[0]
		f.pending = f.pending[1:]
		return v, true
	case f.lost > 0:
		v := dropped(f.lost)
		f.lost = 0
		return v, true
	}
	return value.Null, false
}

type forkSource struct {
	split *splitter
	i     int
}

func (s *forkSource) live() bool { return s.split.up.live() }

func (s *forkSource) Next(m *interp.Machine) (value.Value, bool, error) {
	if v, ok, over, err := s.pending(); ok || over {
		return v, ok, err
	}
	mine := false
	m.Outside(func() {
		select {
		case s.split.turn <- struct{}{}:
			mine = true
		case <-m.Context().Done():
		}
	})
	if !mine {
		return value.Null, false, m.Cancelled()
	}
	defer func() { <-s.split.turn }()
	if v, ok, over, err := s.pending(); ok || over {
		return v, ok, err
	}
	return s.pull(m)
}

// pending is what another fork's pull has left for this one, or the end.
func (s *forkSource) pending() (v value.Value, ok, over bool, err error) {
	sp := s.split
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if v, ok = sp.forks[s.i].take(); ok {
		return v, true, false, nil
	}
	return value.Null, false, sp.ended || sp.forks[s.i].closed, sp.err
}

func (s *forkSource) pull(m *interp.Machine) (value.Value, bool, error) {
	v, ok, err := s.split.up.Next(m)
	if err != nil && m.Check() != nil {
		return value.Null, false, err // only this consumer gave up
	}
	sp := s.split
	sp.mu.Lock()
	defer sp.mu.Unlock()
	if err != nil || !ok {
		sp.ended, sp.err = true, err
		return value.Null, false, err
	}
	for i := range sp.forks {
		if i != s.i {
			sp.forks[i].add(v)
		}
	}
	return v, true, nil
}

// Close ends the fork, and with the last one the upstream.
func (s *forkSource) Close() {
	sp := s.split
	sp.mu.Lock()
	own := &sp.forks[s.i]
	last := false
	if !own.closed {
		*own = fork{closed: true}
		sp.open--
		last = sp.open == 0
	}
	sp.mu.Unlock()
	if last {
		sp.up.Close()
	}
}
