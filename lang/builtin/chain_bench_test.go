package builtin_test

import (
	"context"
	"testing"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
)

// chains are programs whose time is mostly that of library methods.
var chains = []struct{ name, setup, src string }{
	{"MapWhereSum300k", "", "(1..300001).map(x => x * 2).where(x => x % 3 == 0).sum()"},
	{"Reduce300k", "", "(1..300001).reduce(0, (a, x) => a + x)"},
	{"SortBy100k", rows, "rows.sort_by(.age).len()"},
	{"SortByLambda100k", rows, "rows.sort_by(r => r.age).len()"},
	{"GroupBy100k", rows, "rows.group_by(.city).len()"},
	{"WhereField100k", rows, "rows.where(.age > 500).len()"},
	{"MapRecord100k", rows, "rows.map({age: .age, twice: .age * 2}).len()"},
	{"Uniq100k", rows, "rows.map(.city).uniq().len()"},
	{"Strings100k", "", `(1..100001).map(i => "item {i}").where(.ends_with("7")).map(.upper()).join(",").len()`},
	{"SplitJoin10MB", `let text = (1..700001).map(i => "lorem ipsum 12").join(" ")`, `text.split(" ").join("-").len()`},
	{"CSV100k", rows + "\nlet text = csv.stringify(rows)", `csv.parse(text).where(.age.parse_int() > 600).map({id: .id, city: .city}).json().len()`},
	{"JSON100k", rows + "\nlet text = rows.json()", "json.parse(text).len()"},
}

const rows = `let rows = (1..100001).map(i => {id: i, age: i * 7919 % 1000, city: "city {i % 50}"})`

func BenchmarkChain(b *testing.B) {
	lib := builtin.Library()
	for _, c := range chains {
		b.Run(c.name, func(b *testing.B) {
			run := interp.Run{State: interp.NewState("/work", nil), Host: &interp.Host{}}
			eval := func(src string) {
				tree, perr := syntax.Parse(src, run.State.Names())
				if perr != nil {
					b.Fatal(perr)
				}
				if _, err := interp.Compile(tree, run.State.Names(), lib).Run(context.Background(), run); err != nil {
					b.Fatal(err)
				}
			}
			eval(c.setup)
			for b.Loop() {
				eval(c.src)
			}
		})
	}
}
