package mcphttp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"shoal.dev/shoal/mcphttp"
)

// witness checks that another client does not notice what goes on.
func witness(t testing.TB, w *world) *client {
	t.Helper()
	c := w.session("witness")
	t.Cleanup(func() {
		if !t.Failed() && c.exec("1 + 1")["render"] != "2" {
			t.Error("the other client is not served")
		}
	})
	return c
}

// heap is what lives, in bytes.
func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// Every second message is malformed in some way: the others are answered.
func TestMalformedMessages(t *testing.T) {
	w := newWorld(t)
	c, other := w.session("s"), witness(t, w)
	good := execFrame(1, "1 + 1")
	var clients sync.WaitGroup
	for n := range 4 {
		clients.Go(func() {
			for i := range 100 {
				cut := (i*31 + n) % len(good)
				bad := []string{good[:cut], good[cut:], good + good, "\x00" + good, strings.Repeat("[", 10_000), strings.ReplaceAll(good, `"2.0"`, `2.0`)}[i%6]
				if a := c.post(bad); a.status != 400 && a.code() != -32600 {
					t.Errorf("%.60q: got %d %s", bad, a.status, a.body)
				}
				if a := c.post(good); a.status != 200 || !strings.Contains(a.body, `"render":"2"`) {
					t.Errorf("between malformed ones: got %d %s", a.status, a.body)
				}
			}
		})
	}
	clients.Wait()
	other.exec("1")
}

// Connections that say nothing, half a head, or half a body are ended after
// their time, and hold up nobody.
func TestHalfOpenConnections(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.ReadTime = 2 * time.Second })
	other := witness(t, w)
	head := "POST /mcp/s HTTP/1.1\r\nHost: " + w.addr + "\r\nAuthorization: Bearer " + w.secret +
		"\r\nContent-Type: application/json\r\nContent-Length: 16777216\r\n"
	var open []net.Conn
	for i := range 150 {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, []string{head[:20], head, head + "\r\n{\"jsonrpc\""}[i%3])
		open = append(open, conn)
	}
	other.exec("1")
	for i, conn := range open {
		conn.SetReadDeadline(time.Now().Add(patience))
		if _, err := io.Copy(io.Discard, conn); err != nil {
			t.Fatalf("connection %d is not ended: %v", i, err)
		}
	}
	if a := other.post(execFrame(1, "1") + strings.Repeat(" ", 1<<20)); a.status != 200 {
		t.Errorf("a long body afterwards: got %d %s", a.status, a.body)
	}
}

// A client that stops reading its notices is given up after its time; what it
// missed is kept within bounds, and told of when it comes back.
func TestClientsThatStopReading(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.WriteTime = 2 * time.Second })
	c, other := w.session("s"), witness(t, w)
	const uri = "shoal://events/user.x"
	subscribe(c, uri)
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprintf(conn, "GET /mcp/s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\nAccept: text/event-stream\r\n\r\n", w.addr, w.secret, c.id)
	before := heap()
	for range 8 { // some 12 MiB
		if got := c.exec(`let big = range(0, 30000).map(i => "x").join()` + "\n" + `range(0, 50).each(i => channel("user.x").emit({i, big}))`); got["code"] != nil {
			t.Fatalf("emit: got %v", got)
		}
	}
	if grown := int64(heap()) - int64(before); grown > 64<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	// The stuck stream is not served any more, so a new one is.
	stream := w.stream(c.request("GET", "", "Last-Event-ID", "0-0"))
	var last, told float64
	dropped := false
	for told < 399 {
		params := stream.want()["params"].(map[string]any)
		payload, _ := params["payload"].(map[string]any)
		if params["uri"] != uri || payload == nil {
			continue
		}
		dropped = dropped || payload["dropped"] != nil
		told = params["seq"].(float64)
		if told < last && payload["dropped"] == nil {
			t.Fatalf("notice %v after %v", told, last)
		}
		if payload["dropped"] == nil {
			last = told
		}
	}
	if !dropped {
		t.Error("nothing says that notices were dropped")
	}
	stream.close()
	other.exec("1")
}

// A client that pipelines calls and reads no answers is hung up on.
func TestAnswersThatNobodyReads(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.WriteTime = 2 * time.Second })
	c, other := w.session("s"), witness(t, w)
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	body := toolFrame(1, "shoal_exec", map[string]any{"src": `range(0, 50000).map(i => "x").join()`, "elide": map[string]any{"max_bytes": 65536}})
	call := fmt.Sprintf("POST /mcp/s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nMcp-Session-Id: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", w.addr, w.secret, c.id, len(body), body)
	hungUp := make(chan struct{})
	go func() {
		defer close(hungUp)
		for {
			conn.SetWriteDeadline(time.Now().Add(patience))
			if _, err := io.WriteString(conn, call); err != nil {
				if e, ok := err.(net.Error); ok && e.Timeout() {
					t.Error("nobody hangs up")
				}
				return
			}
		}
	}()
	for done := false; !done; {
		other.exec("1")
		select {
		case <-hungUp:
			done = true
		default:
		}
	}
}

