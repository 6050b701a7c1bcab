package actors

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// worker evaluates one run, in a goroutine of its own: compile, plan, ask
// policy, record the intent, run, encode, record the end.
type worker struct {
	d   *Deps
	run *Run

	rules   *leash.Rules                  // in force when the run was admitted
	source  func(path, text string) error // judges the files that it runs; may be nil
	flushed chan struct{}                 // holds one item while no printed values are being written

	steps     host.Steps // what undoes what it does to files
	statement atomic.Int64
	undoDepth atomic.Int64 // of what is being done now; see undoRow

	mu      sync.Mutex
	refusal *leash.Verdict // the last effect refused while running
	refused *value.Error   // the error it raised
}

func newWorker(d *Deps, r *Run) *worker {
	w := &worker{d: d, run: r, flushed: make(chan struct{}, 1)}
	w.flushed <- struct{}{}
	w.steps.Log = undoLog{w}
	return w
}

// work runs the whole life of a run. It never panics.
func (w *worker) work() {
	defer func() {
		if p := recover(); p != nil {
			w.d.Log.Error("worker panicked", "task", w.run.id(), "panic", p, "stack", string(debug.Stack()))
			w.steps.Flush()
			w.refuse(messages.Errorf(messages.CodeInternal, "the evaluation failed inside the kernel: %v", p))
		}
	}()
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	if w.run.spawned != nil {
		w.workSpawned(ctx, cancel)
		return
	}
	if !w.begin(cancel) {
		w.finish(value.Null, value.Errorf(value.CodeCancelled, "cancelled before it ran"))
		return
	}
	prog, perr := w.d.Compiler.Compile(w.run.params.Src, w.run.fork)
	if perr != nil {
		w.refuse(parseError(w.run.params.Src, perr))
		return
	}
	if !w.admit(ctx, prog) {
		return
	}
	v, err := w.eval(ctx, prog)
	w.finish(v, err)
}

// begin marks the run as running; false when it was cancelled before.
func (w *worker) begin(cancel context.CancelCauseFunc) bool {
	r := w.run
	defer w.d.touched(r)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.started = w.d.Now()
	r.cancel = cancel
	if r.cause != nil {
		return false
	}
	if r.state == messages.TaskQueued {
		r.state = messages.TaskRunning
	}
	return true
}

// admit derives the effects, asks policy, and makes the intent durable. False
// means that the run has been answered and does not run.
func (w *worker) admit(ctx context.Context, prog *lang.Program) bool {
	r := w.run
	rules := r.host.rulesOf(r.principal)
	w.rules = rules
	derived := prog.PlanFiles(ctx, r.fork, w.readable(rules), planFinder{r.host, r.principal})
	if derived.Err != nil { // what cannot be followed is opaque
		derived.Effects = append(derived.Effects, effect.Effect{Kind: effect.Opaque, Why: derived.Err.Msg})
	}
	r.mu.Lock()
	r.effects, r.heads, r.opaque = derived.Effects, heads(derived), hasOpaque(derived.Effects)
	if r.kind == messages.EntryExec && isUndo(r.heads, len(derived.Statements)) {
		r.kind = messages.EntryUndo
	}
	r.mu.Unlock()
	w.judge(derived)
	if r.params.Mode == messages.ModePlan {
		w.storePlan(derived, rules)
		return false
	}
	if r.plan != nil {
		if err := stale(r.plan, r.fork.Cwd(), sourcesHash(r.params.Src, derived.Files), derived.Effects, rules); err != nil {
			w.refuse(err)
			return false
		}
	}
	if verdict := decide(rules, derived, r.host.scene()); !w.permitted(verdict, derived, rules) {
		return false
	}
	if len(derived.Effects) == 0 && !r.background {
		return true
	}
	return w.recordIntent(len(derived.Effects) > 0)
}

