package syntax

import (
	"strings"
	"testing"
)

// TestMessages holds the diagnostics for habits from other shells and the other
// messages that callers match, with the place and the gist of the hint.
func TestMessages(t *testing.T) {
	bound := Names{Value: map[string]bool{"v": true, "r": true, "xs": true}}
	tests := []struct {
		src, msg, hint string
		line, col      int
	}{
		{"ls | wc", "shoal has no pipe operator", "sh { ls | wc }", 1, 4},
		{"1 | 2", "shoal has no pipe operator", "feed", 1, 3},
		{"let a = 1 | 2", "shoal has no pipe operator", "", 1, 11},
		{"$HOME", "shoal variables have no sigil", "env.HOME", 1, 1},
		{"echo $HOME", "shoal variables have no sigil", "env.HOME", 1, 6},
		{"echo a${x}", "shoal variables have no sigil", "", 1, 7},
		{"echo $(pwd)", "shoal variables have no sigil", "`(pwd)`", 1, 6},
		{"echo $?", "shoal variables have no sigil", "r.status", 1, 6},
		{"echo $1", "shoal variables have no sigil", "args[0]", 1, 6},
		{"a\n  echo $x", "shoal variables have no sigil", "", 2, 8},
		{"`pwd`", "backtick is not shoal syntax", "`(pwd)`", 1, 1},
		{"echo a`b`", "backtick is not shoal syntax", "", 1, 7},
		{"cat << EOF", "shoal has no heredocs", "feed", 1, 5},
		{"v << 1", "shoal has no heredocs", "", 1, 3},
		{"grep foo <<< \"text\"", "shoal has no here-strings", "feed", 1, 10},
		{"ls 2> f", "shoal has no fd-numbered redirects", "stderr", 1, 4},
		{"ls 1>> f", "shoal has no fd-numbered redirects", "", 1, 4},
		{"ls &> f", "shoal has no stream-merging redirect", ".out", 1, 4},
		{"ls &>> f", "shoal has no stream-merging redirect", "", 1, 4},
		{"ls >& f", "shoal has no stream-merging redirect", "", 1, 4},
		{"sleep 1 & ls", "`&` is not an operator here", "&&", 1, 9},
		{"true & false", "`&` is not an operator here", "", 1, 6},
		{"curl http://x/?a=1&b=2", "`&` is not an operator here", "quote", 1, 19},
		{"1 < 2 < 3", "comparison operators do not chain", "&&", 1, 7},
		{"1 in xs == true", "comparison operators do not chain", "", 1, 9},
		{"a < b < c", "comparison operators do not chain", "&&", 1, 7},
		{"git log.len()", "expected expression, found RParen", "(git log).len()", 1, 13},
		{"git log -3.x/y.len()", "expected expression, found RParen", "(git log -3.x/y).len()", 1, 20},
		{"git log.where(.a == 1)", "a leading `.` has no receiver here", "(git log).where", 1, 15},
		{"[{a: 1}].map([.a])", "a leading `.` has no receiver here", "item => item.a", 1, 15},
		{"xs.where(.a == .b)", "a leading `.` has no receiver here", "item => item.b", 1, 16},
		{"xs.where(k: .a)", "a leading `.` has no receiver here", "", 1, 13},
		{"xs.map({a: .b}.c)", "a leading `.` has no receiver here", "", 1, 8},
		{"xs.map(.[0])", "a leading `.` has no receiver here", "", 1, 8},
		{"export X=1", "export must precede let, var, or fn", "env.X", 1, 1},
		{"if [ -f x ]; then\n ls\nfi", "`then` is not shoal syntax", "if path(\"x\").is_file { … }", 1, 14},
		{"if v > 1\nthen", "`then` is not shoal syntax", "", 2, 1},
		{"while true; do", "`do` is not shoal syntax", "`while true { … }`", 1, 13},
		{"fi", "`fi` is not shoal syntax", "", 1, 1},
		{"if v { 1 } elif v { 2 }", "`elif` is not shoal syntax", "else if", 1, 12},
		{"done", "`done` is not shoal syntax", "", 1, 1},
		{"not v", "use `!`", "!x", 1, 1},
		{"if not v { 1 }", "use `!`", "", 1, 4},
		{"v and r", "use `&&`", "a && b", 1, 3},
		{"if v or r { 1 }", "use `||`", "", 1, 6},
		{"f() { ls }", "functions are declared with fn", "fn f()", 1, 1},
		{"function f { ls }", "functions are declared with fn", "fn f()", 1, 1},
		{"for x in a b c; do", "expected a block", "for x in [", 1, 12},
		{`"{"a": 1}"`, "interpolation must contain one expression", "'…'", 1, 2},
		{`"{\"a\": 1}"`, "interpolation must contain one expression", "JSON", 1, 2},
		{`"{}"`, "interpolation must contain one expression", "", 1, 2},
		{`"{git status}"`, "interpolation must contain one expression", "(cmd)", 1, 2},
		{`"{1; 2}"`, "interpolation must contain one expression", "", 1, 2},
		{"r.a = 1", "cannot assign to a field or index", `r = r.set("a"`, 1, 5},
		{"xs[0] = 1", "cannot assign to a field or index", "", 1, 7},
		{"let [a, b] = xs", "let binds one name", "match", 1, 5},
		{"for [a, b] in xs { a }", "for binds one name", "item[0]", 1, 5},
		{"x > 0", "redirect to `0`?", "x", 1, 5},
		{"x >= 0", "redirect to `=`?", "quotes", 1, 4},
		{"x > 1mb", "redirect to `1mb`?", "", 1, 5},
		{"..", "expected expression", "", 1, 1},
		{"it", "`it` is REPL-only", "let r", 1, 1},
		{"(it)", "`it` is REPL-only", "", 1, 2},
		{"it.foo", "`it` is REPL-only", "", 1, 1},
		{"1 + out", "`out` is REPL-only", "", 1, 5},
		{"let x = out -v", "`out` is REPL-only", "", 1, 9},
		{"@", "unexpected character", "", 1, 1},
		{"π", "unexpected character `π`", "", 1, 1},
		{"1 ~ 2", "unexpected character", "", 1, 3},
		{`"a\q"`, "unknown escape", "", 1, 3},
		{"'a\nb'", "unterminated string (newline)", "'''", 1, 1},
		{"\"a\nb\"", "unterminated string (newline)", "", 1, 1},
		{"\"a", "unterminated string", "", 1, 1},
		{"'a", "unterminated raw string", "", 1, 1},
		{`"a{b"`, "unterminated", "", 1, 1},
		{"re\"a\n\"", "unterminated string (newline)", "", 1, 1},
		{"1KB", "must be lowercase", "1kb", 1, 1},
		{"2h30m", "unknown unit", "one unit", 1, 1},
		{"1min", "unknown unit `min`", "", 1, 1},
		{"1e3kb", "a number with an exponent takes no unit", "", 1, 1},
		{"25:00", "invalid time literal", "", 1, 1},
		{"9223372036854775808", "integer literal out of range", "", 1, 1},
		{"v w", "expected newline or ; between statements", "^v", 1, 3},
		{"if v { a: 1 }", "a record needs its own braces here", "{ {a", 1, 8},
		{"match 1 { | 1 => 2 }", "unexpected `|` at the start of a match arm", "", 1, 11},
		{"match xs { [...a, b] => b }", "expected `]`", "last", 1, 19},
		{"match 1 { a | 1 => a }", "alternatives must bind the same names", "", 1, 15},
		{"match 1 { number n => n }", "unknown type `number`", "int n", 1, 11},
		{"try { v }", "expected catch", "", 1, 10},
		{"with pwd: v { 1 }", "with accepts only cwd, env, and reef", "", 1, 6},
		{"with cwd: v, cwd: v { 1 }", "`cwd` is given twice", "", 1, 14},
		{"f(\"a\": 1)", "expected `,` or `)`, found Colon", "bare name", 1, 6},
		{"(a, b = 1) => a", "lambda parameters take no defaults", "fn f", 1, 7},
		{"fn f(a, a) { a }", "duplicate parameter `a`", "", 1, 9},
		{"fn f(...a, b) { a }", "expected `)`", "last", 1, 12},
		{"sh { \"", "unbalanced braces", "sh'''", 1, 4},
		{"echo [x", "`[` cannot start a command argument", "([a, b])", 1, 6},
		{"echo ]", "unexpected `]`", "", 1, 6},
		{"ls )", "unexpected `)`", "", 1, 4},
		{"let f = fn(x) { x }", "expected expression, found `fn`", "=>", 1, 9},
		{"xs.map(^ls)", "expected expression, found Caret", "(^name", 1, 8},
		{"a\x00b", "NUL in source", "", 1, 2},
		{"1\n+ 2", "expected expression, found Plus", "", 2, 1},
	}
	for _, tt := range tests {
		_, err := Parse(tt.src, bound)
		if err == nil {
			t.Errorf("%q parses, want %q", tt.src, tt.msg)
			continue
		}
		if !strings.Contains(err.Msg, tt.msg) || !strings.Contains(err.Hint, tt.hint) {
			t.Errorf("%q: got %q (hint %q), want %q (hint %q)", tt.src, err.Msg, err.Hint, tt.msg, tt.hint)
		}
		if line, col := LineCol(tt.src, err.Start); line != tt.line || col != tt.col {
			t.Errorf("%q: %q at %d:%d, want %d:%d", tt.src, err.Msg, line, col, tt.line, tt.col)
		}
		checkError(t, tt.src, err)
	}
}

