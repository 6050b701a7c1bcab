package proc

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// childInfo is the part of siginfo_t that waitid fills, on 64-bit Linux.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// zombieChild is the pid of a dead child that nobody has reaped yet, which it
// leaves so; 0 when there is none.
func zombieChild() int {
	var info childInfo
	_, _, errno := syscall.Syscall6(syscall.SYS_WAITID, unix.P_ALL, 0,
		uintptr(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, 0, 0)
	if errno != 0 {
		return 0
	}
	return int(info.pid)
}