// permitted acts on policy's verdict about the whole program.
func (w *worker) permitted(v leash.Verdict, derived plan.Result, rules *leash.Rules) bool {
	switch {
	case v.Outcome == leash.Deny:
		w.refuseEntry(deniedError(v))
		return false
	case v.Outcome == leash.Ask && (w.run.plan == nil || !covers(w.run.plan, rules, derived.Effects, w.run.host.scene())):
		if w.run.plan != nil {
			w.refuse(approvalError(*w.run.plan))
			return false
		}
		w.storePlan(derived, rules)
		return false
	default:
		return true
	}
}

// recordIntent writes that the run is about to have effects; false when that
// failed and the run has been answered.
func (w *worker) recordIntent(effects bool) bool {
	r := w.run
	r.mu.Lock()
	r.persisted = true
	entry := r.entryLocked(messages.EntryRunning, nil)
	rows := []messages.Row{row(tableTask, numKey(r.num), taskRow{r.recordLocked(), r.entry})}
	rows = append(rows, r.openRequestRowsLocked()...)
	var events []messages.Draft
	if r.background {
		events = append(events, r.taskEventLocked())
	}
	r.mu.Unlock()
	ack := w.d.write(messages.Record{
		Key: fmt.Sprintf("task-%d-intent", r.num), Sync: effects,
		Entry: &entry, Rows: rows, Events: events,
	})
	if ack.Err != nil {
		w.refuse(ack.Err)
		return false
	}
	r.mu.Lock()
	r.recorded = true
	r.handedOK = r.handedOK || r.background
	r.mu.Unlock()
	if r.background {
		w.wake()
	}
	return true
}

// eval runs the program on the run's own fork of the session's state; each
// finished top-level statement is committed as long as the run is in line.
func (w *worker) eval(ctx context.Context, prog *lang.Program) (value.Value, error) {
	r := w.run
	defer w.openOutput().Finish()
	position := interp.Stmt
	if r.params.Position == messages.PositionValue {
		position = interp.Value
	}
	return prog.Run(ctx, interp.Run{
		State: r.fork, Host: w.newHost(w.rules, r.plan), Position: position,
		Sink: w.show, Note: w.note, Exit: w.exit,
		Statement: w.statementEnded, Source: w.source, Gate: r.gateOf(),
	})
}

// openOutput starts the log of what the run's programs print.
func (w *worker) openOutput() *proc.TaskOutput {
	output := w.d.Runner.OpenOutput(w.run.num, func(s proc.Stream) { w.grew(s) })
	w.run.mu.Lock()
	w.run.output = output
	w.run.mu.Unlock()
	return output
}

// show takes a value that a statement printed.
func (w *worker) show(v value.Value) {
	r := w.run
	text := w.d.renderBrief(v)
	draft := messages.Draft{
		Key:     messages.ChannelKey{Session: r.host.name, Name: "render"},
		Payload: messages.JSON(map[string]any{"task": r.id(), "text": text}),
	}
	r.mu.Lock()
	r.printed.add(v)
	r.renders = append(r.renders, draft)
	var flush []messages.Draft
	if len(r.renders) >= renderBatch {
		flush, r.renders = r.renders, nil
	}
	r.mu.Unlock()
	if flush != nil { // no faster than the journal writes
		<-w.flushed
		w.d.Journal.Append(messages.Record{Events: flush}, func(messages.Appended) { w.flushed <- struct{}{} })
	}
}

// renderBatch is how many printed values are announced in one record.
const renderBatch = 64

// noteLimit is how many notes a result carries.
const noteLimit = 100

func (w *worker) note(n interp.Note) {
	m := messages.Note{Code: n.Code, Msg: value.Clip(n.Msg, hintMost)}
	if n.Span != nil && w.run.spawned == nil { // its place is in another task's source
		m.Span = &effect.Span{Start: n.Span.Start, End: n.Span.End}
	}
	if n.Data != nil {
		m.Data = messages.JSON(n.Data)
	}
	w.run.note(m)
}