// TestNoParseError lists sources that fail at run time, not here.
func TestNoParseError(t *testing.T) {
	for _, src := range []string{
		"X=1", "echo {a,b}", "x == 1", "x != 1", "~", "cd ..", "\"a\" + 1", "set -e", "local x=1", "eval x",
		"ls -l", "echo --x", "echo 2 > f", "git stash@{0}", "find . -name {} ';'", "let x = missing",
		"4000000000w", "match 1 { catch => 1 }", "{if: 1}.if", "retry(3) { 1 }", "let it = 1; it", "it => it",
	} {
		src = strings.ReplaceAll(src, "it => it", "[1].map(it => it)")
		if _, err := Parse(src, Names{}); err != nil {
			t.Errorf("%q: %s", src, err.Msg)
		}
	}
}

func TestIncomplete(t *testing.T) {
	for _, src := range []string{
		"(1", "[1,", "{a: 1,", "if true {", "f(", "\"abc", "'abc", "\"\"\"abc\n", "1 +", "a &&", "let x =", "ls \\", "ls \\\n",
		"1 \\\n", "sh { echo", "try { 1 }", "match x {", "x => ", "fn f(a,", "\"a{b", "1 in", "for x in", "xs.",
	} {
		_, err := Parse(src, Names{})
		if err == nil {
			t.Errorf("%q parses, want an incomplete error", src)
		} else if !err.Incomplete {
			t.Errorf("%q: %q is not marked incomplete", src, err.Msg)
		}
	}
	for _, src := range []string{"1 + )", "\"a\nb", "$x", "]", "(1]", "if [ -f x ]; then"} {
		if _, err := Parse(src, Names{}); err == nil || err.Incomplete {
			t.Errorf("%q: got %v, want an error that is not incomplete", src, err)
		}
	}
}

