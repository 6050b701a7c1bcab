package interp

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"shoal.dev/shoal/lang/value"
)

// Position says what a failed command does: raise, or be a value.
type Position uint8

// The positions.
const (
	Stmt Position = iota
	Value
)

// Statement is what is told about a finished top-level statement.
type Statement struct {
	Index int
	Src   string
	Head  string // the command head it begins with, "" for an expression
	Dur   time.Duration
	OK    bool
}

// Run is what one run of a program needs. State and Host are required; a nil
// function means that nobody listens.
type Run struct {
	State *State
	Host  *Host
	// Position is that of the last top-level statement.
	Position Position
	// Sink gets the values of commands that are not the program's result.
	Sink func(value.Value)
	// EchoAll sends the values of earlier pure expressions to Sink too.
	EchoAll bool
	Note    func(Note)
	// Statement is called after each finished top-level statement, before the
	// next one starts, on the run's own goroutine.
	Statement func(Statement)
	// Exit is called when the program asks its host to stop; the run then ends.
	Exit func(code int)
	// Source judges the text of each file of source before it runs; nil: all may.
	Source func(path, text string) error
	// Planner is what plan and explain ask; nil: they have nobody to ask.
	Planner Planner
	// Gate, which may be nil, suspends the run.
	Gate *Gate
	// Log gets faults of the engine itself.
	Log *slog.Logger
}

// Run runs the program to its end and gives its value. The error is a
// *value.Error; it is cancelled when ctx has ended, or ctx's cause if that is a
// *value.Error. A panic inside the engine becomes an internal error.
func (p *Program) Run(ctx context.Context, r Run) (result value.Value, err error) {
	m := newMachine(ctx, p, &r)
	m.world.enter(m)
	m.host.Memory.enter(m)
	defer m.host.Memory.leave(m)
	defer m.out.end()
	defer m.endBeside()
	defer m.world.leave(m)
	m.gate.enter(m)
	defer m.gate.leave(m)
	stop := context.AfterFunc(ctx, func() { m.signal.Or(signalCancel) })
	defer stop()
	defer func() {
		if cause := recover(); cause != nil {
			err = m.internal(cause)
			result = value.Null
		}
	}()
	if ctx.Err() != nil {
		return value.Null, m.cancelled()
	}
	return m.program(p)
}

// internal is the error for a fault of the engine itself.
func (m *Machine) internal(cause any) *value.Error {
	if m.log != nil {
		m.log.Error("evaluation panicked", "cause", cause, "stack", string(debug.Stack()))
	}
	return value.Errorf(value.CodeCustom, "internal error: %s", fmt.Sprint(cause))
}

func newMachine(ctx context.Context, p *Program, r *Run) *Machine {
	m := &Machine{
		ctx: ctx, life: ctx, run: r, state: r.State, world: r.State.world, host: r.Host,
		lib: p.unit.lib, log: r.Log, tail: r.Position,
		byUnit: map[*unit]*links{}, out: &output{}, gate: r.Gate,
	}
	if m.host == nil {
		m.host = &Host{}
	}
	return m
}

// program runs the top-level statements one after another.
func (m *Machine) program(p *Program) (value.Value, error) {
	m.enterMain(p)
	for _, n := range p.unit.tree.Notes {
		m.Note(Note{Code: n.Code, Msg: n.Msg, Span: &NoteSpan{n.Start, n.End}})
	}
	last := value.Null
	for i := range p.stmts {
		s := &p.stmts[i]
		start := time.Now()
		v := s.code(m)
		switch {
		case m.ctl == raised:
			m.finished(i, s, start, false)
			return value.Null, m.take()
		case m.ctl == exiting:
			m.finished(i, s, start, true)
			if m.run.Exit != nil {
				m.run.Exit(m.exitCode)
			}
			return value.Null, nil
		case m.ctl != running:
			err := m.strayControl(s)
			m.finished(i, s, start, false)
			return value.Null, err
		}
		last = v
		if i < len(p.stmts)-1 && (s.isCommand || m.run.EchoAll && s.isExpr) {
			m.Sink(v)
		}
		m.finished(i, s, start, true)
		if !m.poll() {
			return value.Null, m.take()
		}
	}
	return last, nil
}

// strayControl is the error for break, continue or return outside of what they
// leave.
func (m *Machine) strayControl(s *topStmt) *value.Error {
	err := strayLoopControl()
	if m.ctl == returning {
		err = value.Errorf(value.CodeCustom, "return outside function").
			WithHint("the last value is the result of a program; `exit` ends it early")
	}
	m.ctl, m.ret = running, value.Null
	return err.WithSpan(value.Span{Start: s.span.Start, End: s.span.End})
}

func strayLoopControl() *value.Error {
	return value.Errorf(value.CodeCustom, "loop control outside loop").
		WithHint("`break` and `continue` stand in `for` and `while`; a function ends with `return`")
}

func (m *Machine) finished(i int, s *topStmt, start time.Time, ok bool) {
	if m.run.Statement == nil {
		return
	}
	m.leaveCells()
	defer m.enterCells()
	m.run.Statement(Statement{Index: i, Src: s.src, Head: s.head, Dur: time.Since(start), OK: ok})
}
