package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// patience is how long a test waits for what must come.
const patience = 30 * time.Second

// fakeKernel is a Backend whose methods are functions.
type fakeKernel struct {
	serve map[string]func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error)
	check map[string]func(params json.RawMessage) *messages.Error // refuses in Begin

	mu        sync.Mutex
	begun     []string // method and params, in order
	abandoned int
	channels  map[string]*fakeChannel
}

func newFake() *fakeKernel {
	return &fakeKernel{
		serve:    map[string]func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error){},
		check:    map[string]func(json.RawMessage) *messages.Error{},
		channels: map[string]*fakeChannel{},
	}
}

// answer makes a method answer with a fixed result.
func (k *fakeKernel) answer(method, result string) {
	k.serve[method] = func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error) {
		return json.RawMessage(result), nil
	}
}

// set changes a method while the kernel is being served.
func (k *fakeKernel) set(method string, serve func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error)) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.serve[method] = serve
}

func (k *fakeKernel) Begin(method string, params json.RawMessage) (Call, *messages.Error) {
	k.mu.Lock()
	k.begun = append(k.begun, strings.TrimSpace(method+" "+string(params)))
	serve := k.serve[method]
	k.mu.Unlock()
	if check := k.check[method]; check != nil {
		if refusal := check(params); refusal != nil {
			return nil, refusal
		}
	}
	if serve == nil {
		return nil, messages.Errorf(messages.CodeMethodNotFound, "method %s is not served by this kernel", method)
	}
	return &fakeCall{k, serve, params}, nil
}

func (k *fakeKernel) calls() []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]string(nil), k.begun...)
}

func (k *fakeKernel) gone() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.abandoned
}

func (k *fakeKernel) Attached() messages.Attached {
	return messages.Attached{
		Session: "work", Principal: "uid:1000", Cwd: messages.PathView{Display: "/home/me"},
		Channels: []string{"session.transcript", "journal", "approval", "session"},
	}
}

type fakeCall struct {
	k      *fakeKernel
	serve  func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error)
	params json.RawMessage
}

func (c *fakeCall) Wait(ctx context.Context) (json.RawMessage, *messages.Error) {
	return c.serve(ctx, c.params)
}

func (c *fakeCall) Abandon() {
	c.k.mu.Lock()
	defer c.k.mu.Unlock()
	c.k.abandoned++
}

// fakeChannel is a channel that keeps everything.
type fakeChannel struct {
	mu      sync.Mutex
	events  []messages.Event
	changed chan struct{} // closed and replaced at every event
	open    int           // cursors
}

func (k *fakeKernel) channel(name string) *fakeChannel {
	k.mu.Lock()
	defer k.mu.Unlock()
	ch := k.channels[name]
	if ch == nil {
		ch = &fakeChannel{changed: make(chan struct{})}
		k.channels[name] = ch
	}
	return ch
}

func (k *fakeKernel) publish(name, payload string) {
	ch := k.channel(name)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.events = append(ch.events, messages.Event{
		Channel: name, Seq: uint64(len(ch.events)), TS: 1, Payload: json.RawMessage(payload),
	})
	close(ch.changed)
	ch.changed = make(chan struct{})
}

func (k *fakeKernel) openCursors() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	n := 0
	for _, ch := range k.channels {
		ch.mu.Lock()
		n += ch.open
		ch.mu.Unlock()
	}
	return n
}

func (k *fakeKernel) followers(name string) int {
	ch := k.channel(name)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	return ch.open
}

func (k *fakeKernel) Subscribe(name string, since *uint64) (Cursor, *messages.Error) {
	if name == "nothing" {
		return nil, messages.Errorf(messages.CodeInvalidParams, "channel: there is no channel %q", name)
	}
	if name == "task.404" {
		return nil, messages.Errorf(messages.CodeUnknownTask, "there is no task:404 in session work")
	}
	ch := k.channel(name)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	ch.open++
	c := &fakeCursor{ch: ch, done: make(chan struct{}), pos: len(ch.events)}
	if since != nil {
		c.pos = int(*since) + 1
	}
	return c, nil
}

// Watch follows the channel of the same name.
func (k *fakeKernel) Watch(what Watched) (Cursor, *messages.Error) {
	return k.Subscribe(string(what), nil)
}

type fakeCursor struct {
	ch   *fakeChannel
	pos  int
	once sync.Once
	done chan struct{}
}

func (c *fakeCursor) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	for {
		c.ch.mu.Lock()
		changed := c.ch.changed
		if c.pos < len(c.ch.events) {
			ev := c.ch.events[c.pos]
			c.pos++
			c.ch.mu.Unlock()
			if string(ev.Payload) == `"lost"` {
				return messages.Event{}, &messages.Dropped{Seq: ev.Seq, Dropped: 3, LatestSeq: ev.Seq + 9}, nil
			}
			return ev, nil, nil
		}
		c.ch.mu.Unlock()
		select {
		case <-changed:
		case <-c.done:
			return messages.Event{}, nil, errors.New("closed")
		case <-ctx.Done():
			return messages.Event{}, nil, ctx.Err()
		}
	}
}

func (c *fakeCursor) Close() {
	c.once.Do(func() {
		close(c.done)
		c.ch.mu.Lock()
		c.ch.open--
		c.ch.mu.Unlock()
	})
}