func TestNesting(t *testing.T) {
	tests := []struct{ name, open, mid, close string }{
		{"parens", "(", "1", ")"},
		{"lists", "[", "1", "]"},
		{"blocks", "{;", "1", "}"},
		{"records", "{a: ", "1", "}"},
		{"unary", "!", "x", ""},
		{"lambdas", "x => ", "1", ""},
		{"calls", "f(", "1", ")"},
		{"indexes", "a[", "1", "]"},
		{"ifs", "if a { 1 } else ", "{ 2 }", ""},
		{"matches", "match 1 { _ => ", "1", "}"},
		{"commands", "a (", "b", ")"},
		{"chains", "a && (", "b", ")"},
	}
	for _, tt := range tests {
		build := func(n int) string {
			return strings.Repeat(tt.open, n) + tt.mid + strings.Repeat(tt.close, n)
		}
		if _, err := Parse(build(100), Names{}); err != nil {
			t.Errorf("%s: 100 levels: %s", tt.name, err.Msg)
		}
		_, err := Parse(build(100_000), Names{})
		if err == nil || err.Msg != "nesting too deep" {
			t.Errorf("%s: 100000 levels: got %v, want nesting too deep", tt.name, err)
		}
	}
	for _, chain := range []string{" + 1", ".a", "[0]", "(1)", " ?? 1", " && 1", "\n.a()", " catch 1"} {
		_, err := Parse("x.y"+strings.Repeat(chain, 100_000), Names{})
		if err == nil || err.Msg != "nesting too deep" {
			t.Errorf("chain of %q: got %v, want nesting too deep", chain, err)
		}
		if _, err := Parse("x.y"+strings.Repeat(chain, 300), Names{}); err != nil {
			t.Errorf("chain of %q: %s", chain, err.Msg)
		}
	}
}
