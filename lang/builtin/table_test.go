package builtin

import (
	"strings"
	"testing"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

func TestEveryRowIsComplete(t *testing.T) {
	l := Library()
	check := func(what string, d interp.Doc, run bool) {
		if d.Name == "" || d.Signature == "" || !run {
			t.Errorf("%s %q: row without name, signature or function", what, d.Name)
		}
		if !strings.HasSuffix(d.Text, ".") {
			t.Errorf("%s %q: doc %q is no sentence", what, d.Name, d.Text)
		}
	}
	for _, h := range l.heads {
		check("head", h.Doc, h.Run != nil)
		if !strings.HasPrefix(h.Signature, h.Name) {
			t.Errorf("head %s has the signature %q", h.Name, h.Signature)
		}
	}
	for _, table := range []map[string]*[64]*interp.Method{l.methods, l.fields} {
		for _, byKind := range table {
			for _, m := range byKind {
				if m != nil {
					check("method", m.Doc, m.Run != nil)
				}
			}
		}
	}
	for _, f := range l.functions {
		check("function", f.Doc, f.Run != nil)
	}
	for _, space := range l.members {
		for _, f := range space {
			check("member", f.Doc, f.Run != nil)
		}
	}
	for name := range outside {
		if l.methods[name] == nil {
			t.Errorf("effects for .%s, which is no method", name)
		}
	}
}

func TestNoRowIsThereTwice(t *testing.T) {
	seen := map[string]bool{}
	add := func(k value.Kind, name string) {
		if id := k.String() + "." + name; seen[id] {
			t.Errorf("%s has two rows", id)
		} else {
			seen[id] = true
		}
	}
	for k := value.KindNull; k <= value.KindSecret; k++ {
		for _, r := range allMethods() {
			if r.recv&(1<<k) != 0 {
				add(k, parseSignature(r.sig).name)
			}
		}
		for _, r := range allFields() {
			if r.recv&(1<<k) != 0 && k != value.KindOutcome {
				add(k, r.name)
			}
		}
	}
}

// TestReferenceNamesEveryRow: docs/builtins.md is written from it by the rules
// tests.
func TestReferenceNamesEveryRow(t *testing.T) {
	text := Reference()
	if text != Reference() {
		t.Error("two calls differ")
	}
	for _, r := range allHeads() {
		if !strings.Contains(text, code(r.sig)) {
			t.Errorf("head %s is not in it", r.name)
		}
	}
	for _, r := range allMethods() {
		if !strings.Contains(text, code("."+r.sig)) {
			t.Errorf("method %s is not in it", r.sig)
		}
	}
	for _, r := range allMembers() {
		if !strings.Contains(text, code(r.space+"."+r.sig)) {
			t.Errorf("member %s.%s is not in it", r.space, r.sig)
		}
	}
}

func TestBind(t *testing.T) {
	one, text := value.Int(1), value.Str("x")
	tests := []struct {
		sig   string
		args  []value.Value
		named []interp.Named
		want  string // inline values, or the error
	}{
		{"f()", nil, nil, "[]"},
		{"f()", []value.Value{one}, nil, "arg_error: f takes no arguments"},
		{"sum()", []value.Value{one}, nil, "arg_error: sum takes no arguments (did you mean .map(f).sum()?)"},
		{"f(prefix: str)", nil, nil, "arg_error: f requires a prefix"},
		{"f(index: int)", nil, nil, "arg_error: f requires an index"},
		{"f(n: count)", []value.Value{one}, nil, "[1]"},
		{"f(n: count)", []value.Value{value.Int(-1)}, nil, "type_error: f: n must not be negative, got -1"},
		{"f(n: count)", []value.Value{text}, nil, "type_error: f: n must be int, got str"},
		{"f(n: count = 7)", nil, nil, "[7]"},
		{"f(n: count = 7)", nil, []interp.Named{{Name: "n", Value: one}}, "[1]"},
		{"f(n: count = 7)", []value.Value{one}, []interp.Named{{Name: "n", Value: one}}, "arg_error: f: `n` given twice"},
		{"f(n: count = 7)", nil, []interp.Named{{Name: "m", Value: one}}, "arg_error: f: unknown argument `m`"},
		{"f(a: int, b: int)", []value.Value{one, one, one}, nil, "arg_error: f: expected 2 arguments, got 3"},
		{"f(a: int, *, b: bool = false)", []value.Value{one, value.Bool(true)}, nil, "arg_error: f: expected 1 argument, got 2"},
		{"f(a: int, *, b: bool = false)", []value.Value{one}, []interp.Named{{Name: "b", Value: value.Bool(true)}}, "[1, true]"},
		{"f(a?: int)", []value.Value{value.Null}, nil, "type_error: f: a must be int, got null"},
		{"f(...xs: int)", []value.Value{one, one}, nil, "[1, 1]"},
		{"f(...xs: int)", nil, nil, "[]"},
		{"f(a: int, ...xs: str)", []value.Value{one, text, text}, nil, `[1, "x", "x"]`},
		{"f(a: int, ...xs: str)", []value.Value{one, one}, nil, "type_error: f: xs must be str, got int"},
		{"f(f: fn)", []value.Value{one}, nil, "type_error: f: f must be closure, got int"},
		{"f(p: str|path)", []value.Value{value.Path("a")}, nil, "[a]"},
		{`f(sep: str = "")`, nil, nil, `[""]`},
	}
	for _, test := range tests {
		got := ""
		vals, err := parseSignature(test.sig).bind(&interp.Call{Args: test.args, Named: test.named, Span: syntax.Span{}})
		if err != nil {
			got = err.Error()
		} else {
			got = value.Inline(value.NewList(vals))
		}
		if got != test.want {
			t.Errorf("%s with %v %v: got %s, want %s", test.sig, value.Inline(value.NewList(test.args)), test.named, got, test.want)
		}
	}
}

func TestNearest(t *testing.T) {
	tests := []struct {
		name  string
		among []string
		want  string
	}{
		{"sortt", []string{"sort", "sort_by"}, "sort"},
		{"puhd", []string{"pushd", "popd"}, "pushd"},
		{"deployy", []string{"deploy"}, "deploy"},
		{"uppr", []string{"upper"}, "upper"},
		{"lne", []string{"len", "lines"}, "len"},
		{"x", []string{"y"}, ""},
		{"abcdefg", []string{"abxxxfg"}, ""},
		{"revers", []string{"reverse", "reversi"}, "reverse"},
		{"", []string{"a"}, ""},
	}
	for _, test := range tests {
		if got := Nearest(test.name, test.among); got != test.want {
			t.Errorf("Nearest(%q, %q) = %q, want %q", test.name, test.among, got, test.want)
		}
	}
}

func TestMissingMethod(t *testing.T) {
	l := Library()
	list, text := value.NewList(nil), value.Str("")
	tests := []struct {
		on   value.Value
		name string
		want string
	}{
		{list, "length", "field_missing: unknown method `.length` on list; did you mean .len()?"},
		{list, "size", "field_missing: unknown method `.size` on list; did you mean .len()?"},
		{list, "push", "field_missing: unknown method `.push` on list; list + [item]"},
		{text, "push", "field_missing: unknown method `.push` on str; it has .captures .chars .contains .count .display .ends_with .is_empty .len .lines .lower .match .matches, …"},
		{text, "substr", "field_missing: unknown method `.substr` on str; .take(n) / .skip(n)"},
		{value.Int(1), "to_str", "field_missing: unknown method `.to_str` on int; did you mean .str()?"},
		{list, "sortt", "field_missing: unknown method `.sortt` on list; did you mean .sort()?"},
		{list, "map_all", "field_missing: unknown method `.map_all` on list; did you mean .map()?"},
		{text, "int", "field_missing: unknown method `.int` on str; .parse_int()"},
		{text, "csv", "field_missing: unknown method `.csv` on str; csv.parse(text)"},
		{list, "frobnicate", "field_missing: unknown method `.frobnicate` on list; of each item: `.map(.frobnicate)`"},
		{value.Path("a"), "stme", "field_missing: unknown method `.stme` on path; did you mean .stem?"},
		{list, "upper", "type_error: `.upper` does not apply to list; it belongs to str"},
		{list, "str", "type_error: `.str` does not apply to list; use interpolation: \"{x}\""},
		{value.NewBytes(nil), "first", "type_error: `.first` does not apply to bytes; make text of it first: .str()"},
		{value.Null, "len", "type_error: `.len` does not apply to null; `?.` passes null on"},
	}
	for _, test := range tests {
		e := l.MissingMethod(test.on, test.name, syntax.Span{})
		if got := e.Error() + "; " + e.Hint; got != test.want {
			t.Errorf(".%s on %s: got %q, want %q", test.name, test.on.Kind(), got, test.want)
		}
	}
}
