package hostile

import "strings"

// attack is a hostile source and the ends that are right for it, separated by
// a bar: value, cancelled, or an error code.
type attack struct{ name, ends, src string }

// large reports whether the attack reads a large file.
func (a attack) large() bool {
	for name, in := range files {
		if in.large && strings.Contains(a.src, name) {
			return true
		}
	}
	return false
}

// text makes a str of n bytes or more by doubling.
const text = "fn text(n) { var s = \"0123456789abcdef \\n\"; var l = 18; while l < n { s = s + s; l = l * 2 }; s }\n"

// attacks end the kernel or stall it if it lets them.
var attacks = [][]attack{
	nesting(), literals(), endless(), storms(), ranges(), patterns(), texts(), expanding(), lists(), inputs(), streams(), programs(),
}

// chosen are the attacks to run: all, or a fair sample of those that need no
// large file.
func chosen(all bool) (out []attack) {
	for _, group := range attacks {
		for i, a := range group {
			if all || i%sampled == 0 && !a.large() {
				out = append(out, a)
			}
		}
	}
	return out
}

// sampled is of how many attacks of a group the sample has one.
const sampled = 8

// times is n times what each gives, joined.
func times(n int, sep string, each func(i int) string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = each(i)
	}
	return strings.Join(parts, sep)
}

// functions is a call of parallel with n functions of the same body.
func functions(n int, body string) string {
	return "parallel(" + times(n, ", ", func(int) string { return "() => " + body }) + ")"
}

// around is n times open, the middle, and n times shut.
func around(open, middle, shut string, n int) string {
	return strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
}

func nesting() []attack {
	const n = 100_000
	return []attack{
		{"nested parens", "PARSE_ERROR", around("(", "1", ")", n)},
		{"nested lists", "PARSE_ERROR", around("[", "1", "]", n)},
		{"nested records", "PARSE_ERROR", around("{a: ", "1", "}", n)},
		{"nested blocks", "PARSE_ERROR", around("if true { ", "1", " }", n)},
		{"nested holes", "PARSE_ERROR", around(`"{`, "1", `}"`, 2000)},
		{"nested lambdas", "PARSE_ERROR", strings.Repeat("x => ", n) + "1"},
		{"nested calls", "PARSE_ERROR", around("f(", "1", ")", n)},
		{"nested index", "PARSE_ERROR", around("a[", "1", "]", n)},
		{"nested match", "PARSE_ERROR", around("match 1 { _ => ", "1", " }", n)},
		{"nested try", "PARSE_ERROR", around("try { ", "1", " } catch e { 1 }", n)},
		{"nested spawn", "PARSE_ERROR", around("spawn { ", "1", " }", n)},
		{"nested with", "PARSE_ERROR", around("with cwd: / { ", "1", " }", n)},
		{"nested while", "PARSE_ERROR", around("while true { ", "1", " }", n)},
		{"nested for", "PARSE_ERROR", around("for i in [1] { ", "1", " }", n)},
		{"nested fn", "PARSE_ERROR", around("fn f() { ", "1", " }", n)},
		{"nested words", "PARSE_ERROR", around("echo (echo ", "1", ")", n)},
		{"nested splices", "PARSE_ERROR", around("echo ...(", "1", ")", n)},
		{"brackets mixed", "PARSE_ERROR", strings.Repeat("([{a: ", n)},
		{"wrong brackets", "PARSE_ERROR", strings.Repeat(")]}", n)},
		{"unclosed parens", "PARSE_ERROR", strings.Repeat("(", n)},
		{"minus signs", "PARSE_ERROR", strings.Repeat("- ", n) + "1"},
		{"not signs", "PARSE_ERROR", strings.Repeat("!", n) + "true"},
		{"long sum", "PARSE_ERROR|value", "1" + strings.Repeat(" + 1", n)},
		{"long chain", "PARSE_ERROR|value", "[1]" + strings.Repeat(".skip(0)", n)},
		{"long and", "PARSE_ERROR|value", "true" + strings.Repeat(" && true", n)},
		{"long else if", "PARSE_ERROR|value", "if false { 1 }" + strings.Repeat(" else if false { 1 }", n)},
		{"long catch", "PARSE_ERROR|value", "1" + strings.Repeat(" catch 1", n)},
		{"many statements", "value", strings.Repeat("1; ", n)},
		{"many names", "value", manyNames(n)},
		{"interpreter braces", "PARSE_ERROR", "sh " + strings.Repeat("{", n)},
		{"depth of a value", "value|cancelled", "var l = []; for i in 0..1000000 { l = [l] }; l"},
		{"depth rendered", "value", "var l = []; for i in 0..100000 { l = [l] }; \"{l}\".len()"},
		{"depth as JSON", "value|arg_error|overflow", "var l = []; for i in 0..1000000 { l = [l] }; json.stringify(l).len()"},
		{"depth as YAML", "value|arg_error|overflow", "var l = []; for i in 0..1000000 { l = [l] }; yaml.stringify(l).len()"},
		{"depth compared", "value|overflow|recursion_limit", "var l = []; var k = []; for i in 0..1000000 { l = [l]; k = [k] }; l == k"},
		{"depth sorted", "value|type_error|overflow", "var l = []; var k = []; for i in 0..1000000 { l = [l]; k = [k] }; [l, k].uniq().len()"},
		{"depth of records", "value", "var l = {}; for i in 0..1000000 { l = {a: l} }; l"},
		{"depth of closures", "value|recursion_limit", "var f = x => x; for i in 0..100000 { let g = f; f = x => g(x) }; f(1)"},
		{"depth of streams", "value|recursion_limit", "var s = (0..9).stream(); for i in 0..100000 { s = s.map(x => x) }; s.collect().len()"},
		{"depth of errors", "value|assert_failed|custom|recursion_limit", "fn f(n) { try { f(n + 1) } catch e { assert (false) \"{e.msg}\" } }\nf(0)"},
	}
}

