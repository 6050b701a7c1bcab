package syntax

import (
	"testing"
)

// checkRoundTrip prints what src parses to and wants the same tree back.
func checkRoundTrip(t *testing.T, src string, seed Names) {
	t.Helper()
	want, err := Parse(src, seed)
	if err != nil {
		return
	}
	text := Print(want)
	got, err := Parse(text, seed)
	if err != nil {
		t.Fatalf("source  %q\nprinted %q\ndoes not parse: %s (%s)", src, text, err.Msg, err.Hint)
	}
	if !Equal(want, got) {
		t.Fatalf("source  %q\nprinted %q\nparses to another tree; it prints %q", src, text, Print(got))
	}
	if again := Print(got); again != text {
		t.Fatalf("source  %q\nprinted %q\nthen    %q", src, text, again)
	}
}

func TestPrintConformance(t *testing.T) {
	for _, c := range conformanceCases(t) {
		checkRoundTrip(t, c.Src, Names{})
	}
}
