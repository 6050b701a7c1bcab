package ptyactor

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

// device is a terminal's master side and the child on the other.
type device struct {
	master *os.File // non-blocking: Close and deadlines reach a pending read or write
	child  *os.Process
	tree   *proc.Tree
}

// startDevice opens a terminal of the given size and starts the program as the
// leader of a new session on it.
func startDevice(runner *proc.Runner, id messages.PTYID, req messages.OpenPTY) (*device, error) {
	blocking, tty, err := pty.Open()
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	defer tty.Close()
	master, err := unblock(blocking)
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	d := &device{master: master}
	if err := d.setSize(req.Cols, req.Rows); err != nil {
		master.Close()
		return nil, fmt.Errorf("open terminal: set size: %w", err)
	}
	who := ownerName(id)
	argv := append([]string{req.Cmd}, req.Args...)
	d.tree, err = runner.Track(who, "", func() (int, error) {
		child, err := os.StartProcess(req.Path, argv, &os.ProcAttr{
			Dir: req.Dir, Env: runner.MarkFor(childEnv(req.Env, req.Set), who), Files: []*os.File{tty, tty, tty},
			Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0},
		})
		if err != nil {
			return 0, err
		}
		d.child = child
		return child.Pid, nil
	})
	if err != nil {
		master.Close()
		return nil, proc.WhySpawn(req.Path, req.Dir, err)
	}
	return d, nil
}

// ownerName is the terminal's name in the mark of its processes.
func ownerName(id messages.PTYID) string { return strings.Replace(string(id), ":", "-", 1) }

// unblock replaces a file by a non-blocking one on the same terminal. The
// library leaves it blocking, where closing does not end a read.
func unblock(f *os.File) (*os.File, error) {
	defer f.Close()
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), "ptmx"), nil
}

// childEnv is the session's environment for a terminal: ours describes another
// terminal, if any.
func childEnv(env, set []string) []string {
	drop := []string{"TERM", "TMUX", "LINES", "COLUMNS"}
	out := make([]string, 0, len(env)+len(set)+1)
	overridden := func(name string) bool {
		return slices.ContainsFunc(set, func(kv string) bool { return strings.HasPrefix(kv, name+"=") })
	}
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		if !slices.Contains(drop, name) && !overridden(name) {
			out = append(out, kv)
		}
	}
	if !overridden("TERM") {
		out = append(out, "TERM="+defaultTerm)
	}
	return append(out, set...)
}

// defaultTerm is the TERM of programs that are given none.
const defaultTerm = "xterm-256color"

// termOf is the TERM that a program with such overrides sees.
func termOf(set []string) string {
	term := defaultTerm
	for _, kv := range set {
		if v, ok := strings.CutPrefix(kv, "TERM="); ok {
			term = v
		}
	}
	return term
}

// setSize tells the terminal, and with it the child, its size.
func (d *device) setSize(cols, rows int) error {
	return d.control(func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(cols)})
	})
}

// canonical reports whether the terminal collects input by lines.
func (d *device) canonical() bool { return d.local(unix.ICANON) }

// echoes reports whether the terminal itself shows what is typed.
func (d *device) echoes() bool { return d.local(unix.ECHO) }

// local reports whether a local mode is on; it is off when nobody can tell.
func (d *device) local(flag uint64) bool {
	on := false
	d.control(func(fd int) error {
		t, err := unix.IoctlGetTermios(fd, getTermios)
		on = err == nil && uint64(t.Lflag)&flag != 0
		return err
	})
	return on
}

// control runs an ioctl without making the file blocking, as Fd would.
func (d *device) control(f func(fd int) error) error {
	conn, err := d.master.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	if err := conn.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil {
		return err
	}
	return inner
}
