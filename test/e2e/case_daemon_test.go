package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"shoal.dev/shoal/test/kit"
)

// race starts n facades at the same moment on an empty machine and demands one
// kernel that all of them reach.
func race(t *testing.T, n int) {
	t.Helper()
	w := world(t)
	facades := make([]*kit.Facade, n)
	for i := range facades {
		facades[i] = w.StartFacade("main")
	}
	var hands sync.WaitGroup
	for _, f := range facades {
		hands.Go(func() { f.Initialize() })
	}
	hands.Wait()
	if k := w.Kernels(); len(k) != 1 {
		t.Errorf("kernels: got %v, want exactly one", k)
	}
	for i, f := range facades {
		if got := f.Exec(fmt.Sprintf("%d", i)).Structured.At("value", "v").Int(); got != int64(i) {
			t.Errorf("facade %d: got %d", i, got)
		}
	}
}

// Two facades that race on an empty machine end with one kernel.
func TestTwoFacadesRace(t *testing.T) {
	for i := range repeat(20) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { race(t, 2) })
	}
}

// Four at once do, too.
func TestB64FourColdStarts(t *testing.T) {
	for i := range repeat(20) {
		t.Run(fmt.Sprint(i), func(t *testing.T) { race(t, 4) })
	}
}

// The socket of a killed kernel does not stand in the next one's way.
func TestB65StaleSocket(t *testing.T) {
	w := world(t)
	w.Facade("main").Close()
	w.KillKernel()
	if _, err := os.Lstat(w.Paths().Socket); err != nil {
		t.Fatalf("the killed kernel left no socket to trip over: %v", err)
	}
	f := w.StartFacade("main")
	f.Initialize()
	if got := f.Exec("1 + 1").Text; strings.TrimSpace(got) != "2" {
		t.Errorf("got %q, want 2", got)
	}
}

// A stale note of a pid never makes anybody end an innocent process.
func TestB67InnocentProcess(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	f.Close()
	w.KillKernel()
	innocent := exec.Command("sleep", "600")
	innocent.Env = []string{"PATH=/usr/bin:/bin"}
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		innocent.Process.Kill()
		innocent.Wait()
	}()
	pid := fmt.Sprint(innocent.Process.Pid)
	for _, name := range []string{"pid", "kernel.pid", "lock", "start.lock"} {
		if err := os.WriteFile(filepath.Join(w.State, name), []byte(pid+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	endpoint, err := os.ReadFile(w.Paths().EndpointFile())
	if err != nil {
		t.Fatal(err)
	}
	forged := strings.Replace(string(endpoint), `"pid":`, `"pid":`+pid+`,"was":`, 1)
	if err := os.WriteFile(w.Paths().EndpointFile(), []byte(forged), 0o600); err != nil {
		t.Fatal(err)
	}
	w.Facade("main").Exec("1")
	w.StopKernel()
	if !kit.Alive(innocent.Process.Pid) {
		t.Error("an unrelated process was ended")
	}
}

// The death of a facade's parent ends the facade, and neither kernel nor tasks.
func TestB62ParentDies(t *testing.T) {
	w, r := served(t)
	task := r.Background("sh { sleep 600 }")
	kernel := w.KernelPID()
	for range repeat(20) {
		pid := parentWithFacade(t, w)
		if !kit.Within(quick, func() bool { return !kit.Alive(pid) }) {
			t.Fatalf("facade %d lives on without its parent", pid)
		}
	}
	if n := count(w, "shoal-mcp"); n != 0 {
		t.Errorf("facades: got %d, want none", n)
	}
	if !kit.Alive(kernel) || r.Task(task).At("state").Str() != "running" {
		t.Error("the kernel or its task went with a facade's parent")
	}
	r.Must("task.cancel", kit.Args{"task": task})
	r.Await(task)
}

// parentWithFacade runs a program that starts a facade and talks to it, kills
// that program with -9, and gives the facade's pid.
func parentWithFacade(t *testing.T, w *kit.World) int {
	t.Helper()
	const script = `
import subprocess, sys, json
p = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
p.stdin.write(b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"p","version":"1"}}}\n')
p.stdin.flush()
p.stdout.readline()
print(p.pid, flush=True)
p.wait()
`
	parent := exec.Command(python(t), "-c", script, filepath.Join(w.Bin, "shoal-mcp"), "--state-dir", w.State)
	parent.Env, parent.Dir = w.Env, w.Work
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(out, &pid); err != nil {
		t.Errorf("the parent says no pid: %v", err)
	}
	if err := kit.Kill(parent.Process.Pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	if pid == 0 {
		t.FailNow()
	}
	return pid
}

// Tasks stay listed and can be cancelled when the client that started them is
// gone.
func TestB15DroppedFacade(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	want := map[string]bool{}
	for range 3 {
		want[f.Exec("sh { sleep 600 }", kit.Args{"background": true}).Structured.At("task").Str()] = true
	}
	f.Kill()
	again := w.Facade("main")
	for _, rec := range again.MustRead("shoal://jobs").At("tasks").List() {
		id := rec.At("task").Str()
		if !want[id] {
			continue
		}
		delete(want, id)
		again.MustTool("shoal_cancel", kit.Args{"task": id})
		if end := again.AwaitEnd(id); end.At("state").Str() != "cancelled" {
			t.Errorf("%s: got %v, want cancelled", id, end)
		}
	}
	if len(want) > 0 {
		t.Errorf("not listed: %v", want)
	}
	if n := count(w, "sleep 600"); n != 0 {
		t.Errorf("processes of cancelled tasks: got %d, want none", n)
	}
}

// An autostarted kernel inherits nothing of its starter and outlives it; an
// orderly stop is not undone by the facades that lived through it.
func TestStopIsObeyed(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	f.Exec("let kept = 5")
	w.StopKernel()
	a := f.Tool("shoal_exec", kit.Args{"src": "kept"})
	if a.RPC.At("data", "reason").Str() != "kernel_stopped" {
		t.Errorf("got %v, want -32041 kernel_stopped", a)
	}
	if k := w.Kernels(); len(k) != 0 {
		t.Errorf("kernels after a stop: got %v, want none", k)
	}
	w.StartKernel()
	kit.Eventually(t, quick, "the facade finds the new kernel", func() bool {
		a := f.Tool("shoal_exec", kit.Args{"src": "kept"})
		return strings.TrimSpace(a.Text) == "5"
	})
}
