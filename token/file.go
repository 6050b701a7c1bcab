package token

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// FileName is the store's file in the state directory.
const FileName = "tokens"

// maxFile bounds what is read of the file.
const maxFile = 4 << 20

// file is what is on the disk.
type file struct {
	Version int     `json:"version"`
	Tokens  []Entry `json:"tokens"`
}

const version = 1

// read reads the file; none is an empty one.
func read(path string) (file, os.FileInfo, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return file{Version: version}, nil, nil
	}
	if err != nil {
		return file{}, nil, fmt.Errorf("read tokens: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err == nil {
		err = private(info)
	}
	if err != nil {
		return file{}, nil, fmt.Errorf("read tokens: %s: %w", path, err)
	}
	text, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("larger than %d bytes", maxFile)
	}
	if err != nil {
		return file{}, nil, fmt.Errorf("read tokens: %s: %w", path, err)
	}
	var c file
	if err := json.Unmarshal(text, &c); err != nil {
		return file{}, nil, fmt.Errorf("read tokens: %s is damaged; restore it, or remove it and create tokens anew: %w", path, err)
	}
	if c.Version != version {
		return file{}, nil, fmt.Errorf("read tokens: %s is of version %d, this program knows %d", path, c.Version, version)
	}
	return c, info, nil
}

// private refuses a file that somebody else could have written.
func private(info os.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return errors.New("not a regular file")
	case ok && int(st.Uid) != os.Geteuid():
		return fmt.Errorf("belongs to user %d, not to us (%d)", st.Uid, os.Geteuid())
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("has mode %#o; it must be 0600", info.Mode().Perm())
	}
	return nil
}

// write replaces the file in one step, on the disk before it returns.
func write(path string, c file) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write tokens: %w", err)
		}
	}()
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, ".tokens-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		os.Remove(f.Name())
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		os.Remove(f.Name())
		return err
	}
	return syncDir(dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lockWait is how long a writer waits for another one.
const lockWait = 5 * time.Second

// lock keeps other writers out until what it returns is closed.
func lock(path string) (io.Closer, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock tokens: %w", err)
	}
	for deadline := time.Now().Add(lockWait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) || time.Now().After(deadline) {
			f.Close()
			return nil, fmt.Errorf("lock tokens: %w", err)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
