package interp

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"weak"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Stored is a binding as it is kept on disk.
type Stored struct {
	Kind string `json:"kind"` // let, var, fn, alias, use
	Data []byte `json:"data,omitempty"`
	// Funcs are the functions in Data, each after those that it captured. A value
	// names one by its number, from 0 on.
	Funcs []StoredFunc `json:"funcs,omitempty"`
	// Lost says why the value could not be kept; a binding that is loaded from
	// it raises that when it is used.
	Lost string `json:"lost,omitempty"`
	// Memory is about how many bytes the binding takes there.
	Memory int64 `json:"memory,omitempty"`
}

// StoredFunc is a function on disk: the top-level statement that holds it, what
// the parser has to know to read it the same way, which of its functions it is,
// and what it captured.
type StoredFunc struct {
	// Like is the number, from 1 on, of a function before this one that has the
	// same code; the five fields that follow are then missing.
	Like    int          `json:"like,omitempty"`
	Src     string       `json:"src,omitempty"`
	Value   []string     `json:"value,omitempty"`
	Command []string     `json:"command,omitempty"`
	Ordinal int          `json:"ordinal,omitempty"`
	Scope   *storedScope `json:"scope,omitempty"`
	Vals    [][]byte     `json:"vals,omitempty"`
	Cells   []storedCell `json:"cells,omitempty"`
}

// Mask has mask overwrite what nobody is to see.
func (s *Stored) Mask(mask func([]byte)) {
	mask(s.Data)
	for i := range s.Funcs {
		f := &s.Funcs[i]
		src := []byte(f.Src)
		mask(src)
		f.Src = string(src)
		for _, v := range f.Vals {
			mask(v)
		}
		for _, c := range f.Cells {
			mask(c.Data)
		}
	}
}

// storedCell is a variable that closures share. Data is missing where the same
// binding holds it elsewhere.
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
	w := newCodeWriter(s.world, c)
	var err error
	mod := s.world.modules.of(cell)
	s.world.inspect(func() {
		if mod != nil {
			out.Data, err = w.module(mod)
		} else {
			out.Data, err = w.value(cell.v)
		}
	})
	out.Funcs, out.Memory = w.funcs, w.memory
	var not *value.NotStorable
	if errors.As(err, &not) {
		return Stored{Kind: out.Kind, Memory: out.Memory, Lost: fmt.Sprintf("`%s` could not be kept: a %s %s", name, not.Kind, not.Reason)}, nil
	}
	if err != nil {
		return Stored{}, fmt.Errorf("export %s: %w", name, err)
	}
	return out, nil
}

// codeWriter writes the functions in one binding, each once, however often and
// deep it is captured. It runs while no machine touches a cell.
type codeWriter struct {
	world *world
	codec value.Codec
	open  map[*Cell]bool
	funcs []StoredFunc
	known map[*Func]int     // by their number in funcs
	codes map[*funcCode]int // the first of funcs with that code
	size  int               // bytes written

	memory int64 // about what the values take there, in bytes
}

func newCodeWriter(w *world, c *value.Codec) *codeWriter {
	cw := &codeWriter{world: w, open: map[*Cell]bool{}, known: map[*Func]int{}, codes: map[*funcCode]int{}}
	if c != nil {
		cw.codec = *c
	}
	cw.codec.Closure = cw.closure
	return cw
}

// value is the stored form of v, which lies as deep as the codec says.
func (w *codeWriter) value(v value.Value) ([]byte, error) {
	at := w.codec
	data, err := value.AppendStored(nil, v, &at)
	w.memory += at.Memory
	if w.size += len(data); err == nil && w.size > value.StoredLimit {
		err = &value.NotStorable{Kind: v.Kind(), Reason: fmt.Sprintf("takes more than %d MiB with what its functions captured", value.StoredLimit>>20)}
	}
	return data, err
}

// closure writes a function and gives its number.
func (w *codeWriter) closure(c *value.Closure, depth int) ([]byte, error) {
	f, ok := c.Fn.(*Func)
	if !ok {
		return nil, &value.NotStorable{Kind: value.KindClosure, Reason: "has no source"}
	}
	n, known := w.known[f]
	if !known {
		outer := w.codec.Depth
		w.codec.Depth = depth + 1
		st, err := w.function(f)
		w.codec.Depth = outer
		if err != nil {
			return nil, err
		}
		n = len(w.funcs)
		w.funcs = append(w.funcs, st)
		w.known[f] = n
		if st.Like == 0 {
			w.codes[f.code] = n
		}
	}
	return strconv.AppendInt(nil, int64(n), 10), nil
}

