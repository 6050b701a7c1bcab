package lang_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

func TestAST(t *testing.T) {
	s := interp.NewState("/", nil)
	s.Bind("x", value.Int(1))
	cases := []struct{ src, want string }{
		{"", `{"node":"Program","span":[0,0],"src":"","stmts":[]}`},
		{"1", `{"node":"Program","span":[0,1],"src":"1","stmts":[{"node":"ExprStmt","span":[0,1],"x":{"node":"Literal","span":[0,1],"kind":"int","int":1}}]}`},
		{"0", `{"node":"Program","span":[0,1],"src":"0","stmts":[{"node":"ExprStmt","span":[0,1],"x":{"node":"Literal","span":[0,1],"kind":"int","int":0}}]}`},
		{"ls -a", `{"node":"Program","span":[0,5],"src":"ls -a","stmts":[{"node":"ExprStmt","span":[0,5],"x":{"node":"Command","span":[0,5],"head":{"node":"CmdArg","span":[0,2],"kind":"word","text":"ls"},"args":[{"node":"CmdArg","span":[3,5],"kind":"short","text":"-a","flag":"a"}]}}]}`},
	}
	for _, c := range cases {
		got, err := lang.AST(c.src, s)
		if err != nil || string(got) != c.want {
			t.Errorf("%q: got %s, %v\nwant %s", c.src, got, err, c.want)
		}
	}
	var bad *syntax.Error
	if _, err := lang.AST("let", nil); !errors.As(err, &bad) || !bad.Incomplete {
		t.Errorf("half a statement: %v", err)
	}
	for name, src := range map[string]string{
		"wide": strings.Repeat("1;", 200_000), "deep": "1" + strings.Repeat("+1", 15_000),
	} {
		if _, err := lang.AST(src, nil); !errors.Is(err, lang.ErrASTTooLarge) {
			t.Errorf("a %s tree: %v", name, err)
		}
	}
	// Names of the session decide how source is read.
	bound, _ := lang.AST("x -1", s)
	free, _ := lang.AST("x -1", nil)
	if string(bound) == string(free) {
		t.Error("the session's names make no difference")
	}
}

// Trees of all kinds of nodes are JSON from which the source comes back.
func TestASTSource(t *testing.T) {
	for _, src := range append([]string{
		"match x { 1..2 | \"a\" => {a: 1}; [int n, ...r] if n > 1 => r; {k: null} => _ }", "A=1 ^cmd --x=(1) ...(y) < f >> g &",
		"sh { echo }", "[1.5, 1e300, 2kb, 3s, 10:30, re\"a\", t\"2024-01-01\", true, false, \"{1}\"]", "xs.map(.a.b)",
		"fn f(a: list<int>?, ...r: str) -> int { return a }", "try { 1 } catch e { 2 }", "use ./m", "env.A += 1",
	}, tangled...) {
		ast, perr := lang.AST(src, nil)
		if perr != nil {
			t.Errorf("%q: %v", src, perr)
			continue
		}
		if !json.Valid(ast) {
			t.Errorf("%q: %s is no JSON", src, ast)
		}
		if back, err := lang.ASTSource(ast); err != nil || back != src {
			t.Errorf("%q: came back as %q, %v", src, back, err)
		}
	}
	for _, bad := range []string{"", "{}", "[]", `{"node":"Let"}`, `{"node":"Program"}`, `{"node":"Program","src":3}`} {
		if _, err := lang.ASTSource(json.RawMessage(bad)); err == nil {
			t.Errorf("%q is taken for a tree", bad)
		}
	}
}

func TestExplain(t *testing.T) {
	c := lang.NewCompiler()
	e, perr := c.Explain(t.Context(), "rm a; ^git push", nil, nil, nil)
	if perr != nil {
		t.Fatal(perr)
	}
	if len(e.Effects) != 3 || e.Reversible || !e.Spawns || e.Source != "rm a; ^git push" {
		t.Errorf("got %+v", e)
	}
	if e, _ := c.Explain(t.Context(), "1", nil, nil, nil); e.Effects == nil || !e.Reversible {
		t.Errorf("nothing: %+v", e)
	}
	if _, perr := c.Explain(t.Context(), "1 +", nil, nil, nil); perr == nil {
		t.Error("half an expression is explained")
	}
	s := interp.NewState("/w", nil)
	if _, perr := c.Explain(t.Context(), "touch a", s, nil, nil); perr != nil || len(s.Bindings()) != 0 {
		t.Error("explaining changed the session")
	}
	e, perr = c.Explain(t.Context(), "fn f(n) { f(n + 1) }\nf(1)", nil, nil, nil)
	if perr != nil || e.Reversibility == "" {
		t.Errorf("calls without end: %+v, %v", e, perr)
	}
}

// What a file would do counts when it would be loaded.
func TestExplainFiles(t *testing.T) {
	s := tree(t)
	if err := os.WriteFile(filepath.Join(s.Cwd(), "gone.shl"), []byte("rm notes.txt"), 0o644); err != nil {
		t.Fatal(err)
	}
	e, perr := lang.NewCompiler().Explain(t.Context(), "source ./gone.shl", s, host.Files{}, nil)
	if perr != nil || !slices.ContainsFunc(e.Effects, func(e effect.Effect) bool { return e.Kind == effect.FSDelete }) {
		t.Errorf("got %+v, %v", e, perr)
	}
}
