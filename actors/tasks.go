package actors

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// endedKept is how many ended tasks stay in memory; older ones are read from
// the journal.
const endedKept = 256

// TaskStore holds the runs; it outlives the actors.
type TaskStore struct {
	d *Deps

	mu    sync.Mutex
	runs  map[uint64]*Run
	ended []uint64 // oldest first
}

// NewTaskStore is an empty store.
func NewTaskStore(d *Deps) *TaskStore { return &TaskStore{d: d, runs: map[uint64]*Run{}} }

func (st *TaskStore) add(r *Run) {
	st.mu.Lock()
	st.runs[r.num] = r
	st.mu.Unlock()
	st.d.touched(r)
}

func (st *TaskStore) get(num uint64) *Run {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.runs[num]
}

// retire notes that a run has ended and forgets the oldest ended ones, but not
// those with processes left over as long as there are not too many. A run that
// nobody can know of is forgotten at once.
func (st *TaskStore) retire(r *Run) {
	r.mu.Lock()
	known, again := r.knownLocked(), r.retired
	r.retired = true
	r.mu.Unlock()
	if again {
		return
	}
	st.mu.Lock()
	defer st.mu.Unlock()
	if !known {
		st.dropLocked(r.num)
		return
	}
	st.ended = append(st.ended, r.num)
	for tries := len(st.ended); len(st.ended) > endedKept && tries > 0; tries-- {
		num := st.ended[0]
		st.ended = st.ended[1:]
		if len(st.ended) < 4*endedKept && st.runs[num].hasLeftovers() {
			st.ended = append(st.ended, num)
			continue
		}
		st.dropLocked(num)
	}
}

// retireEnded retires the runs of a session whose actor no longer does.
func (st *TaskStore) retireEnded(session messages.SessionName) {
	for _, r := range st.of(session) {
		if r.hasEnded() {
			st.retire(r)
		}
	}
}

func (r *Run) hasLeftovers() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.leftovers) > 0
}

func (st *TaskStore) dropLocked(num uint64) {
	r := st.runs[num]
	delete(st.runs, num)
	if r == nil {
		return
	}
	r.mu.Lock()
	out := r.output
	r.output = nil
	r.mu.Unlock()
	if out != nil {
		out.Close()
	}
	st.d.Runner.Forget(num)
}

// Live is the number of tasks that have not ended.
func (st *TaskStore) Live() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.runs) - len(st.ended)
}

func (st *TaskStore) liveOf(session messages.SessionName) int {
	n := 0
	for _, r := range st.of(session) {
		if !r.hasEnded() {
			n++
		}
	}
	return n
}

// of lists the runs of a session in memory, oldest first.
func (st *TaskStore) of(session messages.SessionName) []*Run {
	st.mu.Lock()
	defer st.mu.Unlock()
	var out []*Run
	for _, r := range st.runs {
		if r.host.name == session {
			out = append(out, r)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].num < out[j].num })
	return out
}

// List is the tasks of a session: those in memory, then those of the journal,
// newest last.
func (st *TaskStore) List(m messages.ListTasks) messages.TaskList {
	out := messages.TaskList{Tasks: []messages.TaskRecord{}}
	inMemory := map[messages.TaskID]bool{}
	for _, r := range st.of(m.Session) {
		r.seen()
		rec := r.record()
		inMemory[rec.Task] = true
		if !m.Live || !rec.State.Ended() || len(rec.Leftovers) > 0 {
			out.Tasks = append(out.Tasks, rec)
		}
	}
	if m.Live {
		return out
	}
	past := []messages.TaskRecord{} // never null on the wire
	mine := []byte(`"session":` + string(messages.JSON(m.Session)))
	err := st.d.Journal.Scan(tableTask, "", func(_ string, b []byte) bool {
		var saved taskRow
		if !bytes.Contains(b, mine) { // decoding each would take long
			return true
		}
		if json.Unmarshal(b, &saved) == nil && saved.Record.Session == m.Session && !inMemory[saved.Record.Task] {
			past = append(past, saved.Record)
			if len(past) > endedKept {
				past = past[1:]
			}
		}
		return true
	})
	if err != nil {
		st.d.Log.Error("list tasks", "session", m.Session, "err", err)
	}
	out.Tasks = append(past, out.Tasks...)
	return out
}

// find is the record of a task of a session.
func (st *TaskStore) find(session messages.SessionName, id messages.TaskID) (messages.TaskRecord, *messages.Error) {
	num, ok := id.Num()
	if !ok {
		return messages.TaskRecord{}, messages.Errorf(messages.CodeUnknownTask, "%q is no task; tasks look like task:9", id)
	}
	if r := st.get(num); r != nil {
		if r.host.name != session {
			return messages.TaskRecord{}, unknownTask(id)
		}
		return r.record(), nil
	}
	raw, found, err := st.d.Journal.Get(tableTask, numKey(num))
	if err != nil {
		return messages.TaskRecord{}, messages.Errorf(messages.CodeInternal, "read %s: %v", id, err)
	}
	var saved taskRow
	if !found || json.Unmarshal(raw, &saved) != nil || saved.Record.Session != session {
		return messages.TaskRecord{}, unknownTask(id)
	}
	return saved.Record, nil
}

// result is the ref of a task's result, "" while there is none.
func (st *TaskStore) result(session messages.SessionName, id messages.TaskID) (messages.Ref, *messages.Error) {
	rec, err := st.find(session, id)
	return rec.ResultRef, err
}

