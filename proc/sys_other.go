//go:build !linux

package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// growPipe does nothing: only Linux resizes pipes.
func growPipe(*os.File) {}

// maxRSS is the greatest resident size of a reaped process, in bytes.
func maxRSS(state *os.ProcessState) int64 {
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		return int64(ru.Maxrss)
	}
	return 0
}

// SignalName spells a signal, "SIGTERM".
func SignalName(sig syscall.Signal) string {
	if name := unix.SignalName(sig); name != "" {
		return name
	}
	return sig.String()
}
