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
// Fields above mu are set before the run is shared and never changed. A run's
// life, as far as its session sees it: it stands in the line or is background;
// it is due (has the line, or needs none) and its worker is launched; its
// evaluation comes to an end (ending) and is over (evaluated); its answer is
// ready. In between, a spent budget may hand it over.
type Run struct {
	num       uint64
	entry     messages.EntryID
	host      *sessionHost
	key       string
	conn      string
	principal messages.Principal
	applies   bool // a plan
	arrived   time.Time
	done      chan struct{} // closed when the task has reached an end state
	spawned   *spawned      // what makes it a task of the language; nil: a submission
	gate      interp.Gate   // of a submission; see gateOf
	control   sync.Mutex    // held while it is suspended or resumed

	mu       sync.Mutex
	kind     messages.EntryKind
	params   messages.ExecParams
	planRef  messages.PlanRef
	state    messages.TaskState
	started  time.Time
	finished time.Time
	settled  time.Time // when the answer became ready

	claiming   bool // its plan has been asked for
	due        bool // its worker is to be launched
	launched   bool // the worker goroutine exists
	acted      bool // the registry was told to give it an actor
	actorLost  bool // its actor was given up
	ending     bool // its evaluation is over; nothing about its place changes any more
	committed  bool // its last record is with the journal
	evaluated  bool // the line is free
	ready      bool // result is set and may be sent
	detached   bool // nobody's line any more: commits nothing
	background bool
	listed     bool // somebody saw it in a list, so its end is announced
	announced  bool // whoever watches the session's things was told of it
	persisted  bool // the journal has a task row
	recorded   bool // the journal has its intent as an entry
	retired    bool // the task store counts it as ended
	remembered bool // the journal has a row for its request id
	answered   bool // it stands among the session's answered runs

	spent    bool          // the wait budget is over
	overdue  bool          // it was over while the run was queued
	handed   bool          // the hand-over is decided
	handing  chan struct{} // closed when the hand-over is with the journal
	handedOK bool          // the hand-over is durable
	handErr  *messages.Error

	waiters []waiter
	result  messages.ExecResult
	cancel  context.CancelCauseFunc
	cause   error // why it was cancelled, also before it had a context
	hurried bool  // a cancel came when it had evaluated and was being stored

	plan      *messages.Plan
	ownCwd    string // the session's directory while a plan is applied
	effects   []effect.Effect
	opaque    bool
	approver  messages.Principal
	heads     []string
	stmts     []messages.Statement
	undo      messages.EntryUndoing
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
	budget    func() // stops the budget timer
	deadline  func()
	acting    func()
}

// waiter is a call that waits for a run's answer.
type waiter struct {
	key string
	to  *actor.PID
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
	if r.state.Ended() || r.ending || r.cause != nil {
		r.hurried = true
		return false
	}
	r.cause = cause
	r.state = messages.TaskCancelling
	if r.cancel != nil {
		r.cancel(cause)
	}
	return true
}

// alone reports whether the run's statements do not belong to the session.
func (r *Run) alone() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.background || r.detached
}

// knownLocked reports whether somebody can know of the run as a task.
func (r *Run) knownLocked() bool {
	return r.persisted || r.background || r.detached || r.listed || len(r.leftovers) > 0
}

// releaseLocked lets go of what an ended run needs no more: its timers, and
// what would keep the session's old values in memory.
func (r *Run) releaseLocked() {
	for _, stop := range []func(){r.budget, r.deadline, r.acting} {
		if stop != nil {
			stop()
		}
	}
	r.budget, r.deadline, r.acting, r.cancel = nil, nil, nil, nil
	r.fork, r.plan, r.stmts, r.renders, r.effects = nil, nil, nil, nil, nil
	r.printed = printed{total: r.printed.total}
}

// record is the task record as others may see it: an end shows only once it is
// safe.
func (r *Run) record() messages.TaskRecord {
	r.mu.Lock()
	defer r.mu.Unlock()
	rec := r.recordLocked()
	if !r.ready && rec.State.Ended() {
		rec.State, rec.FinishedNS, rec.ResultRef, rec.Error = messages.TaskRunning, nil, "", json.RawMessage("null")
		if r.cause != nil {
			rec.State = messages.TaskCancelling
		}
	}
	return rec
}

// hasEnded reports whether the run's end is known and safe.
func (r *Run) hasEnded() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// seen notes that somebody was shown the task.
func (r *Run) seen() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listed = true
}

func (r *Run) recordLocked() messages.TaskRecord {
	rec := messages.TaskRecord{
		Task: r.id(), Session: r.host.name, Principal: r.principal, Src: r.params.Src,
		State: r.state, StartedNS: r.started.UnixNano(), ResultRef: r.resultRef,
		Error: r.errJSON, Exit: r.exit, Leftovers: r.leftovers, Notes: r.notes, Method: treeMethod,
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
