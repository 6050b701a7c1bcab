package gateway

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user at the other end, as the kernel vouches for it.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("look at peer: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err != nil {
		return -1, fmt.Errorf("look at peer: %w", err)
	}
	if credErr != nil {
		return -1, fmt.Errorf("look at peer: %w", credErr)
	}
	return int(cred.Uid), nil
}
