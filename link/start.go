package link

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	// readyTimeout is how long a kernel that was just started may take.
	readyTimeout = 5 * time.Second
	// lockTimeout is how long to wait for another starter.
	lockTimeout = 3 * readyTimeout
	// readyFD is the readiness pipe's descriptor in the kernel.
	readyFD = 3
	// logTail is how much of the kernel's log is searched for its last error.
	logTail = 64 << 10
)

// starter starts a kernel unless somebody else does.
type starter struct {
	paths   Paths
	program string
	environ []string
}

func newStarter(o Options, p Paths) starter {
	return starter{paths: p, program: o.Kernel, environ: o.Environ}
}

// dial connects to the kernel, starting one if none serves. Of any number of
// racing callers, in any number of processes, one starts it.
func (s starter) dial(ctx context.Context) (dialed, error) {
	if err := s.paths.MakeStateDir(); err != nil {
		return dialed{}, err
	}
	lock, conn, err := s.lockOrDial(ctx)
	if lock == nil {
		return conn, err
	}
	defer lock.Close()
	if conn, err := s.paths.dial(ctx); err == nil || !isNotServing(err) {
		return conn, err
	}
	return s.startLocked(ctx)
}

// lockOrDial returns the start lock, or a connection if a kernel came up while
// somebody else held it.
func (s starter) lockOrDial(ctx context.Context) (*os.File, dialed, error) {
	lock, err := os.OpenFile(s.paths.StartLock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, dialed{}, fmt.Errorf("start kernel: %w", err)
	}
	deadline := time.Now().Add(lockTimeout)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return lock, dialed{}, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			lock.Close()
			return nil, dialed{}, fmt.Errorf("start kernel: lock %s: %w", s.paths.StartLock(), err)
		}
		conn, err := s.paths.dial(ctx)
		if err == nil || !isNotServing(err) {
			lock.Close()
			return nil, conn, err
		}
		if err = wait(ctx, pause); err == nil && time.Now().After(deadline) {
			err = fmt.Errorf("start kernel: somebody has held %s for %s", s.paths.StartLock(), lockTimeout)
		}
		if err != nil {
			lock.Close()
			return nil, dialed{}, err
		}
	}
}

// startLocked starts a kernel while the start lock is held. A kernel that holds
// its life lock without serving is about to serve or about to end: it is waited
// for, never joined by a second one.
func (s starter) startLocked(ctx context.Context) (dialed, error) {
	budget, cancel := context.WithTimeoutCause(ctx, readyTimeout, errNotReady)
	defer cancel()
	began := time.Now()
	var failure error
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if !s.paths.Held() {
			if failure != nil {
				return dialed{}, s.explain(failure, began)
			}
			failure = s.launch(budget)
		}
		conn, err := s.paths.dial(ctx)
		if err == nil || !isNotServing(err) {
			return conn, err
		}
		if wait(budget, pause) != nil {
			if failure == nil {
				failure = fmt.Errorf("a kernel holds %s and serves nowhere: %w", s.paths.Lock(), context.Cause(budget))
			}
			return dialed{}, s.explain(failure, began)
		}
	}
}

var errNotReady = fmt.Errorf("not ready after %s", readyTimeout)

// launch starts a detached kernel and waits for its word. An error leaves a
// kernel that is merely slow alone.
func (s starter) launch(ctx context.Context) error {
	program, err := s.find()
	if err != nil {
		return err
	}
	ready, theirs, err := os.Pipe()
	if err != nil {
		return err
	}
	defer ready.Close()
	closeOnExec()
	cmd := exec.Command(program, s.args()...)
	cmd.Dir = "/" // pin no folder of the client's
	cmd.Env = kernelEnv(s.environ)
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err = cmd.Start()
	theirs.Close()
	if err != nil {
		return err
	}
	go cmd.Wait() // reaps the kernel, should it end before us
	return await(ctx, ready)
}

func (s starter) args() []string { return append(s.flags(), "--ready-fd", strconv.Itoa(readyFD)) }

