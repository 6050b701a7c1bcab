package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"log/slog"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/link"
)

// patience bounds every wait of a test that is to succeed.
const patience = 20 * time.Second

// world is a kernel of the test's own.
type world struct {
	t   *testing.T
	k   *kernel.Kernel
	dir string
}

func newWorld(t *testing.T, change ...func(*kernel.Options)) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "sg") // sockets need short paths
	if err != nil {
		t.Fatal(err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	o := kernel.Options{
		Paths:   link.Paths{StateDir: filepath.Join(dir, "state"), Socket: filepath.Join(dir, "s"), Given: true},
		Log:     slog.New(slog.DiscardHandler),
		Environ: []string{"HOME=" + dir, "PATH=/usr/bin:/bin"},
	}
	for _, f := range change {
		f(&o)
	}
	k, err := kernel.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
		os.RemoveAll(dir)
	})
	return &world{t: t, k: k, dir: dir}
}

// client is a raw connection.
type client struct {
	t       *testing.T
	c       net.Conn
	in      *bufio.Reader
	ids     int
	answers map[int]answer
	events  []event
}

type answer struct {
	Result map[string]any
	Error  *refusal
}

type refusal struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data"`
}

type event struct {
	Channel string          `json:"channel"`
	Seq     uint64          `json:"seq"`
	Payload json.RawMessage `json:"payload"`
	Dropped uint64          `json:"dropped"`
}

func (w *world) dial() *client {
	w.t.Helper()
	c, err := net.Dial("unix", w.k.Socket())
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { c.Close() })
	return &client{t: w.t, c: c, in: bufio.NewReader(c), answers: map[int]answer{}}
}

// attach is a connection that is attached to a session.
func (w *world) attach(session string) *client {
	w.t.Helper()
	c := w.dial()
	c.ok("session.attach", map[string]any{"session": session, "cwd": w.dir})
	return c
}

// send writes a call and does not wait.
func (c *client) send(method string, params any) int {
	c.t.Helper()
	c.ids++
	frame := map[string]any{"jsonrpc": "2.0", "id": c.ids, "method": method}
	if params != nil {
		frame["params"] = params
	}
	b, err := json.Marshal(frame)
	if err != nil {
		c.t.Fatal(err)
	}
	c.write(string(b))
	return c.ids
}

func (c *client) write(line string) {
	c.t.Helper()
	if _, err := c.c.Write([]byte(line + "\n")); err != nil {
		c.t.Fatalf("write %.60s: %v", line, err)
	}
}

// read takes one frame.
func (c *client) read() (ok bool) {
	c.t.Helper()
	c.c.SetReadDeadline(time.Now().Add(patience))
	line, err := c.in.ReadBytes('\n')
	if err != nil {
		return false
	}
	var f struct {
		ID     *int            `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
		Result json.RawMessage `json:"result"`
		Error  *refusal        `json:"error"`
	}
	if err := json.Unmarshal(line, &f); err != nil {
		c.t.Fatalf("frame %q: %v", line, err)
	}
	switch {
	case f.Method == "event":
		var ev event
		if err := json.Unmarshal(f.Params, &ev); err != nil {
			c.t.Fatal(err)
		}
		c.events = append(c.events, ev)
	case f.Method == "":
		id := -1
		if f.ID != nil {
			id = *f.ID
		}
		if _, twice := c.answers[id]; twice && id >= 0 {
			c.t.Errorf("call %d was answered twice", id)
		}
		a := answer{Error: f.Error}
		json.Unmarshal(f.Result, &a.Result)
		c.answers[id] = a
	}
	return true
}

// await gives the answer to a call; -1 is one without id.
func (c *client) await(id int) answer {
	c.t.Helper()
	for {
		if a, ok := c.answers[id]; ok {
			return a
		}
		if !c.read() {
			c.t.Fatalf("no answer to call %d", id)
		}
	}
}

func (c *client) call(method string, params any) answer {
	c.t.Helper()
	return c.await(c.send(method, params))
}

// ok is a call that must succeed.
func (c *client) ok(method string, params any) map[string]any {
	c.t.Helper()
	a := c.call(method, params)
	if a.Error != nil {
		c.t.Fatalf("%s %v: %+v", method, params, a.Error)
	}
	return a.Result
}

// code is a call that must be refused with a code.
func (c *client) code(want int, method string, params any) *refusal {
	c.t.Helper()
	a := c.call(method, params)
	if a.Error == nil || a.Error.Code != want {
		c.t.Errorf("%s %v: got %v %+v, want code %d", method, params, a.Result, a.Error, want)
		return &refusal{}
	}
	return a.Error
}

// until reads until there are n events.
func (c *client) until(n int) []event {
	c.t.Helper()
	for len(c.events) < n {
		if !c.read() {
			c.t.Fatalf("%d events, want %d", len(c.events), n)
		}
	}
	return c.events
}

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
