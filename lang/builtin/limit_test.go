package builtin_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// evaluateText runs src with text bound to the name text.
func evaluateText(t *testing.T, src, text string) (value.Value, error) {
	t.Helper()
	s := interp.NewState("/", nil)
	s.Bind("text", value.Str(text))
	p, perr := interp.Parse(src, s.Names(), builtin.Library())
	if perr != nil {
		t.Fatalf("%s: %v", src, perr)
	}
	return p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{}})
}

// Documents that a library would parse for minutes are refused.
func TestLongDocuments(t *testing.T) {
	for src, text := range map[string]string{
		"yaml.parse(text)": strings.Repeat("- a\n", 5<<20),
		"toml.parse(text)": strings.Repeat("#\n", 5<<20),
	} {
		_, err := evaluateText(t, src, text)
		e, ok := err.(*value.Error)
		if !ok || e.Code != value.CodeOverflow || !strings.Contains(e.Msg, "at most") || e.Hint == "" {
			t.Errorf("%s: got %v", src, err)
		}
		if v, err := evaluateText(t, src, "a: 1\n"[:0]); err != nil {
			t.Errorf("%s of nothing: got %v %v", src, v, err)
		}
	}
}

// Long texts are searched apart from the run; what is found is the same.
func TestSearchInLongText(t *testing.T) {
	text := strings.Repeat("key=value ", 200_000) + "last=one"
	for src, want := range map[string]string{
		`text.matches(regex("[a-z]+=[a-z]+")).len()`:             "200001",
		`text.match(regex("l[a-z]+=[a-z]+"))`:                    `"last=one"`,
		`text.captures(regex("(?<k>l[a-z]+)=([a-z]+)")).k`:       `"last"`,
		`text.replace(regex("[a-z]+=value "), "")`:               `"last=one"`,
		`text.replace(regex("([a-z]+)=([a-z]+) ?"), "").len()`:   "0",
		`text.replace(regex("([a-z]+)=([a-z]+) ?"), "$2").len()`: "1000003",
		`text.match(regex("nothing=[0-9]+"))`:                    "null",
	} {
		v, err := evaluateText(t, src, text)
		if got := value.Inline(v); err != nil || got != want {
			t.Errorf("%s: got %s %v, want %s", src, got, err, want)
		}
	}
}

