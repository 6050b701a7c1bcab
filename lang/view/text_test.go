package view

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

const uri = "shoal://out/17"

// check verifies the arithmetic and the caps of a text and gives its body,
// without the marker.
func check(t *testing.T, s Shown, limit int) string {
	t.Helper()
	body := s.Text
	if s.Truncated {
		var n int64
		i := strings.LastIndexByte(body, '\n')
		if _, err := fmt.Sscanf(body[i+1:], "…(%d more lines, fetch via "+uri+")", &n); err != nil {
			t.Fatalf("no marker at the end of %.200q", body)
		}
		if s.Lines+n != s.Total {
			t.Errorf("%d shown and %d more are not %d", s.Lines, n, s.Total)
		}
		body = body[:max(i, 0)]
	} else if s.Lines != s.Total {
		t.Errorf("%d of %d lines, not truncated", s.Lines, s.Total)
	}
	if len(body) > limit {
		t.Errorf("%d bytes, limit %d", len(body), limit)
	}
	if !utf8.ValidString(s.Text) {
		t.Error("text is not UTF-8")
	}
	return body
}

func TestTextKeepsTheEndOfOutput(t *testing.T) {
	var b strings.Builder
	for i := range 5000 {
		fmt.Fprintln(&b, i+1)
	}
	b.WriteString("ANSWER=42\n")
	s := Text(okOutcome(b.String()), 2048, uri)
	body := check(t, s, 2048)
	lines := strings.Split(body, "\n")
	if s.Total != 5001 || !s.Truncated || lines[0] != "1" || lines[len(lines)-1] != "ANSWER=42" || int64(len(lines)) != s.Lines+1 {
		t.Errorf("%d lines of %d: %.100q", s.Lines, s.Total, body)
	}
	if len(body) < 1900 {
		t.Errorf("only %d bytes of 2048 are used", len(body))
	}
	if strings.Count(body, "\n…\n") != 1 {
		t.Error("no gap line")
	}
}

func TestTextUnderTheCapIsWhole(t *testing.T) {
	out := strings.Repeat(strings.Repeat("x", 207)+"\n", 200)
	s := Text(okOutcome(out), 0, uri)
	if s.Truncated || s.Text+"\n" != out || s.Lines != 200 {
		t.Errorf("truncated %v, %d lines", s.Truncated, s.Lines)
	}
	exact := strings.Repeat("abcdefg\n", 8)
	if s := Text(okOutcome(exact), 63, uri); s.Truncated {
		t.Errorf("text of exactly the limit is cut: %q", s.Text)
	}
	if s := Text(okOutcome(exact), 62, uri); !s.Truncated {
		t.Error("text over the limit is not cut")
	}
}

