package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// inFolder makes a folder with files the working directory.
func inFolder(t *testing.T, files map[string]string) string {
	t.Helper()
	isolate(t)
	dir := t.TempDir()
	for name, text := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

func TestScripts(t *testing.T) {
	inFolder(t, map[string]string{
		"args.shl":    "#!/usr/bin/env shoal\necho \"{args.len()} {script.name}\"\nargs",
		"kinds.shl":   "args.map(a => match a { path p => \"path\"; str s => \"str\"; _ => \"other\" })",
		"fails.shl":   "let a = 1\n\na / 0",
		"broken.shl":  "let a = 1\nlet = 2",
		"exit.shl":    "echo before\nif true { exit 4 }\necho after",
		"uses.shl":    "use ./lib/m\nm.twice(21)",
		"lib/m.shl":   "export fn twice(x) { x * 2 }",
		"usesbad.shl": "use ./broken",
		"deep.shl":    "run ./fails.shl",
		"plain":       "\"no ending\"",
		"cwd.shl":     "let made = mkdir d\nlet at = cd d\npwd.name",
		"print.shl":   "fn f() { echo inner; 1 }\nlet x = f()\n[{a: 1, b: \"x\"}, {a: 2, b: \"y\"}]",
	})
	cases := []struct {
		name   string
		args   []string
		stdin  string
		code   int
		stdout string
		stderr []string // each must be in it; nothing at all when empty
	}{
		{"args", []string{"args.shl", "x", "--y", "-z"}, "", 0, "3 args.shl\nx\n--y\n-z\n", nil},
		{"kinds of args", []string{"kinds.shl", "x", "./y", "/z", "../w", "5"}, "", 0, "str\npath\npath\npath\nstr\n", nil},
		{"path without ending", []string{"./plain"}, "", 0, "no ending\n", nil},
		{"source", []string{"-c", "1 + 2"}, "", 0, "3\n", nil},
		{"stdin", nil, "let a = 2\na * 3\n", 0, "6\n", nil},
		{"empty stdin", nil, "", 0, "", nil},
		{"null is not shown", []string{"-c", "let a = 1"}, "", 0, "", nil},
		{"earlier commands are shown", []string{"-c", "echo a\n1\necho b\n2"}, "", 0, "a\nb\n2\n", nil},
		{"blocks and tables", []string{"print.shl"}, "", 0, "inner\na  b\n1  x\n2  y\n", nil},
		{"error with place", []string{"fails.shl"}, "", 1, "", []string{"error: div_zero", "at fails.shl:3:1", "3 | a / 0", "  | ^^^^^"}},
		{"error in another file", []string{"deep.shl"}, "", 1, "", []string{"div_zero", "at deep.shl:1:1", "raised at fails.shl:3"}},
		{"parse error in a module", []string{"usesbad.shl"}, "", 1, "", []string{"error: parse_error", "broken.shl:2:5\n2 | let = 2\n  |     ^"}},
		{"parse error", []string{"broken.shl"}, "", 2, "", []string{"error: parse_error", "at broken.shl:2:5", "2 | let = 2", "  |     ^"}},
		{"failed command", []string{"-c", "sh { echo oops >&2; exit 3 }"}, "", 3, "", []string{"oops\n", "cmd_failed", "status 3"}},
		{"killed command", []string{"-c", "sh { kill -9 $$ }"}, "", 1, "", []string{"cmd_failed", "SIGKILL"}},
		{"failed command as value", []string{"-c", "let r = (^false)\nr.status"}, "", 0, "1\n", nil},
		{"exit", []string{"exit.shl"}, "", 4, "before\n", nil},
		{"exit from stdin", nil, "exit 9", 9, "", nil},
		{"missing file", []string{"gone.shl"}, "", 1, "", []string{"io_error", "gone.shl"}},
		{"module", []string{"uses.shl"}, "", 0, "42\n", nil},
		{"directory", []string{"cwd.shl"}, "", 0, "d\n", nil},
		{"-c and more", []string{"-c", "1", "2"}, "", 2, "", []string{"-c takes the whole source"}},
		{"-c alone", []string{"-c"}, "", 2, "", []string{"error:"}},
		{"environment", []string{"-c", "env.SHOAL_SCRIPT_TEST"}, "", 0, "yes\n", nil},
		{"wide characters", []string{"-c", "let s = \"日本\"; s + 1"}, "", 1, "", []string{"1 | let s = \"日本\"; s + 1\n  |                 ^^^^^\n"}},
		{"notes", []string{"-c", "echo \"$HOME\""}, "", 0, "$HOME\n", []string{"note: dollar_in_string"}},
		{"channels", []string{"-c", "channel(\"a\").emit(1)"}, "", 0, "", nil},
	}
	t.Setenv("SHOAL_SCRIPT_TEST", "yes")
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			code := run(c.args, strings.NewReader(c.stdin), &stdout, &stderr)
			if code != c.code {
				t.Errorf("exit %d, want %d", code, c.code)
			}
			if diff := cmp.Diff(c.stdout, stdout.String()); diff != "" {
				t.Errorf("stdout (-want +got):\n%s", diff)
			}
			for _, want := range c.stderr {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr lacks %q:\n%s", want, &stderr)
				}
			}
			if len(c.stderr) == 0 && stderr.Len() > 0 {
				t.Errorf("stderr: %s", &stderr)
			}
		})
	}
}

