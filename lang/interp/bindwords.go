package interp

import (
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// binder turns command words into the arguments of a function.
type binder struct {
	m     *Machine
	fc    *funcCode
	pos   []value.Value
	named []Named
}

// help reports whether the words ask for help of a function that has no such
// parameter.
func (b *binder) help(words []word) bool {
	if b.fc.name == "" || b.fc.paramIndex("help") >= 0 {
		return false
	}
	for i := range words {
		switch words[i].Kind {
		case syntax.ArgDashDash:
			return false
		case syntax.ArgLong:
			if words[i].Flag == "help" && !words[i].Has {
				return true
			}
		}
	}
	return false
}

func (b *binder) bind(words []word) *value.Error {
	literal := false // after `--`, which is dropped, words are never flags
	for i := 0; i < len(words); i++ {
		w := &words[i]
		switch {
		case literal && (w.Kind == syntax.ArgLong || w.Kind == syntax.ArgDashDash):
			if err := b.operand(&word{Word: Word{Kind: syntax.ArgWord, Text: w.Text, Span: w.Span}}); err != nil {
				return err
			}
		case w.Kind == syntax.ArgDashDash:
			literal = true
		case w.Kind == syntax.ArgLong:
			used, err := b.flag(words, i)
			if err != nil {
				return err
			}
			i += used
		default:
			if err := b.operand(w); err != nil {
				return err
			}
		}
	}
	return nil
}

// flag binds the long flag at i and says how many more words it took.
func (b *binder) flag(words []word, i int) (int, *value.Error) {
	w := &words[i]
	name := strings.ReplaceAll(w.Flag, "-", "_")
	p := b.param(name)
	if p == nil {
		return 0, value.Errorf(value.CodeArg, "unknown argument `%s`", w.Flag).WithSpan(spanOf(w.Span))
	}
	typ := typeName(p.typ)
	switch {
	case w.Has:
		v, err := convert(w.Value, typ, w.Span)
		b.named = append(b.named, Named{name, v, w.Span})
		return 0, err
	case typ == "" || typ == "bool":
		b.named = append(b.named, Named{name, value.Bool(true), w.Span})
		return 0, nil
	case i+1 >= len(words) || words[i+1].Kind == syntax.ArgLong:
		return 0, value.Errorf(value.CodeArg, "--%s requires a value", w.Flag).WithSpan(spanOf(w.Span))
	}
	vals, err := b.values(&words[i+1], p.typ)
	if err != nil {
		return 0, err
	}
	if len(vals) != 1 {
		return 0, value.Errorf(value.CodeArg, "--%s requires one value, got %d", w.Flag, len(vals)).WithSpan(spanOf(w.Span))
	}
	b.named = append(b.named, Named{name, vals[0], w.Span})
	return 1, nil
}

func (b *binder) param(name string) *param {
	i := b.fc.paramIndex(name)
	if i < 0 || i == b.fc.rest {
		return nil
	}
	return &b.fc.params[i]
}

// operand binds a positional word to the parameter it falls on.
func (b *binder) operand(w *word) *value.Error {
	var typ *syntax.Type
	at := len(b.pos)
	switch {
	case b.fc.rest >= 0 && at >= b.fc.rest:
		typ = restType(b.fc.params[b.fc.rest].typ)
	case at < len(b.fc.params):
		typ = b.fc.params[at].typ
	}
	vals, err := b.values(w, typ)
	b.pos = append(b.pos, vals...)
	return err
}

// restType is the type of one element of a rest parameter.
func restType(t *syntax.Type) *syntax.Type {
	if t != nil && t.Name == "list" && len(t.Args) == 1 {
		return t.Args[0]
	}
	return t
}

// values are the arguments that one word stands for: more than one for a glob.
func (b *binder) values(w *word, typ *syntax.Type) ([]value.Value, *value.Error) {
	name := typeName(typ)
	if w.glob != nil {
		return b.glob(w, name)
	}
	v := w.Value
	if !w.Has {
		v = value.Str(w.Text)
	}
	switch v.Kind() {
	case value.KindStr:
		if name == "glob" {
			return []value.Value{value.NewGlob(value.Glob{Pattern: v.AsStr(), Cwd: b.m.Cwd()})}, nil
		}
		if name == "list" && elementType(typ) != "" {
			item, err := convert(v, elementType(typ), w.Span)
			return []value.Value{value.NewList([]value.Value{item})}, err
		}
		converted, err := convert(v, name, w.Span)
		return []value.Value{converted}, err
	case value.KindPath:
		if w.Kind == syntax.ArgPath && name == "str" {
			v = value.Str(v.AsStr())
		}
	}
	return []value.Value{v}, nil
}

// glob gives a glob parameter the pattern, a list parameter all matches as one
// list, and every other the matches one by one.
func (b *binder) glob(w *word, typ string) ([]value.Value, *value.Error) {
	if typ == "glob" {
		return []value.Value{value.NewGlob(*w.glob)}, nil
	}
	paths, err := b.m.Expand(w.glob)
	if err != nil {
		return nil, asError(err)
	}
	if typ == "list" {
		return []value.Value{value.NewList(pathValues(paths))}, nil
	}
	return pathValues(paths), nil
}

// convert makes a str the value of a type; other values stay.
func convert(v value.Value, typ string, span syntax.Span) (value.Value, *value.Error) {
	if v.Kind() != value.KindStr || typ == "" || typ == "str" {
		return v, nil
	}
	out, err := value.ConvertWord(v.AsStr(), typ)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(span))
	}
	return out, nil
}

func typeName(t *syntax.Type) string {
	if t == nil {
		return ""
	}
	return t.Name
}

func spanOf(s syntax.Span) value.Span { return value.Span{Start: s.Start, End: s.End} }

// asError is err as a language error.
func asError(err error) *value.Error {
	if e, ok := err.(*value.Error); ok {
		return e
	}
	return value.Errorf(value.CodeCustom, "%v", err)
}
