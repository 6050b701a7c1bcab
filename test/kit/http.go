package kit

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

// Web is where a kernel of the world serves MCP over HTTP, and a token for it.
type Web struct {
	T     testing.TB
	Addr  string
	Token string

	client *http.Client
}

// FreeAddr is a loopback address on which nobody listened a moment ago.
func (w *World) FreeAddr() string {
	w.T.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		w.T.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Web makes a token of the owner for the kernel that serves at the address.
func (w *World) Web(addr string) *Web {
	w.T.Helper()
	out, errs, status := w.Shoal("token", "create", "local-human", "--state-dir", w.State)
	if status != 0 {
		w.T.Fatalf("token create: %s", errs)
	}
	transport := &http.Transport{MaxIdleConnsPerHost: 64}
	w.T.Cleanup(transport.CloseIdleConnections)
	return &Web{w.T, addr, strings.TrimSpace(out), &http.Client{Transport: transport, Timeout: Long}}
}

// HTTP is a client's HTTP session.
type HTTP struct {
	T       testing.TB
	web     *Web
	session string
	ID      string // Mcp-Session-Id
}

// Session makes the handshake for a session of the kernel.
func (x *Web) Session(name string) *HTTP {
	x.T.Helper()
	h := &HTTP{T: x.T, web: x, session: name}
	resp, body := h.Post(Frame("0", "initialize", Args{"protocolVersion": Revision, "capabilities": Args{}, "clientInfo": Args{"name": "test", "version": "1"}}))
	if h.ID = resp.Header.Get("Mcp-Session-Id"); h.ID == "" {
		x.T.Fatalf("initialize: got %d %s", resp.StatusCode, body)
	}
	h.Post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return h
}

// Frame is a request under a raw id.
func Frame(id, method string, params any) string {
	raw, err := json.Marshal(Args{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// Request is an HTTP request of the session.
func (h *HTTP) Request(method, body string) *http.Request {
	h.T.Helper()
	r, err := http.NewRequest(method, "http://"+h.web.Addr+"/mcp/"+h.session, strings.NewReader(body))
	if err != nil {
		h.T.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+h.web.Token)
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Content-Type", "application/json")
	if h.ID != "" {
		r.Header.Set("Mcp-Session-Id", h.ID)
	}
	return r
}

// Post sends a message and reads the response to its end.
func (h *HTTP) Post(frame string) (*http.Response, string) {
	h.T.Helper()
	resp, err := h.web.client.Do(h.Request(http.MethodPost, frame))
	if err != nil {
		h.T.Errorf("post %.80s: %v", frame, err)
		return &http.Response{Header: http.Header{}}, ""
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		h.T.Errorf("post %.80s: %v", frame, err)
	}
	return resp, string(body)
}

// Ask makes a request under a raw id and gives the answer, plain or the last of
// a stream.
func (h *HTTP) Ask(id, method string, params any) Val {
	h.T.Helper()
	resp, body := h.Post(Frame(id, method, params))
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		for _, line := range strings.Split(body, "\n") {
			if data, ok := strings.CutPrefix(line, "data: "); ok {
				body = data
			}
		}
	}
	return Parse([]byte(body))
}

// Exec runs a source and gives the result.
func (h *HTTP) Exec(src string) Val {
	h.T.Helper()
	return h.Ask("1", "tools/call", Args{"name": "shoal_exec", "arguments": Args{"src": src}}).At("result")
}

// Notices opens the GET stream and gives what comes on it until stop.
func (h *HTTP) Notices() (heard <-chan Val, stop func()) {
	h.T.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := h.web.client.Transport.RoundTrip(h.Request(http.MethodGet, "").WithContext(ctx))
	if err != nil {
		cancel()
		h.T.Fatalf("open stream: %v", err)
	}
	frames := make(chan Val, 1024)
	go func() {
		defer close(frames)
		defer resp.Body.Close()
		for in := bufio.NewReader(resp.Body); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: "); ok {
				frames <- Parse([]byte(data))
			}
		}
	}()
	return frames, cancel
}

// AwaitWeb waits until a kernel serves at the address again.
func (x *Web) AwaitWeb() {
	x.T.Helper()
	Eventually(x.T, Long, "the kernel serves HTTP", func() bool {
		conn, err := net.DialTimeout("tcp", x.Addr, time.Second)
		if err == nil {
			conn.Close()
		}
		return err == nil
	})
}