// note keeps a remark for the result.
func (r *Run) note(n messages.Note) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.notes) < noteLimit {
		r.notes = append(r.notes, n)
	}
}

func (w *worker) exit(code int) {
	w.run.mu.Lock()
	defer w.run.mu.Unlock()
	w.run.exitCode = &code
}

// statementEnded commits what a finished top-level statement changed.
func (w *worker) statementEnded(s interp.Statement) {
	w.steps.Flush()
	w.statement.Add(1)
	r := w.run
	ok := s.OK
	r.mu.Lock()
	if len(r.stmts) < statementLimit {
		r.stmts = append(r.stmts, messages.Statement{Src: s.Src, Head: value.Clip(s.Head, headMost), OK: &ok, DurNS: int64(s.Dur)})
	}
	background := r.background
	r.mu.Unlock()
	if background {
		return
	}
	r.host.mu.Lock()
	defer r.host.mu.Unlock()
	if !r.alone() {
		r.commitLocked()
	}
}

// commitLocked takes the run's changes over into the session. A plan runs in
// its own directory; the session stays in its, unless the source moved it.
func (r *Run) commitLocked() {
	r.host.state.Commit(r.fork)
	if r.plan != nil && r.fork.Cwd() == r.plan.Cwd {
		r.host.state.SetCwd(r.ownCwd)
	}
}

// statementLimit is how many statements of one submission an entry lists.
const statementLimit = 1000

// programEnded notes how the last program of the run ended.
func (w *worker) programEnded(e Ended) {
	r := w.run
	r.mu.Lock()
	defer r.mu.Unlock()
	r.exit = &messages.TaskExit{Status: e.Status}
	if e.Signal != "" {
		r.exit.Signal = &e.Signal
	}
	for _, p := range e.Leftovers {
		if len(r.leftovers) == leftoverLimit {
			break
		}
		r.leftovers = append(r.leftovers, messages.Leftover{PID: p.PID, State: p.State, Cmd: p.Cmd})
	}
}

// leftoverLimit is how many processes left over a task's record names.
const leftoverLimit = 1000

// grew announces that a stream of the task has more output.
func (w *worker) grew(s proc.Stream) {
	r := w.run
	r.mu.Lock()
	out := r.output
	r.mu.Unlock()
	if out == nil {
		return
	}
	name, length := "stdout", out.Stdout.Total()
	if s == proc.Stderr {
		name, length = "stderr", out.Stderr.Total()
	}
	w.d.Publish(messages.ChannelKey{Session: r.host.name, Name: r.id().Channel() + ".output"},
		messages.JSON(map[string]any{"stream": name, "offset": length, "len": length}))
}

// wake has the session look at the run.
func (w *worker) wake() { w.run.host.wake(w.run.num) }

func parseError(src string, e *syntax.Error) *messages.Error {
	line, col := syntax.LineCol(src, e.Start)
	return messages.Errorf(messages.CodeParseError, "line %d, column %d: %s", line, col, value.Clip(e.Msg, messageMost)).
		With(messages.ParseErrorData{
			Span: effect.Span{Start: e.Start, End: e.End}, Line: line, Col: col, Hint: value.Clip(e.Hint, hintMost),
		})
}

// heads are the command heads that the program's statements begin with.
func heads(p plan.Result) []string {
	var out []string
	for _, s := range p.Statements {
		if s.Head != "" {
			out = append(out, value.Clip(s.Head, headMost))
		}
	}
	return out
}

func hasOpaque(effects []effect.Effect) bool {
	for _, e := range effects {
		if e.Kind == effect.Opaque {
			return true
		}
	}
	return false
}

// sourceHash identifies a source text.
func sourceHash(src string) string {
	sum := sha256.Sum256([]byte(src))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// elapsed is the time since t in milliseconds.
func elapsed(now, t time.Time) int64 { return now.Sub(t).Milliseconds() }
