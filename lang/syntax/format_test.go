package syntax

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFormat(t *testing.T) {
	cases := []struct{ name, src, want string }{
		{"empty", "", ""},
		{"only comments", "# a\n\n\n# b", "# a\n\n# b\n"},
		{"statements", "let a=1;let b   =  2", "let a = 1\nlet b = 2\n"},
		{"one empty line", "a = 1\n\n\n\nb = 2\n\n", "a = 1\n\nb = 2\n"},
		{"line and shebang", "#!/usr/bin/env shoal\nlet a = 1 # one\n", "#!/usr/bin/env shoal\nlet a = 1 # one\n"},
		{"indent", "fn f(x){\n        # inner\n   x+1 # more\n# last\n}", "fn f(x) {\n  # inner\n  x + 1 # more\n  # last\n}\n"},
		{"one-line body", "fn f(x) { x }", "fn f(x) {\n  x\n}\n"},
		{"empty body with comment", "fn f() {\n# nothing\n}", "fn f() {\n  # nothing\n}\n"},
		{"empty body", "if a {\n\n}", "if a {\n\n}\n"},
		{"comment after brace", "if a { # why\n  b()\n} # done\nc()", "if a { # why\n  b()\n} # done\nc()\n"},
		{"doc of fn", "# Adds.\n# Well.\nfn add(a,b) { a+b }", "# Adds.\n# Well.\nfn add(a, b) {\n  a + b\n}\n"},
		{"strings stay", "let a = 'raw \\n'\nlet b = \"x{1}\"\nlet c = '''\n  text # no comment\n'''", "let a = 'raw \\n'\nlet b = \"x{1}\"\nlet c = '''\n  text # no comment\n'''\n"},
		{"numbers stay", "let a = 1_000 + 0xff\nlet b = 1.50mb", "let a = 1_000 + 0xff\nlet b = 1.50mb\n"},
		{"words stay", "git log --format='%h #1' a#b *.txt", "git log --format='%h #1' a#b *.txt\n"},
		{"payload stays", "if a {\nsh {\n   echo '#' # sh\n}\n}", "if a {\n  sh {\n   echo '#' # sh\n}\n}\n"},
		{"lines of an expression stay", "let r = {\n  a: 1,\n  b: 2, # two\n}", "let r = {\n  a: 1,\n  b: 2, # two\n}\n"},
		{"lines move along", "if x {\nlet r = [\n  1,\n  2\n]\n}", "if x {\n  let r = [\n    1,\n    2\n  ]\n}\n"},
		{"chain stays", "xs\n  .map(.a)\n  .sort()", "xs\n  .map(.a)\n  .sort()\n"},
		{"match", "match x {\n# one\n1=>\"a\" # first\n_ =>  null\n# end\n}", "match x {\n  # one\n  1 => \"a\" # first\n  _ => null\n  # end\n}\n"},
		{"short fields", "{a,b}.keys()", "{a, b}.keys()\n"},
		{"plan", "plan   rm x", "plan rm x\n"},
		{"plan block", "plan { rm x }", "plan {\n  rm x\n}\n"},
		{"trailing block", "xs.each { echo a }", "xs.each {\n  echo a\n}\n"},
		{"carriage returns", "let a = 1\r\n# c\r\nlet b = 2\r\n", "let a = 1\n# c\nlet b = 2\n"},
		{"else", "if a {b()} else if c {d()} else {e()}", "if a {\n  b()\n} else if c {\n  d()\n} else {\n  e()\n}\n"},
		{"lambda body", "xs.map(x=>{\nlet y = x # keep\ny})", "xs.map(x => {\n  let y = x # keep\n  y\n})\n"},
		{"blank after brace", "fn f() {\n\n  1\n\n}", "fn f() {\n  1\n}\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Format(c.src)
			if err != nil {
				t.Fatalf("%q: %s", c.src, err.Msg)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%q (-want +got):\n%s", c.src, diff)
			}
		})
	}
	if _, err := Format("let"); err == nil || !err.Incomplete {
		t.Errorf("half a statement: %v", err)
	}
}

// checkFormat formats src and wants the same tree and the same comments, and
// that formatting once more changes nothing. It reports whether the source was
// laid out at all.
func checkFormat(t *testing.T, src string) bool {
	t.Helper()
	want, err := Parse(src, Names{})
	if err != nil {
		return true
	}
	text, ferr := Format(src)
	if ferr != nil {
		t.Fatalf("source %q\nparses but is not formatted: %s", src, ferr.Msg)
	}
	got, err := Parse(text, Names{})
	if err != nil || !Equal(want, got) {
		t.Fatalf("source    %q\nformatted %q\nis another program", src, text)
	}
	again, _ := Format(text)
	if again != text {
		t.Fatalf("source    %q\nformatted %q\nthen      %q", src, text, again)
	}
	for _, c := range commentTexts(want, src) {
		if !strings.Contains(text, c) {
			t.Fatalf("source    %q\nformatted %q\nlost %q", src, text, c)
		}
	}
	plain := strings.ReplaceAll(src, "\r\n", "\n")
	return text != src || layOut(got, plain) == plain
}

func TestFormatConformance(t *testing.T) {
	left := 0
	for _, c := range conformanceCases(t) {
		if !checkFormat(t, c.Src) {
			left++
			if left < 20 {
				t.Logf("left as it is: %q", c.Src)
			}
		}
	}
	if left > 5 {
		t.Errorf("%d sources are left as they are", left)
	}
}

func FuzzFormat(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
		f.Add("# head\n" + s + " # tail\nfn f() {\n # in\n" + s + "\n}")
	}
	f.Fuzz(func(t *testing.T, src string) { checkFormat(t, src) })
}
