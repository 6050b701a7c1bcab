package value

import (
	"math"
	"testing"
	"time"
)

// must gives the value of a constructor that may fail.
func must(v Value, err *Error) Value {
	if err != nil {
		panic(err)
	}
	return v
}

// rec makes a record of alternating keys and values.
func rec(kv ...any) Value {
	var b RecordBuilder
	for i := 0; i < len(kv); i += 2 {
		b.Add(kv[i].(string), kv[i+1].(Value))
	}
	return b.Done()
}

func table(rows ...Value) Value {
	rs := make([]*Record, len(rows))
	for i, r := range rows {
		rs[i] = r.AsRecord()
	}
	return NewTable(rs)
}

func list(items ...Value) Value { return NewList(items) }

func intPtr(n int) *int { return &n }

// storedBlob is content that has a ref.
type storedBlob struct {
	Blob
	ref string
}

func (s storedBlob) Ref() string { return s.ref }

func failed(stdout, stderr string) Value {
	return NewOutcome(&Outcome{Status: intPtr(2), Cmd: "make all", PID: 7,
		Stdout: NewBytes([]byte(stdout)), Stderr: NewBytes([]byte(stderr))})
}

func okOutcome(stdout string) Value {
	return NewOutcome(&Outcome{OK: true, Status: intPtr(0), Cmd: "run", Stdout: NewBytes([]byte(stdout))})
}

// golden is every type in each of its forms.
var golden = []struct {
	name   string
	v      Value
	inline string
	block  string
	json   string
}{
	{"null", Null, "null", "", "null"},
	{"true", Bool(true), "true", "true", "true"},
	{"int", Int(-42), "-42", "-42", "-42"},
	{"int min", Int(math.MinInt64), "-9223372036854775808", "-9223372036854775808", "-9223372036854775808"},
	{"float whole", Float(2), "2", "2", "2.0"},
	{"float big", Float(1e9), "1000000000", "1000000000", "1000000000.0"},
	{"float small", Float(1e-7), "0.0000001", "0.0000001", "1e-7"},
	{"float negative zero", Float(math.Copysign(0, -1)), "-0", "-0", "-0.0"},
	{"float huge", Float(1e21), "1000000000000000000000", "1000000000000000000000", "1e+21"},
	{"nan", Float(math.NaN()), "nan", "nan", "null"},
	{"inf", Float(math.Inf(-1)), "-inf", "-inf", "null"},
	{"str", Str("a\"b\\c\nd\te\x00é\u2028"), `"a\"b\\c\nd\te\0é` + "\u2028\"", "a\"b\\c\nd\te\x00é\u2028", `"a\"b\\c\nd\te\u0000é` + "\u2028\""},
	{"path", Path("/a/b"), "/a/b", "/a/b", `"/a/b"`},
	{"path blank", Path("/a b"), `"/a b"`, "/a b", `"/a b"`},
	{"path bytes", Path("p\xff"), "p\uFFFD", "p\uFFFD", "\"p\uFFFD\""},
	{"glob", NewGlob(Glob{Pattern: "*.go", Cwd: "/w", Hidden: true}), "*.go", "*.go", `"*.go"`},
	{"regex", must(NewRegex(`a(?<n>\d+)`)), `re"a(?<n>\d+)"`, `re"a(?<n>\d+)"`, `"a(?<n>\\d+)"`},
	{"size", Size(1536), "1.54kb", "1.54kb", "1536"},
	{"duration", Duration(90 * time.Second), "1m30s", "1m30s", "90000000000"},
	{"datetime", NewDatetime(time.Date(2026, 7, 9, 14, 0, 0, 500e6, time.UTC)), "2026-07-09T14:00:00.5Z", "2026-07-09T14:00:00.5Z", `"2026-07-09T14:00:00.5+00:00[UTC]"`},
	{"time", TimeOfDay(int64(13*time.Hour + 5*time.Minute)), "13:05", "13:05", `"13:05"`},
	{"bytes", NewBytes([]byte("hi\n")), "bytes(3b)", "hi", `"hi\n"`},
	{"bytes in store", NewBlob(storedBlob{BytesBlob([]byte("hi")), "val:blake3:ab"}), "bytes(2b) val:blake3:ab", "hi", `"hi"`},
	{"bytes in store nested", list(NewBlob(storedBlob{BytesBlob([]byte("hi")), "val:blake3:ab"})), "[bytes(2b) val:blake3:ab]", "bytes(2b) val:blake3:ab", `[{"$":"bytes_ref","ref":"val:blake3:ab","len":2,"preview":"hi"}]`},
	{"empty list", list(), "[]", "[]", "[]"},
	{"list", list(Int(1), Str("x\ny"), Null, list(Str("z"))), `[1, "x\ny", null, ["z"]]`, "1\nx␤y\nnull\n[\"z\"]", `[1,"x\ny",null,["z"]]`},
	{"record", rec("b", Int(3), "a-b", Null, "", Str("q")), `{b: 3, "a-b": null, "": "q"}`, "b    3\na-b\n     q", `{"b":3,"a-b":null,"":"q"}`},
	{"empty record", rec(), "{}", "{}", "{}"},
	{"table", table(rec("name", Str("a"), "size", Size(5)), rec("name", Str("long"), "x", Int(1))),
		`[{name: "a", size: 5b}, {name: "long", x: 1}]`, "name  size  x\na       5b\nlong        1", `[{"name":"a","size":5},{"name":"long","x":1}]`},
	{"list of records", list(rec("k", Str("日本")), rec("k", Str("v"))), `[{k: "日本"}, {k: "v"}]`, "k\n日本\nv", `[{"k":"日本"},{"k":"v"}]`},
	{"empty table", table(), "[]", "(empty table)", "[]"},
	{"range", NewRange(1, 4, false), "1..4", "1..4", "[1,2,3]"},
	{"range inclusive", NewRange(1, 3, true), "1..=3", "1..=3", "[1,2,3]"},
	{"range empty", NewRange(5, 1, false), "5..1", "5..1", "[]"},
	{"error", NewError(Errorf("custom", "no").WithHint("do it").WithStatus(3)), "error(custom: no)", "error(custom): no\nhint: do it", `{"code":"custom","msg":"no"}`},
	{"outcome text", okOutcome("hi\n"), "outcome(status: 0, ok: true)", "hi", `{"status":0,"ok":true,"out":"hi","err":""}`},
	{"outcome json", okOutcome("[1, 2]\n"), "outcome(status: 0, ok: true)", "[1, 2]", `{"status":0,"ok":true,"out":[1,2],"err":""}`},
	{"outcome empty", okOutcome(""), "outcome(status: 0, ok: true)", "ok", `{"status":0,"ok":true,"out":"","err":""}`},
	{"outcome value", NewOutcome(&Outcome{OK: true, Status: intPtr(0), HasOut: true, Out: list(Int(1), Int(2))}), "outcome(status: 0, ok: true)", "1\n2", `{"status":0,"ok":true,"out":[1,2],"err":""}`},
	{"outcome failed", failed("one\ntwo\n", "bad\nworse\n"), "outcome(status: 2, ok: false)", "one\ntwo\nfailed: status 2\nbad\nworse", `{"status":2,"ok":false,"out":null,"err":"bad\nworse\n"}`},
	{"outcome signal", NewOutcome(&Outcome{Signal: "SIGSEGV"}), "outcome(signal: SIGSEGV, ok: false)", "failed: signal SIGSEGV", `{"status":null,"ok":false,"out":null,"err":""}`},
	{"outcome lost", NewOutcome(&Outcome{}), "outcome(status: -1, ok: false)", "failed: status -1", `{"status":null,"ok":false,"out":null,"err":""}`},
	{"closure", NewClosure("fn f(a, ...r)", nil), "fn f(a, ...r)", "fn f(a, ...r)", `"fn f(a, ...r)"`},
	{"command", NewCommand("git", "git log", nil), "command(git)", "command(git)", `"command(git)"`},
	{"secret", NewSecret("TOKEN", "hunter2"), "secret(TOKEN)", "secret(TOKEN)", `"secret(TOKEN)"`},
	{"task", NewTask("task:4", nil), "task(4)", "task(4)", `"task(4)"`},
	{"stream", NewStream("every", false, nil), "stream<every>", "stream<every>", `"stream<every>"`},
}