func (w *codeWriter) function(f *Func) (st StoredFunc, err error) {
	for _, v := range f.caps {
		data, err := w.value(v)
		if err != nil {
			return st, err
		}
		st.Vals = append(st.Vals, data)
	}
	for _, cell := range f.cells {
		stored, err := w.cell(cell)
		if err != nil {
			return st, err
		}
		st.Cells = append(st.Cells, stored)
	}
	if same, ok := w.codes[f.code]; ok {
		st.Like = same + 1
		return st, nil
	}
	f.code.describe(&st)
	w.size += len(st.Src)
	if u := f.code.unit; u.scope != nil {
		st.Scope, err = w.scope(u.scope, u, u.scoped())
	}
	return st, err
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
	out.Data, err = w.value(c.v)
	return out, err
}

// describe fills in the part of a function's stored form that its code
// determines, but for its scope.
func (fc *funcCode) describe(st *StoredFunc) {
	tree := fc.unit.tree
	stmt := tree.Stmts[fc.info.Stmt]
	span := stmt.Pos()
	st.Src, st.Ordinal = tree.Src[span.Start:span.End], fc.info.Ordinal
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
	if err := r.functions(st.Funcs); err != nil {
		return s.unreadable(name, kind, err)
	}
	if kind == BindUse {
		return s.importModule(name, st.Data, r)
	}
	v, err := value.LoadStored(st.Data, r.codec)
	if err != nil {
		return s.unreadable(name, kind, err)
	}
	s.adopt(name, &Cell{bind: kind, v: v})
	return nil
}

// Lose lets go of what a name holds. Using it raises overflow, which says why.
func (s *State) Lose(name, why string) {
	kind := BindLet
	if c := s.cell(name); c != nil {
		kind = c.bind
	}
	s.adopt(name, &Cell{bind: kind, lost: value.Errorf(value.CodeOverflow, "%s", why)})
}

// unreadable binds a name to the reason why it could not be loaded.
func (s *State) unreadable(name string, kind Binding, err error) error {
	s.adopt(name, &Cell{bind: kind, lost: value.Errorf(value.CodeUndefined, "`%s` could not be loaded: %v", name, err)})
	return fmt.Errorf("import %s: %w", name, err)
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
	funcs []*Func // read so far
	// They are kept alive until the binding holds them.
	cells  []*Cell
	scopes []*State
}

// functions reads the functions of a binding in their order.
func (r *codeReader) functions(all []StoredFunc) error {
	for i := range all {
		f, err := r.function(&all[i])
		if err != nil {
			return err
		}
		r.funcs = append(r.funcs, f)
	}
	return nil
}

func (r *codeReader) function(st *StoredFunc) (*Func, error) {
	f := &Func{}
	if st.Like < 0 || st.Like > len(r.funcs) {
		return nil, errors.New("read function: its code is missing")
	}
	if st.Like > 0 {
		f.code = r.funcs[st.Like-1].code
	} else {
		var err error
		if f.code, err = r.code(st); err != nil {
			return nil, err
		}
	}
	for _, d := range st.Vals {
		v, err := value.LoadStored(d, r.codec)
		if err != nil {
			return nil, err
		}
		f.caps = append(f.caps, v)
	}
	for _, c := range st.Cells {
		cell, err := r.cell(c)
		if err != nil {
			return nil, err
		}
		f.cells = append(f.cells, cell)
	}
	return f, f.complete()
}

// closure is the function with the number that data spells.
func (r *codeReader) closure(data []byte) (value.Value, error) {
	n, err := strconv.Atoi(string(data))
	if err != nil || n < 0 || n >= len(r.funcs) {
		return value.Null, fmt.Errorf("read function: there is no number %.20q", data)
	}
	return r.funcs[n].value(), nil
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
func (r *codeReader) code(st *StoredFunc) (*funcCode, error) {
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