func manyNames(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("let v")
		for d := i; ; d /= 26 {
			b.WriteByte(byte('a' + d%26))
			if d < 26 {
				break
			}
		}
		b.WriteString(" = 1\n")
	}
	return b.String()
}

func literals() []attack {
	return []attack{
		{"long int", "PARSE_ERROR", strings.Repeat("9", 1<<20)},
		{"long float", "PARSE_ERROR|value", "1." + strings.Repeat("9", 1<<20)},
		{"great exponent", "PARSE_ERROR|value", "1e999999999"},
		{"long str", "value", `"` + strings.Repeat("x", 4<<20) + `".len()`},
		{"long name", "undefined_var|PARSE_ERROR|not_found", "(" + strings.Repeat("x", 4<<20) + ")"},
		{"long command", "not_found|arg_error|value|spawn_denied|io_error|custom", strings.Repeat("x", 1<<20) + " " + strings.Repeat("y", 3<<20)},
		{"long list literal", "value", "[" + strings.Repeat("1,", 500_000) + "1].len()"},
		{"long record literal", "value", "{" + strings.Repeat("a: 1,", 200_000) + "a: 1}.len()"},
		{"long regex", "PARSE_ERROR|arg_error|value", `re"` + strings.Repeat("a?", 200_000) + `"`},
		{"long comment", "value", "# " + strings.Repeat("x", 4<<20) + "\n1"},
		{"long path", "value|custom|not_found|io_error|arg_error", "ls /" + strings.Repeat("x/", 1<<20)},
		{"long glob", "value|custom|arg_error|overflow", "echo " + strings.Repeat("*/", 100_000) + "*"},
		{"glob of stars", "value|custom|arg_error", "ls /usr/" + strings.Repeat("**/", 40) + "*zzz"},
		{"stars in a name", "value|custom|arg_error", "ls /usr/bin/" + strings.Repeat("*a", 2000)},
		{"great size", "PARSE_ERROR|overflow|value", strings.Repeat("9", 100_000) + "tb"},
		{"great duration", "PARSE_ERROR|overflow|value", strings.Repeat("9", 100_000) + "h"},
		{"long duration", "PARSE_ERROR|overflow|value", strings.Repeat("1h", 200_000)},
		{"duration without end", "overflow", "var d = 1h; while true { d = d + d }"},
		{"size without end", "overflow", "var s = 1gb; while true { s = s + s }"},
		{"int without end", "overflow", "var n = 1; while true { n = n * 3 }"},
		{"long hex", "PARSE_ERROR", "0x" + strings.Repeat("f", 1<<20)},
		{"long exponent", "PARSE_ERROR|value", "1e" + strings.Repeat("9", 1<<20)},
		{"long underscores", "PARSE_ERROR|value", "1" + strings.Repeat("_0", 1<<19)},
		{"long raw str", "value", "'" + strings.Repeat("x", 4<<20) + "'.len()"},
		{"long escapes", "value", `"` + strings.Repeat(`\u{1F600}`, 400_000) + `".len()`},
		{"many holes", "value|PARSE_ERROR", `"` + strings.Repeat("{1}", 100_000) + `".len()`},
		{"many globs", "value|custom|no_matches|arg_error", "echo " + strings.Repeat("/usr/*/*/zzz* ", 200)},
		{"braces in a glob", "value|custom|no_matches|arg_error|overflow|PARSE_ERROR|not_found", "ls " + strings.Repeat("{a,b}", 40)},
		{"classes in a glob", "value|custom|no_matches|arg_error", `glob("` + strings.Repeat("[a-z]*", 2000) + `").expand().len()`},
		{"stars over a tree", "value|no_matches", `glob("/usr/**/*/**/*/**/*zzz", hidden: true).expand().len()`},
		{"question marks", "value|no_matches|custom|arg_error", `glob("/usr/bin/` + strings.Repeat("?*", 2000) + `").expand().len()`},
		{"bad UTF-8", "PARSE_ERROR|value", "\"\xff\xfe\""},
	}
}

