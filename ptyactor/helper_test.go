package ptyactor

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
)

const testSession = messages.SessionName("s")

func newRegistry(t testing.TB, cfg Config) *Registry {
	t.Helper()
	runner, err := proc.New(proc.Options{KernelID: "pty-test-" + strconv.Itoa(os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	var n atomic.Uint64
	cfg.Runner = runner
	cfg.Next = func() (uint64, error) { return n.Add(1), nil }
	r := NewRegistry(cfg)
	t.Cleanup(func() {
		r.CloseAll(context.Background())
		if left := runner.KillAll(context.Background(), proc.KillLadder()); len(left) > 0 {
			t.Errorf("survivors: %+v", left)
		}
		runner.Close()
	})
	return r
}

func request(t testing.TB, cmd string, args ...string) messages.OpenPTY {
	t.Helper()
	path, err := exec.LookPath(cmd)
	if err != nil {
		t.Skipf("no %s", cmd)
	}
	return messages.OpenPTY{Session: testSession, Principal: "p", Cmd: cmd, Args: args, Path: path, Dir: t.TempDir(),
		Env: []string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "PS1=$ ", "LANG=C.UTF-8", "TMUX=x"}}
}

func start(t testing.TB, r *Registry, cmd string, args ...string) *Host {
	t.Helper()
	opened, bad := r.Open(request(t, cmd, args...))
	if bad != nil {
		t.Fatal(bad)
	}
	h, _ := r.Adopt(opened.PTY)
	return h
}

// bash is a shell at its prompt.
func bash(t testing.TB, r *Registry) *Host {
	t.Helper()
	h := start(t, r, "bash", "--norc", "--noprofile", "-i")
	until(t, h, text("$"))
	return h
}

func text(s string) messages.PTYWait  { return messages.PTYWait{Text: &s, TimeoutMS: 15000} }
func regex(s string) messages.PTYWait { return messages.PTYWait{Regex: &s, TimeoutMS: 15000} }

// until reads with a wait that must be met.
func until(t testing.TB, h *Host, w messages.PTYWait) messages.Screen {
	t.Helper()
	s, bad := h.Read(context.Background(), messages.ReadPTY{PTY: h.id, Wait: &w})
	if bad != nil {
		t.Fatal(bad)
	}
	if !s.Wait.Met {
		t.Fatalf("wait ended by %q after %d ms, screen:\n%s", s.Wait.Rule, s.Wait.ElapsedMS, strings.Join(s.Lines, "\n"))
	}
	return s
}

func send(t testing.TB, h *Host, wait *messages.PTYWait, input ...any) messages.PTYSent {
	t.Helper()
	raw, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	s, bad := h.Send(context.Background(), messages.SendPTY{PTY: h.id, Input: raw, Wait: wait})
	if bad != nil {
		t.Fatal(bad)
	}
	return s
}

func key(name string) map[string]string { return map[string]string{"key": name} }

func exited(t testing.TB, h *Host) messages.Screen {
	t.Helper()
	return until(t, h, messages.PTYWait{Exit: true, TimeoutMS: 15000})
}

// within waits for a condition, at most d.
func within(t testing.TB, d time.Duration, what string, cond func() bool) {
	t.Helper()
	for end := time.Now().Add(d); !cond(); <-time.After(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%s: not within %v", what, d)
		}
	}
}
