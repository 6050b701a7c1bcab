package wire

import (
	"syscall"
	"unsafe"
)

// HungUp reports whether the other end of a pipe or socket is gone for good:
// a pipe without writers, a socket closed in both directions. It never waits,
// and it knows only streams that have a file descriptor; of others it says
// false.
func HungUp(stream any) bool {
	s, ok := stream.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return false
	}
	const pollErr, pollHup = 0x8, 0x10
	gone := false
	raw.Control(func(fd uintptr) {
		p := struct {
			fd              int32
			events, revents int16
		}{fd: int32(fd)}
		var now syscall.Timespec
		n, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1,
			uintptr(unsafe.Pointer(&now)), 0, 0, 0)
		gone = errno == 0 && n == 1 && p.revents&(pollErr|pollHup) != 0
	})
	return gone
}
