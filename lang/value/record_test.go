package value

import (
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"weak"
)

func TestRecordsShareShapes(t *testing.T) {
	a, b := rec("x", Int(1), "y", Int(2)).AsRecord(), rec("x", Null, "y", Null).AsRecord()
	if a.Shape != b.Shape || a.Shape != ShapeOf("x", "y") {
		t.Error("equal key lists have different shapes")
	}
	if c := a.Set("y", Null); c.Shape != a.Shape || a.Vals[1].AsInt() != 2 {
		t.Error("setting a field changes the original or the shape")
	}
}

func TestRepeatedKeyKeepsPlace(t *testing.T) {
	for _, n := range []int{3, 10, 200} {
		var b RecordBuilder
		for i := range n {
			b.Add(strconv.Itoa(i), Int(int64(i)))
		}
		b.Add("1", Str("new"))
		r := b.Done().AsRecord()
		if v, _ := r.Get("1"); r.Len() != n || v.AsStr() != "new" || r.Shape.Keys()[1] != "1" {
			t.Errorf("%d keys: %s", n, Inline(r.Value()))
		}
	}
}

// allocated is how many bytes f allocates in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestManyKeysAreLinear(t *testing.T) {
	const n = 100_000
	var built, set *Record
	spent := allocated(func() {
		var b RecordBuilder
		for i := range n {
			b.Add("built"+strconv.Itoa(i), Int(int64(i)))
		}
		built = b.Done().AsRecord()
	})
	spent += allocated(func() {
		set = rec().AsRecord()
		for i := range n {
			set = set.Set("set"+strconv.Itoa(i), Int(int64(i)))
		}
	})
	if spent > n*2000 {
		t.Errorf("building took %d MB", spent>>20)
	}
	for _, i := range []int{0, 1, 63, 64, 65, 1000, n - 1} {
		v, ok := built.Get("built" + strconv.Itoa(i))
		w, ok2 := set.Get("set" + strconv.Itoa(i))
		if !ok || !ok2 || v.AsInt() != int64(i) || w.AsInt() != int64(i) {
			t.Errorf("key %d: %s, %s", i, Inline(v), Inline(w))
		}
	}
}

func TestSetBranchesDoNotMix(t *testing.T) {
	base := rec().AsRecord()
	for i := range 100 {
		base = base.Set("k"+strconv.Itoa(i), Int(int64(i)))
	}
	left := base.Set("left", Int(1))
	right := base.Set("right", Int(2))
	leftMore := left.Set("more", Int(3))
	if _, ok := base.Get("left"); ok || base.Len() != 100 {
		t.Error("the original sees a field of its copy")
	}
	if v, _ := left.Get("left"); v.AsInt() != 1 {
		t.Errorf("left: %s", Inline(v))
	}
	if v, _ := right.Get("right"); v.AsInt() != 2 {
		t.Errorf("right: %s", Inline(v))
	}
	if _, ok := right.Get("left"); ok {
		t.Error("one branch sees a field of the other")
	}
	if v, _ := leftMore.Get("more"); v.AsInt() != 3 || left.Len() != 101 {
		t.Errorf("left: %s", Inline(v))
	}
}

func TestAppendBranchesDoNotMix(t *testing.T) {
	base := list(Int(1)).AsList().Append([]Value{Int(2), Int(3)})
	base = base.Append([]Value{Int(4)})
	a, b := base.Append([]Value{Str("a")}), base.Append([]Value{Str("b")})
	if got := Inline(a.Value()) + Inline(b.Value()) + Inline(base.Value()); got != `[1, 2, 3, 4, "a"][1, 2, 3, 4, "b"][1, 2, 3, 4]` {
		t.Errorf("got %s", got)
	}
	whole := list(Int(1), Int(2), Int(3)).AsList()
	part := NewList(whole.Items[:1]).AsList().Append([]Value{Str("x")})
	if Inline(whole.Value()) != "[1, 2, 3]" || Inline(part.Value()) != `[1, "x"]` {
		t.Errorf("appending to a part changes the whole: %s", Inline(whole.Value()))
	}
}

