package proc

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"
)

// Spec is one command. Path is resolved already, Env is final except for the
// mark, which Run adds.
type Spec struct {
	Task uint64
	Argv []string
	Path string
	Dir  string
	Env  []string

	// Stdin is what the child reads; nil is /dev/null. A reader that is no
	// *os.File is read by a goroutine of Run's; if it may block for ever it
	// must be an io.Closer too, and is closed when the child has exited.
	Stdin io.Reader
	// StdoutFile and StderrFile go to the child directly in place of a capture.
	StdoutFile, StderrFile *os.File
	// Merge sends stderr where stdout goes.
	Merge bool
	// Terminal is the child's stdin, stdout and stderr in place of all above. The
	// child stays in the session and group of this process, as what is to have the
	// controlling terminal must.
	Terminal *os.File
	// Stdout and Stderr receive what is captured while the command runs, and
	// what its descendants print later. Either may be nil.
	Stdout, Stderr *Output

	// CaptureCap and SpillCap override the runner's limits when positive.
	CaptureCap, SpillCap int64
}

// Note is a remark on how a command went; Code is a stable word.
type Note struct {
	Code string
	Msg  string
	PIDs []int
}

// The codes of notes.
const (
	NoteHolders       = "background_left"  // descendants live on
	NoteNeedsTerminal = "needs_terminal"   // the program wanted a terminal
	NoteTruncated     = "output_truncated" // the end of the output was dropped
)

// Result is a finished command. Status is nil when a signal ended it. The
// captures are never nil and belong to the caller.
type Result struct {
	PID      int
	Status   *int
	Signal   string // "SIGTERM"
	Dur      time.Duration
	Stdout   *Capture
	Stderr   *Capture
	Holders  []Proc // descendants alive after the drain
	CPU      time.Duration
	MaxRSS   int64 // bytes
	Notes    []Note
	StdinErr error // the error, other than end of file, of reading Spec.Stdin
}

// Run starts a command and waits until it is finished: its child reaped, and
// its pipes at end of file or the drain over. When ctx ends first, the tree is
// ended by the ladder, the survivors are the result's holders, and the error is
// the context's cause; the result is then valid as well. A *SpawnError means
// that nothing ran, and the result is nil.
func (r *Runner) Run(ctx context.Context, spec Spec) (*Result, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	began := time.Now()
	run := &running{r: r, res: &Result{}}
	select {
	case r.starts <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	err := run.start(spec)
	<-r.starts
	if err != nil {
		if err.Kind == NotFound {
			r.paths.forget(spec.Path)
		}
		return nil, err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(ended)
		run.res.Holders = run.tree.End(context.Background(), CancelLadder())
	})
	state, werr := run.child.Wait()
	run.tree.reaped()
	if werr != nil {
		// Cannot happen with a child of ours; the tree must not stay behind.
		run.tree.End(context.Background(), KillLadder())
	}
	run.finish(state, spec.Task)
	run.drain(ctx)
	cancelled := !stop()
	if cancelled {
		<-ended
		run.drain(context.Background())
	}
	run.freeze()
	run.conclude(cancelled)
	run.res.Dur = time.Since(began)
	if cancelled {
		return run.res, context.Cause(ctx)
	}
	return run.res, nil
}

// running is the state of one Run.
type running struct {
	r        *Runner
	res      *Result
	child    *os.Process
	tree     *Tree
	out, err *pump
	feed     *feeder
}

func (x *running) start(spec Spec) *SpawnError {
	r := x.r
	if tooLong(spec.Argv, spec.Env) {
		return &SpawnError{Kind: TooLong, Path: spec.Path, Err: syscall.E2BIG}
	}
	x.res.Stdout = r.newCapture(spec.CaptureCap, spec.SpillCap)
	x.res.Stderr = r.newCapture(spec.CaptureCap, spec.SpillCap)
	var p plumbing
	defer p.closeChild()
	files, err := p.connect(r, spec)
	if err != nil {
		p.closeOurs()
		return &SpawnError{Kind: NoResources, Path: spec.Path, Err: err}
	}
	who := owner(spec.Task)
	seq := r.opts.KernelID + "/" + strconv.FormatUint(r.seq.Add(1), 10)
	env := append(MarkOwner(spec.Env, r.opts.KernelID, who), spawnVar+"="+seq)
	tree, err := r.Track(who, seq, func() (int, error) {
		child, err := os.StartProcess(spec.Path, spec.Argv, &os.ProcAttr{
			Dir: spec.Dir, Env: env, Files: files,
			Sys: &syscall.SysProcAttr{Setsid: spec.Terminal == nil},
		})
		if err != nil {
			return 0, err
		}
		x.child = child
		return child.Pid, nil
	})
	if err != nil {
		p.closeOurs()
		return WhySpawn(spec.Path, spec.Dir, err)
	}
	x.tree, x.res.PID = tree, x.child.Pid
	if p.outR != nil {
		x.out = r.startPump(p.outR, x.res.Stdout, spec.Stdout)
	}
	if p.errR != nil {
		x.err = r.startPump(p.errR, x.res.Stderr, spec.Stderr)
	}
	if p.inW != nil {
		x.feed = r.startFeeder(p.inW, spec.Stdin)
	}
	return nil
}

