package builtin

import (
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// pulled is what a pull gave.
type pulled struct {
	v   value.Value
	ok  bool
	err error
}

// pump pulls a source in the background of the run that wants its items, up to
// cap(items) ahead. When that run has ended, the next one that wants an item
// starts it anew; nothing is lost between them.
type pump struct {
	up     source
	branch *interp.Branch
	items  chan pulled
	left   *pulled // what the last branch pulled and could not hand over
	ended  bool
}

func newPump(up source, ahead int) *pump { return &pump{up: up, items: make(chan pulled, ahead)} }

// start sees to it that somebody pulls on behalf of m's run.
func (p *pump) start(m *interp.Machine) error {
	if p.branch != nil {
		select {
		case <-p.branch.Done():
		default:
			return nil
		}
	}
	if p.ended || len(p.items) > 0 && p.left == nil && p.finished() {
		return nil
	}
	branch, err := m.Branch(func(b *interp.Machine) (value.Value, error) {
		p.run(b)
		return value.Null, nil
	}, nil)
	p.branch = branch
	return err
}

// finished reports whether the last pull of the source is among the items. It
// is called while nobody pulls.
func (p *pump) finished() bool {
	for range len(p.items) {
		x := <-p.items
		p.items <- x
		if !x.ok || x.err != nil {
			return true
		}
	}
	return false
}

func (p *pump) run(b *interp.Machine) {
	for {
		x := pulled{}
		if p.left != nil {
			x, p.left = *p.left, nil
		} else if x.v, x.ok, x.err = p.up.Next(b); x.err != nil && b.Context().Err() != nil {
			return // the pull was given up
		}
		handed := false
		b.Outside(func() {
			select {
			case p.items <- x:
				handed = true
			case <-b.Context().Done():
			}
		})
		if !handed {
			p.left = &x
			return
		}
		if x.err != nil || !x.ok {
			return
		}
	}
}

// took notes what was received.
func (p *pump) took(x pulled) {
	if !x.ok || x.err != nil {
		p.ended = true
	}
}

// next waits for an item.
func (p *pump) next(m *interp.Machine) (value.Value, bool, error) {
	for !p.ended {
		if err := p.start(m); err != nil {
			return value.Null, false, err
		}
		x, got := p.ready()
		cut := false
		if !got {
			m.Outside(func() {
				select {
				case x = <-p.items:
					got = true
				case <-p.over():
				case <-m.Context().Done():
					cut = true
				}
			})
		}
		switch {
		case cut:
			return value.Null, false, m.Cancelled()
		case got:
			p.took(x)
			return x.v, x.ok, x.err
		}
	}
	return value.Null, false, nil
}

// ready is an item that is there already.
func (p *pump) ready() (x pulled, ok bool) {
	select {
	case x = <-p.items:
		return x, true
	default:
		return x, false
	}
}

// over is closed when nobody pulls any more: the run for which somebody did has
// ended, and who waits must start again.
func (p *pump) over() <-chan struct{} {
	if p.branch == nil {
		return nil
	}
	return p.branch.Done()
}

func (p *pump) stop() {
	if p.branch != nil {
		p.branch.Stop()
	}
	p.up.Close()
}

// bufferSource prefetches.
type bufferSource struct {
	stage
	p *pump
}

// bufferMost is how many items a buffer may hold.
const bufferMost = 1 << 16

func streamBuffer(c *interp.Call, a []value.Value) (value.Value, error) {
	n := min(a[0].AsInt(), bufferMost)
	return after(c, func(s stage) source {
		if n == 0 {
			return s.up
		}
		return &bufferSource{s, newPump(s.up, int(n))}
	})
}

func (s *bufferSource) Next(m *interp.Machine) (value.Value, bool, error) { return s.p.next(m) }

func (s *bufferSource) Close() { s.p.stop() }

// debounceSource gives the last item before each quiet interval.
type debounceSource struct {
	stage
	d    time.Duration
	p    *pump
	last *value.Value // waits for the quiet
	at   time.Time    // when it came
}

// lastSource gives the last item of a source that does not wait: all its items
// come at once.
type lastSource struct {
	stage
	done bool
}

func streamDebounce(c *interp.Call, a []value.Value) (value.Value, error) {
	d, err := interval(c, a[0])
	if err != nil {
		return value.Null, err
	}
	return after(c, func(s stage) source {
		if !s.live() {
			return &lastSource{stage: s}
		}
		return &debounceSource{stage: s, d: d, p: newPump(s.up, 0)}
	})
}

func (s *lastSource) Next(m *interp.Machine) (value.Value, bool, error) {
	last, some := value.Null, false
	for !s.done {
		v, ok, err := s.up.Next(m)
		if err != nil {
			return value.Null, false, err
		}
		if !ok {
			s.done = true
			break
		}
		last, some = v, true
		if err := m.Check(); err != nil {
			return value.Null, false, err
		}
	}
	return last, some, nil
}

func (s *debounceSource) Next(m *interp.Machine) (value.Value, bool, error) {
	for {
		if s.last == nil {
			v, ok, err := s.p.next(m)
			if err != nil || !ok {
				return value.Null, false, err
			}
			s.last, s.at = &v, time.Now()
		}
		if s.p.ended {
			return s.give()
		}
		if err := s.p.start(m); err != nil {
			return value.Null, false, err
		}
		timer := time.NewTimer(time.Until(s.at.Add(s.d)))
		var x pulled
		var cut, quiet, over bool
		m.Outside(func() {
			select {
			case x = <-s.p.items:
				s.p.took(x)
			case <-timer.C:
				quiet = true
			case <-s.p.over():
				over = true
			case <-m.Context().Done():
				cut = true
			}
		})
		timer.Stop()
		switch {
		case cut:
			return value.Null, false, m.Cancelled()
		case over:
		case quiet || x.err == nil && !x.ok:
			return s.give()
		case x.err != nil:
			return value.Null, false, x.err
		default:
			s.last, s.at = &x.v, time.Now()
		}
	}
}

func (s *debounceSource) give() (value.Value, bool, error) {
	v := *s.last
	s.last = nil
	return v, true, nil
}

func (s *debounceSource) Close() { s.p.stop() }

// mergeSource gives the items of two streams as they come.
type mergeSource struct {
	pumps [2]*pump
	any   bool // one of them may wait
	turn  int
	done  [2]bool
}

func streamMerge(c *interp.Call, a []value.Value) (value.Value, error) {
	left, right, err := both(c, a[0])
	if err != nil {
		return value.Null, err
	}
	s := c.Recv.AsStream()
	src := &mergeSource{pumps: [2]*pump{newPump(left.up, 0), newPump(right, 0)}, any: left.live() || right.live()}
	return value.NewStream(s.Label, s.Bounded && a[0].AsStream().Bounded, src), nil
}

func (s *mergeSource) Next(m *interp.Machine) (value.Value, bool, error) {
	if s.any {
		return s.whichever(m)
	}
	for !s.done[0] || !s.done[1] {
		i := s.turn
		s.turn = 1 - i
		if s.done[i] {
			continue
		}
		v, ok, err := s.pumps[i].up.Next(m)
		if err != nil || ok {
			return v, ok, err
		}
		s.done[i] = true
	}
	return value.Null, false, nil
}

// whichever waits for the first item of either.
func (s *mergeSource) whichever(m *interp.Machine) (value.Value, bool, error) {
	for {
		var items [2]chan pulled
		var over [2]<-chan struct{}
		for i, p := range s.pumps {
			if p.ended {
				continue
			}
			if err := p.start(m); err != nil {
				return value.Null, false, err
			}
			items[i], over[i] = p.items, p.over()
		}
		if items[0] == nil && items[1] == nil {
			return value.Null, false, nil
		}
		var x pulled
		var cut bool
		m.Outside(func() {
			select {
			case x = <-items[0]:
				s.pumps[0].took(x)
			case x = <-items[1]:
				s.pumps[1].took(x)
			case <-over[0]:
			case <-over[1]:
			case <-m.Context().Done():
				cut = true
			}
		})
		if cut {
			return value.Null, false, m.Cancelled()
		}
		if x.err != nil || x.ok {
			return x.v, x.ok, x.err
		}
	}
}

func (s *mergeSource) Close() {
	s.pumps[0].stop()
	s.pumps[1].stop()
}

func (s *mergeSource) live() bool { return s.any }

// stopSource gives a stream's items until another stream gives one.
type stopSource struct {
	main, end *pump
	any       bool
	done      bool
	endOver   bool // the other stream ended without an item
}

func streamTakeUntil(c *interp.Call, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindStream {
		test, err := tests(c, a[0])
		if err != nil {
			return value.Null, err
		}
		return after(c, func(s stage) source { return &untilSource{stage: s, test: test} })
	}
	left, right, err := both(c, a[0])
	if err != nil {
		return value.Null, err
	}
	s := c.Recv.AsStream()
	src := &stopSource{main: newPump(left.up, 0), end: newPump(right, 0), any: left.live() || right.live()}
	return value.NewStream(s.Label, s.Bounded, src), nil
}

func (s *stopSource) Next(m *interp.Machine) (value.Value, bool, error) {
	switch {
	case s.done:
		return value.Null, false, nil
	case s.any:
		return s.race(m)
	case !s.endOver:
		_, ok, err := s.end.up.Next(m)
		if err != nil {
			return value.Null, false, err
		}
		if s.done, s.endOver = ok, !ok; s.done {
			s.Close()
			return value.Null, false, nil
		}
	}
	return s.main.up.Next(m)
}

// race waits for an item of the one or the other.
func (s *stopSource) race(m *interp.Machine) (value.Value, bool, error) {
	for !s.main.ended {
		var end chan pulled
		var endOver <-chan struct{}
		if !s.endOver {
			if err := s.end.start(m); err != nil {
				return value.Null, false, err
			}
			end, endOver = s.end.items, s.end.over()
		}
		if err := s.main.start(m); err != nil {
			return value.Null, false, err
		}
		var x pulled
		var cut, fromEnd, again bool
		m.Outside(func() {
			select {
			case x = <-end:
				s.end.took(x)
				fromEnd = true
			case x = <-s.main.items:
				s.main.took(x)
			case <-endOver:
				again = true
			case <-s.main.over():
				again = true
			case <-m.Context().Done():
				cut = true
			}
		})
		switch {
		case again:
		case cut:
			return value.Null, false, m.Cancelled()
		case !fromEnd || x.err != nil:
			return x.v, x.ok, x.err
		case x.ok:
			s.done = true
			s.Close()
			return value.Null, false, nil
		default:
			s.endOver = true
		}
	}
	return value.Null, false, nil
}

func (s *stopSource) Close() {
	s.main.stop()
	s.end.stop()
}

func (s *stopSource) live() bool { return s.any }
