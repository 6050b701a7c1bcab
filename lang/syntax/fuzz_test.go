package syntax

import (
	"strings"
	"testing"
)

// seeds touch every production; the fuzzers grow from them.
var seeds = []string{
	"", "\ufefflet x = 1\r\nx", "# only a comment",
	`let n = 3; "n={n} list={[n, "x"]}"`,
	"export let x: list<int>? = [1, 2]\nvar y = {a: 1, \"b c\": 2,}\ny = y.set(\"a\", 2)\ny += 1",
	"# doc\n# more\nfn f(a: int, b: str = \"x\", ...rest: list<path>) -> int { return a }\nf 1 --b=2 -- -x",
	"alias g = git -c a=b log\nuse ./lib/tools.shl\nuse \"x y\"",
	"for i in 1..=3 { if i == 2 { continue } else if i > 2 { break } else { echo i } }",
	"while q.len() > n() { q = q.skip(1) }",
	"match [1, {k: null}] { [int n, {k: null}] => n; 0 | 1 => { \"b\" } _ if true => {} [a, ...r] => r\n\"s\" => 1, -3..=4 => 2 }",
	"try { ^false } catch e { e.code } catch 1",
	"x catch fallback(1) catch e { e.msg }\n(^false) catch -1",
	"with cwd: ./empty, env: {LANG: \"C\"}, reef: {node: \"20\"} { pwd.name }\nspawn { sleep 1s }.await()",
	"-x.abs() + !y * 2 / 3 % 4 - 1..5.len() ?? null && true || false in [1]",
	"[1kb, 1.5gib, 90s, 10:30am, 0xFF, 0b, 1e9, 1.5e-3, re\"a+\", t\"2026-01-01\", 23:59:59]",
	"ls -la --all=(x) ./a*.txt \"q {x}\" 'raw' ...(xs) - a\"b\"c > out.txt >> b < c &",
	"FOO=bar X=(1) \"y\"=1 ^cmd a\\ b \\*c stash@{0} {} {a,b}",
	"sh { echo \"}\"; cat <<EOF\n}\nEOF\n} > f\npython3 {\n  print('}') # }\n}.out\njq'.[]'",
	"node { `${a + `}`}` /[}]/ // }\n}\nlua { --[[ } ]] }\nRscript { 'x' }\nosascript { (* } *) }",
	"rows.map(.name).where(.size > 1mb).map({n: .name, k: {z: .b}}).feed(sort -r).each { x => x }",
	"let r = git status --short && echo ok || ^true\nlet a = ls /\nlet b = x - y\nlet c = cat -",
	"() => 1; (x) => x; (a, b: int) => { a }; ((a) => a)(1); x => y => z",
	"\"\"\"\n    a {x}\n      b\\n\n    \"\"\"\n'''\n  raw\n  '''",
	"ls\n  .where(.a)\n  ?.b\n&& c\n|| d\n?? e",
	"a.b[0](1)?.c { d } (e)[f]",
	"if a { 1 } else { 2 }\n{;}\n{}\n{a, b}\n{ a }",
	"\"{sh {\n echo '\n' }}\"", "\"\"\"{xs.map(x => {\n a\n b\n})}\"\"\"",
	"a | b", "$HOME", "`x`", "cat << EOF", "1 < 2 < 3", "git log.len()", "it", "((((", "{{{{", "[[[[", "\"{\"{\"{",
	"if [ -f x ]; then", "f() { }", "x > 0", "r.a = 1", "let [a] = 1", "\\", "a \\\n", "\"\\u{1F980}\\{\"",
	"env.X = 1\nenv.Y", "return a b\nlet x = return", "a.b = 1", "x => ", "assert (x) \"m\"", "a\\\nb c",
}

// checkError wants a usable error, which says what to do.
func checkError(t *testing.T, src string, err *Error) {
	t.Helper()
	if err.Msg == "" || err.Hint == "" || err.Start < 0 || err.Start > err.End || err.End > len(src) {
		t.Fatalf("source %q: malformed error %+v", src, *err)
	}
}

func FuzzParse(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		prog, err := Parse(src, Names{})
		if err != nil {
			checkError(t, src, err)
			return
		}
		Walk(prog, func(n Node) bool {
			if at := n.Pos(); at.Start < 0 || at.Start > at.End || at.End > len(src) {
				t.Fatalf("source %q: %T has span %v", src, n, at)
			}
			return true
		})
	})
}

func FuzzPrint(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		checkRoundTrip(t, src, Names{})
		checkRoundTrip(t, src, Names{Value: map[string]bool{"x": true, "a": true}, Command: map[string]bool{"b": true, "y": true}})
	})
}

func FuzzInterpolation(f *testing.F) {
	for _, s := range seeds {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		// Any text that needs no escape is itself.
		quoted := `"` + escapeString(text) + `"`
		prog, err := Parse(quoted, Names{})
		if err == nil {
			if lit, ok := prog.Stmts[0].(*ExprStmt).X.(*Literal); !ok || lit.Str != text {
				t.Fatalf("%q reads as %+v", quoted, prog.Stmts[0])
			}
		} else if !strings.Contains(err.Msg, "UTF-8") {
			t.Fatalf("%q: %s", quoted, err.Msg)
		}
		for _, q := range []string{`"`, `"""`, "'''", "'"} {
			src := q + text + q
			checkRoundTrip(t, src, Names{})
			if _, err := Parse(src, Names{}); err != nil {
				checkError(t, src, err)
			}
		}
	})
}