// finish notes how the direct child ended.
func (x *running) finish(state *os.ProcessState, task uint64) {
	if x.feed != nil {
		x.res.StdinErr = x.feed.stop()
	}
	if state == nil {
		return
	}
	x.res.Status, x.res.Signal = exitOf(state)
	x.res.CPU = state.UserTime() + state.SystemTime()
	x.res.MaxRSS = maxRSS(state)
	x.r.addUsage(owner(task), x.res.CPU, x.res.MaxRSS)
}

// drain waits for the pipes' end of file, at most the drain time.
func (x *running) drain(ctx context.Context) {
	if x.atEOF() {
		return
	}
	timer := time.NewTimer(x.r.opts.Limits.Drain)
	defer timer.Stop()
	for _, p := range []*pump{x.out, x.err} {
		if p == nil {
			continue
		}
		select {
		case <-p.done:
		case <-timer.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (x *running) atEOF() bool {
	for _, p := range []*pump{x.out, x.err} {
		if p == nil {
			continue
		}
		select {
		case <-p.done:
		default:
			return false
		}
	}
	return true
}

func (x *running) freeze() {
	x.out.freeze()
	x.err.freeze()
}

// conclude names what is left and writes the notes. Nothing is searched for
// when the pipes are at end of file and the group is empty.
func (x *running) conclude(cancelled bool) {
	if !cancelled && !(x.atEOF() && x.tree.groupGone()) {
		x.res.Holders = x.tree.Alive()
	}
	if len(x.res.Holders) == 0 {
		x.tree.Drop()
	} else {
		note := Note{Code: NoteHolders, Msg: "still running in the background: " + describe(x.res.Holders)}
		for _, p := range x.res.Holders {
			note.PIDs = append(note.PIDs, p.PID)
		}
		x.res.Notes = append(x.res.Notes, note)
	}
	for _, c := range []*Capture{x.res.Stdout, x.res.Stderr} {
		if kept, total := c.Len(), c.Total(); kept < total {
			msg := "kept " + strconv.FormatInt(kept, 10) + " of " + strconv.FormatInt(total, 10) + " bytes"
			if err := c.lost(); err != nil {
				msg += ": " + err.Error()
			}
			x.res.Notes = append(x.res.Notes, Note{Code: NoteTruncated, Msg: msg})
		}
	}
	if wantsTerminal(x.res.Stderr.Tail(8 << 10)) {
		x.res.Notes = append(x.res.Notes, Note{Code: NoteNeedsTerminal,
			Msg: "the program wants a terminal; captured commands have none"})
	}
}

// wantsTerminal looks for the messages of programs that found no terminal.
func wantsTerminal(stderr []byte) bool {
	for _, word := range []string{"/dev/tty", "not a tty", "not a terminal", "must be run from a terminal"} {
		if bytes.Contains(stderr, []byte(word)) {
			return true
		}
	}
	return false
}

// exitOf splits a wait status into an exit status or a signal's name.
func exitOf(state *os.ProcessState) (*int, string) {
	ws, ok := state.Sys().(syscall.WaitStatus)
	if ok && ws.Signaled() {
		return nil, SignalName(ws.Signal())
	}
	code := state.ExitCode()
	return &code, ""
}

// feeder writes a reader's bytes to the child's stdin.
type feeder struct {
	w    *os.File
	src  io.Reader
	r    *Runner
	done chan struct{}
	err  error
}

func (r *Runner) startFeeder(w *os.File, src io.Reader) *feeder {
	f := &feeder{w: w, src: src, r: r, done: make(chan struct{})}
	r.hold(w)
	r.pumps.Add(1)
	go func() {
		defer r.pumps.Done()
		defer close(f.done)
		from := &errReader{r: src}
		// A child that exits before reading everything is not an error; a
		// source that fails is.
		io.Copy(w, from)
		f.err = from.err
		r.release(w)
	}()
	return f
}

// feederGrace is how long a source that does not end may delay its command.
const feederGrace = 100 * time.Millisecond

// stop ends the feeding after the child has exited. A source that blocks and
// cannot be closed is left to its own end.
func (f *feeder) stop() error {
	f.r.release(f.w)
	if c, ok := f.src.(io.Closer); ok {
		c.Close()
	}
	timer := time.NewTimer(feederGrace)
	defer timer.Stop()
	select {
	case <-f.done:
		return f.err
	case <-timer.C:
		return nil
	}
}

// pipeSize is what a pipe holds at first, in bytes.
const pipeSize = 64 << 10

// errReader remembers why reading ended.
type errReader struct {
	r   io.Reader
	err error
}

func (e *errReader) Read(p []byte) (int, error) {
	n, err := e.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, os.ErrClosed) {
		e.err = err
	}
	return n, err
}

// WriteTo gives what is in memory to the pipe as a whole, without a buffer in
// between.
func (e *errReader) WriteTo(w io.Writer) (int64, error) {
	if whole, ok := e.r.(*bytes.Reader); ok {
		if pipe, ok := w.(*os.File); ok && whole.Len() > pipeSize {
			growPipe(pipe)
		}
		return whole.WriteTo(w)
	}
	return io.Copy(w, struct{ io.Reader }{e})
}
