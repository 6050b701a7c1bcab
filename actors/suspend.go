package actors

import (
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/messages"
)

// control suspends or resumes a task for a client.
func (st *TaskStore) control(r *Run, rec messages.TaskRecord, step func(*Run) *messages.Error) messages.Raw {
	if r == nil {
		return messages.Raw{Err: uncontrolled(rec.Task, rec.State)}
	}
	if err := step(r); err != nil {
		return messages.Raw{Err: err}
	}
	return messages.Raw{JSON: messages.JSON(messages.TaskStateOf{Task: rec.Task, State: r.record().State})}
}

// uncontrolled says that a task is in no state to be suspended or resumed.
func uncontrolled(id messages.TaskID, state messages.TaskState) *messages.Error {
	return messages.Errorf(messages.CodeTaskControl, "%s is %s; only a running task can be suspended, and a suspended one resumed", id, state).
		With(map[string]any{"task": id, "state": state})
}

// suspend stops a run at its next step, and every process that it has started.
// Suspending twice is suspending once.
func (st *TaskStore) suspend(r *Run) *messages.Error {
	r.control.Lock()
	defer r.control.Unlock()
	if !r.moveState(messages.TaskRunning, messages.TaskSuspended) {
		return r.unlessState(messages.TaskSuspended)
	}
	r.gateOf().Shut()
	if err := st.d.Runner.Suspend(r.num); err != nil {
		st.reopen(r)
		return messages.Errorf(messages.CodeTaskControl, "%s: %v; it goes on", r.id(), err)
	}
	st.stateChanged(r)
	return nil
}

// resume continues what suspend stopped.
func (st *TaskStore) resume(r *Run) *messages.Error {
	r.control.Lock()
	defer r.control.Unlock()
	r.mu.Lock()
	suspended := r.state == messages.TaskSuspended
	r.mu.Unlock()
	if !suspended {
		return r.unlessState(messages.TaskRunning)
	}
	st.reopen(r)
	st.stateChanged(r)
	return nil
}

// reopen lets the processes of a run go on, then its evaluation.
func (st *TaskStore) reopen(r *Run) {
	if err := st.d.Runner.Resume(r.num); err != nil {
		st.d.Log.Error("resume", "task", r.id(), "err", err)
	}
	r.moveState(messages.TaskSuspended, messages.TaskRunning)
	r.gateOf().Open()
}

// moveState takes a run from one state to another; false when it is in a third.
func (r *Run) moveState(from, to messages.TaskState) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state != from || r.ending {
		return false
	}
	r.state = to
	return true
}

// unlessState is nil when a run is in a state already, and the refusal when not.
func (r *Run) unlessState(state messages.TaskState) *messages.Error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state == state {
		return nil
	}
	return uncontrolled(r.id(), r.state)
}

// stateChanged announces where a task stands, and keeps it if the journal knows
// of the task.
func (st *TaskStore) stateChanged(r *Run) {
	r.mu.Lock()
	if !r.committed { // its end comes behind
		rec := messages.Record{Events: []messages.Draft{r.taskEventLocked()}}
		if r.persisted {
			rec.Rows = []messages.Row{row(tableTask, numKey(r.num), taskRow{r.recordLocked(), r.entry})}
		}
		r.listed = true // its end is announced too
		st.d.Journal.Append(rec, func(messages.Appended) {})
	}
	r.mu.Unlock()
	st.d.touched(r)
}

// gateOf is where the run's machines rest.
func (r *Run) gateOf() *interp.Gate {
	if r.spawned != nil {
		return r.spawned.spec.Gate
	}
	return &r.gate
}