// flags are the predecessor's, if there was one, then ours.
func (s starter) flags() []string {
	var args []string
	if e, err := s.paths.ReadEndpoint(); err == nil {
		args = append(args, e.Args...)
	}
	args = append(args, "--state-dir", s.paths.StateDir)
	if s.paths.Given {
		args = append(args, "--socket", s.paths.Socket)
	}
	return args
}

// Check asks the program that would be started as the next kernel whether its
// flags, configuration and policy are in order. It leaves a kernel that runs
// alone.
func Check(ctx context.Context, o Options) error {
	p, err := Locate(o)
	if err != nil {
		return err
	}
	s := newStarter(o, p)
	program, err := s.find()
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, program, append(s.flags(), "--check")...)
	cmd.Dir, cmd.Env = "/", kernelEnv(s.environ)
	out, err := cmd.CombinedOutput()
	if said := strings.TrimPrefix(strings.TrimSpace(string(out)), "error: "); err != nil && said != "" {
		return errors.New(said)
	}
	return err
}

// await reads the one line that a kernel writes: "ready PATH" or "error TEXT".
func await(ctx context.Context, ready *os.File) error {
	stop := context.AfterFunc(ctx, func() { ready.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	line, err := bufio.NewReader(io.LimitReader(ready, 8<<10)).ReadString('\n')
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "ready":
		return nil
	case word == "error":
		return errors.New(rest)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case err == io.EOF:
		return errors.New("it ended before it was ready")
	default:
		return fmt.Errorf("unexpected word %q on the readiness pipe", line)
	}
}

func (s starter) find() (string, error) {
	if s.program != "" {
		return s.program, nil
	}
	const name = "shoal-kernel"
	var tried []string
	if self, err := os.Executable(); err == nil {
		if real, err := filepath.EvalSymlinks(self); err == nil {
			self = real
		}
		tried = append(tried, filepath.Dir(self))
	}
	tried = append(tried, filepath.SplitList(getenv(s.environ, "PATH"))...)
	for _, dir := range tried {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if err == nil && filepath.IsAbs(dir) && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is neither beside this program nor in PATH", name)
}

// explain adds what the kernel logged about its failure.
func (s starter) explain(failure error, since time.Time) error {
	if logged := lastError(s.paths.Log(), since); logged != "" && !strings.Contains(failure.Error(), logged) {
		return fmt.Errorf("start kernel: %w; its log says: %s", failure, logged)
	}
	return fmt.Errorf("start kernel: %w", failure)
}

// lastError is the newest entry of level ERROR that is not older than since.
func lastError(path string, since time.Time) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > logTail {
		f.Seek(-logTail, io.SeekEnd)
	}
	text, _ := io.ReadAll(io.LimitReader(f, logTail))
	lines := strings.Split(string(text), "\n")
	for i := len(lines) - 1; i >= 0; i-- {
		var entry struct {
			Time       time.Time
			Level, Msg string
			Err, Error string
		}
		if json.Unmarshal([]byte(lines[i]), &entry) != nil || entry.Level != "ERROR" {
			continue
		}
		if entry.Time.Before(since.Add(-time.Second)) {
			return ""
		}
		if detail := firstSet(entry.Err, entry.Error); detail != "" {
			return entry.Msg + ": " + detail
		}
		return entry.Msg
	}
	return ""
}

// Held reports whether a kernel holds its life lock.
func (p Paths) Held() bool {
	f, err := os.OpenFile(p.Lock(), os.O_RDWR, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB), syscall.EWOULDBLOCK)
}

// kernelEnv is the environment less what marks a task and what opens sessions.
func kernelEnv(environ []string) []string {
	kept := make([]string, 0, len(environ))
	for _, entry := range environ {
		if name, _, _ := strings.Cut(entry, "="); name != "SHOAL_TASK" && name != "SHOAL_TOKEN" {
			kept = append(kept, entry)
		}
	}
	return kept
}

// closeOnExec keeps descriptors that our own parent left open out of a process
// that outlives us: a kernel must not hold somebody's pipe open for ever.
func closeOnExec() {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if fd, err := strconv.Atoi(name); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}

func isNotServing(err error) bool {
	var none *NotServing
	return errors.As(err, &none)
}
