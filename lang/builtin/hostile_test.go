package builtin_test

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// oddValues are receivers and arguments of every kind, edges first.
func oddValues() []value.Value {
	re, _ := value.NewRegex("(?<k>[a-z]*)")
	status := 1
	record := value.NewRecord(value.ShapeOf("a", "b"), []value.Value{value.Int(1), value.Null})
	return []value.Value{
		value.Null, value.Bool(true), value.Int(0), value.Int(-1), value.Int(3), value.Int(math.MaxInt64), value.Int(math.MinInt64),
		value.Float(0), value.Float(math.NaN()), value.Float(math.Inf(1)), value.Float(-2.5), value.Float(1e300),
		value.Str(""), value.Str("a,b\né\x00"), value.Str("\xff\xfe"), value.Str("12"), value.Path(""), value.Path("/"), value.Path("a/../b.c"), value.Path("\xff"),
		value.NewGlob(value.Glob{Pattern: "*", Cwd: "/work"}), value.NewGlob(value.Glob{Pattern: "[", Cwd: "/none"}), re,
		value.Size(0), value.Size(math.MaxUint64), value.Duration(0), value.Duration(math.MinInt64), value.Duration(math.MaxInt64),
		value.NewDatetime(time.Time{}), value.NewDatetime(time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)), value.TimeOfDay(1),
		value.NewBytes(nil), value.NewBytes([]byte("\xffx")),
		value.NewList(nil), value.NewList([]value.Value{value.Int(1), value.Str("x"), value.Null}), value.NewList([]value.Value{record, record}),
		value.NewList([]value.Value{value.NewList(nil), value.NewList([]value.Value{value.Int(1)})}),
		record, value.NewRecord(value.EmptyShape, nil), value.NewRecord(value.ShapeOf("channel"), []value.Value{value.Str("c")}),
		value.NewTable(nil), value.NewTable([]*value.Record{record.AsRecord()}),
		value.NewRange(1, 4, false), value.NewRange(5, 1, true), value.NewRange(0, math.MaxInt64, true), value.NewRange(math.MinInt64, math.MaxInt64, false),
		value.NewError(value.Errorf("custom", "x")),
		value.NewOutcome(&value.Outcome{OK: true, HasOut: true, Out: value.NewList([]value.Value{value.Int(1)})}),
		value.NewOutcome(&value.Outcome{Status: &status, Cmd: "false"}),
		value.NewSecret("s", "correct horse"),
	}
}

// TestNoMethodPanics calls every method on every kind with arguments that do
// and do not fit, and closures that do and do not.
func TestNoMethodPanics(t *testing.T) {
	lib := builtin.Library()
	values := oddValues()
	random := rand.New(rand.NewPCG(9, 10))
	callbacks := []string{"x => x", "x => true", "x => 1 / 0", "() => 1", "(a, b) => a", "x => [x]"}
	host := &interp.Host{Files: newMemoryFiles([]string{"/work"}, []string{"/work/a"})}
	names := methodNames()
	if len(names) < 100 {
		t.Fatalf("the reference names only %d methods", len(names))
	}
	for _, name := range names {
		for _, recv := range values {
			endless := recv.Kind() == value.KindRange && recv.AsRange().Len() > 1000
			for turn := range 6 {
				x, y := values[random.IntN(len(values))], values[random.IntN(len(values))]
				src := "r." + name + [...]string{"()", "(x)", "(x, y)", "(CB)", "(x, CB)", "(x, y, x)"}[turn]
				if strings.Contains(src, "CB") && endless {
					continue
				}
				src = strings.Replace(src, "CB", callbacks[random.IntN(len(callbacks))], 1)
				state := interp.NewState("/work", nil)
				state.Bind("r", recv)
				state.Bind("x", x)
				state.Bind("y", y)
				tree, perr := syntax.Parse(src, state.Names())
				if perr != nil {
					t.Fatalf("%s: %v", src, perr)
				}
				v, err := interp.Compile(tree, state.Names(), lib).Run(context.Background(), interp.Run{State: state, Host: host})
				where := src + " with r = " + value.Inline(recv) + ", x = " + value.Inline(x) + ", y = " + value.Inline(y)
				checkResult(t, where, v, err)
			}
		}
	}
}

