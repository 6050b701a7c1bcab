package syntax

import (
	"slices"
	"testing"
)

// testNames are the session's names in the tables: v and xs are variables, f
// and gs are a function and an alias.
var testNames = Names{
	Value:   map[string]bool{"v": true, "xs": true, "q": true},
	Command: map[string]bool{"f": true, "gs": true},
}

// tree is a source and the tree it must give.
type tree struct{ src, want string }

func checkTrees(t *testing.T, tests []tree) {
	t.Helper()
	for _, tt := range tests {
		prog, err := Parse(tt.src, testNames)
		if err != nil {
			t.Errorf("%q: %s (%s) at %d", tt.src, err.Msg, err.Hint, err.Start)
			continue
		}
		if got := dump(prog); got != tt.want {
			t.Errorf("%q:\ngot  %s\nwant %s", tt.src, got, tt.want)
		}
		checkRoundTrip(t, tt.src, testNames)
	}
}

func TestLiterals(t *testing.T) {
	checkTrees(t, []tree{
		{"42", "42"}, {"1_000_000", "1000000"}, {"0xFF_FF", "65535"}, {"0o755", "493"}, {"0B11", "3"},
		{"0b", "0B"}, {"1.5", "1.5f"}, {"1e9", "1e+09f"}, {"2.5e-3", "0.0025f"}, {"1.0e+2", "100f"},
		{"1kb", "1000B"}, {"1.5gib", "1610612736B"}, {"1_000kb", "1000000B"}, {"18446744073709551615b", "18446744073709551615B"},
		{"18446744073709551616b", "18446744073709551615B!"}, {"90s", "90000000000ns"}, {"1.5h", "5400000000000ns"},
		{"0.5ns", "1ns"}, {"2w", "1209600000000000ns"}, {"4000000000w", "9223372036854775807ns!"},
		{"10:00", "time:36000"}, {"12:00am", "time:0"}, {"12:30PM", "time:45000"}, {"9:05pm", "time:75900"}, {"23:15:59", "time:83759"},
		{"7.abs()", "7.abs()"}, {"1..4", "(.. 1 4)"}, {"1..=4", "(..= 1 4)"}, {"7.5.round()", "7.5f.round()"},
		{`re"[0-9]+\d"`, `re:[0-9]+\d`}, {`t"2026-01-01"`, "t:2026-01-01"},
		{"true; false; null", "true; false; null"},
	})
}

func TestStrings(t *testing.T) {
	checkTrees(t, []tree{
		{`"a\n\t\r\0\\\"\{\}\u{1F980}"`, `"a\n\t\r\x00\\\"{}🦀"`},
		{`'a\n{x}'`, `"a\\n{x}"`},
		{`"n={v} {xs.len()}!"`, `interp("n=" v " " xs.len() "!")`},
		{`"{[v, "x"]}"`, `interp([v, "x"])`},
		{`"{"{"{v}"}"}"`, `interp(interp(interp(v)))`},
		{`"a}b"`, `"a}b"`},
		{`"on {(^git branch --show-current).out}"`, `interp("on " (paren <^git branch long:show-current>).out)`},
		{"\"\"\"\n    hello\n      {v}\n    world\n    \"\"\"", `interp("hello\n  " v "\nworld")`},
		{"\"\"\"a\n  b\"\"\"", `"a\n  b"`},
		{"'''\n    x\n\n    y\\n\n    '''", `"x\n\ny\\n"`},
		{"\"\"\"\n\ta\\n\n\tb\n\"\"\"", `"a\n\nb"`},
		{"'''\r\n  a\r\n  b\r\n  '''", `"a\nb"`},
		{"\"\"\"\r\n  a\r\n  b\r\n  \"\"\"", `"a\nb"`},
		{`"""a"b""c"""`, `"a\"b\"\"c"`},
		{`""`, `""`}, {`''''''`, `""`}, {`""""""`, `""`},
	})
}

