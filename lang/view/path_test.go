package view

import (
	"errors"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/value"
)

func TestPath(t *testing.T) {
	rows := table(rec("name", value.Str("a"), "size", value.Size(1)), rec("name", value.Str("b"), "x y", value.Int(2)))
	listing := value.NewOutcome(&value.Outcome{OK: true, Status: intPtr(0), HasOut: true, Out: rows, Cmd: "ls"})
	v := rec("rows", rows, "l", list(value.Int(10), value.Int(20), value.Int(30)), "a.b", value.Int(1), "s", value.Str("aé😀"), `q"]`, value.Int(9),
		"r", value.NewRange(5, 8, true), "t", rec("rows", value.Int(7)), "mixed", list(rec("k", value.Int(1)), value.Int(2)))
	cases := []struct {
		v          value.Value
		path, want string
	}{
		{v, "", value.Inline(v)},
		{v, ".l[1]", "20"}, {v, "l[1]", "20"}, {v, ".l[1..9]", "[20, 30]"}, {v, ".l[3..3]", "[]"},
		{v, `["a.b"]`, "1"}, {v, `["q\"]"]`, "9"}, {v, ".s[1]", `"é"`}, {v, ".s[1..3]", `"é😀"`},
		{v, ".r[1]", "6"}, {v, ".r[1..3]", "6..=7"}, {v, ".r[0..0]", "5..5"},
		{v, ".rows.name", `["a", "b"]`}, {v, ".rows.size", "[1b, null]"}, {v, `.rows["x y"]`, "[null, 2]"},
		{v, ".rows.rows[1].name", `"b"`}, {v, ".rows[0].name", `"a"`}, {v, ".rows[0..1].name", `["a"]`}, {v, ".t.rows", "7"},
		{v, ".mixed[0].k", "1"},
		{listing, ".name[1]", `"b"`}, {listing, ".rows[0].size", "1b"}, {listing, ".status", "0"}, {listing, ".out[1].name", `"b"`},
		{listing, ".out.rows.name", `["a", "b"]`}, {listing, ".cmd", `"ls"`}, {listing, ".stdout", "bytes(0b)"},
		{okOutcome(`{"k": [1, 2]}`), ".k[1]", "2"}, {okOutcome("hi\n"), ".out", `"hi"`},
		{failed("o", "e"), ".stdout", "bytes(1b)"}, {failed("o", "e"), ".signal", "null"},
		{value.NewError(value.Errorf("c", "m").WithSpan(value.Span{Start: 3, End: 4})), ".span.start", "3"},
	}
	for _, c := range cases {
		got, err := plain.At(c.v, c.path)
		if err != nil || value.Inline(got) != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.path, value.Inline(got), err, c.want)
		}
	}
	bad := []struct {
		v          value.Value
		path, step string
	}{
		{v, ".nope", ".nope"}, {v, ".l.name", ".name"}, {v, ".l[3]", "[3]"}, {v, ".l[-1]", "[-1]"}, {v, ".l[4..5]", "[4..5]"}, {v, ".l[2..1]", "[2..1]"},
		{v, "[0]", "[0]"}, {v, ".rows.nope", ".nope"}, {v, ".mixed.k", ".k"}, {v, ".", "."}, {v, ".l[", "["}, {v, ".l[x]", "[x]"}, {v, ".l[1..]", "[1..]"},
		{v, ".l[]", "[]"}, {v, `["a`, `["a`}, {v, `["a"x`, `["a"x`}, {v, `["\x"]`, `["\x"]`}, {v, ".l[1]x", "x"}, {v, "..l", "..l"}, {v, ".l]", "]"},
		{v, ".l[9223372036854775808]", "[9223372036854775808]"},
		{listing, "[0]", "[0]"}, {listing, ".nope", ".nope"}, {failed("", ""), ".out", ".out"}, {failed("", ""), ".name", ".name"},
		{value.Int(1), ".x", ".x"}, {text("ab"), "[0]", "[0]"}, {table(), ".x", ".x"},
	}
	for _, c := range bad {
		got, err := plain.At(c.v, c.path)
		var pe *PathError
		if !errors.As(err, &pe) || pe.Step != c.step {
			t.Errorf("%s: got %s, %v, want an error at %s", c.path, value.Inline(got), err, c.step)
		}
	}
}

func TestPathsReachWhatTheyName(t *testing.T) {
	for _, key := range []string{"a", "a b", "a.b", `a"b`, "[0]", "", "é", "\x01", "rows"} {
		v := rec("r", list(rec(key, value.Int(1)), value.Null))
		got, err := plain.At(v, AppendField(AppendIndex(AppendField("", "r"), 0), key))
		if err != nil || got.AsInt() != 1 {
			t.Errorf("%q: %s, %v", key, value.Inline(got), err)
		}
	}
	if got := AppendSlice(".l", 1, 3); got != ".l[1..3]" {
		t.Errorf("got %s", got)
	}
}

