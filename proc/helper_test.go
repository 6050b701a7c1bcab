package proc

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test binary play a kernel that gets killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("PROC_TEST_KERNEL"); dir != "" {
		doomedKernel(dir)
	}
	os.Exit(m.Run())
}

// doomedKernel starts a task that prints and stays, says so once both of its
// programs are what they will be, and waits.
func doomedKernel(dir string) {
	r, err := New(Options{KernelID: "doomed", RunDir: dir})
	if err != nil {
		panic(err)
	}
	grew := make(chan struct{}, 1)
	out := r.OpenOutput(7, func(Stream) {
		select {
		case grew <- struct{}{}:
		default:
		}
	})
	go r.Run(context.Background(), Spec{Task: 7, Path: "/bin/sh", Env: os.Environ(), Stdout: out.Stdout, Stderr: out.Stderr,
		Argv: []string{"sh", "-c", "(setsid sleep 600 >/dev/null 2>&1 &); echo last; exec sleep 600"}})
	for out.Stdout.Len() < 5 { // the last growth is always told
		<-grew
	}
	for tick := time.NewTicker(time.Millisecond); ; <-tick.C { // a process that is about to become its program has no name
		sleeps := 0
		for _, p := range r.Leftovers(7) {
			if p.Cmd == "sleep 600" {
				sleeps++
			}
		}
		if sleeps == 2 {
			break
		}
	}
	os.Stdout.WriteString("up\n")
	select {}
}

func newRunner(t testing.TB, limits Limits) *Runner {
	t.Helper()
	r, err := New(Options{KernelID: "k" + strconv.Itoa(os.Getpid()), RunDir: t.TempDir(), SpillDir: t.TempDir(), Limits: limits})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := r.KillAll(context.Background(), KillLadder()); len(left) > 0 {
			t.Errorf("survivors: %+v", left)
		}
		r.Close()
	})
	return r
}

func shSpec(task uint64, script string) Spec {
	return Spec{Task: task, Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: "/", Env: append(PinnedEnv(), "PATH="+os.Getenv("PATH"))}
}

func sh(t testing.TB, r *Runner, script string) *Result {
	t.Helper()
	res, err := r.Run(context.Background(), shSpec(1, script))
	if err != nil {
		t.Fatalf("run %q: %v", script, err)
	}
	return res
}

func text(c *Capture) string { return string(c.Bytes()) }

func exitStatus(res *Result) int {
	if res.Status == nil {
		return -1
	}
	return *res.Status
}

func hasNote(res *Result, code string) bool {
	for _, n := range res.Notes {
		if n.Code == code {
			return true
		}
	}
	return false
}

// within waits for a condition, at most d.
func within(t testing.TB, d time.Duration, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(d)
	for !cond() {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, d)
		}
		<-time.After(5 * time.Millisecond)
	}
}

func isRunning(pid int) bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && !strings.Contains(string(b), ") Z ")
}

func itoa(n int) string { return strconv.Itoa(n) }

// start runs a spec in the background; the channel gives its end.
type ended struct {
	res *Result
	err error
}

func start(ctx context.Context, r *Runner, spec Spec) <-chan ended {
	c := make(chan ended, 1)
	go func() {
		res, err := r.Run(ctx, spec)
		c <- ended{res, err}
	}()
	return c
}