func TestScriptInSession(t *testing.T) {
	k := startKernel(t, map[string]any{
		"1 + 2": map[string]any{"value": map[string]any{"$": "int", "v": 3}, "render": "3"},
	})
	dir := t.TempDir()
	file := filepath.Join(dir, "s.shl")
	if err := os.WriteFile(file, []byte("1 + 2"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"--session", "work", "-c", "1 + 2"}, {"--session", "work", file}, {"--session", "work"},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(args, strings.NewReader("1 + 2"), &stdout, &stderr); code != 0 || stdout.String() != "3\n" {
			t.Errorf("%q: exit %d, stdout %q, stderr %q", args, code, &stdout, &stderr)
		}
	}
	_ = k
}

func TestQuotedArguments(t *testing.T) {
	for arg, want := range map[string]string{
		"a": `"a"`, `q"{x}`: `"q\"\{x\}"`, "./p": `path("./p")`, "$x": `"$x"`,
	} {
		if got := quoted(arg); got != want {
			t.Errorf("%q: got %s, want %s", arg, got, want)
		}
	}
}

func TestFormatCommand(t *testing.T) {
	dir := inFolder(t, map[string]string{"ugly.shl": "let a=1 # one\n", "neat.shl": "let a = 1\n", "bad.shl": "let"})
	ask := func(code int, stdin string, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if got := run(append([]string{"fmt"}, args...), strings.NewReader(stdin), &stdout, &stderr); got != code {
			t.Errorf("fmt %q: exit %d, want %d: %s", args, got, code, &stderr)
		}
		return stdout.String()
	}
	if got := ask(0, "let b=2"); got != "let b = 2\n" {
		t.Errorf("stdin: %q", got)
	}
	if got := ask(0, "", "ugly.shl"); got != "let a = 1 # one\n" {
		t.Errorf("file: %q", got)
	}
	if got := ask(1, "", "-l", "ugly.shl", "neat.shl"); got != "ugly.shl\n" {
		t.Errorf("list: %q", got)
	}
	ask(2, "", "bad.shl")
	ask(1, "", "gone.shl")
	ask(2, "", "-w")
	if err := os.Chmod("ugly.shl", 0o750); err != nil {
		t.Fatal(err)
	}
	ask(0, "", "-w", "ugly.shl")
	text, _ := os.ReadFile(filepath.Join(dir, "ugly.shl"))
	info, err := os.Stat("ugly.shl")
	if err != nil || string(text) != "let a = 1 # one\n" || info.Mode().Perm() != 0o750 {
		t.Errorf("rewritten: %q, %v, %v", text, info.Mode(), err)
	}
	if got := ask(0, "", "-l", "ugly.shl", "neat.shl"); got != "" {
		t.Errorf("list after writing: %q", got)
	}
}

func TestHelpCommand(t *testing.T) {
	isolate(t)
	for name, want := range map[string]string{
		"ls": "ls [-a|--all]", "where": ".where(f: fn)", "json": "json.parse(", "json.parse": "json.parse(",
		"range": "range(a: int", "fmt": "usage: shoal fmt", "run": "In the language:", "stem": ".stem",
	} {
		var stdout, stderr bytes.Buffer
		if code := run([]string{"help", name}, strings.NewReader(""), &stdout, &stderr); code != 0 || !strings.Contains(stdout.String(), want) {
			t.Errorf("help %s: exit %d, %q lacks %q", name, code, &stdout, want)
		}
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"help", "zzz"}, strings.NewReader(""), &stdout, &stderr); code != 1 || stderr.Len() == 0 {
		t.Errorf("unknown name: exit %d, %q", code, &stderr)
	}
}
