package builtin

import (
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// member runs a namespace member on arguments and shows the result.
func member(space, name string, args ...value.Value) string {
	v, err := Library().Member(space, name).Run(&interp.Call{M: new(interp.Machine), Args: args})
	if err != nil {
		return err.Error()
	}
	return value.Inline(v)
}

func TestCSVParse(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "[]"},
		{"a,b", "[]"},
		{"a,b\n1,2", `[{a: "1", b: "2"}]`},
		{"a,b\r\n1,2\r\n", `[{a: "1", b: "2"}]`},
		{"\ufeffa\n1", `[{a: "1"}]`},
		{"a,b\n\"x,y\",2", `[{a: "x,y", b: "2"}]`},
		{"a\n\"say \"\"hi\"\"\"", `[{a: "say \"hi\""}]`},
		{"a,b\n\"two\nlines\",\"\"", `[{a: "two\nlines", b: ""}]`},
		{"a,b\n,", `[{a: "", b: ""}]`},
		{"a,b\n1,\n", `[{a: "1", b: ""}]`},
		{"a\n1\n\n\n2\n", `[{a: "1"}, {a: "2"}]`},
		{"a,a\n1,2", `[{a: "2"}]`},
		{"a,b\n1,2\n3,4\r\n\r\n5,6", `[{a: "1", b: "2"}, {a: "3", b: "4"}, {a: "5", b: "6"}]`},
		{"a,b\n1,\"2\"\n\"3\",4\n5,6\n", `[{a: "1", b: "2"}, {a: "3", b: "4"}, {a: "5", b: "6"}]`},
		{"a,b\nx\ry,\r\n", `[{a: "x\ry", b: ""}]`},
		{"a,b\n1,2\n3\n", "arg_error: csv.parse: line 3 has 1 cell, the header has 2"},
		{"a,b\n1,2\n3,4,5\n", "arg_error: csv.parse: line 3 has 3 cells, the header has 2"},
		{"a,b\n1,2\n3,x\"y\n", "arg_error: csv.parse: line 3: a quote inside an unquoted cell"},
		{"a,b\n1", "arg_error: csv.parse: line 2 has 1 cell, the header has 2"},
		{"a,b\n\"x\ny\",1\n1,2,3", "arg_error: csv.parse: line 4 has 3 cells, the header has 2"},
		{"a\n\"x", "arg_error: csv.parse: line 2: a quoted cell does not end"},
		{"a\n\"x\"y", "arg_error: csv.parse: line 2: text after a quoted cell"},
		{"a\nx\"y", "arg_error: csv.parse: line 2: a quote inside an unquoted cell"},
	}
	for _, test := range tests {
		if got := member("csv", "parse", value.Str(test.text)); got != test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
}

func TestCSVRoundTrip(t *testing.T) {
	for _, text := range []string{"a,b\n1,2\n", "a\n\"x,\"\"y\"\"\n\"\n", "k,v\n,\"\n\"\n"} {
		table, err := Library().Member("csv", "parse").Run(&interp.Call{M: new(interp.Machine), Args: []value.Value{value.Str(text)}})
		if err != nil {
			t.Fatal(err)
		}
		if got := member("csv", "stringify", table); got != value.Inline(value.Str(text)) {
			t.Errorf("%q came back as %s", text, got)
		}
	}
}

func TestTOML(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", "{}"},
		{"b = 1\na = 2", "{b: 1, a: 2}"},
		{"[z]\ny = 1\nx = 2\n[a]\nk = \"v\"", `{z: {y: 1, x: 2}, a: {k: "v"}}`},
		{"[[r]]\nb = 1\na = 2\n[[r]]\na = 3", "{r: [{b: 1, a: 2}, {a: 3}]}"},
		{"i = {b = 1, a = [1.5, true]}", ""},
		{"d = 2026-01-02\nt = 10:00:00\nl = 2026-01-02T10:00:00\nz = 2026-01-02T10:00:00Z", `{d: "2026-01-02", t: "10:00:00", l: "2026-01-02T10:00:00", z: "2026-01-02T10:00:00Z"}`},
	}
	for _, test := range tests {
		if test.want == "" {
			continue
		}
		if got := member("toml", "parse", value.Str(test.text)); got != test.want {
			t.Errorf("%q: got %s, want %s", test.text, got, test.want)
		}
	}
	if got := member("toml", "parse", value.Str("i = {b = 1, a = [1.5, 2.5]}")); got != "{i: {b: 1, a: [1.5, 2.5]}}" {
		t.Errorf("inline table: got %s", got)
	}
	for _, bad := range []string{"not = = valid", "a = 1\na = 2", "a"} {
		if got := member("toml", "parse", value.Str(bad)); !strings.HasPrefix(got, "arg_error: ") {
			t.Errorf("%q: got %s, want arg_error", bad, got)
		}
	}
}

