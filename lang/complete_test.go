package lang_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/host"
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
		{"fields of fields", "server.name.u|", "upper", "uniq"},
		{"an item of a list", "seen[0].|", "abs round", "map"},
		{"a record that is written out", "{alpha: 1}.al|", "alpha", ""},
		{"declared as a list", "let later = [1]\nlater.m|", "map", "merge"},
		{"declared over a binding", "let server = \"x\"\nserver.|", "upper", "name port"},
		{"methods in a chain", `"a b".words().m|`, "map", "merge"},
		{"text in a chain", `["a"].join(",").u|`, "upper", "uniq"},
		{"a call's result", "now().y|", "year", ""},
		{"a program's outcome", "(git status).st|", "status stdout starts_with", "upper"},
		{"a path's parts", "path(\"/a\").n|", "name", ""},
		{"inside a call", "[1].map(se|", "server seen", ""},
		{"range is no member", "1..se|", "server seen", ""},
		{"nothing fits", "zzzz|", "", "ls"},
		{"empty", "|", "ls server if", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cursor := strings.IndexByte(c.src, '|')
			src := strings.Replace(c.src, "|", "", 1)
			found := map[string]bool{}
			for _, k := range lang.Complete(t.Context(), src, cursor, lang.Surroundings{State: s}) {
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
	for _, k := range lang.Complete(t.Context(), "secret_th", 9, lang.Surroundings{State: s}) {
		if strings.Contains(k.Detail, "hidden") {
			t.Error("a secret shows")
		}
	}
}

// tree is a directory with programs and files, and a state that stands in it.
func tree(t *testing.T) *interp.State {
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"bin/runner": 0o755, "bin/rustle": 0o755, "bin/runtime.txt": 0o644, "bin/ls": 0o755,
		"work/notes.txt": 0o644, "work/night shift.md": 0o644, "work/it's {odd}.md": 0o644, "work/.hidden": 0o644,
		"work/nested/deep.go": 0o644, "work/nested/tool": 0o755, "home/mine.txt": 0o644,
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	return interp.NewState(filepath.Join(dir, "work"), []string{
		"HOME=" + filepath.Join(dir, "home"), "PATH=" + filepath.Join(dir, "bin") + ":" + filepath.Join(dir, "missing"),
	})
}

func TestCompleteFiles(t *testing.T) {
	s := tree(t)
	s.Bind("total", value.Int(8))
	in := lang.Surroundings{State: s, Files: host.Files{}, Refs: func(prefix string) []lang.Ref {
		return []lang.Ref{{Name: prefix + "7", Detail: "int"}}
	}}
	cases := []struct{ name, src, want string }{ // want: label/kind of all that are no names
		{"programs of PATH", "ru|", "runner/program rustle/program"},
		{"programs after a caret", "^ru|", "runner/program rustle/program"},
		{"a name before the program", "^l|; l", "ls/program"},
		{"programs in a binding", "let x = ru|", "runner/program rustle/program"},
		{"programs after a variable", "A=1 ru|", "runner/program rustle/program"},
		{"programs in parentheses", "(ru|", "runner/program rustle/program"},
		{"no programs in a call", "total.abs(ru|", ""},
		{"no programs in an expression", "1 + ru|", ""},
		{"files of a command", "cat no|", "notes.txt/path"},
		{"directories", "cat ne|", "nested//directory"},
		{"below a directory", "cat nested/d|", "nested/deep.go/path"},
		{"from the root", "cat ./no|", "./notes.txt/path"},
		{"of the home", "cat ~/m|", "~/mine.txt/path"},
		{"names with blanks", "cat ni|", "'night shift.md'/path"},
		{"names with quotes", "cat i|", `"it's \{odd\}.md"/path`},
		{"hidden ones", "cat .h|", ".hidden/path"},
		{"a redirect", "cat a > no|", "notes.txt/path"},
		{"programs of which", "which run|", "runner/program"},
		{"a program by its path", "./nested/t|", "./nested/tool/program ./nested/tool/path"},
		{"division is no path", "total/no|", ""},
		{"refs", "apply plan:|", "plan:7/ref"},
		{"refs in a command", "echo out:|", "out:7/ref"},
		{"no files where a name stands", "let y = no|", ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			cursor := strings.IndexByte(c.src, '|')
			src := strings.Replace(c.src, "|", "", 1)
			var got []string
			for _, k := range lang.Complete(t.Context(), src, cursor, in) {
				switch k.Kind {
				case "path", "directory", "program", "ref":
					got = append(got, k.Label+"/"+k.Kind)
				default:
					continue
				}
				if done := src[:k.Replace.Start] + k.Label + src[k.Replace.End:]; k.Kind == "path" {
					if _, err := lang.AST(done, s); err != nil {
						t.Errorf("%q does not parse: %v", done, err)
					}
				}
			}
			if text := strings.Join(got, " "); !strings.Contains(c.want, text) || text == "" && c.want != "" {
				t.Errorf("%q: got %q, want %q", c.src, text, c.want)
			}
		})
	}
	done, cancel := context.WithCancel(t.Context())
	cancel()
	if got := lang.Complete(done, "cat no", 6, in); len(got) != 0 {
		t.Errorf("after the end of its time: got %v", got)
	}
	in.Visible = func(name string) bool { return name == "PATH" }
	if got := lang.Complete(t.Context(), "env.", 4, in); len(got) != 1 || got[0].Label != "PATH" {
		t.Errorf("variables that may be seen: got %v", got)
	}
	none := lang.Complete(t.Context(), "cat no", 6, lang.Surroundings{State: s})
	if len(none) != 0 {
		t.Errorf("without files: got %v", none)
	}
}

// A directory with many names gives as many as fit, the session's names first.
func TestCompleteMany(t *testing.T) {
	dir := t.TempDir()
	for i := range 400 {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("aa%d", i)), nil, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s := interp.NewState(dir, []string{"PATH=" + dir})
	s.Bind("aazz", value.Int(1))
	got := lang.Complete(t.Context(), "aa", 2, lang.Surroundings{State: s, Files: host.Files{}})
	if len(got) != 200 || got[len(got)-1].Label != "aazz" {
		t.Errorf("got %d candidates, the last %v", len(got), got[len(got)-1])
	}
}

// Any cursor in any text is answered.
func TestCompleteHostile(t *testing.T) {
	for _, src := range append([]string{"", ".", "..", "--", "é.", "\x00", "\xff.", "a.b.c.", "[.", "env.", strings.Repeat("(", 2000), "?."}, tangled...) {
		for _, cursor := range []int{-1, 0, 1, len(src) / 2, len(src), len(src) + 9} {
			if got := lang.Complete(t.Context(), src, cursor, lang.Surroundings{}); got == nil || len(got) > 200 {
				t.Errorf("%q at %d: %d candidates", src, cursor, len(got))
			}
		}
	}
}
