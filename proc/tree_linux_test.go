package proc

import (
	"bufio"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// daemonizer double-forks into new sessions, ignores what it can, and writes
// its pid to a file.
const daemonizer = `trap "" INT TERM HUP
(setsid sh -c 'trap "" INT TERM HUP; (setsid sh -c "trap \"\" INT TERM HUP; echo \$\$ > FILE; while :; do sleep 1; done" &)' &)
while [ ! -s FILE ]; do sleep 0.01; done; echo up; while :; do sleep 1; done`

func TestCancelEndsTheTree(t *testing.T) {
	tests := []struct{ name, script string }{
		{"polite", "echo up; exec sleep 600"},
		{"children", "(while true; do echo c; sleep 0.1; done) & echo up; wait"},
		{"deaf", `trap "" INT TERM; echo up; while :; do sleep 1; done`},
		{"daemon", daemonizer},
		{"unmarked daemon", strings.ReplaceAll(daemonizer, "(setsid sh -c 'trap", "(env -i PATH=$PATH setsid sh -c 'trap")},
		{"job control", `set -m; sleep 600 & sleep 601 & echo up; wait`},
	}
	for _, tt := range tests {
		// One after another: orphans without a mark are a process's, and a
		// process has one runner.
		t.Run(tt.name, func(t *testing.T) {
			r := newRunner(t, Limits{})
			file := filepath.Join(t.TempDir(), "pid")
			out := r.OpenOutput(1, nil)
			defer out.Close()
			spec := shSpec(1, strings.ReplaceAll(tt.script, "FILE", file))
			spec.Stdout = out.Stdout
			ctx, cancel := context.WithCancelCause(context.Background())
			done := start(ctx, r, spec)
			within(t, 10*time.Second, "start", func() bool { return out.Stdout.Len() >= 3 })
			began := time.Now()
			why := errors.New("because")
			cancel(why)
			end := <-done
			if took := time.Since(began); took > 9*time.Second {
				t.Errorf("took %v, want 3 s on an idle machine", took)
			}
			if !errors.Is(end.err, why) || end.res == nil {
				t.Fatalf("got %v, %v; want the cause and a result", end.res, end.err)
			}
			if len(end.res.Holders) > 0 {
				t.Errorf("survivors %v", end.res.Holders)
			}
			if !strings.Contains(text(end.res.Stdout), "up\n") {
				t.Errorf("output so far is lost: %q", text(end.res.Stdout))
			}
			if b, err := os.ReadFile(file); err == nil {
				if pid, _ := strconv.Atoi(strings.TrimSpace(string(b))); isRunning(pid) {
					t.Errorf("daemon %d lives", pid)
				}
			} else if strings.Contains(tt.script, "FILE") {
				t.Errorf("daemon did not start: %v", err)
			}
		})
	}
}

// An interrupt must reach each process once: tools take the second for
// "stop at once".
func TestInterruptOnce(t *testing.T) {
	r := newRunner(t, Limits{})
	out := r.OpenOutput(1, nil)
	defer out.Close()
	spec := shSpec(1, `trap 'echo int' INT; echo up; i=0; while [ $i -lt 8 ]; do sleep 0.05; i=$((i+1)); done; exit 0`)
	spec.Stdout = out.Stdout
	ctx, cancel := context.WithCancel(context.Background())
	done := start(ctx, r, spec)
	within(t, 5*time.Second, "start", func() bool { return out.Stdout.Len() >= 3 })
	cancel()
	end := <-done
	if got := strings.Count(text(end.res.Stdout), "int"); got != 1 {
		t.Errorf("interrupted %d times, want once", got)
	}
}

// Cancelling one command leaves alone what another command of the same task
// left running.
func TestCancelSparesSiblings(t *testing.T) {
	r := newRunner(t, Limits{})
	server := sh(t, r, "setsid sleep 600 >/dev/null 2>&1 & echo $!")
	pid, _ := strconv.Atoi(strings.TrimSpace(text(server.Stdout)))
	ctx, cancel := context.WithCancel(context.Background())
	done := start(ctx, r, shSpec(1, "exec sleep 500"))
	within(t, 5*time.Second, "second command", func() bool { return len(r.Leftovers(1)) == 2 })
	cancel()
	<-done
	left := r.Leftovers(1)
	if len(left) != 1 || left[0].PID != pid {
		t.Errorf("got %v, want only the server %d", left, pid)
	}
}

func TestCancelledContextSkipsToKill(t *testing.T) {
	r := newRunner(t, Limits{})
	done := start(context.Background(), r, shSpec(1, `trap "" INT TERM; while :; do sleep 1; done`))
	within(t, 5*time.Second, "start", func() bool { return len(r.Leftovers(1)) > 0 })
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	began := time.Now()
	if left := r.KillTree(ctx, 1, CancelLadder()); len(left) > 0 {
		t.Errorf("survivors %v", left)
	}
	if took := time.Since(began); took > 1500*time.Millisecond {
		t.Errorf("took %v, want no waiting for KILL", took)
	}
	if end := <-done; end.res.Signal != "SIGKILL" || end.err != nil {
		t.Errorf("got %q %v, want SIGKILL and no error", end.res.Signal, end.err)
	}
}

func TestSuspendResume(t *testing.T) {
	r := newRunner(t, Limits{})
	out := r.OpenOutput(1, nil)
	defer out.Close()
	spec := shSpec(1, `(setsid sh -c 'while :; do echo x; sleep 0.01; done' &); while :; do echo y; sleep 0.01; done`)
	spec.Stdout = out.Stdout
	ctx, cancel := context.WithCancel(context.Background())
	done := start(ctx, r, spec)
	grows := func() bool { n := out.Stdout.Len(); <-time.After(60 * time.Millisecond); return out.Stdout.Len() > n }
	within(t, 5*time.Second, "output", grows)
	if err := r.Suspend(1); err != nil {
		t.Fatal(err)
	}
	for _, p := range r.Leftovers(1) {
		if p.State != "T" && p.State != "D" { // D: its child was stopped before its exec
			t.Errorf("%+v is not stopped", p)
		}
	}
	within(t, 2*time.Second, "silence", func() bool { return !grows() })
	if err := r.Resume(1); err != nil {
		t.Fatal(err)
	}
	within(t, 5*time.Second, "output again", grows)
	if err := r.Suspend(1); err != nil {
		t.Fatal(err)
	}
	cancel()
	if end := <-done; len(end.res.Holders) > 0 {
		t.Errorf("cancelling a suspended task left %v", end.res.Holders)
	}
}

// A shell that was caught between the start of a program and its exec cannot
// stop before its child goes on; it runs nothing meanwhile.
func TestSuspendWhileForking(t *testing.T) {
	r := newRunner(t, Limits{})
	ctx, cancel := context.WithCancel(context.Background())
	done := start(ctx, r, shSpec(1, `while :; do /bin/true; done`))
	within(t, 5*time.Second, "a process", func() bool { return len(r.Leftovers(1)) > 0 })
	for range 50 {
		if err := r.Suspend(1); err != nil {
			t.Fatal(err, r.Leftovers(1))
		}
		if err := r.Resume(1); err != nil {
			t.Fatal(err)
		}
	}
	cancel()
	<-done
}

// A flood must not grow memory, must be counted, and must end when told.
func TestFloodStaysFlat(t *testing.T) {
	r := newRunner(t, Limits{CaptureCap: 4 << 20, SpillCap: 16 << 20})
	out := r.OpenOutput(1, nil)
	defer out.Close()
	spec := Spec{Task: 1, Path: "/usr/bin/yes", Argv: []string{"yes"}, Stdout: out.Stdout}
	before := rss(t)
	ctx, cancel := context.WithCancel(context.Background())
	done := start(ctx, r, spec)
	within(t, 30*time.Second, "256 MiB", func() bool { return out.Stdout.Total() > 256<<20 })
	grown := rss(t) - before
	began := time.Now()
	cancel()
	end := <-done
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("cancel took %v", took)
	}
	if grown > 64<<20 {
		t.Errorf("grew by %d MiB", grown>>20)
	}
	c := end.res.Stdout
	if c.Len() != 16<<20 || c.Total() < 256<<20 || !hasNote(end.res, NoteTruncated) {
		t.Errorf("kept %d of %d, notes %v", c.Len(), c.Total(), end.res.Notes)
	}
	c.Close()
}

