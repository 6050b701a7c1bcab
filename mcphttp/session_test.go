package mcphttp_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"shoal.dev/shoal/mcphttp"
	"shoal.dev/shoal/token"
)

// What is not a message of an authenticated local client gets the HTTP status
// that the protocol has for it.
func TestRefusals(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.Body = 1 << 20 })
	c := w.session("s")
	ping := frame(1, "ping", nil)
	big := frame(1, "ping", map[string]any{"x": strings.Repeat("x", 1<<20)})
	for _, tc := range []struct {
		what   string
		r      *http.Request
		status int
		code   int
	}{
		{"no token", c.request("POST", ping, "Authorization", ""), 401, -32030},
		{"other scheme", c.request("POST", ping, "Authorization", "Basic eDp5"), 401, -32030},
		{"wrong token", c.request("POST", ping, "Authorization", "Bearer shoal_x"), 401, -32030},
		{"no token on GET", c.request("GET", "", "Authorization", ""), 401, -32030},
		{"foreign host", c.request("POST", ping, "Host", "evil.example:80"), 403, -32030},
		{"foreign origin", c.request("POST", ping, "Origin", "https://evil.example"), 403, -32030},
		{"opaque origin", c.request("POST", ping, "Origin", "null"), 403, -32030},
		{"lookalike origin", c.request("POST", ping, "Origin", "http://localhost.evil.example"), 403, -32030},
		{"own origin", c.request("POST", ping, "Origin", "http://localhost:6274"), 200, 0},
		{"own host by name", c.request("POST", ping, "Host", "LOCALHOST:1"), 200, 0},
		{"own host by number", c.request("POST", ping, "Host", "[::1]:1"), 200, 0},
		{"other path", w.request("POST", "/", ping), 404, -32600},
		{"bad session name", w.request("POST", "/mcp/.x", ping), 404, -32600},
		{"deeper path", w.request("POST", "/mcp/a/b", ping), 404, -32600},
		{"PUT", c.request("PUT", ping), 405, -32600},
		{"OPTIONS", c.request("OPTIONS", ""), 405, -32600},
		{"accepts neither", c.request("POST", ping, "Accept", "text/html"), 406, -32600},
		{"accepts anything", c.request("POST", ping, "Accept", "*/*"), 200, 0},
		{"accepts JSON", c.request("POST", ping, "Accept", "application/json"), 200, 0},
		{"GET accepts JSON", c.request("GET", "", "Accept", "application/json"), 406, -32600},
		{"too large", c.request("POST", big), 413, -32600},
		{"no type", c.request("POST", ping, "Content-Type", ""), 415, -32600},
		{"other type", c.request("POST", ping, "Content-Type", "text/plain"), 415, -32600},
		{"other charset", c.request("POST", ping, "Content-Type", "application/json; charset=latin1"), 415, -32600},
		{"charset", c.request("POST", ping, "Content-Type", "application/json; charset=UTF-8"), 200, 0},
		{"not JSON", c.request("POST", `{"jsonrpc":`), 400, -32700},
		{"empty", c.request("POST", ""), 400, -32700},
		{"not UTF-8", c.request("POST", "\"\xff\""), 400, -32700},
		{"batch", c.request("POST", "["+ping+"]"), 400, -32600},
		{"number", c.request("POST", "5"), 400, -32600},
		{"neither request nor answer", c.request("POST", `{"jsonrpc":"2.0","id":1}`), 400, -32600},
		{"null id", c.request("POST", `{"jsonrpc":"2.0","id":null,"method":"ping"}`), 400, -32600},
		{"wrong version", c.request("POST", `{"jsonrpc":"1.0","id":1,"method":"ping"}`), 200, -32600},
		{"no session", c.request("POST", ping, "Mcp-Session-Id", ""), 400, -32600},
		{"unknown session", c.request("POST", ping, "Mcp-Session-Id", "x"), 404, -32600},
		{"session of another name", w.request("POST", "/mcp/other", ping, "Mcp-Session-Id", c.id), 404, -32600},
		{"GET without session", c.request("GET", "", "Mcp-Session-Id", ""), 400, -32600},
		{"DELETE of unknown session", c.request("DELETE", "", "Mcp-Session-Id", "x"), 404, -32600},
		{"bad revision", c.request("POST", ping, "Mcp-Protocol-Version", "2024-01-01"), 400, -32600},
		{"no revision", c.request("POST", ping, "Mcp-Protocol-Version", ""), 200, 0},
		{"bad event id", c.request("GET", "", "Last-Event-ID", "x"), 400, -32005},
		{"event of no stream", c.request("GET", "", "Last-Event-ID", "99-1"), 400, -32005},
		{"GET of the other era", c.request("GET", "", "Mcp-Protocol-Version", "2026-07-28"), 405, -32600},
	} {
		a := w.do(tc.r)
		if a.status != tc.status || a.code() != tc.code {
			t.Errorf("%s: got %d %s, want %d and code %d", tc.what, a.status, a.body, tc.status, tc.code)
		}
		if auth := a.header.Get("WWW-Authenticate"); (a.status == 401) != strings.HasPrefix(auth, "Bearer") {
			t.Errorf("%s: WWW-Authenticate: got %q", tc.what, auth)
		}
		if (a.status == 405) != (a.header.Get("Allow") != "") {
			t.Errorf("%s: Allow: got %q", tc.what, a.header.Get("Allow"))
		}
	}
	if got := c.exec("1 + 1")["render"]; got != "2" {
		t.Errorf("afterwards: got %v", got)
	}
}

