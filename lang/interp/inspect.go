package interp

import (
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Code is the source of a callable value, a lambda or an alias's command, and
// what it captured, for those who read code instead of running it.
type Code struct {
	Lambda   *syntax.Lambda
	Alias    *syntax.Command
	Captured map[string]value.Value
	// Variables are those of Captured that may change.
	Variables map[string]bool
	// Closed code sees no names of the session: it belongs to a module or a
	// script, whose names are in Captured.
	Closed bool
	Dir    string // of the module that the code belongs to, or ""
}

// Code is the code behind a value, if there is any.
func (s *State) Code(v value.Value) (Code, bool) {
	if a, ok := aliasOf(v); ok {
		return Code{Alias: a.node.Cmd}, true
	}
	if v.Kind() != value.KindClosure {
		return Code{}, false
	}
	f, ok := v.AsClosure().Fn.(*Func)
	if !ok {
		return Code{}, false
	}
	captured := map[string]value.Value{}
	variables := map[string]bool{}
	s.world.inspect(func() {
		for _, n := range f.code.unit.scoped() {
			captured[n.name] = n.cell.v
			variables[n.name] = n.cell.bind == BindVar || n.cell.bind == BindExport
		}
		for _, c := range f.code.info.Captures {
			if c.Boxed() {
				captured[c.Var.Name] = f.cells[c.Index].v
			} else {
				captured[c.Var.Name] = f.caps[c.Index]
			}
		}
	})
	if f.code.name != "" && f.code.info.SelfName() != "" {
		captured[f.code.name] = v
	}
	return Code{Lambda: f.code.lambda, Captured: captured, Variables: variables, Closed: f.code.unit.scope != nil, Dir: f.code.unit.dir}, true
}

// LoadedModule is the record of a module that the session has loaded from that
// canonical path.
func (s *State) LoadedModule(path string) (v value.Value, ok bool) {
	r := &s.world.modules
	r.mu.Lock()
	l := r.byPath[path]
	r.mu.Unlock()
	if l == nil {
		return value.Null, false
	}
	select {
	case <-l.done:
	default:
		return value.Null, false
	}
	if l.mod == nil {
		return value.Null, false
	}
	s.world.inspect(func() { v = l.mod.cell.v })
	return v, true
}
