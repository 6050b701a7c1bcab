package builtin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// param is one parameter of a signature.
type param struct {
	name     string
	accepts  accepts
	types    string // as written, for messages
	optional bool
	fallback value.Value
	rest     bool
	named    bool // after "*": by name only
}

// signature is a parsed "name(a: T, b: T = default, *, c: T = d, ...rest: T)".
// The text that references print is also what arguments are checked against.
type signature struct {
	name   string
	text   string // as written
	params []param
	fixed  int // positional parameters before any rest
	need   int // how many of them must be given
	rest   int // index of the rest parameter, or -1
	simple bool
}

// parseSignature reads a table row's signature; a bad one is a bug in the
// table, so it panics, and the package's tests build the whole table.
func parseSignature(text string) *signature {
	name, list, ok := strings.Cut(text, "(")
	list, closed := strings.CutSuffix(list, ")")
	if !ok || !closed {
		panic("builtin: bad signature " + text)
	}
	s := &signature{name: name, text: text, rest: -1, simple: true}
	named := false
	for _, field := range splitParams(list) {
		if field == "*" {
			named = true
			continue
		}
		p := parseParam(field)
		p.named = named
		switch {
		case p.rest:
			s.rest = len(s.params)
			s.simple = false
		case !named:
			s.fixed++
			if !p.optional {
				s.need = s.fixed
			}
		}
		s.params = append(s.params, p)
	}
	return s
}

func splitParams(list string) []string {
	if strings.TrimSpace(list) == "" {
		return nil
	}
	fields := strings.Split(list, ", ")
	for i := range fields {
		fields[i] = strings.TrimSpace(fields[i])
	}
	return fields
}

func parseParam(text string) param {
	var p param
	text, p.rest = strings.CutPrefix(text, "...")
	text, fallback, has := strings.Cut(text, " = ")
	p.name, p.types, _ = strings.Cut(text, ": ")
	if p.name, p.optional = strings.CutSuffix(p.name, "?"); has {
		p.optional = true
		p.fallback = parseFallback(fallback)
	}
	if p.types == "" {
		p.types = "any"
	}
	p.accepts = parseAccepts(p.types)
	return p
}

func parseFallback(text string) value.Value {
	switch {
	case text == "null":
		return value.Null
	case text == "true" || text == "false":
		return value.Bool(text == "true")
	case strings.HasPrefix(text, `"`):
		s, err := strconv.Unquote(text)
		if err != nil {
			panic("builtin: bad default " + text)
		}
		return value.Str(s)
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		panic("builtin: bad default " + text)
	}
	return value.Int(n)
}

// accepts is a set of kinds, plus what a kind alone does not say.
type accepts uint64

const (
	acceptCount    accepts = 1 << 62 // an int that must not be negative
	acceptCallable accepts = 1 << 61
)

const anyKind accepts = 1<<60 - 1

func kindSet(kinds ...value.Kind) accepts {
	var set accepts
	for _, k := range kinds {
		set |= 1 << k
	}
	return set
}

func parseAccepts(types string) accepts {
	var set accepts
	for name := range strings.SplitSeq(types, "|") {
		switch name {
		case "any":
			set |= anyKind
		case "count":
			set |= kindSet(value.KindInt) | acceptCount
		case "fn":
			set |= kindSet(value.KindClosure, value.KindCommand)
		case "number":
			set |= kindSet(value.KindInt, value.KindFloat)
		case "collection":
			set |= kindSet(value.KindList, value.KindTable, value.KindRange, value.KindGlob)
		default:
			k, ok := value.ParseKind(name)
			if !ok {
				panic("builtin: unknown type " + name)
			}
			set |= kindSet(k)
		}
	}
	return set
}

// check tells whether v may be passed for p.
func (p *param) check(v value.Value) bool {
	if p.accepts&(1<<v.Kind()) == 0 {
		return false
	}
	return p.accepts&acceptCount == 0 || v.Kind() != value.KindInt || v.AsInt() >= 0
}

// bind checks the arguments of c and returns one value per parameter; absent
// optional ones have their default. Values of a rest parameter follow at its
// index and beyond.
func (s *signature) bind(c *interp.Call) ([]value.Value, error) {
	if s.simple && len(c.Named) == 0 && len(c.Args) == len(s.params) {
		for i := range s.params {
			if p := &s.params[i]; !p.check(c.Args[i]) || p.named {
				return s.bindAll(c)
			}
		}
		return c.Args, nil
	}
	return s.bindAll(c)
}

