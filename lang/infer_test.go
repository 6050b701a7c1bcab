package lang

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// sample calls every member that the tables name.
var samples = []struct {
	recv    string
	members []string
}{
	{"[3, 1]", []string{"len()", "count()", "is_empty()", "contains(1)", "all(x => true)", "any(x => true)", "map(x => x)",
		"filter(x => true)", "where(x => true)", "sort()", "sort_by(x => x)", "uniq()", "enumerate()", "chunks(1)",
		"collect()", "stream()", "json()"}},
	{"[[1]]", []string{"flatten()"}},
	{`["a"]`, []string{`join("b")`}},
	{"{a: 1}", []string{"keys()", "values()", "items()"}},
	{"1", []string{"str()"}},
	{"1s", []string{"ago", "from_now"}},
	{"now()", []string{"year"}},
	{`"ab"`, []string{"lines()", "chars()", "words()", `split("a")`, "upper()", "lower()", "trim()", `replace("a", "b")`,
		"reverse()", "take(1)", "skip(1)", `starts_with("a")`, `ends_with("b")`, "len()", `matches(regex("a"))`}},
	{`"12"`, []string{"parse_int()", "parse_float()"}},
	{`path("notes.txt")`, []string{"name", "stem", `join("b")`, "abs()", "exists", "is_dir", "is_file", "read", "lines",
		"size", "modified"}},
	{`path("a/b")`, []string{"parent"}},
	{"[1].stream()", []string{"map(x => x)", "filter(x => true)", "where(x => true)", "skip(1)", "take(1)", "collect()"}},
	{"(ls)", []string{"ok"}},
	{"(ls).out", []string{"len()", "count()", "is_empty()"}},
}

var functionSamples = []string{
	`path("a")`, `glob("*")`, `regex("a")`, "range(1, 2)", "now()", `channel("c")`, "every(1s)", "json.stringify(1)",
	`csv.parse("a\n1")`, `csv.stringify([{a: 1}])`, "math.sqrt(2)", "os.cpus()", "os.hostname()",
}

func TestInferredKinds(t *testing.T) {
	dir := t.TempDir()
	world := &interp.Host{Files: host.Files{}, Clock: host.Clock{}, Channels: &host.Channels{}}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("a"), 0o644); err != nil {
		t.Fatal(err)
	}
	s := interp.NewState(dir, nil)
	defer s.Close()
	seen := 0
	check := func(src string) {
		t.Helper()
		c := completer{ctx: t.Context(), state: s, src: src}
		want := c.infer(src)
		if !want.known {
			return
		}
		p, perr := NewCompiler().Compile(src, s)
		if perr != nil {
			t.Errorf("%s: %v", src, perr)
			return
		}
		v, err := p.Run(context.Background(), interp.Run{State: s, Host: world, Position: interp.Value})
		if err != nil || v.Kind() != want.kind {
			t.Errorf("%s: inferred %v, is %v %v", src, want.kind, v.Kind(), err)
		}
		seen++
	}
	total := len(functionKinds) + len(memberKinds)
	for _, kinds := range kindsOn {
		total += len(kinds)
	}
	for _, sample := range samples {
		for _, m := range sample.members {
			check(sample.recv + "." + m)
		}
	}
	for _, src := range functionSamples {
		check(src)
	}
	if seen < total-20 { // some members have a row in two tables
		t.Errorf("%d of %d rows were tried", seen, total)
	}
}

func TestReceiverText(t *testing.T) {
	for text, want := range map[string]string{
		"a + b": "b", "f(1).g": "f(1).g", "(ls)": "(ls)", `x "a b"`: `"a b"`, "[1][0]": "[1][0]", "let x = y?.z": "y?.z",
		"": "", "a + ": "", "f)": "", "x.{a: 1}": "{a: 1}",
	} {
		if got := receiverText(text); got != want {
			t.Errorf("%q: got %q, want %q", text, got, want)
		}
	}
	if got := (&completer{state: interp.NewState("/", nil)}).infer("nowhere"); got.known || got.kind != value.KindNull {
		t.Errorf("an unknown name: got %+v", got)
	}
}
