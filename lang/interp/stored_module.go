package interp

import (
	"encoding/json"
	"fmt"
	"strconv"
	"weak"
)

// storedScope is what a function on disk says about the module or script that
// it belongs to: which one it is, and those of its names that the function
// mentions. Functions of one scope share it again when they are loaded.
type storedScope struct {
	ID    uint64       `json:"id"`
	File  string       `json:"file,omitempty"`
	Dir   string       `json:"dir,omitempty"`
	Names []storedName `json:"names,omitempty"`
}

type storedName struct {
	Name string `json:"name"`
	Kind string `json:"kind"`
	storedCell
}

// storedModule is the binding of a module on disk.
type storedModule struct {
	Path    string      `json:"path"`
	Scope   storedScope `json:"scope"`
	Exports []string    `json:"exports"`
}

// newID is a number for a cell or a scope. The caller has the world.
func (w *world) newID() uint64 {
	w.nextID++
	return w.nextID
}

// key tells the scopes of stored code apart.
func (s *storedScope) key() string {
	if s == nil {
		return ""
	}
	return strconv.FormatUint(s.ID, 10)
}

func (w *codeWriter) scope(scope *State, u *unit, names []export) (*storedScope, error) {
	if scope.id == 0 {
		scope.id = w.world.newID()
		w.world.scopes[scope.id] = weak.Make(scope)
	}
	out := &storedScope{ID: scope.id}
	if u != nil {
		out.File, out.Dir = u.file, u.dir
	}
	for _, n := range names {
		c, err := w.cell(n.cell)
		if err != nil {
			return nil, err
		}
		out.Names = append(out.Names, storedName{n.name, n.cell.bind.String(), c})
	}
	return out, nil
}

func (w *codeWriter) module(mod *module) ([]byte, error) {
	scope, err := w.scope(mod.scope, nil, mod.exports)
	if err != nil {
		return nil, err
	}
	out := storedModule{Path: mod.path, Scope: *scope, Exports: []string{}}
	for _, e := range mod.exports {
		out.Exports = append(out.Exports, e.name)
	}
	return json.Marshal(out)
}

// scope is the scope with that number, with the stored names in it. Names that
// are there already stay.
func (r *codeReader) scope(st *storedScope) (*State, error) {
	if st == nil {
		return nil, nil
	}
	w := r.state.world
	w.mu.Lock()
	scope := w.scopes[st.ID].Value()
	if scope == nil {
		scope = r.state.child()
		scope.id = st.ID
		w.scopes[st.ID] = weak.Make(scope)
		w.nextID = max(w.nextID, st.ID)
	}
	w.mu.Unlock()
	r.scopes = append(r.scopes, scope)
	for _, n := range st.Names {
		kind, ok := ParseBinding(n.Kind)
		if !ok {
			return nil, fmt.Errorf("read function: unknown kind of binding %q", n.Kind)
		}
		if scope.cell(n.Name) == nil {
			c, err := r.cell(storedCell{ID: n.ID})
			if err != nil {
				return nil, err
			}
			c.bind = kind
			scope.bindCell(n.Name, c)
		}
		if n.Data != nil {
			if _, err := r.cell(n.storedCell); err != nil {
				return nil, err
			}
		}
	}
	return scope, nil
}

// importModule binds a name to the stored module, or to the one of that path
// that the session has.
func (s *State) importModule(name string, data []byte, r *codeReader) error {
	mod, err := r.module(data)
	if err != nil {
		return s.unreadable(name, BindUse, err)
	}
	s.adopt(name, s.world.modules.adopt(mod).cell)
	return nil
}

func (r *codeReader) module(data []byte) (*module, error) {
	var st storedModule
	if err := json.Unmarshal(data, &st); err != nil {
		return nil, fmt.Errorf("read module: %w", err)
	}
	scope, err := r.scope(&st.Scope)
	if err != nil {
		return nil, err
	}
	mod := &module{path: st.Path, scope: scope, cell: &Cell{bind: BindUse}}
	for _, n := range st.Exports {
		c := scope.cell(n)
		if c == nil {
			return nil, fmt.Errorf("read module: it does not hold `%s`", n)
		}
		mod.exports = append(mod.exports, export{n, c})
	}
	r.state.world.inspect(func() {
		scope.module = mod
		mod.publish()
		mod.cell.dirty = false
	})
	return mod, nil
}
