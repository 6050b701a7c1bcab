package value

import (
	"math"
	"testing"
	"time"
)

func TestEqual(t *testing.T) {
	utc := time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)
	fn := NewClosure("f", nil)
	nan := Float(math.NaN())
	cas := NewBlob(storedBlob{BytesBlob([]byte("abc")), contentRef(NewBytes([]byte("abc")).AsBytes())})
	cases := []struct {
		a, b Value
		want bool
	}{
		{Null, Null, true}, {Null, Bool(false), false},
		{Int(2), Float(2), true}, {Float(2.5), Int(2), false}, {Int(1<<53 + 1), Float(1 << 53), false},
		{Int(math.MaxInt64), Float(1 << 63), false}, {nan, nan, false}, {Int(0), nan, false},
		{Float(0), Float(math.Copysign(0, -1)), true},
		{Str("a"), Path("a"), true}, {Str("a"), Str("b"), false}, {Str("1"), Int(1), false},
		{Size(1), Int(1), false}, {Size(1), Size(1), true},
		{NewDatetime(utc), NewDatetime(utc.In(time.FixedZone("", 7200))), true},
		{NewGlob(Glob{Pattern: "*", Cwd: "/a"}), NewGlob(Glob{Pattern: "*", Cwd: "/b"}), true},
		{must(NewRegex("a")), must(NewRegex("a")), true},
		{list(Int(1), Str("a")), list(Float(1), Path("a")), true}, {list(Int(1)), list(), false},
		{list(rec("a", Int(1))), table(rec("a", Int(1))), true},
		{list(nan), list(nan), false},
		{rec("a", Int(1), "b", Int(2)), rec("b", Int(2), "a", Int(1)), true},
		{rec("a", Int(1)), rec("b", Int(1)), false}, {rec("a", Int(1)), rec("a", Int(1), "b", Null), false},
		{NewRange(0, 3, false), NewRange(0, 3, false), true}, {NewRange(0, 2, true), NewRange(0, 3, false), false},
		{NewRange(0, 1, true), list(Int(0), Int(1)), false},
		{NewBytes([]byte("abc")), cas, true}, {NewBytes([]byte("abd")), cas, false}, {NewBytes([]byte("ab")), cas, false},
		{NewBytes([]byte("abc")), NewBlob(BytesBlob([]byte("abc"))), true}, {NewBytes([]byte("abc")), Str("abc"), false},
		{fn, fn, true}, {fn, NewClosure("f", nil), false},
		{NewCommand("a", "a b", nil), NewCommand("a", "a b", 1), true},
		{NewSecret("a", "x"), NewSecret("a", "y"), true},
		{NewError(Errorf("c", "m")), NewError(Errorf("c", "m")), true},
		{NewError(Errorf("c", "m").WithStatus(1)), NewError(Errorf("c", "m").WithStatus(2)), false},
		{okOutcome("a"), okOutcome("a"), false},
	}
	h := NewHasher()
	for _, c := range cases {
		got, err := Equal(c.a, c.b)
		if err != nil || got != c.want {
			t.Errorf("%s == %s: got %v, %v", Inline(c.a), Inline(c.b), got, err)
		}
		if back, _ := Equal(c.b, c.a); back != got {
			t.Errorf("%s == %s is not symmetric", Inline(c.a), Inline(c.b))
		}
		if got && h.Hash(c.a) != h.Hash(c.b) {
			t.Errorf("%s and %s are equal with different hashes", Inline(c.a), Inline(c.b))
		}
	}
	s := NewStream("s", true, nil)
	if _, err := Equal(s, Int(1)); err == nil || err.Code != CodeType {
		t.Errorf("stream against int: %v", err)
	}
	if same, err := Equal(s, s); err != nil || !same {
		t.Errorf("stream against itself: %v, %v", same, err)
	}
}

func TestCompare(t *testing.T) {
	cases := []struct {
		a, b Value
		want int // 2: no order
	}{
		{Int(1), Int(2), -1}, {Int(3), Float(2.5), 1}, {Float(2.5), Int(3), -1}, {Int(-3), Float(-2.5), -1},
		{Int(math.MaxInt64), Float(1 << 63), -1}, {Float(math.Inf(-1)), Int(math.MinInt64), -1},
		{Str("Z"), Str("a"), -1}, {Path("a"), Path("b"), -1}, {Size(1 << 63), Size(1), 1},
		{Duration(-1), Duration(1), -1}, {TimeOfDay(1), TimeOfDay(0), 1}, {Bool(false), Bool(true), -1},
		{Float(math.NaN()), Float(1), 2}, {Int(1), Float(math.NaN()), 2}, {Int(1), Str("1"), 2},
		{Null, Null, 2}, {list(), list(), 2}, {Str("a"), Path("a"), 2},
	}
	for _, c := range cases {
		got, err := Compare(c.a, c.b)
		if c.want == 2 {
			if err == nil || err.Code != CodeType {
				t.Errorf("%s < %s: got %d, want type_error", Inline(c.a), Inline(c.b), got)
			}
			continue
		}
		if back, _ := Compare(c.b, c.a); err != nil || got != c.want || back != -got {
			t.Errorf("%s < %s: got %d, back %d, %v, want %d", Inline(c.a), Inline(c.b), got, back, err, c.want)
		}
	}
	if _, err := Compare(Int(1), Str("")); err.Msg != "cannot compare int with str" {
		t.Errorf("got %q", err.Msg)
	}
}

func TestComparingBoundsDepthAndSharing(t *testing.T) {
	deepA, deepB := Null, Null
	for range 200_000 {
		deepA, deepB = list(deepA), list(deepB)
	}
	if _, err := Equal(deepA, deepB); err == nil || err.Code != CodeRecursion {
		t.Errorf("deep values: %v", err)
	}
	shared := list(Int(1))
	for range 500 {
		shared = list(shared, shared)
	}
	if same, err := Equal(shared, shared); err != nil || !same {
		t.Errorf("a value with shared parts differs from itself: %v, %v", same, err)
	}
	NewHasher().Hash(shared)
}
