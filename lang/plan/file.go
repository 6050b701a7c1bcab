package plan

import (
	"path"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Sources lets the planner look into the files that a program would load.
type Sources interface {
	// Source is the text of the file at an absolute path and where it really
	// is; false when it cannot be read.
	Source(path string) (real, text string, ok bool)
	// Module is the module of that real path, if the session has loaded it.
	Module(real string) (value.Value, bool)
	// Plan is the source of a plan that was made elsewhere, by its reference, and
	// the directory in which it runs; false when there is none that may be applied.
	Plan(ref string) (src, cwd string, ok bool)
	// Names are the session's bindings as the parser needs them.
	Names() syntax.Names
}

// use walks `use path`: the module is walked once, and what it exports can be
// called.
func (w *walker) use(s *syntax.Use) {
	a, followed := w.module(s)
	if !followed {
		w.add(s.Span, effect.Effect{Kind: effect.Opaque, Why: "use"})
	}
	w.bind(s.Stem(), a)
}

func (w *walker) module(s *syntax.Use) (a abstract, followed bool) {
	target := s.Target.Text
	dir := w.scope.moduleDir()
	if dir == "" {
		dir = w.cwd
	}
	if s.Target.Parts != nil || strings.HasPrefix(target, "~") || dir == "" && !strings.HasPrefix(target, "/") {
		w.add(s.Span, effect.Effect{Kind: effect.FSRead, Path: effect.Any})
		return unknown, false
	}
	if !strings.HasPrefix(target, "/") {
		target = dir + "/" + target
	}
	for _, file := range []string{clean(target) + ".shl", clean(target)} {
		w.read(file, s.Span)
		if real, text, ok := w.source(file); ok {
			w.read(real, s.Span)
			return w.moduleAt(real, text, s.Span)
		}
	}
	return unknown, false
}

func (w *walker) moduleAt(real, text string, span syntax.Span) (abstract, bool) {
	if v, ok := w.sources.Module(real); ok {
		return w.sessionValue(v), true
	}
	if a, ok := w.modules[real]; ok {
		return a, true
	}
	tree, ok := w.parsed(real, text, syntax.Names{})
	if !ok {
		return unknown, false
	}
	top := &scope{names: map[string]abstract{}, code: Code{Closed: true, Dir: path.Dir(real)}}
	cwd, cds := w.cwd, w.cds
	w.cwd = path.Dir(real)
	w.file(real, tree, top, span)
	w.cwd, w.cds = cwd, cds
	a := abstract{kind: value.KindRecord, typed: true, fields: map[string]abstract{}}
	for _, s := range tree.Stmts {
		switch s := s.(type) {
		case *syntax.Let:
			if s.Export {
				a.fields[s.Name] = top.names[s.Name]
			}
		case *syntax.Fn:
			if s.Export {
				a.fields[s.Name] = top.names[s.Name]
			}
		}
	}
	w.modules[real] = a
	return a, true
}

// script walks a script that is run; false when it cannot be followed.
func (w *walker) script(name string, span syntax.Span) bool {
	real, text, ok := w.sourceAt(name, span)
	if !ok {
		return false
	}
	seeds := syntax.Names{Value: map[string]bool{"args": true, "script": true}}
	tree, ok := w.parsed(real, text, seeds)
	if !ok {
		return false
	}
	top := &scope{names: map[string]abstract{"args": ofKind(value.KindList), "script": ofKind(value.KindPath)}, code: Code{Closed: true}}
	cwd, cds := w.cwd, w.cds
	w.file(real, tree, top, span)
	w.cwd, w.cds = cwd, cds
	return true
}

// sourced walks a file that is run where it stands.
func (w *walker) sourced(name string, span syntax.Span) bool {
	real, text, ok := w.sourceAt(name, span)
	if !ok {
		return false
	}
	top := w.scope.top()
	tree, ok := w.parsed(real, text, w.seeds(top))
	if !ok {
		return false
	}
	w.file(real, tree, top, span)
	return true
}

// seeds are the names that the parser needs for what runs in the scope top.
func (w *walker) seeds(top *scope) syntax.Names {
	seeds := syntax.Names{Value: map[string]bool{}, Command: map[string]bool{}}
	if !w.scope.isClosed() {
		all := w.sources.Names()
		for n := range all.Value {
			seeds.Value[n] = true
		}
		for n := range all.Command {
			seeds.Command[n] = true
		}
	}
	for n, a := range top.names {
		delete(seeds.Value, n)
		delete(seeds.Command, n)
		if a.fn != nil {
			seeds.Command[n] = true
		} else {
			seeds.Value[n] = true
		}
	}
	return seeds
}

// planned walks the source of a plan that was made elsewhere; false when it is
// not known, or calls nest too deep.
func (w *walker) planned(ref string, span syntax.Span) bool {
	if w.sources == nil || w.files[ref] || w.depth >= maxDepth {
		return false
	}
	src, cwd, ok := w.sources.Plan(ref)
	if !ok {
		return false
	}
	top := w.scope.top()
	tree, err := syntax.Parse(src, w.seeds(top))
	if err != nil {
		return false
	}
	w.within(ref, cwd, func() {
		w.file(ref, tree, &scope{parent: top, names: map[string]abstract{}}, span)
	})
	return true
}

// sourceAt reads the file that a name stands for in the current directory.
func (w *walker) sourceAt(name string, span syntax.Span) (real, text string, ok bool) {
	switch {
	case strings.HasPrefix(name, "~") || w.cwd == "" && !strings.HasPrefix(name, "/"):
		w.add(span, effect.Effect{Kind: effect.FSRead, Path: effect.Any})
		return "", "", false
	case !strings.HasPrefix(name, "/"):
		name = w.cwd + "/" + name
	}
	w.read(clean(name), span)
	if real, text, ok = w.source(clean(name)); ok {
		w.read(real, span)
	}
	return real, text, ok
}

func (w *walker) source(file string) (real, text string, ok bool) {
	if w.sources == nil {
		return "", "", false
	}
	return w.sources.Source(file)
}

func (w *walker) read(file string, span syntax.Span) {
	w.add(span, effect.Effect{Kind: effect.FSRead, Path: file})
}

// parsed reads a file's source; false while the file is being walked, or when
// calls nest too deep. One that does not parse does nothing.
func (w *walker) parsed(real, text string, seeds syntax.Names) (*syntax.Program, bool) {
	if w.files[real] || w.depth >= maxDepth {
		return nil, false
	}
	w.followed[real] = text
	tree, err := syntax.Parse(text, seeds)
	if err != nil {
		return &syntax.Program{}, true
	}
	return tree, true
}

// file walks the statements of a file with its top-level names in top. Its
// effects belong to the place from which it is loaded.
func (w *walker) file(real string, tree *syntax.Program, top *scope, span syntax.Span) {
	outer, at := w.scope, w.loadedAt
	if at.End == 0 {
		w.loadedAt = span
	}
	w.scope = top
	w.files[real] = true
	w.depth++
	w.mention(w.stmts(tree.Stmts))
	w.depth--
	delete(w.files, real)
	w.scope, w.loadedAt = outer, at
}

// rewritten adds that nothing is known when the program may change a file that
// was followed: what would run then may be another text.
func (w *walker) rewritten() {
	for real := range w.followed {
		for _, e := range w.effects {
			if (e.Kind == effect.FSWrite || e.Kind == effect.FSDelete) && reaches(e.Path, real) {
				w.add(syntax.Span{}, effect.Effect{Kind: effect.Opaque, Why: "source " + real})
				return
			}
		}
	}
}

// written adds that any program may start when the program may write a file
// that it starts: the file's first line can name another runner then.
func (w *walker) written() {
	for file := range w.started {
		for _, e := range w.effects {
			if e.Kind == effect.FSWrite && reaches(e.Path, file) {
				w.add(syntax.Span{}, effect.Effect{Kind: effect.ProcSpawn, Argv0: effect.Any})
				return
			}
		}
	}
}

// reaches reports whether an effect on target may touch a file.
func reaches(target, file string) bool {
	return target == effect.Any || target == file || strings.HasPrefix(file, strings.TrimSuffix(target, "/")+"/") ||
		isPattern(target) && underPattern(target, file)
}

// moduleDir is the directory of the module that the code in s belongs to, or "".
func (s *scope) moduleDir() string {
	for ; s != nil; s = s.parent {
		if s.code.Dir != "" {
			return s.code.Dir
		}
	}
	return ""
}

// top is the scope of the top-level names that the code in s sees.
func (s *scope) top() *scope {
	for s.parent != nil {
		s = s.parent
	}
	return s
}
