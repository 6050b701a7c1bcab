package plan

import (
	"maps"
	"slices"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// abstract is what is known of a value.
type abstract struct {
	known bool // v is the value
	v     value.Value
	kind  value.Kind // known kind, when typed
	typed bool
	rows  bool // a collection of records
	fn    *function

	prefix string // what a text, or the name of a channel, that is not known begins with

	fields map[string]abstract // of a module: its exports

	planned *planned // of a plan's record
}

// planned is what `plan` has looked at and `apply` would run.
type planned struct {
	fn  *function
	cwd string // "" when it is not known
	ref string // NewPlan for one of the same program
}

// NewPlan is the origin of the effects of a plan that the program itself makes:
// it has no reference yet.
const NewPlan = "plan"

// function is a function of the program or of the session with the names it
// sees.
type function struct {
	lambda *syntax.Lambda
	alias  *syntax.Command
	scope  *scope
	afar   bool // it stands in another source
}

var unknown = abstract{}

func constant(v value.Value) abstract {
	return abstract{known: true, v: v, kind: v.Kind(), typed: true}
}

func ofKind(k value.Kind) abstract { return abstract{kind: k, typed: true} }

// beginning is what a text certainly begins with.
func (a abstract) beginning() string {
	if a.known && a.v.Kind() == value.KindStr {
		return a.v.AsStr()
	}
	return a.prefix
}

// arg is an abstract value as an argument.
func (a abstract) arg() Arg {
	return Arg{Known: a.known, Value: a.v, Prefix: a.prefix, planned: a.planned}
}

// scope maps names to what is known of them.
type scope struct {
	parent *scope
	names  map[string]abstract
	code   Code // whose captured names these are; they are looked at when used
}

func (w *walker) find(s *scope, name string) (abstract, *scope) {
	for ; s != nil; s = s.parent {
		if a, ok := s.names[name]; ok {
			return a, s
		}
		if v, ok := s.code.Captured[name]; ok {
			a := w.sessionValue(v)
			if s.code.Variables[name] {
				w.mention(a)
				a = unknown
			}
			s.names[name] = a
			return a, s
		}
	}
	return unknown, nil
}

// isClosed reports whether the names of the session are not seen from s.
func (s *scope) isClosed() bool {
	for ; s != nil; s = s.parent {
		if s.code.Closed {
			return true
		}
	}
	return false
}

func (w *walker) open() { w.scope = &scope{parent: w.scope, names: map[string]abstract{}} }

func (w *walker) close() { w.scope = w.scope.parent }

func (w *walker) bind(name string, a abstract) {
	if name != "_" && name != "" {
		w.scope.names[name] = a
	}
}

// lookup is what is known of a name; bound is false for one that neither the
// program nor the session binds.
func (w *walker) lookup(name string) (a abstract, bound bool) {
	if a, s := w.find(w.scope, name); s != nil {
		return a, true
	}
	if w.scope.isClosed() {
		return unknown, false
	}
	v, variable, ok := w.session.Lookup(name)
	if !ok {
		return unknown, false
	}
	a = w.sessionValue(v)
	if variable {
		w.mention(a)
		return unknown, true
	}
	return a, true
}

// sessionValue is a value of the session with the code behind it.
func (w *walker) sessionValue(v value.Value) abstract {
	a := constant(v)
	if code, ok := w.session.Code(v); ok {
		a.fn = w.sessionFunction(code)
	}
	return a
}

func (w *walker) sessionFunction(code Code) *function {
	s := &scope{parent: w.root, names: map[string]abstract{}, code: code}
	if code.Closed {
		s.parent = nil
	}
	return &function{lambda: code.Lambda, alias: code.Alias, scope: s, afar: true}
}

// maxValueWalk is how many parts of a session value are searched for code.
const maxValueWalk = 20_000

// mention follows what may be called through a value that is used other than
// by calling it here.
func (w *walker) mention(a abstract) {
	if a.fn != nil {
		w.follow(a.fn, nil)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.fields)) {
		w.mention(a.fields[name])
	}
	if a.known {
		budget := maxValueWalk
		w.mentionParts(a.v, &budget)
	}
}

func (w *walker) mentionParts(v value.Value, budget *int) {
	if *budget--; *budget < 0 {
		return
	}
	switch v.Kind() {
	case value.KindClosure, value.KindCommand:
		if code, ok := w.session.Code(v); ok {
			w.follow(w.sessionFunction(code), nil)
		}
	case value.KindList:
		for _, item := range v.AsList().Items {
			w.mentionParts(item, budget)
		}
	case value.KindRecord:
		for _, item := range v.AsRecord().Vals {
			w.mentionParts(item, budget)
		}
	}
}

// assign changes what is known of a name where it is declared, or, for a name of
// the session, for the rest of the program.
func (w *walker) assign(name string, a abstract) {
	if _, s := w.find(w.scope, name); s != nil {
		s.names[name] = a
		return
	}
	w.root.names[name] = a
}
