package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/lang/interp"
)

func put(t *testing.T, path, text string, mode fs.FileMode) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func text(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func fifo(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// otherDevice is a directory on another device than the temporary one.
func otherDevice(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "shoal-test-")
	if err != nil {
		t.Skip("no second device")
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	a, _ := device(dir)
	if b, _ := device(t.TempDir()); a == b {
		t.Skip("no second device")
	}
	return dir
}

func TestHostileNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"a\nb", "-rf", "\xff\xfe", "日本", " ", "*", `"`, strings.Repeat("x", 255)} {
		path := filepath.Join(dir, name)
		f := Files{TrashDir: filepath.Join(dir, ".trash")}
		if err := f.WriteFile(t.Context(), path, strings.NewReader("1"), interp.Replace); err != nil {
			t.Errorf("write %.20q: %v", name, err)
			continue
		}
		info, err := f.Lstat(t.Context(), path)
		if err != nil || info.Name != name || info.Type != "file" || info.Size != 1 {
			t.Errorf("%.20q: got %+v %v", name, info, err)
		}
		if to, err := f.Trash(t.Context(), path); err != nil || text(t, to) != "1" {
			t.Errorf("trash %.20q: %v", name, err)
		}
	}
}

func TestErrorsArePlain(t *testing.T) {
	f := Files{}
	if _, err := f.Open(t.Context(), "/nothere"); err != syscall.ENOENT {
		t.Errorf("got %v, want the bare reason", err)
	}
	if _, err := f.Open(t.Context(), "/"); err != syscall.EISDIR {
		t.Errorf("a directory: got %v", err)
	}
	if _, err := f.ReadDir(t.Context(), "/etc/passwd"); err != syscall.ENOTDIR {
		t.Errorf("a file: got %v", err)
	}
	if err := f.Link(t.Context(), "/nothere", filepath.Join(t.TempDir(), "x"), false); err != syscall.ENOENT {
		t.Errorf("link: got %v", err)
	}
}

func TestReplaceKeepsTheModeAndTheOldOnFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	put(t, path, "old", 0o640)
	failing := io.MultiReader(strings.NewReader("new"), errReader{})
	if err := (Files{}).WriteFile(t.Context(), path, failing, interp.Replace); err == nil || text(t, path) != "old" {
		t.Errorf("a failing source: got %v, content %q", err, text(t, path))
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errReading)
	if err := (Files{}).WriteFile(ctx, path, strings.NewReader("new"), interp.Replace); !errors.Is(err, errReading) || text(t, path) != "old" {
		t.Errorf("cancelled: got %v, content %q", err, text(t, path))
	}
	if err := (Files{}).WriteFile(t.Context(), path, strings.NewReader("new"), interp.Replace); err != nil || text(t, path) != "new" {
		t.Errorf("got %v, content %q", err, text(t, path))
	}
	if info, _ := os.Stat(path); info.Mode().Perm() != 0o640 {
		t.Errorf("mode is %v", info.Mode())
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

var errReading = errors.New("reading failed")

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errReading }

func TestReplaceGoesThroughLinks(t *testing.T) {
	dir := t.TempDir()
	target, link, loop := filepath.Join(dir, "t"), filepath.Join(dir, "l"), filepath.Join(dir, "loop")
	put(t, target, "old", 0o600)
	os.Symlink("t", link)
	os.Symlink("loop", loop)
	if err := (Files{}).WriteFile(t.Context(), link, strings.NewReader("new"), interp.Replace); err != nil || text(t, target) != "new" {
		t.Errorf("got %v, target %q", err, text(t, target))
	}
	if info, _ := os.Lstat(link); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("the link is gone")
	}
	if err := (Files{}).WriteFile(t.Context(), loop, strings.NewReader("x"), interp.Replace); err != syscall.ELOOP {
		t.Errorf("a loop: got %v", err)
	}
	if err := (Files{}).Copy(t.Context(), target, link, false); err != nil {
		t.Errorf("copy onto a link: %v", err)
	}
	if info, _ := os.Lstat(link); info.Mode()&fs.ModeSymlink == 0 {
		t.Error("copy replaced the link")
	}
}

func TestReplaceThroughADanglingLinkMakesItsTarget(t *testing.T) {
	dir := t.TempDir()
	os.Mkdir(filepath.Join(dir, "sub"), 0o755)
	for link, to := range map[string]string{
		"direct": "new", "absolute": filepath.Join(dir, "other"), "chain": "sub/hop", "sub/hop": "../far", "self": "self", "lost": "none/x",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{"direct": "new", "absolute": "other", "chain": "far"} {
		if err := (Files{}).WriteFile(t.Context(), filepath.Join(dir, link), strings.NewReader("x"), interp.Replace); err != nil {
			t.Errorf("%s: %v", link, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, target)); string(b) != "x" {
			t.Errorf("%s: behind it is %q, %v", link, b, err)
		}
		if info, err := os.Lstat(filepath.Join(dir, link)); err != nil || info.Mode()&os.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", link, err)
		}
	}
	for link, want := range map[string]error{"self": syscall.ELOOP, "lost": syscall.ENOENT} {
		if err := (Files{}).WriteFile(t.Context(), filepath.Join(dir, link), strings.NewReader("x"), interp.Replace); err != want {
			t.Errorf("%s: got %v, want %v", link, err, want)
		}
	}
}