func endless() []attack {
	return []attack{
		{"while true", "cancelled", "while true {}"},
		{"while true in a function", "cancelled", "fn f() { while true { 1 } }\nf()"},
		{"for over a range", "cancelled", "for i in 0..1000000000000 {}"},
		{"recursion", "recursion_limit", "fn f(n) { f(n + 1) }\nf(0)"},
		{"recursion with weight", "recursion_limit", "fn f(n) { " + around("(1 + ", "f(n + 1)", ")", 400) + " }\nf(0)"},
		{"mutual recursion", "recursion_limit", "fn a(n) { b(n) }\nfn b(n) { a(n) }\na(0)"},
		{"recursion by closure", "recursion_limit", "var f = x => x\nf = x => f(x) + 1\nf(0)"},
		{"recursion by methods", "recursion_limit", "fn f(n) { [n].map(x => f(x + 1)).first() }\nf(0)"},
		{"recursion by sort", "recursion_limit", "fn f(n) { [n, n].sort_by(x => f(x)).first() }\nf(0)"},
		{"recursion by streams", "recursion_limit", "fn f(n) { [n].stream().map(x => f(x)).collect() }\nf(0)"},
		{"recursion by retry", "recursion_limit|custom", "fn f() { retry(2, () => f()) }\nf()"},
		{"recursion by parallel", "recursion_limit", "fn f() { parallel(() => f()) }\nf()"},
		{"recursion by spawn", "recursion_limit", "fn f() { spawn { f() }.await() }\nf()"},
		{"recursion by default", "recursion_limit", "fn f(a = f()) { a }\nf()"},
		{"recursion by alias", "recursion_limit|PARSE_ERROR|not_found|arg_error|type_error", "alias a = b\nalias b = a\na"},
		{"recursion by holes", "recursion_limit", "fn f(n) { \"{f(n)}\" }\nf(0)"},
		{"recursion by source", "recursion_limit|custom", "\"source ./self.shl\".save(\"self.shl\"); source ./self.shl"},
		{"recursion by script", "recursion_limit|custom", "\"run ./me.shl\".save(\"me.shl\"); run ./me.shl"},
		{"fork bomb", "recursion_limit|cancelled", "fn f() { spawn { f() }; spawn { f() }; f() }\nf()"},
		{"10,000 spawns", "value|recursion_limit", "range(0, 10000).map(i => spawn { i }).map(t => t.await()).sum()"},
		{"10,000 spawns that wait", "recursion_limit|cancelled|value", "range(0, 10000).map(i => spawn { sleep 1h }).len()"},
		{"10,000 in parallel", "value|recursion_limit", functions(10_000, "1") + ".sum()"},
		{"list that grows", "overflow", "var l = []; while true { l = l + [1] }"},
		{"list that doubles", "overflow", "var l = [1]; while true { l = l + l }"},
		{"str that doubles", "overflow", "var s = \"x\"; while true { s = s + s }"},
		{"pairs that grow", "overflow|cancelled", "var l = []; while true { l = [l, 1, 2, 3, 4, 5, 6, 7] }"},
		{"strings that pile up", "overflow", text + "var l = []; while true { l = l + [text(1000000)] }"},
		{"large strings that pile up", "overflow", text + "range(0, 1000).map(i => text(100000000)).len()"},
		{"records that pile up", "overflow", "range(0, 16000000).map(i => {a: i, b: \"x{i}\", c: [i]}).len()"},
		{"lists in lists", "overflow", "let l = range(0, 16000000).collect(); range(0, 1000).map(i => l.reverse()).len()"},
		{"errors that repeat", "cancelled", "while true { try { [1][9] } catch e { e.msg } }"},
		{"prints without end", "cancelled", "while true { echo hello }"},
		{"notes without end", "cancelled", "while true { [] ; ls /nope*.zzz }"},
	}
}

