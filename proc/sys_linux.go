package proc

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// growPipe lets a busy pipe hold a chunk; refused beyond the user's quota.
func growPipe(f *os.File) {
	conn, err := f.SyscallConn()
	if err != nil {
		return
	}
	conn.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, chunkMax) })
}

// maxRSS is the greatest resident size of a reaped process, in bytes.
func maxRSS(state *os.ProcessState) int64 {
	if ru, ok := state.SysUsage().(*syscall.Rusage); ok {
		return ru.Maxrss << 10
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
