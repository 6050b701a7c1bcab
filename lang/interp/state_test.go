package interp_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

func TestHandOff(t *testing.T) {
	session := newState()
	run(t, session, "var n = 0\nlet keep = 1")
	session.TakeChanges()
	work := session.Fork()
	handedOff := false
	got := runWith(t, "let a = 1\nn = 5\nlet keep = 2\nlet late = 3", interp.Run{State: work, Statement: func(st interp.Statement) {
		if st.Index == 2 {
			handedOff = true
		}
		if !handedOff {
			session.Commit(work)
		}
	}})
	if got != "null" {
		t.Fatal(got)
	}
	if got := run(t, session, "[a, n, keep]"); got != "[1, 5, 1]" {
		t.Errorf("session: got %s", got)
	}
	if got := run(t, work, "[a, n, keep, late]"); got != "[1, 5, 2, 3]" {
		t.Errorf("fork: got %s", got)
	}
	if diff := cmp.Diff([]string{"a", "n"}, session.TakeChanges().Set); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
}

func TestTakeChanges(t *testing.T) {
	s := newState()
	step := func(src string, want ...string) {
		t.Helper()
		if got := run(t, s, src); strings.Contains(got, "_error") || strings.Contains(got, "undefined") {
			t.Fatalf("%q: %s", src, got)
		}
		if got := s.TakeChanges().Set; cmp.Diff(want, got) != "" {
			t.Errorf("%q: changed %v, want %v", src, got, want)
		}
	}
	step("let a = 1\nvar b = 2\nfn mk() { var n = 0; () => { n += 1; n } }", "a", "b", "mk")
	step("a + b")
	step("b += 1", "b")
	step("let c = mk()\nlet d = {in: [c]}\nlet e = mk()", "c", "d", "e")
	step("c()", "c", "d")
	step("d.in[0]()", "c", "d")
	step("e()", "e")
	step("fn bump() { b += 1 }", "bump")
	step("bump()", "b")
	s.Delete("a")
	if c := s.TakeChanges(); cmp.Diff([]string{"a"}, c.Deleted) != "" || len(c.Set) != 0 {
		t.Errorf("after delete: %+v", c)
	}
	step("env.X = \"1\"")
	run(t, s, "env.Y = \"2\"\nenv.X = null")
	c := s.TakeChanges()
	if len(c.Env) != 2 || c.Env[0].Name != "Y" || *c.Env[0].Value != "2" || c.Env[1].Name != "X" || c.Env[1].Value != nil {
		t.Errorf("env changes: %+v", c.Env)
	}
	if !s.TakeChanges().Empty() {
		t.Error("changes are told twice")
	}
}

// reload stores every binding of s and loads it into a new state.
func reload(t *testing.T, s *interp.State) *interp.State {
	t.Helper()
	fresh := newState()
	for _, name := range s.Bindings() {
		st, err := s.Export(name, nil)
		if err != nil {
			t.Fatalf("export %s: %v", name, err)
		}
		if err := fresh.Import(name, st, lib, nil); err != nil {
			t.Fatalf("import %s: %v", name, err)
		}
	}
	if c := fresh.TakeChanges(); !c.Empty() {
		t.Errorf("loading counts as a change: %+v", c)
	}
	return fresh
}

