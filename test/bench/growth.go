package main

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// growing is a program over xs, a list of N ints, or another of the bindings
// that growthSession makes; N stands for their length.
type growing struct{ method, src string }

// source is the program for n items.
func (g growing) source(n int) string { return strings.ReplaceAll(g.src, "N", strconv.Itoa(n)) }

// growthSetup makes what the programs work on.
const growthSetup = `let xs = (0..N).map(i => i * 7919 % 1000003)
let strs = xs.map(.str())
let rows = xs.map(x => {a: x, b: "b{x}"})
let lists = xs.map(x => [x])
let text = strs.join(" ")
let rec = xs.reduce({}, (r, x) => r.set("k{x}", x))
let table = csv.parse(csv.stringify(rows))
let ints = 0..N`

// growthSession is a session with what the programs work on at n items.
func growthSession(c *lang.Compiler, n int) (*interp.State, error) {
	s := interp.NewState("/", nil)
	s.Bind("raw", value.NewBytes(bytes.Repeat([]byte("a line\n"), n))) // no program without a host makes bytes
	_, err := evaluateHere(c, s, growing{src: growthSetup}.source(n))
	return s, err
}

// growth is every method of collections, those of str, bytes, record, stream,
// table and range under their names, and what is often done in loops.
var growth = []growing{
	{"all", "xs.all(x => x >= 0)"}, {"any", "xs.any(x => x < 0)"}, {"chunks", "xs.chunks(10)"}, {"collect", "xs.collect()"},
	{"contains", "xs.contains(-1)"}, {"count", "xs.map(x => x).count()"}, {"each", "xs.each(x => x)"}, {"enumerate", "xs.enumerate()"},
	{"filter", "xs.filter(x => x % 2 == 0)"}, {"find", "xs.find(x => x < 0)"}, {"first", "xs.first(N)"},
	{"flat_map", "xs.flat_map(x => [x, x])"}, {"flatten", "lists.flatten()"}, {"fold", "xs.fold(0, (a, x) => a + x)"},
	{"get", "xs.map(i => xs.get(0))"}, {"group", "xs.group(x => x % 100)"}, {"group_by", "xs.group_by(x => x)"},
	{"is_empty", "xs.where(x => x < 0).is_empty()"}, {"join", `strs.join(",")`}, {"last", "xs.last(N)"},
	{"len", "(0..N).map(x => x).len()"}, {"map", "xs.map(x => x + 1)"}, {"max", "xs.max()"}, {"min", "strs.min()"},
	{"reduce", "xs.reduce([], (a, x) => a + [x])"}, {"reverse", "xs.reverse()"}, {"select", `rows.select("a")`}, {"skip", "xs.skip(1)"},
	{"sort", "strs.sort()"}, {"sort_by", "rows.sort_by(.b)"}, {"stream", "xs.stream().where(x => x > 0).enumerate().collect()"},
	{"sum", "xs.sum()"}, {"take", "xs.take(N)"}, {"tee", "xs.tee(2).get(0).collect()"}, {"uniq", "rows.uniq()"},
	{"where", "rows.where(.a > 500)"}, {"zip", "xs.zip(strs)"},
	{"record contains", `xs.all(x => rec.contains("k{x}"))`}, {"record count", "rec.count()"}, {"record get", `xs.map(x => rec.get("k{x}"))`},
	{"record is_empty", "rec.is_empty()"}, {"record items", "rec.items()"}, {"record keys", "rec.keys()"}, {"record len", "rec.len()"},
	{"record merge", `rec.merge({last: 1})`}, {"record values", "rec.values()"},
	{"str captures", `text.captures(re"[0-9]+ (x)")`}, {"str contains", `text.contains("x")`}, {"str count", "text.count()"},
	{"str ends_with", `strs.map(.ends_with("7"))`}, {"str is_empty", "text.is_empty()"}, {"str len", "text.len()"}, {"str lower", "text.lower()"},
	{"str match", `text.match(re"[0-9]+ x")`}, {"str matches", `text.matches(re"[0-9]+")`}, {"str parse_float", "strs.map(.parse_float())"},
	{"str parse_int", "strs.map(.parse_int())"}, {"str reverse", "text.reverse()"}, {"str skip", "text.skip(N)"},
	{"str starts_with", `strs.map(.starts_with("7"))`}, {"str stream", `strs.join("\n").stream().collect()`}, {"str take", "text.take(N)"},
	{"str trim", "text.trim()"}, {"str upper", "text.upper()"}, {"str words", "text.words()"},
	{"stream buffer", "xs.stream().buffer(100).collect()"}, {"stream collect", "xs.stream().collect()"}, {"stream debounce", "xs.stream().debounce(0s).collect()"},
	{"stream dedupe", "xs.stream().dedupe().collect()"}, {"stream each", "xs.stream().each(x => x)"}, {"stream enumerate", "xs.stream().enumerate().collect()"},
	{"stream filter", "xs.stream().filter(x => x > 500).collect()"}, {"stream flat_map", "xs.stream().flat_map(x => [x, x]).collect()"},
	{"stream json", "xs.stream().json()"}, {"stream map", "xs.stream().map(x => x + 1).collect()"}, {"stream merge", "xs.stream().merge(strs.stream()).collect()"},
	{"stream scan", "xs.stream().scan(0, (a, x) => a + x).collect()"}, {"stream skip", "xs.stream().skip(1).collect()"},
	{"stream stream", "xs.stream().stream().collect()"}, {"stream take", "xs.stream().take(N).collect()"},
	{"stream take_until", "xs.stream().take_until(x => x < 0).collect()"}, {"stream tee", "xs.stream().tee(2).get(1).collect()"},
	{"stream throttle", "xs.stream().throttle(0s).collect()"}, {"stream where", "xs.stream().where(x => x > 500).collect()"},
	{"stream window", "xs.stream().window(3).collect()"}, {"stream zip", "xs.stream().zip(strs.stream()).collect()"},
	{"record set", `xs.reduce({}, (r, x) => r.set("k{x}", x))`}, {"str lines", `strs.join("\n").lines()`}, {"str split", `text.split(" ")`},
	{"str replace", `text.replace(re"[0-9]+", "#")`}, {"str chars", "text.chars()"}, {"json", "json.parse(rows.json())"},
	{"csv", "csv.parse(csv.stringify(rows))"}, {"list +=", "var l = []; for x in xs { l += [x] }"}, {"stream distinct", "xs.stream().distinct().collect()"},
	{"bytes count", "raw.count()"}, {"bytes display", "raw.display()"}, {"bytes is_empty", "raw.is_empty()"}, {"bytes json", "raw.json()"},
	{"bytes len", "raw.len()"}, {"bytes str", "raw.str()"}, {"bytes stream", "raw.stream().collect()"},
	{"table all", `table.all(.b != "")`}, {"table any", `table.any(.b == "")`}, {"table chunks", "table.chunks(10)"}, {"table collect", "table.collect()"},
	{"table contains", "table.contains({a: 1})"}, {"table count", "table.count()"}, {"table each", "table.each(.a)"}, {"table enumerate", "table.enumerate()"},
	{"table filter", `table.filter(.a > "5")`}, {"table find", `table.find(.a == "")`}, {"table first", "table.first(N)"},
	{"table flat_map", "table.flat_map(r => [r.a, r.b])"}, {"table fold", "table.fold(0, (n, r) => n + r.a.len())"},
	{"table group", "table.group(.a.take(2))"}, {"table group_by", "table.group_by(.a)"}, {"table is_empty", "table.is_empty()"},
	{"table json", "table.json()"}, {"table last", "table.last(N)"}, {"table len", "table.len()"}, {"table map", "table.map(.a)"},
	{"table reduce", "table.reduce([], (l, r) => l + [r.a])"}, {"table reverse", "table.reverse()"}, {"table select", `table.select("a")`},
	{"table skip", "table.skip(1)"}, {"table sort", "table.sort(.a)"}, {"table sort_by", "table.sort_by(.b)"}, {"table stream", "table.stream().collect()"},
	{"table take", "table.take(N)"}, {"table tee", "table.tee(2).get(0).collect()"}, {"table uniq", "table.uniq()"}, {"table where", `table.where(.a > "5")`},
	{"table zip", "table.zip(xs)"},
	{"range all", "ints.all(x => x >= 0)"}, {"range any", "ints.any(x => x < 0)"}, {"range chunks", "ints.chunks(10)"}, {"range collect", "ints.collect()"},
	{"range contains", "xs.map(x => ints.contains(x))"}, {"range count", "xs.map(x => ints.count())"}, {"range each", "ints.each(x => x)"},
	{"range enumerate", "ints.enumerate()"}, {"range filter", "ints.filter(x => x % 2 == 0)"}, {"range find", "ints.find(x => x < 0)"},
	{"range first", "ints.first(N)"}, {"range flat_map", "ints.flat_map(x => [x, x])"}, {"range fold", "ints.fold(0, (a, x) => a + x)"},
	{"range group", "ints.group(x => x % 100)"}, {"range group_by", "ints.group_by(x => x)"}, {"range is_empty", "xs.map(x => ints.is_empty())"},
	{"range json", "ints.json()"}, {"range last", "ints.last(N)"}, {"range len", "xs.map(x => ints.len())"}, {"range map", "ints.map(x => x + 1)"},
	{"range max", "ints.max()"}, {"range min", "ints.min()"}, {"range reduce", "ints.reduce([], (a, x) => a + [x])"}, {"range reverse", "ints.reverse()"},
	{"range skip", "ints.skip(1)"}, {"range sort", "ints.sort()"}, {"range sort_by", "ints.sort_by(x => -x)"}, {"range stream", "ints.stream().collect()"},
	{"range sum", "ints.sum()"}, {"range take", "ints.take(N)"}, {"range tee", "ints.tee(2).get(0).collect()"}, {"range uniq", "ints.uniq()"},
	{"range where", "ints.where(x => x % 3 == 0)"}, {"range zip", "ints.zip(xs)"},
}

