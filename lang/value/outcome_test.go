package value

import (
	"io"
	"strings"
	"sync"
	"testing"
)

func TestOutcomeOut(t *testing.T) {
	cases := []struct{ stdout, want string }{
		{"hi\n", `"hi"`}, {"hi\n\n", `"hi\n"`}, {"", `""`}, {"{}", "{}"}, {" \n[1]\n", "[1]"}, {"[1] x", `"[1] x"`},
		{"12", `"12"`}, {`"s"`, `"\"s\""`}, {"[{\"a\":1}]", "[{a: 1}]"}, {"{bad", `"{bad"`}, {"\xff\xfeok", "bytes(4b)"}, {"a\r\n", `"a\r"`},
	}
	for _, c := range cases {
		o := okOutcome(c.stdout).AsOutcome()
		got, err := o.OutValue()
		if err != nil || Inline(got) != c.want {
			t.Errorf("%q: got %s, %v, want %s", c.stdout, Inline(got), err, c.want)
		}
	}
	structured := NewOutcome(&Outcome{OK: true, HasOut: true, Out: Str("[1]")}).AsOutcome()
	if got, err := structured.OutValue(); err != nil || Inline(got) != `"[1]"` {
		t.Errorf("a structured value is sniffed: %s, %v", Inline(got), err)
	}
}

func TestFailedOutcomeRaises(t *testing.T) {
	o := failed("", "x\n").AsOutcome()
	_, err := o.OutValue()
	if err == nil || err.Code != CodeCmdFailed || err.Msg != "`make all` exited with status 2" || *err.Status != 2 || err.Stderr != "x\n" {
		t.Errorf("got %+v", err)
	}
	for _, name := range OutcomeFields() {
		v, ok, err := o.Field(name)
		if raises := name == "out" || name == "err"; !ok || raises != (err != nil) {
			t.Errorf("%s: %s, %v, %v", name, Inline(v), ok, err)
		}
	}
	if _, ok, _ := o.Field("nope"); ok {
		t.Error("an unknown field is found")
	}
	killed := NewOutcome(&Outcome{Signal: "SIGTERM", Cmd: "sleep 9"}).AsOutcome()
	if _, err := killed.OutValue(); err.Msg != "`sleep 9` died from SIGTERM" {
		t.Errorf("got %v", err)
	}
}

func TestFailKeepsTheEndOfStderr(t *testing.T) {
	text := strings.Repeat("noise noise\n", 10_000) + "the reason\n"
	err := failed("", text).AsOutcome().Fail()
	if len(err.Stderr) > failStderr || !strings.HasSuffix(err.Stderr, "the reason\n") || !strings.HasPrefix(err.Stderr, "noise noise\n") {
		t.Errorf("%d bytes, %.20q", len(err.Stderr), err.Stderr)
	}
}

// chunkBlob hides that its bytes are in memory and counts what is read.
type chunkBlob struct {
	mu   sync.Mutex
	b    string
	read int
}

func (c *chunkBlob) Len() int64   { return int64(len(c.b)) }
func (c *chunkBlob) Total() int64 { return int64(len(c.b)) }
func (c *chunkBlob) Ref() string  { return "" }

func (c *chunkBlob) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, c.b[off:])
	c.mu.Lock()
	c.read += n
	c.mu.Unlock()
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func TestCharactersAcrossChunks(t *testing.T) {
	text := strings.Repeat("a — b😀", 30_000)
	o := NewOutcome(&Outcome{OK: true, Stdout: NewBlob(&chunkBlob{b: text})}).AsOutcome()
	got, err := o.OutValue()
	if err != nil || got.Kind() != KindStr || got.AsStr() != text {
		t.Errorf("got %s, %v", got.Kind(), err)
	}
	cutOff := NewBlob(&chunkBlob{b: text[:len(text)-1]}).AsBytes()
	if valid, _, _ := cutOff.IsText(); valid {
		t.Error("a character cut at the end counts as text")
	}
}

func TestOutcomeDecodesOnce(t *testing.T) {
	blob := &chunkBlob{b: `{"a": 1}`}
	o := NewOutcome(&Outcome{OK: true, Stdout: NewBlob(blob)}).AsOutcome()
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if v, err := o.OutValue(); err != nil || Inline(v) != "{a: 1}" {
				t.Errorf("got %s, %v", Inline(v), err)
			}
		})
	}
	wg.Wait()
	if blob.read > 3*len(blob.b) {
		t.Errorf("read %d bytes of %d", blob.read, len(blob.b))
	}
}

func TestStreamHasOneConsumer(t *testing.T) {
	s := NewStream("s", true, 7).AsStream()
	if src, err := s.Take(); err != nil || src != 7 {
		t.Errorf("first: %v, %v", src, err)
	}
	if _, err := s.Take(); err == nil || err.Code != CodeStreamConsumed || !strings.Contains(err.Hint, "tee") {
		t.Errorf("second: %v", err)
	}
}
