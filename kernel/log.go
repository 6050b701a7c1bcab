package kernel

import (
	"fmt"
	"os"
	"strconv"
	"sync"
)

// The kernel's log is kept in logFiles files of at most logSize bytes.
const (
	logSize  = 10 << 20
	logFiles = 3
)

// rotatingFile is a log file that starts anew when it is full: kernel.log,
// kernel.log.1, kernel.log.2.
type rotatingFile struct {
	path string

	mu   sync.Mutex
	f    *os.File
	size int64
}

func openLog(path string) (*rotatingFile, error) {
	r := &rotatingFile{path: path}
	if err := r.open(); err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return r, nil
}

func (r *rotatingFile) open() error {
	f, err := os.OpenFile(r.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		f.Close()
		return err
	}
	r.f, r.size = f, info.Size()
	return nil
}

// Write appends one line.
func (r *rotatingFile) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size+int64(len(p)) > logSize && r.size > 0 {
		if err := r.rotate(); err != nil {
			return 0, err
		}
	}
	n, err := r.f.Write(p)
	r.size += int64(n)
	return n, err
}

func (r *rotatingFile) rotate() error {
	r.f.Close()
	for i := logFiles - 1; i > 0; i-- {
		from := r.path
		if i > 1 {
			from += "." + strconv.Itoa(i-1)
		}
		os.Rename(from, r.path+"."+strconv.Itoa(i)) // a missing one is no loss
	}
	return r.open()
}

// Close closes the file.
func (r *rotatingFile) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.f.Close()
}
