package lang

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Limits of a tree as JSON: a frame of the protocol holds so many bytes, and
// readers of JSON follow only so many levels.
const (
	ASTBytes = 15 << 20
	astDepth = 4000
)

// ErrASTTooLarge says that the tree of a source passes the limits.
var ErrASTTooLarge = fmt.Errorf("the syntax tree is larger than %d bytes or deeper than %d levels; parse a part of the source", ASTBytes, astDepth)

// AST is the tree of a source as JSON, parsed for a session; nil stands for a
// fresh one. Every node is an object with its "node" kind, its "span" as
// [start, end] and its fields; fields that say nothing are left out. The
// outermost object also holds the source, see ASTSource. The error is a
// *syntax.Error or ErrASTTooLarge.
func AST(src string, s *interp.State) (json.RawMessage, error) {
	prog, err := syntax.Parse(src, seeds(s))
	if err != nil {
		return nil, err
	}
	w := astWriter{}
	w.b = append(w.b, `{"node":"Program","span":`...)
	w.span(prog.Span)
	w.b = append(append(w.b, `,"src":`...), value.AppendJSONString(nil, src)...)
	w.b = append(w.b, `,"stmts":`...)
	w.value(reflect.ValueOf(prog.Stmts))
	if w.full() {
		return nil, ErrASTTooLarge
	}
	return append(w.b, '}'), nil
}

// ASTSource is the source that a tree of AST was made of.
func ASTSource(ast json.RawMessage) (string, error) {
	var top struct {
		Node string
		Src  *string
	}
	if err := json.Unmarshal(ast, &top); err != nil {
		return "", fmt.Errorf("read syntax tree: %w", err)
	}
	if top.Node != "Program" || top.Src == nil {
		return "", errors.New("read syntax tree: it is no program with its src")
	}
	return *top.Src, nil
}

func seeds(s *interp.State) syntax.Names {
	if s == nil {
		return syntax.Names{}
	}
	return s.Names()
}

// astWriter writes nodes as JSON by their Go fields, until a limit is passed.
type astWriter struct {
	b     []byte
	depth int
	deep  bool // a node was too deep
}

func (w *astWriter) full() bool { return w.deep || len(w.b) > ASTBytes }

func (w *astWriter) span(s syntax.Span) {
	w.b = fmt.Appendf(w.b, "[%d,%d]", s.Start, s.End)
}

var (
	litKinds = [...]string{"null", "bool", "int", "float", "str", "size", "duration", "time", "regex", "datetime", "path"}
	argKinds = [...]string{"word", "string", "path", "glob", "value", "long", "short", "dash", "dashdash", "spread"}
)

func (w *astWriter) value(v reflect.Value) {
	if w.full() {
		return
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		w.value(v.Elem())
	case reflect.Struct:
		w.node(v)
	case reflect.Slice:
		w.b = append(w.b, '[')
		for i := range v.Len() {
			if i > 0 {
				w.b = append(w.b, ',')
			}
			w.value(v.Index(i))
		}
		w.b = append(w.b, ']')
	case reflect.String:
		text := v.String()
		if text == syntax.ImplicitParam {
			text = "item"
		}
		w.b = value.AppendJSONString(w.b, text)
	case reflect.Bool:
		w.b = strconv.AppendBool(w.b, v.Bool())
	case reflect.Int, reflect.Int64:
		w.b = strconv.AppendInt(w.b, v.Int(), 10)
	case reflect.Uint8:
		w.b = value.AppendJSONString(w.b, kindName(v))
	case reflect.Float64:
		if f := v.Float(); math.IsInf(f, 0) || math.IsNaN(f) {
			w.b = value.AppendJSONString(w.b, strconv.FormatFloat(f, 'g', -1, 64))
			return
		}
		w.b = value.AppendJSONFloat(w.b, v.Float())
	default:
		panic("lang: a syntax node has a field of kind " + v.Kind().String())
	}
}

func kindName(v reflect.Value) string {
	names := argKinds[:]
	if v.Type() == reflect.TypeFor[syntax.LitKind]() {
		names = litKinds[:]
	}
	if n := int(v.Uint()); n < len(names) {
		return names[n]
	}
	return ""
}

// node writes a struct; one that is no node of its own has no kind.
func (w *astWriter) node(v reflect.Value) {
	if s, ok := v.Interface().(syntax.Span); ok {
		w.span(s)
		return
	}
	w.depth++
	defer func() { w.depth-- }()
	w.deep = w.deep || w.depth > astDepth/2 // a list of nodes is a level too
	t := v.Type()
	w.b = append(w.b, `{"node":`...)
	w.b = value.AppendJSONString(w.b, t.Name())
	for i := range t.NumField() {
		field := v.Field(i)
		name := strings.ToLower(t.Field(i).Name[:1]) + t.Field(i).Name[1:]
		if field.IsZero() && name != "span" && name != "kind" && !literalZero(t, name, v) {
			continue
		}
		w.b = append(w.b, ',')
		w.b = value.AppendJSONString(w.b, name)
		w.b = append(w.b, ':')
		w.value(field)
	}
	w.b = append(w.b, '}')
}

// literalZero reports whether a zero field is what a literal is worth.
func literalZero(t reflect.Type, field string, v reflect.Value) bool {
	l, ok := v.Interface().(syntax.Literal)
	if !ok || t.Name() != "Literal" {
		return false
	}
	switch l.Kind {
	case syntax.LitBool:
		return field == "bool"
	case syntax.LitInt, syntax.LitSize, syntax.LitDuration, syntax.LitTime:
		return field == "int"
	case syntax.LitFloat:
		return field == "float"
	case syntax.LitStr:
		return field == "str"
	}
	return false
}

// Explanation is what a source would do, as clients are told it.
type Explanation struct {
	Source        string               `json:"source"`
	Effects       []effect.Effect      `json:"effects"`
	Reversibility effect.Reversibility `json:"reversibility"`
	Reversible    bool                 `json:"reversible"`
	Spawns        bool                 `json:"spawns"`
}

// Explain says what a source would do in a session, without running it; nil
// stands for a fresh one. Files that it would load are read from files, and
// plans that it would apply from plans; both may be nil. What cannot be followed
// is an opaque effect.
func (c *Compiler) Explain(ctx context.Context, src string, s *interp.State, files interp.Files, plans interp.StoredPlans) (Explanation, *syntax.Error) {
	if s == nil {
		s = interp.NewState("/", nil)
	}
	p, perr := c.Compile(src, s)
	if perr != nil {
		return Explanation{}, perr
	}
	r := p.PlanFiles(ctx, s, files, plans)
	if r.Err != nil {
		r.Effects = append(r.Effects, effect.Effect{Kind: effect.Opaque, Why: r.Err.Msg})
		r.Reversibility = effect.Unknown
	}
	out := Explanation{
		Source: src, Effects: r.Effects, Reversibility: r.Reversibility,
		Reversible: r.Reversibility == effect.Reversible, Spawns: r.Spawns,
	}
	if out.Effects == nil {
		out.Effects = []effect.Effect{}
	}
	return out, nil
}
