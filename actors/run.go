package actors

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// Causes with which a run's context is cancelled.
var (
	errCancelled = errors.New("cancelled")
	errDeadline  = errors.New("deadline exceeded")
	errStopping  = errors.New("the kernel is stopping")
)

// Run is everything known of one submission from its arrival to its answer. It
// outlives the actors that deal with it: they hold no facts of their own.
//
// Fields above mu are set before the run is shared and never changed.
type Run struct {
	num       uint64
	entry     messages.EntryID
	host      *sessionHost
	key       string
	conn      string
	principal messages.Principal
	kind      messages.EntryKind
	params    messages.ExecParams
	planRef   messages.PlanRef
	arrived   time.Time

	mu         sync.Mutex
	state      messages.TaskState
	started    time.Time
	finished   time.Time
	launched   bool // the worker goroutine exists
	evaluated  bool // the line is free
	ready      bool // result is set and may be sent
	detached   bool // nobody's line any more: commits nothing
	background bool
	listed     bool // somebody saw it in a list, so its end is announced
	persisted  bool // the journal has a task row
	waiters    []*actor.PID
	result     messages.ExecResult
	handed     bool // an answer that hands the task over has been sent or is due
	handedOK   bool // the hand-over is durable
	told       bool // the caller of a background run knows its task
	overdue    bool // its budget ended while it was queued
	cancel     context.CancelCauseFunc
	cause      error // why it was cancelled, also before it had a context

	plan      *messages.Plan
	effects   []effect.Effect
	opaque    bool
	approver  messages.Principal
	heads     []string
	stmts     []messages.Statement
	fork      *interp.State
	printed   printed
	notes     []messages.Note
	exitCode  *int
	resultRef messages.Ref
	errJSON   json.RawMessage
	exit      *messages.TaskExit
	output    *proc.TaskOutput
	leftovers []messages.Leftover
	renders   []messages.Draft
	awaiting  []*actor.PID
	budget    func() // stops the budget timer
	deadline  func()
	done      chan struct{} // closed when the task has reached an end state
}

func (r *Run) id() messages.TaskID { return messages.NewTaskID(r.num) }

// printed collects what statements showed: the first and the last values.
type printed struct {
	total int
	head  []value.Value
	tail  []value.Value // ring of the newest, oldest first once full
	next  int
}

func (p *printed) add(v value.Value) {
	p.total++
	if len(p.head) < messages.PrintedHead {
		p.head = append(p.head, v)
		return
	}
	if len(p.tail) < messages.PrintedTail {
		p.tail = append(p.tail, v)
		return
	}
	p.tail[p.next] = v
	p.next = (p.next + 1) % len(p.tail)
}

// kept is what was kept, in order.
func (p *printed) kept() []value.Value {
	all := append([]value.Value(nil), p.head...)
	return append(append(all, p.tail[p.next:]...), p.tail[:p.next]...)
}

// setCancelled records why the run is to end and ends it. It reports whether
// that is news: the first cause stands.
func (r *Run) setCancelled(cause error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.state.Ended() || r.cause != nil {
		return false
	}
	r.cause = cause
	r.state = messages.TaskCancelling
	if r.cancel != nil {
		r.cancel(cause)
	}
	return true
}

// isDetached reports whether the run's statements no longer belong to the
// session.
func (r *Run) isDetached() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.detached
}

// stopTimers ends the timers of a run that needs them no more.
func (r *Run) stopTimers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, stop := range []func(){r.budget, r.deadline} {
		if stop != nil {
			stop()
		}
	}
	r.budget, r.deadline = nil, nil
}

// record is the task record as it stands.
func (r *Run) record() messages.TaskRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.recordLocked()
}

func (r *Run) recordLocked() messages.TaskRecord {
	rec := messages.TaskRecord{
		Task: r.id(), Session: r.host.name, Principal: r.principal, Src: r.params.Src,
		State: r.state, StartedNS: r.started.UnixNano(), ResultRef: r.resultRef,
		Error: r.errJSON, Exit: r.exit, Leftovers: r.leftovers, Method: treeMethod,
	}
	if r.started.IsZero() {
		rec.StartedNS = r.arrived.UnixNano()
	}
	if !r.finished.IsZero() {
		ns := r.finished.UnixNano()
		rec.FinishedNS = &ns
	}
	if rec.Leftovers == nil {
		rec.Leftovers = []messages.Leftover{}
	}
	if rec.Error == nil {
		rec.Error = json.RawMessage("null")
	}
	if r.output != nil {
		rec.StdoutLen, rec.StdoutKept = r.output.Stdout.Total(), r.output.Stdout.Len()
		rec.StderrLen, rec.StderrKept = r.output.Stderr.Total(), r.output.Stderr.Len()
	}
	return rec
}

// treeMethod names how an unrestricted task's process tree is held together.
const treeMethod = "group+mark"
