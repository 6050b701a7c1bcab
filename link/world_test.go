package link

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests.
const patience = time.Minute

// world is one machine's worth of folders: a home, a runtime folder, programs.
type world struct {
	t       *testing.T
	bin     string
	environ []string
	paths   Paths
}

func newWorld(t *testing.T, environ ...string) *world {
	t.Helper()
	checkLeaks(t)
	root, err := os.MkdirTemp("/tmp", "link") // short, for the socket
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, bin: filepath.Join(root, "bin")}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"bin", "run"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"shoal-kernel", "shoal-mcp", "wrapper"} {
		if err := os.Symlink(self, filepath.Join(w.bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	w.environ = append([]string{
		"HOME=" + root, "PATH=" + w.bin, "XDG_RUNTIME_DIR=" + root + "/run", "XDG_STATE_HOME=" + root,
		"TEST_KERNEL=" + filepath.Join(w.bin, "shoal-kernel"), "SHOAL_TASK=k/1",
	}, environ...)
	if w.paths, err = Locate(w.options()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.killKernels()
		os.RemoveAll(root)
	})
	return w
}

func (w *world) options() Options {
	return Options{Environ: w.environ, Cwd: "/", Kernel: filepath.Join(w.bin, "shoal-kernel")}
}

// command prepares one of the programs.
func (w *world) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(w.bin, name), args...)
	cmd.Env = w.environ
	return cmd
}

// lines are those of a file of the state directory, as pid and text.
func (w *world) lines(file string) (pids []int, texts []string) {
	data, _ := os.ReadFile(filepath.Join(w.paths.StateDir, file))
	for _, line := range strings.Split(string(data), "\n") {
		if pid, text, ok := strings.Cut(line, " "); ok {
			n, _ := strconv.Atoi(pid)
			pids, texts = append(pids, n), append(texts, text)
		}
	}
	return pids, texts
}

// kernels are the pids of all kernels that came to serve.
func (w *world) kernels() []int {
	pids, _ := w.lines("starts")
	return pids
}

// frames are those that the nth kernel got.
func (w *world) frames(n int) []string {
	kernels := w.kernels()
	if n >= len(kernels) {
		return nil
	}
	var list []string
	pids, texts := w.lines("frames")
	for i, pid := range pids {
		if pid == kernels[n] {
			list = append(list, texts[i])
		}
	}
	return list
}

func (w *world) killKernels() {
	for _, pid := range w.kernels() {
		w.kill(pid)
	}
}

// kill ends a kernel that a test started and waits until its locks are free.
func (w *world) kill(pid int) {
	if !isKernel(pid) {
		return
	}
	syscall.Kill(pid, syscall.SIGKILL)
	eventually(w.t, "kernel is dead", func() bool { return !isKernel(pid) })
}

// isKernel guards against a number that is by now somebody else's.
func isKernel(pid int) bool {
	state, _ := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return bytes.Contains(state, []byte("(shoal-kernel)")) && !bytes.Contains(state, []byte(") Z"))
}

func alive(pid int) bool {
	state, err := os.ReadFile("/proc/" + itoa(pid) + "/stat")
	return err == nil && !bytes.Contains(state, []byte(") Z"))
}

// startKernel starts one as a person would.
func (w *world) startKernel() {
	w.t.Helper()
	if err := w.paths.MakeStateDir(); err != nil {
		w.t.Fatal(err)
	}
	n := len(w.kernels())
	cmd := w.command("shoal-kernel", "--state-dir", w.paths.StateDir)
	if err := cmd.Start(); err != nil {
		w.t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { cmd.Wait(); close(done) }()
	w.t.Cleanup(func() { cmd.Process.Kill(); <-done })
	eventually(w.t, "kernel serves", func() bool {
		if len(w.kernels()) <= n {
			return false
		}
		conn, err := w.paths.Dial(context.Background())
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}

// client is an MCP client at a relay in this process.
type client struct {
	t     *testing.T
	in    *os.File
	lines *bufio.Reader
	code  chan int
	end   func()
}

func (w *world) client(change ...func(*Options)) *client {
	w.t.Helper()
	o := w.options()
	for _, f := range change {
		f(&o)
	}
	inRead, in, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		w.t.Fatal(err)
	}
	c := &client{t: w.t, in: in, lines: bufio.NewReaderSize(out, 1<<16), code: make(chan int, 1)}
	log := slog.New(slog.NewTextHandler(&testLog{t: w.t}, nil))
	go func() {
		c.code <- Relay{In: inRead, Out: outWrite, Log: log, Options: o}.Run(context.Background())
		inRead.Close()
		outWrite.Close()
	}()
	c.end = sync.OnceFunc(func() {
		in.Close()
		go io.Copy(io.Discard, c.lines)
		<-c.code
		out.Close()
	})
	w.t.Cleanup(c.end)
	return c
}

// testLog shows a relay's log in the test's.
type testLog struct{ t *testing.T }

func (l *testLog) Write(p []byte) (int, error) {
	l.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

func (c *client) send(frames ...string) {
	c.t.Helper()
	for _, f := range frames {
		if _, err := io.WriteString(c.in, f+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// line is the next frame; the read is bounded by a watchdog that ends the test.
func (c *client) line() string {
	c.t.Helper()
	guard := time.AfterFunc(patience, func() { panic(c.t.Name() + ": no frame from the relay") })
	defer guard.Stop()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatalf("read frame: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (c *client) want(frame string) {
	c.t.Helper()
	if got := c.line(); got != frame {
		c.t.Fatalf("got  %s\nwant %s", got, frame)
	}
}

// wantError expects the refusal of a request.
func (c *client) wantError(id, code, text string) {
	c.t.Helper()
	got := c.line()
	if !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"error":{"code":`+code+`,`) || !strings.Contains(got, text) {
		c.t.Fatalf("got %s\nwant id %s, code %s, %s", got, id, code, text)
	}
}

// exit ends the client's input and gives the relay's exit code.
func (c *client) exit() int {
	c.t.Helper()
	c.in.Close()
	select {
	case code := <-c.code:
		c.code <- code // for the cleanup
		return code
	case <-time.After(patience):
		c.t.Fatal("the relay does not end")
		return -1
	}
}

func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for limit := time.Now().Add(patience); !holds(); <-tick.C {
		if time.Now().After(limit) {
			t.Fatalf("not within %s: %s", patience, what)
		}
	}
}

// checkLeaks holds a test to its goroutines and descriptors, once everything
// that it cleans up is gone.
func checkLeaks(t *testing.T) {
	t.Helper()
	goroutines, fds := runtime.NumGoroutine(), descriptors()
	t.Cleanup(func() {
		if t.Failed() {
			return
		}
		eventually(t, "no goroutine or descriptor is left over", func() bool {
			return runtime.NumGoroutine() <= goroutines && descriptors() <= fds
		})
	})
}

func descriptors() int {
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return 0
	}
	return len(entries)
}
