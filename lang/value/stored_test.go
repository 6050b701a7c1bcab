package value

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// memStore is a content store in memory.
type memStore map[string]Blob

func (m memStore) codec() *Codec {
	return &Codec{
		PutBlob: func(b Blob) (string, error) {
			ref := contentRef(NewBlob(b).AsBytes())
			m[ref] = storedBlob{b, ref}
			return ref, nil
		},
		OpenBlob: func(ref string, n int64) (Blob, error) {
			if b, ok := m[ref]; ok && b.Len() == n {
				return b, nil
			}
			return nil, Errorf(CodeNotFound, "no %s", ref)
		},
		Closure:     func(c *Closure, _ int) ([]byte, error) { return []byte(c.Sig), nil },
		LoadClosure: func(b []byte) (Value, error) { return NewClosure(string(b), nil), nil },
	}
}

// stored puts v through its stored form.
func stored(t *testing.T, v Value, c *Codec) Value {
	t.Helper()
	b, err := AppendStored([]byte("x"), v, c)
	if err != nil {
		t.Fatalf("store %s: %v", Inline(v), err)
	}
	back, err := LoadStored(b[1:], c)
	if err != nil {
		t.Fatalf("load %s: %v", Inline(v), err)
	}
	return back
}

func TestStoredRoundTrip(t *testing.T) {
	codec := memStore{}.codec()
	for _, c := range golden {
		if k := c.v.Kind(); k == KindTask || k == KindStream || k == KindSecret {
			continue
		}
		back := stored(t, c.v, codec)
		if back.Kind() != c.v.Kind() || Inline(back) != c.inline && c.v.Kind() != KindBytes && c.name != "bytes in store nested" {
			t.Errorf("%s: got %s %s", c.name, back.Kind(), Inline(back))
		}
		if got := Block(back, BlockOptions{}); got != c.block && c.name != "bytes in store nested" {
			t.Errorf("%s: block %q, want %q", c.name, got, c.block)
		}
		switch c.v.Kind() {
		case KindClosure, KindOutcome:
		default:
			if c.name != "nan" && !strings.HasPrefix(c.name, "bytes in store") && !Same(back, c.v) {
				t.Errorf("%s: differs after loading", c.name)
			}
		}
	}
}

func TestStoredDetails(t *testing.T) {
	g := stored(t, NewGlob(Glob{Pattern: "*", Cwd: "/w", Hidden: true}), nil).AsGlob()
	if g.Cwd != "/w" || !g.Hidden || g.Follow {
		t.Errorf("glob: %+v", g)
	}
	e := stored(t, NewError(Errorf("c", "m").WithStderr("s").WithStatus(3).WithSpan(Span{1, 5})), nil).AsError()
	if e.Stderr != "s" || !e.HasStderr || *e.Status != 3 || *e.Span != (Span{1, 5}) {
		t.Errorf("error: %+v", e)
	}
	if e := stored(t, NewError(&Error{Code: "c", Span: &Span{1, 5}, File: "/m.shl"}), nil).AsError(); e.File != "/m.shl" || *e.Span != (Span{1, 5}) {
		t.Errorf("error in a file: %+v", e)
	}
	zone, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 7, 1, 10, 0, 0, 5, zone)
	if got := stored(t, NewDatetime(at), nil).AsDatetime(); !got.Equal(at) || got.Hour() != 10 || got.Location().String() != "Europe/Berlin" {
		t.Errorf("datetime: %v", got)
	}
	o := stored(t, NewOutcome(&Outcome{Signal: "SIGKILL", Dur: 5, PID: 9, Cmd: "x y", Span: &Span{2, 3},
		Stdout: NewBytes([]byte("o")), Stderr: NewBytes([]byte("e"))}), nil).AsOutcome()
	if o.Status != nil || o.Signal != "SIGKILL" || o.Dur != 5 || o.PID != 9 || o.Cmd != "x y" || *o.Span != (Span{2, 3}) || o.OK {
		t.Errorf("outcome: %+v", o)
	}
	part := stored(t, NewBlob(partBlob{BytesBlob([]byte("abc")), 1000}), nil).AsBytes()
	if part.Len() != 3 || part.Total() != 1000 {
		t.Errorf("bytes: %d of %d", part.Len(), part.Total())
	}
}

func TestStoredOutOfLine(t *testing.T) {
	store := memStore{}
	big := bytes.Repeat([]byte("0123456789"), 10_000)
	v := list(NewBytes(big), Str(string(big)), Str("small"))
	b, err := AppendStored(nil, v, store.codec())
	if err != nil || len(b) > 1000 || len(store) != 1 {
		t.Fatalf("%d bytes, %d blobs, %v", len(b), len(store), err)
	}
	back, err := LoadStored(b, store.codec())
	if err != nil || !Same(back, v) {
		t.Fatalf("load: %v", err)
	}
	if _, err := LoadStored(b, nil); err == nil {
		t.Error("loading without a store gives no error")
	}
	if inline, err := AppendStored(nil, v, nil); err != nil || len(inline) < len(big) {
		t.Errorf("without a store: %d bytes, %v", len(inline), err)
	}
}

func TestStoredSharesShapes(t *testing.T) {
	key := strings.Repeat("k", 100)
	rows := make([]Value, 1000)
	for i := range rows {
		rows[i] = rec(key, Int(1))
	}
	b, err := AppendStored(nil, table(rows...), nil)
	if err != nil || len(b) > 5000 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

func TestNotStorable(t *testing.T) {
	for _, v := range []Value{NewTask("task:1", nil), NewStream("s", true, nil), NewSecret("a", "hunter2"), NewClosure("f", nil)} {
		_, err := AppendStored(nil, list(rec("x", v)), nil)
		var ns *NotStorable
		if !errors.As(err, &ns) || ns.Kind != v.Kind() {
			t.Errorf("%s: %v", v.Kind(), err)
		}
	}
	deep := Null
	for range 2 * maxCompareDepth {
		deep = list(deep)
	}
	var ns *NotStorable
	if _, err := AppendStored(nil, deep, nil); !errors.As(err, &ns) {
		t.Errorf("deep: %v", err)
	}
}

// FuzzLoadStored feeds damaged input: no panic, and what loads can be stored.
func FuzzLoadStored(f *testing.F) {
	for _, c := range golden {
		if b, err := AppendStored(nil, c.v, nil); err == nil {
			f.Add(b)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := LoadStored(b, nil)
		if err != nil {
			return
		}
		Inline(v)
		again, err := AppendStored(nil, v, nil)
		if err != nil {
			t.Fatalf("loaded value cannot be stored: %v", err)
		}
		if _, err := LoadStored(again, nil); err != nil {
			t.Fatalf("stored value does not load: %v", err)
		}
	})
}

func TestDamagedStored(t *testing.T) {
	for _, c := range golden {
		b, err := AppendStored(nil, c.v, nil)
		if err != nil {
			continue
		}
		for i := range b {
			if _, err := LoadStored(b[:i], nil); err == nil {
				t.Errorf("%s: loads from %d of %d bytes", c.name, i, len(b))
			}
			for _, x := range []byte{0, 1, 0x7F, 0xFF} {
				bad := bytes.Clone(b)
				bad[i] ^= x
				LoadStored(bad, nil)
			}
		}
	}
	for _, b := range [][]byte{nil, {9}, {1}, {1, 99}, {1, tagList, 0xFF, 0xFF, 0xFF, 0xFF, 0x0F}, append([]byte{1, tagNull}, 0)} {
		if _, err := LoadStored(b, nil); err == nil {
			t.Errorf("%v loads", b)
		}
	}
}