func TestManySubscriptions(t *testing.T) {
	w := newWorld(t)
	c, other := w.session("s"), witness(t, w)
	const tried, most = 10_000, 256
	before := heap()
	refused := 0
	for i := range tried {
		a := c.post(frame(i, "resources/subscribe", map[string]any{"uri": fmt.Sprintf("shoal://events/user.n%d", i)}))
		switch {
		case strings.Contains(a.body, `"code":-32040`) && i >= most:
			refused++
		case a.code() != 0 || i >= most:
			t.Fatalf("subscription %d: got %s", i, a.body)
		}
		if i%2500 == 0 {
			other.exec("1")
		}
	}
	if refused != tried-most {
		t.Errorf("%d were refused, want %d", refused, tried-most)
	}
	if grown := int64(heap()) - int64(before); grown > 32<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
}

// A body of the longest length is served, one byte more is refused, announced
// or not.
func TestLongestBody(t *testing.T) {
	w := newWorld(t)
	c, other := w.session("s"), witness(t, w)
	const most = 16 << 20
	body := func(n int) string {
		f := toolFrame(1, "shoal_exec", map[string]any{"src": "\"\".len()"})
		return f[:len(f)-1] + strings.Repeat(" ", n-len(f)) + "}"
	}
	for _, tc := range []struct {
		n       int
		chunked bool
		status  int
	}{{most - 1, false, 200}, {most, true, 200}, {most + 1, false, 413}, {most + 1, true, 413}} {
		text := body(tc.n)
		r := c.request("POST", text)
		if tc.chunked {
			r.Body, r.ContentLength = io.NopCloser(struct{ io.Reader }{strings.NewReader(text)}), -1
		}
		resp, err := http.DefaultClient.Do(r)
		if err != nil { // hung up on before all was written
			if tc.status == 200 {
				t.Errorf("%d bytes: %v", tc.n, err)
			}
			continue
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		if resp.StatusCode != tc.status {
			t.Errorf("%d bytes, chunked %t: got %d %s", tc.n, tc.chunked, resp.StatusCode, answer)
		}
	}
	other.exec("1")
}

// Long bodies share what they may take together.
func TestBodiesAreBounded(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.Bodies = 1 << 20 })
	c, other := w.session("s"), witness(t, w)
	a := c.post(frame(1, "ping", map[string]any{"x": strings.Repeat("x", 2<<20)}))
	if a.status != 503 || a.code() != -32040 || a.header.Get("Retry-After") == "" {
		t.Errorf("got %d %v %s", a.status, a.header, a.body)
	}
	if a := c.post(frame(1, "ping", map[string]any{"x": strings.Repeat("x", 100<<10)})); a.status != 200 {
		t.Errorf("a shorter one: got %d %s", a.status, a.body)
	}
	other.exec("1")
}

// A thousand clients, each with a stream and calls of its own.
func TestThousandClients(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand sessions")
	}
	w := newWorld(t)
	const many = 1000
	transport := &http.Transport{MaxIdleConnsPerHost: many}
	defer transport.CloseIdleConnections()
	room := make(chan struct{}, 64) // of handshakes at a time
	var clients sync.WaitGroup
	ready := make(chan struct{})
	var failed sync.Once
	fail := func(format string, args ...any) { failed.Do(func() { t.Errorf(format, args...) }) }
	do := func(r *http.Request) answer {
		resp, err := transport.RoundTrip(r)
		if err != nil {
			fail("%v", err)
			return answer{header: http.Header{}}
		}
		defer resp.Body.Close()
		body, _ := io.ReadAll(resp.Body)
		return answer{resp.StatusCode, resp.Header, string(body)}
	}
	var begun sync.WaitGroup
	begun.Add(many)
	for i := range many {
		clients.Go(func() {
			path := fmt.Sprintf("/mcp/s%d", i%50)
			room <- struct{}{}
			a := do(w.request("POST", path, handshake(newest)))
			<-room
			id := a.header.Get("Mcp-Session-Id")
			if id == "" {
				fail("client %d: got %d %s", i, a.status, a.body)
			}
			begun.Done()
			<-ready
			for n := range 3 {
				a := do(w.request("POST", path, execFrame(n, fmt.Sprint(i, " * 2")), "Mcp-Session-Id", id))
				if want := fmt.Sprintf(`"render":"%d"`, 2*i); !strings.Contains(a.body, want) {
					fail("client %d: got %d %s, want %s", i, a.status, a.body, want)
				}
			}
		})
	}
	begun.Wait()
	close(ready)
	clients.Wait()
}

// FuzzMessage posts bodies of any content: what comes back is an HTTP answer
// whose body is JSON, and the session goes on.
func FuzzMessage(f *testing.F) {
	for _, seed := range []string{
		frame(1, "ping", nil), execFrame("a", "1 + 1"), frame(nil, "notifications/cancelled", map[string]any{"requestId": 1}),
		`[]`, `{"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":1,"id":2,"jsonrpc":"2.0","method":"ping"}`, "\xff", `{"\u0069d":3,"method":"ping"}`,
	} {
		f.Add([]byte(seed))
	}
	w := newWorld(f)
	c := w.session("s")
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.Contains(body, []byte("shoal_exec")) && !bytes.Contains(body, []byte("1 + 1")) {
			t.Skip("runs who knows what")
		}
		here, client := *w, *c
		here.t, client.w = t, &here
		a := client.post(string(body))
		if a.status != 202 && !strings.HasPrefix(a.header.Get("Content-Type"), "text/event-stream") && !json.Valid([]byte(a.body)) {
			t.Errorf("%q: got %d %q", body, a.status, a.body)
		}
	})
}
