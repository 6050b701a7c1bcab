package builtin

import (
	"math"
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

var streams = kindSet(value.KindStream)

// source is what stands behind every stream of the library.
type source interface {
	interp.Source
	// live tells whether a pull may wait for the world outside.
	live() bool
}

// streamRows are the methods that streams have of their own: stages, which give
// a stream and run nothing, and sinks, which pull. Every other method of
// sequences collects a bounded stream first.
func streamRows() []methodRow {
	return []methodRow{
		{sequences, "stream()", "The items as a bounded stream.", newSequenceStream},
		{sequences, "tee(n: count = 2)", "A list of n bounded streams of the items.", seqTee},
		{kindSet(value.KindStr, value.KindBytes), "stream()", "The lines as a bounded stream.", newLineStream},

		{streams, "stream()", "The stream itself.", streamItself},
		{streams, "map(f: fn)", "The stream of f(item).", streamMap},
		{streams, "where(f: fn)", "The items for which f holds.", streamWhere},
		{streams, "filter(f: fn)", "The items for which f holds.", streamWhere},
		{streams, "scan(init: any, f: fn)", "Each new accumulator f(accumulator, item).", streamScan},
		{streams, "flat_map(f: fn)", "The items of the collections that f gives.", streamFlatMap},
		{streams, "take(n: count = 0)", "At most n items; makes a stream bounded.", streamTake},
		{streams, "skip(n: count = 0)", "The stream without its first n items.", streamSkip},
		{streams, "take_until(end: fn|stream)", "The items before the first for which a function holds, or until another stream gives one.", streamTakeUntil},
		{streams, "dedupe()", "The items that differ from the one before them.", streamDedupe},
		{streams, "distinct()", "The items that have not been before; remembers all.", streamDistinct},
		{streams, "enumerate()", "Pairs [index, item].", streamEnumerate},
		{streams, "zip(other: stream)", "Pairs [item, other item], up to the shorter.", streamZip},
		{streams, "merge(other: stream)", "The items of both, as they come.", streamMerge},
		{streams, "window(n: int|duration)", "Lists of the last n items, full ones only; or at each item those of the last n of time.", streamWindow},
		{streams, "debounce(d: duration)", "The last item before each quiet interval of d.", streamDebounce},
		{streams, "throttle(d: duration)", "The first item of each interval of d.", streamThrottle},
		{streams, "buffer(n: count = 1)", "Pulls up to n items ahead in the background.", streamBuffer},

		{streams, "each(f: fn)", "Calls f with each item; null.", streamEach},
		{streams, "collect()", "The items of a bounded stream as a list.", streamCollect},
		{streams, "save(path: path|str)", "Empties a file and writes one line per item as it comes; the path.", streamSave(interp.Truncate)},
		{streams, "append(path: path|str)", "Adds one line per item to the end of a file as it comes; the path.", streamSave(interp.Append)},
		{streams, "into(channel: record|str)", "Sends each item to a channel; null.", streamInto},
		{streams, "render()", "Shows each item; null.", streamRender},
		{streams, "tee(n: count = 2)", "A list of n streams with the same items; a live one keeps 64 for each.", streamTee},
		{streams, "json()", "The items of a bounded stream as compact JSON.", collected(anyJSON)},
	}
}

// collected runs a method of lists on the items of a bounded stream.
func collected(f run) run {
	return func(c *interp.Call, a []value.Value) (value.Value, error) {
		all, err := c.M.Collect(c.Recv.AsStream(), "."+c.Name)
		if err != nil {
			return value.Null, err
		}
		c.Recv = value.NewList(all)
		return f(c, a)
	}
}

// addCollected gives streams the methods of sequences that they have not of
// their own.
func (l *Lib) addCollected() {
	for _, r := range sequenceRows() {
		if r.recv&kindSet(value.KindList) == 0 {
			continue
		}
		if s := parseSignature(r.sig); l.Method(value.KindStream, s.name) == nil {
			l.addMethod(methodRow{streams, r.sig, r.doc, collected(r.run)})
		}
	}
}

// stage is what stages have in common: one source that they pull from.
type stage struct{ up source }

func (s stage) Close()     { s.up.Close() }
func (s stage) live() bool { return s.up.live() }

// opened makes the call the consumer of its receiver.
func opened(c *interp.Call) (source, error) { return open(c.Recv) }

func open(v value.Value) (source, error) {
	src, err := interp.OpenStream(v.AsStream())
	if err != nil {
		return nil, err
	}
	return src.(source), nil
}

// after makes the stage that a method gives: what follows the receiver.
func after(c *interp.Call, make func(stage) source) (value.Value, error) {
	return afterAs(c, c.Recv.AsStream().Bounded, make)
}

func afterAs(c *interp.Call, bounded bool, make func(stage) source) (value.Value, error) {
	up, err := opened(c)
	if err != nil {
		return value.Null, err
	}
	return value.NewStream(c.Recv.AsStream().Label, bounded, make(stage{up})), nil
}

// function is a callable of a stage, prepared for the machine that pulls.
type function struct {
	v  value.Value
	n  int
	m  *interp.Machine
	cb *interp.Callback
}

// newFunction refuses what cannot be called.
func newFunction(c *interp.Call, v value.Value, n int) (function, error) {
	f := function{v: v, n: n}
	_, err := f.on(c.M)
	return f, err
}

func (f *function) on(m *interp.Machine) (*interp.Callback, error) {
	if f.m != m {
		cb, err := m.Callback(f.v, f.n)
		if err != nil {
			return nil, err
		}
		f.m, f.cb = m, cb
	}
	return f.cb, nil
}

func streamItself(c *interp.Call, _ []value.Value) (value.Value, error) { return c.Recv, nil }

// listSource gives the items of a slice.
type listSource struct{ rest []value.Value }

func (s *listSource) Next(*interp.Machine) (value.Value, bool, error) {
	if len(s.rest) == 0 {
		return value.Null, false, nil
	}
	v := s.rest[0]
	s.rest = s.rest[1:]
	return v, true, nil
}

func (*listSource) Close()     {}
func (*listSource) live() bool { return false }

// rangeSource counts.
type rangeSource struct{ next, left int64 }

func (s *rangeSource) Next(*interp.Machine) (value.Value, bool, error) {
	if s.left == 0 {
		return value.Null, false, nil
	}
	v := value.Int(s.next)
	s.next++
	s.left--
	return v, true, nil
}

func (*rangeSource) Close()     {}
func (*rangeSource) live() bool { return false }

// sequenceSource is a bounded source of a sequence's items.
func sequenceSource(c *interp.Call, v value.Value) (source, error) {
	if v.Kind() == value.KindRange {
		return &rangeSource{v.AsRange().Start, v.AsRange().Len()}, nil
	}
	all, err := items(c, v)
	return &listSource{all}, err
}

func newSequenceStream(c *interp.Call, _ []value.Value) (value.Value, error) {
	src, err := sequenceSource(c, c.Recv)
	if err != nil {
		return value.Null, err
	}
	return value.NewStream(c.Recv.Kind().String(), true, src), nil
}

// everySource ticks. A tick that nobody has taken is replaced by the next.
type everySource struct {
	d     time.Duration
	start time.Time
	last  int64 // number of the newest tick that was taken
}

func newEvery(c *interp.Call, a []value.Value) (value.Value, error) {
	d := a[0].AsDuration()
	if d <= 0 {
		return value.Null, argErr(c.Span, "every: the interval must be above 0")
	}
	return value.NewStream("every", false, &everySource{d: d}), nil
}

func (s *everySource) Next(m *interp.Machine) (value.Value, bool, error) {
	if s.start.IsZero() {
		s.start = time.Now()
	}
	passed := int64(time.Since(s.start) / s.d)
	if passed <= s.last {
		if s.last >= math.MaxInt64/int64(s.d)-1 {
			return value.Null, false, nil
		}
		if err := pause(m, time.Until(s.start.Add(time.Duration(s.last+1)*s.d))); err != nil {
			return value.Null, false, err
		}
		passed = max(s.last+1, int64(time.Since(s.start)/s.d))
	}
	s.last = passed
	return value.NewDatetime(s.start.Add(time.Duration(passed) * s.d).Round(0)), true, nil
}

func (*everySource) Close()     {}
func (*everySource) live() bool { return true }

// pause waits outside until d has passed or the run is cancelled.
func pause(m *interp.Machine, d time.Duration) (err error) {
	m.Outside(func() { err = wait(m, d) })
	return err
}
