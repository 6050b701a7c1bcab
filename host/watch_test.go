package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func write(t *testing.T, path, text string, flags int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

func watched(t *testing.T, path string, recursive bool) interp.Watch {
	t.Helper()
	w, err := Watcher{}.Watch(soon(t), path, recursive)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

func TestWatchCoalescesAndGoesOn(t *testing.T) {
	dir := t.TempDir()
	w := watched(t, dir, true).(*watch)
	for i := range 3 * watchPending {
		w.add(filepath.Join(dir, fmt.Sprint(i)), "created")
	}
	e, err := w.Next(soon(t))
	if err != nil || !e.Coalesced || e.Path != dir || e.Kind != "modified" {
		t.Fatalf("got %+v, %v", e, err)
	}
	w.add(filepath.Join(dir, "x"), "created")
	if e, err := w.Next(soon(t)); err != nil || e.Coalesced || filepath.Base(e.Path) != "x" {
		t.Errorf("got %+v, %v", e, err)
	}
}

func TestCloseEndsWaits(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "f")
	write(t, file, "", 0)
	w := watched(t, dir, true)
	tl, err := Watcher{}.Tail(soon(t), file, false)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 2)
	go func() { _, err := w.Next(context.Background()); ended <- err }()
	go func() { _, err := tl.Next(context.Background()); ended <- err }()
	w.Close()
	w.Close()
	tl.Close()
	tl.Close()
	for range 2 {
		var e *value.Error
		if err := <-ended; !errors.As(err, &e) || e.Code != value.CodeChannelClosed {
			t.Errorf("got %v", err)
		}
	}
}

func TestTail(t *testing.T) {
	for _, test := range []struct {
		name      string
		fromStart bool
		before    string
		do        func(t *testing.T, path string)
		want      []string
	}{
		{"from the end", false, "old\n", func(t *testing.T, p string) { write(t, p, "new\n", os.O_APPEND) }, []string{"new"}},
		{"from the start", true, "a\nb\n", func(*testing.T, string) {}, []string{"a", "b"}},
		{"parts of lines", false, "", func(t *testing.T, p string) {
			write(t, p, "a", os.O_APPEND)
			write(t, p, "b\nc", os.O_APPEND)
			write(t, p, "d\n", os.O_APPEND)
		}, []string{"ab", "cd"}},
		{"truncated", false, "a long old line\n", func(t *testing.T, p string) {
			write(t, p, "new\n", os.O_TRUNC)
		}, []string{"new"}},
		{"replaced", false, "old\n", func(t *testing.T, p string) {
			write(t, p, "last\n", os.O_APPEND)
			write(t, p+".new", "first\n", 0)
			if err := os.Rename(p+".new", p); err != nil {
				t.Fatal(err)
			}
		}, []string{"last", "first"}},
		{"removed and made again", false, "old\n", func(t *testing.T, p string) {
			if err := os.Remove(p); err != nil {
				t.Fatal(err)
			}
			write(t, p, "again\n", 0)
		}, []string{"again"}},
		{"empty lines", true, "\n\r\nx\n", func(*testing.T, string) {}, []string{"", "", "x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "log")
			write(t, path, test.before, 0)
			tl, err := Watcher{}.Tail(soon(t), path, test.fromStart)
			if err != nil {
				t.Fatal(err)
			}
			defer tl.Close()
			test.do(t, path)
			for _, want := range test.want {
				if got, err := tl.Next(soon(t)); err != nil || string(got) != want {
					t.Fatalf("got %q, %v, want %q", got, err, want)
				}
			}
		})
	}
}

func TestTailGivesEndlessLinesInPieces(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	write(t, path, string(make([]byte, 2*tailLine)), 0)
	tl, err := Watcher{}.Tail(soon(t), path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer tl.Close()
	got, err := tl.Next(soon(t))
	if err != nil || len(got) < tailLine || len(got) > 2*tailLine {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

func TestTailRefusesWhatIsNoFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := (Watcher{}).Tail(soon(t), dir, false); err == nil {
		t.Error("a directory was tailed")
	}
	if _, err := (Watcher{}).Tail(soon(t), filepath.Join(dir, "gone"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := (Watcher{}).Watch(soon(t), filepath.Join(dir, "gone"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

func TestGuardJudgesFollowing(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "secret")
	write(t, file, "x\n", 0)
	link := filepath.Join(dir, "link")
	if err := os.Symlink(file, link); err != nil {
		t.Fatal(err)
	}
	refused := value.Errorf(value.CodePermission, "no")
	h := Guard(&interp.Host{Files: Files{}, Watcher: Watcher{}}, func(e effect.Effect) *value.Error {
		if e.Kind == effect.FSRead && filepath.Base(e.Path) == "secret" {
			return refused
		}
		return nil
	})
	if _, err := h.Watcher.Tail(soon(t), link, true); !errors.Is(err, refused) {
		t.Errorf("tail: got %v", err)
	}
	if _, err := h.Watcher.Watch(soon(t), link, true); !errors.Is(err, refused) {
		t.Errorf("watch: got %v", err)
	}
	w, err := h.Watcher.Watch(soon(t), dir, true)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
}

func TestChannels(t *testing.T) {
	var c Channels
	ctx := soon(t)
	for i := range 3*ringSize + 1 {
		if err := c.Emit(ctx, "a", fmt.Append(nil, i)); err != nil {
			t.Fatal(err)
		}
	}
	zero := uint64(0)
	for _, test := range []struct {
		name  string
		start interp.ChannelStart
		want  interp.ChannelItem
	}{
		{"kept", interp.ChannelStart{}, interp.ChannelItem{Seq: 2*ringSize + 1}},
		{"since", interp.ChannelStart{Since: &zero}, interp.ChannelItem{Dropped: 2 * ringSize, Latest: 3 * ringSize}},
		{"live", interp.ChannelStart{Live: true}, interp.ChannelItem{Seq: 3*ringSize + 1}},
	} {
		cur, err := c.Subscribe(ctx, "a", test.start)
		if err != nil {
			t.Fatal(err)
		}
		if test.start.Live {
			if err := c.Emit(ctx, "a", []byte("1")); err != nil {
				t.Fatal(err)
			}
		}
		got, err := cur.Next(ctx)
		if err != nil || got.Seq != test.want.Seq || got.Dropped != test.want.Dropped || got.Latest != test.want.Latest {
			t.Errorf("%s: got %+v, %v", test.name, got, err)
		}
		cur.Close()
	}
	cur, err := c.Subscribe(ctx, "b", interp.ChannelStart{})
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	c.Close()
	var e *value.Error
	if _, err := cur.Next(ctx); !errors.As(err, &e) || e.Code != value.CodeChannelClosed {
		t.Errorf("after the end: got %v", err)
	}
}
