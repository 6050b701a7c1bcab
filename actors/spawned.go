package actors

import (
	"context"
	"fmt"
	"sync"
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// spawner makes tasks of the session out of the `spawn`, `cmd &` and `on` of one
// run. They are runs of their own that stand in no line, with the principal of
// their run, its rules, and the approvals of the plan that it applies.
type spawner struct {
	w     *worker
	rules *leash.Rules
	plan  *messages.Plan // may be nil
}

// spawned is what makes a run a task of the language: the program is there
// already, and its value goes to whoever awaits it.
type spawned struct {
	spec  interp.TaskSpec // Run is nil once it has run
	rules *leash.Rules
	kept  chan *messages.Error // gets one item: the record of the task is safe, or could not be written
	ended *taskEnd             // nil once it has run: those who hold the task keep its value alive
}

// taskEnd is what a task of the language came to.
type taskEnd struct {
	mu    sync.Mutex
	ended bool
	v     value.Value
	err   error
}

const (
	// sessionTasks is how many tasks of the language one session may have at once.
	sessionTasks = taskLimit / 4
	// spawnLimit is up to how many live tasks any session may spawn more: the rest
	// is for submissions.
	spawnLimit = taskLimit / 8 * 7
	// spawnPause is how long the tasks of a session spawn none once they were too
	// many. Tasks that spawn tasks without end come to theirs meanwhile; without it
	// each that ends would make room for another.
	spawnPause = 2 * time.Second
)

// beginSpawned counts one more task of the language, which parent spawns, or
// says why there may be no more.
func (h *sessionHost) beginSpawned(parent *Run) error {
	live, now := h.tasks.Live(), h.d.Now()
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case live >= spawnLimit:
		return value.Errorf(value.CodeRecursion, "%d tasks run already", live).
			WithHint("cancel or await some")
	case parent.spawned != nil && now.Before(h.spawnsFrom):
		return value.Errorf(value.CodeRecursion, "tasks of this session spawn no others just now: there were more than %d", sessionTasks).
			WithHint("await tasks before spawning more; `jobs` lists what runs")
	case h.spawned >= sessionTasks:
		h.spawnsFrom = now.Add(spawnPause)
		return value.Errorf(value.CodeRecursion, "%d tasks of this session run already", h.spawned).
			WithHint("await or cancel some; `jobs` lists them")
	}
	h.spawned++
	return nil
}

func (h *sessionHost) endSpawned() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spawned--
}

// Spawn starts a task. Its record is on its way to the journal before anybody
// knows of it, and there before it runs.
func (s spawner) Spawn(_ context.Context, t interp.TaskSpec) (string, value.TaskHandle, error) {
	parent, h, d := s.w.run, s.w.run.host, s.w.d
	if err := h.beginSpawned(parent); err != nil {
		return "", nil, err
	}
	num, err := d.NextTask()
	if err != nil {
		h.endSpawned()
		return "", nil, fmt.Errorf("number a task: %w", err)
	}
	now := d.Now()
	r := &Run{
		num: num, entry: parent.entry, host: h, principal: parent.principal, kind: messages.EntryExec,
		params: messages.ExecParams{Src: t.Desc}, plan: s.plan, arrived: now, started: now,
		state: messages.TaskRunning, due: true, launched: true, acted: true, background: true, persisted: true,
		done: make(chan struct{}), spawned: &spawned{spec: t, rules: s.rules, kept: make(chan *messages.Error, 1), ended: &taskEnd{}},
	}
	handle := taskHandle{r, r.spawned.ended}
	rec := r.spawnRecord()
	h.mu.Lock()
	if h.closing || h.closed {
		h.spawned--
		h.mu.Unlock()
		return "", nil, value.Errorf(value.CodeCancelled, "session %s is being closed", h.name)
	}
	h.tasks.add(r)
	h.mu.Unlock()
	d.Journal.Append(rec, func(a messages.Appended) { r.spawned.kept <- a.Err })
	h.tasks.act(r)
	d.work("spawned task", newWorker(d, r).work, nil)
	return string(r.id()), handle, nil
}

// spawnRecord announces a task before it runs. The effects of its block belong
// to the entry of the submission that it comes from.
func (r *Run) spawnRecord() messages.Record {
	r.mu.Lock()
	defer r.mu.Unlock()
	return messages.Record{
		Key:    fmt.Sprintf("task-%d-intent", r.num),
		Rows:   []messages.Row{row(tableTask, numKey(r.num), taskRow{r.recordLocked(), r.entry})},
		Events: []messages.Draft{r.taskEventLocked()},
	}
}

// workSpawned is the whole life of a spawned task, from its record to its end.
func (w *worker) workSpawned(ctx context.Context, cancel context.CancelCauseFunc) {
	r, t := w.run, w.run.spawned
	w.rules = t.rules
	defer r.host.endSpawned()
	defer t.drop()
	if err := <-t.kept; err != nil {
		w.refuse(err)
		return
	}
	if !w.begin(cancel) {
		cancel(errCancelled)
	}
	defer w.openOutput().Finish()
	v, err := t.spec.Run(ctx, interp.TaskEnv{Host: w.newHost(w.rules, r.plan), Sink: w.show, Note: w.note})
	if raised := w.raised(err); raised != nil {
		err = raised
	}
	t.ended.set(v, err)
	t.drop()
	w.finish(v, err)
}

// set keeps what the task came to.
func (t *taskEnd) set(v value.Value, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.ended, t.v, t.err = true, v, err
}

// drop lets go of the program: of one that has not run and never will, and of
// what one that has run refers to.
func (t *spawned) drop() {
	if t.spec.Run == nil {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, _ = t.spec.Run(ctx, interp.TaskEnv{}) // it is cancelled
	t.spec.Run, t.ended = nil, nil
}

// taskHandle is a spawned task as the language uses it. It outlives the run that
// spawned the task, and the task's place in the store.
type taskHandle struct {
	r   *Run
	end *taskEnd
}

// Await waits until the end of the task is on record: then its value, or the
// error that it raised.
func (h taskHandle) Await(ctx context.Context) (value.Value, error) {
	select {
	case <-h.r.done:
	case <-ctx.Done():
		return value.Null, context.Cause(ctx)
	}
	t := h.end
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.ended {
		return value.Null, value.Errorf(value.CodeCancelled, "%s did not run: %s", h.r.id(), h.r.failure())
	}
	return t.v, t.err
}

// failure is why a run has no value.
func (r *Run) failure() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.result.Err == nil {
		return "its kernel has lost it"
	}
	return r.result.Err.Message
}

// Cancel starts the cancellation.
func (h taskHandle) Cancel() { h.r.host.tasks.cancel(h.r, errCancelled) }

// Done reports whether the end of the task is on record.
func (h taskHandle) Done() bool { return h.r.hasEnded() }

// Suspend stops the task and its processes; one that has ended stays as it is.
func (h taskHandle) Suspend(context.Context) error { return h.control(h.r.host.tasks.suspend) }

// Resume continues them.
func (h taskHandle) Resume(context.Context) error { return h.control(h.r.host.tasks.resume) }

func (h taskHandle) control(step func(*Run) *messages.Error) error {
	if h.r.hasEnded() {
		return nil
	}
	if err := step(h.r); err != nil && !h.r.hasEnded() {
		return value.Errorf(value.CodeCustom, "%s", err.Message)
	}
	return nil
}

// Suspended reports whether the task is suspended.
func (h taskHandle) Suspended() bool {
	h.r.mu.Lock()
	defer h.r.mu.Unlock()
	return h.r.state == messages.TaskSuspended
}
