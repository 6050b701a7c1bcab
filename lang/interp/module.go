package interp

import (
	"path/filepath"
	"strings"
	"sync"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// module is a source that `use` has loaded. All bindings of it in a session are
// one cell, which holds the record of what the exports are worth now.
type module struct {
	path    string // canonical
	scope   *State
	exports []export
	cell    *Cell
}

type export struct {
	name string
	cell *Cell
}

// modules are those of a session, by canonical path.
type modules struct {
	mu     sync.Mutex
	byPath map[string]*loading
}

// loading is a module that is there, or on its way.
type loading struct {
	path  string
	owner *Machine
	mod   *module       // nil while it loads
	done  chan struct{} // closed when it is there, or could not be loaded
}

// begin gives the module at path if it is there. Otherwise either mine says
// that m is to load it, or wait that another machine is doing so; a module that
// is being loaded by whoever waits for m is a cycle.
func (r *modules) begin(m *Machine, path string) (mod *module, mine, wait *loading, cycle bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.byPath[path]
	switch {
	case l == nil:
		l = &loading{path: path, owner: m, done: make(chan struct{})}
		if r.byPath == nil {
			r.byPath = map[string]*loading{}
		}
		r.byPath[path] = l
		m.uses = append(m.uses, l)
		return nil, l, nil, false
	case l.mod != nil:
		return l.mod, nil, nil, false
	}
	for at := l; at != nil; at = at.owner.awaits {
		if at.owner == m || m.servesFor(at.owner) {
			return nil, nil, nil, true
		}
	}
	m.awaits = l
	return nil, nil, l, false
}

// end says that m has loaded its module, or, when mod is nil, that it could not.
func (r *modules) end(m *Machine, l *loading, mod *module) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.uses = m.uses[:len(m.uses)-1]
	l.mod = mod
	if mod == nil {
		delete(r.byPath, l.path)
	}
	close(l.done)
}

// waited says that m waits no more.
func (r *modules) waited(m *Machine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	m.awaits = nil
}

// adopt registers a module that was read from disk, or gives the one that is
// there already.
func (r *modules) adopt(mod *module) *module {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.byPath[mod.path]; l != nil && l.mod != nil {
		return l.mod
	}
	if r.byPath == nil {
		r.byPath = map[string]*loading{}
	}
	done := make(chan struct{})
	close(done)
	r.byPath[mod.path] = &loading{path: mod.path, mod: mod, done: done}
	return mod
}

// of is the module that a cell stands for, or nil.
func (r *modules) of(c *Cell) *module {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, l := range r.byPath {
		if l.mod != nil && l.mod.cell == c {
			return l.mod
		}
	}
	return nil
}

// use compiles `use path`.
func (c *compiler) use(s *syntax.Use) code {
	target, name, span := c.word(&s.Target), s.Stem(), s.Span
	v, local := c.declared(s)
	return func(m *Machine) value.Value {
		w, ok := m.word(&target)
		if !ok {
			return value.Null
		}
		if !isName(name) {
			return m.raise(value.Errorf(value.CodeArg, "use: `%s` is no name that a module can have", name).
				WithHint("name the file with letters, digits and underscores"), span)
		}
		mod := m.use(w.Text, span)
		switch {
		case mod == nil:
		case !local:
			m.scope().bindCell(name, mod.cell)
			m.relink(name, mod.cell)
		case v.Hoisted:
			m.store(m.boxes[v.Box], m.load(mod.cell))
		default:
			m.boxes[v.Box] = mod.cell
		}
		return value.Null
	}
}

