package lang_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
)

// sourceFolder is a folder of modules and scripts.
func sourceFolder(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"tools.shl":    "let root = \"w\"\nfn gone(p) { rm (p) }\nexport fn wipe(p) { gone(p) }\nexport fn make() { touch ok }\nexport let dir = \"d\"\nmkdir -p loaded",
		"job.shl":      "cd lib\ntouch made\nrun ../inner.shl x",
		"inner.shl":    "^printf (args[0])",
		"setup.shl":    "let target = \"t1\"\nfn fresh() { touch (target) }",
		"lib/a.shl":    "use ./b\nexport fn go() { b.act() }\nexport fn late() { use ./c; c.act() }",
		"lib/b.shl":    "export fn act() { touch from_b }",
		"lib/c.shl":    "export fn act() { touch from_c }",
		"round.shl":    "run ./round.shl",
		"cycle.shl":    "use ./cycle",
		"broken.shl":   "let",
		"reads_me.shl": "(cat notes)",
		"notes":        "n",
		"x":            "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Plans look into the files that a program would load.
func TestPlanFiles(t *testing.T) {
	dir := sourceFolder(t)
	cases := []struct {
		name string
		src  []string // all but the last have run before
		want []string
	}{
		{"module", []string{"use ./tools\ntools.wipe(\"x\")"}, []string{"fs.read(/tools.shl)", "fs.write(/loaded)", "fs.delete(/x)", "reversible"}},
		{"module not called", []string{"use ./tools\ntools.dir"}, []string{"fs.read(/tools.shl)", "fs.write(/loaded)", "reversible"}},
		{"loaded before", []string{"use ./tools", "use ./tools\ntools.make()"}, []string{"fs.read(/tools.shl)", "fs.write(/ok)", "reversible"}},
		{"bound before", []string{"use ./tools", "tools.wipe(\"q\")"}, []string{"fs.delete(/q)", "reversible"}},
		{"export as value", []string{"use ./tools\n[\"x\"].each(tools.wipe)"}, []string{"fs.read(/tools.shl)", "fs.write(/loaded)", "fs.delete(*)", "opaque(source /tools.shl)", "unknown"}},
		{"session names stay outside", []string{"fn gone(p) { ^evil }", "use ./tools\ntools.wipe(\"x\")"}, []string{"fs.read(/tools.shl)", "fs.write(/loaded)", "fs.delete(/x)", "reversible"}},
		{"modules of modules", []string{"use ./lib/a\na.go()"}, []string{"fs.read(/lib/a.shl)", "fs.read(/lib/b.shl)", "fs.write(/from_b)", "reversible"}},
		{"late module", []string{"use ./lib/a", "a.late()"}, []string{"fs.read(/lib/c.shl)", "fs.write(/from_c)", "reversible"}},
		{"script", []string{"./job.shl"}, []string{"fs.read(/job.shl)", "session.write()", "fs.write(/lib/made)", "fs.read(/inner.shl)", "proc.spawn(printf)", "opaque(printf)", "unknown"}},
		{"script does not move", []string{"run ./job.shl\ntouch here"}, []string{"fs.read(/job.shl)", "session.write()", "fs.write(/lib/made)", "fs.read(/inner.shl)", "proc.spawn(printf)", "opaque(printf)", "fs.write(/here)", "unknown"}},
		{"call form", []string{"run(\"reads_me.shl\")"}, []string{"fs.read(/reads_me.shl)", "fs.read(/notes)", "reversible"}},
		{"source", []string{"source setup.shl\nfresh()"}, []string{"fs.read(/setup.shl)", "fs.write(/t1)", "reversible"}},
		{"runs itself", []string{"./round.shl"}, []string{"fs.read(/round.shl)", "opaque(script ./round.shl)", "unknown"}},
		{"uses itself", []string{"use ./cycle"}, []string{"fs.read(/cycle.shl)", "opaque(use)", "unknown"}},
		{"does not parse", []string{"./broken.shl"}, []string{"fs.read(/broken.shl)", "reversible"}},
		{"missing module", []string{"use ./nope"}, []string{"fs.read(/nope.shl)", "fs.read(/nope)", "opaque(use)", "unknown"}},
		{"missing script", []string{"./nope.shl"}, []string{"fs.read(/nope.shl)", "opaque(script ./nope.shl)", "unknown"}},
		{"rewritten", []string{"echo 1 > reads_me.shl\n./reads_me.shl"}, []string{"fs.write(/reads_me.shl)", "fs.read(/reads_me.shl)", "fs.read(/notes)", "opaque(source /reads_me.shl)", "unknown"}},
		{"computed", []string{"fn f(n) { run(n) }\nf(\"job.shl\".lower())"}, []string{"proc.spawn(*)", "opaque(program *)", "unknown"}},
		{"explain", []string{"explain \"use ./tools\""}, []string{"reversible"}},
	}
	c := lang.NewCompiler()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			s := interp.NewState(dir, nil)
			files := &recorder{}
			for i, src := range tt.src {
				p, perr := c.Compile(src, s)
				if perr != nil {
					t.Fatal(perr)
				}
				if i < len(tt.src)-1 {
					if _, err := p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{Files: files}}); err != nil {
						t.Fatal(err)
					}
					continue
				}
				r := p.PlanFiles(context.Background(), s, files, nil)
				got := []string{}
				for _, e := range r.Effects {
					got = append(got, strings.ReplaceAll(e.String(), dir+"/", "/"))
				}
				if diff := cmp.Diff(tt.want, append(got, string(r.Reversibility))); diff != "" {
					t.Errorf("%q (-want +got):\n%s", src, diff)
				}
				for _, e := range r.Effects {
					if e.Span != nil && e.Span.End > len(src) && len(tt.src) == 1 {
						t.Errorf("%s lies at %v of a source of %d bytes", e, *e.Span, len(src))
					}
				}
			}
		})
	}
}

// What a run of files does is in its plan.
func TestRunOfFilesIsCoveredByPlan(t *testing.T) {
	for _, src := range []string{
		"use ./tools\ntools.make()\ntools.wipe(\"x\")", "use ./lib/a\na.go()\na.late()", "source setup.shl\nfresh()",
		"run reads_me.shl", "use ./tools\nlet t = tools\nt.make()", "fn f() { use ./tools; tools.make() }\nf()",
	} {
		t.Run(src, func(t *testing.T) {
			s := interp.NewState(sourceFolder(t), nil)
			p, perr := lang.NewCompiler().Compile(src, s)
			if perr != nil {
				t.Fatal(perr)
			}
			rec := &recorder{}
			plan := p.PlanFiles(context.Background(), s, rec, nil)
			rec.did = nil
			if _, err := p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{Files: rec}}); err != nil {
				t.Fatal(err)
			}
			for _, e := range rec.did {
				if !plan.Covers(e) {
					t.Errorf("did %s\nplan %v", e, plan.Effects)
				}
			}
			if len(rec.did) == 0 || string(plan.Reversibility) != "reversible" {
				t.Errorf("did %v, plan %v %s", rec.did, plan.Effects, plan.Reversibility)
			}
		})
	}
}
