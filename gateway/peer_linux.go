package gateway

import "golang.org/x/sys/unix"

// socketUID asks for the credentials of a socket's peer.
func socketUID(fd int) (int, error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