func TestReadOnlyPlaces(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root may write everywhere")
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	put(t, path, "old", 0o400)
	if err := (Files{}).WriteFile(t.Context(), path, strings.NewReader("x"), interp.Replace); err != syscall.EACCES {
		t.Errorf("a read-only file: got %v", err)
	}
	os.Chmod(dir, 0o500)
	defer os.Chmod(dir, 0o700)
	if err := (Files{}).WriteFile(t.Context(), filepath.Join(dir, "g"), strings.NewReader("x"), interp.Replace); err != syscall.EACCES {
		t.Errorf("a read-only directory: got %v", err)
	}
	if _, err := (Files{TrashDir: filepath.Join(t.TempDir(), "x")}).Trash(t.Context(), path); err != syscall.EACCES {
		t.Errorf("trash: got %v", err)
	}
}

func TestPipesDoNotHang(t *testing.T) {
	f := Files{}
	silent := fifo(t)
	r, err := f.Open(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(r); err != nil || len(b) != 0 {
		t.Errorf("nobody writes: got %q %v", b, err)
	}
	r.Close()
	for _, mode := range []interp.WriteMode{interp.Replace, interp.Truncate, interp.Append} {
		if err := f.WriteFile(t.Context(), silent, strings.NewReader("x"), mode); err != syscall.ENXIO {
			t.Errorf("nobody reads, mode %d: got %v", mode, err)
		}
	}
	if _, err := f.ReadDir(t.Context(), silent); err != syscall.ENOTDIR {
		t.Errorf("list: got %v", err)
	}
	if err := f.Copy(t.Context(), silent, filepath.Join(t.TempDir(), "x"), false); err != nil {
		t.Errorf("copy: %v", err)
	}
	// A writer that is silent: the read ends with its context.
	w, err := os.OpenFile(silent, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err = f.Open(ctx, silent)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	time.AfterFunc(10*time.Millisecond, func() { cancel(errReading) })
	if _, err := r.Read(make([]byte, 1)); !errors.Is(err, errReading) {
		t.Errorf("a silent writer: got %v", err)
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	time.AfterFunc(10*time.Millisecond, func() { cancel(errReading) })
	full := bytes.NewReader(make([]byte, 1<<20))
	if err := f.WriteFile(ctx, silent, full, interp.Append); !errors.Is(err, errReading) {
		t.Errorf("a full pipe: got %v", err)
	}
}

func TestListing(t *testing.T) {
	dir := t.TempDir()
	const n = 10000
	for i := range n {
		put(t, filepath.Join(dir, fmt.Sprint(i)), "", 0o600)
	}
	os.Mkdir(filepath.Join(dir, "d"), 0o700)
	os.Symlink("d", filepath.Join(dir, "l"))
	entries, err := (Files{}).ReadDir(t.Context(), dir)
	if err != nil || len(entries) != n+2 {
		t.Fatalf("got %d entries, %v", len(entries), err)
	}
	types := map[string]int{}
	for _, e := range entries {
		types[e.Type]++
	}
	if types["file"] != n || types["dir"] != 1 || types["symlink"] != 1 {
		t.Errorf("got %v", types)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errReading)
	if _, err := (Files{}).ReadDir(ctx, dir); !errors.Is(err, errReading) {
		t.Errorf("cancelled: got %v", err)
	}
}

func TestCopyAndMoveOfTrees(t *testing.T) {
	for _, c := range []struct {
		what string
		dst  func(*testing.T) string
	}{
		{"same device", func(t *testing.T) string { return t.TempDir() }}, {"other device", otherDevice},
	} {
		t.Run(c.what, func(t *testing.T) {
			src, dst := filepath.Join(t.TempDir(), "src"), filepath.Join(c.dst(t), "dst")
			os.MkdirAll(filepath.Join(src, "sub"), 0o700)
			put(t, filepath.Join(src, "sub", "f"), "1", 0o754)
			os.Symlink("sub/f", filepath.Join(src, "l"))
			os.Chmod(filepath.Join(src, "sub"), 0o500)
			t.Cleanup(func() { os.Chmod(filepath.Join(src, "sub"), 0o700); os.Chmod(filepath.Join(dst, "sub"), 0o700) })
			f := Files{}
			if err := f.Copy(t.Context(), src, dst, false); err == nil {
				t.Error("a tree was copied without being asked for")
			}
			if err := f.Copy(t.Context(), src, dst, true); err != nil {
				t.Fatal(err)
			}
			check := func(dir string) {
				t.Helper()
				info, err := os.Lstat(filepath.Join(dir, "sub", "f"))
				if err != nil || info.Mode().Perm() != 0o754 || text(t, filepath.Join(dir, "l")) != "1" {
					t.Errorf("got %v %v", info, err)
				}
				if to, _ := os.Readlink(filepath.Join(dir, "l")); to != "sub/f" {
					t.Errorf("the link leads to %q", to)
				}
			}
			check(dst)
			if info, _ := os.Stat(filepath.Join(dst, "sub")); info.Mode().Perm() != 0o500 {
				t.Errorf("sub has mode %v", info.Mode())
			}
			os.Chmod(filepath.Join(src, "sub"), 0o700)
			if err := f.Move(t.Context(), src, dst+"2"); err != nil {
				t.Fatal(err)
			}
			check(dst + "2")
			if _, err := os.Lstat(src); err == nil {
				t.Error("the source is still there")
			}
		})
	}
}

func TestMoveOfAPipeToAnotherDeviceLeavesIt(t *testing.T) {
	path, dst := fifo(t), otherDevice(t)
	if err := (Files{}).Move(t.Context(), path, filepath.Join(dst, "x")); err == nil {
		t.Error("a pipe was moved as if it were a file")
	}
	if _, err := os.Lstat(path); err != nil {
		t.Errorf("the pipe is gone: %v", err)
	}
}

func TestTreeIsNotCopiedIntoItself(t *testing.T) {
	dir := t.TempDir()
	a := filepath.Join(dir, "a")
	os.MkdirAll(filepath.Join(a, "b"), 0o700)
	os.Symlink(a, filepath.Join(dir, "l"))
	for _, dst := range []string{a, filepath.Join(a, "c"), filepath.Join(a, "b", "c"), filepath.Join(dir, "l", "c")} {
		if err := (Files{}).Copy(t.Context(), a, dst, true); err == nil || !strings.Contains(err.Error(), "inside") {
			t.Errorf("to %s: got %v", dst, err)
		}
	}
}

func TestTrash(t *testing.T) {
	t.Run("same device", func(t *testing.T) {
		dir := t.TempDir()
		path, trash := filepath.Join(dir, "f"), filepath.Join(dir, "trash")
		put(t, path, "1", 0o600)
		to, err := (Files{TrashDir: trash}).Trash(t.Context(), path)
		if err != nil || filepath.Dir(to) != trash || text(t, to) != "1" {
			t.Errorf("got %q %v", to, err)
		}
		if info, _ := os.Stat(trash); info.Mode().Perm() != 0o700 {
			t.Errorf("the trash has mode %v", info.Mode())
		}
	})
	t.Run("other device", func(t *testing.T) {
		dir := otherDevice(t)
		path := filepath.Join(dir, "f")
		put(t, path, "1", 0o600)
		to, err := (Files{TrashDir: filepath.Join(t.TempDir(), "trash")}).Trash(t.Context(), path)
		if err != nil || text(t, to) != "1" {
			t.Fatalf("got %q %v", to, err)
		}
		os.Remove(to)
		if _, err := os.Lstat(path); err == nil {
			t.Error("the file is still there")
		}
	})
	t.Run("link", func(t *testing.T) {
		dir := t.TempDir()
		target, link := filepath.Join(dir, "t"), filepath.Join(dir, "l")
		put(t, target, "1", 0o600)
		os.Symlink(target, link)
		if _, err := (Files{TrashDir: filepath.Join(dir, "trash")}).Trash(t.Context(), link); err != nil || text(t, target) != "1" {
			t.Errorf("got %v", err)
		}
	})
	t.Run("not private", func(t *testing.T) {
		if err := privateDir("/tmp"); err == nil {
			t.Error("/tmp counts as private")
		}
		dir := t.TempDir()
		os.Symlink(dir, filepath.Join(dir, "l"))
		if err := privateDir(filepath.Join(dir, "l")); err == nil {
			t.Error("a link counts as private")
		}
	})
	t.Run("inside", func(t *testing.T) {
		dir := t.TempDir()
		trash := filepath.Join(dir, "a", "trash")
		os.MkdirAll(trash, 0o700)
		if _, err := (Files{TrashDir: trash}).copyToTrash(t.Context(), trash, filepath.Join(dir, "a")); err == nil {
			t.Error("a directory was copied into the trash within it")
		}
	})
	t.Run("missing", func(t *testing.T) {
		if _, err := (Files{}).Trash(t.Context(), "/nothere"); err != syscall.ENOENT {
			t.Errorf("got %v", err)
		}
	})
}

func TestTouch(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	at := time.Unix(1e9, 0)
	for range 2 {
		if err := (Files{}).Touch(t.Context(), path, at); err != nil {
			t.Fatal(err)
		}
	}
	if info, _ := os.Stat(path); !info.ModTime().Equal(at) {
		t.Errorf("got %v", info.ModTime())
	}
	os.Symlink(filepath.Join(dir, "nothere"), filepath.Join(dir, "l"))
	if err := (Files{}).Touch(t.Context(), filepath.Join(dir, "l"), at); err != syscall.ENOENT {
		t.Errorf("a dangling link: got %v", err)
	}
}
