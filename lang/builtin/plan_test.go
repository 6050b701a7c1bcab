package builtin_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// evaluate runs src on a host.
func evaluate(t testing.TB, lib *builtin.Lib, host *interp.Host, src string) (value.Value, error) {
	t.Helper()
	tree, perr := syntax.Parse(src, syntax.Names{})
	if perr != nil {
		t.Fatalf("parse %q: %v", src, perr)
	}
	return interp.Compile(tree, syntax.Names{}, lib).Run(context.Background(), interp.Run{
		State: interp.NewState("/work", nil), Host: host,
	})
}

// fileHeads are the heads whose doings are files only, with their flags.
var fileHeads = map[string][]string{
	"ls": {"-a"}, "stat": nil, "cat": nil, "head": nil,
	"mkdir": {"-p"}, "touch": nil, "cp": {"-r"}, "mv": nil,
	"rm": {"--permanent", "-r", "-f"}, "ln": {"-s"}, "save": nil,
}

var fileNames = []string{"a", "b", "d", "d/x", "d/y", "new", "no/where", "/work/a", "/other/c", "./e", "d/../a"}

// TestRunStaysInPlan runs many commands and holds what they did to the files
// against what the same rows had said before.
func TestRunStaysInPlan(t *testing.T) {
	lib := builtin.Library()
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		head, args, flags := randomCommand(random)
		files := newMemoryFiles([]string{"/work", "/work/d", "/other"}, []string{"/work/a", "/work/b", "/work/d/x", "/other/c"})
		src := strings.Join(append(append([]string{head}, flags...), args...), " ")
		_, _ = evaluate(t, lib, &interp.Host{Files: files}, src)
		plan := lib.Head(head).Effects(effectArgs(flags, args), "/work")
		for _, did := range files.did {
			if !planned(plan, did) {
				t.Fatalf("%s did %s, but its plan says %v", src, did, plan)
			}
		}
	}
}

func randomCommand(random *rand.Rand) (head string, args, flags []string) {
	heads := []string{"ls", "stat", "cat", "head", "mkdir", "touch", "cp", "mv", "rm", "ln", "save"}
	head = heads[random.IntN(len(heads))]
	for _, f := range fileHeads[head] {
		if random.IntN(2) == 0 {
			flags = append(flags, f)
		}
	}
	for range random.IntN(4) {
		args = append(args, fileNames[random.IntN(len(fileNames))])
	}
	return head, args, flags
}

func effectArgs(flags, args []string) []interp.EffectArg {
	var out []interp.EffectArg
	for _, f := range flags {
		out = append(out, interp.EffectArg{Known: true, Flag: strings.TrimLeft(f, "-")})
	}
	for _, a := range args {
		out = append(out, interp.EffectArg{Known: true, Value: value.Str(a)})
	}
	return out
}

// planned reports whether an effect is among those of a plan, on the same path
// or on one above it.
func planned(plan []effect.Effect, did effect.Effect) bool {
	for _, p := range plan {
		if p.Kind == did.Kind && (p.Path == effect.Any || p.Path == did.Path || strings.HasPrefix(did.Path, p.Path+"/")) {
			return true
		}
	}
	return false
}

// TestMethodsStayInPlan does the same for methods that read and write.
func TestMethodsStayInPlan(t *testing.T) {
	lib := builtin.Library()
	for _, test := range []struct {
		src    string
		method string
		kind   value.Kind
		recv   value.Value
		args   []string
	}{
		{`path("a").read`, "read", value.KindPath, value.Path("a"), nil},
		{`path("a").lines()`, "lines", value.KindPath, value.Path("a"), nil},
		{`"x".save("a")`, "save", value.KindStr, value.Str("x"), []string{"a"}},
		{`[1].append("/other/c")`, "append", value.KindList, value.NewList(nil), []string{"/other/c"}},
	} {
		files := newMemoryFiles([]string{"/work", "/other"}, []string{"/work/a", "/other/c"})
		if _, err := evaluate(t, lib, &interp.Host{Files: files}, test.src); err != nil {
			t.Errorf("%s: %v", test.src, err)
			continue
		}
		m := lib.Method(test.kind, test.method)
		plan := m.Effects(interp.EffectArg{Known: true, Value: test.recv}, effectArgs(nil, test.args), "/work")
		if len(files.did) == 0 {
			t.Errorf("%s did nothing", test.src)
		}
		for _, did := range files.did {
			if !planned(plan, did) {
				t.Errorf("%s did %s, but its plan says %v", test.src, did, plan)
			}
		}
	}
}

// TestUnknownArgumentsPlanEverything: what is not constant has the target *.
func TestUnknownArgumentsPlanEverything(t *testing.T) {
	lib := builtin.Library()
	for head := range fileHeads {
		if head == "ls" || head == "cp" || head == "mv" || head == "ln" {
			continue // one argument is not all that they need
		}
		plan := lib.Head(head).Effects([]interp.EffectArg{{}}, "/work")
		if len(plan) != 1 || plan[0].Path != effect.Any {
			t.Errorf("%s of an unknown argument plans %v, want one effect on *", head, plan)
		}
	}
	if got := fmt.Sprint(lib.Head("ln").Effects(make([]interp.EffectArg, 2), "/work")); got != "[fs.write(*) fs.read(*) fs.write(*)]" {
		t.Errorf("ln of unknown arguments plans %s", got)
	}
	if got := fmt.Sprint(lib.Head("mv").Effects(make([]interp.EffectArg, 2), "/work")); got != "[fs.read(*) fs.write(*) fs.delete(*)]" {
		t.Errorf("mv of unknown arguments plans %s", got)
	}
}
