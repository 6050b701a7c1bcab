package view

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/lang/value"
)

var out17 = Place{URI: "shoal://out/17"}

func TestWireTags(t *testing.T) {
	regex, _ := value.NewRegex(`\d+`)
	zone := time.FixedZone("", 2*3600)
	cases := []struct {
		v    value.Value
		want string
	}{
		{value.Null, `{"$":"null"}`},
		{value.Bool(true), `{"$":"bool","v":true}`},
		{value.Int(1<<60 + 1), `{"$":"int","v":1152921504606846977}`},
		{value.Float(2), `{"$":"float","v":2.0}`},
		{value.Float(math.NaN()), `{"$":"float","v":"nan"}`},
		{value.Float(math.Inf(-1)), `{"$":"float","v":"-inf"}`},
		{value.Str("a\"é\n"), `{"$":"str","v":"a\"é\n"}`},
		{value.Size(1 << 63), `{"$":"size","v":9223372036854775808}`},
		{value.Duration(time.Second), `{"$":"duration","v":1000000000}`},
		{text("hi"), `{"$":"bytes","text":"hi"}`},
		{text("\xff\xfeok"), `{"$":"bytes","v":"//5vaw=="}`},
		{text("a\x00"), `{"$":"bytes","v":"YQA="}`},
		{value.Path("/a b"), `{"$":"path","v":"/a b"}`},
		{value.Path("p\xff"), "{\"$\":\"path\",\"v\":\"p\uFFFD\",\"raw\":\"cP8=\"}"},
		{list(value.Int(1), list()), `{"$":"list","v":[{"$":"int","v":1},{"$":"list","v":[]}]}`},
		{rec("b", value.Null, "a", value.Int(1)), `{"$":"record","v":{"b":{"$":"null"},"a":{"$":"int","v":1}}}`},
		{table(rec("a", value.Int(1)), rec("b", value.Int(2))),
			`{"$":"table","cols":{"a":[{"$":"int","v":1},{"$":"null"}],"b":[{"$":"null"},{"$":"int","v":2}]},"n":2}`},
		{table(), `{"$":"table","cols":{},"n":0}`},
		{value.NewDatetime(time.Date(2026, 7, 1, 10, 0, 0, 5, zone)), `{"$":"datetime","v":"2026-07-01T10:00:00.000000005+02:00"}`},
		{value.TimeOfDay(int64(13 * time.Hour)), `{"$":"time","v":"13:00:00"}`},
		{value.TimeOfDay(int64(13*time.Hour + 250*time.Millisecond)), `{"$":"time","v":"13:00:00.25"}`},
		{value.NewGlob(value.Glob{Pattern: "*.go"}), `{"$":"glob","pattern":"*.go"}`},
		{regex, `{"$":"regex","src":"\\d+"}`},
		{value.NewRange(1, 5, true), `{"$":"range","start":1,"end":5,"inclusive":true}`},
		{value.NewTask("task:3", nil), `{"$":"task","id":"task:3","done":false}`},
		{value.NewClosure("fn f(a)", nil), `{"$":"closure","repr":"fn f(a)"}`},
		{value.NewCommand("git", "git log", nil), `{"$":"cmd","repr":"git log"}`},
		{value.NewStream("every", false, nil), `{"$":"stream","label":"every","bounded":false}`},
		{value.NewSecret("K", "hunter2"), `{"$":"secret","name":"K"}`},
		{value.NewError(value.Errorf("custom", "no").WithHint("h").WithStderr("e").WithStatus(1).WithSpan(value.Span{Start: 1, End: 2})),
			`{"$":"error","code":"custom","msg":"no","span":{"start":1,"end":2},"hint":"h","stderr":"e","status":1}`},
		{value.NewError(&value.Error{Code: "parse_error", Msg: "no", Span: &value.Span{Start: 1, End: 2}, File: "/m.shl"}),
			`{"$":"error","code":"parse_error","msg":"no","span":{"start":1,"end":2},"file":"/m.shl"}`},
		{okOutcome("hi\n"), `{"$":"outcome","status":0,"ok":true,"signal":null,"dur_ns":5,"pid":7,"cmd":"run","out":{"$":"str","v":"hi"},"stderr":{"$":"bytes","text":""}}`},
		{okOutcome("[1]\n"), `{"$":"outcome","status":0,"ok":true,"signal":null,"dur_ns":5,"pid":7,"cmd":"run","out":{"$":"list","v":[{"$":"int","v":1}]},"stderr":{"$":"bytes","text":""},"stdout":{"$":"bytes","text":"[1]\n"}}`},
		{okOutcome("\xff\xfeok"), `{"$":"outcome","status":0,"ok":true,"signal":null,"dur_ns":5,"pid":7,"cmd":"run","out":{"$":"bytes","v":"//5vaw=="},"stderr":{"$":"bytes","text":""}}`},
		{failed("o", "e"), `{"$":"outcome","status":2,"ok":false,"signal":null,"dur_ns":0,"pid":7,"cmd":"make all","out":{"$":"null"},"stderr":{"$":"bytes","text":"e"},"stdout":{"$":"bytes","text":"o"}}`},
		{value.NewOutcome(&value.Outcome{OK: true, Status: intPtr(0), HasOut: true, Out: value.Int(1), Cmd: "ls"}),
			`{"$":"outcome","status":0,"ok":true,"signal":null,"dur_ns":0,"pid":0,"cmd":"ls","out":{"$":"int","v":1},"stderr":{"$":"bytes","text":""}}`},
	}
	for _, c := range cases {
		got, truncated := plain.Wire(c.v, Limits{}, out17)
		if string(got) != c.want || truncated || !json.Valid(got) {
			t.Errorf("%s: got %s, truncated %v, want %s", value.Inline(c.v), got, truncated, c.want)
		}
	}
}