// Long loops of the library end when the run is cancelled.
func TestLongLoopsAreCancelled(t *testing.T) {
	items := make([]value.Value, 8<<20)
	for i := range items {
		items[i] = value.Int(int64(i))
	}
	for _, src := range []string{`l.uniq()`, `l.group_by(x => x)`, `l.reverse().uniq()`} {
		s := interp.NewState("/", nil)
		s.Bind("l", value.NewList(items))
		p, perr := interp.Parse(src, s.Names(), builtin.Library())
		if perr != nil {
			t.Fatalf("%s: %v", src, perr)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		began := time.Now()
		_, err := p.Run(ctx, interp.Run{State: s, Host: &interp.Host{}})
		cancel()
		if e, ok := err.(*value.Error); !ok || e.Code != value.CodeCancelled || time.Since(began) > 2*time.Second {
			t.Errorf("%s: got %v after %s", src, err, time.Since(began))
		}
	}
}

// Work on a long text, or on a text that becomes long, ends when the run is
// cancelled.
func TestLongTextsAreCancelled(t *testing.T) {
	for src, text := range map[string]string{
		`csv.parse(text)`:                     strings.Repeat(",", 15_000_000),
		`csv.parse("a\n\"" + text + "\"")`:    strings.Repeat(`""`, 15_000_000),
		`csv.stringify([{a: text}])`:          strings.Repeat(`"`, 15_000_000),
		`json.stringify(text)`:                strings.Repeat("\x01", 15_000_000),
		`toml.stringify({a: text})`:           strings.Repeat("\x01", 15_000_000),
		`toml.stringify({a: text.split("")})`: strings.Repeat("a", 15_000_000),
		`text.split("b")`:                     strings.Repeat("b", 15_000_000),
		`text.replace("b", "cc")`:             strings.Repeat("b", 60_000_000),
		`text.replace("", "c")`:               strings.Repeat("b", 60_000_000),
	} {
		s := interp.NewState("/", nil)
		s.Bind("text", value.Str(text))
		p, perr := interp.Parse(src, s.Names(), builtin.Library())
		if perr != nil {
			t.Fatalf("%s: %v", src, perr)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		_, err := p.Run(ctx, interp.Run{State: s, Host: &interp.Host{}})
		cancel()
		if e, ok := err.(*value.Error); !ok || e.Code != value.CodeCancelled {
			t.Errorf("%s: got %v, want it cancelled", src, err)
		}
	}
}

// A long text is replaced in and split as a short one is.
func TestLongTextsAreReplacedAlike(t *testing.T) {
	unit := "aé, \"b\"\n"
	text := strings.Repeat(unit, 20_000)
	for _, pair := range [][2]string{{"a", ""}, {"é", "ee"}, {"", "-"}, {"a", "a"}, {"zz", "y"}, {unit, "x"}, {unit + unit, "é"}} {
		s := interp.NewState("/", nil)
		s.Bind("text", value.Str(text))
		s.Bind("was", value.Str(pair[0]))
		s.Bind("by", value.Str(pair[1]))
		p, perr := interp.Parse(`text.replace(was, by)`, s.Names(), builtin.Library())
		if perr != nil {
			t.Fatal(perr)
		}
		v, err := p.Run(t.Context(), interp.Run{State: s, Host: &interp.Host{}})
		if want := strings.ReplaceAll(text, pair[0], pair[1]); err != nil || v.AsStr() != want {
			t.Errorf("%q by %q: got another text, or %v", pair[0], pair[1], err)
		}
	}
	v, err := evaluateText(t, `csv.parse(csv.stringify([{a: text, b: 1}])).first().a == text && toml.parse(toml.stringify({a: text})).a == text`, text)
	if err != nil || !v.AsBool() {
		t.Errorf("through CSV and TOML: got another text, or %v", err)
	}
}

// What cannot be read back is not written.
func TestLongYAMLIsNotWritten(t *testing.T) {
	_, err := evaluateText(t, `yaml.stringify(text)`, strings.Repeat("a", 16<<20))
	if e, ok := err.(*value.Error); !ok || e.Code != value.CodeOverflow || !strings.Contains(e.Msg, "at most") {
		t.Errorf("got %v, want overflow", err)
	}
}

// Patterns whose compiling would hold the run up are refused.
func TestLongRegex(t *testing.T) {
	_, err := evaluateText(t, `regex(text)`, strings.Repeat("a?", 64<<10))
	if e, ok := err.(*value.Error); !ok || e.Code != value.CodeArg || !strings.Contains(e.Msg, "at most 64 KiB") {
		t.Errorf("got %v", err)
	}
}

// A string with long texts in its holes is put together once it is known to fit.
func TestLongTextsInHoles(t *testing.T) {
	text := strings.Repeat("0123456789", 200_000)
	v, err := evaluateText(t, `let n = 7; let s = "a{n}{text}b{text}{n}c"; [s.len(), s.take(4), s.skip(s.len() - 3), s.skip(2_000_000).take(4)]`, text)
	if got := value.Inline(v); err != nil || got != `[4000005, "a701", "97c", "89b0"]` {
		t.Errorf("got %s %v", got, err)
	}
	_, err = evaluateText(t, `"`+strings.Repeat("{text}", 600)+`".len()`, text)
	if e, ok := err.(*value.Error); !ok || e.Code != value.CodeOverflow {
		t.Errorf("too long: got %v", err)
	}
	_, err = evaluateText(t, `"{text}{1 / 0}"`, text)
	if e, ok := err.(*value.Error); !ok || e.Code != value.CodeDivZero {
		t.Errorf("an error in a later hole: got %v", err)
	}
}

// echo learns how long its text is before it puts it together.
func TestLongEcho(t *testing.T) {
	text := strings.Repeat("0123456789", 200_000)
	v, err := evaluateText(t, `let s = (echo a (text) "" b); [s.len(), s.take(3), s.skip(2_000_002)]`, text)
	if got := value.Inline(v); err != nil || got != `[2000005, "a 0", "  b"]` {
		t.Errorf("got %s %v", got, err)
	}
	if v, err := evaluateText(t, `(echo).len()`, ""); err != nil || value.Inline(v) != "0" {
		t.Errorf("nothing: got %s %v", value.Inline(v), err)
	}
	_, err = evaluateText(t, "echo"+strings.Repeat(" (text)", 600), text)
	if e, ok := err.(*value.Error); !ok || e.Code != value.CodeOverflow {
		t.Errorf("too long: got %v", err)
	}
}
