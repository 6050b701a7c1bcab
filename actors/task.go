package actors

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"time"
	"unicode/utf8"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// task is the actor of one run that lasts: it stops when the run has ended.
type task struct {
	st *TaskStore
	r  *Run
}

// Receive dispatches one message.
func (t *task) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Started, runMoved:
		t.moved(ctx)
	}
}

func (t *task) moved(ctx actor.Context) {
	if t.r.hasEnded() {
		ctx.Stop(ctx.Self())
	}
}

// serve answers a question about one task. It may wait and runs in a goroutine
// of its own.
func (st *TaskStore) serve(m messages.RunTask) messages.Raw {
	rec, err := st.find(m.Session, m.Task)
	if err != nil {
		return messages.Raw{Err: err}
	}
	num, _ := m.Task.Num()
	r := st.get(num)
	if r != nil {
		r.seen()
	}
	switch m.Op {
	case "get":
		return st.current(r, rec)
	case "await":
		return st.await(r, rec, m.TimeoutMS)
	case "cancel":
		return st.cancelTask(r, rec)
	case "suspend":
		return st.control(r, rec, st.suspend)
	case "resume":
		return st.control(r, rec, st.resume)
	case "output":
		return st.output(r, rec, m)
	default:
		return messages.Raw{Err: messages.Errorf(messages.CodeMethodNotFound, "tasks have no %q", m.Op)}
	}
}

// settleTime is how long a reader waits for an end that is being written.
const settleTime = 5 * time.Second

// current is the record; an end shows only once it is safe.
func (st *TaskStore) current(r *Run, rec messages.TaskRecord) messages.Raw {
	if r != nil {
		r.mu.Lock()
		settling := r.ending && !r.ready
		r.mu.Unlock()
		if settling {
			ctx, cancel := context.WithTimeout(context.Background(), settleTime)
			defer cancel()
			if err := waitDone(ctx, r); err != nil {
				return messages.Raw{Err: messages.Errorf(messages.CodeInternal, "%v", err)}
			}
		}
		rec = r.record()
		rec.Leftovers = st.leftovers(r)
		usage := st.d.Runner.Usage(r.num)
		rec.Usage = &messages.TaskUsage{CPUMS: usage.CPU.Milliseconds(), MaxRSS: usage.MaxRSS}
	}
	return messages.Raw{JSON: messages.JSON(rec)}
}

// leftovers are the processes of an ended run that still live.
func (st *TaskStore) leftovers(r *Run) []messages.Leftover {
	r.mu.Lock()
	had := len(r.leftovers) > 0
	r.mu.Unlock()
	out := []messages.Leftover{}
	if !had {
		return out
	}
	for _, p := range st.d.Runner.Leftovers(r.num) {
		out = append(out, messages.Leftover{PID: p.PID, State: p.State, Cmd: p.Cmd})
	}
	return out
}

// await waits for the end of a task.
func (st *TaskStore) await(r *Run, rec messages.TaskRecord, timeout *int64) messages.Raw {
	if r == nil {
		return messages.Raw{JSON: messages.JSON(rec)}
	}
	ctx := context.Background()
	if timeout != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, millis(*timeout))
		defer cancel()
	}
	if err := waitDone(ctx, r); err != nil {
		return st.current(r, rec) // the budget is spent: the record as it stands
	}
	return st.current(r, rec)
}

// cancelTask ends a task, or what an ended one has left over.
func (st *TaskStore) cancelTask(r *Run, rec messages.TaskRecord) messages.Raw {
	ctx, cancel := context.WithTimeout(context.Background(), settleTime)
	defer cancel()
	switch {
	case r == nil:
		if num, _ := rec.Task.Num(); len(rec.Leftovers) > 0 {
			st.d.Runner.KillTree(ctx, num, proc.CancelLadder())
		}
		return messages.Raw{JSON: messages.JSON(messages.TaskStateOf{Task: rec.Task, State: rec.State})}
	case r.hasEnded():
		st.endLeftovers(ctx, r)
	default:
		st.cancel(r, errCancelled)
	}
	return messages.Raw{JSON: messages.JSON(messages.TaskStateOf{Task: rec.Task, State: r.record().State})}
}

// endLeftovers ends the processes that an ended run left over.
func (st *TaskStore) endLeftovers(ctx context.Context, r *Run) {
	if len(st.leftovers(r)) == 0 {
		return
	}
	left := st.d.Runner.KillTree(ctx, r.num, proc.CancelLadder())
	r.mu.Lock()
	defer r.mu.Unlock()
	r.leftovers = nil
	for _, p := range left {
		r.leftovers = append(r.leftovers, messages.Leftover{PID: p.PID, State: p.State, Cmd: p.Cmd})
	}
}