// storms start very many things at once.
func storms() []attack {
	const spin = "while true { 1 }"
	return []attack{
		{"20 tasks that compute", "cancelled", "range(0, 20).map(i => spawn { " + spin + " }).map(t => t.await())"},
		{"1,000 tasks that compute", "cancelled|recursion_limit", "range(0, 1000).map(i => spawn { " + spin + " }).map(t => t.await())"},
		{"1,000 functions that compute", "cancelled", functions(1000, "{ "+spin+" }")},
		{"tasks without end", "recursion_limit|cancelled", "while true { spawn { 1 } }"},
		{"tasks that catch", "cancelled|recursion_limit", "fn f() { while true { spawn { f() } catch null } }\nf()"},
		{"chain of tasks", "recursion_limit|cancelled|value", "fn f(n) { spawn { f(n + 1) } }\nf(0).await().await()"},
		{"tasks that pile up text", "overflow|cancelled|value", text + "range(0, 100).map(i => spawn { text(50000000) }).map(t => t.await().len()).sum()"},
		{"handlers of one channel", "cancelled|recursion_limit|value", "let c = channel(\"many\"); range(0, 500).map(i => on(c, e => e)); for i in 0..100000 { c.emit(i) }"},
		{"handlers that compute", "cancelled", "let c = channel(\"busy\"); range(0, 100).map(i => on(c, e => { " + spin + " })); c.emit(1); sleep 1h"},
		{"channels without end", "cancelled|value|overflow", "for i in 0..100000 { channel(\"c{i}\").emit(i) }"},
		{"retry without end", "cancelled|custom", "retry(1000000000, () => [1][9])"},
		{"retry within retry", "cancelled|index_range", around("retry(1000, () => ", "[1][9]", ")", 20)},
		{"retry with long delays", "cancelled|arg_error", "retry(1000000000, () => [1][9], delay: 1000h)"},
		{"retry of programs", "cancelled|value", "retry(1000000000, () => (^false))"},
		{"programs without end", "cancelled", "while true { ^true }"},
		{"background without end", "cancelled|recursion_limit", "while true { sleep 1h & }"},
		{"programs at once", "cancelled|value|custom|recursion_limit", functions(2000, "(^true)") + ".len()"},
		{"timers at once", "cancelled|recursion_limit", "range(0, 1000).map(i => spawn { every(1ms).take(1000000).each(x => x) }).map(t => t.await())"},
		{"sleeps at once", "cancelled|recursion_limit", functions(3000, "{ sleep 1h }")},
	}
}

func ranges() []attack {
	all := []attack{
		{"range bounds", "overflow|value", "range(-9223372036854775807, 9223372036854775807).len()"},
		{"range as an argument", "overflow", "echo ...(range(0, 1000000000000))"},
		{"range as JSON", "overflow", "json.stringify(range(0, 1000000000000))"},
		{"range in a list", "value", "[range(0, 1000000000000)]"},
		{"range as itself", "value", "range(0, 1000000000000)"},
		{"range interpolated", "value|overflow", "\"{range(0, 1000000000000)}\""},
	}
	for _, call := range []struct{ call, ends string }{
		{"len()", "value"}, {"count()", "value"}, {"is_empty()", "value"}, {"first()", "value"}, {"first(3)", "value"}, {"last()", "value"}, {"last(3)", "value"},
		{"take(5)", "value"}, {"skip(5)", "overflow"}, {"chunks(10)", "overflow"}, {"map(x => x)", "overflow"}, {"flat_map(x => [x])", "cancelled|overflow"},
		{"each(x => x)", "cancelled"}, {"where(x => false)", "cancelled"}, {"filter(x => true)", "overflow"}, {"find(x => false)", "cancelled"},
		{"any(x => false)", "cancelled"}, {"all(x => true)", "cancelled"}, {"reduce(0, (a, b) => a)", "cancelled"}, {"fold(0, (a, b) => a)", "cancelled"},
		{"reverse()", "overflow"}, {"uniq()", "overflow"}, {"sum()", "value|overflow|cancelled"}, {"min()", "value"}, {"max()", "value"}, {"flatten()", "type_error|overflow"},
		{"enumerate()", "overflow"}, {"zip([1])", "value"}, {"zip(range(0, 1000000000000))", "overflow"}, {"group_by(x => x)", "overflow|cancelled"}, {"sort()", "overflow"},
		{"sort_by(x => x)", "overflow"}, {"join(\",\")", "type_error|overflow"}, {"contains(-1)", "value|cancelled"}, {"collect()", "overflow"}, {"select(\"a\")", "type_error|overflow"},
		{"stream().map(x => x).take(3)", "value"}, {"stream().collect()", "overflow"}, {"stream().window(100000000).take(1).collect()", "overflow"},
		{"stream().distinct().each(x => x)", "overflow|cancelled"}, {"json()", "overflow"}, {"display()", "type_error"}, {"tee(3)", "value|overflow"},
		{"stream().skip(900000000000).take(1).collect()", "cancelled"}, {"stream().buffer(1000000000).each(x => x)", "cancelled|arg_error|overflow"},
		{"stream().zip(range(0, 1000000000000).stream()).where(x => false).collect()", "cancelled"},
	} {
		all = append(all, attack{"range." + call.call, call.ends, "range(0, 1000000000000)." + call.call})
	}
	return all
}