// readEvents is events.read over the fake's channels.
func (k *fakeKernel) readEvents(_ context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
	var p struct {
		Channel string
		Since   *uint64
		Limit   int
		Tail    bool
	}
	json.Unmarshal(params, &p)
	ch := k.channel(p.Channel)
	ch.mu.Lock()
	defer ch.mu.Unlock()
	page := messages.EventPage{Channel: p.Channel, Events: []messages.Event{}}
	from := 0
	if p.Since != nil {
		from = int(*p.Since) + 1
	}
	if p.Tail {
		from = max(from, len(ch.events)-p.Limit)
	}
	for _, ev := range ch.events[min(from, len(ch.events)):] {
		if p.Limit == 0 || len(page.Events) < p.Limit {
			page.Events = append(page.Events, ev)
		}
	}
	if n := len(ch.events); n > 0 {
		latest := uint64(n - 1)
		page.LatestSeq = &latest
	}
	return messages.JSON(page), nil
}

// client is the peer of a served connection.
type client struct {
	t      testing.TB
	conn   net.Conn
	frames chan []byte
	served chan error // what Serve returned
	stop   context.CancelCauseFunc
}

// dial serves a fake kernel on a real socket.
func dial(t testing.TB, k Backend, o Options) *client {
	t.Helper()
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	near, far := socketPair(t)
	ctx, stop := context.WithCancelCause(context.Background())
	c := &client{t: t, conn: near, frames: make(chan []byte, 8192), served: make(chan error, 1), stop: stop}
	served := wire.NewConn(far)
	go func() {
		err := s.Serve(ctx, served, k)
		served.Close()
		c.served <- err
	}()
	go c.receive()
	t.Cleanup(func() {
		near.Close()
		c.end()
		stop(nil)
	})
	return c
}

func socketPair(t testing.TB) (near, far *net.UnixConn) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(t.TempDir(), "s"), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	near, err = net.DialUnix("unix", nil, l.Addr().(*net.UnixAddr))
	if err != nil {
		t.Fatal(err)
	}
	far, err = l.AcceptUnix()
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}

func (c *client) receive() {
	defer close(c.frames)
	in := bufio.NewReaderSize(c.conn, 1<<16)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		c.frames <- bytes.TrimSuffix(line, []byte("\n"))
	}
}

func (c *client) send(lines ...string) {
	c.t.Helper()
	if _, err := c.conn.Write([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		c.t.Fatalf("send: %v", err)
	}
}

// next is the next frame.
func (c *client) next() string {
	c.t.Helper()
	select {
	case frame, open := <-c.frames:
		if !open {
			c.t.Fatal("the connection ended where a frame was expected")
		}
		if !json.Valid(frame) {
			c.t.Fatalf("frame is not JSON: %s", frame)
		}
		return string(frame)
	case <-time.After(patience):
		c.t.Fatalf("no frame came")
	}
	return ""
}

// rest is every frame until the connection ends.
func (c *client) rest() []string {
	c.t.Helper()
	var all []string
	for {
		select {
		case frame, open := <-c.frames:
			if !open {
				return all
			}
			all = append(all, string(frame))
		case <-time.After(patience):
			c.t.Fatal("the connection does not end")
		}
	}
}

// call sends a request and gives the reply, skipping notifications.
func (c *client) call(id, method, params string) string {
	c.t.Helper()
	c.send(frameOf(id, method, params))
	for {
		frame := c.next()
		if got := member([]byte(frame), "id"); got != nil {
			if string(got) != id {
				c.t.Fatalf("reply to %s where one to %s was expected: %s", got, id, frame)
			}
			return frame
		}
	}
}

func (c *client) handshake() {
	c.t.Helper()
	c.call(`"init"`, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// end waits for Serve.
func (c *client) end() error {
	c.t.Helper()
	select {
	case err := <-c.served:
		c.served <- err
		return err
	case <-time.After(patience):
		c.t.Fatal("Serve does not return")
	}
	return nil
}

func frameOf(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func toolCall(id, name, args string) string {
	return frameOf(id, "tools/call", fmt.Sprintf(`{"name":%q,"arguments":%s}`, name, args))
}

// at digs into JSON by keys and indexes.
func at(t testing.TB, raw string, path ...any) string {
	t.Helper()
	v := []byte(raw)
	for _, step := range path {
		switch step := step.(type) {
		case string:
			v = member(v, step)
		case int:
			i := 0
			var found []byte
			eachItem(v, func(item []byte) bool {
				if i == step {
					found = item
				}
				i++
				return true
			})
			v = found
		}
	}
	if len(v) > 0 && v[0] == '"' {
		return unquote(v)
	}
	return string(v)
}

// eventually waits until what a test expects of other goroutines is so.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// checkLeaks fails the test if goroutines of this package are left.
func checkLeaks(t *testing.T) {
	t.Helper()
	left := func() string {
		buf := make([]byte, 1<<20)
		buf = buf[:runtime.Stack(buf, true)]
		for _, g := range strings.Split(string(buf), "\n\n") {
			if strings.Contains(g, "shoal/mcp.(*peer)") || strings.Contains(g, "shoal/mcp.(*Server)") {
				return g
			}
		}
		return ""
	}
	eventually(t, "no goroutine is left", func() bool { return left() == "" })
}