// outputPiece is how much of a stream one read gives at most, in bytes.
const outputPiece = 64 << 10

// output reads a stream of a task by byte offset.
func (st *TaskStore) output(r *Run, rec messages.TaskRecord, m messages.RunTask) messages.Raw {
	if m.Stream != "stdout" && m.Stream != "stderr" {
		return messages.Raw{Err: messages.Errorf(messages.CodeInvalidParams, "stream is %q; it must be stdout or stderr", m.Stream)}
	}
	if m.Offset < 0 {
		return messages.Raw{Err: messages.Errorf(messages.CodeInvalidParams, "offset is %d; it must not be negative", m.Offset)}
	}
	limit := int64(outputPiece)
	if m.Limit > 0 {
		limit = min(limit, m.Limit)
	}
	buf := make([]byte, limit)
	var n int
	var eof bool
	offset := m.Offset
	if r != nil {
		n, eof = st.d.readMasked(r, m.Stream, buf, offset)
	} else {
		saved, start := st.savedOutput(rec, m.Stream)
		st.d.Mask(saved)
		offset = max(offset, start)
		n = copy(buf, saved[min(offset-start, int64(len(saved))):])
		eof = offset-start+int64(n) >= int64(len(saved))
	}
	buf = buf[:n]
	out := messages.TaskOutput{Offset: offset, Next: offset + int64(n), EOF: eof}
	if utf8.Valid(buf) {
		text := string(buf)
		out.Data = &text
	} else {
		text := base64.StdEncoding.EncodeToString(buf)
		out.DataBase64 = &text
	}
	return messages.Raw{JSON: messages.JSON(out)}
}

// readMasked is readOutput of what nobody is to see masked, also where a page
// ends within it.
func (d *Deps) readMasked(r *Run, stream string, buf []byte, offset int64) (n int, eof bool) {
	n, eof = readOutput(r, stream, buf, offset)
	margin := d.margin()
	if margin == 0 || n == 0 {
		d.Mask(buf[:n])
		return n, eof
	}
	from := max(0, offset-int64(margin))
	wide := make([]byte, int(offset-from)+n+margin)
	got, _ := readOutput(r, stream, wide, from)
	wide = wide[:got]
	d.Mask(wide)
	copy(buf[:n], wide[min(int(offset-from), got):])
	return n, eof
}

func readOutput(r *Run, stream string, buf []byte, offset int64) (n int, eof bool) {
	ended := r.hasEnded()
	r.mu.Lock()
	out := r.output
	r.mu.Unlock()
	if out == nil {
		return 0, ended
	}
	o := out.Stdout
	if stream == "stderr" {
		o = out.Stderr
	}
	n, _ = o.ReadText(buf, offset, ended)
	return n, ended && offset+int64(n) >= o.Len()
}

// savedOutput is what the journal keeps of a stream: its newest part, and the
// offset at which that begins.
func (st *TaskStore) savedOutput(rec messages.TaskRecord, stream string) ([]byte, int64) {
	num, _ := rec.Task.Num()
	raw, found, err := st.d.Journal.Get(tableTaskOut, taskOutKey(num, stream))
	if err != nil || !found {
		return nil, 0
	}
	var saved savedStream
	if json.Unmarshal(raw, &saved) != nil {
		return nil, 0
	}
	return saved.Data, saved.Start
}

// savedStream is the newest output of one stream of a task.
type savedStream struct {
	Start int64  `json:"start"`
	Data  []byte `json:"data"`
}

// outputRows keep the newest output of an ended task with its record.
func (w *worker) outputRows() []messages.Row {
	r := w.run
	if r.output == nil {
		return nil
	}
	var rows []messages.Row
	for name, o := range map[string]*proc.Output{"stdout": r.output.Stdout, "stderr": r.output.Stderr} {
		n := o.Len()
		if n == 0 {
			continue
		}
		start := max(0, n-keptOutput)
		from := max(0, start-int64(w.d.margin()))
		buf := make([]byte, n-from)
		got, _ := o.ReadAt(buf, from)
		buf = buf[:got]
		w.d.Mask(buf)
		rows = append(rows, row(tableTaskOut, taskOutKey(r.num, name), savedStream{start, buf[min(int(start-from), got):]}))
	}
	return rows
}