func rss(t testing.TB) int64 {
	runtime.GC()
	b, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("no /proc")
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// A kernel killed with -9 leaves processes and output; the next one ends the
// first and finds the second.
func TestSweepAfterKernelDeath(t *testing.T) {
	dir := t.TempDir()
	kernel := exec.Command(os.Args[0])
	kernel.Env = append(os.Environ(), "PROC_TEST_KERNEL="+dir)
	stdout, err := kernel.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := kernel.Start(); err != nil {
		t.Fatal(err)
	}
	if line, err := bufio.NewReader(stdout).ReadString('\n'); err != nil || line != "up\n" {
		t.Fatalf("kernel said %q %v", line, err)
	}
	kernel.Process.Kill()
	kernel.Wait()
	tails, err := RecoverTails(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(tails[7].Stdout); got != "last\n" || tails[7].StdoutTotal != 5 {
		t.Errorf("got tail %q of %d, want last", got, tails[7].StdoutTotal)
	}
	next, err := New(Options{KernelID: "doomed", RunDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	found := next.Sweep()
	sleeps := 0
	for _, p := range found {
		if p.Task != 7 {
			t.Errorf("got task %d of %+v, want 7", p.Task, p)
		}
		if strings.Contains(p.Cmd, "sleep 600") {
			sleeps++
		}
		if isRunning(p.PID) {
			t.Errorf("%+v lives", p)
		}
	}
	if sleeps != 2 {
		t.Errorf("found %v, want two sleeps", found)
	}
	if again := next.Sweep(); len(again) > 0 {
		t.Errorf("second sweep found %v", again)
	}
}

// The reaper must not take the status of a child that other code waits for.
func TestReaperSparesOthers(t *testing.T) {
	r := newRunner(t, Limits{})
	for range 20 {
		cmd := exec.Command("/bin/sh", "-c", "exit 9")
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		sh(t, r, "(setsid true &)")
		<-time.After(10 * time.Millisecond)
		cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != 9 {
			t.Fatalf("got status %d, want 9", got)
		}
	}
}

// TestStartingChildIsNoOrphan looks for the members of one tree while a child
// of another exists and is not remembered yet.
func TestStartingChildIsNoOrphan(t *testing.T) {
	r := newRunner(t, Limits{})
	spawn := func() (*os.Process, error) {
		return os.StartProcess("/bin/sleep", []string{"sleep", "600"}, &os.ProcAttr{
			Env: []string{"PATH=/bin"}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
	}
	end := func(tree *Tree, p *os.Process) {
		p.Kill()
		p.Wait()
		tree.Exited()
		tree.Drop()
	}
	var first, second *os.Process
	tree, err := r.Track("1", "", func() (pid int, err error) {
		if first, err = spawn(); err != nil {
			return 0, err
		}
		return first.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { end(tree, first) }()
	other, err := r.Track("2", "", func() (pid int, err error) {
		if second, err = spawn(); err != nil {
			return 0, err
		}
		for _, p := range tree.Alive() {
			if p.PID == second.Pid {
				t.Errorf("process %d is being started for another owner and counts as a member", p.PID)
			}
		}
		return second.Pid, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	end(other, second)
}