// checkResult demands a language error with a code and a message that is text,
// no fault of the engine and no secret in it; a value must be showable.
func checkResult(t *testing.T, where string, v value.Value, err error) {
	t.Helper()
	shown := ""
	if err != nil {
		e, ok := err.(*value.Error)
		if !ok || e.Code == "" || e.Msg == "" || strings.Contains(e.Msg, "internal error") || strings.Contains(e.Msg, "%!") {
			t.Errorf("%s: bad error %v", where, err)
			return
		}
		shown = e.Msg + e.Hint
	} else if v.Kind() != value.KindRange {
		shown = value.Inline(v)
	}
	if strings.Contains(shown, "correct horse") {
		t.Errorf("%s shows a secret: %s", where, shown)
	}
}

// methodNames are all names in the reference that follow a dot.
func methodNames() []string {
	var names []string
	for line := range strings.Lines(builtin.Reference()) {
		if rest, ok := strings.CutPrefix(line, "| `."); ok {
			end := strings.IndexAny(rest, "(`")
			names = append(names, rest[:end])
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestNoMemberPanics does the same for namespaces and constructors.
func TestNoMemberPanics(t *testing.T) {
	lib := builtin.Library()
	values := oddValues()
	random := rand.New(rand.NewPCG(11, 12))
	host := &interp.Host{Files: newMemoryFiles([]string{"/work"}, nil)}
	for _, name := range callNames() {
		if name == "retry" { // waits
			continue
		}
		for range 150 {
			args := []string{"", "x", "x, y", "x, y, z"}[random.IntN(4)]
			state := interp.NewState("/work", nil)
			for _, n := range []string{"x", "y", "z"} {
				state.Bind(n, values[random.IntN(len(values))])
			}
			src := name + "(" + args + ")"
			tree, perr := syntax.Parse(src, state.Names())
			if perr != nil {
				t.Fatalf("%s: %v", src, perr)
			}
			v, err := interp.Compile(tree, state.Names(), lib).Run(context.Background(), interp.Run{State: state, Host: host})
			checkResult(t, src, v, err)
		}
	}
}

// callNames are the calls and namespace functions in the reference.
func callNames() []string {
	var names []string
	for line := range strings.Lines(builtin.Reference()) {
		rest, ok := strings.CutPrefix(line, "| `")
		if end := strings.IndexByte(rest, '('); ok && end > 0 && rest[0] != '.' && !strings.Contains(rest[:end], " ") {
			names = append(names, rest[:end])
		}
	}
	return names
}

// TestNoHeadPanics gives every head words, flags and values of every kind.
func TestNoHeadPanics(t *testing.T) {
	lib := builtin.Library()
	values := oddValues()
	random := rand.New(rand.NewPCG(13, 14))
	pieces := []string{"(x)", "(y)", "a", "d", "nope/x", "*", "*.zzz", "-", "--", "-rf", "-n", "--all", "--limit=x", "--limit=3", "--head", "5", "'quoted text'", "...(z)", "~/x", ".."}
	for _, head := range lib.HeadNames() {
		if head == "sleep" { // waits
			continue
		}
		for range 200 {
			src := head
			for range random.IntN(4) {
				src += " " + pieces[random.IntN(len(pieces))]
			}
			state := interp.NewState("/work", []string{"HOME=/work/d", "BAD=\xff"})
			state.Bind("x", values[random.IntN(len(values))])
			state.Bind("y", values[random.IntN(len(values))])
			state.Bind("z", value.NewList([]value.Value{values[random.IntN(len(values))]}))
			tree, perr := syntax.Parse(src, state.Names())
			if perr != nil {
				t.Fatalf("%s: %v", src, perr)
			}
			host := &interp.Host{Files: newMemoryFiles([]string{"/work", "/work/d"}, []string{"/work/a", "/work/d/x"})}
			v, err := interp.Compile(tree, state.Names(), lib).Run(context.Background(), interp.Run{State: state, Host: host})
			checkResult(t, src, v, err)
		}
	}
}
