package host

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// trashCopyMax is up to how many bytes a file is copied into the trash when no
// rename can take it there.
const trashCopyMax = 1 << 30

// Trash moves a path out of the way: into the state directory's trash when that
// is on the same device, else into a private directory at the top of the file's
// mount, else by copying.
func (fl Files) Trash(ctx context.Context, path string) (string, error) {
	if _, err := os.Lstat(path); err != nil {
		return "", plain(err)
	}
	candidates := []string{fl.TrashDir, mountTrash(path)}
	if fl.TrashDir == "" {
		candidates[0] = filepath.Join(os.TempDir(), "shoal-trash-"+strconv.Itoa(os.Getuid()))
	}
	for _, dir := range candidates {
		to, err := moveInto(dir, path)
		switch {
		case err == nil:
			return to, nil
		case errors.Is(err, fs.ErrPermission) && !canUnlink(path), errors.Is(err, syscall.EBUSY):
			return "", plain(err)
		}
	}
	return fl.copyToTrash(ctx, candidates[0], path)
}

// moveInto renames path to a fresh name in dir.
func moveInto(dir, path string) (string, error) {
	if dir == "" {
		return "", errors.New("no trash directory")
	}
	if err := privateDir(dir); err != nil {
		return "", err
	}
	to := filepath.Join(dir, trashName(path))
	if err := os.Rename(path, to); err != nil {
		return "", err
	}
	return to, nil
}

// maxName is how long the name of a file may be, in bytes.
const maxName = 255

// trashName is a fresh name for a path: when, which one, and what it was called.
func trashName(path string) string {
	var b [6]byte
	rand.Read(b[:]) // never fails
	prefix := strconv.FormatInt(time.Now().UnixNano(), 36) + "-" + hex.EncodeToString(b[:]) + "-"
	base := filepath.Base(path)
	return prefix + base[:min(len(base), maxName-len(prefix))]
}

// privateDir makes a directory that is ours alone, or checks that it is.
func privateDir(dir string) error {
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, fs.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !info.IsDir() || info.Mode().Perm()&0o077 != 0 || !ok || int(st.Uid) != os.Getuid() {
		return fmt.Errorf("%s is not a private directory of ours", dir)
	}
	return nil
}

// mountTrash is the private trash at the top of the path's mount.
func mountTrash(path string) string {
	dir := filepath.Dir(path)
	dev, ok := device(dir)
	if !ok {
		return ""
	}
	for {
		parent := filepath.Dir(dir)
		if above, ok := device(parent); parent == dir || !ok || above != dev {
			return filepath.Join(dir, ".shoal-trash-"+strconv.Itoa(os.Getuid()))
		}
		dir = parent
	}
}

func device(path string) (uint64, bool) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return uint64(st.Dev), true
}

// canUnlink reports whether the path's directory lets us remove entries.
func canUnlink(path string) bool {
	return syscall.Access(filepath.Dir(path), 2) == nil
}

// copyToTrash copies what cannot be renamed, then removes it.
func (fl Files) copyToTrash(ctx context.Context, dir, path string) (string, error) {
	if inside(dir, path) {
		return "", errors.New("the trash itself lies in it; use rm --permanent")
	}
	size, err := treeSize(path)
	if err != nil {
		return "", err
	}
	if size > trashCopyMax {
		return "", errors.New("too large to be copied into the trash; use rm --permanent")
	}
	if err := privateDir(dir); err != nil {
		return "", fmt.Errorf("no trash can take it (%w); use rm --permanent", err)
	}
	to := filepath.Join(dir, trashName(path))
	info, err := os.Lstat(path)
	if err != nil {
		return "", plain(err)
	}
	if info.IsDir() {
		err = copyTree(ctx, path, to)
	} else {
		err = copyEntry(ctx, path, to, fs.FileInfoToDirEntry(info))
	}
	if err != nil {
		os.RemoveAll(to)
		return "", err
	}
	return to, plain(os.RemoveAll(path))
}

func treeSize(path string) (int64, error) {
	var size int64
	err := filepath.WalkDir(path, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return plain(err)
		}
		info, err := d.Info()
		if err == nil {
			size += info.Size()
		}
		return plain(err)
	})
	return size, err
}
