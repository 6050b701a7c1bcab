package value

import (
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"unicode/utf8"
)

// lengths lie around the sizes at which copying changes.
var lengths = []int{0, 1, 100, pieceBytes/16 - 1, pieceBytes / 16, pieceBytes/16 + 1, pieceBytes/4 + 7}

func TestExtend(t *testing.T) {
	for _, n := range lengths {
		for _, m := range lengths {
			a, b := numbered(n, 0), numbered(m, n)
			before := slices.Clone(a)
			got := Extend(a, b)
			if want := numbered(n+m, 0); !slices.Equal(got, want) {
				t.Errorf("Extend of %d by %d items differs from append", n, m)
			}
			if !slices.Equal(a, before) {
				t.Errorf("Extend of %d by %d items changed its operand", n, m)
			}
		}
	}
}

func numbered(n, from int) []Value {
	out := make([]Value, n)
	for i := range out {
		out[i] = Int(int64(from + i))
	}
	return out
}

func TestRoomKeepsItems(t *testing.T) {
	for _, n := range lengths {
		a := numbered(n, 0)
		got := Room(a, 1)
		if cap(got) <= n || !slices.Equal(got, a) {
			t.Errorf("Room of %d items: got %d with room for %d", n, len(got), cap(got))
		}
		if again := Room(got, 1); n > 0 && &again[0] != &got[0] {
			t.Errorf("Room of %d items moved what had room", n)
		}
	}
}

// Growing item by item moves each item a few times only.
func TestRoomGrowsGeometrically(t *testing.T) {
	moves, dst := 0, numbered(pieceBytes/16, 0)
	for range pieceBytes / 16 {
		before := cap(dst)
		dst = append(Room(dst, 1), Null)
		if cap(dst) != before {
			moves++
		}
	}
	if moves == 0 || moves > 4 {
		t.Errorf("doubling a long list: moved %d times, want 1 to 4", moves)
	}
}

func TestJoinText(t *testing.T) {
	for _, n := range lengths {
		for _, m := range lengths {
			a, b := strings.Repeat("a", 16*n), strings.Repeat("b", 16*m)
			if got := JoinText(a, b); got != a+b {
				t.Errorf("JoinText of %d and %d bytes: got %d bytes that differ from a+b", n, m, len(got))
			}
			if got := TextOf(ExtendText([]byte(a), b)); got != a+b {
				t.Errorf("ExtendText of %d by %d bytes: got %d bytes that differ from a+b", n, m, len(got))
			}
		}
	}
}

// A collection can begin between the pieces of a long copy: the world stops many
// times before it has ended.
func TestLongCopyCanBeStopped(t *testing.T) {
	src := make([]byte, 256<<20)
	dst := make([]byte, len(src))
	var done atomic.Bool
	began := make(chan struct{})
	go func() {
		close(began)
		copyPieces(dst, src)
		done.Store(true)
	}()
	<-began
	stops := 0
	for m := new(runtime.MemStats); !done.Load(); stops++ {
		runtime.ReadMemStats(m)
	}
	if stops < 10 {
		t.Errorf("the world stopped %d times during a copy of %d MiB", stops, len(src)>>20)
	}
}

// An error quotes as much of a long text as is of use, and keeps no more alive.
func TestErrorTextIsBounded(t *testing.T) {
	long := strings.Repeat("ä", 4<<20)
	for name, e := range map[string]*Error{
		"text":    Errorf(CodeAssert, "%s", long),
		"quoted":  Errorf(CodeArg, "no %q here", long),
		"bytes":   Errorf(CodeArg, "no %s here", []byte(long)),
		"error":   Errorf(CodeIO, "open: %v", errors.New(long)),
		"itself":  Errorf(CodeArg, long),
		"hint":    Errorf(CodeArg, "no").WithHint("try %s", long),
		"several": Errorf(CodeArg, "%s%s%s", long, long, long),
	} {
		text := e.Msg + e.Hint
		if len(text) > 2*ErrorTextMost || !strings.HasSuffix(text, "…") && !strings.HasSuffix(text, "here") {
			t.Errorf("%s: %d bytes that end in %q", name, len(text), text[len(text)-8:])
		}
		if !utf8.ValidString(text) {
			t.Errorf("%s: a character was cut", name)
		}
	}
	if got := Errorf(CodeArg, "no %s", "ä").Msg; got != "no ä" {
		t.Errorf("a short one: %q", got)
	}
}