// refOf decodes a ref.
type refOf struct {
	Tag        string            `json:"$"`
	URI        string            `json:"uri"`
	Of         string            `json:"of"`
	N          int64             `json:"n"`
	Cols       map[string]string `json:"cols"`
	Preview    json.RawMessage   `json:"preview"`
	RenderHead string            `json:"render_head"`
}

func decodeRef(t *testing.T, b []byte) refOf {
	t.Helper()
	var r refOf
	if err := json.Unmarshal(b, &r); err != nil || r.Tag != "ref" {
		t.Fatalf("no ref: %.300s, %v", b, err)
	}
	return r
}

func TestWireElidesTable(t *testing.T) {
	rows := make([]value.Value, 101)
	for i := range rows {
		rows[i] = rec("id", value.Int(int64(i)), "size", value.Size(5))
	}
	if _, truncated := plain.Wire(table(rows[:100]...), Limits{MaxBytes: HardCap}, out17); truncated {
		t.Error("100 rows are elided")
	}
	for _, v := range []value.Value{table(rows...), list(rows...)} {
		b, truncated := plain.Wire(v, Limits{MaxBytes: HardCap}, out17)
		r := decodeRef(t, b)
		if !truncated || r.URI != "shoal://out/17" || r.Of != v.Kind().String() || r.N != 101 || r.Cols["size"] != "size" {
			t.Errorf("got %+v", r)
		}
		if strings.Count(r.RenderHead, "\n") != 9 || !strings.HasPrefix(r.RenderHead, "id  size\n 0    5b\n") {
			t.Errorf("head: %q", r.RenderHead)
		}
		if n := strings.Count(string(r.Preview), `"size"`); n < 1 || !strings.Contains(string(r.Preview), `"v":4`) || strings.Contains(string(r.Preview), `"v":5}]`) && v.Kind() == value.KindList {
			t.Errorf("preview: %s", r.Preview)
		}
	}
}

func TestWireElidesListStrAndBytes(t *testing.T) {
	ints := make([]value.Value, 501)
	for i := range ints {
		ints[i] = value.Int(int64(i))
	}
	if b, truncated := plain.Wire(list(ints[:500]...), Limits{MaxBytes: HardCap}, out17); truncated {
		t.Errorf("500 items are elided: %.80s", b)
	}
	b, _ := plain.Wire(list(ints...), Limits{MaxBytes: HardCap}, out17)
	if r := decodeRef(t, b); r.N != 501 || string(r.Preview) != `{"$":"list","v":[{"$":"int","v":0},{"$":"int","v":1},{"$":"int","v":2},{"$":"int","v":3},{"$":"int","v":4}]}` {
		t.Errorf("list: %+v", r)
	}
	b, _ = plain.Wire(value.Str(strings.Repeat("é", 9000)), Limits{}, out17)
	if r := decodeRef(t, b); r.N != 9000 || string(r.Preview) != `{"$":"str","v":"`+strings.Repeat("é", 256)+`"}` {
		t.Errorf("str: %+v", r)
	}
	b, _ = plain.Wire(value.NewBytes(make([]byte, 4097)), Limits{}, out17)
	if r := decodeRef(t, b); r.N != 4097 || !strings.HasPrefix(string(r.Preview), `{"$":"bytes","v":"AAAA`) {
		t.Errorf("bytes: %+v", r)
	}
	if _, truncated := plain.Wire(value.NewBytes(make([]byte, 4096)), Limits{}, out17); truncated {
		t.Error("4 KiB that are no text are elided")
	}
}