func TestTOMLRoundTrip(t *testing.T) {
	for _, text := range []string{
		"a = [1, 2]\nb = \"x\"\n",
		"k = 1\n\n[t]\nx = 1.5\n\n[t.u]\n\"odd key\" = \"q\\\"\\n\"\n\n[[rows]]\nn = 1\n\n[[rows]]\nn = 2\n",
		"f = [inf, 2.0]\n",
	} {
		doc, err := Library().Member("toml", "parse").Run(&interp.Call{M: new(interp.Machine), Args: []value.Value{value.Str(text)}})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		back, err := Library().Member("toml", "stringify").Run(&interp.Call{M: new(interp.Machine), Args: []value.Value{doc}})
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if back.AsStr() != text {
			t.Errorf("%q came back as %q", text, back.AsStr())
		}
	}
}

func TestTOMLCannotWriteNull(t *testing.T) {
	doc := value.NewRecord(value.ShapeOf("a"), []value.Value{value.Null})
	if got := member("toml", "stringify", doc); got != "arg_error: toml.stringify: null cannot be written" {
		t.Errorf("got %s", got)
	}
}

func TestComparePathsPutsChildrenBeforeLongerNames(t *testing.T) {
	for _, pair := range [][2]string{{"/a/b", "/a.b"}, {"/a", "/a/b"}, {"/A", "/a"}, {"/a/z", "/ab"}} {
		if comparePaths(pair[0], pair[1]) >= 0 || comparePaths(pair[1], pair[0]) <= 0 {
			t.Errorf("%s does not sort before %s", pair[0], pair[1])
		}
	}
}

// TestCSVRows reads texts of several blocks, whose plain rows are among others,
// and looks at their rows in every way that lends or makes them.
func TestCSVRows(t *testing.T) {
	kinds := []string{"%d,%[2]s\n", "%d,%[2]s\r\n", "\"%d\",\"%[2]s\"\n", "%d,%[2]s\n\n"}
	for _, every := range []int{1, 3, 1000} { // rows of a kind
		var text strings.Builder
		text.WriteString("n,s\n")
		sum := 0
		for i := range 5000 {
			word := strings.Repeat("ab", i%40)
			if i%1500 == 0 {
				word = strings.Repeat("long", 1000)
			}
			fmt.Fprintf(&text, kinds[i/every%len(kinds)], i, word)
			sum += i
		}
		for _, test := range []struct{ src, want string }{
			{"t.len()", "5000"},
			{"t.map(.n.parse_int()).sum()", fmt.Sprint(sum)},
			{"t.map(r => r).map(.n.parse_int()).sum()", fmt.Sprint(sum)},
			{"t.where(.n.parse_int() % 500 == 0).map(.s.len()).sum()", "16120"},
			{"t.where(r => r.contains(\"n\") && r.n.parse_int() % 500 == 0).map(.s.len()).sum()", "16120"},
			{"t.map(r => () => r.n).where(f => f().parse_int() >= 4998).map(f => f())", `["4998", "4999"]`},
			{"t.map(r => [r]).skip(4999)", `[[{n: "4999", s: "` + strings.Repeat("ab", 39) + `"}]]`},
			{"t.map(r => \"{r}\").skip(2).first()", `"{n: \"2\", s: \"abab\"}"`},
			{"t.find(.n == \"3\")", `{n: "3", s: "ababab"}`},
			{"t.any(.n == \"5000\")", "false"},
			{"t.all(.s.len() >= 0)", "true"},
			{"t.skip(1).take(2)", `[{n: "1", s: "ab"}, {n: "2", s: "abab"}]`},
			{"t.last().n", `"4999"`},
			{"t.select(\"n\").first(2)", `[{n: "0"}, {n: "1"}]`},
			{"t.sort_by(.n.parse_int() * -1).first().n", `"4999"`},
			{"var last = null; for r in t { last = r }; last.n", `"4999"`},
			{"(t + t).len()", "10000"},
			{"{n: \"1\", s: \"ab\"} in t", "true"},
			{"t.map(.nothing) catch e e.code", `"field_missing"`},
			{"json.parse(t.json()) == t", "true"},
		} {
			if got := evalWith(t, test.src, "t", "csv.parse(text)", value.Str(text.String())); got != test.want {
				t.Errorf("every %d: %s: got %.200s, want %.200s", every, test.src, got, test.want)
			}
		}
	}
}

// evalWith evaluates src where name is what made gives of text.
func evalWith(t *testing.T, src, name, made string, text value.Value) string {
	t.Helper()
	s := interp.NewState("/w", nil)
	s.Bind("text", text)
	p, perr := interp.Parse("let "+name+" = "+made+"\n"+src, s.Names(), Library())
	if perr != nil {
		t.Fatalf("%s: %s", src, perr.Msg)
	}
	v, err := p.Run(t.Context(), interp.Run{State: s, Host: &interp.Host{}})
	if err != nil {
		return err.Error()
	}
	return value.Inline(v)
}
