package kernel

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"shoal.dev/shoal/link"
)

// socket is the kernel's listener and the file that leads to it.
type socket struct {
	path  string
	given bool // asked for: its directory is the user's affair
	group int  // -1: none
	l     *net.UnixListener
	dev   uint64
	ino   uint64
}

// listen binds the socket. The caller holds the state directory's lock, so a
// socket of ours that nobody answers is a dead kernel's.
func listen(p link.Paths, groupName string) (*socket, error) {
	s := &socket{path: p.Socket, given: p.Given, group: -1}
	if groupName != "" {
		g, err := user.LookupGroup(groupName)
		if err != nil {
			return nil, fmt.Errorf("socket group: %w", err)
		}
		if s.group, err = strconv.Atoi(g.Gid); err != nil {
			return nil, fmt.Errorf("socket group %s: %w", groupName, err)
		}
	}
	return s, s.bind()
}

func (s *socket) bind() error {
	dir := filepath.Dir(s.path)
	if !s.given {
		if err := link.MakeSocketDir(dir, s.group >= 0); err != nil {
			return fmt.Errorf("socket directory: %w", err)
		}
	}
	if err := s.clear(); err != nil {
		return err
	}
	l, err := listenPrivate(s.path)
	if err != nil {
		return fmt.Errorf("bind socket: %w", err)
	}
	l.SetUnlinkOnClose(false) // it could be a successor's by then
	if err := s.secure(); err != nil {
		l.Close()
		return err
	}
	s.l = l
	return nil
}

// listenPrivate binds a socket that nobody else may connect to from its first
// moment, where the system takes the mode of an unbound socket; elsewhere the
// look at the peer has to do until the mode is set. The process's mask is left
// alone: others create files meanwhile.
func listenPrivate(path string) (*net.UnixListener, error) {
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		return c.Control(func(fd uintptr) { syscall.Fchmod(int(fd), 0o600) }) // not everywhere
	}}
	l, err := config.Listen(context.Background(), "unix", path)
	if err != nil {
		return nil, err
	}
	return l.(*net.UnixListener), nil
}

// clear removes what a dead kernel left at the path and refuses everything
// else.
func (s *socket) clear() error {
	info, err := os.Lstat(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("socket %s: %w", s.path, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case info.Mode().Type() != os.ModeSocket:
		return fmt.Errorf("socket %s: something that is no socket is there; remove it or use --socket", s.path)
	case !ok || int(st.Uid) != os.Getuid():
		return fmt.Errorf("socket %s: it belongs to another user; use --socket", s.path)
	}
	c, err := net.DialTimeout("unix", s.path, time.Second)
	if err == nil {
		c.Close()
		return fmt.Errorf("socket %s: another kernel answers there; stop it or use --socket", s.path)
	}
	if err := os.Remove(s.path); err != nil {
		return fmt.Errorf("socket %s: remove a dead kernel's: %w", s.path, err)
	}
	return nil
}

// secure sets the mode and remembers which file is ours.
func (s *socket) secure() error {
	mode := os.FileMode(0o600)
	if s.group >= 0 {
		mode = 0o660
		for _, path := range []string{s.path, filepath.Dir(s.path)} {
			if err := os.Chown(path, -1, s.group); err != nil {
				return fmt.Errorf("socket group: %w", err)
			}
		}
	}
	if err := os.Chmod(s.path, mode); err != nil {
		return fmt.Errorf("socket %s: %w", s.path, err)
	}
	info, err := os.Lstat(s.path)
	if err != nil {
		return fmt.Errorf("socket %s: %w", s.path, err)
	}
	st := info.Sys().(*syscall.Stat_t)
	s.dev, s.ino = uint64(st.Dev), st.Ino
	return nil
}

// ours reports whether the path still leads to this socket.
func (s *socket) ours() bool {
	info, err := os.Lstat(s.path)
	if err != nil {
		return false
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && uint64(st.Dev) == s.dev && st.Ino == s.ino
}

// close stops listening and removes the file if it is still this socket's.
func (s *socket) close() {
	s.l.Close()
	if s.ours() {
		os.Remove(s.path)
	}
}
