package interp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"weak"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Stored is a binding as it is kept on disk.
type Stored struct {
	Kind string `json:"kind"` // let, var, fn, alias, use
	Data []byte `json:"data,omitempty"`
	// Lost says why the value could not be kept; a binding that is loaded from
	// it raises that when it is used.
	Lost string `json:"lost,omitempty"`
}

// storedCode is a function on disk: the top-level statement that holds it, what
// the parser has to know to read it the same way, which of its functions it is,
// and what it captured.
type storedCode struct {
	Src     string       `json:"src"`
	Value   []string     `json:"value,omitempty"`
	Command []string     `json:"command,omitempty"`
	Ordinal int          `json:"ordinal"`
	Vals    [][]byte     `json:"vals,omitempty"`
	Cells   []storedCell `json:"cells,omitempty"`
	Scope   *storedScope `json:"scope,omitempty"`
}

// storedCell is a variable that closures share. Data is missing where the same
// record holds it further out.
type storedCell struct {
	ID   uint64 `json:"id"`
	Data []byte `json:"data,omitempty"`
}

// Export gives the stored form of a binding. A value that cannot be kept (a
// task, a live stream, a secret) gives one that says so.
func (s *State) Export(name string, c *value.Codec) (Stored, error) {
	cell := s.cell(name)
	if cell == nil {
		return Stored{}, fmt.Errorf("export %s: no such binding", name)
	}
	out := Stored{Kind: cell.bind.String()}
	if cell.lost != nil {
		out.Lost = cell.lost.Msg
		return out, nil
	}
	w := &codeWriter{world: s.world, open: map[*Cell]bool{}}
	w.codec = withClosures(c, w)
	var err error
	mod := s.world.modules.of(cell)
	s.world.inspect(func() {
		if mod != nil {
			out.Data, err = w.module(mod)
		} else {
			out.Data, err = value.AppendStored(nil, cell.v, w.codec)
		}
	})
	var not *value.NotStorable
	if errors.As(err, &not) {
		return Stored{Kind: out.Kind, Lost: fmt.Sprintf("`%s` could not be kept: a %s %s", name, not.Kind, not.Reason)}, nil
	}
	if err != nil {
		return Stored{}, fmt.Errorf("export %s: %w", name, err)
	}
	return out, nil
}

func withClosures(c *value.Codec, w *codeWriter) *value.Codec {
	var own value.Codec
	if c != nil {
		own = *c
	}
	own.Closure = w.closure
	return &own
}

// codeWriter writes the functions in one binding. It runs while no machine
// touches a cell.
type codeWriter struct {
	world *world
	codec *value.Codec
	open  map[*Cell]bool
}

func (w *codeWriter) closure(c *value.Closure) ([]byte, error) {
	f, ok := c.Fn.(*Func)
	if !ok {
		return nil, &value.NotStorable{Kind: value.KindClosure, Reason: "has no source"}
	}
	st := f.code.source()
	for _, v := range f.caps {
		data, err := value.AppendStored(nil, v, w.codec)
		if err != nil {
			return nil, err
		}
		st.Vals = append(st.Vals, data)
	}
	for _, cell := range f.cells {
		stored, err := w.cell(cell)
		if err != nil {
			return nil, err
		}
		st.Cells = append(st.Cells, stored)
	}
	var err error
	if u := f.code.unit; u.scope != nil {
		st.Scope, err = w.scope(u.scope, u, u.scoped())
	}
	if err != nil {
		return nil, err
	}
	return json.Marshal(st)
}

func (w *codeWriter) cell(c *Cell) (storedCell, error) {
	if c.id == 0 {
		c.id = w.world.newID()
	}
	out := storedCell{ID: c.id}
	if w.open[c] {
		return out, nil
	}
	w.open[c] = true
	var err error
	out.Data, err = value.AppendStored(nil, c.v, w.codec)
	return out, err
}

// source is the part of a function's stored form that its code determines.
func (fc *funcCode) source() storedCode {
	tree := fc.unit.tree
	stmt := tree.Stmts[fc.info.Stmt]
	span := stmt.Pos()
	st := storedCode{Src: tree.Src[span.Start:span.End], Ordinal: fc.info.Ordinal}
	if fn, ok := stmt.(*syntax.Fn); ok && fn.Doc != "" {
		st.Src = "# " + strings.ReplaceAll(fn.Doc, "\n", "\n# ") + "\n" + st.Src
	}
	values, commands := map[string]bool{}, map[string]bool{}
	for name := range fc.unit.seeds.Value {
		values[name] = true
	}
	for name := range fc.unit.seeds.Command {
		commands[name] = true
	}
	for _, s := range tree.Stmts[:fc.info.Stmt] {
		name, command := declares(s)
		if name == "" || !strings.Contains(st.Src, name) {
			continue
		}
		delete(values, name)
		delete(commands, name)
		if command {
			commands[name] = true
		} else {
			values[name] = true
		}
	}
	st.Value, st.Command = sortedKeys(values), sortedKeys(commands)
	return st
}

// declares is the session name that a statement binds.
func declares(s syntax.Stmt) (name string, command bool) {
	switch s := s.(type) {
	case *syntax.Let:
		return s.Name, false
	case *syntax.Fn:
		return s.Name, true
	case *syntax.Alias:
		return s.Name, true
	}
	return "", false
}

