package host

import (
	"os"
	"path/filepath"
	"testing"
)

func TestWatchFollowsNewAndMovedDirectories(t *testing.T) {
	dir := t.TempDir()
	w := watched(t, dir, true)
	see := func(name, kind string) {
		t.Helper()
		for {
			e, err := w.Next(soon(t))
			if err != nil {
				t.Fatalf("%s %s: %v", name, kind, err)
			}
			if e.Path == filepath.Join(dir, name) && e.Kind == kind {
				return
			}
		}
	}
	if err := os.MkdirAll(filepath.Join(dir, "a/b"), 0o755); err != nil {
		t.Fatal(err)
	}
	see("a/b", "created")
	write(t, filepath.Join(dir, "a/b/f"), "x", 0)
	see("a/b/f", "created")
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")); err != nil {
		t.Fatal(err)
	}
	see("a", "renamed")
	see("z/b/f", "created")
	write(t, filepath.Join(dir, "z/b/f"), "y", os.O_APPEND)
	see("z/b/f", "modified")
	if err := os.RemoveAll(filepath.Join(dir, "z")); err != nil {
		t.Fatal(err)
	}
	see("z/b", "removed")
	see("z", "removed")
}