func TestOperators(t *testing.T) {
	checkTrees(t, []tree{
		{"1 + 2 * 3 - 4", "(- (+ 1 (* 2 3)) 4)"},
		{"-v.abs()", "(- v.abs())"}, {"1..5.len()", "(.. 1 5.len())"}, {"!v == v", "(== (! v) v)"},
		{"1 + 2..3 + 4 == v", "(== (.. (+ 1 2) (+ 3 4)) v)"},
		{"v ?? v || v && v == 1", "(?? v (|| v (&& v (== v 1))))"},
		{"v ?? 1 ?? 2", "(?? (?? v 1) 2)"},
		{"1 in xs && 2 in xs", "(&& (in 1 xs) (in 2 xs))"},
		{"--v", "(- (- v))"}, {"v - -1", "(- v (- 1))"}, {"v -1", "(- v 1)"},
		{"v +\n 1", "(+ v 1)"}, {"v\n&& v\n|| v\n?? v", "(?? (|| (&& v v) v) v)"},
		{"xs\n  .map(.a)\n  # comment\n\n  ?.len()", "xs.map(\\ITEM.ITEM.a)?.len()"},
	})
}

func TestPostfix(t *testing.T) {
	checkTrees(t, []tree{
		{"v.a?.b[0](1)(2)", "v.a?.b[0](1)(2)"}, {"v (1)", "v(1)"}, {"v [0]", "v[0]"}, {"v .a", "v.a"},
		{"v.each { 1 }", "v.each(block\\.{1})"}, {"v.each(2) { 1 }", "v.each(2, block\\.{1})"}, {"retry(3) { 1 }", "retry(3, block\\.{1})"},
		{"v.f(a: 1, 2,)", "v.f(a: 1, 2)"}, {"{if: 1}.if", "rec{if: 1}.if"},
		{"xs.map(.a.b)", "xs.map(\\ITEM.ITEM.a.b)"}, {"xs.where(.size > 1mb)", "xs.where(\\ITEM.(> ITEM.size 1000000B))"},
		{"xs.map({name: .name, kb: .size / 1kb, z: {q: .a}, k: 1})", "xs.map(\\ITEM.rec{name: ITEM.name, kb: (/ ITEM.size 1000B), z: rec{q: ITEM.a}, k: 1})"},
		{"xs.map({a: 1}.keys())", "xs.map(rec{a: 1}.keys())"}, {"xs.map({a: f(.b)})", "xs.map(rec{a: f(\\ITEM.ITEM.b)})"},
		{"xs.map(.len())", "xs.map(\\ITEM.ITEM.len())"},
		{"f(\n1,\n2\n)", "f(1, 2)"}, {"v.f(/a, ./b.c, ../d, ~/e)", "v.f(path:/a, path:./b.c, path:../d, path:~/e)"},
		{"ls.len()", "ls.len()"}, {"ls\n  .len()", "ls.len()"}, {"(ls\n  .len())", "(paren ls.len())"},
	})
}

func TestFeed(t *testing.T) {
	checkTrees(t, []tree{
		{"v.feed(sort -r)", "v.feed(<sort short:r>)"}, {"v.feed(cat)", "v.feed(cat/<cat>)"}, {"v.feed(^cat)", "v.feed(<^cat>)"},
		{"v.feed(gs)", "v.feed(gs/<gs>)"}, {"v.feed(xs)", "v.feed(xs)"}, {"sort.feed([1])", "sort.feed([1])"},
		{"v.feed(jq { .[].a })", `v.feed(<jq payload ".[].a">)`}, {"v.feed(grep -c \"foo\").out", "v.feed(<grep short:c str:foo>).out"},
		{"v.feed(./x.sh a)", "v.feed(<path:./x.sh a>)"}, {"v.feed(A=1 cat)", "v.feed(<A=1 cat>)"},
		{"v.feed(xs.map(f))", "v.feed(xs.map(f))"},
	})
}

