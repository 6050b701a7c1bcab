package value

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseJSON(t *testing.T) {
	cases := []struct{ src, want string }{
		{`null`, "null"}, {` true `, "true"}, {`-0`, "0"}, {`12`, "12"}, {`-9223372036854775808`, "-9223372036854775808"},
		{`9223372036854775808`, "9223372036854776000"}, {`1.5e3`, "1500"}, {`1E-2`, "0.01"}, {`0.0`, "0"},
		{`"a\u00e9\n\"\\\/\b\f"`, "\"aé\\n\\\"\\\\/\b\f\""}, {`"\ud83d\ude00"`, `"😀"`}, {`"\ud83dx"`, "\"\uFFFDx\""},
		{`"\ud83d\u0041"`, "\"\uFFFDA\""}, {"\"a\xffb\"", "\"a\uFFFDb\""},
		{`[]`, "[]"}, {`{}`, "{}"}, {`[1,[2]]`, "[1, [2]]"}, {`{"b":1,"a":{"b":[]},"b":2}`, "{b: 2, a: {b: []}}"},
	}
	for _, c := range cases {
		v, err := ParseJSON(c.src)
		if err != nil || Inline(v) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.src, Inline(v), err, c.want)
		}
	}
	for _, src := range []string{
		"", " ", "nul", "tru", "01", "-", "1.", ".5", "1e", "1e+", "+1", "[", "[1", "[1,]", "[,]", "{", `{"a"`, `{"a":`, `{"a":1`, `{"a":1,}`,
		`{a:1}`, `{"a" 1}`, `[1 2]`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12g4"`, "\"a\nb\"", "1 2", "[]]", "'a'", "NaN", "1e999", "\x00",
	} {
		if v, err := ParseJSON(src); err == nil || err.Code != CodeArg {
			t.Errorf("%q: got %s, %v, want arg_error", src, Inline(v), err)
		}
	}
	if _, err := ParseJSON("[1,\n  é x]"); err == nil || !strings.Contains(err.Msg, "line 2 column 3") {
		t.Errorf("place: %v", err)
	}
}

// A long text is worked on in pieces, and may be left between them.
func TestLongJSONText(t *testing.T) {
	for _, unit := range []string{"a", "é", "€", "😀", "\x01", "\n\"\\", "\xff", "\x80", "\xf0\x9f", "a€\xe2\x82"} {
		for _, lead := range []string{"", "x", "xy", "xyz"} {
			s := lead + strings.Repeat(unit, 2*pieceBytes/len(unit))
			text, err := JSON(Str(s), false)
			if err != nil {
				t.Fatalf("%q: %v", unit, err)
			}
			want := strings.Map(func(r rune) rune { return r }, s)
			back, err := ParseJSON(text)
			if err != nil || back.AsStr() != want {
				t.Errorf("%q after %q: got another text back, or %v", unit, lead, err)
			}
		}
	}
	stopped := errors.New("stopped")
	stop := func() error { return stopped }
	if _, err := JSONUntil(Str(strings.Repeat("\x01", 2*pieceBytes)), false, stop); err == nil || err.Code != CodeCancelled {
		t.Errorf("a text that is encoded: got %v, want what stop said", err)
	}
	if _, err := ParseJSONUntil(`"`+strings.Repeat(`\n`, 2*turnsBetween)+`"`, stop); err == nil || err.Code != CodeCancelled {
		t.Errorf("a text that is parsed: got %v, want what stop said", err)
	}
}

func TestParseJSONTypes(t *testing.T) {
	for src, want := range map[string]Kind{
		`[{"a":1},{"b":2}]`: KindTable, `[{"a":1},2]`: KindList, `[]`: KindList, `1`: KindInt, `1.0`: KindFloat, `1e2`: KindFloat,
		`99999999999999999999`: KindFloat,
	} {
		if v, err := ParseJSON(src); err != nil || v.Kind() != want {
			t.Errorf("%s: got %s, %v, want %s", src, v.Kind(), err, want)
		}
	}
}

func TestParseJSONSharesShapes(t *testing.T) {
	v := must(ParseJSON(`[{"a":1,"n":{"x":1}},{"a":2,"n":{"x":2}},{"a":3},{"a":4,"n":{"x":3}}]`))
	rows := v.AsTable().Rows()
	if rows[0].Shape != rows[1].Shape || rows[0].Shape != rows[3].Shape || rows[2].Shape != ShapeOf("a") {
		t.Error("equal objects have different shapes")
	}
	if a, b := rows[0].Vals[1].AsRecord(), rows[3].Vals[1].AsRecord(); a.Shape != b.Shape {
		t.Error("nested objects have different shapes")
	}
}

