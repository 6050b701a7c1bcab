package interp

import (
	"context"
	"strconv"
	"sync"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// spawn compiles `spawn { … }`.
func (c *compiler) spawn(e *syntax.Spawn) code {
	fc := c.function(e, &syntax.Lambda{Span: e.Span, Body: e.Body}, nil)
	return c.task(fc, c.text(e.Span), e.Span)
}

// background compiles `cmd &`.
func (c *compiler) background(e *syntax.Command) code {
	info := c.info.Funcs[e]
	fc := &funcCode{
		unit: c.unit, info: info, rest: -1, arity: -1,
		slots: info.Slots, boxes: info.Boxes, weight: info.Weight,
	}
	outer := c.fn
	c.fn = info
	cmd := c.commandParts(e)
	c.fn = outer
	fc.body = func(m *Machine) value.Value { return cmd.run(m, nil, value.Null, &streams{}, inValue) }
	return c.task(fc, c.text(e.Span), e.Span)
}

// task is code that starts a task of a function without parameters.
func (c *compiler) task(fc *funcCode, desc string, span syntax.Span) code {
	capture := c.captures(fc.info)
	return func(m *Machine) value.Value {
		f := &Func{code: fc}
		capture(m, f)
		v, err := m.Spawn(desc, func(b *Machine) (value.Value, error) { return b.body(f, span) })
		if err != nil {
			return m.raise(err, span)
		}
		return v
	}
}

// body runs f as the program of m. It is no function: it may change m's own
// directory.
func (m *Machine) body(f *Func, span syntax.Span) (value.Value, error) {
	saved, ok := m.push(f, span)
	if !ok {
		return value.Null, m.take()
	}
	m.aliases = m.depth
	v := m.pop(&saved, f.code.body(m), span)
	if m.ctl == raised {
		return value.Null, m.take()
	}
	return v, nil
}

// Spawn starts a task that outlives the run: f on a machine of its own, which
// shares the session's cells and has a copy of its directory and environment.
func (m *Machine) Spawn(desc string, f func(b *Machine) (value.Value, error)) (value.Value, error) {
	if err := m.world.admit(m); err != nil {
		return value.Null, err
	}
	spec := TaskSpec{Desc: desc}
	b := m.sibling(m.ctx)
	b.gate = &Gate{}
	spec.Gate = b.gate
	var once sync.Once
	spec.Run = func(ctx context.Context, env TaskEnv) (v value.Value, err error) {
		once.Do(func() {
			defer m.world.dismiss()
			b.ctx, b.life = ctx, ctx
			b.adopt(env)
			v, err = b.alone(f)
		})
		return v, taskError(err)
	}
	var id string
	var h value.TaskHandle
	var err error
	if m.host.Tasks == nil {
		id, h, err = m.world.spawn(spec, b.gate)
	} else {
		m.Outside(func() { id, h, err = m.host.Tasks.Spawn(m.ctx, spec) })
	}
	if err != nil {
		once.Do(m.world.dismiss)
		return value.Null, err
	}
	return value.NewTask(id, h), nil
}

// adopt takes over what the host gives a task of its own.
func (m *Machine) adopt(env TaskEnv) {
	if env.Host != nil {
		m.host = env.Host
	}
	if env.Sink == nil && env.Note == nil {
		return
	}
	m.run = &Run{Sink: env.Sink, Note: env.Note, Source: m.run.Source, Planner: m.run.Planner, Log: m.log}
	m.out = &output{}
}

// taskError is a task's error for those who wait for it: its place in the
// task's source says nothing in theirs.
func taskError(err error) error {
	e, ok := err.(*value.Error)
	if !ok || e.Span == nil {
		return err
	}
	bare := *e
	bare.Span = nil
	return &bare
}

// spawn runs a task on a goroutine of the session, which State.Close ends.
func (w *world) spawn(spec TaskSpec, g *Gate) (string, value.TaskHandle, error) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &localTask{desc: spec.Desc, cancel: cancel, done: make(chan struct{}), gate: g}
	w.mu.Lock()
	if w.live.closed {
		w.mu.Unlock()
		cancel()
		return "", nil, value.Errorf(value.CodeCancelled, "the session is closed")
	}
	w.live.lastTask++
	t.num = w.live.lastTask
	if w.live.tasks == nil {
		w.live.tasks = map[uint64]*localTask{}
	}
	w.live.tasks[t.num] = t
	w.live.taskGroup.Add(1)
	w.mu.Unlock()
	go func() {
		defer w.live.taskGroup.Done()
		defer cancel()
		t.v, t.err = spec.Run(ctx, TaskEnv{})
		w.mu.Lock()
		delete(w.live.tasks, t.num)
		w.mu.Unlock()
		close(t.done)
	}()
	return strconv.FormatUint(t.num, 10), t, nil
}

// localTask is a task that the session runs itself.
type localTask struct {
	num    uint64
	desc   string
	cancel context.CancelFunc
	done   chan struct{}
	gate   *Gate
	v      value.Value // after done
	err    error
}

// Await implements value.TaskHandle.
func (t *localTask) Await(ctx context.Context) (value.Value, error) {
	select {
	case <-t.done:
		return t.v, t.err
	case <-ctx.Done():
		return value.Null, context.Cause(ctx)
	}
}

// Cancel implements value.TaskHandle.
func (t *localTask) Cancel() { t.cancel() }

// Done implements value.TaskHandle.
func (t *localTask) Done() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

// Suspend stops the task at its next step. Programs that it has started go on.
func (t *localTask) Suspend(context.Context) error {
	if !t.Done() {
		t.gate.Shut()
	}
	return nil
}

// Resume continues the task.
func (t *localTask) Resume(context.Context) error {
	t.gate.Open()
	return nil
}

// Suspended implements value.Suspender.
func (t *localTask) Suspended() bool { return !t.Done() && t.gate.IsShut() }

// LocalTask is a live task that the session runs itself.
type LocalTask struct {
	Num       uint64
	Desc      string
	Suspended bool
}

// LocalTasks lists the tasks that the session runs itself, the oldest first.
func (m *Machine) LocalTasks() []LocalTask { return m.world.localTasks() }
