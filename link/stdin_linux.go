package link

import (
	"fmt"
	"os"
	"syscall"
)

// reopened opens the pipe that f reads once more, not blocking; nil if it
// cannot be opened. Opening does not wait, as f itself is a reader.
func reopened(f *os.File) *os.File {
	path := fmt.Sprintf("/proc/self/fd/%d", f.Fd())
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	return os.NewFile(uintptr(fd), f.Name())
}
