package lang_test

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
)

// planned is the plan of the last source after the earlier ones have run.
func planned(t *testing.T, sources ...string) []string {
	t.Helper()
	c := lang.NewCompiler()
	s := interp.NewState("/w", []string{"HOME=/home/u"})
	for i, src := range sources {
		p, err := c.Compile(src, s)
		if err != nil {
			t.Fatalf("compile %q: %v", src, err)
		}
		if i == len(sources)-1 {
			r := p.Plan(s)
			if r.Err != nil {
				return []string{r.Err.Code}
			}
			out := []string{}
			for _, e := range r.Effects {
				out = append(out, e.String())
			}
			return append(out, string(r.Reversibility))
		}
		if _, err := p.Run(context.Background(), interp.Run{State: s}); err != nil {
			t.Fatalf("run %q: %v", src, err)
		}
	}
	return nil
}

func TestPlan(t *testing.T) {
	cases := []struct {
		name string
		src  []string
		want []string
	}{
		{"nothing", []string{"1 + 2"}, []string{"reversible"}},
		{"delete", []string{"rm notes.txt"}, []string{"fs.delete(/w/notes.txt)", "reversible"}},
		{"permanent", []string{"rm --permanent a"}, []string{"fs.delete(/w/a)", "irreversible"}},
		{"constant let", []string{"let p = \"a\" + \"b\"\nrm (p)"}, []string{"fs.delete(/w/ab)", "reversible"}},
		{"session let", []string{"let p = \"x\"", "rm (p)"}, []string{"fs.delete(/w/x)", "reversible"}},
		{"session var", []string{"var p = \"x\"", "rm (p)"}, []string{"fs.delete(*)", "reversible"}},
		{"branches", []string{"if 1 == 2 { rm a } else { rm b }"},
			[]string{"fs.delete(/w/a)", "fs.delete(/w/b)", "reversible"}},
		{"function body", []string{"fn f(p) { rm (p) }", "f q"}, []string{"fs.delete(/w/q)", "reversible"}},
		{"function not called", []string{"fn f(p) { rm (p) }"}, []string{"reversible"}},
		{"function as value", []string{"fn f(p) { rm (p) }\n[1].each(f)"}, []string{"fs.delete(*)", "reversible"}},
		{"captured function", []string{"fn mk(g) { () => g(\"z\") }\nlet r = mk(p => rm (p))", "r()"},
			[]string{"fs.delete(/w/z)", "reversible"}},
		{"closure in record", []string{"let r = {f: p => rm (p)}", "r.f(\"k\")"}, []string{"fs.delete(/w/k)", "reversible"}},
		{"recursion", []string{"fn f(n) { if n > 0 { rm (n); f(n - 1) } }\nf(3)"}, []string{"fs.delete(*)", "reversible"}},
		{"alias", []string{"alias del = rm -f", "del a b"},
			[]string{"fs.delete(/w/a)", "fs.delete(/w/b)", "reversible"}},
		{"cd then relative", []string{"cd sub\nrm x"}, []string{"session.write()", "fs.delete(/w/sub/x)", "reversible"}},
		{"cd in branch", []string{"if true { cd sub }\nrm x"}, []string{"session.write()", "fs.delete(*)", "reversible"}},
		{"with cwd", []string{"with cwd: /t { touch x }\ntouch y"}, []string{"fs.write(/t/x)", "fs.write(/w/y)", "reversible"}},
		{"external", []string{"^git push"}, []string{"proc.spawn(git)", "opaque(git)", "unknown"}},
		{"interpreter", []string{"sh { rm -rf x }"}, []string{"proc.spawn(sh)", "opaque(sh)", "unknown"}},
		{"redirect", []string{"echo hi > out.txt"}, []string{"fs.write(/w/out.txt)", "reversible"}},
		{"env", []string{"env.A = env.B"}, []string{"env.read(B)", "env.write(A)", "reversible"}},
		{"rows have no fields of paths", []string{"(ls).where(.size > 1mb).map(.name)"}, []string{"fs.read(/w)", "reversible"}},
		{"unknown receiver", []string{"fn f(x) { x.read }\nf(\"q\")"}, []string{"reversible"}},
		{"path field", []string{"path(\"a\").read"}, []string{"fs.read(/w/a)", "reversible"}},
		{"shadowed head", []string{"fn rm(x) { 1 }\nrm a"}, []string{"reversible"}},
		{"later function", []string{"fn a() { b() }\nfn b() { rm x }\na()"}, []string{"fs.delete(/w/x)", "reversible"}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want, planned(t, c.src...)); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.src, diff)
			}
		})
	}
}