func TestWireElidesParts(t *testing.T) {
	big := value.Str(strings.Repeat("x", 20_000))
	b, truncated := plain.Wire(rec("small", value.Int(1), `a "b".c`, big, "d", rec("e", big)), Limits{}, out17)
	var got struct {
		Tag string `json:"$"`
		V   map[string]json.RawMessage
	}
	if err := json.Unmarshal(b, &got); err != nil || got.Tag != "record" || !truncated {
		t.Fatalf("got %.200s, %v", b, err)
	}
	if r := decodeRef(t, got.V[`a "b".c`]); r.URI != `shoal://out/17?path=%5B%22a%20%5C%22b%5C%22.c%22%5D` || r.N != 20_000 {
		t.Errorf("got %+v", r)
	}
	if !strings.Contains(string(got.V["d"]), `shoal://out/17?path=.d.e`) {
		t.Errorf("nested: %s", got.V["d"])
	}
	b, _ = plain.Wire(list(value.Int(0), big), Limits{}, Place{"shoal://task/9/out", ".rows"})
	if !strings.Contains(string(b), `"uri":"shoal://task/9/out?path=.rows%5B1%5D"`) {
		t.Errorf("under a path: %.300s", b)
	}
}

func TestWireOutcomeKeepsMetadata(t *testing.T) {
	noise := strings.Repeat("line of output\n", 100_000)
	for _, maxBytes := range []int{1, 1000, 8192, HardCap} {
		for _, v := range []value.Value{okOutcome(noise), failed(noise, noise), value.NewOutcome(&value.Outcome{
			Signal: "SIGKILL", Cmd: strings.Repeat("\x01", 5000), Stdout: text("\xff" + noise), Stderr: text(noise)})} {
			b, truncated := plain.Wire(v, Limits{MaxBytes: maxBytes}, out17)
			var got struct {
				Tag                 string `json:"$"`
				OK                  bool
				PID                 int
				Out, Stdout, Stderr refOf
			}
			if err := json.Unmarshal(b, &got); err != nil || got.Tag != "outcome" || !truncated {
				t.Fatalf("max %d: %.300s, %v", maxBytes, b, err)
			}
			if len(b) > max(maxBytes, minRef) {
				t.Errorf("max %d: %d bytes", maxBytes, len(b))
			}
			if ref := got.Stdout; !got.OK && (ref.Tag != "ref" || ref.URI != "shoal://out/17?path=.stdout") {
				t.Errorf("max %d: stdout %+v", maxBytes, ref)
			}
		}
	}
}

func TestWireReadsLittle(t *testing.T) {
	blob := &genBlob{size: 1 << 40, at: func(int64) byte { return 'a' }}
	b, _ := plain.Wire(value.NewBlob(blob), Limits{MaxBytes: HardCap}, out17)
	if r := decodeRef(t, b); r.N != 1<<40 {
		t.Errorf("got %+v", r)
	}
	if n := blob.read.Load(); n > 16<<10 {
		t.Errorf("read %d bytes", n)
	}
}

func TestWireIsCheapForLargeValues(t *testing.T) {
	items := make([]value.Value, 10_000_000)
	for i := range items {
		items[i] = value.Int(int64(i))
	}
	long := value.Str(strings.Repeat("long ", 200_000))
	many := make([]value.Value, 500)
	for i := range many {
		many[i] = long
	}
	wide := list(many...)
	shared := wide
	for range 60 {
		shared = list(shared, shared, shared)
	}
	for name, v := range map[string]value.Value{"list": list(items...), "nested": rec("rows", list(items...)), "wide": wide, "shared": shared} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b, truncated := plain.Wire(v, Limits{MaxBytes: HardCap}, out17)
		runtime.ReadMemStats(&after)
		if !truncated || len(b) > HardCap || !json.Valid(b) {
			t.Errorf("%s: %d bytes", name, len(b))
		}
		if spent := after.TotalAlloc - before.TotalAlloc; spent > 64<<20 {
			t.Errorf("%s: allocated %d MB", name, spent>>20)
		}
	}
}

