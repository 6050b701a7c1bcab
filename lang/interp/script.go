package interp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// maxSourceFile is how many bytes a module or script may have.
const maxSourceFile = 8 << 20

// ReadSource reads a file of source text.
func ReadSource(ctx context.Context, files Files, path string) (string, error) {
	if files == nil {
		return "", noFiles()
	}
	f, err := files.Open(ctx, path)
	if err != nil {
		return "", sourceError(path, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxSourceFile+1))
	if err != nil {
		return "", sourceError(path, err)
	}
	if len(text) > maxSourceFile {
		return "", value.Errorf(value.CodeIO, "read %s: more than %d bytes of source", path, maxSourceFile)
	}
	return string(text), nil
}

// sourceError words why source could not be read; a refusal keeps its code.
func sourceError(path string, err error) *value.Error {
	var e *value.Error
	if errors.As(err, &e) && e.Code != value.CodeNotFound {
		return e
	}
	if e != nil || errors.Is(err, fs.ErrNotExist) {
		return value.Errorf(value.CodeIO, "read %s: no such file or directory", path)
	}
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		err = pathErr.Err
	}
	return value.Errorf(value.CodeIO, "read %s: %v", path, err)
}

// SourceError is a parse error of a file as the error that a program sees: the
// message names the place, and the span lies in that file.
func SourceError(path, src string, e *syntax.Error) *value.Error {
	line, col := syntax.LineCol(src, e.Start)
	err := value.Errorf(value.CodeParse, "%s:%d:%d: %s", path, line, col, e.Msg).
		WithSpan(value.Span{Start: e.Start, End: e.End})
	if e.Hint != "" {
		err = err.WithHint("%s", e.Hint)
	}
	err.File = path
	return err
}

// parseFile reads and compiles a file whose top-level names live in scope; nil
// stands for the session's.
func (m *Machine) parseFile(path string, seeds syntax.Names, scope *State, dir string) (*Program, error) {
	m.leaveCells()
	src, err := ReadSource(m.ctx, m.host.Files, path)
	if err == nil && m.run.Source != nil {
		err = m.run.Source(path, src)
	}
	m.enterCells()
	if err != nil {
		return nil, err
	}
	p, perr := Parse(src, seeds, m.lib)
	if perr != nil {
		return nil, SourceError(path, src, perr)
	}
	p.unit.scope, p.unit.file, p.unit.dir = scope, path, dir
	return p, nil
}

// nested runs a program within the running one. Its failing commands raise,
// the last one too.
func (m *Machine) nested(p *Program, span syntax.Span) value.Value {
	saved, ok := m.push(&Func{code: p.main}, span)
	if !ok {
		return value.Null
	}
	tail := m.tail
	m.tail = Stmt
	m.aliases++ // it is no function
	v := m.nestedStatements(p)
	m.aliases--
	m.tail = tail
	return m.pop(&saved, v, span)
}

func (m *Machine) nestedStatements(p *Program) value.Value {
	for _, n := range p.unit.tree.Notes {
		line, _ := syntax.LineCol(p.unit.tree.Src, n.Start)
		m.Note(Note{Code: n.Code, Msg: fmt.Sprintf("%s:%d: %s", p.unit.file, line, n.Msg)})
	}
	last := value.Null
	for i := range p.stmts {
		s := &p.stmts[i]
		v := s.code(m)
		switch m.ctl {
		case running:
		case breaking, continuing, returning:
			return m.raise(m.strayControl(s), s.span)
		default:
			return value.Null
		}
		last = v
		if i < len(p.stmts)-1 && s.isCommand {
			m.Sink(v)
		}
		if !m.poll() {
			return value.Null
		}
	}
	return last
}

// onState runs f with another state as the session: its directory, its
// environment, and a top level at which both may be changed.
func (m *Machine) onState(s *State, f func() value.Value) value.Value {
	state, aliases := m.state, m.aliases
	m.state, m.aliases = s, m.depth
	v := f()
	m.state, m.aliases = state, aliases
	return v
}

// IsScript reports whether a head names a script of the language: a path with
// the ending .shl.
func IsScript(head string) bool {
	return strings.HasSuffix(head, ".shl") && strings.Contains(head, "/")
}