func patterns() []attack {
	return []attack{
		{"regex bomb", "value", "range(0, 100000).map(i => \"a\").join().matches(re\"(a+)+$b\")"},
		{"regex alternatives", "value", "range(0, 1000000).map(i => \"a\").join().matches(re\"(a|a)*b\")"},
		{"regex counts", "arg_error|PARSE_ERROR", `regex("((a{1,100}){1,100}){1,100}")`},
		{"regex of nested groups", "arg_error|PARSE_ERROR|value", `regex(` + "\"" + around("(", "a", ")*", 3000) + `")`},
		{"regex of 1,000 optionals", "value|cancelled", `range(0, 1000000).map(i => "a").join().matches(regex("` + strings.Repeat("a?", 1000) + strings.Repeat("a", 1000) + `b"))`},
		{"regex bomb by match", "value", "range(0, 100000).map(i => \"a\").join().match(re\"(a*)*(a*)*b\")"},
		{"regex bomb by captures", "value", "range(0, 100000).map(i => \"a\").join().captures(re\"((a+)+)+b\")"},
		{"regex bomb by replace", "value", "range(0, 100000).map(i => \"a\").join().replace(re\"(a|aa)+b\", \"x\").len()"},
		{"regex bomb in where", "value|cancelled|type_error", "range(0, 1000).map(i => {s: range(0, 1000).map(i => \"a\").join()}).where(r => r.s.match(re\"(a+)+b\") != null).len()"},
		{"regex of many names", "arg_error|PARSE_ERROR|value|cancelled", `regex("` + times(2000, "|", func(i int) string { return "(?P<n" + strings.Repeat("x", i%50) + string(rune('a'+i%26)) + ">a)" }) + `")`},
		{"regex of many classes", "arg_error|PARSE_ERROR|value|cancelled", `regex("` + strings.Repeat(`[\\p{L}\\p{N}]{1,50}`, 200) + `")`},
		{"matches of nothing", "overflow|value|cancelled", text + `text(100000000).matches(re"").len()`},
		{"replacement of nothing", "overflow|value|cancelled", text + `text(100000000).replace(re"", "xxxxxxxxxxxxxxxx").len()`},
		{"replacement that grows", "overflow|value|cancelled", text + `text(100000000).replace(re"(.)", "$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1$1").len()`},
		{"regex over 100 MB", "value|cancelled", text + `text(100000000).replace(re"(\\w+) (\\d+)", "x").len()`},
		{"regex split of 100 MB", "value|cancelled|overflow", text + `text(100000000).replace(re"[0-9]", "yy").len()`},
		{"regex that finds nothing", "value|cancelled", text + `text(100000000).matches(re"(x|y|z)+[^0-9a-f \\n]{20}")`},
	}
}

func texts() []attack {
	all := []attack{
		{"100 MB interpolated", "value", text + `let s = text(100000000); "{s}{s}".len()`},
		{"1 GiB interpolated", "overflow", text + `let s = text(100000000); "` + strings.Repeat("{s}", 20) + `".len()`},
		{"100 MB in a hole of a list", "value|overflow", text + `let s = text(100000000); "{[s, s]}".len()`},
		{"1 GiB by replace", "overflow", text + `text(10000000).replace("0", text(10000)).len()`},
		{"1 GiB by join", "overflow", text + `let s = text(100000000); range(0, 100).map(i => s).join(s).len()`},
		{"1 GiB by sum", "overflow", text + `let s = text(100000000); range(0, 100).map(i => s).sum().len()`},
		{"echo of 1 GiB", "overflow", text + `let s = text(100000000); echo (s) (s) (s) (s) (s) (s) (s) (s) (s) (s) (s) (s)`},
		{"giant error message", "assert_failed", text + `let s = text(100000000); assert(false, s)`},
		{"giant error caught", "value", text + `let s = text(100000000); try { assert(false, s) } catch e { e.msg.len() }`},
		{"giant argument", "arg_error|io_error|custom|cmd_failed|value", text + `let s = text(100000000); ^true (s)`},
		{"giant variable", "arg_error|io_error|custom|cmd_failed|value", text + `let s = text(100000000); with env: {BIG: s} { ^true }`},
		{"giant field name", "field_missing", text + `let s = text(100000000); {a: 1}.get(s).x`},
		{"giant parse error", "arg_error", text + `json.parse("[" + text(100000000))`},
		{"giant int", "arg_error|type_error|value", `range(0, 10000000).map(i => "9").join().parse_int()`},
		{"giant input of a child", "value", text + `text(100000000).feed(wc -c)`},
		{"giant file", "value", text + `text(100000000).save("out.txt"); path("out.txt").size; rm --permanent out.txt`},
		{"giant event", "value|arg_error|overflow|custom", text + `channel("x").emit(text(100000000))`},
		{"1 GiB read", "value|overflow", "path(\"big.bin\").read_bytes.len()"},
		{"1 GiB read as text", "value|overflow", "path(\"big.bin\").read.len()"},
		{"1 GiB read and split", "overflow|cancelled", "path(\"big.bin\").read.split(\"\").len()"},
		{"1 GiB kept", "value|overflow", "let kept = path(\"big.bin\").read; kept.len()"},
		{"1 GiB by cat", "value|overflow", "cat big.bin big.bin"},
		{"1 GiB as lines", "value|overflow", "path(\"big.bin\").lines.len()"},
	}
	for _, call := range []string{
		"len()", "chars().len()", "words().len()", "lines().len()", "upper().len()", "lower().len()", "trim().len()", "reverse().len()",
		"split(\" \").len()", "split(\"\").len()", "split(\"\\n\").join(\"\\n\").len()", "replace(\"0\", \"zz\").len()", "replace(\"zzz\", \"\").len()",
		"contains(\"nope\")", "take(50000000).len()", "skip(50000000).len()", "json().len()", "display().len()", "starts_with(\"0\")",
	} {
		all = append(all, attack{"100 MB " + call, "value|overflow", text + "text(100000000)." + call})
	}
	return append(all,
		attack{"100 MB as the result", "value", text + "text(100000000)"},
		attack{"100 MB as a JSON str", "value", text + "json.parse(json.stringify(text(100000000))).len()"},
		attack{"100 MB as a key", "value", text + "{}.set(text(100000000), 1).len()"},
		attack{"100 MB compared", "value", text + "text(100000000) == text(100000000)"},
		attack{"100 MB as YAML", "value|overflow", text + "yaml.stringify(text(100000000)).len()"},
		attack{"100 MB as CSV", "value|overflow|arg_error", text + "csv.stringify([{a: text(100000000)}]).len()"},
	)
}