func TestParseJSONLimits(t *testing.T) {
	deep := strings.Repeat("[", MaxDepth) + strings.Repeat("]", MaxDepth)
	if _, err := ParseJSON(deep); err != nil {
		t.Errorf("depth %d: %v", MaxDepth, err)
	}
	if _, err := ParseJSON("[" + deep + "]"); err == nil || !strings.Contains(err.Msg, "nesting too deep") {
		t.Errorf("depth %d: %v", MaxDepth+1, err)
	}
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, `,"key %d":%d`, i, i)
	}
	src := "{" + b.String()[1:] + "}"
	var v Value
	if spent := allocated(func() { v = must(ParseJSON(src)) }); spent > 100<<20 {
		t.Errorf("100,000 keys took %d MB", spent>>20)
	}
	if got, _ := v.AsRecord().Get("key 99999"); v.AsRecord().Len() != 100_000 || got.AsInt() != 99_999 {
		t.Errorf("got %d keys, last %s", v.AsRecord().Len(), Inline(got))
	}
	twice := must(ParseJSON("[" + src + "," + src[:len(src)-1] + `,"key 5":0}` + "]")).AsTable()
	if got, _ := twice.Row(1).Get("key 5"); twice.Row(1).Len() != 100_000 || got.AsInt() != 0 {
		t.Errorf("repeated key in a large object: %d keys, %s", twice.Row(1).Len(), Inline(got))
	}
}

func TestJSONRefusesHugeRanges(t *testing.T) {
	if _, err := JSON(NewRange(0, 1<<40, false), false); err == nil || err.Code != CodeOverflow {
		t.Errorf("got %v", err)
	}
}

// plainJSON is v as encoding/json would give it with numbers as float64.
func plainJSON(v Value) any {
	switch v.Kind() {
	case KindNull:
		return nil
	case KindBool:
		return v.AsBool()
	case KindInt:
		return float64(v.AsInt())
	case KindFloat:
		return v.AsFloat()
	case KindStr:
		return v.AsStr()
	case KindList, KindTable:
		items := make([]any, seqLen(v))
		for i := range items {
			items[i] = plainJSON(seqAt(v, i))
		}
		return items
	}
	r := v.AsRecord()
	m := make(map[string]any)
	for i, k := range r.Shape.Keys() {
		m[k] = plainJSON(r.Vals[i])
	}
	return m
}

// FuzzJSON compares parser and encoder with encoding/json.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{"a":[1,2.5,-3e7,"x\u00e9\ud83d\ude00",null,true],"b":{"a":{}}}`, `[{"a":1},{"a":2,"b":3},{"b":1}]`, `"\ud800"`, `[[[]]]`,
		"\"\xff\"", `{"a":1,"a":2}`, `9223372036854775807`, `1e400`, ` [ ] `, `{"k":"long enough to leave the fast path \n here"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, src string) {
		v, err := ParseJSON(src)
		var want any
		wantErr := json.Unmarshal([]byte(src), &want)
		if (err == nil) != (wantErr == nil) {
			if err != nil && strings.Contains(err.Msg, "too deep") {
				return
			}
			t.Fatalf("%q: got %v, encoding/json %v", src, err, wantErr)
		}
		if err != nil {
			return
		}
		// -0 is an int here, so its sign is lost; cmp sees 0 == -0.
		if diff := cmp.Diff(want, plainJSON(v)); diff != "" {
			t.Fatalf("%q: %s", src, diff)
		}
		for _, pretty := range []bool{false, true} {
			text, err := JSON(v, pretty)
			if err != nil || !json.Valid([]byte(text)) {
				t.Fatalf("%q encodes as %q, %v", src, text, err)
			}
			if back, err := ParseJSON(text); err != nil || !Same(back, v) {
				t.Fatalf("%q encodes as %q, reads back as %s, %v", src, text, Inline(back), err)
			}
		}
	})
}

// rows10MB is a document of 10 MB like those that programs print.
func rows10MB() string {
	var b strings.Builder
	b.WriteByte('[')
	for i := 0; b.Len() < 10<<20; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"id":%d,"name":"user-%d","email":"user%d@example.com","age":%d,"score":%.3f,"active":%v,"city":"City %d"}`,
			i, i, i, i%90, math.Sqrt(float64(i)), i%3 == 0, i%50)
	}
	b.WriteByte(']')
	return b.String()
}

func BenchmarkJSONParse10MB(b *testing.B) {
	src := rows10MB()
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			if _, err := ParseJSON(src); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("encoding", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		b.ReportAllocs()
		for b.Loop() {
			var v any
			if err := json.Unmarshal([]byte(src), &v); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkJSONEncode10MB(b *testing.B) {
	src := rows10MB()
	v := must(ParseJSON(src))
	var plain any
	if err := json.Unmarshal([]byte(src), &plain); err != nil {
		b.Fatal(err)
	}
	b.Run("ours", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		var buf []byte
		for b.Loop() {
			buf, _ = EncodeJSON(buf[:0], v, false)
		}
	})
	b.Run("encoding", func(b *testing.B) {
		b.SetBytes(int64(len(src)))
		for b.Loop() {
			if _, err := json.Marshal(plain); err != nil {
				b.Fatal(err)
			}
		}
	})
}
