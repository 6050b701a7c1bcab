package mcphttp_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/link"
	"shoal.dev/shoal/mcphttp"
	"shoal.dev/shoal/token"
	"shoal.dev/shoal/wire"
)

// patience bounds every wait of a test that is to succeed.
const patience = 20 * time.Second

// world is a kernel of the test's own that serves HTTP.
type world struct {
	t      testing.TB
	k      *kernel.Kernel
	dir    string
	addr   string
	secret string // of a token for the owner
}

func newWorld(t testing.TB, change ...func(*mcphttp.Options)) *world {
	t.Helper()
	dir, err := os.MkdirTemp("", "sh") // sockets need short paths
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
		MCPHTTP: "127.0.0.1:0",
	}
	for _, f := range change {
		f(&o.HTTP)
	}
	k, err := kernel.Start(o)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, k: k, dir: dir, addr: k.HTTPAddr()}
	t.Cleanup(func() {
		if err := k.Stop(context.Background()); err != nil {
			t.Errorf("stop: %v", err)
		}
		os.RemoveAll(dir)
	})
	if w.secret, _, err = token.Open(o.Paths.StateDir).Create(token.Owner, 0, nil); err != nil {
		t.Fatal(err)
	}
	return w
}

// request is an HTTP request; headers come in pairs and win over the usual
// ones. An empty value takes a header away.
func (w *world) request(method, path, body string, headers ...string) *http.Request {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://"+w.addr+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.secret)
	r.Header.Set("Accept", "application/json, text/event-stream")
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			r.Host = headers[i+1]
		case headers[i+1] == "":
			r.Header.Del(headers[i])
		default:
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// answer is a response that was read to its end.
type answer struct {
	status int
	header http.Header
	body   string
}

// code is the code of the JSON-RPC error in it.
func (a answer) code() int {
	var f struct{ Error struct{ Code int } }
	json.Unmarshal([]byte(a.body), &f)
	return f.Error.Code
}

// do makes a request and reads the response to its end.
func (w *world) do(r *http.Request) answer {
	w.t.Helper()
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("%s %s: %v", r.Method, r.URL.Path, err)
	}
	return answer{resp.StatusCode, resp.Header, string(body)}
}

// client is a session with a handshake.
type client struct {
	w        *world
	path, id string
	revision string
	ids      int
}

func frame(id any, method string, params any) string {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != nil {
		m["id"] = id
	}
	if params != nil {
		m["params"] = params
	}
	b, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func handshake(revision string) string {
	return frame(0, "initialize", map[string]any{
		"protocolVersion": revision, "capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "test", "version": "1"},
	})
}

const newest = "2025-11-25"

func (w *world) session(name string) *client {
	w.t.Helper()
	c := &client{w: w, path: "/mcp/" + name, revision: newest}
	a := w.do(w.request("POST", c.path, handshake(newest)))
	if c.id = a.header.Get("Mcp-Session-Id"); a.status != 200 || c.id == "" {
		w.t.Fatalf("initialize: got %d %v %s", a.status, a.header, a.body)
	}
	if a := c.post(frame(nil, "notifications/initialized", nil)); a.status != 202 || a.body != "" {
		w.t.Fatalf("initialized: got %d %q", a.status, a.body)
	}
	return c
}

func (c *client) request(method, body string, headers ...string) *http.Request {
	c.w.t.Helper()
	return c.w.request(method, c.path, body, append([]string{"Mcp-Session-Id", c.id, "Mcp-Protocol-Version", c.revision}, headers...)...)
}

func (c *client) post(body string, headers ...string) answer {
	c.w.t.Helper()
	return c.w.do(c.request("POST", body, headers...))
}

// result is the result in a response, plain or of events.
func (a answer) result(t testing.TB) map[string]any {
	t.Helper()
	text := a.body
	if strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") {
		for _, line := range strings.Split(a.body, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				text = data // the last one is the answer
			}
		}
	}
	var f struct {
		Result map[string]any
		Error  any
	}
	if err := json.Unmarshal([]byte(text), &f); err != nil || f.Result == nil {
		t.Fatalf("got %d %q, want a result", a.status, a.body)
	}
	return f.Result
}

// exec runs a source and gives the structured content of the answer.
func (c *client) exec(src string) map[string]any {
	c.w.t.Helper()
	c.ids++
	r := c.post(execFrame(c.ids, src)).result(c.w.t)
	return r["structuredContent"].(map[string]any)
}

func execFrame(id any, src string) string {
	return toolFrame(id, "shoal_exec", map[string]any{"src": src})
}

func toolFrame(id any, name string, args any) string {
	return frame(id, "tools/call", map[string]any{"name": name, "arguments": args})
}

// events is an open event stream.
type events struct {
	t      testing.TB
	resp   *http.Response
	cancel context.CancelFunc
	in     *bufio.Reader
	last   string // id of the newest event
}

type event struct{ id, data string }

// stream makes a request whose response is an event stream.
func (w *world) stream(r *http.Request) *events {
	w.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := http.DefaultClient.Do(r.WithContext(ctx))
	if err != nil {
		cancel()
		w.t.Fatal(err)
	}
	e := &events{w.t, resp, cancel, bufio.NewReader(resp.Body), ""}
	w.t.Cleanup(e.close)
	if kind := resp.Header.Get("Content-Type"); resp.StatusCode != 200 || kind != "text/event-stream" {
		body, _ := io.ReadAll(resp.Body)
		w.t.Fatalf("%s: got %d %s %s", r.Method, resp.StatusCode, kind, body)
	}
	return e
}

func (e *events) close() { e.cancel(); e.resp.Body.Close() }

// next is the next event with data; the end of the stream gives false.
func (e *events) next() (event, bool) {
	e.t.Helper()
	stop := time.AfterFunc(patience, e.cancel)
	defer stop.Stop()
	var ev event
	for {
		line, err := e.in.ReadString('\n')
		if err != nil {
			return event{}, false
		}
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "id: "):
			ev.id = line[4:]
			e.last = ev.id
		case strings.HasPrefix(line, "data:"):
			ev.data = strings.TrimPrefix(line[5:], " ")
		case line == "" && ev.data != "":
			return ev, true
		case line == "":
			ev = event{}
		}
	}
}

// want is the next event, which must be there.
func (e *events) want() map[string]any {
	e.t.Helper()
	ev, ok := e.next()
	if !ok {
		e.t.Fatal("the stream has ended")
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(ev.data), &m); err != nil {
		e.t.Fatalf("event %q: %v", ev.data, err)
	}
	return m
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

// connections is how many clients are in a session, as the kernel counts them.
func (w *world) connections(session string) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	o := link.Options{Socket: w.k.Socket(), Session: "looker", NoStart: true, Environ: []string{"HOME=" + w.dir}}
	raw, _, err := link.Open(ctx, o, slog.New(slog.DiscardHandler), wire.ClientOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	defer raw.Close()
	var list struct {
		Sessions []struct {
			Session     string
			Connections int
		}
	}
	if err := raw.Call(ctx, "session.list", nil, &list); err != nil {
		w.t.Fatal(err)
	}
	for _, s := range list.Sessions {
		if s.Session == session {
			return s.Connections
		}
	}
	return 0
}

func sprint(v any) string { return strings.TrimSpace(fmt.Sprint(v)) }