// expanding are the calls that make a long text longer.
func expanding() []attack {
	var all []attack
	for _, call := range []string{
		`replace("", "x").len()`, `replace("0", "0123456789012345678901234567890123456789").len()`, `replace("\n", "\r\n").len()`,
		`split("").join("0123456789").len()`, `chars().join("--").len()`, `words().join("          ").len()`, `lines().map(l => l + l).join("\n").len()`,
		`split(" ").map(w => "{w}{w}{w}").join().len()`, `chars().map(c => [c]).flatten().len()`, `chars().sort().len()`, `chars().uniq().len()`,
		`words().group_by(w => w).len()`, `split("").reverse().join().len()`, `stream().map(l => l + l).collect().len()`, `parse_int()`, `parse_float()`,
		`take(99999999).upper().lower().trim().reverse().len()`,
	} {
		all = append(all, attack{"100 MB " + call, "value|overflow|arg_error|type_error|cancelled", text + "text(100000000)." + call})
	}
	return append(all,
		attack{"escapes as JSON", "value|overflow|cancelled", "var s = \"\\u{1}\\u{2}\"; for i in 0..26 { s = s + s }; s.json().len()"},
		attack{"capitals that grow", "value|overflow|cancelled", "var s = \"ßŉǰΐ\"; for i in 0..23 { s = s + s }; s.upper().len()"},
		attack{"quotes as CSV", "value|overflow|cancelled", "var s = \"'\\\"'\"; for i in 0..25 { s = s + s }; csv.stringify([{a: s}]).len()"},
		attack{"sum of texts", "overflow|cancelled", text + "let s = text(10000000); range(0, 1000).map(i => s).sum().len()"},
		attack{"fold of texts", "overflow|cancelled", text + "let s = text(10000000); range(0, 1000).fold(\"\", (a, b) => a + s).len()"},
		attack{"scan of texts", "overflow|cancelled", text + "let s = text(1000000); range(0, 100000).stream().scan(\"\", (a, b) => a + s).collect().len()"},
		attack{"holes in holes", "overflow|cancelled", text + "var s = text(1000000); while true { s = \"{s}{s}\" }"},
		attack{"paths that grow", "overflow|cancelled|arg_error|value", "var p = path(\"/a\"); for i in 0..1000000 { p = p.join(\"bbbbbbbbbb\") }"},
		attack{"keys that grow", "overflow|cancelled|value", text + "var r = {}; for i in 0..1000 { r = r.set(text(1000000) + \"{i}\", 1) }; r.len()"},
		attack{"table of texts", "value|overflow|cancelled", text + "let s = text(10000000); range(0, 100).map(i => {a: s, b: s + \"x\"})"},
		attack{"escapes as TOML", "value|overflow|cancelled", "var s = \"\\u{1}\\u{2}\"; for i in 0..26 { s = s + s }; toml.stringify({a: s}).len()"},
		attack{"quotes from CSV", "value|overflow|cancelled", "var s = \"\\\"\\\"\"; for i in 0..25 { s = s + s }; csv.parse(\"a\\n\\\"\" + s + \"\\\"\").len()"},
		attack{"escapes from JSON", "value|overflow|cancelled", "var s = \"\\\\n\"; for i in 0..26 { s = s + s }; json.parse(\"\\\"\" + s + \"\\\"\").len()"},
		attack{"replacement of words", "value|overflow|cancelled", text + "text(100000000).replace(re\"\\b[0-9a-z]\", \"<$0>\").len()"},
		attack{"replacement of lines", "value|overflow|cancelled", text + "text(100000000).replace(re\"(?m)^|x\", \"> \").len()"},
		attack{"replacement in one line", "value|overflow|cancelled", "var s = \"ab\"; for i in 0..25 { s = s + s }; s.replace(re\"(?m)^x|b\", \"bbbbbbbb\").len()"},
		attack{"errors that grow", "cancelled|value|overflow", "var m = \"x\"; for i in 0..40 { m = (try { fail(m + m) } catch e { e.msg }) }; m.len()"},
	)
}

