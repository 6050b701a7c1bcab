package mcphttp_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"shoal.dev/shoal/token"
)

const stateless = "2026-07-28"

// alone is a request of the era without handshake.
func (w *world) alone(name string, id any, method string, params map[string]any, headers ...string) *http.Request {
	w.t.Helper()
	p := map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": stateless, "io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}}
	for k, v := range params {
		p[k] = v
	}
	usual := []string{"Mcp-Protocol-Version", stateless, "Mcp-Method", method}
	for _, key := range []string{"name", "uri"} {
		if v, ok := params[key].(string); ok {
			usual = append(usual, "Mcp-Name", v)
		}
	}
	return w.request("POST", "/mcp/"+name, frame(id, method, p), append(usual, headers...)...)
}

func (w *world) aloneExec(name, src string, headers ...string) *http.Request {
	return w.alone(name, 1, "tools/call", map[string]any{"name": "shoal_exec", "arguments": map[string]any{"src": src}}, headers...)
}

// Requests without a handshake share the kernel's session with each other and
// with the other era, and no HTTP session.
func TestRequestsAlone(t *testing.T) {
	w := newWorld(t)
	a := w.do(w.alone("s", "d", "server/discover", nil))
	if a.status != 200 || a.header.Get("Mcp-Session-Id") != "" || !strings.Contains(a.body, stateless) {
		t.Fatalf("discover: got %d %v %s", a.status, a.header, a.body)
	}
	w.do(w.aloneExec("s", "let x = 6")).result(t)
	r := w.do(w.aloneExec("s", "x")).result(t)
	if r["structuredContent"].(map[string]any)["render"] != "6" || r["resultType"] != "complete" {
		t.Errorf("got %v", r)
	}
	if got := w.session("s").exec("x")["render"]; got != "6" {
		t.Errorf("with a handshake: got %v", got)
	}
	if n := w.connections("s"); n != 2 {
		t.Errorf("got %d places in the session, want one for each era", n)
	}
	if a := w.do(w.alone("s", nil, "notifications/cancelled", map[string]any{"requestId": 1})); a.status != 202 {
		t.Errorf("notification: got %d %s", a.status, a.body)
	}
}

func TestRefusalsAlone(t *testing.T) {
	w := newWorld(t)
	for _, tc := range []struct {
		what   string
		r      *http.Request
		status int
		code   int
	}{
		{"no header", w.aloneExec("s", "1", "Mcp-Protocol-Version", ""), 400, -32020},
		{"header of the other era", w.aloneExec("s", "1", "Mcp-Protocol-Version", newest), 400, -32020},
		{"no meta", w.request("POST", "/mcp/s", frame(1, "tools/list", nil), "Mcp-Protocol-Version", stateless, "Mcp-Method", "tools/list"), 400, -32602},
		{"no method header", w.aloneExec("s", "1", "Mcp-Method", ""), 400, -32020},
		{"other method", w.aloneExec("s", "1", "Mcp-Method", "tools/list"), 400, -32020},
		{"no name", w.aloneExec("s", "1", "Mcp-Name", ""), 400, -32020},
		{"other name", w.aloneExec("s", "1", "Mcp-Name", "shoal_plan"), 400, -32020},
		{"bad base64", w.aloneExec("s", "1", "Mcp-Name", "=?base64?!?="), 400, -32020},
		{"base64", w.aloneExec("s", "1", "Mcp-Name", "=?base64?c2hvYWxfZXhlYw==?="), 200, 0},
		{"event id", w.aloneExec("s", "1", "Last-Event-ID", "1-1"), 400, -32020},
		{"removed method", w.alone("s", 1, "ping", nil), 404, -32601},
		{"unknown method", w.alone("s", 1, "no/such", nil), 404, -32601},
		{"unknown tool", w.alone("s", 1, "tools/call", map[string]any{"name": "nope"}), 400, -32602},
		{"session is ignored", w.aloneExec("s", "1", "Mcp-Session-Id", "x"), 200, 0},
	} {
		if a := w.do(tc.r); a.status != tc.status || a.code() != tc.code {
			t.Errorf("%s: got %d %s, want %d and code %d", tc.what, a.status, a.body, tc.status, tc.code)
		}
	}
	future := frame(1, "tools/list", map[string]any{"_meta": map[string]any{
		"io.modelcontextprotocol/protocolVersion": "2027-01-01", "io.modelcontextprotocol/clientCapabilities": map[string]any{},
	}})
	if a := w.do(w.request("POST", "/mcp/s", future, "Mcp-Protocol-Version", "2027-01-01", "Mcp-Method", "tools/list")); a.status != 400 || a.code() != -32022 {
		t.Errorf("unknown revision: got %d %s", a.status, a.body)
	}
}

// A listen request has a stream of its own, which ends with its client.
func TestListening(t *testing.T) {
	w := newWorld(t)
	const uri = "shoal://events/user.x"
	listen := func(id string) *events {
		return w.stream(w.alone("s", id, "subscriptions/listen", map[string]any{
			"notifications": map[string]any{"resourceSubscriptions": []string{uri}},
		}))
	}
	a, b := listen("a"), listen("b")
	for name, e := range map[string]*events{"a": a, "b": b} {
		first := e.want()
		if first["method"] != "notifications/subscriptions/acknowledged" {
			t.Fatalf("got %v", first)
		}
		if id := first["params"].(map[string]any)["_meta"].(map[string]any)["io.modelcontextprotocol/subscriptionId"]; id != name {
			t.Errorf("got stream %v, want %s", id, name)
		}
	}
	w.do(w.aloneExec("s", `channel("user.x").emit({n: 1})`)).result(t)
	for _, e := range []*events{a, b} {
		if f := e.want(); f["params"].(map[string]any)["uri"] != uri {
			t.Errorf("got %v", f)
		}
	}
	a.close()
	w.do(w.aloneExec("s", `channel("user.x").emit({n: 2})`)).result(t)
	if f := b.want(); f["params"].(map[string]any)["payload"].(map[string]any)["n"] != 2.0 {
		t.Errorf("got %v", f)
	}
	b.close()
}

// Who leaves a request without handshake has cancelled it: an execution becomes
// a task.
func TestLostRequestsAlone(t *testing.T) {
	w := newWorld(t)
	c := w.session("s")
	stream := w.stream(w.aloneExec("s", "sh { sleep 30 }")) // its head comes with the first sign of life
	stream.close()
	if got := c.exec("1")["render"]; got != "1" {
		t.Errorf("the line: got %v", got)
	}
	r := c.post(frame(6, "resources/read", map[string]any{"uri": "shoal://jobs"})).result(t)
	var jobs struct{ Tasks []map[string]any }
	json.Unmarshal([]byte(r["contents"].([]any)[0].(map[string]any)["text"].(string)), &jobs)
	for _, task := range jobs.Tasks {
		if task["state"] == "running" {
			c.post(toolFrame(7, "shoal_cancel", map[string]any{"task": task["task"]})).result(t)
			return
		}
	}
	t.Errorf("got %v, want a running task", jobs.Tasks)
}

func TestRevokedTokenAlone(t *testing.T) {
	w := newWorld(t)
	w.do(w.aloneExec("s", "1")).result(t)
	if _, err := token.Open(w.dir + "/state").Revoke(token.Owner); err != nil {
		t.Fatal(err)
	}
	if a := w.do(w.aloneExec("s", "1")); a.status != 401 {
		t.Errorf("got %d %s", a.status, a.body)
	}
	within(t, "the place is given up", func() bool { return w.connections("s") == 0 })
}