func TestTextResolvesTerminalOutput(t *testing.T) {
	frames := ""
	for i := range 200 {
		frames += fmt.Sprintf("\x1b[2K\rframe %d", i)
	}
	cases := []struct{ out, want string }{
		{"0%\r50%\r100%\n", "100%"},
		{frames + "\n", "frame 199"},
		{frames + "\x1b[2K\rdone", "done"},
		{"\x1b[1;31mred\x1b[0m plain\n", "red plain"},
		{"a\r\nb\r\n", "a\nb"},
		{"abcdef\rXY\n", "XYcdef"},
		{"abc\b\bX\n", "aXc"},
		{"abc\x1b[D\x1b[KX\n", "abX"},
		{"\x1b]0;title\x07text\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\\n", "textlink"},
		{"\x1b(Bx\x1b=y\n", "xy"},
		{"long progress\rshort        \n", "short"},
		{"a\x1b[5Gb\n", "a   b"},
		{"tab\there\x07\n", "tab\there"},
		{"ünï\r\x1b[2Cx\n", "ünx"},
		{"\x1b[", ""},
		{"x\xff\ry\n", "y\uFFFD"},
		{"a\n\n\nb\n\n", "a\n\n\nb\n"},
		{"null\x00byte\n", "nullbyte"},
	}
	for _, c := range cases {
		for _, v := range []value.Value{okOutcome(c.out), text(c.out), value.NewBlob(&genBlob{size: int64(len(c.out)), at: func(i int64) byte { return c.out[i] }})} {
			if c.out == "\x1b[" && v.Kind() == value.KindOutcome {
				continue
			}
			if s := Text(v, 0, uri); s.Text != c.want || s.Truncated {
				t.Errorf("%q: got %q, truncated %v, want %q", c.out, s.Text, s.Truncated, c.want)
			}
		}
		// The same in pieces of every size.
		for size := 1; size < min(len(c.out), 9); size++ {
			sink := captured{limit: 1000}
			r := resolver{sink: &sink, limit: 1000}
			for rest := c.out; rest != ""; {
				n := min(size, len(rest))
				r.Write([]byte(rest[:n]))
				rest = rest[n:]
			}
			r.Close()
			if got := sink.shown(nil, 0, uri).Text; got != c.want {
				t.Errorf("%q by %d: got %q, want %q", c.out, size, got, c.want)
			}
		}
	}
	if s := Text(okOutcome(frames+"\n"), 2000, uri); s.Lines != 1 || s.Total != 1 {
		t.Errorf("frames count as %d of %d lines", s.Lines, s.Total)
	}
}

func TestTextOfFailures(t *testing.T) {
	noise := strings.Repeat("compiling something\n", 10_000)
	errs := ""
	for i := range 50 {
		errs += "error " + strconv.Itoa(i) + "\n"
	}
	s := Text(failed(noise, errs), 4096, uri)
	body := check(t, s, 4096)
	want := "\nfailed: status 2\nerror 30\n"
	if !strings.Contains(body, want) || !strings.HasSuffix(body, "\nerror 49") || s.Total != 10_021 {
		t.Errorf("%d lines: …%q", s.Total, body[len(body)-300:])
	}
	if got := Text(failed("", ""), 4096, uri); got.Text != "failed: status 2" || got.Truncated {
		t.Errorf("got %+v", got)
	}
	if got := Text(failed("out\n", "e\n"), 4096, uri); got.Text != "out\nfailed: status 2\ne" {
		t.Errorf("got %+v", got)
	}
	tiny := Text(failed(noise, errs), 60, uri)
	if body := check(t, tiny, 60); !strings.Contains(body, "failed: status 2") || !strings.HasSuffix(body, "error 49") {
		t.Errorf("tiny: %q", body)
	}
}

func TestTextOfComputedValues(t *testing.T) {
	items := make([]value.Value, 1000)
	for i := range items {
		items[i] = rec("id", value.Int(int64(i)), "name", value.Str(strings.Repeat("n", i%50)))
	}
	for _, v := range []value.Value{list(items...), table(items...)} {
		s := Text(v, 1000, uri)
		if body := check(t, s, 1000); s.Total != 1001 || !s.Truncated || !strings.HasPrefix(body, " id  name") {
			t.Errorf("got %d of %d lines: %q", s.Lines, s.Total, body[:40])
		}
	}
	s := Text(value.Str("one\ntwo\nthree\n"), 8, uri)
	if check(t, s, 8) != "one\ntwo" || s.Total != 3 {
		t.Errorf("got %+v", s)
	}
	s = Text(value.Str(strings.Repeat("é", 100)), 51, uri)
	if body := check(t, s, 51); body != strings.Repeat("é", 25) || s.Total != 1 {
		t.Errorf("got %+v", s)
	}
	s = Text(okOutcome(strings.Repeat("é", 100)+"\n"), 51, uri)
	if body := check(t, s, 51); body != strings.Repeat("é", 25) || s.Total != 1 || !s.Truncated {
		t.Errorf("got %+v", s)
	}
	s = Text(value.NewOutcome(&value.Outcome{OK: true, HasOut: true, Out: list(value.Int(1), value.Int(2))}), 0, uri)
	if s.Text != "1\n2" || s.Truncated {
		t.Errorf("got %+v", s)
	}
	if s := Text(value.Null, 0, uri); s.Text != "" || s.Truncated {
		t.Errorf("null: %+v", s)
	}
	wide := table(rec("a", value.Str(strings.Repeat("x", 50)), "b", value.Str(strings.Repeat("y", 50))))
	for line := range strings.Lines(TextWidth(wide, 0, uri, 40).Text) {
		if len([]rune(strings.TrimSuffix(line, "\n"))) > 40 {
			t.Errorf("line over 40 columns: %q", line)
		}
	}
}

