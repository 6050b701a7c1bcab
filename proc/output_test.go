package proc

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWholeRunes(t *testing.T) {
	for in, want := range map[string]int{
		"": 0, "abc": 3, "a \xe2": 2, "a \xe2\x80": 2, "a \xe2\x80\x94": 5, "\xff\xfe": 2, "x\x80": 2, "\xf0\x9f\x98": 0, "é": 2,
	} {
		if got := WholeRunes([]byte(in)); got != want {
			t.Errorf("%q: got %d, want %d", in, got, want)
		}
	}
}

// A character written in two halves is whole in the capture and in every read
// of the output.
func TestSplitCharacter(t *testing.T) {
	r := newRunner(t, Limits{})
	out := r.OpenOutput(1, nil)
	defer out.Close()
	spec := shSpec(1, `printf 'a \342'; sleep 0.05; printf '\200\224 b'`)
	spec.Stdout = out.Stdout
	done := start(t.Context(), r, spec)
	var got []byte
	buf := make([]byte, 4)
	within(t, 5*time.Second, "all text", func() bool {
		n, err := out.Stdout.ReadText(buf, int64(len(got)), false)
		if err != nil && err != io.EOF {
			t.Fatal(err)
		}
		if WholeRunes(buf[:n]) != n {
			t.Fatalf("read %q, which ends inside a character", buf[:n])
		}
		got = append(got, buf[:n]...)
		return string(got) == "a — b"
	})
	end := <-done
	if text(end.res.Stdout) != "a — b" {
		t.Errorf("got %q", text(end.res.Stdout))
	}
}

func TestStoreBoundaries(t *testing.T) {
	for _, sizes := range [][]int{{1, 2, 3, 4, 5}, {10, 10, 10}, {7, 1, 30}, {50}} {
		s := &store{memCap: 8, cap: 24, dir: t.TempDir()}
		other := &store{memCap: 4, cap: 100, dir: t.TempDir()}
		var all []byte
		for i, n := range sizes {
			p := bytes.Repeat([]byte{byte('a' + i)}, n)
			all = append(all, p...)
			segs, _ := s.add(p)
			other.share(segs)
		}
		want := all[:min(len(all), 24)]
		for name, st := range map[string]*store{"own": s, "shared": other} {
			got, err := io.ReadAll(io.NewSectionReader(st, 0, 1000))
			if diff := cmp.Diff(string(want), string(got)); diff != "" || err != nil {
				t.Errorf("%v %s: %v %s", sizes, name, err, diff)
			}
		}
		if kept, total, _ := s.sizes(); int(kept) != len(want) || int(total) != len(all) {
			t.Errorf("%v: kept %d of %d, want %d of %d", sizes, kept, total, len(want), len(all))
		}
		s.close()
		if got, _ := io.ReadAll(io.NewSectionReader(other, 0, 1000)); string(got) != string(want) {
			t.Errorf("%v: shared bytes are gone with their owner: %q", sizes, got)
		}
		other.close()
	}
}

func TestGrowthIsCoalesced(t *testing.T) {
	r := newRunner(t, Limits{})
	var calls atomic.Int32
	out := r.OpenOutput(1, func(Stream) { calls.Add(1) })
	defer out.Close()
	began := time.Now()
	for range 1000 {
		out.Stdout.Write([]byte("x"))
	}
	most := int32(time.Since(began)/growEvery) + 2
	within(t, 2*time.Second, "the last growth is told", func() bool { return calls.Load() >= 2 })
	if got := calls.Load(); got > most+1 {
		t.Errorf("told %d times, want at most %d", got, most+1)
	}
}

func TestTails(t *testing.T) {
	dir := t.TempDir()
	r, err := New(Options{KernelID: "k", RunDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	want := map[uint64]Tails{}
	for task := uint64(1); task <= 3; task++ {
		out := r.OpenOutput(task, nil)
		long := strings.Repeat("0123456789", int(task)*5000)
		for i := 0; i < len(long); i += 777 {
			out.Stdout.Write([]byte(long[i:min(i+777, len(long))]))
		}
		out.Stderr.Write([]byte(long + "E"))
		if task == 2 {
			out.Finish()
			continue
		}
		want[task] = Tails{Stdout: []byte(last(long, TailSize)), Stderr: []byte(last(long+"E", TailSize)),
			StdoutTotal: int64(len(long)), StderrTotal: int64(len(long) + 1)}
	}
	quiet := r.OpenOutput(9, nil)
	defer quiet.Close()
	got, err := RecoverTails(dir)
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%v %s", err, diff)
	}
	if names, _ := filepath.Glob(dir + "/*"); len(names) > 0 {
		t.Errorf("left %v", names)
	}
	r.Close()
	os.WriteFile(dir+"/tail-1-1", []byte("garbage"), 0o600)
	if got, err := RecoverTails(dir); len(got) > 0 || err != nil {
		t.Errorf("garbage: got %v %v", got, err)
	}
}

func last(s string, n int) string { return s[max(0, len(s)-n):] }

func TestStoreToContent(t *testing.T) {
	var kept []byte
	r, err := New(Options{KernelID: "k", SpillDir: t.TempDir(), Limits: Limits{CaptureCap: 10, SpillCap: 1000},
		Spill: func(in io.Reader) (string, int64, error) {
			var err error
			kept, err = io.ReadAll(in)
			return "hash", int64(len(kept)), err
		}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	res := sh(t, r, "seq 1 100")
	if hash, n, err := res.Stdout.Store(); err != nil || hash != "hash" || n != 292 || string(kept) != text(res.Stdout) {
		t.Errorf("got %q %d %v", hash, n, err)
	}
	if got := string(res.Stdout.Head(12)); got != "1\n2\n3\n4\n5\n6\n" {
		t.Errorf("head %q", got)
	}
	if got := string(res.Stdout.Tail(4)); got != "100\n" {
		t.Errorf("tail %q", got)
	}
}
