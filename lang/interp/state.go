package interp

import (
	"maps"
	"slices"
	"sync"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// State is a session's language state: what survives from one program to the
// next. One machine at a time runs on a State; forks run beside it. Its methods
// are safe for concurrent use.
type State struct {
	world *world

	mu     sync.Mutex
	names  map[string]*Cell
	seeds  *syntax.Names // of names, until they change
	cwd    string
	oldpwd string
	dirs   []string // directory stack below the cwd, top first
	env    *envTable
	id     uint64  // of a scope that stored code names; guarded by the world
	module *module // whose names these are, once it is loaded; guarded by the world

	uncommitted map[string]struct{} // declared since the last Commit of this fork
	changed     map[string]struct{} // declared since the last TakeChanges
	lastCwd     string
	lastOldpwd  string
	lastDirs    []string
	lastEnv     *envTable
}

// NewState is the state of a new session. environ is KEY=value.
func NewState(cwd string, environ []string) *State {
	env := newEnvTable(environ)
	return &State{
		world: newWorld(), names: map[string]*Cell{}, cwd: cwd, env: env,
		uncommitted: map[string]struct{}{}, changed: map[string]struct{}{},
		lastCwd: cwd, lastEnv: env,
	}
}

// child is a state without names that is where s is and has its environment.
func (s *State) child() *State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &State{
		world: s.world, names: map[string]*Cell{}, cwd: s.cwd, oldpwd: s.oldpwd, dirs: s.dirs, env: s.env,
		uncommitted: map[string]struct{}{}, changed: map[string]struct{}{},
		lastCwd: s.cwd, lastOldpwd: s.oldpwd, lastDirs: s.dirs, lastEnv: s.env,
	}
}

// Fork is a state that shares the bindings' cells and has its own copy of the
// names, directory, directory stack and environment.
func (s *State) Fork() *State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &State{
		world: s.world, names: maps.Clone(s.names), seeds: s.seeds,
		cwd: s.cwd, oldpwd: s.oldpwd, dirs: s.dirs, env: s.env,
		uncommitted: map[string]struct{}{}, changed: map[string]struct{}{},
		lastCwd: s.cwd, lastOldpwd: s.oldpwd, lastDirs: s.dirs, lastEnv: s.env,
	}
}

// Commit takes over what fork has declared and where it has gone since it was
// made or last committed. It costs what changed, not what there is.
func (s *State) Commit(fork *State) {
	fork.mu.Lock()
	cells := make(map[string]*Cell, len(fork.uncommitted))
	for name := range fork.uncommitted {
		cells[name] = fork.names[name] // nil: deleted
	}
	clear(fork.uncommitted)
	cwd, oldpwd, dirs, env := fork.cwd, fork.oldpwd, fork.dirs, fork.env
	fork.mu.Unlock()

	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd, s.oldpwd, s.dirs, s.env = cwd, oldpwd, dirs, env
	for name, c := range cells {
		s.setLocked(name, c)
	}
}

// setLocked puts a cell, or nothing, behind a name.
func (s *State) setLocked(name string, c *Cell) {
	if c == nil {
		delete(s.names, name)
	} else {
		s.names[name] = c
	}
	s.changed[name] = struct{}{}
	s.uncommitted[name] = struct{}{}
	s.seeds = nil
}

// declare makes a session binding. Every declaration is a new cell: forks that
// share the old one keep it.
func (s *State) declare(name string, kind Binding, v value.Value) *Cell {
	c := &Cell{v: v, bind: kind, dirty: true}
	s.mu.Lock()
	s.setLocked(name, c)
	s.mu.Unlock()
	return c
}

// Bind declares a name from outside a program, as `let` does.
func (s *State) Bind(name string, v value.Value) { s.declare(name, BindLet, v) }

// Delete removes a binding.
func (s *State) Delete(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.names[name] != nil {
		s.setLocked(name, nil)
	}
}

// cell is the cell of a name, or nil.
func (s *State) cell(name string) *Cell {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.names[name]
}

// Lookup is the present value of a binding.
func (s *State) Lookup(name string) (v value.Value, kind Binding, ok bool) {
	c := s.cell(name)
	if c == nil || c.lost != nil {
		return value.Null, 0, false
	}
	s.world.inspect(func() { v = c.v })
	return v, c.bind, true
}

// Bindings lists the bound names in order.
func (s *State) Bindings() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.names))
}

// Names are the bindings as the parser needs them; they must not be changed.
func (s *State) Names() syntax.Names {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.seeds == nil {
		n := syntax.Names{Value: map[string]bool{}, Command: map[string]bool{}}
		for name, c := range s.names {
			if c.bind == BindFn || c.bind == BindAlias {
				n.Command[name] = true
			} else {
				n.Value[name] = true
			}
		}
		s.seeds = &n
	}
	return *s.seeds
}

// Cwd is the working directory.
func (s *State) Cwd() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cwd
}

// SetCwd moves the state from outside a program.
func (s *State) SetCwd(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd = path
}

// Environ is the environment of children, KEY=value in name order.
func (s *State) Environ() []string { return s.environment().environ() }

// SetEnv sets a variable from outside a program.
func (s *State) SetEnv(name, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env = s.env.with(name, value.Str(text))
}

// UnsetEnv removes a variable from outside a program.
func (s *State) UnsetEnv(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env = s.env.with(name, value.Null)
}

func (s *State) environment() *envTable {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.env
}

func (s *State) setEnvironment(e *envTable) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.env = e
}

// place is where a state is: what `with` saves and restores.
type place struct {
	cwd, oldpwd string
	dirs        []string
}

func (s *State) place() place {
	s.mu.Lock()
	defer s.mu.Unlock()
	return place{s.cwd, s.oldpwd, s.dirs}
}

func (s *State) setPlace(p place) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cwd, s.oldpwd, s.dirs = p.cwd, p.oldpwd, p.dirs
}