func TestWireDoesNotDecodeLargeOutput(t *testing.T) {
	const line = "zażółć log line\n"
	const lines = 1 << 20
	blob := &genBlob{size: lines * int64(len(line)), at: func(i int64) byte { return line[i%int64(len(line))] }}
	v := value.NewOutcome(&value.Outcome{OK: true, Status: intPtr(0), Stdout: value.NewBlob(blob)})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b, _ := plain.Wire(v, Limits{}, out17)
	runtime.ReadMemStats(&after)
	var got struct {
		Out    refOf
		Stdout *refOf
	}
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	if r := got.Out; r.Of != "str" || r.N != 16*lines-1 || r.URI != "shoal://out/17?path=.out" || !strings.HasPrefix(r.RenderHead, "zażółć log") || got.Stdout != nil {
		t.Errorf("got %+v", got)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 1<<20 {
		t.Errorf("allocated %d KB", spent>>10)
	}
	if out, err := v.AsOutcome().OutValue(); err != nil || out.Kind() != value.KindStr {
		t.Errorf("the value itself: %s, %v", out.Kind(), err)
	}
	if again, _ := plain.Wire(v, Limits{}, out17); string(again) != string(b) {
		t.Errorf("differs once decoded:\n%s\n%s", again, b)
	}
}

// randomValue is a value with parts of many sizes.
func randomValue(r *rand.Rand, depth int) value.Value {
	n := []int{0, 1, 3, 10, 120, 700}[r.IntN(6)]
	n = min(n, []int{3, 10, 10, 700}[depth])
	switch k := r.IntN(13); {
	case k == 0:
		return value.Null
	case k == 1:
		return value.Int(r.Int64())
	case k == 2:
		return value.Float(r.NormFloat64())
	case k == 3:
		return value.Str(strings.Repeat("\x01é\"", n*n/4))
	case k == 4:
		return value.NewBytes([]byte(strings.Repeat("\xff\x00", n*4)))
	case k == 5:
		return value.Path(strings.Repeat("/\xff", n))
	case k == 6:
		return value.NewError(value.Errorf("custom", "%s", strings.Repeat("\x02", n*20)).WithStderr(strings.Repeat("é\n", n*50)))
	case k == 7:
		return failed(strings.Repeat("out\x03\n", n*20), strings.Repeat("err\n", n*20))
	case depth == 0:
		return value.Bool(true)
	case k == 8:
		return value.NewOutcome(&value.Outcome{OK: true, HasOut: true, Out: randomValue(r, depth-1)})
	}
	items := make([]value.Value, n)
	for i := range items {
		switch r.IntN(3) {
		case 0:
			items[i] = rec("a", randomValue(r, depth-1), "key with\x01 blank", value.Int(1))
		default:
			items[i] = rec("k"+strconv.Itoa(r.IntN(3)), value.Str("v"))
		}
	}
	switch r.IntN(3) {
	case 0:
		return table(items...)
	case 1:
		var b value.RecordBuilder
		for i, item := range items {
			b.Add(strings.Repeat("k", r.IntN(20))+strconv.Itoa(i), item)
		}
		return b.Done()
	}
	return list(append(items, value.Null)...)
}

func TestWireIsValidAndBounded(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 600 {
		v := randomValue(r, 3)
		l := Limits{MaxBytes: []int{1, 100, 1024, 3000, 8192, 1 << 30}[i%6], MaxRows: i % 300, MaxItems: i % 700}
		b, truncated := plain.Wire(v, l, Place{"shoal://out/17", ".x"})
		if !json.Valid(b) {
			t.Fatalf("not JSON: %.500s", b)
		}
		if most := max(min(l.MaxBytes, HardCap), minRef); len(b) > most {
			t.Fatalf("%s: %d bytes, limit %d: %.300s", v.Kind(), len(b), most, b)
		}
		if has := strings.Contains(string(b), `{"$":"ref"`); has && !truncated {
			t.Fatalf("a ref without truncated: %.300s", b)
		}
	}
}

func BenchmarkWireTable(b *testing.B) {
	rows := make([]value.Value, 100)
	for i := range rows {
		rows[i] = rec("id", value.Int(int64(i)), "name", value.Str("name "+strconv.Itoa(i)), "score", value.Float(1.5), "ok", value.Bool(true))
	}
	v := table(rows...)
	b.ReportAllocs()
	for b.Loop() {
		plain.Wire(v, Limits{MaxBytes: HardCap}, out17)
	}
}
