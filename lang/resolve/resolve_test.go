package resolve_test

import (
	"fmt"
	"sort"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/resolve"
	"shoal.dev/shoal/lang/syntax"
)

// places lists what the names of a program refer to, in source order.
func places(t *testing.T, src string) string {
	t.Helper()
	p, err := syntax.Parse(src, syntax.Names{})
	if err != nil {
		t.Fatalf("%q: %v", src, err)
	}
	info := resolve.Program(p)
	type use struct {
		at   int
		text string
	}
	var uses []use
	for node, r := range info.Refs {
		what := "global"
		switch {
		case r.Self:
			what = "self"
		case r.Capture >= 0:
			what = "capture"
		case r.Var != nil:
			what = "local"
		}
		if r.Var != nil && r.Var.Boxed() {
			what += "*"
		}
		uses = append(uses, use{node.Pos().Start, fmt.Sprintf("%s:%s", r.Name, what)})
	}
	sort.Slice(uses, func(i, j int) bool { return uses[i].at < uses[j].at })
	var out []string
	for _, u := range uses {
		out = append(out, u.text)
	}
	return strings.Join(out, " ")
}

func TestPlaces(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"top level is the session's", "let x = 1\nx + y()", "x:global y:global"},
		{"parameter", "fn f(a) { a + 1 }", "a:local"},
		{"captured and never assigned", "fn f(a) { () => a + 1 }", "a:capture"},
		{"captured and assigned", "fn f() { var n = 0; () => { n += 1 } }", "n:capture*"},
		{"assigned, not captured", "fn f() { var n = 0; n += 1; n + 1 }", "n:local n:local"},
		{"through two functions", "fn f(a) { () => () => a + 1 }", "a:capture"},
		{"itself", "fn f() { fn g(n) { g(n) } }", "g:self n:local"},
		{"declared later", "fn f() { fn a() { b() }\nfn b() { 1 }\na() }", "b:capture* a:local"},
		{"earlier wins", "fn f(x) { let g = () => { x + 1 }\nif true { let x = 2 }\ng() }", "x:capture g:local"},
		{"block ends a name", "if true { let q = 1; q + 1 }\nq()", "q:local q:global"},
		{"loop variable", "for i in 0..3 { i + 1 }", "i:local"},
		{"command head", "fn f(g) { g(1) }\necho x", "g:local echo:global"},
		{"session name in a function", "let x = 1\nfn f() { x + 1 }", "x:global"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if got := places(t, c.src); got != c.want {
				t.Errorf("%q\ngot  %s\nwant %s", c.src, got, c.want)
			}
		})
	}
}

func TestTooDeep(t *testing.T) {
	p, err := syntax.Parse("1"+strings.Repeat(" + 1", 100), syntax.Names{})
	if err != nil {
		t.Fatal(err)
	}
	if resolve.Program(p).TooDeep {
		t.Error("a chain of 100 is too deep")
	}
	if w := resolve.Program(p).Main.Weight; w < 100 {
		t.Errorf("weight %d of a chain of 100", w)
	}
	var deep syntax.Expr = &syntax.Literal{}
	for range 30_000 {
		deep = &syntax.Unary{Op: "-", X: deep}
	}
	tree := &syntax.Program{Stmts: []syntax.Stmt{&syntax.ExprStmt{X: deep}}}
	if !resolve.Program(tree).TooDeep {
		t.Error("30,000 levels are not too deep")
	}
}
