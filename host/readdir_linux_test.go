package host

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/lang/interp"
)

// listed is a directory by name, as ReadDir and List agree on it.
func listed(t *testing.T, dir string) map[string]interp.FileInfo {
	t.Helper()
	entries, err := (Files{}).ReadDir(t.Context(), dir)
	if err != nil {
		t.Fatalf("ReadDir: %v", err)
	}
	infos, err := (Files{}).List(t.Context(), dir)
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	types := map[string]string{}
	for _, e := range entries {
		types[e.Name] = e.Type
	}
	out := map[string]interp.FileInfo{}
	for _, info := range infos {
		out[info.Name] = info
		if types[info.Name] != info.Type {
			t.Errorf("%q: ReadDir says %q, List %q", info.Name, types[info.Name], info.Type)
		}
	}
	if len(entries) != len(types) || len(infos) != len(out) || len(types) != len(out) {
		t.Errorf("ReadDir gives %d entries with %d names, List %d with %d", len(entries), len(types), len(infos), len(out))
	}
	return out
}

// A name is any bytes but a slash and NUL; its length decides how it lies in the
// buffer.
func TestListingKeepsNames(t *testing.T) {
	dir := t.TempDir()
	if got := listed(t, dir); len(got) != 0 {
		t.Errorf("an empty directory has %v", got)
	}
	long := string(slices.Repeat([]byte("n"), 255))
	names := []string{"a", "ab", "abcdefgh", "line\nbreak", "\xff\xfe", "...", ".hidden", "ünï", " ", "-rf", "a\\b", long}
	for i, name := range names {
		put(t, filepath.Join(dir, name), string(make([]byte, i)), 0o600)
	}
	got := listed(t, dir)
	if want := slices.Sorted(slices.Values(names)); !slices.Equal(slices.Sorted(maps.Keys(got)), want) {
		t.Errorf("got %q, want %q", slices.Sorted(maps.Keys(got)), want)
	}
	for i, name := range names {
		if info := got[name]; info.Size != int64(i) || info.Type != "file" {
			t.Errorf("%q: got %+v, want %d bytes", name, info, i)
		}
	}
}

func TestListSaysWhatLstatSays(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	put(t, at("file"), "12345", 0o640)
	old := time.Date(2001, 2, 3, 4, 5, 6, 789, time.UTC)
	for _, err := range []error{
		os.Chtimes(at("file"), old, old),
		os.Mkdir(at("dir"), 0o700),
		os.Symlink("file", at("link")), os.Symlink("nowhere", at("dangling")), os.Symlink("dir", at("dirlink")),
		syscall.Mkfifo(at("pipe"), 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	got := listed(t, dir)
	for name, typ := range map[string]string{"file": "file", "dir": "dir", "link": "symlink", "dangling": "symlink", "dirlink": "symlink", "pipe": "other"} {
		want, err := (Files{}).Lstat(t.Context(), at(name))
		info := got[name]
		if err != nil || want.Type != typ || info.Type != want.Type || info.Size != want.Size || info.Mode != want.Mode || !info.Modified.Equal(want.Modified) {
			t.Errorf("%s: List says %+v, Lstat %+v, %v", name, info, want, err)
		}
	}
	if !got["file"].Modified.Equal(old) {
		t.Errorf("modified %v, want %v", got["file"].Modified, old)
	}
}

// What was listed stays as it was when it was listed.
func TestListIsOfItsTime(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "1", 0o600)
	infos, err := (Files{}).List(t.Context(), dir)
	put(t, filepath.Join(dir, "f"), "1234", 0o600)
	if err != nil || len(infos) != 1 || infos[0].Size != 1 {
		t.Errorf("got %+v, %v", infos, err)
	}
}

// More than one buffer's worth of entries, read by several at once.
func TestListingManyAtOnce(t *testing.T) {
	dir := t.TempDir()
	const n = 10_000
	for i := range n {
		put(t, filepath.Join(dir, fmt.Sprintf("a rather long name of a file %d", i)), "", 0o600)
	}
	failed := make(chan error, 3)
	for range cap(failed) {
		go func() {
			entries, err := (Files{}).ReadDir(context.Background(), dir)
			names := map[string]bool{}
			for _, e := range entries {
				names[e.Name] = e.Type == "file"
			}
			for i := range n {
				if err == nil && !names[fmt.Sprintf("a rather long name of a file %d", i)] {
					err = fmt.Errorf("file %d is missing", i)
				}
			}
			if err == nil && len(entries) != n {
				err = fmt.Errorf("%d entries", len(entries))
			}
			failed <- err
		}()
	}
	for range cap(failed) {
		if err := <-failed; err != nil {
			t.Error(err)
		}
	}
}

func TestListingFails(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "", 0o600)
	os.Symlink("loop", filepath.Join(dir, "loop"))
	for name, want := range map[string]error{"nothere": syscall.ENOENT, "f": syscall.ENOTDIR, "f/below": syscall.ENOTDIR, "loop": syscall.ELOOP} {
		if _, err := (Files{}).ReadDir(t.Context(), filepath.Join(dir, name)); err != want {
			t.Errorf("ReadDir %s: got %v, want %v", name, err, want)
		}
		if _, err := (Files{}).List(t.Context(), filepath.Join(dir, name)); err != want {
			t.Errorf("List %s: got %v, want %v", name, err, want)
		}
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errReading)
	if _, err := (Files{}).List(ctx, dir); !errors.Is(err, errReading) {
		t.Errorf("cancelled: got %v", err)
	}
}

