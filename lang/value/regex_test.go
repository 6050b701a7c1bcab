package value

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRegex(t *testing.T) {
	cases := []struct {
		re, s string
		want  []string
	}{
		{`\d+`, "a12 ٣٤ b5", []string{"12", "٣٤", "5"}},
		{`\w+`, "żółć a_1-b", []string{"żółć", "a_1", "b"}},
		{`\W+`, "é, ü", []string{", "}},
		{`\s+`, "a\u00a0b\tc", []string{"\u00a0", "\t"}},
		{`\S+`, "a\u2003é", []string{"a", "é"}},
		{`[\d.]+`, "1.5 x", []string{"1.5"}},
		{`[\W\d]+`, "é1, 2ü", []string{"1, 2"}},
		{`[^\W]+`, "é, ü", []string{"é", "ü"}},
		{`[^\s]+`, "é\u00a0ü", []string{"é", "ü"}},
		{`[\S]+`, "é\u00a0ü", []string{"é", "ü"}},
		{`\D+`, "1a٣", []string{"a"}},
		{`\Q\d\E`, `\d 1`, []string{`\d`}},
		{`[]\d]+`, "]1", []string{"]1"}},
		{`[[:alpha:]\d]+`, "a1!", []string{"a1"}},
		{`[[:]\w`, ":é [a", []string{":é", "[a"}},
		{`[\w-.]+`, "a-b.ć, d", []string{"a-b.ć", "d"}},
		{`[\s-.]+`, "a -.\u3000b", []string{" -.\u3000"}},
		{`[\d-.]+`, "x1-2.3", []string{"1-2.3"}},
		{`[\W-x]+`, "a, -xa", []string{", -x"}},
		{`[\S-\d]+`, "a -1", []string{"a", "-1"}},
		{`[!-\s]`, "a", nil},
		{`[!-\w]`, "a", nil},
		{`\\d`, `\d`, []string{`\d`}},
		{`(?<y>\d{4})`, "2026", []string{"2026"}},
		{`\pL+`, "aé1", []string{"aé"}},
		{`\é`, "é", nil},
	}
	for _, c := range cases {
		v, err := NewRegex(c.re)
		if err != nil {
			if c.want != nil {
				t.Errorf("%s: %v", c.re, err)
			}
			continue
		}
		if diff := cmp.Diff(c.want, findAll(t, v.AsRegex(), c.s)); diff != "" {
			t.Errorf("%s on %q: %s", c.re, c.s, diff)
		}
	}
	v := must(NewRegex(`(?<k>\w+)=(\w+)`)).AsRegex()
	if got := replaced(t, v, "a=b", "$2:${k}:$$:$1"); got != "b:a:$:a" {
		t.Errorf("replace: %q", got)
	}
	if diff := cmp.Diff([]string{"", "k", ""}, v.GroupNames()); diff != "" {
		t.Error(diff)
	}
	for _, bad := range []string{"(", "[", `\`, "a**b(", "(?P<n", "a{2000}", strings.Repeat("(", 5000)} {
		if _, err := NewRegex(bad); err == nil || err.Code != CodeArg {
			t.Errorf("%.20q: %v, want arg_error", bad, err)
		}
	}
}

func TestRegexFastPathsAgreeWithTheEngine(t *testing.T) {
	texts := []string{"", "a", "abc abcabc ABC", "12 a34\n5", "żółć ١٢", "x\xff\xfey", "\uFFFDz", "aaaa", "end 7 end", " \t\u00a0 "}
	for _, pattern := range []string{
		"abc", "a", "é", `\.`, "(?i)abc", "[a-c]", "[a-c]+", `\d+`, `\w+`, `[^a]+`, `[^\w]`, `\s`, "a+", "a+?", "[a-c]+?", "(abc)", "(abc)+", "(?:abc)",
		"^abc", "abc$", "[0-9]+ end", "(\\w+) (\\d+) end", "abc|x", "(abc)?x", "a{2}", ".", "\uFFFD", "[^x]", "", "(?s).+", "a*",
	} {
		v, err := NewRegex(pattern)
		if err != nil {
			t.Errorf("%s: %v", pattern, err)
			continue
		}
		r := v.AsRegex()
		for _, s := range texts {
			if diff := cmp.Diff(r.re.FindAllString(s, -1), findAll(t, r, s)); diff != "" {
				t.Errorf("%q on %q, all: %s", pattern, s, diff)
			}
			if diff := cmp.Diff(r.re.FindStringIndex(s), r.Find(s)); diff != "" {
				t.Errorf("%q on %q, first: %s", pattern, s, diff)
			}
			if diff := cmp.Diff(r.re.FindStringSubmatchIndex(s), r.Groups(s)); diff != "" {
				t.Errorf("%q on %q, groups: %s", pattern, s, diff)
			}
			for _, rep := range []string{"", "<>", "$0$0", "$$"} {
				if got, want := replaced(t, r, s, rep), r.re.ReplaceAllString(s, rep); got != want {
					t.Errorf("%q on %q by %q: got %q, want %q", pattern, s, rep, got, want)
				}
			}
		}
	}
}

func BenchmarkRegexReplace10MB(b *testing.B) {
	s := strings.Repeat("lorem ipsum 123 dolor sit 4567 amet\n", 10<<20/36)
	for _, pattern := range []string{`[0-9]+`, `\d+`, "dolor", `(\w+) (\d+) end`} {
		r := must(NewRegex(pattern)).AsRegex()
		b.Run(pattern, func(b *testing.B) {
			b.SetBytes(int64(len(s)))
			for b.Loop() {
				r.Replace(s, "N", goOn)
			}
		})
	}
}

func goOn() error { return nil }

func replaced(t *testing.T, r *Regex, s, rep string) string {
	t.Helper()
	got, err := r.Replace(s, rep, goOn)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A replacement that outgrows a text, or that is told to stop, ends early
// whichever way the pattern is matched.
func TestReplaceEnds(t *testing.T) {
	s, stopped := strings.Repeat("ab", 20_000), errors.New("stopped")
	for _, pattern := range []string{"a", "[a]", "[a]+", "a|c", "(a)(b)?"} {
		v, err := NewRegex(pattern)
		if err != nil {
			t.Fatal(err)
		}
		r := v.AsRegex()
		full := replacing{s: s, rep: "xxx", size: MaxText - len(s)/4, stop: goOn} // half of s is matched
		replace := func() (string, error) { return full.engine(r) }
		if r.fast.simple() {
			replace = func() (string, error) { return full.simple(r.fast) }
		}
		_, over := replace()
		if e, ok := over.(*Error); !ok || e.Code != CodeOverflow {
			t.Errorf("%s: got %v, want overflow", pattern, over)
		}
		if _, err := r.Replace(s, "x", func() error { return stopped }); err != stopped {
			t.Errorf("%s: got %v, want what stop said", pattern, err)
		}
	}
}

func findAll(t *testing.T, r *Regex, s string) []string {
	t.Helper()
	all, err := r.FindAll(s, len(s)+1, nil)
	if err != nil {
		t.Fatalf("%s in %.20q: %v", r.Src, s, err)
	}
	return all
}

// A long text is searched in another way than a short one.
func TestLongText(t *testing.T) {
	unit := "ab12 é;\n"
	short, long := strings.Repeat(unit, 10), strings.Repeat(unit, slowText/len(unit)+10)
	for _, pattern := range []string{`[a-z]+\d`, `\b`, `^`, `;|$`} {
		r := must(NewRegex(pattern)).AsRegex()
		if r.Slow(short) || !r.Slow(long) {
			t.Fatalf("%s: slow in a short text %v, in a long one %v", pattern, r.Slow(short), r.Slow(long))
		}
		for _, s := range []string{short, long} {
			if got, want := findAll(t, r, s), r.re.FindAllString(s, -1); !slices.Equal(got, want) {
				t.Errorf("%s in %d bytes: got %d matches, want %d", pattern, len(s), len(got), len(want))
			}
			if got, err := r.FindAll(s, 3, nil); err != nil || !slices.Equal(got, r.re.FindAllString(s, 3)) {
				t.Errorf("%s in %d bytes, three: got %q %v", pattern, len(s), got, err)
			}
		}
	}
}

// In a text that the engine goes through in several runs, all is as in one.
func TestRegexBeginsAnew(t *testing.T) {
	s := strings.Repeat("ab12 é;\n", 5*anewAfter/2/len("ab12 é;\n"))
	for _, pattern := range []string{
		`[a-z]+\d`, `\b`, `\B`, `x*`, `^a|b`, `(?m)^a`, `(?m)^|b`, `a|$`, `(?m)$`, `\bb|.`, `\bé|\w`, `(a)(b)?|é`, `(?s)b.{0,9}`,
	} {
		r := must(NewRegex(pattern)).AsRegex()
		const rep = "<$0$1>"
		if got, want := replaced(t, r, s, rep), r.re.ReplaceAllString(s, rep); got != want {
			t.Errorf("%s by %q: got %d bytes that differ from the engine's %d", pattern, rep, len(got), len(want))
		}
	}
}