func TestAppendingIsLinear(t *testing.T) {
	const n = 200_000
	l := list().AsList()
	if spent := allocated(func() {
		for i := range n {
			l = l.Append([]Value{Int(int64(i))})
		}
	}); spent > n*500 {
		t.Errorf("appending took %d MB", spent>>20)
	}
	if len(l.Items) != n || l.Items[n-1].AsInt() != n-1 {
		t.Error("wrong list")
	}
}

func TestShapesAreCollected(t *testing.T) {
	for i := range 10_000 {
		rec("unused"+strconv.Itoa(i), Null, "b"+strconv.Itoa(i), Null)
		if i%1000 == 0 {
			runtime.GC()
		}
	}
	if n := len(EmptyShape.next); n > maxTransitions {
		t.Errorf("the root knows %d children", n)
	}
}

func TestShapesConcurrently(t *testing.T) {
	var wg sync.WaitGroup
	base := rec().AsRecord()
	for i := range 70 {
		base = base.Set("base"+strconv.Itoa(i), Null)
	}
	for g := range 4 {
		wg.Go(func() {
			for i := range 500 {
				r := base.Set("k"+strconv.Itoa(i%90), Int(int64(g)))
				if v, ok := r.Get("k" + strconv.Itoa(i%90)); !ok || v.AsInt() != int64(g) {
					t.Errorf("lost a field")
				}
				ShapeOf("c"+strconv.Itoa(i%80), "d").Slot("d")
			}
		})
	}
	wg.Wait()
}

func TestColumns(t *testing.T) {
	rows := table(rec("a", Null), rec("b", Null, "a", Null), rec("a", Null), rec("c", Null)).AsTable()
	if got := Inline(Str(joined(rows.Columns()))); got != `"a b c"` {
		t.Errorf("got %s", got)
	}
	if len(table().AsTable().Columns()) != 0 {
		t.Error("an empty table has columns")
	}
}

func joined(ss []string) string {
	out := ""
	for i, s := range ss {
		if i > 0 {
			out += " "
		}
		out += s
	}
	return out
}

// TestNewRowIsOneObject makes records of few fields, and one of many.
func TestNewRowIsOneObject(t *testing.T) {
	shape := EmptyShape
	for n := range 10 {
		r := NewRow(shape)
		for i := range r.Vals {
			r.Vals[i] = Int(int64(i))
		}
		if len(r.Vals) != n || r.Value().Kind() != KindRecord {
			t.Fatalf("a row of %d fields has %d", n, len(r.Vals))
		}
		longer := r.Set("new", Null)
		if n > 0 && r.Vals[n-1].AsInt() != int64(n-1) || longer.Len() != n+1 {
			t.Errorf("setting a field of a row of %d changes it", n)
		}
		if got := testing.AllocsPerRun(20, func() { NewRow(shape) }); n > 0 && n <= 6 && got != 1 {
			t.Errorf("a row of %d fields takes %v objects, want 1", n, got)
		}
		shape = shape.With(string(rune('a' + n)))
	}
}

// Neither a shape nor the tree of shapes keeps the text alive that a key was
// found in.
func TestShapeLetsGoOfText(t *testing.T) {
	find := func() (*Shape, weak.Pointer[byte]) {
		text := []byte("aKeyThatNobodyElseHas;" + strings.Repeat(" ", 1<<20))
		key, _, _ := strings.Cut(TextOf(text), ";")
		return ShapeOf(key), weak.Make(&text[0])
	}
	shape, text := find()
	runtime.GC()
	if text.Value() != nil {
		t.Error("the text is still there")
	}
	if got := shape.Keys()[0]; got != "aKeyThatNobodyElseHas" {
		t.Errorf("its key is %s", got)
	}
	before := len(EmptyShape.next)
	ShapeOf(strings.Repeat("k", maxTrackedKey+1))
	if len(EmptyShape.next) != before {
		t.Error("a long key is remembered")
	}
}
