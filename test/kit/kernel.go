package kit

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// Kernel is a kernel that the test has started itself.
type Kernel struct {
	PID int

	cmd  *exec.Cmd
	done chan struct{} // closed when it has been reaped
	errs *tail
}

// StartKernel starts a kernel on the world's state directory and waits until
// it serves; it fails the test when it does not.
func (w *World) StartKernel(args ...string) *Kernel {
	w.T.Helper()
	k, line := w.TryKernel(args...)
	if !strings.HasPrefix(line, "shoal-kernel: ready ") {
		w.T.Fatalf("start kernel: got %q, want it to be ready", line)
	}
	return k
}

// TryKernel starts a kernel and gives the first line that it says.
func (w *World) TryKernel(args ...string) (*Kernel, string) {
	w.T.Helper()
	cmd := w.Command("shoal-kernel", append([]string{"--state-dir", w.State}, args...)...)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatalf("start kernel: %v", err)
	}
	k := &Kernel{PID: cmd.Process.Pid, cmd: cmd, done: make(chan struct{}), errs: &tail{}}
	first := make(chan string, 1)
	go func() {
		defer close(k.done)
		r := bufio.NewReader(stderr)
		line, _ := r.ReadString('\n')
		first <- strings.TrimSpace(line)
		io.Copy(k.errs, r)
		cmd.Wait()
	}()
	select {
	case line := <-first:
		return k, line
	case <-time.After(Long):
		w.T.Fatal("start kernel: it says nothing")
		return nil, ""
	}
}

// Done is closed when the kernel has ended.
func (k *Kernel) Done() <-chan struct{} { return k.done }

// Status is the exit status of an ended kernel.
func (k *Kernel) Status() int { <-k.done; return k.cmd.ProcessState.ExitCode() }

// Stderr is what the kernel has said since its first line.
func (k *Kernel) Stderr() string { return k.errs.String() }

// tail keeps the newest of what is written to it.
type tail struct {
	mu  sync.Mutex
	buf []byte
}

// Write appends and forgets the oldest.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if extra := len(t.buf) - 64<<10; extra > 0 {
		t.buf = t.buf[extra:]
	}
	return len(p), nil
}

// String is what is kept.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.buf)
}
