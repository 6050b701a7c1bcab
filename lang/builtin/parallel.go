package builtin

import (
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// callParallel calls functions at once, each on a machine of its own. The first
// error cancels the others, unless errors are to be results.
func callParallel(c *interp.Call, a []value.Value) (value.Value, error) {
	settle, fns := a[0].AsBool(), a[1:]
	for _, f := range fns {
		if _, err := c.M.Callback(f, 0); err != nil {
			return value.Null, err
		}
	}
	branches := make([]*interp.Branch, 0, len(fns))
	stop := func() {
		for _, b := range branches {
			b.Stop()
		}
	}
	ended := make(chan int, len(fns))
	for i, f := range fns {
		b, err := c.M.Branch(func(m *interp.Machine) (value.Value, error) {
			return m.Call(f)
		}, func() { ended <- i })
		if err != nil {
			stop()
			return value.Null, err
		}
		branches = append(branches, b)
	}
	first := -1
	c.M.Outside(func() {
		for range branches {
			i := <-ended
			if _, err := branches[i].Result(); err != nil && first < 0 && !settle {
				first = i
				stop()
			}
		}
	})
	if err := c.M.Check(); err != nil {
		return value.Null, err
	}
	if first >= 0 {
		_, err := branches[first].Result()
		return value.Null, err
	}
	return settled(branches), nil
}

// settled is the list of results; an error is an error value.
func settled(branches []*interp.Branch) value.Value {
	out := make([]value.Value, len(branches))
	for i, b := range branches {
		v, err := b.Result()
		if err != nil {
			e, ok := err.(*value.Error)
			if !ok {
				e = value.Errorf(value.CodeCustom, "%v", err)
			}
			v = value.NewError(e)
		}
		out[i] = v
	}
	return value.NewList(out)
}

// callOn subscribes and leaves the calling of the handler to a task. Cancelling
// the task ends the subscription.
func callOn(c *interp.Call, a []value.Value) (value.Value, error) {
	name, err := channelArg(c, a[0])
	if err != nil {
		return value.Null, err
	}
	if c.M.Host().Channels == nil {
		return value.Null, argErr(c.Span, "on: this host has no channels")
	}
	handler := a[1]
	if _, err := c.M.Callback(handler, 1); err != nil {
		return value.Null, err
	}
	cur, err := subscribe(c, c.M.Host().Channels, name, interp.ChannelStart{Live: true})
	if err != nil {
		return value.Null, err
	}
	produced := c.M.Produce(cur.Close) // a task that is cancelled at once never runs
	task, err := c.M.Spawn("on "+name, func(m *interp.Machine) (value.Value, error) {
		defer produced.Close()
		return value.Null, handle(m, cur, name, handler)
	})
	if err != nil {
		produced.Close()
	}
	return task, err
}

// handle calls the handler with each event until the task is cancelled or the
// handler raises.
func handle(m *interp.Machine, cur interp.ChannelCursor, name string, handler value.Value) error {
	f, err := m.Callback(handler, 1)
	if err != nil {
		return err
	}
	for {
		var e interp.ChannelItem
		m.Outside(func() { e, err = cur.Next(m.Context()) })
		if err != nil {
			return err
		}
		v, err := channelEvent(name, e)
		if err != nil {
			return err
		}
		if _, err := f.Call1(v); err != nil {
			return err
		}
	}
}

var jobShape = value.ShapeOf("id", "desc", "state", "done", "suspended")

// localJobs are the live tasks that the session runs itself, as a table.
func localJobs(m *interp.Machine) value.Value {
	var rows []*value.Record
	for _, t := range m.LocalTasks() {
		state := "running"
		if t.Suspended {
			state = "suspended"
		}
		rows = append(rows, value.NewRecord(jobShape, []value.Value{
			value.Int(int64(t.Num)), value.Str(t.Desc), value.Str(state),
			value.Bool(false), value.Bool(t.Suspended),
		}).AsRecord())
	}
	return value.NewTable(rows)
}