// A directory that is removed after it was opened is empty then.
func TestListingRemovedDirectory(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	fd, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := os.Remove(dir); err != nil {
		t.Fatal(err)
	}
	if entries, err := readEntries(t.Context(), fd); err != nil || len(entries) != 0 {
		t.Errorf("got %v, %v", entries, err)
	}
}

// An entry that went away between reading and looking keeps its name and type.
func TestListingEntryThatWent(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "123", 0o600)
	fd, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	entries, err := readEntries(t.Context(), fd)
	if err != nil {
		t.Fatal(err)
	}
	os.Remove(filepath.Join(dir, "f"))
	infos, err := lookAtAll(t.Context(), fd, entries)
	if err != nil || len(infos) != 1 || infos[0] != (interp.FileInfo{Name: "f", Type: "file"}) {
		t.Errorf("got %+v, %v", infos, err)
	}
}

// Some file systems do not tell types; then the entries are asked.
func TestListingUnknownTypes(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "f"), "", 0o600)
	os.Mkdir(filepath.Join(dir, "d"), 0o700)
	os.Symlink("f", filepath.Join(dir, "l"))
	fd, err := openDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	buf := make([]byte, direntBuffer)
	n, err := unix.Getdents(fd, buf)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < n; {
		buf[at+direntType] = unix.DT_UNKNOWN
		at += int(buf[at+direntLength]) // none of these is longer than a byte tells
	}
	got := map[string]string{}
	for _, e := range appendEntries(nil, fd, buf[:n]) {
		got[e.Name] = e.Type
	}
	if want := map[string]string{"f": "file", "d": "dir", "l": "symlink"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := entryType(fd, "gone", unix.DT_UNKNOWN); got != "other" {
		t.Errorf("one that went is %q", got)
	}
}

// Who may not read a directory learns nothing, who may not enter it only names.
func TestListingWithoutPermission(t *testing.T) {
	room, err := os.MkdirTemp("", "listing")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(room)
	os.Chmod(room, 0o755)
	dir := filepath.Join(room, "d")
	os.Mkdir(dir, 0o700)
	put(t, filepath.Join(dir, "f"), "123", 0o600)
	defer os.Chmod(dir, 0o700)

	os.Chmod(dir, 0o300)
	powerless(t, func() {
		if _, err := (Files{}).ReadDir(t.Context(), dir); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("unreadable: ReadDir gives %v", err)
		}
		if _, err := (Files{}).List(t.Context(), dir); !errors.Is(err, fs.ErrPermission) {
			t.Errorf("unreadable: List gives %v", err)
		}
	})
	os.Chmod(dir, 0o444)
	powerless(t, func() {
		infos, err := (Files{}).List(t.Context(), dir)
		if err != nil || len(infos) != 1 || infos[0] != (interp.FileInfo{Name: "f", Type: "file"}) {
			t.Errorf("names only: got %+v, %v", infos, err)
		}
	})
}

// powerless runs f as somebody to whom file modes apply: for root, on a thread
// of its own that is somebody else before the file system and then ends.
func powerless(t *testing.T, f func()) {
	t.Helper()
	const nobody = 65534
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(nobody); err != nil {
				done <- err
				return
			}
		}
		f()
		done <- nil
	}()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}