// Source runs a file in the scope of the running code, whose top level keeps
// what the file declares.
func (m *Machine) Source(path string, span syntax.Span) (value.Value, error) {
	back := m.beginCallback()
	return m.endCallback(m.source(m.Abs(path), span), back)
}

func (m *Machine) source(path string, span syntax.Span) value.Value {
	u := m.links.unit
	p, err := m.parseFile(path, m.scope().Names(), u.scope, u.dir)
	if err != nil {
		return m.raise(err, span)
	}
	return m.nested(p, span)
}

// Script runs a file in a fresh scope with args and script bound; where the
// session is and what it binds stays as it was.
func (m *Machine) Script(path string, args []value.Value, span syntax.Span) (value.Value, error) {
	back := m.beginCallback()
	return m.endCallback(m.script(m.Abs(path), args, span), back)
}

func (m *Machine) script(path string, args []value.Value, span syntax.Span) value.Value {
	scope := m.state.child()
	scope.BindScript(path, args)
	p, err := m.parseFile(path, scope.Names(), scope, "")
	if err != nil {
		return m.raise(err, span)
	}
	v := m.onState(scope, func() value.Value { return m.nested(p, span) })
	delete(m.byUnit, p.unit)
	if m.ctl == exiting {
		m.ctl = running
	}
	return v
}

// BindScript declares what a script knows of its call.
func (s *State) BindScript(path string, args []value.Value) {
	s.Bind("args", value.NewList(args))
	s.Bind("script", value.Path(path))
}

// scriptWords are a command's words as the args of a script: text as written,
// paths as paths, patterns expanded.
func (m *Machine) scriptWords(words []word) ([]value.Value, error) {
	words, err := m.expanded(words)
	if err != nil {
		return nil, err
	}
	args := make([]value.Value, 0, len(words))
	for i := range words {
		v, err := ScriptArg(words[i].Word)
		if err != nil {
			return nil, err
		}
		args = append(args, v)
	}
	return args, nil
}

// ScriptArg is a word as an item of a script's args: a str, or a path where one
// was written.
func ScriptArg(w Word) (value.Value, error) {
	switch w.Kind {
	case syntax.ArgLong, syntax.ArgShort, syntax.ArgDash, syntax.ArgDashDash:
		return value.Str(w.Text), nil
	}
	if !w.Has {
		return value.Str(w.Text), nil
	}
	if w.Value.Kind() == value.KindPath {
		return w.Value, nil
	}
	text, err := value.ArgvText(w.Value)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(w.Span))
	}
	return value.Str(text), nil
}

// scriptHead runs a command whose head is a script.
func (m *Machine) scriptHead(name string, words []word, block value.Value, io *streams, span syntax.Span) value.Value {
	switch {
	case !block.IsNull():
		return m.fail(span, value.CodeType, "`%s` is a script and takes no block", name)
	case io.source != "" || io.fed:
		return m.fail(span, value.CodeArg, "a script reads no input; pass it as an argument")
	}
	args, err := m.scriptWords(words)
	if err != nil {
		return m.raise(err, span)
	}
	v := m.script(m.Abs(name), args, span)
	if m.ctl != running {
		return value.Null
	}
	if len(io.targets) > 0 {
		v = printedBy(v)
	}
	return m.redirected(v, io, span)
}

// printedBy is what a redirect gets of a script's value: of a command's outcome
// its output.
func printedBy(v value.Value) value.Value {
	if v.Kind() != value.KindOutcome {
		return v
	}
	if o := v.AsOutcome(); o.HasOut {
		return o.Out
	}
	return v.AsOutcome().Stdout
}

// raisedAt begins the part of a hint that says where an error comes from.
const raisedAt = "raised at "

// place is the hint of an error that leaves the unit: what it was, and where in
// the unit's file the error was raised. The innermost place stays.
func (u *unit) place(e *value.Error) string {
	if u.file == "" || e.Span == nil || strings.Contains(e.Hint, raisedAt) {
		return e.Hint
	}
	line, _ := syntax.LineCol(u.tree.Src, e.Span.Start)
	at := fmt.Sprintf("%s%s:%d", raisedAt, filepath.Base(u.file), line)
	if e.Hint == "" {
		return at
	}
	return e.Hint + "; " + at
}