func TestLambdas(t *testing.T) {
	checkTrees(t, []tree{
		{"x => x + 1", "\\x.(+ x 1)"}, {"x => y => x", "\\x.\\y.x"}, {"() => 1", "\\.1"}, {"(a, b: list<int>?, ...r) => a", "\\a,b:list<:int>?,...r.a"},
		{"x => {}", "\\x.{}"}, {"x => {a: 1}", "\\x.rec{a: 1}"}, {"x => { x }", "\\x.{x}"}, {"(x => x)(2)", "(paren \\x.x)(2)"},
		{"x => echo (x)", "\\x.echo(x)"}, {"xs.map(x =>\n x)", "xs.map(\\x.x)"}, {"x => x -1", "\\x.(- x 1)"},
		{"x => { x -1 }", "\\x.{(- x 1)}"},
	})
}

func TestStatements(t *testing.T) {
	checkTrees(t, []tree{
		{"let x = 1; var y: int = 2; let _ = 3", "let(x = 1); let(var y:int = 2); let(_ = 3)"},
		{"export let x = 1\nexport fn g() { 1 }", "let(export x = 1); fn(export g \"\" \\.{1})"},
		{"# one\n#  two\nfn g(a: int, b = 1, ...r: list<path>) -> int {\n  a -1\n}", "fn(g \"one\\n two\" \\a:int,b=1,...r:list<:path>:int.{(- a 1)})"},
		{"fn g(n) { g -1 }", "fn(g \"\" \\n.{<g -1>})"},
		{"fn g(xs: list<int>= [1]) { xs }", "fn(g \"\" \\xs:list<:int>=[1].{xs})"},
		{"alias g = git -c a log\ng -1", "alias(g <git short:c a log>); <g -1>"},
		{"use ./lib/tools\ntools.x\ntools -1", "use(path:./lib/tools); tools.x; (- tools 1)"},
		{"for i in xs.items { i -1 }", "for(i xs.items {(- i 1)})"},
		{"while q.len() > v() { break; continue }", "while((> q.len() v()) {break; continue})"},
		{"fn g() { return }", "fn(g \"\" \\.{return})"}, {"fn g() { return git status }", "fn(g \"\" \\.{return(<git status>)})"},
		{"x = 1; x += 1; x -= 1; x *= 2; x /= 2", "assign(x = 1); assign(x += 1); assign(x -= 1); assign(x *= 2); assign(x /= 2)"},
		{"env.X = \"a\"; env.X", "assign(env.X = \"a\"); env.X"},
		{"x =\n 1", "assign(x = 1)"}, {"let x =\n  git log", "let(x = <git log>)"},
		{"{a: 1}; {a, b}; {}; {a}; {;}", "rec{a: 1}; rec{a: a, b: b}; rec{}; {<a>}; {}"},
		{"{\n  \"a b\": 1,\n  c: 2,\n}", "rec{a b: 1, c: 2}"},
		{"if f(v) { 1 } else if v { 2 } else { {a: 1} }", "if(f(v) {1} if(v {2} {rec{a: 1}}))"},
		{"if v { 1 }\nelse { 2 }", "if(v {1} {2})"}, {"if {a: 1}.a == 1 { 2 }", "if((== rec{a: 1}.a 1) {2} -)"},
		{"if v && grep x y { 1 }", "if((&& v <grep x y>) {1} -)"},
		{"with cwd: ./e, env: {A: \"1\"} { pwd.name }", "with(cwd: path:./e, env: rec{A: \"1\"} {pwd.name})"},
		{"spawn { sleep 1s }.await()", "spawn({<sleep 1s>}).await()"},
		{"a # c\n# d\nb;;\n;c", "<a>; <b>; <c>"}, {"\ufeffa\r\nb \\\r\n c", "<a>; <b c>"},
	})
}

