package syntax

import (
	"strings"
	"testing"
)

// FuzzScan reads a text token by token: every token moves on, only trivia lies
// between two, an error lies where its token does, and a token alone is read as
// the same one.
func FuzzScan(f *testing.F) {
	addSeeds(f)
	f.Fuzz(func(t *testing.T, src string) {
		s := scanner{src}
		for pos := 0; ; {
			tok := s.token(pos)
			if tok.start < pos || tok.end < tok.start || tok.end > len(src) {
				t.Fatalf("%q: token after %d is %v at %d..%d", src, pos, tok.kind, tok.start, tok.end)
			}
			if end := s.skip(pos); end != tok.start || !isTrivia(src[pos:end]) {
				t.Fatalf("%q: %q is passed before %v", src, src[pos:tok.start], tok.kind)
			}
			if tok.kind == tEOF {
				return
			}
			if tok.kind == tBad {
				if tok.bad == nil || tok.bad.Msg == "" || tok.bad.Start < tok.start || tok.bad.End > len(src) {
					t.Fatalf("%q: bad token at %d..%d: %+v", src, tok.start, tok.end, tok.bad)
				}
				if tok.start == len(src) {
					return
				}
			} else if again := (&scanner{src[tok.start:tok.end]}).token(0); again.kind != tok.kind || again.start != 0 || again.end != tok.end-tok.start {
				t.Fatalf("%q: %q is %v, alone %v of %d bytes", src, src[tok.start:tok.end], tok.kind, again.kind, again.end)
			}
			if tok.end == tok.start {
				t.Fatalf("%q: empty %v at %d", src, tok.kind, tok.start)
			}
			pos = tok.end
		}
	})
}

// isTrivia reports whether s is blanks, joined lines and comments.
func isTrivia(s string) bool {
	s = strings.NewReplacer("\\\r\n", " ", "\\\n", " ").Replace(s)
	return strings.Trim(s, " \t\r") == "" || strings.Contains(s, "#")
}