// bindAll is bind for arguments of any form; its errors show the signature.
func (s *signature) bindAll(c *interp.Call) ([]value.Value, error) {
	args, err := s.bindSlow(c)
	var e *value.Error
	if errors.As(err, &e) && e.Hint == "" {
		return nil, e.WithHint("%s", s.usage(c))
	}
	return args, err
}

// usage says how to call what was called wrongly.
func (s *signature) usage(c *interp.Call) string {
	switch {
	case s.name == "append" && !c.Recv.IsNull():
		return "`xs + [x]` makes a list with one more item; .append(path) adds to a file"
	case len(c.Args) == 1 && c.Args[0].Kind() == value.KindPath && len(s.params) > 0 && s.params[0].accepts&(1<<value.KindStr) != 0:
		return "a path is a name; its text is `path(…).read`"
	case s.name == "range":
		return "`0..3`, or `range(0, 3)`"
	}
	return "it is `" + s.text + "`"
}

func (s *signature) bindSlow(c *interp.Call) ([]value.Value, error) {
	if len(c.Args) > s.fixed && s.rest < 0 {
		return nil, s.surplus(c)
	}
	out := make([]value.Value, len(s.params), max(len(s.params), len(c.Args)))
	given := make([]bool, len(s.params))
	for i := range min(len(c.Args), s.fixed) {
		out[i], given[i] = c.Args[i], true
	}
	for _, n := range c.Named {
		i := s.index(n.Name)
		if i < 0 {
			return nil, argErr(n.Span, "%s: unknown argument `%s`", s.name, n.Name)
		}
		if given[i] {
			return nil, argErr(n.Span, "%s: `%s` given twice", s.name, n.Name)
		}
		out[i], given[i] = n.Value, true
	}
	for i := range s.params {
		p := &s.params[i]
		switch {
		case p.rest:
		case given[i]:
			if !p.check(out[i]) {
				return nil, s.mismatch(c, p, out[i])
			}
		case p.optional:
			out[i] = p.fallback
		default:
			return nil, argErr(c.Span, "%s requires %s", s.name, p.need())
		}
	}
	if s.rest >= 0 && len(c.Args) > s.fixed {
		p := &s.params[s.rest]
		out = append(out[:s.rest], c.Args[s.fixed:]...)
		for _, v := range out[s.rest:] {
			if !p.check(v) {
				return nil, s.mismatch(c, p, v)
			}
		}
	} else if s.rest >= 0 {
		out = out[:s.rest]
	}
	return out, nil
}

func (s *signature) index(name string) int {
	for i := range s.params {
		if s.params[i].name == name && !s.params[i].rest {
			return i
		}
	}
	return -1
}

func (s *signature) surplus(c *interp.Call) error {
	if s.fixed > 0 {
		return argErr(c.Span, "%s: expected %s, got %d", s.name, plural(s.fixed, "argument"), len(c.Args))
	}
	switch s.name {
	case "sum", "min", "max":
		return argErr(c.Span, "%s takes no arguments (did you mean .map(f).%s()?)", s.name, s.name)
	}
	return argErr(c.Span, "%s takes no arguments", s.name)
}

func (s *signature) mismatch(c *interp.Call, p *param, got value.Value) error {
	if p.accepts&acceptCount != 0 && got.Kind() == value.KindInt {
		return typeErr(c.Span, "%s: %s must not be negative, got %d", s.name, p.name, got.AsInt())
	}
	return typeErr(c.Span, "%s: %s must be %s, got %s", s.name, p.name, p.expects(), got.Kind())
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// need names a parameter that is missing: a word by itself, a letter by what it
// is.
func (p *param) need() string {
	noun := p.name
	if len(noun) == 1 {
		noun = strings.ReplaceAll(p.expects(), "any", "value")
	}
	if strings.ContainsRune("aeiou", rune(noun[0])) {
		return "an " + noun
	}
	return "a " + noun
}

// expects is the parameter's type in words.
func (p *param) expects() string {
	words := strings.ReplaceAll(strings.ReplaceAll(p.types, "count", "int"), "fn", "closure")
	return strings.ReplaceAll(words, "|", " or ")
}