func TestSlice(t *testing.T) {
	blob := &genBlob{size: 100, at: func(i int64) byte { return byte('a' + i%26) }}
	cases := []struct {
		v          value.Value
		start, end int64
		want       string
	}{
		{list(value.Int(1), value.Int(2)), 1, 99, "[2]"}, {list(value.Int(1)), 1, 1, "[]"}, {table(rec("a", value.Int(1)), rec("a", value.Int(2))), 0, 1, "[{a: 1}]"},
		{value.Str("aé😀b"), 1, 3, `"é😀"`}, {value.Str("ab"), 2, 5, `""`}, {value.Str(""), 0, 1, `""`},
		{value.NewRange(3, 9, false), 2, 4, "5..=6"}, {value.NewRange(-1<<63, 1<<62, true), 0, 1, "-9223372036854775808..=-9223372036854775808"},
	}
	for _, c := range cases {
		got, err := plain.Slice(c.v, c.start, c.end)
		if err != nil || value.Inline(got) != c.want {
			t.Errorf("%s[%d..%d]: got %s, %v, want %s", value.Inline(c.v), c.start, c.end, value.Inline(got), err, c.want)
		}
	}
	for _, v := range []value.Value{text(strings.Repeat("abcdefghijklmnopqrstuvwxyz", 4)[:100]), value.NewBlob(blob)} {
		part, err := plain.Slice(v, 27, 30)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := part.AsBytes().All(0); err != nil || string(b) != "bcd" {
			t.Errorf("got %q, %v", b, err)
		}
	}
	for _, c := range []struct {
		v          value.Value
		start, end int64
	}{{list(), 1, 2}, {list(value.Int(1)), -1, 1}, {value.Str("ab"), 1, 0}, {value.Int(1), 0, 1}, {rec(), 0, 1}, {okOutcome("x"), 0, 1}} {
		if got, err := plain.Slice(c.v, c.start, c.end); err == nil {
			t.Errorf("%s[%d..%d]: got %s, want an error", value.Inline(c.v), c.start, c.end, value.Inline(got))
		}
	}
}

func TestRaw(t *testing.T) {
	long := strings.Repeat("é", 100_000)
	p, err := plain.Raw(value.Str(long), &[2]int64{0, 100_000})
	if err != nil || len(p.Data) != RawPiece || p.Next != RawPiece/2 || p.Len != 100_000 || !p.Text {
		t.Errorf("str: %d bytes, next %d of %d, %v", len(p.Data), p.Next, p.Len, err)
	}
	var tooLong *TooLong
	if _, err := plain.Raw(value.Str(long), nil); !errors.As(err, &tooLong) || tooLong.Len != 100_000 || tooLong.Next != RawPiece/2 {
		t.Errorf("got %v", err)
	}
	whole := ""
	v := value.NewOutcome(&value.Outcome{OK: true, Stdout: text("x" + long)})
	for at := int64(0); ; {
		p, err := plain.Raw(v, &[2]int64{at, 1 << 40})
		if err != nil || !p.Text {
			t.Fatalf("piece at %d: text %v, %v", at, p.Text, err)
		}
		whole += string(p.Data)
		if at = p.Next; at == 0 {
			break
		}
	}
	if whole != "x"+long {
		t.Errorf("pieces give %d bytes", len(whole))
	}
	if p, err := plain.Raw(text("\xff\xfeok"), nil); err != nil || p.Text || string(p.Data) != "\xff\xfeok" || p.Next != 0 {
		t.Errorf("bytes: %+v, %v", p, err)
	}
	if p, err := plain.Raw(value.Path("a\xff"), nil); err != nil || string(p.Data) != "a\xff" {
		t.Errorf("path: %+v, %v", p, err)
	}
	if p, err := plain.Raw(text("abcdef"), &[2]int64{1, 3}); err != nil || string(p.Data) != "bc" || p.Next != 3 {
		t.Errorf("slice: %+v, %v", p, err)
	}
	if _, err := plain.Raw(value.Int(1), nil); err == nil {
		t.Error("an int has raw bytes")
	}
	if _, err := plain.Raw(text("ab"), &[2]int64{3, 4}); err == nil {
		t.Error("a start beyond the end is no error")
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{".a.b[0]", `["k"][1..2]`, ".rows.rows[0].a", "[", `["\u0041"]`, ".é[-1]"} {
		f.Add(s)
	}
	v := rec("a", list(rec("b", value.Str("x"))), "rows", table(rec("a", value.Int(1))), "k", value.NewRange(0, 9, false))
	f.Fuzz(func(t *testing.T, path string) {
		got, err := plain.At(v, path)
		var pe *PathError
		if err != nil && !errors.As(err, &pe) {
			t.Fatalf("%q: %T %v", path, err, err)
		}
		if err == nil {
			plain.Wire(got, Limits{}, Place{"u", path})
		}
	})
}
