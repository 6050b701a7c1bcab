package kernel

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"testing"
	"time"
)

// stubborn ignores everything that can be ignored.
const stubborn = `^sh -c 'trap "" INT TERM HUP; while :; do sleep 0.05; done'`

func TestStopUnderLoad(t *testing.T) {
	o, _ := options(t)
	warm := start(t, o) // what is made once per process
	attach(t, warm).call("exec", map[string]any{"src": "^true"})
	warm.Stop(t.Context())
	before := descriptors(t)
	goroutines := stacks()

	k, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	c := attach(t, k)
	first := c.ids + 1
	const calls = 30
	c.send("exec", map[string]any{"src": stubborn})
	for range calls - 10 {
		c.send("exec", map[string]any{"src": "^/bin/sleep 60"}) // in the line
	}
	for range 8 {
		c.call("exec", map[string]any{"src": `^sh -c 'setsid sleep 61 & sleep 62'`, "background": true})
	}
	c.call("pty.open", map[string]any{"cmd": "sh", "args": []string{"-c", `trap "" HUP; while :; do sleep 1; done`}})
	within(t, "processes run", func() bool { return len(children(t, k.id)) >= 12 })
	stuck := dial(t, k.Socket()) // never attaches
	idle := attach(t, k)

	began := time.Now()
	if err := k.Stop(context.Background()); err != nil {
		t.Errorf("stop: %v", err)
	}
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the stop took %v", took)
	}
	if err := k.Stop(context.Background()); err != nil {
		t.Errorf("stop again: %v", err)
	}
	answered := map[float64]int{}
	goodbye := false
	for len(answered) < calls-9 || !goodbye {
		f := c.frame()
		if id, ok := f["id"].(float64); ok {
			answered[id]++
		}
		goodbye = goodbye || f["method"] == "notifications/shoal/goodbye"
	}
	for id := first; id < first+calls-9; id++ {
		if answered[float64(id)] != 1 {
			t.Errorf("call %d has %d answers", id, answered[float64(id)])
		}
	}
	if f := idle.frame(); f["method"] != "notifications/shoal/goodbye" {
		t.Errorf("idle connection: got %v, want a goodbye", f)
	}
	for _, cl := range []*client{c, stuck, idle} {
		cl.c.Close()
	}
	if left := children(t, k.id); len(left) > 0 {
		t.Errorf("processes are left: %v", left)
	}
	within(t, "no goroutine is left", func() bool { return leaked(goroutines) == "" })
	within(t, "no descriptor is left", func() bool {
		runtime.GC()
		after := descriptors(t)
		for kind, n := range after {
			if n > before[kind] {
				return false
			}
		}
		return true
	})
	if _, err := os.Stat(o.Paths.Socket); err == nil {
		t.Error("the socket is left")
	}
	if files, _ := filepath.Glob(filepath.Join(o.Paths.StateDir, "run", "*")); len(files) > 0 {
		t.Errorf("left in run/: %v", files)
	}
}

// stacks counts goroutines by where they were started.
func stacks() map[string]int {
	var buf bytes.Buffer
	pprof.Lookup("goroutine").WriteTo(&buf, 2)
	out := map[string]int{}
	for _, g := range strings.Split(buf.String(), "\n\n") {
		lines := strings.Split(strings.TrimSpace(g), "\n")
		for i, line := range lines {
			if strings.HasPrefix(line, "created by ") {
				out[strings.Fields(line)[2]+" "+strings.TrimSpace(strings.SplitN(lines[min(i+1, len(lines)-1)], " ", 2)[0])]++
			}
		}
	}
	return out
}

func leaked(before map[string]int) string {
	for where, n := range stacks() {
		if n > before[where] {
			return where
		}
	}
	return ""
}

func TestClientMayAskForTheStop(t *testing.T) {
	o, _ := options(t)
	k := start(t, o)
	attach(t, k).call("kernel.shutdown", nil)
	select {
	case <-k.Stopping():
	case <-time.After(patience):
		t.Error("nobody is told")
	}
}

func TestLogIsRotated(t *testing.T) {
	path := filepath.Join(t.TempDir(), "kernel.log")
	f, err := openLog(path)
	if err != nil {
		t.Fatal(err)
	}
	line := bytes.Repeat([]byte("x"), logSize/3)
	for range 14 {
		if _, err := f.Write(line); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	files, _ := filepath.Glob(path + "*")
	if len(files) != logFiles {
		t.Errorf("got %v, want %d files", files, logFiles)
	}
	for _, name := range files {
		if info, err := os.Stat(name); err != nil || info.Size() > logSize {
			t.Errorf("%s: %v bytes, %v", name, info.Size(), err)
		}
	}
}