func TestOnlyLoopback(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1", ""} {
		if s, err := mcphttp.Listen(addr, mcphttp.Options{}); err == nil {
			s.Close(context.Background())
			t.Errorf("%q is served", addr)
		}
	}
}

// Another token's session is not there, whoever the bearer is.
func TestSessionsBelongToTheirToken(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	other, _, err := token.Open(w.dir+"/state").Create(token.Owner, 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, method := range []string{"POST", "GET", "DELETE"} {
		if a := w.do(c.request(method, frame(1, "ping", nil), "Authorization", "Bearer "+other)); a.status != 404 {
			t.Errorf("%s: got %d %s", method, a.status, a.body)
		}
	}
}

func TestLifeOfASession(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	c.exec("let x = 5")
	if a := w.do(c.request("DELETE", "")); a.status != 204 {
		t.Errorf("DELETE: got %d %s", a.status, a.body)
	}
	if a := c.post(frame(1, "ping", nil)); a.status != 404 {
		t.Errorf("after DELETE: got %d %s", a.status, a.body)
	}
	if got := w.session("s").exec("x")["render"]; got != "5" { // of the kernel's session
		t.Errorf("in the next one: got %v", got)
	}
	bad := w.do(w.request("POST", "/mcp/s", frame(1, "initialize", map[string]any{"protocolVersion": 5})))
	if bad.header.Get("Mcp-Session-Id") != "" {
		t.Errorf("a handshake that failed: got a session, %s", bad.body)
	}
}

func TestUnusedSessionsEnd(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.IdleTime = 50 * time.Millisecond })
	idle, used := w.session("idle"), w.session("used")
	stream := w.stream(used.request("GET", ""))
	within(t, "the unused session has ended", func() bool { return w.connections("idle") == 0 })
	if a := idle.post(frame(1, "ping", nil)); a.status != 404 {
		t.Errorf("the unused one: got %d %s", a.status, a.body)
	}
	if a := used.post(frame(1, "ping", nil)); a.status != 200 {
		t.Errorf("with a stream: got %d %s", a.status, a.body)
	}
	stream.close()
}

// One session too many takes the place of the one unused for longest.
func TestSessionsAreBounded(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.Sessions = 2 })
	first, second := w.session("a"), w.session("b")
	stream := w.stream(first.request("GET", ""))
	w.session("c")
	if a := second.post(frame(1, "ping", nil)); a.status != 404 {
		t.Errorf("the unused one: got %d", a.status)
	}
	if a := first.post(frame(1, "ping", nil)); a.status != 200 {
		t.Errorf("the one in use: got %d", a.status)
	}
	stream.close()
}

func TestRevokedTokenEndsStreams(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	stream := w.stream(c.request("GET", ""))
	if _, err := token.Open(w.dir + "/state").Revoke(token.Owner); err != nil {
		t.Fatal(err)
	}
	for {
		if _, more := stream.next(); !more {
			break
		}
	}
	if a := c.post(frame(1, "ping", nil)); a.status != 401 {
		t.Errorf("got %d %s", a.status, a.body)
	}
}