func TestGolden(t *testing.T) {
	for _, c := range golden {
		t.Run(c.name, func(t *testing.T) {
			if got := Inline(c.v); got != c.inline {
				t.Errorf("inline: got %q, want %q", got, c.inline)
			}
			if got := Block(c.v, BlockOptions{}); got != c.block {
				t.Errorf("block: got %q, want %q", got, c.block)
			}
			if got, err := JSON(c.v, false); err != nil || got != c.json {
				t.Errorf("json: got %q, %v, want %q", got, err, c.json)
			}
		})
	}
}

func TestBlockLineCountAgrees(t *testing.T) {
	for _, c := range golden {
		n := int64(0)
		for range BlockLines(c.v, BlockOptions{}) {
			n++
		}
		if got := BlockLineCount(c.v); got != n {
			t.Errorf("%s: count %d, lines %d", c.name, got, n)
		}
	}
}

func TestPrettyJSON(t *testing.T) {
	v := rec("a", list(Int(1), rec()), "b", list())
	want := "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}"
	if got, err := JSON(v, true); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestRenderingBoundsDepthAndSharing(t *testing.T) {
	deep := Null
	for range 100_000 {
		deep = list(deep)
	}
	if got := Inline(deep); len(got) > 5*MaxDepth {
		t.Errorf("inline of a deep value is %d bytes", len(got))
	}
	if got, err := JSON(deep, true); err != nil || len(got) > 3*MaxDepth*MaxDepth {
		t.Errorf("json of a deep value: %d bytes, %v", len(got), err)
	}
	shared := list(Int(1))
	for range 200 {
		shared = list(shared, shared)
	}
	if got, cut := AppendInlineLimit(nil, shared, 100); !cut || len(got) > 1000 {
		t.Errorf("limited inline: %d bytes, cut %v", len(got), cut)
	}
	for line := range BlockLines(shared, BlockOptions{LineBytes: 80}) {
		if len(line) > 1000 {
			t.Errorf("line of %d bytes", len(line))
		}
		break
	}
}

func TestTableWidths(t *testing.T) {
	long := ""
	for range 70 {
		long += "x"
	}
	v := table(rec("a", Str(long), "b", Int(1)), rec("a", Str("s\tt\x1b"), "b", Null))
	got := Block(v, BlockOptions{Width: 20})
	want := "a                  b\nxxxxxxxxxxxxxxxx…  1\ns t␛"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	wide := Block(table(rec("k", Str(long))), BlockOptions{})
	if want := "k\n" + long[:59] + "…"; wide != want {
		t.Errorf("cell: got %q, want %q", wide, want)
	}
}

func TestSecretsStayOutOfFormatting(t *testing.T) {
	s := NewSecret("K", "hunter2").AsSecret()
	if got := s.String(); got != "secret(K)" || s.Reveal() != "hunter2" {
		t.Errorf("got %q", got)
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x"} {
		if got := Errorf("c", format, s).Msg; got != "secret(K)" {
			t.Errorf("%s shows %q", format, got)
		}
	}
}
