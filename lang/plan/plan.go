// Package plan says what a program could do, without running any of it.
//
// It walks every branch, the bodies of all functions that could be called, and
// the commands behind aliases, and collects effects from the same library rows
// that run. What is constant is followed: literals, names bound to constants,
// the session's present bindings. What is not gives the kind of effect with the
// target "*". It owns nothing and changes nothing; it promises that everything
// a run does is covered by an effect of its plan, and errs on the side of more.
package plan

import (
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Arg is an argument as far as it is known.
type Arg struct {
	Known  bool
	Value  value.Value
	Flag   string // of a long flag or short letter
	Prefix string // what a text, or the name of a channel, that is not known begins with

	planned *planned // what `plan` has looked at, if the value is its record
}

// Rows are the effects of the library. The bool says that there is such a row.
type Rows interface {
	Head(name string, args []Arg, cwd string) ([]effect.Effect, bool)
	Function(name string, args []Arg, cwd string) ([]effect.Effect, bool)
	Member(namespace, name string, args []Arg, cwd string) ([]effect.Effect, bool)
	Namespace(name string) bool
	// Method gives the effects of a method or field for one receiver kind, or
	// for all kinds that have it.
	Method(k value.Kind, anyKind bool, name string, recv Arg, args []Arg, cwd string) []effect.Effect
}

// Code is what is behind a callable value.
type Code struct {
	Lambda   *syntax.Lambda  // of a closure
	Alias    *syntax.Command // of an alias
	Captured map[string]value.Value
	// Variables are those of Captured that may change while the program runs.
	Variables map[string]bool
	// Closed code sees no names of the session.
	Closed bool
	Dir    string // of the module that the code belongs to, or ""
}

// Session is what planning reads of the session.
type Session interface {
	Cwd() string
	// Lookup finds a binding; a variable's value may change while the program
	// runs.
	Lookup(name string) (v value.Value, variable, ok bool)
	Code(v value.Value) (Code, bool)
	// Planned is the code that a plan which the session holds would run, by its
	// record, number or reference, and the directory in which it would.
	Planned(v value.Value) (fn value.Value, ref, cwd string, ok bool)
}

// Statement is the plan of one top-level statement.
type Statement struct {
	Head    string // the command head it begins with, "" for an expression
	Span    syntax.Span
	Effects []effect.Effect
}

// Result is the plan of a program. Effects are without repeats, in the order
// in which the source mentions them.
type Result struct {
	Effects       []effect.Effect
	Reversibility effect.Reversibility
	Spawns        bool
	Statements    []Statement
	// Files are the files of source that were followed: their texts by real path.
	Files map[string]string
	// Err is recursion_limit when calls nest too deep to be followed; the other
	// fields are then incomplete.
	Err *value.Error
}

// maxDepth is how deep calls are followed.
const maxDepth = 64

// maxSteps bounds the work: beyond it, calls are followed with unknown
// arguments only, which happens once for every function.
const maxSteps = 200_000

// Derive plans a program. Files that it would load are followed through
// sources; nil makes them opaque.
func Derive(p *syntax.Program, rows Rows, session Session, sources Sources) Result {
	w := &walker{
		rows: rows, session: session, sources: sources, cwd: session.Cwd(), seen: map[effectKey]int{},
		files: map[string]bool{}, followed: map[string]string{}, started: map[string]bool{}, modules: map[string]abstract{},
		done: map[callKey]bool{}, active: map[*syntax.Lambda]int{},
	}
	w.scope = &scope{names: map[string]abstract{}}
	w.root = w.scope
	w.declareFns(p.Stmts)
	var r Result
	for _, s := range p.Stmts {
		w.own, w.ownSeen = nil, map[effectKey]bool{}
		clear(w.done)
		w.stmt(s)
		r.Statements = append(r.Statements, Statement{Head: stmtHead(s), Span: s.Pos(), Effects: w.own})
	}
	w.rewritten()
	w.written()
	r.Effects, r.Err, r.Files = w.effects, w.err, w.followed
	r.Reversibility = w.reversibility()
	for _, e := range r.Effects {
		if e.Kind == effect.ProcSpawn || e.Kind == effect.Opaque {
			r.Spawns = true
		}
	}
	return r
}

// Covers reports whether the plan allows for an effect that a run had.
func (r Result) Covers(e effect.Effect) bool {
	for _, p := range r.Effects {
		if p.Kind == effect.Opaque {
			return true
		}
		if p.Kind == e.Kind && (p.Target() == effect.Any || p.Target() == "" || p.Target() == e.Target()) {
			return true
		}
		if p.Kind == e.Kind && isPattern(p.Target()) && underPattern(p.Target(), e.Target()) {
			return true
		}
	}
	return false
}

func isPattern(target string) bool { return strings.ContainsAny(target, "*?[") }

// underPattern reports whether a path lies below the literal beginning of a
// pattern, or is the directory in which matching starts.
func underPattern(pattern, path string) bool {
	i := strings.IndexAny(pattern, "*?[")
	dir := pattern[:strings.LastIndexByte(pattern[:i], '/')+1]
	return strings.HasPrefix(path, dir) || path+"/" == dir
}

type effectKey struct {
	kind   effect.Kind
	target string
	origin string
	why    string
}

// walker collects effects.
type walker struct {
	rows    Rows
	session Session
	scope   *scope
	root    *scope
	cwd     string // "" when it is not known
	cds     int    // how often the directory was changed

	effects []effect.Effect
	seen    map[effectKey]int
	own     []effect.Effect // of the running top-level statement
	ownSeen map[effectKey]bool

	depth     int
	steps     int
	active    map[*syntax.Lambda]int
	done      map[callKey]bool
	permanent bool
	err       *value.Error

	sources  Sources
	files    map[string]bool     // that are being walked
	followed map[string]string   // the texts of all that were looked into
	started  map[string]bool     // files whose first line may say what runs them
	modules  map[string]abstract // by real path
	loadedAt syntax.Span         // where the file being walked is loaded from
	afar     int                 // nested walks of functions of other sources
	applying string              // the plan whose code is being walked
}

// callKey is a call that has been followed.
type callKey struct {
	lambda *syntax.Lambda
	args   string
	cwd    string
	plan   string
}

// unknownCwd stands for a directory that is not known; no path begins so.
const unknownCwd = "\x00"

func (w *walker) dir() string {
	if w.cwd == "" {
		return unknownCwd
	}
	return w.cwd
}

// add records effects at a place.
func (w *walker) add(span syntax.Span, effects ...effect.Effect) {
	switch {
	case w.loadedAt.End > 0:
		span = w.loadedAt
	case w.afar > 0:
		span = syntax.Span{} // places of another source mean nothing here
	}
	for _, e := range effects {
		if strings.HasPrefix(e.Path, unknownCwd) {
			e.Path = effect.Any
		}
		if e.Origin == "" {
			e.Origin = w.applying
		}
		key := effectKey{e.Kind, e.Target(), e.Origin, e.Why}
		if e.Span == nil && span.End > 0 {
			e.Span = &effect.Span{Start: span.Start, End: span.End}
		}
		if _, ok := w.seen[key]; !ok {
			w.seen[key] = len(w.effects)
			w.effects = append(w.effects, e)
		}
		if !w.ownSeen[key] {
			w.ownSeen[key] = true
			w.own = append(w.own, e)
		}
	}
}

// reversibility judges the collected effects.
func (w *walker) reversibility() effect.Reversibility {
	r := effect.Reversible
	for _, e := range w.effects {
		switch e.Kind {
		case effect.Opaque, effect.ProcSpawn:
			return effect.Unknown
		case effect.NetConnect, effect.NetListen:
			r = effect.Irreversible
		}
	}
	if w.permanent {
		return effect.Irreversible
	}
	return r
}

// stmtHead is the command head a statement begins with.
func stmtHead(s syntax.Stmt) string {
	if x, ok := s.(*syntax.ExprStmt); ok {
		return exprHead(x.X)
	}
	return ""
}

func exprHead(e syntax.Expr) string {
	for {
		switch x := e.(type) {
		case *syntax.Paren:
			e = x.X
		case *syntax.Command:
			return x.Head.Text
		case *syntax.Catch:
			e = x.X
		case *syntax.Binary:
			e = x.L
		case *syntax.Method:
			e = x.X
		case *syntax.Field:
			e = x.X
		default:
			return ""
		}
	}
}
