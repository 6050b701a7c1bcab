package value

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// FuzzRegex holds our matching to the engine's: the same patterns are accepted,
// fast paths and prefilters change no result, and the Unicode classes change
// nothing in ASCII.
func FuzzRegex(f *testing.F) {
	for _, pattern := range []string{
		`abc`, `[\w.+-]+@[\w-.]+`, `(\d+)-(?P<n>\w+)`, `^\s*$`, `(?i)Ab+c`, `(?:ab){2,}c?`, `[^\W\d]+`, `\Q[\d]\E\w`, `[[:alpha:]\S]`,
		`\bfoo\b|bar`, `(?s)a.*?b`, "\uFFFD", `[\x{fffd}]+`, `[]a-]`, `a+?`, `(a|b)*c`, `\pL\PN`, `(?U)x+`, `(?m)^é$`, `(?:x(y(z)))`,
	} {
		f.Add(pattern, "foo a12-b ab.c@d-e.fr \u0663\xff\nabABc [\\d]x", "<$1${n}$$>")
	}
	f.Fuzz(func(t *testing.T, pattern, s, rep string) {
		// The engine's work is the product of the two.
		if len(pattern) > 200 || len(s) > 2000 || len(rep) > 100 {
			return
		}
		v, err := NewRegex(pattern)
		plain, plainErr := regexp.Compile(pattern)
		if err != nil {
			// What stands for a class may be too large where the class is not.
			if plainErr == nil && !strings.Contains(err.Msg, "too large") {
				t.Fatalf("%q: %v, but the engine takes it", pattern, err)
			}
			return
		}
		if plainErr != nil {
			t.Fatalf("%q is taken, but not by the engine: %v", pattern, plainErr)
		}
		r := v.AsRegex()
		// Letters outside ASCII fold into it.
		tree, treeErr := syntax.Parse(pattern, syntax.Perl)
		sameInASCII := treeErr == nil && !folds(tree)
		for _, text := range []string{s, s + pattern} {
			checkAgainstEngine(t, r, text, rep)
			if isASCII(text) && sameInASCII {
				if diff := cmp.Diff(plain.FindAllString(text, -1), findAll(t, r, text)); diff != "" {
					t.Fatalf("%q on %q, ASCII: %s", pattern, text, diff)
				}
			}
		}
	})
}

// checkAgainstEngine compares every way to match with the engine alone.
func checkAgainstEngine(t *testing.T, r *Regex, s, rep string) {
	t.Helper()
	want := r.re.FindAllString(s, -1)
	if diff := cmp.Diff(want, findAll(t, r, s)); diff != "" {
		t.Fatalf("%q on %q, all: %s", r.Src, s, diff)
	}
	if n := min(1, len(want)); n > 0 {
		if first, err := r.FindAll(s, n, nil); err != nil || !slices.Equal(want[:n], first) {
			t.Fatalf("%q on %q, the first of all: got %q %v, want %q", r.Src, s, first, err, want[:n])
		}
	}
	if diff := cmp.Diff(r.re.FindStringIndex(s), r.Find(s)); diff != "" {
		t.Fatalf("%q on %q, first: %s", r.Src, s, diff)
	}
	if diff := cmp.Diff(r.re.FindStringSubmatchIndex(s), r.Groups(s)); diff != "" {
		t.Fatalf("%q on %q, groups: %s", r.Src, s, diff)
	}
	if r.Match(s) != r.re.MatchString(s) {
		t.Fatalf("%q on %q: match is %v", r.Src, s, r.Match(s))
	}
	if got, want := replaced(t, r, s, rep), r.re.ReplaceAllString(s, rep); got != want {
		t.Fatalf("%q on %q by %q: got %q, want %q", r.Src, s, rep, got, want)
	}
}

// isASCII reports whether s is ASCII without \v, which is a blank in Unicode only.
func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf || r == '\v' })
}

// folds reports whether a part of t ignores case.
func folds(t *syntax.Regexp) bool {
	return t.Flags&syntax.FoldCase != 0 || slices.ContainsFunc(t.Sub, folds)
}