func TestMatch(t *testing.T) {
	checkTrees(t, []tree{
		{"match v { 0 | 1 => \"a\", int n if n > 1 => n; _ => null }", "match(v 0|1 if - => \"a\", int n if (> n 1) => n, _ if - => null)"},
		{"match v {\n-1 => 1\n-3..=4 => 2\n\"s\" => 3\ntrue => 4 }", "match(v -1 if - => 1, -3..=4 if - => 2, \"s\" if - => 3, true if - => 4)"},
		{"match v { 0 => { return \"none\" } _ => null }", "match(v 0 if - => {return(\"none\")}, _ if - => null)"},
		{"match v { {a, b: [x, ...r]} => x; [] => 1; [...y] => y }", "match(v {a, b: [x, ...r]} if - => x, [] if - => 1, [...y] if - => y)"},
		{"match v { x if x => x; int => {} }", "match(v x if x => x, int if - => {})"},
		{"match v.kind { a => b.c }", "match(v.kind a if - => b.c)"},
		{"match {a: 1} { [a] if (a) => a, _ => x => x }", "match(rec{a: 1} [a] if (paren a) => a, _ if - => \\x.x)"},
	})
}

func TestCatch(t *testing.T) {
	checkTrees(t, []tree{
		{"v catch 1", "catch(v :1)"}, {"v catch e { e }", "catch(v e:{e})"}, {"v catch fallback", "catch(v :fallback)"},
		{"v catch d.port", "catch(v :d.port)"}, {"v catch f(1)", "catch(v :f(1))"}, {"v catch e (1)", "catch(v e:(paren 1))"},
		{"v catch null", "catch(v :null)"}, {"v catch a - 1", "catch(v :(- a 1))"}, {"v catch a -1", "catch(v a:(- 1))"},
		{"v catch _ 1", "catch(v _:1)"}, {"v catch {a: 1}", "catch(v :rec{a: 1})"}, {"v catch 1 catch 2", "catch(catch(v :1) :2)"},
		{"1/0 catch \"x\"", "catch((/ 1 0) :\"x\")"}, {"(^false) catch 1", "catch((paren <^false>) :1)"},
		{"ls x\n  catch e { 1 }", "catch(<ls x> e:{1})"}, {"ls catch x", "<ls catch x>"},
		{"try { v } catch { 1 }", "try({v} :{1})"}, {"try { v }\ncatch e { e } catch 2", "catch(try({v} e:{e}) :2)"},
		{"if v catch w { 1 }", "if(catch(v :w) {1} -)"}, {"v catch sh { x }", `catch(v :<sh payload "x">)`},
		{"sh { exit 3 } catch 1", `catch(<sh payload "exit 3"> :1)`},
	})
}

