package effect

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestBrief(t *testing.T) {
	many := make([]Effect, 100_000, 100_001)
	for i := range many {
		many[i] = Effect{Kind: FSRead, Path: "/tmp/x"}
	}
	many = append(many, Effect{Kind: Opaque, Why: "last"})
	got := Brief(many)
	if len(got) > BriefMost || got[len(got)-1] != many[len(many)-1] {
		t.Errorf("%d effects, the last one %v; want at most %d, one of each kind", len(got), got[len(got)-1], BriefMost)
	}
	long := []Effect{{Kind: FSWrite, Path: "/" + strings.Repeat("ä", 1<<20)}, {Kind: Time}}
	got = Brief(long)
	if len(got) != 2 || len(got[0].Path) > targetMost || !utf8.ValidString(got[0].Path) || !strings.HasSuffix(got[0].Path, "ä…") {
		t.Errorf("a long path: %d effects, %d bytes", len(got), len(got[0].Path))
	}
	if len(long[0].Path) < 1<<20 {
		t.Error("the effect itself was cut")
	}
	short := []Effect{{Kind: FSRead, Path: "/a"}}
	if got := Brief(short); &got[0] != &short[0] {
		t.Error("short effects are copied")
	}
}
