package chaos

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

const (
	diskSize  = 48 << 20 // bytes of the disk that runs full
	diskTurns = 200      // calls before it does
	diskTries = 5000     // calls at most until one is refused
)

// TestDiskFull runs a kernel's disk full under it. From the first refusal on
// every answer is a refusal that says why; what was acknowledged before is
// there after a restart with room.
func TestDiskFull(t *testing.T) {
	w := kit.NewWorld(t, bin)
	if err := os.MkdirAll(w.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", w.State, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0700", diskSize)); err != nil {
		t.Skipf("cannot mount a small disk: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(w.State, syscall.MNT_DETACH) })
	book := newLedger(t)
	full(t, w, book)
	again(t, w, book)
}

func start(t *testing.T, w *kit.World) *kernel.Kernel {
	t.Helper()
	k, err := kernel.Start(kernel.Options{Paths: w.Paths(), Environ: w.Env, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// full works until the disk is full, and a little longer.
func full(t *testing.T, w *kit.World, book *ledger) {
	k := start(t, w)
	defer k.Stop(context.Background()) // its journal has stopped: that it says so is no matter here
	raw := w.Raw("disk")
	defer raw.Close()
	try := func(n int64) *messages.Error {
		m := mark{1, n}
		v, err := raw.Call("exec", kit.Args{"src": m.source()})
		if err == nil {
			book.value("disk", v.At("ref").Str(), m)
		}
		return err
	}
	n := int64(0)
	for ; n < diskTurns; n++ {
		if err := try(n); err != nil {
			t.Fatalf("turn %d: %v", n, err)
		}
	}
	fill(t, filepath.Join(w.State, "filler"))
	var refusal *messages.Error
	for ; refusal == nil && n < diskTries; n++ {
		refusal = try(n)
	}
	if refusal == nil {
		t.Fatalf("the disk is full and %d calls were acknowledged", n)
	}
	for range 20 {
		n++
		switch err := try(n); {
		case err == nil:
			t.Errorf("turn %d was acknowledged after a refusal", n)
		case err.Code != messages.CodeInternal || !strings.Contains(err.Message, "journal has stopped"):
			t.Errorf("turn %d: %v does not say that the journal has stopped", n, err)
		}
	}
	if _, err := raw.Call("value.get", kit.Args{"ref": "out:1"}); err != nil {
		t.Errorf("reading what is kept: %v", err)
	}
}

// again starts with room and looks for everything that was acknowledged.
func again(t *testing.T, w *kit.World, book *ledger) {
	if err := os.Remove(filepath.Join(w.State, "filler")); err != nil {
		t.Fatal(err)
	}
	k := start(t, w)
	defer func() {
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	}()
	raw := w.Raw("disk")
	defer raw.Close()
	for _, key := range book.since(0) {
		_, ref, _ := strings.Cut(key, " ")
		if got := read(raw.Must("value.get", kit.Args{"ref": ref}).At("value")); got != book.valueOf(key) {
			t.Errorf("%s: got %v, want %v", ref, got, book.valueOf(key))
		}
	}
	v := raw.Exec(mark{2, 1}.source())
	book.value("disk", v.At("ref").Str(), mark{2, 1})
}

// fill writes a file until there is no room for another byte.
func fill(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write(make([]byte, size)); err != nil {
			size /= 2
		}
	}
}
