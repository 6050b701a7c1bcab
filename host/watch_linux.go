package host

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// watchDirs is how many directories one watch follows; what lies in others is
// not noticed, which one notice for all says.
const watchDirs = 8192

const notices = unix.IN_CREATE | unix.IN_MODIFY | unix.IN_ATTRIB | unix.IN_DELETE |
	unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_DELETE_SELF | unix.IN_MOVE_SELF |
	unix.IN_ONLYDIR | unix.IN_EXCL_UNLINK

// inotify gives a watch the kernel's notices. Its goroutine alone uses it.
type inotify struct {
	w         *watch
	f         *os.File
	root      string
	only      string // the one name of interest, or ""
	recursive bool
	dirs      map[int32]string
}

// notify starts to give notice of changes in dir; stop ends that and waits.
func notify(w *watch, dir, only string, recursive bool) (stop func(), err error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, err
	}
	n := &inotify{
		w: w, f: os.NewFile(uintptr(fd), "inotify"),
		root: dir, only: only, recursive: recursive, dirs: map[int32]string{},
	}
	if err := n.follow(dir, false); err != nil {
		n.f.Close()
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		n.read()
	}()
	return func() {
		n.f.Close()
		<-ended
	}, nil
}

// use calls f with the descriptor, unless it is closed already.
func (n *inotify) use(f func(fd int)) {
	if c, err := n.f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { f(int(fd)) })
	}
}

// follow adds a directory, and those below it. What is in a new one already is
// told of.
func (n *inotify) follow(dir string, fresh bool) error {
	if len(n.dirs) >= watchDirs {
		n.w.overflow()
		return nil
	}
	var wd int
	var err error
	n.use(func(fd int) { wd, err = unix.InotifyAddWatch(fd, dir, notices) })
	if err != nil {
		return err
	}
	n.dirs[int32(wd)] = dir
	if !n.recursive {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // a directory that cannot be read has nothing to tell
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if fresh {
			n.w.add(path, "created")
		}
		if e.IsDir() {
			if err := n.follow(path, fresh); errors.Is(err, unix.ENOSPC) {
				n.w.overflow()
			}
		}
	}
	return nil
}

// read passes notices on until the file is closed.
func (n *inotify) read() {
	buf := make([]byte, 64<<10)
	for {
		got, err := n.f.Read(buf)
		if err != nil {
			if !errors.Is(err, fs.ErrClosed) {
				n.w.fail(plain(err))
			}
			return
		}
		for rest := buf[:got]; len(rest) >= unix.SizeofInotifyEvent; {
			e := (*unix.InotifyEvent)(unsafe.Pointer(&rest[0]))
			end := min(len(rest), unix.SizeofInotifyEvent+int(e.Len))
			name := strings.TrimRight(string(rest[unix.SizeofInotifyEvent:end]), "\x00")
			n.notice(e, name)
			rest = rest[end:]
		}
	}
}

func (n *inotify) notice(e *unix.InotifyEvent, name string) {
	if e.Mask&unix.IN_Q_OVERFLOW != 0 {
		n.w.overflow()
		return
	}
	dir, known := n.dirs[e.Wd]
	if !known {
		return
	}
	if e.Mask&(unix.IN_IGNORED|unix.IN_DELETE_SELF|unix.IN_MOVE_SELF) != 0 {
		n.gone(e, dir)
		return
	}
	if name == "" || n.only != "" && name != n.only {
		return
	}
	path := filepath.Join(dir, name)
	switch {
	case e.Mask&(unix.IN_CREATE|unix.IN_MOVED_TO) != 0:
		n.w.add(path, "created")
		if e.Mask&unix.IN_ISDIR != 0 && n.recursive {
			if err := n.follow(path, true); errors.Is(err, unix.ENOSPC) {
				n.w.overflow()
			}
		}
	case e.Mask&unix.IN_MOVED_FROM != 0:
		n.w.add(path, "renamed")
		n.forget(path)
	case e.Mask&unix.IN_DELETE != 0:
		n.w.add(path, "removed")
	case e.Mask&(unix.IN_MODIFY|unix.IN_ATTRIB) != 0:
		n.w.add(path, "modified")
	}
}

// gone is the end of a directory; that of the root is told of.
func (n *inotify) gone(e *unix.InotifyEvent, dir string) {
	if e.Mask&unix.IN_IGNORED != 0 {
		delete(n.dirs, e.Wd)
		return
	}
	if dir == n.root && n.only == "" {
		kind := "removed"
		if e.Mask&unix.IN_MOVE_SELF != 0 {
			kind = "renamed"
		}
		n.w.add(dir, kind)
	}
}

// forget stops following a directory that was moved away, and those below it;
// one that was moved to another place in the tree is new there.
func (n *inotify) forget(path string) {
	for wd, dir := range n.dirs {
		if dir == path || strings.HasPrefix(dir, path+"/") {
			delete(n.dirs, wd)
			n.use(func(fd int) { unix.InotifyRmWatch(fd, uint32(wd)) })
		}
	}
}
