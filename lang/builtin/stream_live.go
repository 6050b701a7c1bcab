package builtin

import (
	"context"
	"runtime"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// liveSource gives what a producer of the host gives.
type liveSource struct {
	produced *interp.Producer
	next     func(*interp.Machine) (value.Value, error)
}

// newLive makes a stream of a producer, which shut ends.
func newLive(c *interp.Call, label string, shut func(), next func(*interp.Machine) (value.Value, error)) value.Value {
	return value.NewStream(label, false, &liveSource{c.M.Produce(shut), next})
}

func (s *liveSource) Next(m *interp.Machine) (v value.Value, ok bool, err error) {
	defer runtime.KeepAlive(s)
	m.Outside(func() { v, err = s.next(m) })
	return v, err == nil, err
}

func (s *liveSource) Close()   { s.produced.Close() }
func (*liveSource) live() bool { return true }

// newWatch is watch(path or glob).
func newWatch(c *interp.Call, a []value.Value) (value.Value, error) {
	w := c.M.Host().Watcher
	if w == nil {
		return value.Null, argErr(c.Span, "watch: this host cannot watch files")
	}
	root, recursive := "", a[1].AsBool()
	var g *value.Glob
	if a[0].Kind() == value.KindGlob {
		g = a[0].AsGlob()
		root, recursive = interp.GlobRoot(g)
	} else {
		root = absolute(c.M, a[0].AsStr())
	}
	var watch interp.Watch
	var err error
	c.M.Outside(func() { watch, err = w.Watch(c.M.Context(), root, recursive) })
	if err != nil {
		return value.Null, watchErr(c, root, err)
	}
	return newLive(c, "watch", watch.Close, func(m *interp.Machine) (value.Value, error) {
		for {
			e, err := watch.Next(m.Context())
			if err != nil {
				return value.Null, hostErr(c, err)
			}
			if g == nil || e.Coalesced || interp.MatchGlob(g, e.Path) {
				return watchEvent(e), nil
			}
		}
	}), nil
}

// watchErr words why a file cannot be followed.
func watchErr(c *interp.Call, path string, err error) error {
	if isMissing(err) {
		return codeErr(c.Span, value.CodeNotFound, "%s %s: no such file or directory", c.Name, lossy(path))
	}
	return hostErr(c, err)
}

var (
	watchShape     = value.ShapeOf("path", "kind", "ts")
	coalescedShape = value.ShapeOf("path", "kind", "ts", "coalesced")
)

func watchEvent(e interp.WatchEvent) value.Value {
	vals := []value.Value{value.Path(e.Path), value.Str(e.Kind), value.NewDatetime(e.At)}
	if e.Coalesced {
		return value.NewRecord(coalescedShape, append(vals, value.Bool(true)))
	}
	return value.NewRecord(watchShape, vals)
}

// newTail is tail(file).
func newTail(c *interp.Call, a []value.Value) (value.Value, error) {
	w := c.M.Host().Watcher
	if w == nil {
		return value.Null, argErr(c.Span, "tail: this host cannot follow files")
	}
	path := absolute(c.M, a[0].AsStr())
	var tail interp.Tail
	var err error
	c.M.Outside(func() { tail, err = w.Tail(c.M.Context(), path, a[1].AsBool()) })
	if err != nil {
		return value.Null, watchErr(c, path, err)
	}
	return newLive(c, "tail", tail.Close, func(m *interp.Machine) (value.Value, error) {
		line, err := tail.Next(m.Context())
		if err != nil {
			return value.Null, hostErr(c, err)
		}
		return value.Str(lossy(string(line))), nil
	}), nil
}

var (
	eventShape   = value.ShapeOf("channel", "seq", "ts", "payload")
	droppedEvent = value.ShapeOf("channel", "dropped", "latest_seq")
)

// channelEvent is an item of a channel as a record.
func channelEvent(name string, e interp.ChannelItem) (value.Value, error) {
	if e.Dropped > 0 {
		return value.NewRecord(droppedEvent, []value.Value{
			value.Str(name), value.Int(int64(e.Dropped)), value.Int(int64(e.Latest)),
		}), nil
	}
	payload, err := parsePayload(e.Payload)
	if err != nil {
		return value.Null, err
	}
	return value.NewRecord(eventShape, []value.Value{
		value.Str(name), value.Int(int64(e.Seq)), value.NewDatetime(e.At), payload,
	}), nil
}

func parsePayload(payload []byte) (value.Value, error) {
	v, err := value.ParseJSON(string(payload))
	return v, raised(err)
}

// subscribe opens a cursor of a channel.
func subscribe(c *interp.Call, from interp.Channels, name string, start interp.ChannelStart) (interp.ChannelCursor, error) {
	var cur interp.ChannelCursor
	var err error
	c.M.Outside(func() { cur, err = from.Subscribe(c.M.Context(), name, start) })
	return cur, hostErr(c, err)
}

// channelEvents is channel.events(since: k).
func channelEvents(c *interp.Call, a []value.Value) (value.Value, error) {
	from, name, err := channels(c)
	if err != nil {
		return value.Null, err
	}
	var start interp.ChannelStart
	if !a[0].IsNull() {
		since := uint64(a[0].AsInt())
		start.Since = &since
	}
	cur, err := subscribe(c, from, name, start)
	if err != nil {
		return value.Null, err
	}
	return newLive(c, "events", cur.Close, func(m *interp.Machine) (value.Value, error) {
		e, err := cur.Next(m.Context())
		if err != nil {
			return value.Null, err
		}
		return channelEvent(name, e)
	}), nil
}

// channelTake is channel.take(timeout: d): the next payload from now on.
func channelTake(c *interp.Call, a []value.Value) (value.Value, error) {
	from, name, err := channels(c)
	if err != nil {
		return value.Null, err
	}
	ctx := c.M.Context()
	if !a[0].IsNull() {
		d := a[0].AsDuration()
		if d < 0 {
			return value.Null, typeErr(c.Span, "take: the timeout must not be negative")
		}
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	cur, err := subscribe(c, from, name, interp.ChannelStart{Live: true})
	if err != nil {
		return value.Null, err
	}
	defer cur.Close()
	for {
		var e interp.ChannelItem
		c.M.Outside(func() { e, err = cur.Next(ctx) })
		switch {
		case err == nil && e.Dropped > 0:
		case err == nil:
			return parsePayload(e.Payload)
		case ctx.Err() != nil && c.M.Context().Err() == nil:
			return value.Null, codeErr(c.Span, value.CodeTimeout, "no event on channel %s within %s", name, inline(a[0]))
		default:
			return value.Null, hostErr(c, err)
		}
	}
}
