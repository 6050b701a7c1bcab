package kernel

import (
	"bufio"
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"shoal.dev/shoal/link"
)

// patience bounds every wait of a test that is to succeed.
const patience = 20 * time.Second

// logged collects the messages of a kernel's log.
type logged struct {
	mu    sync.Mutex
	lines []string
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, string(p))
	return len(p), nil
}

func (l *logged) has(part string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, line := range l.lines {
		if strings.Contains(line, part) {
			return true
		}
	}
	return false
}

// options are those of a kernel in a directory of its own.
func options(t *testing.T) (Options, *logged) {
	t.Helper()
	dir, err := os.MkdirTemp("", "sk") // sockets need short paths
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	log := &logged{}
	return Options{
		Paths:    link.Paths{StateDir: filepath.Join(dir, "state"), Socket: filepath.Join(dir, "s"), Given: true},
		Log:      slog.New(slog.NewTextHandler(log, nil)),
		LockWait: time.Millisecond,
		Environ:  []string{"HOME=" + dir, "PATH=/usr/bin:/bin"},
	}, log
}

// start starts a kernel that the test ends.
func start(t *testing.T, o Options) *Kernel {
	t.Helper()
	k, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
	})
	return k
}

// refuses starts a kernel that must not come up, and gives the reason.
func refuses(t *testing.T, o Options, want string) {
	t.Helper()
	k, err := Start(o)
	if err == nil {
		k.Stop(context.Background())
		t.Fatalf("the kernel started; want it to refuse with %q", want)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("got %q, want %q in it", err, want)
	}
}

// client is an attached raw connection.
type client struct {
	t   *testing.T
	c   net.Conn
	in  *bufio.Reader
	ids int
}

func dial(t *testing.T, socket string) *client {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &client{t: t, c: c, in: bufio.NewReader(c)}
}

func attach(t *testing.T, k *Kernel) *client {
	t.Helper()
	c := dial(t, k.Socket())
	c.call("session.attach", map[string]any{"cwd": filepath.Dir(k.Socket())})
	return c
}

// send writes a call and does not wait.
func (c *client) send(method string, params any) int {
	c.t.Helper()
	c.ids++
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": c.ids, "method": method, "params": params})
	if err != nil {
		c.t.Fatal(err)
	}
	if _, err := c.c.Write(append(b, '\n')); err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	return c.ids
}

// frame is the next line from the kernel.
func (c *client) frame() map[string]any {
	c.t.Helper()
	c.c.SetReadDeadline(time.Now().Add(patience))
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		c.t.Fatalf("read: %v", err)
	}
	var f map[string]any
	if err := json.Unmarshal(line, &f); err != nil {
		c.t.Fatal(err)
	}
	return f
}

// call waits for the result.
func (c *client) call(method string, params any) map[string]any {
	c.t.Helper()
	id := c.send(method, params)
	for {
		f := c.frame()
		if f["id"] == float64(id) {
			if f["error"] != nil {
				c.t.Fatalf("%s: %v", method, f["error"])
			}
			r, _ := f["result"].(map[string]any)
			return r
		}
	}
}

// events reads a channel.
func (c *client) events(channel string) string {
	c.t.Helper()
	b, _ := json.Marshal(c.call("events.read", map[string]any{"channel": channel, "tail": true}))
	return string(b)
}

// within looks until cond holds.
func within(t *testing.T, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// descriptors are the open descriptors of this process, by what they lead to.
func descriptors(t *testing.T) map[string]int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	out := map[string]int{}
	for _, e := range entries {
		to, err := os.Readlink("/proc/self/fd/" + e.Name())
		if err == nil {
			kind, _, _ := strings.Cut(to, ":")
			out[kind]++
		}
	}
	return out
}

// children are the processes that carry the mark of a kernel.
func children(t *testing.T, id string) []int {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Skip("no /proc")
	}
	var pids []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
		if err == nil && strings.Contains(string(env), "SHOAL_TASK="+id+"/") {
			pids = append(pids, pid)
		}
	}
	return pids
}