func sortedKeys(m map[string]bool) []string {
	var keys []string
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Import makes a binding of its stored form. What cannot be read becomes a
// binding that raises when it is used, and the error says why.
func (s *State) Import(name string, st Stored, lib Library, c *value.Codec) error {
	kind, ok := ParseBinding(st.Kind)
	if !ok {
		return fmt.Errorf("import %s: unknown kind of binding %q", name, st.Kind)
	}
	if st.Lost != "" {
		s.adopt(name, &Cell{bind: kind, lost: value.Errorf(value.CodeUndefined, "%s", st.Lost)})
		return nil
	}
	r := &codeReader{state: s, lib: lib}
	own := value.Codec{}
	if c != nil {
		own = *c
	}
	own.LoadClosure, own.LoadCommand = r.closure, r.command
	r.codec = &own
	if kind == BindUse {
		return s.importModule(name, st.Data, r)
	}
	v, err := value.LoadStored(st.Data, r.codec)
	if err != nil {
		s.adopt(name, &Cell{bind: kind, lost: value.Errorf(value.CodeUndefined, "`%s` could not be loaded: %v", name, err)})
		return fmt.Errorf("import %s: %w", name, err)
	}
	s.adopt(name, &Cell{bind: kind, v: v})
	return nil
}

// adopt binds a name to what was loaded, which is no change.
func (s *State) adopt(name string, c *Cell) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.names[name] = c
	s.seeds = nil
}

// codeReader reads the functions in one binding.
type codeReader struct {
	state *State
	lib   Library
	codec *value.Codec
	// They are kept alive until the binding holds them.
	cells  []*Cell
	scopes []*State
}

func (r *codeReader) closure(data []byte) (value.Value, error) {
	var st storedCode
	if err := json.Unmarshal(data, &st); err != nil {
		return value.Null, fmt.Errorf("read function: %w", err)
	}
	fc, err := r.code(&st)
	if err != nil {
		return value.Null, err
	}
	f := &Func{code: fc}
	for _, d := range st.Vals {
		v, err := value.LoadStored(d, r.codec)
		if err != nil {
			return value.Null, err
		}
		f.caps = append(f.caps, v)
	}
	for _, c := range st.Cells {
		cell, err := r.cell(c)
		if err != nil {
			return value.Null, err
		}
		f.cells = append(f.cells, cell)
	}
	return f.value(), f.complete()
}

// complete reports a stored function whose captures do not fit its code.
func (f *Func) complete() error {
	plain, boxed := 0, 0
	for _, c := range f.code.info.Captures {
		if c.Boxed() {
			boxed++
		} else {
			plain++
		}
	}
	if plain != len(f.caps) || boxed != len(f.cells) {
		return errors.New("read function: captured variables do not fit the source")
	}
	return nil
}

// maxLoaded is how many sources of loaded functions are remembered.
const maxLoaded = 256

// code compiles the statement a function stands in, once for all its functions.
func (r *codeReader) code(st *storedCode) (*funcCode, error) {
	scope, err := r.scope(st.Scope)
	if err != nil {
		return nil, err
	}
	key := strings.Join(append(append([]string{st.Scope.key(), st.Src}, st.Value...), st.Command...), "\x00")
	w := r.state.world
	w.mu.Lock()
	p := w.loaded[key]
	w.mu.Unlock()
	if p == nil {
		var perr *syntax.Error
		if p, perr = Parse(st.Src, seedNames(st.Value, st.Command), r.lib); perr != nil {
			return nil, fmt.Errorf("read function: %w", perr)
		}
		if scope != nil {
			p.unit.scope, p.unit.file, p.unit.dir = scope, st.Scope.File, st.Scope.Dir
		}
		w.mu.Lock()
		if w.loaded == nil || len(w.loaded) >= maxLoaded {
			w.loaded = map[string]*Program{}
		}
		w.loaded[key] = p
		w.mu.Unlock()
	}
	for _, fc := range p.unit.codes {
		if fc.info.Stmt == 0 && fc.info.Ordinal == st.Ordinal {
			return fc, nil
		}
	}
	return nil, errors.New("read function: the source does not hold it")
}

func seedNames(values, commands []string) syntax.Names {
	n := syntax.Names{Value: map[string]bool{}, Command: map[string]bool{}}
	for _, name := range values {
		n.Value[name] = true
	}
	for _, name := range commands {
		n.Command[name] = true
	}
	return n
}

// cell is the variable with an id: functions that shared it do so again.
func (r *codeReader) cell(st storedCell) (*Cell, error) {
	w := r.state.world
	w.mu.Lock()
	c := w.byID[st.ID].Value()
	if c == nil {
		c = &Cell{id: st.ID}
		w.byID[st.ID] = weak.Make(c)
		w.nextID = max(w.nextID, st.ID)
	}
	w.mu.Unlock()
	r.cells = append(r.cells, c)
	if st.Data == nil {
		return c, nil
	}
	v, err := value.LoadStored(st.Data, r.codec)
	if err != nil {
		return nil, err
	}
	w.inspect(func() { c.v, c.plain = v, false })
	return c, nil
}

// command makes an alias of its spelling.
func (r *codeReader) command(_, repr string) (value.Value, error) {
	p, err := Parse("alias loaded = "+repr, r.state.Names(), r.lib)
	if err != nil {
		return value.Null, fmt.Errorf("read alias: %w", err)
	}
	s := NewState("/", nil)
	if _, err := p.Run(context.Background(), Run{State: s}); err != nil {
		return value.Null, fmt.Errorf("read alias: %w", err)
	}
	return s.names["loaded"].v, nil
}
