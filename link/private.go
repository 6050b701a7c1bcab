package link

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// CheckSocketDir refuses a folder in which somebody else could have put the
// socket: it must be a real directory, ours, and closed to others. With group,
// the group may pass through it (0710). A folder of ours in a shared place is
// checked along with it. A missing folder is os.ErrNotExist.
func CheckSocketDir(dir string, group bool) error {
	if parent := filepath.Dir(dir); filepath.Base(parent) == ownDirName() {
		if err := checkPrivate(parent, group); err != nil {
			return err
		}
	}
	return checkPrivate(dir, group)
}

// MakeSocketDir creates the folder of the socket with mode 0700 (0710 with
// group) where it is missing, and then checks it as CheckSocketDir does.
func MakeSocketDir(dir string, group bool) error {
	parent := filepath.Dir(dir)
	if filepath.Base(parent) == ownDirName() {
		if err := makePrivate(parent, group); err != nil {
			return err
		}
	}
	return makePrivate(dir, group)
}

// MakeStateDir creates the state directory with mode 0700 where it is missing
// and refuses one that belongs to another user.
func (p Paths) MakeStateDir() error {
	if err := os.MkdirAll(p.StateDir, 0o700); err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	info, err := os.Lstat(p.StateDir)
	if err != nil {
		return fmt.Errorf("make state directory: %w", err)
	}
	if err := ours(info); err != nil {
		return fmt.Errorf("make state directory: %s: %w", p.StateDir, err)
	}
	return nil
}

func makePrivate(dir string, group bool) error {
	mode := os.FileMode(0o700)
	if group {
		mode = 0o710
	}
	err := os.Mkdir(dir, mode)
	if errors.Is(err, os.ErrNotExist) {
		err = os.MkdirAll(dir, mode)
	}
	if err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make socket directory: %w", err)
	}
	return checkPrivate(dir, group)
}

func checkPrivate(dir string, group bool) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return fmt.Errorf("check socket directory: %w", err)
	}
	allowed := os.FileMode(0o700)
	if group {
		allowed = 0o710
	}
	switch {
	case info.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("check socket directory: %s is a symlink", dir)
	case !info.IsDir():
		return fmt.Errorf("check socket directory: %s is not a directory", dir)
	case info.Mode().Perm()&^allowed != 0:
		return fmt.Errorf("check socket directory: %s has mode %#o, it must be %#o", dir, info.Mode().Perm(), allowed)
	}
	if err := ours(info); err != nil {
		return fmt.Errorf("check socket directory: %s: %w", dir, err)
	}
	return nil
}

func ownFile(f *os.File) error {
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", f.Name())
	}
	if err := ours(info); err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

func ours(info os.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("belongs to user %d, not to us (%d)", st.Uid, os.Geteuid())
	}
	return nil
}