func isName(s string) bool {
	for i, r := range s {
		if r != '_' && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

// bindCell puts a cell behind a name.
func (s *State) bindCell(name string, c *Cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(name, c)
}

// use gives the module of that path, loading it the first time; nil after
// raising.
func (m *Machine) use(target string, span syntax.Span) *module {
	path, err := m.findModule(target)
	if err != nil {
		m.raise(err, span)
		return nil
	}
	r := &m.world.modules
	for {
		mod, mine, wait, cycle := r.begin(m, path)
		switch {
		case mod != nil:
			return mod
		case cycle:
			m.fail(span, value.CodeCustom, "circular `use`: %s", m.useChain(path))
			return nil
		case mine != nil:
			return m.loadModule(mine, span)
		}
		m.leaveCells()
		select {
		case <-wait.done:
		case <-m.ctx.Done():
		}
		m.enterCells()
		r.waited(m)
		if !m.poll() {
			return nil
		}
	}
}

// useChain names the modules of a cycle that closes at path.
func (m *Machine) useChain(path string) string {
	var names []string
	for _, l := range m.uses {
		if l.path == path || len(names) > 0 {
			names = append(names, moduleStem(l.path))
		}
	}
	if len(names) == 0 {
		names = []string{moduleStem(path)}
	}
	return strings.Join(append(names, moduleStem(path)), " -> ")
}

func moduleStem(path string) string { return strings.TrimSuffix(filepath.Base(path), ".shl") }

// findModule is the canonical path of a module: the file of that name with the
// ending .shl, or else the name as written.
func (m *Machine) findModule(target string) (string, error) {
	if m.host.Files == nil {
		return "", noFiles()
	}
	path := target
	if !filepath.IsAbs(path) {
		dir := m.links.unit.dir
		if dir == "" {
			dir = m.Cwd()
		}
		path = filepath.Join(dir, path)
	}
	m.leaveCells()
	defer m.enterCells()
	for _, candidate := range []string{path + ".shl", path} {
		info, err := m.host.Files.Stat(m.ctx, candidate)
		if err != nil {
			if e, ok := err.(*value.Error); ok && e.Code != value.CodeNotFound {
				return "", e
			}
			continue
		}
		if info.Type == "dir" {
			continue
		}
		real, err := m.host.Files.Real(m.ctx, candidate)
		if err != nil {
			return "", value.Errorf(value.CodeIO, "use %s: %v", target, err)
		}
		return real, nil
	}
	return "", value.Errorf(value.CodeNotFound, "module not found: %s", target).
		WithHint("looked for %s.shl and %s", path, path)
}

// loadModule runs a module's source in a scope of its own, in its directory.
func (m *Machine) loadModule(l *loading, span syntax.Span) (mod *module) {
	defer func() { m.world.modules.end(m, l, mod) }()
	scope := m.state.child()
	scope.cwd = filepath.Dir(l.path)
	p, err := m.parseFile(l.path, syntax.Names{}, scope, scope.cwd)
	if err != nil {
		m.raise(err, span)
		return nil
	}
	m.onState(scope, func() value.Value { return m.nested(p, span) })
	delete(m.byUnit, p.unit)
	if m.ctl != running {
		return nil
	}
	mod = &module{path: l.path, scope: scope, cell: &Cell{bind: BindUse}}
	for _, name := range exported(p.unit.tree) {
		mod.exports = append(mod.exports, export{name, scope.cell(name)})
	}
	m.inCells(func() {
		scope.module = mod
		mod.publish()
	})
	return mod
}

// exported lists the names that a module exports, in order.
func exported(tree *syntax.Program) []string {
	var names []string
	seen := map[string]bool{"_": true}
	for _, s := range tree.Stmts {
		name := ""
		switch s := s.(type) {
		case *syntax.Let:
			if s.Export {
				name = s.Name
			}
		case *syntax.Fn:
			if s.Export {
				name = s.Name
			}
		}
		if name != "" && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

// publish makes the record of the exports anew. The caller has the cells to
// itself.
func (mod *module) publish() {
	var b value.RecordBuilder
	for _, e := range mod.exports {
		b.Add(e.name, e.cell.v)
	}
	c := mod.cell
	c.v, c.dirty, c.plain = b.Done(), true, false
}

// republish is called when the running code has assigned an exported variable.
func (m *Machine) republish() {
	scope := m.scope()
	m.inCells(func() {
		if scope.module != nil {
			scope.module.publish()
		}
	})
}

// inCells runs f while no other machine touches a cell.
func (m *Machine) inCells(f func()) {
	if m.locked {
		m.world.cells.Lock()
		defer m.world.cells.Unlock()
	}
	f()
}