func TestTextOfHugeOutput(t *testing.T) {
	const line = "0123456789 some log line of ordinary length 0123456789\n"
	const lines = 2_000_000
	blob := &genBlob{size: lines * int64(len(line)), at: func(i int64) byte { return line[i%int64(len(line))] }}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	s := Text(value.NewBlob(blob), 8192, uri)
	runtime.ReadMemStats(&after)
	check(t, s, 8192)
	if s.Total != lines {
		t.Errorf("counted %d lines", s.Total)
	}
	if spent := after.TotalAlloc - before.TotalAlloc; spent > 8<<20 {
		t.Errorf("allocated %d MB", spent>>20)
	}
	// A single line without end, and a progress bar without end.
	for _, pattern := range []string{"x", "\r50%"} {
		blob := &genBlob{size: 8 << 20, at: func(i int64) byte { return pattern[i%int64(len(pattern))] }}
		runtime.ReadMemStats(&before)
		s := Text(value.NewBlob(blob), 8192, uri)
		runtime.ReadMemStats(&after)
		check(t, s, 8192)
		if spent := after.TotalAlloc - before.TotalAlloc; s.Total != 1 || spent > 8<<20 {
			t.Errorf("%q: %d lines, allocated %d MB", pattern, s.Total, spent>>20)
		}
	}
}

func TestTextArithmetic(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"a", "line\n", "\n", "é", strings.Repeat("w", 300), "\r", "\x1b[1m", "\xff", "\t", "x\ry\n", "日本\n"}
	for i := range 3000 {
		var b strings.Builder
		for range r.IntN(60) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		limit := []int{1, 7, 50, 200, 1000, 1 << 20}[i%6]
		src := b.String()
		var want int64
		if src != "" {
			want = int64(strings.Count(src, "\n"))
			if !strings.HasSuffix(src, "\n") {
				want++
			}
		}
		for _, v := range []value.Value{text(src), value.Str(src), failed(src, src)} {
			s := Text(v, limit, uri)
			check(t, s, limit)
			if v.Kind() != value.KindOutcome && s.Total != want {
				t.Fatalf("%q as %s: %d lines, want %d", src, v.Kind(), s.Total, want)
			}
		}
		if t.Failed() {
			t.Fatalf("source %q, limit %d", src, limit)
		}
	}
}

func FuzzResolver(f *testing.F) {
	f.Add([]byte("a\x1b[2K\rb\n"), 3)
	f.Fuzz(func(t *testing.T, src []byte, size int) {
		size = max(1, size&15)
		sinks := [2]captured{{limit: 500}, {limit: 500}}
		whole := resolver{sink: &sinks[0], limit: 501}
		whole.Write(src)
		whole.Close()
		parts := resolver{sink: &sinks[1], limit: 501}
		for rest := src; len(rest) > 0; {
			n := min(size, len(rest))
			parts.Write(rest[:n])
			rest = rest[n:]
		}
		parts.Close()
		if a, b := sinks[0].shown(nil, 0, uri), sinks[1].shown(nil, 0, uri); a != b {
			t.Fatalf("%q by %d: %+v, whole: %+v", src, size, b, a)
		}
	})
}

func BenchmarkText100MB(b *testing.B) {
	data := []byte(strings.Repeat("0123456789 some log line of ordinary length 0123456789\n", 100<<20/55))
	v := value.NewBytes(data)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		Text(v, 8192, uri)
	}
}
