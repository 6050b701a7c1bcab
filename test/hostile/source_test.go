package hostile

import "strings"

// attack is a hostile source and the ends that are right for it, separated by
// a bar: value, cancelled, or an error code.
type attack struct{ name, ends, src string }

// text makes a str of n bytes or more by doubling.
const text = "fn text(n) { var s = \"0123456789abcdef \\n\"; var l = 18; while l < n { s = s + s; l = l * 2 }; s }\n"

// attacks end the kernel or stall it if it lets them.
var attacks = slicesOf(
	nesting(), literals(), endless(), ranges(), patterns(), texts(), lists(), inputs(), streams(), programs(),
)

func slicesOf(groups ...[]attack) (all []attack) {
	for _, g := range groups {
		all = append(all, g...)
	}
	return all
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
		{"10,000 in parallel", "value|recursion_limit", "parallel(...range(0, 10000).map(i => () => i)).sum()"},
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
		{"stream().distinct().each(x => x)", "overflow|cancelled"}, {"json()", "overflow"}, {"display()", "value|overflow"}, {"tee(3)", "value|overflow"},
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
		{"giant file", "value", text + `text(100000000).save("out.txt"); ./out.txt.size; rm --permanent out.txt`},
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

func lists() []attack {
	var all []attack
	for _, call := range []string{
		"len()", "reverse().len()", "sort().len()", "sort_by(x => -x).len()", "uniq().len()", "sum()", "map(x => x).len()", "where(x => true).len()",
		"chunks(2).len()", "enumerate().len()", "zip([1]).len()", "map(x => [x]).flatten().len()", "group_by(x => x % 10).len()", "contains(-1)",
		"map(x => {a: x}).len()", "map(x => \"s{x}\").len()", "map(x => \"s\").join(\",\").len()", "min()", "json().len()", "display().len()",
		"skip(1).len()", "stream().map(x => x).collect().len()", "stream().window(3).collect().len()", "group_by(x => x).len()",
	} {
		all = append(all, attack{"16M " + call, "value|overflow|cancelled", "range(0, 16777216).collect()." + call})
	}
	return append(all,
		attack{"16M as the result", "value|overflow", "range(0, 16777216).collect()"},
		attack{"16M kept", "value|overflow", "let kept = range(0, 16777216).collect(); kept.len()"},
		attack{"16M compared", "value", "range(0, 16777216).collect() == range(0, 16777216).collect()"},
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
		{"stream without end", "cancelled", "every(1ms).each(x => x)"},
		{"stream of a fast timer", "cancelled|arg_error", "every(1ns).map(x => x).collect()"},
		{"channel that nobody reads", "value|cancelled", "let c = channel(\"unread\"); for i in 0..1000000 { c.emit(i) }"},
		{"channel with large items", "value|cancelled|overflow", text + "let c = channel(\"large\"); let s = text(1000000); for i in 0..1000 { c.emit(s) }"},
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
		{"20 times yes", "cancelled", "parallel(...range(0, 20).map(i => () => ^yes))"},
		{"20 times yes in tasks", "cancelled", "let t = range(0, 20).map(i => spawn { ^yes }); t.map(x => x.await())"},
		{"one yes after another", "value|cancelled|overflow", "range(0, 20).map(i => (^sh -c \"yes | head -c 100000000\").out.len())"},
		{"outputs that pile up", "value|cancelled|overflow", "range(0, 200).map(i => (^sh -c \"head -c 15000000 /dev/zero\")).len()"},
		{"zeros", "cancelled", "^cat /dev/zero"},
		{"one endless line", "cancelled", "^sh -c \"tr '\\\\0' x < /dev/zero\""},
		{"1 GiB captured", "value|overflow", "(^sh -c \"head -c 1073741824 /dev/zero\").stdout.len()"},
		{"1 GiB captured as text", "value|overflow|cancelled", "(^sh -c \"yes | head -c 1073741824\").out.len()"},
		{"yes into a child", "cancelled", "range(0, 1000000000000).stream().map(x => \"y\").feed(cat)"},
		{"child that ignores TERM", "cancelled", "^sh -c \"trap '' TERM; while :; do sleep 1; done\""},
		{"500 children", "value", "parallel(...range(0, 500).map(i => () => ^true)).len()"},
		{"escape sequences without end", "cancelled", "^sh -c \"while :; do printf '\\\\033[31m'; done\""},
		{"carriage returns", "value|cancelled", "^sh -c \"yes | tr '\\\\n' '\\\\r' | head -c 50000000\""},
	}
}