// cancel has a run end; the processes it started are ended by the ladder. Its
// session is told, as the run may still be queued.
func (st *TaskStore) cancel(r *Run, cause error) {
	if r.setCancelled(cause) {
		r.mu.Lock()
		event := r.taskEventLocked()
		announce := r.knownLocked()
		r.mu.Unlock()
		if announce {
			st.d.Journal.Append(messages.Record{Events: []messages.Draft{event}}, func(messages.Appended) {})
		}
	}
	st.d.touched(r)
	r.host.wake(r.num)
}

// endSession ends every task of a session with what it left over.
func (st *TaskStore) endSession(ctx context.Context, session messages.SessionName) {
	st.end(ctx, st.of(session), errCancelled)
}

// EndAll ends every task, for the kernel's stop, and those that they spawn
// until then.
func (st *TaskStore) EndAll(ctx context.Context) {
	st.mu.Lock()
	runs := slices.Collect(maps.Values(st.runs))
	st.mu.Unlock()
	for len(runs) > 0 && ctx.Err() == nil {
		st.end(ctx, runs, errStopping)
		st.mu.Lock()
		runs = slices.DeleteFunc(slices.Collect(maps.Values(st.runs)), (*Run).hasEnded)
		st.mu.Unlock()
	}
}

func (st *TaskStore) end(ctx context.Context, runs []*Run, cause error) {
	var wg sync.WaitGroup
	for _, r := range runs {
		st.cancel(r, cause)
		wg.Go(func() {
			if waitDone(ctx, r) == nil {
				st.endLeftovers(ctx, r)
			}
		})
	}
	wg.Wait()
}

// tasks is the registry: it spawns an actor per task.
type tasks struct{ st *TaskStore }

// NewTasks makes producers of the registry's actor.
func NewTasks(st *TaskStore) func() actor.Actor {
	return func() actor.Actor { return &tasks{st} }
}

// Receive dispatches one message.
func (t *tasks) Receive(ctx actor.Context) {
	switch m := ctx.Message().(type) {
	case *actor.Started:
		t.started(ctx)
	case *actor.Terminated:
		t.terminated(ctx, m.Who)
	case messages.StartTask:
		if r := t.st.get(m.Task); r != nil {
			t.look(ctx, r)
		}
	case runMoved:
		t.moved(ctx, m.Num)
	case messages.ListTasks:
		t.list(ctx, m)
	case messages.RunTask:
		t.forward(ctx, m)
	}
}

// started looks at every run as if each wake-up had just come.
func (t *tasks) started(ctx actor.Context) {
	t.st.mu.Lock()
	runs := make([]*Run, 0, len(t.st.runs))
	for _, r := range t.st.runs {
		runs = append(runs, r)
	}
	t.st.mu.Unlock()
	for _, r := range runs {
		t.look(ctx, r)
	}
}

// terminated brings a task's actor back as long as its run goes on.
func (t *tasks) terminated(ctx actor.Context, who *actor.PID) {
	name := who.GetId()[strings.LastIndexByte(who.GetId(), '/')+1:]
	num, ok := messages.TaskID("task:" + name).Num()
	if r := t.st.get(num); ok && r != nil {
		t.look(ctx, r)
	}
}

// look starts the actor of a run that is due, and retires one that has ended.
func (t *tasks) look(ctx actor.Context, r *Run) {
	r.mu.Lock()
	due := r.acted && !r.actorLost
	r.mu.Unlock()
	switch {
	case r.hasEnded():
		t.st.retire(r)
	case due:
		t.spawn(ctx, r)
	}
}

func (t *tasks) spawn(ctx actor.Context, r *Run) {
	st := t.st
	_, err := st.d.Sys.SpawnChild(ctx, supervisor.Spec{
		Name:   taskName(r.num),
		New:    func() actor.Actor { return &task{st: st, r: r} },
		GaveUp: func(any) { st.lostActor(r) },
	})
	if err != nil {
		st.d.Log.Error("spawn task", "task", r.id(), "err", err)
	}
}

// lostActor is called when a task's actor was given up; its run does without.
func (st *TaskStore) lostActor(r *Run) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.actorLost = true
}

// act has the registry give a run an actor.
func (st *TaskStore) act(r *Run) {
	r.mu.Lock()
	r.acted = true
	r.mu.Unlock()
	st.d.Sys.Tell(st.d.tasksPID(), messages.StartTask{Task: r.num})
}

func taskName(num uint64) string {
	return strings.TrimPrefix(string(messages.NewTaskID(num)), "task:")
}

// moved lets the actor of an ended run go.
func (t *tasks) moved(ctx actor.Context, num uint64) {
	r := t.st.get(num)
	if r == nil || !r.hasEnded() {
		return
	}
	r.mu.Lock()
	acted := r.acted
	r.mu.Unlock()
	if acted {
		t.st.d.Sys.Tell(t.st.d.pid(TasksName+"/"+taskName(num)), runMoved{num})
	}
	t.st.retire(r)
}

func (t *tasks) list(ctx actor.Context, m messages.ListTasks) {
	to, st := ctx.Sender(), t.st
	st.d.work("list tasks", func() { st.d.Sys.Reply(to, st.List(m)) }, func(*messages.Error) {
		st.d.Sys.Reply(to, &supervisor.Failed{Request: m, Actor: TasksName, Reason: "listing failed"})
	})
}

// forward answers from facts, which may wait for the run.
func (t *tasks) forward(ctx actor.Context, m messages.RunTask) {
	st := t.st
	st.d.serve("task."+m.Op, ctx.Sender(), func() messages.Raw { return st.serve(m) })
}
