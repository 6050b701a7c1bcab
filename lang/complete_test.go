package lang_test

import (
	"context"
	"strings"
	"testing"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

func TestComplete(t *testing.T) {
	s := interp.NewState("/w", []string{"HOME=/h", "HOST=x"})
	p, perr := lang.NewCompiler().Compile("let server = {name: \"a\", port: 1}\nvar seen = [1]\nfn serve(times: int, dry_run: bool) { 1 }\nalias say = echo", s)
	if perr != nil {
		t.Fatal(perr)
	}
	if _, err := p.Run(context.Background(), interp.Run{State: s}); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name, src string // the cursor is at |
		has, not  string // labels, blank separated
	}{
		{"names", "se|", "server seen serve", "say ls"},
		{"heads", "l|", "ls ln let", "cat"},
		{"calls", "ra|", "range", ""},
		{"keywords", "wh|", "while which", ""},
		{"namespaces", "js|", "json", ""},
		{"members", "json.|", "parse stringify", "len keys"},
		{"members by prefix", "math.s|", "sqrt sin sign", "cos"},
		{"constants", "math.p|", "pi pow", ""},
		{"environment", "env.HO|", "HOME HOST", ""},
		{"fields of a record", "server.|", "name port keys merge", "map upper"},
		{"methods of a list", "seen.m|", "map max min", "matches merge"},
		{"methods of a text", `"a".u|`, "upper", "uniq"},
		{"methods of a literal list", "[1].s|", "sort sum skip", "starts_with"},
		{"safe navigation", "server?.na|", "name", ""},
		{"after a call", "(ls).wh|", "where", ""},
		{"outcome fields", "(ls).st|", "status stdout stderr", ""},
		{"flags", "rm --per|", "--permanent", "--recursive"},
		{"all flags", "rm --|", "--permanent --recursive --force", "--all"},
		{"flags of a function", "serve --|", "--times --dry-run", ""},
		{"flags of the command on the line", "ls; mkdir --|", "--parents", "--all"},
		{"declared in the source", "let counter = 1\nfn count_up() { 1 }\ncou|", "counter count_up", ""},
		{"in the middle", "se| + 1", "server", ""},
		{"in a string", `"se|"`, "", "server"},
		{"in half a string", `let a = "se|`, "", "server"},
		{"in a comment", "# se|", "", "server"},
		{"range is no member", "1..se|", "server seen", ""},
		{"nothing fits", "zzzz|", "", "ls"},
		{"empty", "|", "ls server if", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cursor := strings.IndexByte(c.src, '|')
			src := strings.Replace(c.src, "|", "", 1)
			found := map[string]bool{}
			for _, k := range lang.Complete(src, cursor, s) {
				found[k.Label] = true
				if k.Replace.End != cursor || k.Replace.Start > cursor || !strings.HasPrefix(k.Label, src[k.Replace.Start:cursor]) {
					t.Errorf("%q replaces %v", k.Label, k.Replace)
				}
				if k.Kind == "" {
					t.Errorf("%q has no kind", k.Label)
				}
			}
			for _, label := range strings.Fields(c.has) {
				if !found[label] {
					t.Errorf("%q lacks %s", c.src, label)
				}
			}
			for _, label := range strings.Fields(c.not) {
				if found[label] {
					t.Errorf("%q offers %s", c.src, label)
				}
			}
		})
	}
	s.Bind("secret_thing", value.NewSecret("k", "hidden"))
	for _, k := range lang.Complete("secret_th", 9, s) {
		if strings.Contains(k.Detail, "hidden") {
			t.Error("a secret shows")
		}
	}
}

// Any cursor in any text is answered.
func TestCompleteHostile(t *testing.T) {
	for _, src := range append([]string{"", ".", "..", "--", "é.", "\x00", "\xff.", "a.b.c.", "[.", "env.", strings.Repeat("(", 2000), "?."}, tangled...) {
		for _, cursor := range []int{-1, 0, 1, len(src) / 2, len(src), len(src) + 9} {
			if got := lang.Complete(src, cursor, nil); got == nil || len(got) > 200 {
				t.Errorf("%q at %d: %d candidates", src, cursor, len(got))
			}
		}
	}
}