func TestCommands(t *testing.T) {
	checkTrees(t, []tree{
		{"ls -la --all ./a ../b /c ~/d ~ - -- -x", "<ls short:la long:all path:./a path:../b path:/c path:~/d path:~ dash:- dashdash:-- short:x>"},
		{"x -5 -1.5 -k2,2 -x=1 --- -a1 -_", "<x -5 -1.5 -k2,2 -x=1 --- short:a1 -_>"},
		{"x --k=v --k= --k=\"a b\" --k=(v)c --a.b-c --k_d", "<x long:k=v long:k= long:k=\"a b\" long:k=(v)c long:a.b-c long:k_d>"},
		{"x *.c a?b [ab]c **/*.go ./x*", "<x glob:*.c glob:a?b glob:[ab]c glob:**/*.go glob:./x*>"},
		{"x http://a/b?c=1#d a#b HEAD~1 HEAD^ @x +5 !x a,b a[b", "<x http://a/b?c=1#d a#b HEAD~1 HEAD^ @x +5 !x a,b a[b>"},
		{"x \"my dir\"/*.csv a\\*b a\\*b*", "<x glob:\"my dir\"/*.csv a*b glob:a\"*\"b*>"},
		{"x a\"b c\"'d'(v) \"q {v}\" 'r' (1 + 2)", "<x a\"b cd\"(v) str:(interp(\"q \" v)) str:r val:(+ 1 2)>"},
		{"x a\\ b \\d C:\\tmp \\# \\$x", "<x a b \\d C:\\tmp # $x>"},
		{"x ...(xs) (ls) ({a: 1})", "<x spread:xs val:<ls> val:rec{a: 1}>"},
		{"x stash@{0} {} {a,b}", "<x stash@{0} {} block\\.{<a,b>}>"}, {"x foo{ 1 }", "<x foo block\\.{1}>"},
		{"x a > b >> c < d", "<x a redirect>b redirect>>c redirect<d>"}, {"echo 2 > f", "<echo 2 redirect>f>"}, {"x > \"0\"", "<x redirect>str:0>"},
		{"sleep 5 &", "<sleep 5 &>"}, {"(sleep 5 &)", "(paren <sleep 5 &>)"}, {"^ls a", "<^ls a>"}, {"^it", "<^it>"}, {"^\"a b\"/c", "<^\"a b\"/c>"},
		{"A=1 B=\"x y\"(v) cmd a", "<A=1 B=\"x y\"(v) cmd a>"}, {"A=1", "assign(A = 1)"}, {"A=1 + 2", "assign(A = (+ 1 2))"}, {"echo a=b", "<echo a=b>"},
		{"(A=1 ls)", "(paren <A=1 ls>)"}, {"./x a\n../y\n/z/w\n~/u", "<path:./x a>; <path:../y>; <path:/z/w>; <path:~/u>"},
		{"g++ a.c; a-b.c d", "<g++ a.c>; <a-b.c d>"}, {"x == 1", "<x == 1>"}, {"assert (v) \"m\"", "<assert val:v str:m>"},
		{"a && b || c", "(|| (&& <a> <b>) <c>)"}, {"a x || b && c", "(|| <a x> (&& <b> <c>))"}, {"^a && ^b\n1", "(&& <^a> <^b>); 1"}, {"v && ls x", "(&& v <ls x>)"},
		{"(git log\n  --oneline)", "(paren <git log long:oneline>)"}, {"git log \\\n --x", "<git log long:x>"}, {"git ab\\\ncd", "<git abcd>"},
		{"f -1; v -1; gs -1", "<f -1>; (- v 1); <gs -1>"}, {"f ([1])", "<f val:[1]>"}, {"f([1])", "f([1])"},
		{"x a # c", "<x a>"}, {"x \"\"\"\n  a\n  \"\"\"", "<x str:a>"}, {"x re\"a\"", "<x re\"a\">"},
		{"x 10:00 1kb 2026-01-01 1h30m", "<x 10:00 1kb 2026-01-01 1h30m>"},
	})
}

