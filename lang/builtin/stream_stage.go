package builtin

import (
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// mapSource gives f(item).
type mapSource struct {
	stage
	f function
}

func streamMap(c *interp.Call, a []value.Value) (value.Value, error) {
	f, err := newFunction(c, a[0], 1)
	if err != nil {
		return value.Null, err
	}
	return after(c, func(s stage) source { return &mapSource{s, f} })
}

func (s *mapSource) Next(m *interp.Machine) (value.Value, bool, error) {
	f, err := s.f.on(m)
	if err != nil {
		return value.Null, false, err
	}
	v, ok, err := s.up.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	v, err = f.Call1(v)
	return v, err == nil, err
}

// whereSource gives the items that pass a test; the test may belong to one
// machine's callback or keep what it has seen.
type whereSource struct {
	stage
	test func(*interp.Machine, value.Value) (bool, error)
}

func (s *whereSource) Next(m *interp.Machine) (value.Value, bool, error) {
	for {
		v, ok, err := s.up.Next(m)
		if err != nil || !ok {
			return value.Null, false, err
		}
		pass, err := s.test(m, v)
		if err != nil {
			return value.Null, false, err
		}
		if pass {
			return v, true, nil
		}
		if err := m.Check(); err != nil {
			return value.Null, false, err
		}
	}
}

// tests makes a predicate of a callable.
func tests(c *interp.Call, v value.Value) (func(*interp.Machine, value.Value) (bool, error), error) {
	f, err := newFunction(c, v, 1)
	return func(m *interp.Machine, v value.Value) (bool, error) {
		cb, err := f.on(m)
		if err != nil {
			return false, err
		}
		return cb.Test(v)
	}, err
}

func streamWhere(c *interp.Call, a []value.Value) (value.Value, error) {
	test, err := tests(c, a[0])
	if err != nil {
		return value.Null, err
	}
	return after(c, func(s stage) source { return &whereSource{s, test} })
}

func streamDedupe(c *interp.Call, _ []value.Value) (value.Value, error) {
	var last value.Value
	first := true
	return after(c, func(s stage) source {
		return &whereSource{s, func(_ *interp.Machine, v value.Value) (bool, error) {
			if !first {
				if same, err := equal(last, v); err != nil || same {
					return false, err
				}
			}
			first, last = false, v
			return true, nil
		}}
	})
}

func streamDistinct(c *interp.Call, _ []value.Value) (value.Value, error) {
	seen := newIndex()
	return after(c, func(s stage) source {
		return &whereSource{s, func(_ *interp.Machine, v value.Value) (bool, error) {
			_, known := seen.add(v)
			return !known, nil
		}}
	})
}

func streamSkip(c *interp.Call, a []value.Value) (value.Value, error) {
	left := a[0].AsInt()
	return after(c, func(s stage) source {
		return &whereSource{s, func(*interp.Machine, value.Value) (bool, error) {
			if left == 0 {
				return true, nil
			}
			left--
			return false, nil
		}}
	})
}

// scanSource gives each new accumulator.
type scanSource struct {
	stage
	acc value.Value
	f   function
}

func streamScan(c *interp.Call, a []value.Value) (value.Value, error) {
	f, err := newFunction(c, a[1], 2)
	if err != nil {
		return value.Null, err
	}
	init := a[0]
	return after(c, func(s stage) source { return &scanSource{s, init, f} })
}

func (s *scanSource) Next(m *interp.Machine) (value.Value, bool, error) {
	f, err := s.f.on(m)
	if err != nil {
		return value.Null, false, err
	}
	v, ok, err := s.up.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	acc, err := f.Call2(s.acc, v)
	if err != nil {
		return value.Null, false, err
	}
	s.acc = acc
	return acc, true, nil
}

// flatMapSource gives the items of the collections that f gives.
type flatMapSource struct {
	stage
	f    function
	call interp.Call // for messages
	in   source
}

func streamFlatMap(c *interp.Call, a []value.Value) (value.Value, error) {
	f, err := newFunction(c, a[0], 1)
	if err != nil {
		return value.Null, err
	}
	call := interp.Call{Name: c.Name, Span: c.Span}
	return after(c, func(s stage) source {
		return &flatMapSource{stage: s, f: f, call: call, in: &listSource{}}
	})
}

func (s *flatMapSource) Next(m *interp.Machine) (value.Value, bool, error) {
	for {
		v, ok, err := s.in.Next(m)
		if err != nil || ok {
			return v, ok, err
		}
		f, err := s.f.on(m)
		if err != nil {
			return value.Null, false, err
		}
		if v, ok, err = s.up.Next(m); err != nil || !ok {
			return value.Null, false, err
		}
		y, err := f.Call1(v)
		if err != nil {
			return value.Null, false, err
		}
		if sequences&kindSet(y.Kind()) == 0 {
			return value.Null, false, typeErr(s.call.Span, "flat_map: the function must give a collection, got %s", y.Kind())
		}
		s.call.M = m
		s.in, err = sequenceSource(&s.call, y)
		s.call.M = nil
		if err != nil {
			return value.Null, false, err
		}
	}
}

// takeSource ends after a number of items, without pulling for more.
type takeSource struct {
	stage
	left int64
}

func streamTake(c *interp.Call, a []value.Value) (value.Value, error) {
	n := a[0].AsInt()
	return afterAs(c, true, func(s stage) source { return &takeSource{s, n} })
}

func (s *takeSource) Next(m *interp.Machine) (value.Value, bool, error) {
	if s.left == 0 {
		return value.Null, false, nil
	}
	v, ok, err := s.up.Next(m)
	if err != nil {
		return value.Null, false, err
	}
	s.left--
	if s.left == 0 || !ok {
		s.left = 0
		s.Close()
	}
	return v, ok, nil
}

// untilSource ends before the first item for which a test holds.
type untilSource struct {
	stage
	test func(*interp.Machine, value.Value) (bool, error)
	done bool
}

func (s *untilSource) Next(m *interp.Machine) (value.Value, bool, error) {
	if s.done {
		return value.Null, false, nil
	}
	v, ok, err := s.up.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	if s.done, err = s.test(m, v); err != nil || s.done {
		s.Close()
		return value.Null, false, err
	}
	return v, true, nil
}

func streamEnumerate(c *interp.Call, _ []value.Value) (value.Value, error) {
	return after(c, func(s stage) source { return &numberSource{s, 0} })
}

// numberSource gives pairs of a number and an item.
type numberSource struct {
	stage
	n int64
}

func (s *numberSource) Next(m *interp.Machine) (value.Value, bool, error) {
	v, ok, err := s.up.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	s.n++
	return value.NewList([]value.Value{value.Int(s.n - 1), v}), true, nil
}

// zipSource gives pairs of items of two streams.
type zipSource struct {
	stage
	other source
}

// both opens the receiver and another stream.
func both(c *interp.Call, other value.Value) (stage, source, error) {
	if c.Recv.AsStream() == other.AsStream() {
		return stage{}, nil, hintErr(c.Span, value.CodeStreamConsumed, "fork it with `tee` first", "%s: a stream cannot be both sides", c.Name)
	}
	right, err := open(other)
	if err != nil {
		return stage{}, nil, err
	}
	left, err := opened(c)
	if err != nil {
		right.Close()
	}
	return stage{left}, right, err
}

func streamZip(c *interp.Call, a []value.Value) (value.Value, error) {
	left, right, err := both(c, a[0])
	if err != nil {
		return value.Null, err
	}
	s := c.Recv.AsStream()
	return value.NewStream(s.Label, s.Bounded || a[0].AsStream().Bounded, &zipSource{left, right}), nil
}

func (s *zipSource) Next(m *interp.Machine) (value.Value, bool, error) {
	x, ok, err := s.up.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	y, ok, err := s.other.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	return value.NewList([]value.Value{x, y}), true, nil
}

func (s *zipSource) Close() {
	s.up.Close()
	s.other.Close()
}

func (s *zipSource) live() bool { return s.up.live() || s.other.live() }

// windowSource gives lists of the last n items, once there are n.
type windowSource struct {
	stage
	n    int
	last []value.Value
}

// timedWindow gives at each item those of the last d.
type timedWindow struct {
	stage
	d    time.Duration
	last []value.Value
	at   []time.Time
}

func streamWindow(c *interp.Call, a []value.Value) (value.Value, error) {
	if a[0].Kind() == value.KindDuration {
		d := a[0].AsDuration()
		if d < 0 {
			return value.Null, typeErr(c.Span, "window: the interval must not be negative")
		}
		return after(c, func(s stage) source { return &timedWindow{stage: s, d: d} })
	}
	n := a[0].AsInt()
	switch {
	case n < 0:
		return value.Null, typeErr(c.Span, "window: n must not be negative, got %d", n)
	case n == 0:
		return value.Null, argErr(c.Span, "window: n must be at least 1")
	case n > maxItems:
		return value.Null, tooLong(c)
	}
	return after(c, func(s stage) source { return &windowSource{stage: s, n: int(n)} })
}

func (s *windowSource) Next(m *interp.Machine) (value.Value, bool, error) {
	if len(s.last) == s.n {
		s.last = s.last[1:]
	}
	for len(s.last) < s.n {
		v, ok, err := s.up.Next(m)
		if err != nil || !ok {
			return value.Null, false, err
		}
		s.last = value.Push(s.last, v)
	}
	return window(m, s.last)
}

func (s *timedWindow) Next(m *interp.Machine) (value.Value, bool, error) {
	v, ok, err := s.up.Next(m)
	if err != nil || !ok {
		return value.Null, false, err
	}
	now := time.Now()
	s.last, s.at = append(s.last, v), append(s.at, now)
	for len(s.at) > 1 && now.Sub(s.at[0]) > s.d {
		s.last, s.at = s.last[1:], s.at[1:]
	}
	if len(s.last) > maxItems {
		return value.Null, false, value.Errorf(value.CodeOverflow, "window: more than %d items", maxItems)
	}
	return window(m, s.last)
}

// window is a list of the items of a window, for others to keep.
func window(m *interp.Machine, last []value.Value) (value.Value, bool, error) {
	err := m.Check()
	if err == nil {
		err = m.Reserve(int64(len(last)) * itemBytes)
	}
	if err != nil {
		return value.Null, false, err
	}
	return value.NewList(value.Extend(nil, last)), true, nil
}

// throttleSource gives the first item of each interval.
type throttleSource struct {
	stage
	d    time.Duration
	last time.Time
}

// interval is a duration argument that may not be negative.
func interval(c *interp.Call, v value.Value) (time.Duration, error) {
	if d := v.AsDuration(); d >= 0 {
		return d, nil
	}
	return 0, typeErr(c.Span, "%s: the interval must not be negative", c.Name)
}

func streamThrottle(c *interp.Call, a []value.Value) (value.Value, error) {
	d, err := interval(c, a[0])
	if err != nil {
		return value.Null, err
	}
	return after(c, func(s stage) source { return &throttleSource{stage: s, d: d} })
}

func (s *throttleSource) Next(m *interp.Machine) (value.Value, bool, error) {
	for {
		v, ok, err := s.up.Next(m)
		if err != nil || !ok {
			return value.Null, false, err
		}
		if now := time.Now(); s.last.IsZero() || now.Sub(s.last) >= s.d {
			s.last = now
			return v, true, nil
		}
		if err := m.Check(); err != nil {
			return value.Null, false, err
		}
	}
}
