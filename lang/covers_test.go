package lang_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
)

// tangled are programs whose effects take some finding.
var tangled = []string{
	"let f = p => rm (p)\ntouch a b\n[\"a\", \"b\"].each(f)",
	"fn w(p) { \"x\".save(p) }\nlet all = {go: w}\nall.go(\"q\")",
	"var name = \"a\"\ntouch a b\nfor i in 0..2 { rm (name); name = \"b\" }",
	"mkdir d\ncd d\ntouch x\ncd ..\nrm d/x",
	"mkdir d\nwith cwd: ./d { touch x }\n(ls d).len()",
	"alias t = touch z\nt y\nrm y z",
	"echo 1 > o\ncat o\npath(\"o\").read.len()",
	"touch a.txt b.txt\nrm *.txt",
	"let p = path(\"k\")\n\"v\".save(p)\np.lines()",
	"fn mk(g) { x => g(x) }\nlet h = mk(q => touch (q))\nh(\"n\")",
	"match \"z\" { s => touch (s) }",
	"(1 / 0) catch e (touch \"c\")",
	"touch s\ncp s t\nmv t u\nln -s u v\nln u w",
	"let fs = [() => (touch \"l\")]\nfs[0]()",
	"fn a(n) { if n > 0 { touch (\"r{n}\"); a(n - 1) } }\na(3)",
}

// What a run does is in its plan.
func TestRunIsCoveredByPlan(t *testing.T) {
	c := lang.NewCompiler()
	for _, src := range tangled {
		t.Run(src, func(t *testing.T) {
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			s := interp.NewState(dir, []string{"HOME=" + dir})
			p, perr := c.Compile(src, s)
			if perr != nil {
				t.Fatal(perr)
			}
			plan := p.Plan(s)
			rec := &recorder{}
			if _, err := p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{Files: rec}}); err != nil {
				t.Fatal(err)
			}
			if len(rec.did) == 0 {
				t.Error("the program did nothing")
			}
			for _, e := range rec.did {
				if !plan.Covers(e) {
					t.Errorf("did %s\nplan %v", e, plan.Effects)
				}
			}
		})
	}
}

// Planning costs a bounded amount of work even where every function calls the
// next one twice.
func TestPlanIsBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("fn f0(x) { touch (x) }\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&b, "fn f%d(x) { f%d(\"{x}a\"); f%d(\"{x}b\") }\n", i, i-1, i-1)
	}
	b.WriteString("f59(\"z\")")
	r := plannedResult(t, b.String())
	if len(r.Effects) == 0 || r.Err != nil {
		t.Errorf("effects %v, error %v", r.Effects, r.Err)
	}
	deep := "fn g0() { touch x }\n"
	for i := 1; i < 100; i++ {
		deep += fmt.Sprintf("fn g%d() { g%d() }\n", i, i-1)
	}
	if r := plannedResult(t, deep+"g99()"); r.Err == nil || r.Err.Code != "recursion_limit" {
		t.Errorf("100 nested calls: error %v", r.Err)
	}
}

func plannedResult(t *testing.T, src string) plan.Result {
	t.Helper()
	s := interp.NewState("/w", nil)
	p, err := lang.NewCompiler().Compile(src, s)
	if err != nil {
		t.Fatal(err)
	}
	return p.Plan(s)
}
