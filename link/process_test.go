package link

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/wire"
)

func peek(frame []byte) (wire.Head, bool) { return wire.Peek(frame) }

// connections counts the sockets that are connected to, or queue at, a listener.
func connections(path string) int {
	table, _ := os.ReadFile("/proc/net/unix")
	return bytes.Count(table, []byte(path+"\n")) - 1
}

// once runs a relay process over one input and gives what it printed.
func (w *world) once(input string) (stdout, stderr string, err error) {
	cmd := w.command("shoal-mcp")
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(input), &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

func TestRacingRelaysEndWithOneKernel(t *testing.T) {
	const rounds, relays = 20, 4
	for round := range rounds {
		var environ []string
		if round%5 == 4 {
			environ = []string{"TEST_DELAY_MS=300"}
		}
		w := newWorld(t, environ...)
		type result struct {
			out, errs string
			err       error
		}
		results := make(chan result, relays)
		for i := range relays {
			go func() {
				out, errs, err := w.once(call(itoa(i), "x") + "\n")
				results <- result{out, errs, err}
			}()
		}
		for range relays {
			r := <-results
			if r.err != nil || !strings.Contains(r.out, `"result":{"name":"x"}`) {
				t.Fatalf("round %d: got %v, %s%s", round, r.err, r.out, r.errs)
			}
		}
		if n := len(w.kernels()); n != 1 {
			t.Fatalf("round %d: %d kernels have served, want 1", round, n)
		}
		w.killKernels()
	}
}

func TestRelayProcessKeepsStdoutClean(t *testing.T) {
	w := newWorld(t)
	out, errs, err := w.once(call("1", "x") + "\n")
	if err != nil || out != echoed("1", "x")+"\n" {
		t.Errorf("stdout: got %q, %v", out, err)
	}
	if !strings.Contains(errs, "stray output") {
		t.Errorf("stderr: got %q, want the stray output", errs)
	}
}

func TestStaleSocketDoesNotBlockTheNextStart(t *testing.T) {
	w := newWorld(t)
	if _, errs, err := w.once(call("1", "x") + "\n"); err != nil {
		t.Fatal(err, errs)
	}
	w.killKernels()
	if _, err := os.Lstat(w.paths.Socket); err != nil {
		t.Fatal("the killed kernel's socket should still be there")
	}
	out, errs, err := w.once(call("2", "x") + "\n")
	if err != nil || out != echoed("2", "x")+"\n" {
		t.Errorf("got %q, %v, %s", out, err, errs)
	}
	if n := len(w.kernels()); n != 2 {
		t.Errorf("%d kernels have served, want 2", n)
	}
}

func TestStalePIDIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	innocent := exec.Command("/bin/sleep", "60")
	if err := innocent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { innocent.Process.Kill(); innocent.Wait() }()
	if err := w.paths.MakeStateDir(); err != nil {
		t.Fatal(err)
	}
	pid := innocent.Process.Pid
	if err := w.paths.WriteEndpoint(Endpoint{Socket: w.paths.Socket, KernelID: "old", PID: pid}); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(w.paths.StateDir+"/kernel.pid", []byte(itoa(pid)), 0o600)
	if _, errs, err := w.once(call("1", "x") + "\n"); err != nil {
		t.Fatal(err, errs)
	}
	if !alive(pid) {
		t.Error("an innocent process was ended")
	}
}

func TestKilledParentLeavesNoRelay(t *testing.T) {
	const parents = 5
	w := newWorld(t)
	w.startKernel()
	for range parents {
		parent := w.command("wrapper")
		out, err := parent.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := parent.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		relay, _ := strconv.Atoi(strings.TrimSpace(line))
		parent.Process.Kill()
		parent.Wait()
		eventually(t, "the relay has ended", func() bool { return !alive(relay) })
	}
	if !isKernel(w.kernels()[0]) {
		t.Error("the kernel has ended, too")
	}
}

// A client that dies while the kernel does not read must not leave its relay
// behind, waiting for the kernel.
func TestHungKernelDoesNotKeepAnOrphanedRelay(t *testing.T) {
	w := newWorld(t)
	w.startKernel()
	cmd := w.command("shoal-mcp")
	in, _ := cmd.StdinPipe()
	out, _ := cmd.StdoutPipe()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Process.Wait(); close(ended) }()
	io.WriteString(in, call("1", "x")+"\n")
	if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	pid := w.kernels()[0]
	syscall.Kill(pid, syscall.SIGSTOP)
	defer syscall.Kill(pid, syscall.SIGCONT)
	stuck := make(chan struct{})
	go func() {
		defer close(stuck)
		io.WriteString(in, call("2", strings.Repeat("x", 4<<20))+"\n"+call("3", strings.Repeat("x", 4<<20))+"\n")
	}()
	out.Close()
	select {
	case <-ended:
	case <-time.After(patience):
		cmd.Process.Kill()
		t.Error("the relay outlives its client")
	}
	in.Close()
	<-stuck
}

func TestOpenAttachesRawClients(t *testing.T) {
	w := newWorld(t)
	log := testLogger(t)
	ctx := context.Background()
	o := w.options()
	o.NoStart = true
	if _, _, err := Open(ctx, o, log, wire.ClientOptions{}); !isNotServing(err) {
		t.Errorf("nobody serves: got %v", err)
	}
	o = w.options()
	o.Kind, o.Session = "cli", "s"
	c, attached, err := Open(ctx, o, log, wire.ClientOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if attached.Session != "s" || attached.Socket != w.paths.Socket || attached.KernelID == "" {
		t.Errorf("attachment: got %+v", attached)
	}
	var name string
	if err := c.Call(ctx, "kernel.info", nil, &name); err != nil || name != "kernel.info" {
		t.Errorf("call: got %q, %v", name, err)
	}
}

func TestGivenSocketNamesTheKernelThatOwnsTheState(t *testing.T) {
	w := newWorld(t)
	w.startKernel()
	o := w.options()
	o.Socket = w.paths.Socket + ".other"
	_, _, err := Open(context.Background(), o, testLogger(t), wire.ClientOptions{})
	if err == nil || isNotServing(err) || !strings.Contains(err.Error(), w.paths.Socket) || !strings.Contains(err.Error(), "(pid "+itoa(w.kernels()[0])+")") {
		t.Errorf("got %v", err)
	}
}

// Two homes that share a runtime folder have one default socket between them;
// nobody may land in the other's kernel.
func TestKernelOfAnotherStateDirectoryIsRefused(t *testing.T) {
	w := newWorld(t)
	w.startKernel()
	other := t.TempDir()
	o := w.options()
	o.Environ = append(o.Environ, "XDG_STATE_HOME="+other)
	o.NoStart = true
	_, _, err := Open(context.Background(), o, testLogger(t), wire.ClientOptions{})
	if err == nil || !strings.Contains(err.Error(), "does not own "+other) {
		t.Errorf("got %v", err)
	}
}

func TestSuccessorGetsThePredecessorsFlags(t *testing.T) {
	w := newWorld(t)
	s := newStarter(w.options(), w.paths)
	w.startKernel()
	want := "--policy /some/policy --state-dir " + w.paths.StateDir + " --ready-fd 3"
	if got := strings.Join(s.args(), " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
