package value

import (
	"runtime"
	"strings"
	"testing"
)

// TestTextLayouts makes texts of every way and length round the limits between
// the layouts, and reads them back after a collection.
func TestTextLayouts(t *testing.T) {
	var made Maker
	var slab slab
	makers := map[string]func(string) Value{
		"Str": Str, "Path": Path, "Maker": made.Str, "slab": slab.str,
		"StrOf": func(s string) Value { return StrOf([]byte(s)) },
	}
	for name, mk := range makers {
		var want []string
		var got []Value
		for n := range 200 {
			want = append(want, strings.Repeat("aé\x00", n)[:n])
			got = append(got, mk(strings.Clone(want[n])))
		}
		for _, n := range []int{slabBytes/8 - 3, slabBytes / 8, pieceBytes - 1, pieceBytes, pieceBytes + 1} {
			want = append(want, strings.Repeat("x", n))
			got = append(got, mk(want[len(want)-1]))
		}
		runtime.GC()
		for i, v := range got {
			if v.AsStr() != want[i] {
				t.Fatalf("%s: text of %d bytes differs", name, len(want[i]))
			}
			if k := v.Kind(); k != KindStr && name != "Path" || name == "Path" && k != KindPath {
				t.Fatalf("%s: got kind %v", name, k)
			}
		}
	}
}

// TestShortTextsShareNothing changes what a short text was made from.
func TestShortTextsShareNothing(t *testing.T) {
	buf := []byte("short")
	v := StrOf(buf)
	buf[0] = 'S'
	if got := v.AsStr(); got != "short" {
		t.Errorf("got %q after its source changed, want %q", got, "short")
	}
}

// TestTextCost counts objects: a str that is made of bytes is one of them.
func TestTextCost(t *testing.T) {
	var v Value
	buf := []byte(strings.Repeat("x", 100))
	if n := testing.AllocsPerRun(100, func() { v = StrOf(buf) }); n != 1 {
		t.Errorf("a str of 100 bytes takes %v objects, want 1", n)
	}
	if v.AsStr() != string(buf) {
		t.Error("the str is wrong")
	}
}
