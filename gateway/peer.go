package gateway

import (
	"fmt"
	"net"
)

// peerUID is the user at the other end, as the kernel vouches for it.
func peerUID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("look at peer: %w", err)
	}
	uid, uidErr := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, uidErr = socketUID(int(fd)) }); err != nil {
		return -1, fmt.Errorf("look at peer: %w", err)
	}
	if uidErr != nil {
		return -1, fmt.Errorf("look at peer: %w", uidErr)
	}
	return uid, nil
}
