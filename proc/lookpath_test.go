package proc

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A directory of PATH that may not be searched hides its programs; it does not
// make every name one that cannot be executed.
func TestLookPathPassesClosedDirectories(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may search every directory")
	}
	r := newRunner(t, Limits{})
	closed := t.TempDir()
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(closed, 0o700) })
	open := t.TempDir()
	if err := os.WriteFile(filepath.Join(open, "tool"), []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	path := closed + string(filepath.ListSeparator) + open
	if got, err := r.LookPath("tool", path, "/"); err != nil || got != filepath.Join(open, "tool") {
		t.Errorf("got %q, %v; want the tool behind the closed directory", got, err)
	}
	_, err := r.LookPath("absent", path, "/")
	var spawn *SpawnError
	if !errors.As(err, &spawn) || spawn.Kind != NotFound {
		t.Errorf("got %v, want not found", err)
	}
}