func lists() []attack {
	var all []attack
	for _, call := range []string{
		"len()", "reverse().len()", "sort().len()", "sort_by(x => -x).len()", "uniq().len()", "sum()", "map(x => x).len()", "where(x => true).len()",
		"chunks(2).len()", "enumerate().len()", "zip([1]).len()", "map(x => [x]).flatten().len()", "group_by(x => x % 10).len()", "contains(-1)",
		"map(x => {a: x}).len()", "map(x => \"s{x}\").len()", "map(x => \"s\").join(\",\").len()", "min()", "json().len()",
		"skip(1).len()", "chunks(1000).flatten().len()", "stream().map(x => x).collect().len()", "stream().window(3).collect().len()", "group_by(x => x).len()",
	} {
		all = append(all, attack{"16M " + call, "value|overflow|cancelled", "range(0, 16777216).collect()." + call})
	}
	return append(all,
		attack{"16M as the result", "value|overflow", "range(0, 16777216).collect()"},
		attack{"16M kept", "value|overflow", "let kept = range(0, 16777216).collect(); kept.len()"},
		attack{"16M compared", "value", "range(0, 16777216).collect() == range(0, 16777216).collect()"},
		attack{"16M as YAML", "value|overflow|cancelled", "yaml.stringify(range(0, 16777216).collect()).len()"},
		attack{"16M as TOML", "value|overflow|cancelled", "toml.stringify({a: range(0, 16777216).collect()}).len()"},
		attack{"16M rows as TOML", "value|overflow|cancelled", "toml.stringify({a: range(0, 16777216).map(x => {b: x})}).len()"},
		attack{"16M rows as CSV", "value|overflow|cancelled", "csv.stringify(range(0, 16777216).map(x => {b: x, c: x})).len()"},
		attack{"16M added", "overflow", "range(0, 16777216).collect() + [1]"},
		attack{"16M arguments", "arg_error|io_error|custom|overflow|cmd_failed", "^true ...(range(0, 16777216))"},
		attack{"16M through a child", "value|overflow|cancelled", "range(0, 16777216).map(x => \"x\").feed(wc -l)"},
		attack{"record that grows", "overflow|value|cancelled", "var r = {}; for i in 0..1000000 { r = r.set(\"k{i}\", i) }; r.len()"},
		attack{"shapes without end", "value|cancelled|overflow", "for i in 0..1000000 { {}.set(\"k{i}\", 1) }"},
		attack{"regexes without end", "value|cancelled|overflow", "for i in 0..100000 { regex(\"a{i}\") }"},
	)
}

func inputs() []attack {
	return []attack{
		{"100 MB JSON", "value|overflow|cancelled", "json.parse(path(\"big.json\").read).len()"},
		{"100 MB JSON from cat", "value|overflow|cancelled", "(^cat big.json).out.len()"},
		{"100 MB JSON as a table", "value|overflow|cancelled", "json.parse(path(\"big.json\").read)"},
		{"100 MB JSON and back", "value|overflow|cancelled", "json.stringify(json.parse(path(\"big.json\").read), true).len()"},
		{"100 MB CSV", "value|overflow|cancelled", "csv.parse(path(\"big.csv\").read).len()"},
		{"100 MB CSV and back", "value|overflow|cancelled", "csv.stringify(csv.parse(path(\"big.csv\").read)).len()"},
		{"10 MB YAML", "value|overflow|arg_error|cancelled", "yaml.parse(path(\"big.yaml\").read).len()"},
		{"deep JSON", "arg_error", "json.parse(path(\"deep.json\").read)"},
		{"deep YAML", "arg_error", "yaml.parse(path(\"deep.yaml\").read)"},
		{"deep JSON records", "arg_error", "json.parse(path(\"deeprec.json\").read)"},
		{"deep YAML maps", "arg_error", "yaml.parse(path(\"deepmap.yaml\").read)"},
		{"deep YAML blocks", "arg_error", "yaml.parse(path(\"deepblock.yaml\").read)"},
		{"deep TOML", "arg_error", "toml.parse(path(\"deep.toml\").read)"},
		{"deep TOML tables", "arg_error", "toml.parse(path(\"deeptab.toml\").read)"},
		{"deep TOML keys", "arg_error", "toml.parse(path(\"deepkey.toml\").read)"},
		{"CSV quote without end", "arg_error|value|overflow|cancelled", "csv.parse(path(\"quote.csv\").read).len()"},
		{"CSV of commas", "arg_error|value|overflow|cancelled", "csv.parse(path(\"commas.csv\").read).len()"},
		{"CSV with many columns", "arg_error|value|overflow|cancelled", "csv.parse(path(\"columns.csv\").read).len()"},
		{"JSON of commas", "arg_error", "json.parse(path(\"commas.csv\").read)"},
		{"numbers of JSON", "arg_error|value|overflow|cancelled", "json.parse(path(\"numbers.json\").read).len()"},
		{"YAML bomb", "arg_error|overflow", "yaml.parse(path(\"bomb.yaml\").read)"},
		{"200 MB JSON str", "value|overflow", "json.parse(path(\"wide.json\").read).k.len()"},
		{"50 MB number", "value|arg_error", "json.parse(path(\"digits.json\").read)"},
		{"JSON with 1M keys", "value|overflow|cancelled", "json.parse(path(\"keys.json\").read).len()"},
		{"CSV of 1 GiB", "overflow|arg_error|value|cancelled", "csv.parse(path(\"big.bin\").read).len()"},
		{"JSON of 1 GiB", "arg_error|overflow", "json.parse(path(\"big.bin\").read)"},
		{"YAML of 100 MB", "arg_error|overflow|cancelled|value", "yaml.parse(path(\"big.json\").read).len()"},
		{"TOML of 100 MB", "arg_error|overflow|cancelled", "toml.parse(path(\"big.csv\").read).len()"},
		{"source of 100 MB", "PARSE_ERROR|parse_error|io_error|arg_error", "source ./big.csv"},
	}
}

