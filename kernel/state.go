package kernel

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lockFile is the kernel's life lock: it is held until the process ends.
func lockFile(path string, wait time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	for deadline := time.Now().Add(wait); ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if time.Now().After(deadline) {
			f.Close()
			return nil, fmt.Errorf("another kernel owns the state directory %s; stop it or use another --state-dir", filepath.Dir(path))
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// kernelID reads the id of the state directory, made once and for all.
func kernelID(dir string) (string, error) {
	path := filepath.Join(dir, "id")
	raw, err := os.ReadFile(path)
	if err == nil {
		id := strings.TrimSpace(string(raw))
		if len(id) != 16 || strings.Trim(id, "0123456789abcdef") != "" {
			return "", fmt.Errorf("read %s: it holds no kernel id; restore it or use another state directory", path)
		}
		return id, nil
	}
	if !errors.Is(err, os.ErrNotExist) {
		return "", fmt.Errorf("read kernel id: %w", err)
	}
	var b [8]byte
	rand.Read(b[:]) // never fails
	id := hex.EncodeToString(b[:])
	tmp := path + ".new"
	if err := os.WriteFile(tmp, []byte(id+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("write kernel id: %w", err)
	}
	if err := os.Rename(tmp, path); err != nil {
		return "", fmt.Errorf("write kernel id: %w", err)
	}
	return id, nil
}

// makeDirs makes the directories that the state directory consists of.
func makeDirs(state string) error {
	for _, name := range []string{"journal", "blobs", "log", "trash", "run", "secrets"} {
		if err := os.MkdirAll(filepath.Join(state, name), stateMode); err != nil {
			return fmt.Errorf("make state directory: %w", err)
		}
	}
	return nil
}
