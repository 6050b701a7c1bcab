package journal

import (
	"os"

	"golang.org/x/sys/unix"
)

// datasync flushes the file's bytes and length, not its times.
func datasync(f *os.File) error {
	for {
		err := unix.Fdatasync(int(f.Fd()))
		if err != unix.EINTR {
			return err
		}
	}
}
