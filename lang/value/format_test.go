package value

import (
	"math"
	"testing"
	"time"
)

func TestFormatSize(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0b", 999: "999b", 1000: "1kb", 1024: "1.02kb", 4 << 20: "4.19mb",
		999_999: "1mb", 1_500_000_000: "1.5gb", 999_999_999_999: "1tb",
		5_000_000_000_000_000: "5000tb", 1 << 63: "9223372.04tb",
	} {
		if got := FormatSize(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestFormatDuration(t *testing.T) {
	day := 24 * time.Hour
	for d, want := range map[time.Duration]string{
		0: "0s", 30 * day: "4w2d", 90000 * time.Second: "1d1h", -1500 * time.Millisecond: "-1s500ms",
		1001: "1us1ns", -1 << 63: "-15250w1d23h47m16s854ms775us808ns",
	} {
		if got := FormatDuration(d); got != want {
			t.Errorf("%d: got %s, want %s", d, got, want)
		}
	}
}

func TestConvertWord(t *testing.T) {
	ok := []struct{ word, typ, want string }{
		{"42", "int", "42"}, {"-7", "int", "-7"}, {"+7", "int", "7"},
		{"1.5", "float", "1.5"}, {"-2e3", "float", "-2000"}, {"inf", "float", "inf"}, {"nan", "float", "nan"},
		{"true", "bool", "true"},
		{"4kb", "size", "4kb"}, {"1.5kib", "size", "1.54kb"}, {"0b", "size", "0b"},
		{"2h30m", "duration", "2h30m"}, {"90", "duration", "1m30s"}, {"1.5", "duration", "1s500ms"},
		{"-5s", "duration", "-5s"}, {"1w2d", "duration", "1w2d"},
		{"9:05", "time", "09:05"}, {"12:00am", "time", "00:00"}, {"12:30pm", "time", "12:30"},
		{"1:02:03PM", "time", "13:02:03"},
		{"2026-01-01", "datetime", "2026-01-01T00:00:00Z"},
		{"2026-01-01T10:00+02:00", "datetime", "2026-01-01T08:00:00Z"},
		{"2026-01-01T10:00:00.25Z", "datetime", "2026-01-01T10:00:00.25Z"},
		{"2026-07-01T10:00+02:00[Europe/Berlin]", "datetime", "2026-07-01T08:00:00Z"},
		{"2026-07-01T10:00[+02:00]", "datetime", "2026-07-01T08:00:00Z"},
		{"2026-07-01T10:00Z[UTC][u-ca=iso8601]", "datetime", "2026-07-01T10:00:00Z"},
		{"a b", "path", `"a b"`}, {"x", "str", `"x"`}, {"x", "thing", `"x"`},
	}
	for _, c := range ok {
		v, err := ConvertWord(c.word, c.typ)
		if err != nil || Inline(v) != c.want {
			t.Errorf("%s as %s: got %s, %v, want %s", c.word, c.typ, Inline(v), err, c.want)
		}
	}
	bad := []struct{ word, typ string }{
		{"abc", "int"}, {"1.0", "int"}, {"", "int"}, {"+", "int"}, {"--1", "int"}, {"1_000", "int"}, {"9223372036854775808", "int"},
		{"0x1p3", "float"}, {"", "float"}, {"infinity", "float"}, {"1e999", "float"},
		{"yes", "bool"}, {"10", "size"}, {"1KB", "size"}, {"-1b", "size"}, {"99999999tb", "size"}, {"1..5kb", "size"},
		{"", "duration"}, {"h", "duration"}, {"1x", "duration"}, {"1h30", "duration"}, {"-", "duration"}, {"99999999w", "duration"}, {"--5s", "duration"},
		{"13:00pm", "time"}, {"0:30am", "time"}, {"9:5", "time"}, {"24:00", "time"}, {"10", "time"}, {"+9:05", "time"},
		{"yesterday", "datetime"}, {"2026-13-01", "datetime"}, {"2026-01-01T10:00", "datetime"},
		{"2026-01-01T10:00Z[Mars/Base]", "datetime"}, {"2026-01-01T10:00Z[../../etc/passwd]", "datetime"},
		{"2026-01-01T10:00Z[!x=y]", "datetime"}, {"2026-01-01T10:00Z[", "datetime"}, {"2026-01-01T10:00:00,5Z", "datetime"},
	}
	for _, c := range bad {
		v, err := ConvertWord(c.word, c.typ)
		if err == nil {
			t.Errorf("%q as %s: got %s, want an error", c.word, c.typ, Inline(v))
			continue
		}
		if want := "expected " + c.typ + ", found " + Inline(Str(c.word)); err.Code != CodeArg || err.Msg != want {
			t.Errorf("%q as %s: got %v, want %s", c.word, c.typ, err, want)
		}
	}
}

func TestDatetimeKeepsZone(t *testing.T) {
	at, err := ParseDatetime("2026-07-01T08:00Z[Europe/Berlin]")
	if err != nil || at.Hour() != 10 {
		t.Errorf("got %v, %v, want hour 10", at, err)
	}
	if got, want := ZonedDatetime(at), "2026-07-01T10:00:00+02:00[Europe/Berlin]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if at, err = ParseDatetime("2026-01-01T10:00+02:00"); err != nil || at.Hour() != 8 {
		t.Errorf("got %v, %v, want hour 8", at, err)
	}
}

func TestTexts(t *testing.T) {
	for _, c := range []struct {
		v          Value
		text, argv string
	}{
		{Str("a"), "a", "a"}, {Int(3), "3", "3"}, {Float(1.5), "1.5", "1.5"}, {Bool(true), "true", "true"},
		{Path("p"), "p", "p"}, {Size(2000), "!", "2000"}, {Duration(time.Second), "!", "1000000000"},
		{NewBytes([]byte("b")), "b", "!"}, {Null, "!", "!"}, {list(), "!", "!"}, {NewSecret("a", "b"), "!", "!"},
		{TimeOfDay(int64(time.Hour)), "!", "01:00:00"},
	} {
		text, err := Text(c.v)
		if err != nil {
			text = "!"
		}
		argv, err := ArgvText(c.v)
		if err != nil {
			argv = "!"
		}
		if text != c.text || argv != c.argv {
			t.Errorf("%s: got %q and %q, want %q and %q", Inline(c.v), text, argv, c.text, c.argv)
		}
	}
	if _, err := Text(NewBytes([]byte{0xff})); err == nil || err.Code != CodeUTF8 {
		t.Errorf("text of wrong bytes: %v", err)
	}
	if s, err := DisplayText(Path("a\xff")); err != nil || s != "a\uFFFD" {
		t.Errorf("display: %q, %v", s, err)
	}
}

func FuzzConvertWord(f *testing.F) {
	f.Add("2026-01-01T10:00Z[Europe/Berlin]")
	f.Add("1h30m")
	f.Add("1.5kib")
	f.Fuzz(func(t *testing.T, word string) {
		for _, typ := range []string{"int", "float", "size", "duration", "time", "datetime"} {
			v, err := ConvertWord(word, typ)
			if err == nil && v.Kind().String() != typ {
				t.Errorf("%q as %s gives %s", word, typ, v.Kind())
			}
		}
	})
}

func TestParseInt(t *testing.T) {
	for text, want := range map[string]int64{
		"0": 0, "007": 7, "+5": 5, "-5": -5, "123456789012345678": 123456789012345678, "999999999999999999": 999999999999999999,
		"1234567890123456789": 1234567890123456789, "9223372036854775807": math.MaxInt64, "-9223372036854775808": math.MinInt64,
		"000000000000000000012": 12,
	} {
		if n, ok := ParseInt(text); !ok || n != want {
			t.Errorf("%q: got %d, %t, want %d", text, n, ok, want)
		}
	}
	for _, text := range []string{"", "+", "-", "1a", "a1", "1 ", " 1", "1_0", "0x1", "1.", "--1", ":", "9223372036854775808", "-9223372036854775809"} {
		if n, ok := ParseInt(text); ok {
			t.Errorf("%q: got %d, want no int", text, n)
		}
	}
}
