package link

import (
	"fmt"
	"os"
	"syscall"
)

// TakeStdout returns the process's standard output under a new descriptor and
// points descriptor 1 at standard error, so that nothing but the returned file
// can write into the client's stream of frames. A client that has gone away
// makes writes to it fail instead of killing the process.
func TakeStdout() (*os.File, error) {
	fd, err := syscall.Dup(1)
	if err != nil {
		return nil, fmt.Errorf("take stdout: %w", err)
	}
	syscall.CloseOnExec(fd)
	if err := dupOnto(2, 1); err != nil {
		syscall.Close(fd)
		return nil, fmt.Errorf("take stdout: %w", err)
	}
	return os.NewFile(uintptr(fd), "stdout"), nil
}