const (
	growthBase = 1_000 // items of the smallest size
	growthRuns = 3     // of which the best counts
	itemMost   = 8.0   // times what an item may cost more among more: memory gets slower, not the method
)

// growthSteps are how many times the smallest size is taken.
var growthSteps = []int{1, 10, 100, 1000}

// growthRow measures by how much an item costs more where there are many, for
// the method that does worst. It takes long and is measured once.
func (b *bench) growthRow() row {
	r := row{key: "lang.growth", unit: plainNumber, most: itemMost,
		what: fmt.Sprintf("growth of an item's cost, worst of %d methods, at 10×, 100×, 1000× (once)", len(growth))}
	var worst float64
	var names []string
	r.ours = func() (float64, error) {
		if worst > 0 {
			return worst, nil
		}
		costs := make([][]float64, len(growth))
		for _, step := range growthSteps {
			if err := b.growthAt(step, costs); err != nil {
				return 0, err
			}
		}
		for i, c := range costs {
			n := slices.Max(c[1:]) / c[0]
			if worst = max(worst, n); n > itemMost/2 {
				names = append(names, fmt.Sprintf("%s %.1f", growth[i].method, n))
			}
		}
		return worst, nil
	}
	r.note = func() string { return fmt.Sprintf("; above %g: %q", itemMost/2, names) }
	return r
}

// growthAt appends each method's processor time per item at one size.
func (b *bench) growthAt(step int, costs [][]float64) error {
	c, n := lang.NewCompiler(), growthBase*step
	s, err := growthSession(c, n)
	if err != nil {
		return err
	}
	for i, g := range growth {
		if err := b.ctx.Err(); err != nil {
			return err
		}
		best := 0.0
		for range growthRuns {
			took, err := perRun(max(1, 100/step), func(int) error {
				_, err := evaluateHere(c, s, g.source(n))
				return err
			})
			if err != nil {
				return fmt.Errorf("%s: %w", g.method, err)
			}
			if took /= float64(n); best == 0 || took < best {
				best = took
			}
		}
		costs[i] = append(costs[i], best)
	}
	return nil
}
