package kit

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/link"
)

// World is one user's machine as far as Shoal can tell: a home, a runtime
// directory, a state directory and a place to work.
type World struct {
	T     testing.TB
	Bin   string
	Root  string // holds everything else; short, so that sockets fit
	Home  string
	Run   string // XDG_RUNTIME_DIR
	State string // the state directory; not made yet
	Work  string // where clients start
	Stubs string // first in PATH
	// Env is the environment of what is started; a test may add to it before.
	Env []string
	// User runs everything as another user id when it is not 0; see Wrap.
	User int
}

// NewWorld makes a world that is checked and removed at the end of the test.
func NewWorld(t testing.TB, bin string) *World {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "se2e-")
	if err != nil {
		t.Fatal(err)
	}
	w := &World{
		T: t, Bin: bin, Root: root, Home: root + "/home", Run: root + "/run",
		State: root + "/state", Work: root + "/work", Stubs: root + "/stubs",
	}
	for _, dir := range []string{w.Home, w.Run, w.Work, w.Stubs, w.Home + "/.config"} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	w.Env = []string{
		"HOME=" + w.Home, "USER=tester", "LOGNAME=tester", "SHELL=/bin/sh", "LANG=C.UTF-8",
		"PATH=" + w.Stubs + ":" + bin + ":/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
		"XDG_RUNTIME_DIR=" + w.Run, "XDG_CONFIG_HOME=" + w.Home + "/.config",
		"XDG_STATE_HOME=" + w.Home + "/.state", "TMPDIR=" + root,
	}
	if Raced() {
		w.Env = append(w.Env, "GORACE=log_path="+root+"/race")
	}
	t.Cleanup(w.close)
	return w
}

// Write puts a file into the work directory and gives its path.
func (w *World) Write(name, text string) string {
	w.T.Helper()
	path := filepath.Join(w.Work, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		w.T.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		w.T.Fatal(err)
	}
	return path
}

// Stub puts a shell script into the first directory of PATH.
func (w *World) Stub(name, script string) {
	w.T.Helper()
	if err := os.WriteFile(filepath.Join(w.Stubs, name), []byte("#!/bin/sh\n"+script), 0o755); err != nil {
		w.T.Fatal(err)
	}
}

// Policy writes a policy file that the world's kernels read by themselves.
func (w *World) Policy(text string) {
	w.T.Helper()
	dir := filepath.Join(w.Home, ".config", "shoal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		w.T.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "policy.toml"), []byte(text), 0o600); err != nil {
		w.T.Fatal(err)
	}
}

// Command is one of the binaries, ready to start in the work directory.
func (w *World) Command(name string, args ...string) *exec.Cmd {
	argv := append([]string{filepath.Join(w.Bin, name)}, args...)
	if w.User != 0 {
		argv = append(asUser(w.User), argv...)
	}
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Dir, cmd.Env = w.Work, w.Env
	return cmd
}

// Shoal runs the command line for people and gives what it printed.
func (w *World) Shoal(args ...string) (stdout, stderr string, status int) {
	w.T.Helper()
	cmd := w.Command("shoal", args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		w.T.Fatalf("run shoal %v: %v", args, err)
	}
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// Paths is where the world's kernel and its clients meet.
func (w *World) Paths() link.Paths {
	w.T.Helper()
	p, err := link.Locate(link.Options{StateDir: w.State, Environ: w.Env, Cwd: w.Work})
	if err != nil {
		w.T.Fatal(err)
	}
	return p
}

// Kernels lists the kernels that live in this world, by whomever started. What a
// kernel has forked looks like another one until it becomes its program.
func (w *World) Kernels() []Process {
	exe := filepath.Join(w.Bin, "shoal-kernel")
	runs := func(pid int) bool {
		is, _ := os.Readlink("/proc/" + itoa(pid) + "/exe")
		return is == exe
	}
	var out []Process
	for _, p := range Processes(w.Root) {
		if runs(p.PID) && !runs(parent(p.PID)) {
			out = append(out, p)
		}
	}
	return out
}

// KernelPID is the pid of the only kernel.
func (w *World) KernelPID() int {
	w.T.Helper()
	all := w.Kernels()
	if len(all) != 1 {
		w.T.Fatalf("kernels: got %v, want exactly one", all)
	}
	return all[0].PID
}

// KillKernel kills the only kernel with -9 and waits for its end.
func (w *World) KillKernel() {
	w.T.Helper()
	pid := w.KernelPID()
	if err := Kill(pid, syscall.SIGKILL); err != nil {
		w.T.Fatal(err)
	}
	Eventually(w.T, Long, "the killed kernel is gone", func() bool { return !Alive(pid) })
}

// StopKernel ends the only kernel in order and demands that it obeys.
func (w *World) StopKernel() {
	w.T.Helper()
	pid := w.KernelPID()
	if err := Kill(pid, syscall.SIGTERM); err != nil {
		w.T.Fatal(err)
	}
	Eventually(w.T, stopBound, "the kernel ends after TERM", func() bool { return !Alive(pid) })
}

// stopBound is the promised five seconds with room for a busy machine.
const stopBound = 20 * time.Second

// close ends the world: kernels are told to stop, and then nothing may live
// that was started in it.
func (w *World) close() {
	for _, k := range w.Kernels() {
		Kill(k.PID, syscall.SIGTERM)
		if !Within(stopBound, func() bool { return !Alive(k.PID) }) {
			w.T.Errorf("kernel %v did not end after TERM", k)
			Kill(k.PID, syscall.SIGQUIT)
			Within(5*time.Second, func() bool { return !Alive(k.PID) })
			Kill(k.PID, syscall.SIGKILL)
		}
	}
	if !Within(5*time.Second, func() bool { return len(Processes(w.Root)) == 0 }) {
		left := Processes(w.Root)
		w.T.Errorf("processes left over: %v", left)
		for _, p := range left {
			Kill(p.PID, syscall.SIGKILL)
		}
	}
	w.races()
	if w.T.Failed() {
		w.logTail()
	}
	os.RemoveAll(w.Root)
}

// races reports what race detectors in the world's processes have found.
func (w *World) races() {
	logs, _ := filepath.Glob(w.Root + "/race.*")
	for _, name := range logs {
		text, _ := os.ReadFile(name)
		w.T.Errorf("data race in %s:\n%s", filepath.Base(name), text)
	}
}

// logTail shows the newest of the kernel's log.
func (w *World) logTail() {
	raw, err := os.ReadFile(filepath.Join(w.State, "log", "kernel.log"))
	if err != nil {
		return
	}
	const most = 8 << 10
	if len(raw) > most {
		raw = raw[len(raw)-most:]
	}
	w.T.Logf("newest of kernel.log:\n%s", raw)
}