func TestRightHandSides(t *testing.T) {
	checkTrees(t, []tree{
		{"let r = git status", "let(r = <git status>)"}, {"let r = git -v", "let(r = <git short:v>)"}, {"let r = git --v", "let(r = <git long:v>)"},
		{"let r = ls .", "let(r = <ls .>)"}, {"let r = ls ..", "let(r = <ls ..>)"}, {"let r = ls ../x", "let(r = <ls path:../x>)"},
		{"let r = ls /tmp", "let(r = <ls path:/tmp>)"}, {"let r = ls /", "let(r = <ls path:/>)"}, {"let r = ls *.c", "let(r = <ls glob:*.c>)"},
		{"let r = ls *", "let(r = <ls glob:*>)"}, {"let r = cat -", "let(r = <cat dash:->)"}, {"let r = cat \"x\"", "let(r = <cat str:x>)"},
		{"let r = head 5", "let(r = <head 5>)"}, {"let r = x ...(xs)", "let(r = <x spread:xs>)"}, {"let r = npm @a/b", "let(r = <npm @a/b>)"},
		{"let r = a - b", "let(r = (- a b))"}, {"let r = a-b", "let(r = (- a b))"}, {"let r = a * b", "let(r = (* a b))"}, {"let r = a / b", "let(r = (/ a b))"},
		{"let r = a ?? b", "let(r = (?? a b))"}, {"let r = a > b", "let(r = (> a b))"}, {"let r = a in b", "let(r = (in a b))"}, {"let r = a catch b", "let(r = catch(a :b))"},
		{"let r = a (b)", "let(r = a(b))"}, {"let r = a [0]", "let(r = a[0])"}, {"let r = a .b", "let(r = a.b)"}, {"let r = a .. b", "let(r = (.. a b))"},
		{"let r = v - 1", "let(r = (- v 1))"}, {"let r = v -1", "let(r = (- v 1))"}, {"let r = a", "let(r = a)"}, {"let r = ls\n  .len()", "let(r = ls.len())"},
		{"let r = ^git log", "let(r = <^git log>)"}, {"let r = git log && v", "let(r = (&& <git log> v))"}, {"let r = ./x/y", "let(r = path:./x/y)"},
		{"let r = x => x", "let(r = \\x.x)"}, {"let r = (a) => a", "let(r = \\a.a)"}, {"let r = sh { x }.out", `let(r = <sh payload "x">.out)`},
		{"let r = git log\n  catch 1", "let(r = catch(<git log> :1))"}, {"r = git log", "assign(r = <git log>)"}, {"let r = a +\n b", "let(r = (+ a b))"},
	})
}

func TestConsulted(t *testing.T) {
	tests := []struct {
		src  string
		want []string
	}{
		{"let a = 1; a + 1", nil},
		{"git status; v -1; git log", []string{"git", "v"}},
		{"fn g(x) { x; y }", []string{"y"}},
		{"\"{(cmd x)}\"", []string{"cmd"}},
		{"xs.map(x => x)", nil},
		{"path(\"a\")", nil},
	}
	for _, tt := range tests {
		prog, err := Parse(tt.src, testNames)
		if err != nil {
			t.Errorf("%q: %s", tt.src, err.Msg)
		} else if !slices.Equal(prog.Consulted, tt.want) {
			t.Errorf("%q: consulted %q, want %q", tt.src, prog.Consulted, tt.want)
		}
	}
}

func TestScopes(t *testing.T) {
	checkTrees(t, []tree{
		{"if v { let a = 1; a -1 }; a -1", "if(v {let(a = 1); (- a 1)} -); <a -1>"},
		{"xs.map(a => { a -1 }); a -1", "xs.map(\\a.{(- a 1)}); <a -1>"},
		{"for a in xs { a -1 }; a -1", "for(a xs {(- a 1)}); <a -1>"},
		{"match v { {a} => { a -1 } }; a -1", "match(v {a} if - => {(- a 1)}); <a -1>"},
		{"v catch a { a -1 }; a -1", "catch(v a:{(- a 1)}); <a -1>"},
		{"fn v() { 1 }; v -1", "fn(v \"\" \\.{1}); <v -1>"},
		{"{ fn v() { 1 }; v -1 }; v -1", "{fn(v \"\" \\.{1}); <v -1>}; (- v 1)"},
		{"let a = a -1", "let(a = <a -1>)"}, {"glob -1", "(- glob 1)"},
		{"let node = 1; if node { 2 }", "let(node = 1); if(node {2} -)"},
	})
}

func TestNotes(t *testing.T) {
	prog, err := Parse("fn f() { return 1; 2 }\nlet s = \"$HOME and $X\"\nlet p = \"$5 $1\" + '$X'\nexit 1\nls", Names{})
	if err != nil {
		t.Fatal(err.Msg)
	}
	var codes []string
	for _, n := range prog.Notes {
		codes = append(codes, n.Code+" "+prog.Src[n.Start:n.End])
	}
	want := []string{"unreachable 2", "dollar_in_string $HOME", "unreachable ls"}
	if !slices.Equal(codes, want) {
		t.Errorf("got notes %q, want %q", codes, want)
	}
}