func streams() []attack {
	return []attack{
		{"stream without end", "stream_unbounded|cancelled", "every(1ms).each(x => x)"},
		{"stream of a fast timer", "cancelled|arg_error|stream_unbounded", "every(1ns).map(x => x).collect()"},
		{"channel that nobody reads", "value|cancelled", "let c = channel(\"unread\"); for i in 0..1000000 { c.emit(i) }"},
		{"channel with large items", "value|cancelled|overflow", text + "let c = channel(\"large\"); let s = text(500000); for i in 0..1000 { c.emit(s) }"},
		{"channel with nobody behind", "cancelled", "channel(\"silent\").take()"},
		{"stream into a channel", "cancelled", "range(0, 1000000000000).stream().into(channel(\"flood\"))"},
		{"handlers without end", "cancelled|recursion_limit", "while true { on(\"again\", e => e) }"},
		{"handler that feeds itself", "cancelled|value", "let c = channel(\"loop\"); on(c, e => { c.emit(1); c.emit(2) }); c.emit(0); sleep 1h"},
		{"tee that nobody reads", "cancelled|overflow|value", "let t = range(0, 1000000000000).stream().tee(2); t[0].each(x => x)"},
		{"tail without end", "cancelled", "^sh -c \"yes | head -c 100000000\"; tail(\"big.csv\", from_start: true).each(x => x)"},
		{"distinct without end", "cancelled|overflow", "range(0, 1000000000000).stream().distinct().each(x => x)"},
		{"window of all", "cancelled|overflow|arg_error", "range(0, 1000000000000).stream().window(16000000).each(x => x)"},
		{"scan that grows", "cancelled|overflow", "range(0, 1000000000000).stream().scan([], (a, x) => a + [x]).each(x => x)"},
		{"nested streams", "cancelled", "range(0, 1000000000000).stream().flat_map(x => range(0, 1000000000000)).where(x => false).collect()"},
		{"merge without end", "cancelled", "range(0, 1000000000000).stream().merge(range(0, 1000000000000).stream()).each(x => x)"},
		{"sleep without end", "cancelled", "sleep 1000h"},
	}
}

func programs() []attack {
	return []attack{
		{"yes", "cancelled", "^yes"},
		{"20 times yes", "cancelled", functions(20, "(^yes)")},
		{"20 times yes in tasks", "cancelled", "let t = range(0, 20).map(i => spawn { ^yes }); t.map(x => x.await())"},
		{"one yes after another", "value|cancelled|overflow", "range(0, 20).map(i => (^sh -c \"yes | head -c 100000000\").out.len())"},
		{"outputs that pile up", "value|cancelled|overflow", "range(0, 200).map(i => (^sh -c \"head -c 15000000 /dev/zero\")).len()"},
		{"zeros", "cancelled|overflow", "^cat /dev/zero"},
		{"one endless line", "cancelled", "^sh -c \"tr '\\\\0' x < /dev/zero\""},
		{"1 GiB captured", "value|overflow", "(^sh -c \"head -c 1073741824 /dev/zero\").stdout.len()"},
		{"1 GiB captured as text", "value|overflow|cancelled", "(^sh -c \"yes | head -c 1073741824\").out.len()"},
		{"yes into a child", "cancelled", "range(0, 1000000000000).stream().map(x => \"y\").feed(cat)"},
		{"child that ignores TERM", "cancelled", "^sh -c \"trap '' TERM; while :; do sleep 1; done\""},
		{"500 children", "value", functions(500, "(^true)") + ".len()"},
		{"escape sequences without end", "cancelled", "^sh -c \"while :; do printf '\\\\033[31m'; done\""},
		{"carriage returns", "value|cancelled", "^sh -c \"yes | tr '\\\\n' '\\\\r' | head -c 50000000\""},
	}
}
