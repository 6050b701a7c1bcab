package interp

import (
	"maps"
	"slices"

	"shoal.dev/shoal/lang/value"
)

// Changes is what happened to a session since it was last asked.
type Changes struct {
	Set     []string // bindings that are new or hold something else, in order
	Deleted []string
	Moved   bool // Cwd, OldPwd or Dirs differ
	Cwd     string
	OldPwd  string
	Dirs    []string
	Env     []EnvChange
}

// Empty reports whether nothing happened.
func (c Changes) Empty() bool {
	return len(c.Set) == 0 && len(c.Deleted) == 0 && !c.Moved && len(c.Env) == 0
}

// TakeChanges gives the changes since the last call. A binding counts as
// changed when it was declared or assigned, and when a variable that code in it
// captured was assigned. It looks at marks, not at values; only values that
// hold code are searched.
func (s *State) TakeChanges() Changes {
	var c Changes
	s.mu.Lock()
	cells := maps.Clone(s.names)
	set := map[string]bool{}
	for name := range s.changed {
		if cells[name] == nil {
			c.Deleted = append(c.Deleted, name)
		} else {
			set[name] = true
		}
	}
	clear(s.changed)
	c.Cwd, c.OldPwd, c.Dirs = s.cwd, s.oldpwd, s.dirs
	c.Moved = s.cwd != s.lastCwd || s.oldpwd != s.lastOldpwd || !slices.Equal(s.dirs, s.lastDirs)
	c.Env = s.env.changes(s.lastEnv)
	s.lastCwd, s.lastOldpwd, s.lastDirs, s.lastEnv = s.cwd, s.oldpwd, s.dirs, s.env
	s.mu.Unlock()

	s.world.inspect(func() { markChanged(cells, set) })
	slices.Sort(c.Deleted)
	c.Set = slices.Sorted(maps.Keys(set))
	return c
}

// markChanged adds the names whose cells, or the cells that code in them
// captured, were written.
func markChanged(cells map[string]*Cell, set map[string]bool) {
	var touched []*Cell
	for name, c := range cells {
		if c.lost != nil {
			continue
		}
		if c.dirty {
			set[name] = true
			touched = append(touched, c)
		}
		if c.plain {
			continue
		}
		walk := codeWalk{seen: map[any]bool{}}
		walk.value(c.v)
		c.plain = !walk.code
		if walk.dirty {
			set[name] = true
		}
		touched = append(touched, walk.cells...)
	}
	for _, c := range touched {
		c.dirty = false
	}
}

// codeWalk searches a value for code and for the cells it captured.
type codeWalk struct {
	seen  map[any]bool
	cells []*Cell
	code  bool
	dirty bool
	depth int
}

// maxWalkDepth is how deep a value is searched; one that nests deeper counts as
// holding code that has not changed.
const maxWalkDepth = 10_000

func (w *codeWalk) value(v value.Value) {
	if w.depth >= maxWalkDepth {
		w.code = true
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	switch v.Kind() {
	case value.KindClosure:
		if f, ok := v.AsClosure().Fn.(*Func); ok {
			w.function(f)
		}
	case value.KindCommand:
		if a, ok := aliasOf(v); ok {
			w.function(a.fn)
		}
	case value.KindList:
		for _, item := range v.AsList().Items {
			w.value(item)
		}
	case value.KindRecord:
		for _, item := range v.AsRecord().Vals {
			w.value(item)
		}
	case value.KindTable:
		for row := range v.AsTable().Borrowed() {
			w.value(row.Value())
		}
	case value.KindOutcome:
		w.value(v.AsOutcome().Out)
	}
}

func (w *codeWalk) function(f *Func) {
	w.code = true
	if w.seen[f] {
		return
	}
	w.seen[f] = true
	for _, v := range f.caps {
		w.value(v)
	}
	for _, c := range f.cells {
		w.cell(c)
	}
	for _, n := range f.code.unit.scoped() {
		w.cell(n.cell)
	}
}

func (w *codeWalk) cell(c *Cell) {
	if w.seen[c] {
		return
	}
	w.seen[c] = true
	w.cells = append(w.cells, c)
	w.dirty = w.dirty || c.dirty
	w.value(c.v)
}

// scoped lists the cells behind the names that a unit with a scope of its own
// mentions.
func (u *unit) scoped() []export {
	if u.scope == nil {
		return nil
	}
	u.scope.mu.Lock()
	defer u.scope.mu.Unlock()
	var out []export
	for _, name := range u.info.Globals {
		if c := u.scope.names[name]; c != nil && c.lost == nil {
			out = append(out, export{name, c})
		}
	}
	return out
}
