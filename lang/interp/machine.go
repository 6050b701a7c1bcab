package interp

import (
	"context"
	"log/slog"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// The bits of a machine's signal word.
const (
	signalCancel uint32 = 1 << iota // the context has ended
	signalShare                     // another machine wants to use the cells
	signalPause                     // the task is suspended
	signalReport                    // say how much memory was asked for
	signalFull                      // there is no memory left
	signalTurn                      // others want to evaluate
)

// control is what makes evaluation leave the normal path.
type control uint8

const (
	running control = iota
	raised          // m.err is set
	breaking
	continuing
	returning // m.ret is set
	exiting
)

// Machine is one run of a program on one goroutine. Library functions get it
// and reach the world through it; they must not keep it.
type Machine struct {
	stack []value.Value
	bp    int // base of the running frame
	sp    int // first free slot
	fn    *Func
	boxes []*Cell // cells of the running frame, if it has any
	links *links  // session names of the running program

	ctl     control
	err     *value.Error
	ret     value.Value
	depth   int // nested calls
	aliases int // of them, aliases
	weight  int // nested expressions, for the evaluator's own stack

	signal  atomic.Uint32
	usage   usage
	world   *world
	locked  bool // cells are shared: use the world's lock
	shared  bool // what locked will be; guarded by the world
	outside int  // inside a blocking operation; guarded by the world
	turns   *Turns
	turnAge int // see Turns; guarded by turns

	life     context.Context // the run's; a Machine lives as long as the run
	ctx      context.Context // of what is being done: life, or a part of it
	state    *State
	host     *Host
	lib      Library
	run      *Run
	log      *slog.Logger
	overlay  []EnvVar // variables that win over pinned ones
	byUnit   map[*unit]*links
	calls    []*Call    // spare Call structs
	text     []byte     // spare room for a string that is put together
	uses     []*loading // the modules this machine is loading, outermost first
	awaits   *loading   // the module it waits for; guarded by the world's modules
	exitCode int
	tail     Position // of the last top-level statement

	beside *beside  // goroutines that evaluate for this machine, if there are any
	parent *Machine // which waits for this one, if it is a branch
	gate   *Gate    // where it rests while its run is suspended; may be nil
	out    *output  // who may still hear of results; that of the run
}

// Context is the run's context.
func (m *Machine) Context() context.Context { return m.ctx }

// Host is the world.
func (m *Machine) Host() *Host { return m.host }

// Library is the standard library.
func (m *Machine) Library() Library { return m.lib }

// Cwd is the working directory, `with cwd:` included.
func (m *Machine) Cwd() string { return m.state.Cwd() }

// Abs is an absolute, clean path; relative ones are relative to the working
// directory. A `~` is an ordinary name: words have it expanded already.
func (m *Machine) Abs(path string) string {
	if !filepath.IsAbs(path) {
		path = m.Cwd() + "/" + path
	}
	return filepath.Clean(path)
}

// expandHome replaces a leading ~ by the session's HOME, if it has one.
func (m *Machine) expandHome(path string) string {
	if path != "~" && !strings.HasPrefix(path, "~/") {
		return path
	}
	home, ok := m.Getenv("HOME")
	if !ok || home.Kind() != value.KindStr || home.AsStr() == "" {
		return path
	}
	return home.AsStr() + path[1:]
}

// OldPwd is the directory before the last Chdir, "" when there was none.
func (m *Machine) OldPwd() string { return m.state.place().oldpwd }

// DirStack is the directory stack below the working directory, top first.
func (m *Machine) DirStack() []string { return m.state.place().dirs }

// Chdir moves the session; path is absolute and canonical. It raises inside a
// function.
func (m *Machine) Chdir(path string) error { return m.move(path, m.DirStack()) }

// SetDirs moves the session and replaces the directory stack, as pushd and popd
// do.
func (m *Machine) SetDirs(path string, stack []string) error { return m.move(path, stack) }

func (m *Machine) move(path string, dirs []string) error {
	if m.InFunction() {
		return value.Errorf(value.CodeCustom,
			"changing the directory is only allowed at session top level; use `with cwd:` inside functions")
	}
	p := m.state.place()
	if p.cwd != path {
		p.oldpwd, p.cwd = p.cwd, path
		m.world.visited(p.oldpwd, time.Now())
		m.world.visited(path, time.Now())
	}
	p.dirs = dirs
	m.state.setPlace(p)
	return nil
}

// InFunction reports whether a function body is running, where the session's
// directory and environment cannot be changed.
func (m *Machine) InFunction() bool { return m.depth > m.aliases }

// Getenv is a variable of the session's environment: a str or a secret.
func (m *Machine) Getenv(name string) (value.Value, bool) {
	v, ok := m.state.environment().vars[name]
	return v, ok
}

// EnvVars lists the session's environment in name order.
func (m *Machine) EnvVars() []EnvVar {
	e := m.state.environment()
	out := make([]EnvVar, 0, len(e.vars))
	for _, kv := range e.environ() {
		name, _, _ := strings.Cut(kv, "=")
		out = append(out, EnvVar{name, e.vars[name]})
	}
	return out
}

// Environ is the environment of children, KEY=value.
func (m *Machine) Environ() []string { return m.state.environment().environ() }

// Setenv sets a variable of the session to the argv text of v; null unsets it.
// It raises inside a function.
func (m *Machine) Setenv(name string, v value.Value) error {
	if m.InFunction() {
		return value.Errorf(value.CodeCustom,
			"the environment cannot be changed inside functions; use `with env:`")
	}
	v, err := envValue(v)
	if err != nil {
		return err
	}
	m.state.setEnvironment(m.state.environment().with(name, v))
	return nil
}

// envValue is v as an environment variable's value.
func envValue(v value.Value) (value.Value, error) {
	switch v.Kind() {
	case value.KindNull, value.KindSecret:
		return v, nil
	case value.KindStr:
		return v, checkEnv(v.AsStr())
	}
	text, err := value.ArgvText(v)
	if err != nil {
		return value.Null, err
	}
	return value.Str(text), checkEnv(text)
}

// envMost is how many bytes a variable may have: systems pass no longer one to a
// program.
const envMost = 1 << 20

func checkEnv(text string) error {
	if len(text) <= envMost {
		return nil
	}
	return value.Errorf(value.CodeArg, "a variable of the environment has at most %d KiB, this one would have %d", envMost>>10, len(text)>>10).
		WithHint("save the text and pass its path, or pass it on stdin with feed")
}

// Check reports that the run was cancelled. It is cheap; library functions call
// it in long loops.
func (m *Machine) Check() error {
	if m.signal.Load() == 0 {
		return nil
	}
	return m.attend()
}

// attend answers the signals. A pending cancellation stays pending.
func (m *Machine) attend() error {
	s := m.signal.Load()
	if s&signalShare != 0 && m.outside == 0 {
		m.world.answer(m)
	}
	if s&signalPause != 0 {
		m.rest()
	}
	if s&signalTurn != 0 {
		m.yield()
	}
	if s&signalReport != 0 {
		m.signal.And(^signalReport)
		m.usage.published.Store(m.usage.asked)
	}
	if m.signal.Load()&signalCancel != 0 {
		return m.cancelled()
	}
	if s&signalFull != 0 {
		m.signal.And(^signalFull)
		return m.host.Memory.full()
	}
	return nil
}

// Cancelled is the error of a wait that the end of the context cut short.
func (m *Machine) Cancelled() error { return m.cancelled() }

// cancelled is the error of a run whose context has ended.
func (m *Machine) cancelled() *value.Error {
	if cause, ok := context.Cause(m.ctx).(*value.Error); ok {
		return cause
	}
	return value.Errorf(value.CodeCancelled, "cancelled")
}

// poll is Check for compiled code: false means that evaluation must stop.
func (m *Machine) poll() bool {
	if m.signal.Load() == 0 {
		return true
	}
	if err := m.attend(); err != nil {
		m.raise(err, syntax.Span{})
		return false
	}
	return true
}

// Sink gives a value to the statement sink: the host's output.
func (m *Machine) Sink(v value.Value) {
	if m.run.Sink == nil || v.IsNull() {
		return
	}
	m.leaveCells()
	defer m.enterCells()
	m.out.tell(func() { m.run.Sink(v) })
}

// Note puts a remark beside the result.
func (m *Machine) Note(n Note) {
	if m.run.Note != nil {
		m.out.tell(func() { m.run.Note(n) })
	}
}

// Exit asks the host to stop after the running statement.
func (m *Machine) Exit(code int) {
	m.ctl, m.exitCode = exiting, code
}

// raise makes err the error of the run, unless something else is already on
// its way. A span of its own wins over span.
func (m *Machine) raise(err error, span syntax.Span) value.Value {
	if m.ctl != running {
		return value.Null
	}
	e, ok := err.(*value.Error)
	if !ok {
		e = value.Errorf(value.CodeCustom, "%v", err)
	}
	if span.End > 0 {
		e = e.WithSpan(value.Span{Start: span.Start, End: span.End})
	}
	m.ctl, m.err = raised, e
	return value.Null
}

// fail raises an error made here.
func (m *Machine) fail(span syntax.Span, code, format string, args ...any) value.Value {
	return m.raise(value.Errorf(code, format, args...), span)
}

// take ends the raised state and gives the error.
func (m *Machine) take() *value.Error {
	e := m.err
	m.ctl, m.err = running, nil
	return e
}
