package builtin

import (
	"strings"
	"testing"

	"shoal.dev/shoal/lang/value"
)

func TestParseYAML(t *testing.T) {
	cases := []struct{ src, want string }{
		{"a: !!str 1", `{a: "1"}`},
		{"a: !!int '7'", `{a: 7}`},
		{"a: !custom x", `{a: "x"}`},
		{"a: !!binary aGk=", `{a: "aGk="}`},
		{"a: 0o17\nb: 0b11", `{a: 15, b: "0b11"}`},
		{"a: -0.0", `{a: -0}`},
		{"a: |\n  x\n  y\nb: >-\n  p\n  q", `{a: "x\ny\n", b: "p q"}`},
		{"? a\n: 1", `{a: 1}`},
		{"{a: 1, b: [x, {c: null}]}", `{a: 1, b: ["x", {c: null}]}`},
		{"- {a: 1}\n- 2", `[{a: 1}, 2]`},
		{"a: &x {k: 1}\nb: {<<: *x, k: 2}", `{a: {k: 1}, b: {k: 2}}`},
		{"\ufeffa: 1", `{a: 1}`},
		{"%YAML 1.1\n---\na: 1", `{a: 1}`},
	}
	for _, c := range cases {
		v, err := parseYAML(c.src, never)
		if err != nil {
			t.Errorf("%q: %v", c.src, err)
		} else if got := value.Inline(v); got != c.want {
			t.Errorf("%q: got %s, want %s", c.src, got, c.want)
		}
	}
	for _, bad := range []string{
		"a: [", "a: *nobody", "\t- x", "a: 1\nb", "&a [*a]", "a: &x {b: *x}", "[a]: 1", "{a: 1}: 2", "a: b: c", "--- a\n--- b",
		"a: !!float x", "'", "\x00", "<<: [1]", strings.Repeat("[", 20_000), strings.Repeat("- ", 20_000), strings.Repeat("{a: ", 600),
	} {
		if v, err := parseYAML(bad, never); err == nil {
			t.Errorf("%.40q is taken for %.80s", bad, value.Inline(v))
		}
	}
}

// A small document cannot stand for a huge value.
func TestYAMLBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 30; i++ {
		p := string(rune('0' + i%10))
		name, was := "a"+strings.Repeat("i", i)+p, ""
		if i == 1 {
			was = "a0"
		} else {
			was = "a" + strings.Repeat("i", i-1) + string(rune('0'+(i-1)%10))
		}
		b.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat("*"+was+", ", 10), ", ") + "]\n")
	}
	if _, err := parseYAML(b.String(), never); err == nil || !strings.Contains(err.Error(), "aliases") {
		t.Errorf("got %v", err)
	}
}

func FuzzYAML(f *testing.F) {
	for _, s := range []string{"a: 1", "- x\n- {b: [1, ~]}", "a: &x 1\nb: *x", "a: |\n  t", "\"\\u00e9\": yes", "? [a]\n: b", "<<: {a: 1}", "'1e999'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		v, err := parseYAML(src, never)
		if err != nil {
			return
		}
		// What was read is written so that it reads back.
		text, jerr := value.JSON(v, false)
		if jerr != nil {
			return
		}
		norm, jerr := value.ParseJSON(text)
		if jerr != nil {
			return
		}
		out, werr := writeYAML(norm, func() error { return nil })
		if werr != nil {
			t.Fatalf("%q: %v", src, werr)
		}
		back, err := parseYAML(out, never)
		if err != nil {
			t.Fatalf("%q was written as %q: %v", src, out, err)
		}
		if again, jerr := value.JSON(back, false); jerr != nil || again != text {
			t.Fatalf("%q is %s, was written as %q and read as %s", src, text, out, again)
		}
	})
}

// never is a stop that lets work go on.
func never() error { return nil }

func TestYAMLStops(t *testing.T) {
	for name, text := range map[string]string{
		"while it is read":      strings.Repeat("- a\n", 100_000),
		"while values are made": "- a\n",
	} {
		gone, asked := value.Errorf(value.CodeCancelled, "gone"), 0
		_, err := parseYAML(text, func() error {
			if asked++; asked > 3 {
				return gone
			}
			return nil
		})
		if err == nil || !strings.Contains(err.Error(), "gone") || asked > 10 {
			t.Errorf("%s: got %v after %d questions", name, err, asked)
		}
	}
}
