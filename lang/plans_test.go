package lang_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// kernelPlans keep sources by reference, and let only approved ones run.
type kernelPlans struct {
	kept     map[string]string
	cwds     map[string]string
	approved map[string]bool
	effects  int
	claims   []string // ref, directory and effects of each
}

func (k *kernelPlans) Keep(_ context.Context, src, cwd string, p interp.Planned) (string, error) {
	ref := "plan:" + string(rune('a'+len(k.kept)))
	k.kept[ref], k.cwds[ref] = src, cwd
	k.effects += len(p.Effects)
	return ref, nil
}

func (k *kernelPlans) Find(_ context.Context, ref string) (interp.StoredPlan, error) {
	src, ok := k.kept[ref]
	if !ok {
		return interp.StoredPlan{}, value.Errorf(value.CodeNotFound, "no plan %s", ref)
	}
	return interp.StoredPlan{Source: src, Cwd: k.cwds[ref]}, nil
}

func (k *kernelPlans) Claim(_ context.Context, ref, cwd string, p interp.Planned) (*interp.Host, error) {
	if !k.approved[ref] {
		return nil, value.Errorf(value.CodePermission, "%s is not approved", ref)
	}
	k.claims = append(k.claims, fmt.Sprint(ref, " ", cwd, " ", p.Effects))
	return &interp.Host{Plans: k}, nil
}

// With a kernel, plans have its references and obey its rules.
func TestKernelPlans(t *testing.T) {
	k := &kernelPlans{kept: map[string]string{}, cwds: map[string]string{}, approved: map[string]bool{}}
	s := interp.NewState("/w", nil)
	c := lang.NewCompiler()
	ask := func(s *interp.State, src string) string {
		t.Helper()
		p, perr := c.Compile(src, s)
		if perr != nil {
			t.Fatalf("%s: %v", src, perr)
		}
		v, err := p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{Plans: k}})
		if err != nil {
			return err.Error()
		}
		return value.Inline(v)
	}
	if got := ask(s, "var n = 0\nlet p = plan { n += 1; n }\n[p.id, p.ref]"); got != `[1, "plan:a"]` {
		t.Fatal(got)
	}
	if got := ask(s, "(plan touch x).ref"); got != `"plan:b"` {
		t.Error(got)
	}
	if k.kept["plan:a"] != "n += 1; n" || k.kept["plan:b"] != "touch x" || k.effects != 1 {
		t.Errorf("kept %q with %d effects", k.kept, k.effects)
	}
	for _, src := range []string{"apply 1", "apply (p)", "apply \"plan:a\"", "apply (p.ref)"} {
		if got := ask(s, src); !strings.HasPrefix(got, "permission") {
			t.Errorf("%s before approval: %s", src, got)
		}
	}
	k.approved["plan:a"] = true
	if got := ask(s, "apply (p)\napply \"plan:a\""); got != "2" {
		t.Errorf("after approval: %s", got)
	}
	// It runs where it was made, and what it would do by then is told.
	s.SetCwd("/elsewhere")
	k.approved["plan:b"] = true
	if got := ask(s, "apply 2"); !strings.HasPrefix(got, "arg_error") { // there are no files
		t.Errorf("touch without files: %s", got)
	}
	if got := strings.Join(k.claims, "; "); got != "plan:a /w []; plan:a /w []; plan:b /w [fs.write(/w/x)]" {
		t.Errorf("claims: %s", got)
	}
	if s.Cwd() != "/elsewhere" {
		t.Errorf("the session is left in %s", s.Cwd())
	}
	// Another session runs the source with its own names.
	other := interp.NewState("/w", nil)
	if got := ask(other, "var n = 10\napply \"plan:a\""); got != "11" {
		t.Errorf("in another session: %s", got)
	}
	if got := ask(other, "apply \"plan:z\""); !strings.HasPrefix(got, "not_found") {
		t.Errorf("unknown: %s", got)
	}
}
