package builtin

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// generators make keys of one sort; small ranges make ties.
var generators = map[string]func(r *rand.Rand) value.Value{
	"small ints": func(r *rand.Rand) value.Value { return value.Int(int64(r.IntN(40)) - 20) },
	"wide ints":  func(r *rand.Rand) value.Value { return value.Int(int64(r.Uint64())) },
	"floats":     func(r *rand.Rand) value.Value { return value.Float(float64(r.IntN(64)-32) / 4) },
	"mixed": func(r *rand.Rand) value.Value {
		if r.IntN(2) == 0 {
			return value.Int(int64(r.IntN(10)))
		}
		return value.Float(float64(r.IntN(40)) / 4)
	},
	"bools":     func(r *rand.Rand) value.Value { return value.Bool(r.IntN(2) == 0) },
	"sizes":     func(r *rand.Rand) value.Value { return value.Size(r.Uint64() >> uint(r.IntN(64))) },
	"durations": func(r *rand.Rand) value.Value { return value.Duration(-5 + 1<<uint(r.IntN(40))) },
	"paths": func(r *rand.Rand) value.Value {
		return value.Path("/very/long/common/beginning/" + strings.Repeat("x", r.IntN(30)) + string(rune('a'+r.IntN(2))))
	},
	"zeros": func(r *rand.Rand) value.Value { return value.Str(strings.Repeat("\x00", r.IntN(20))) },
	"same":  func(*rand.Rand) value.Value { return value.Str("the same text in all of them") },
	"strings": func(r *rand.Rand) value.Value {
		return value.Str(strings.Repeat("é", r.IntN(6)) + string(rune('a'+r.IntN(3))) + strings.Repeat("\x00", r.IntN(2)))
	},
}

func TestSortOrderIsStableAndRight(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for name, next := range generators {
		for _, n := range []int{0, 1, 2, 3, 50, radixMin - 1, radixMin, 3000} {
			keys := make([]value.Value, n)
			for i := range keys {
				keys[i] = next(r)
			}
			got, err := sortOrder(&interp.Call{}, keys)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			want := make([]uint32, n)
			for i := range want {
				want[i] = uint32(i)
			}
			slices.SortStableFunc(want, func(i, j uint32) int {
				c, err := value.Compare(keys[i], keys[j])
				if err != nil {
					t.Fatal(err)
				}
				return c
			})
			if diff := cmp.Diff(want, got, cmp.Comparer(slices.Equal[[]uint32])); diff != "" {
				t.Errorf("%s, %d keys: order differs (-want +got)\n%s", name, n, diff)
			}
		}
	}
}

func BenchmarkSort200kInts(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	keys := make([]value.Value, 200_000)
	for i := range keys {
		keys[i] = value.Int(int64(r.IntN(1_000_000)))
	}
	for b.Loop() {
		if _, err := sortOrder(&interp.Call{}, keys); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSort100kStrings(b *testing.B) {
	r := rand.New(rand.NewPCG(7, 8))
	keys := make([]value.Value, 100_000)
	for i := range keys {
		text := make([]byte, 12)
		for j := range text {
			text[j] = byte('a' + r.IntN(26))
		}
		keys[i] = value.Str(string(text))
	}
	for b.Loop() {
		if _, err := sortOrder(&interp.Call{}, keys); err != nil {
			b.Fatal(err)
		}
	}
}

func TestIndexNumbersEqualValuesAlike(t *testing.T) {
	record := func(a, b string) value.Value {
		return value.NewRecord(value.ShapeOf(a, b), []value.Value{value.Int(1), value.Int(1)})
	}
	nan := value.Float(nanBits())
	x := newIndex()
	var got []int
	for _, v := range []value.Value{
		value.Int(1), value.Float(1), value.Str("1"), value.Path("1"), record("a", "b"), record("b", "a"),
		value.NewList([]value.Value{value.Int(1)}), value.NewList([]value.Value{value.Float(1)}), nan, nan, value.Null,
	} {
		n, _ := x.add(v)
		got = append(got, n)
	}
	want := []int{0, 0, 1, 1, 2, 2, 3, 3, 4, 5, 6}
	if !slices.Equal(got, want) {
		t.Errorf("numbers are %v, want %v", got, want)
	}
}

func nanBits() float64 { var zero float64; return zero / zero }