// Two requests of one id are answered each on its own response.
func TestIDs(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	for _, id := range []string{`7`, `"7"`, `9007199254740993`, `1.5`, `-1`, `""`, `"é\n"`, `{"a":[1]}`, `[]`, `true`} {
		a := c.post(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`)
		var f struct{ ID json.RawMessage }
		json.Unmarshal([]byte(a.body), &f)
		if a.status != 200 || string(f.ID) != id {
			t.Errorf("id %s: got %d %s", id, a.status, a.body)
		}
	}
	var open sync.WaitGroup
	for i := range 8 {
		open.Go(func() {
			got := c.post(execFrame(1, "sh { sleep 0.0"+sprint(8-i)+"; echo "+sprint(i)+" }")).result(t)
			text := sprint(got["content"].([]any)[0].(map[string]any)["text"])
			if text != sprint(i) {
				t.Errorf("request %d got the answer %q", i, text)
			}
		})
	}
	open.Wait()
}

// What takes longer than a moment is answered by a stream, whose first event
// says nothing but where to come back to.
func TestLongAnswers(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.StreamAfter = time.Millisecond; o.KeepAlive = 20 * time.Millisecond })
	c := w.session("s")
	a := c.post(execFrame(1, "sh { sleep 0.3; echo done }"))
	if kind := a.header.Get("Content-Type"); kind != "text/event-stream" {
		t.Fatalf("got %s", kind)
	}
	if !strings.HasPrefix(a.body, "id: ") || !strings.Contains(a.body, "\n:\n\n") || !strings.Contains(a.body, "done") {
		t.Errorf("got %q, want a first event, signs of life and the answer", a.body)
	}
	plain := c.post(execFrame(2, "sh { sleep 0.1; echo plain }"), "Accept", "application/json")
	if kind := plain.header.Get("Content-Type"); kind != "application/json" || !strings.Contains(plain.body, "plain") {
		t.Errorf("for a client of JSON alone: got %s %s", kind, plain.body)
	}
	quick := c.post(frame(3, "ping", nil), "Accept", "text/event-stream")
	if kind := quick.header.Get("Content-Type"); kind != "text/event-stream" || !strings.Contains(quick.body, `"id":3`) {
		t.Errorf("for a client of events alone: got %s %s", kind, quick.body)
	}
}

// Progress comes on the stream of its request, before the answer.
func TestProgress(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	body := frame(1, "tools/call", map[string]any{
		"name": "shoal_exec", "arguments": map[string]any{"src": "sh { sleep 0.6 }"}, "_meta": map[string]any{"progressToken": "p"},
	})
	stream := w.stream(c.request("POST", body))
	first := stream.want()
	if first["method"] != "notifications/progress" {
		t.Errorf("got %v", first)
	}
	for {
		if f := stream.want(); f["id"] != nil {
			break
		}
	}
	if _, more := stream.next(); more {
		t.Error("something follows the answer")
	}
}

func subscribe(c *client, uri string) {
	c.w.t.Helper()
	c.post(frame("sub", "resources/subscribe", map[string]any{"uri": uri})).result(c.w.t)
}

func publish(c *client, n int) {
	c.w.t.Helper()
	if got := c.exec("channel(\"user.x\").emit({n: " + sprint(n) + "})"); got["code"] != nil {
		c.w.t.Fatalf("publish: got %v", got)
	}
}

// Notices come in order on the GET stream of their session, wait while there is
// none, and are taken up again after the last one that arrived.
func TestNotices(t *testing.T) {
	w := newWorld(t)
	c, other := w.session("s"), w.session("other")
	const uri = "shoal://events/user.x"
	subscribe(c, uri)
	foreign := w.stream(other.request("GET", ""))
	publish(c, 1)
	stream := w.stream(c.request("GET", ""))
	seq := func(e *events) int {
		t.Helper()
		for {
			f := e.want()
			if params, _ := f["params"].(map[string]any); params["uri"] == uri {
				return int(params["payload"].(map[string]any)["n"].(float64))
			}
		}
	}
	if n := seq(stream); n != 1 {
		t.Fatalf("got %d, want the one of before", n)
	}
	last := stream.last
	publish(c, 2)
	if n := seq(stream); n != 2 {
		t.Fatalf("got %d, want 2", n)
	}
	stream.close()
	publish(c, 3)
	again := w.stream(c.request("GET", "", "Last-Event-ID", last))
	for want := 2; want <= 3; want++ {
		if n := seq(again); n != want {
			t.Fatalf("after coming back: got %d, want %d", n, want)
		}
	}
	newer := w.stream(c.request("GET", "")) // takes over
	publish(c, 4)
	if n := seq(newer); n != 4 {
		t.Errorf("on the newest stream: got %d", n)
	}
	newer.close()
	publish(c, 5)
	if n := seq(again); n != 5 {
		t.Errorf("after its end: got %d", n)
	}
	c.post(frame(9, "resources/unsubscribe", map[string]any{"uri": uri})).result(t)
	publish(c, 6)
	publish(other, 7)
	foreign.close()
	if ev, more := foreign.next(); more {
		t.Errorf("another session heard %v", ev)
	}
}

// Who leaves a request turns its execution into a task; the stream can be taken
// up again and has the answer.
func TestLostRequests(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.StreamAfter = time.Millisecond })
	c := w.session("s")
	stream := w.stream(c.request("POST", execFrame(41, "sh { sleep 30 }")))
	line, err := stream.in.ReadString('\n') // the event that says where to come back to
	if err != nil || !strings.HasPrefix(line, "id: ") {
		t.Fatalf("got %q, %v", line, err)
	}
	stream.close()
	if got := c.exec("1")["render"]; got != "1" { // waits until the line is free
		t.Errorf("the line: got %v", got)
	}
	again := w.stream(c.request("GET", "", "Last-Event-ID", strings.TrimSpace(line[4:])))
	f := again.want()
	result, _ := f["result"].(map[string]any)
	content, _ := result["structuredContent"].(map[string]any)
	if f["id"] != 41.0 || content["detached"] != true {
		t.Fatalf("got %v, want a task", f)
	}
	if _, more := again.next(); more {
		t.Error("something follows the answer")
	}
	c.post(toolFrame(5, "shoal_cancel", map[string]any{"task": content["task"]})).result(t)

	// Without a stream there is nothing to come back to.
	ctx, cancel := context.WithCancel(context.Background())
	r := c.request("POST", execFrame(42, "sh { sleep 30 }"), "Accept", "application/json")
	done := make(chan struct{})
	go func() {
		defer close(done)
		if resp, err := http.DefaultClient.Do(r.WithContext(ctx)); err == nil {
			resp.Body.Close()
			t.Error("the request was answered")
		}
	}()
	live := func() []any {
		r := c.post(frame(6, "resources/read", map[string]any{"uri": "shoal://jobs"})).result(t)
		var jobs struct{ Tasks []map[string]any }
		json.Unmarshal([]byte(r["contents"].([]any)[0].(map[string]any)["text"].(string)), &jobs)
		var out []any
		for _, task := range jobs.Tasks {
			if task["state"] == "running" {
				out = append(out, task["task"])
			}
		}
		return out
	}
	within(t, "it runs", func() bool { return len(live()) == 1 })
	cancel()
	<-done
	if got := c.exec("2")["render"]; got != "2" {
		t.Errorf("the line: got %v", got)
	}
	tasks := live()
	if len(tasks) != 1 {
		t.Fatalf("got %v, want the task", tasks)
	}
	c.post(toolFrame(7, "shoal_cancel", map[string]any{"task": tasks[0]})).result(t)
}

// A cancelled request is not answered, and its response ends.
func TestCancelledRequests(t *testing.T) {
	w := newWorld(t, func(o *mcphttp.Options) { o.StreamAfter = time.Millisecond })
	c := w.session("s")
	for _, accept := range []string{"text/event-stream", "application/json"} {
		r := c.request("POST", execFrame("x", "sh { sleep 30 }"), "Accept", accept)
		done := make(chan string, 1)
		go func() {
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				done <- err.Error()
				return
			}
			defer resp.Body.Close()
			body, _ := io.ReadAll(resp.Body)
			done <- string(body)
		}()
		within(t, "the request has ended", func() bool {
			c.post(frame(nil, "notifications/cancelled", map[string]any{"requestId": "x"}))
			select {
			case body := <-done:
				if strings.Contains(body, `"jsonrpc"`) {
					t.Errorf("%s: got %q", accept, body)
				}
				return true
			default:
				return false
			}
		})
	}
	c.exec("1")
}

func TestStopAnswersWhatIsOpen(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	stream := w.stream(c.request("GET", ""))
	done := make(chan answer, 1)
	r := c.request("POST", execFrame(1, "sh { sleep 60 }"))
	go func() { done <- w.do(r) }()
	jobs := frame(2, "resources/read", map[string]any{"uri": "shoal://jobs"})
	within(t, "it runs", func() bool { return strings.Contains(c.post(jobs).body, "running") })
	if err := w.k.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	if a := <-done; !strings.Contains(a.body, `"id":1`) {
		t.Errorf("the open call: got %d %q", a.status, a.body)
	}
	for {
		if _, more := stream.next(); !more {
			break
		}
	}
}