func TestExportImport(t *testing.T) {
	s := newState()
	for _, src := range []string{
		"let base = 10\nvar total = 1",
		"# Adds the base.\nfn add(x: int, y: int = base) { x + y }",
		"fn pair() { var n = 0; {inc: () => { n += 1; n }, get: () => n} }",
		"let p = pair()\nlet q = p.get",
		"p.inc()",
		"let half = x => x / 2; let compose = (f, g) => x => f(g(x))",
		"let both = compose(half, x => add(x))",
		"let pick = [{a: 1}, {a: 5}].where(.a > 2)",
	} {
		if got := run(t, s, src); strings.HasPrefix(got, "parse_error") {
			t.Fatalf("%q: %s", src, got)
		}
	}
	run(t, s, "alias hi = echo hey (base)\nlet fs = [1, 2].map(i => (() => i * base))\nfn rec(n) { if n == 0 { 0 } else { 1 + rec(n - 1) } }")
	run(t, s, "fn loop() { fn go(n) { if n == 0 { \"end\" } else { go(n - 1) } }; let g = go; g }\nlet go2 = loop()")
	for range 2 { // a state that was loaded can be stored again
		s = reload(t, s)
		for src, want := range map[string]string{
			"add(1)": "11", "add 5": "15", "both(20)": "15", "rec(5)": "5", "fs.map(f => f())": "[10, 20]",
			"(hi x).out": `"hey 10 x"`, "pick": "[{a: 5}]", "go2(3)": `"end"`, "total": "1",
		} {
			if got := run(t, s, src); got != want {
				t.Errorf("%q: got %s, want %s", src, got, want)
			}
		}
	}
	before := run(t, s, "q()")
	after := run(t, s, "p.inc()\n[q(), p.get()]")
	if before != "1" || after != "[2, 2]" {
		t.Errorf("shared cell after loading: %s then %s", before, after)
	}
	if got := s.TakeChanges().Set; cmp.Diff([]string{"p", "q"}, got) != "" {
		t.Errorf("changes after loading: %v", got)
	}
	if got := run(t, s, "base = 1"); !strings.HasPrefix(got, "type_error") {
		t.Errorf("let became assignable: %s", got)
	}
	if got := run(t, s, "total += 1"); got != "2" {
		t.Errorf("var is not assignable: %s", got)
	}
}

func TestLostBinding(t *testing.T) {
	s := newState()
	s.Bind("t", value.NewTask("task:1", nil))
	st, err := s.Export("t", nil)
	if err != nil || st.Lost == "" {
		t.Fatalf("export: %+v %v", st, err)
	}
	fresh := newState()
	if err := fresh.Import("t", st, lib, nil); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"t", "t.id", "t(1)"} {
		if got := run(t, fresh, src); !strings.Contains(got, "`t` could not be kept") {
			t.Errorf("%q: got %s", src, got)
		}
	}
	if got := run(t, fresh, "let t = 1\nt"); got != "1" {
		t.Errorf("declared anew: got %s", got)
	}
	for _, data := range []string{"", "x", "\xff\xff"} {
		if err := fresh.Import("u", interp.Stored{Kind: "let", Data: []byte(data)}, lib, nil); err == nil {
			t.Errorf("import of %q: no error", data)
		}
	}
}

// Two programs use the same cells at once: the second makes the first lock.
func TestSharedCells(t *testing.T) {
	s := newState()
	run(t, s, "var n = 0\nvar stop = false\nfn bump() { n += 1 }")
	fork := s.Fork()
	background := must(t, "while !stop { bump() }", fork)
	var wg sync.WaitGroup
	wg.Add(1)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	go func() {
		defer wg.Done()
		if _, err := background.Run(ctx, interp.Run{State: fork}); err != nil {
			t.Error(err)
		}
	}()
	for range 50 {
		if got := run(t, s, "bump()\nn > 0"); got != "true" {
			t.Fatal(got)
		}
		s.TakeChanges()
		if _, _, ok := s.Lookup("n"); !ok {
			t.Fatal("n is gone")
		}
	}
	if got := run(t, s, "stop = true"); got != "true" {
		t.Fatal(got)
	}
	wg.Wait()
}

// Values that nest deep must not end the process when a session keeps them.
func TestDeepValues(t *testing.T) {
	s := newState()
	if got := run(t, s, "var x = []\nfor i in 0..300000 { x = [x] }\nx.len()"); got != "1" {
		t.Fatal(got)
	}
	if got := s.TakeChanges().Set; len(got) != 1 {
		t.Errorf("changed: %v", got)
	}
	if _, err := s.Export("x", nil); err == nil {
		if st, _ := s.Export("x", nil); st.Lost == "" && len(st.Data) == 0 {
			t.Error("neither data nor reason")
		}
	}
}
