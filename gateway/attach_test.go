package gateway_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// Before the attachment every method but the public ones is refused before its
// params are looked at.
func TestBeforeAttachment(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	for _, m := range wire.Methods {
		want := -32000
		switch {
		case m.Name == "session.attach":
			continue
		case m.Class == wire.Public:
			want = -32602
		}
		c.code(want, m.Name, map[string]any{"nonsense": []int{1}})
	}
	c.code(-32000, "no.such", nil)
	for _, frame := range []struct {
		line string
		code int
	}{
		{`{"jsonrpc":"2.0",`, -32700},
		{`[]`, -32600},
		{`{"jsonrpc":"2.0","id":null,"method":7}`, -32600},
	} {
		c.write(frame.line)
		delete(c.answers, -1)
		if a := c.await(-1); a.Error == nil || a.Error.Code != frame.code {
			t.Errorf("%s: got %+v, want %d", frame.line, a.Error, frame.code)
		}
	}
	c.ok("session.attach", nil)
	c.ok("kernel.info", nil)
}

func TestAttachmentParams(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		what   string
		params map[string]any
		code   int
		part   string
	}{
		{"name with dot", map[string]any{"session": ".x"}, -32602, "names are"},
		{"long name", map[string]any{"session": strings.Repeat("x", 65)}, -32602, "names are"},
		{"name with slash", map[string]any{"session": "a/b"}, -32602, "names are"},
		{"relative cwd", map[string]any{"cwd": "x"}, -32602, "absolute"},
		{"missing cwd", map[string]any{"session": "new", "cwd": "/nothere/at/all"}, -32602, "/nothere/at/all"},
		{"file as cwd", map[string]any{"session": "new", "cwd": "/etc/passwd"}, -32602, "/etc/passwd"},
		{"unknown property", map[string]any{"nonsense": 1}, -32602, "nonsense"},
		{"wrong type", map[string]any{"env": []string{"A=1"}}, -32602, "env"},
		{"token", map[string]any{"token": "x"}, -32030, "token"},
	} {
		if r := w.dial().code(c.code, "session.attach", c.params); !strings.Contains(r.Message, c.part) {
			t.Errorf("%s: got %q, want %q in it", c.what, r.Message, c.part)
		}
	}
	// A refused attachment may be tried again on the same connection.
	c := w.dial()
	c.code(-32602, "session.attach", map[string]any{"session": "new", "cwd": "/nothere"})
	got := c.ok("session.attach", map[string]any{"session": "new", "cwd": w.dir})
	if got["session"] != "new" || got["principal"] == "" || got["kernel_id"] == "" || got["protocol_version"] != messages.ProtocolVersion {
		t.Errorf("got %v", got)
	}
	c.code(-32600, "session.attach", nil)
}

func TestEnvironmentOfASession(t *testing.T) {
	w := newWorld(t)
	c := w.dial()
	c.ok("session.attach", map[string]any{"cwd": w.dir, "env": map[string]string{
		"KEEP": "1", "SHOAL_TOKEN": "secret", "SHOAL_TASK": "x/1", "": "x", "A=B": "c", "NUL": "a\x00b",
	}})
	env := c.ok("session.env", nil)["env"].(map[string]any)
	if env["KEEP"] != "1" || len(env) != 1 {
		t.Errorf("got %v, want KEEP alone", env)
	}
	other := w.dial()
	other.ok("session.attach", map[string]any{"session": "plain", "cwd": w.dir})
	env = other.ok("session.env", nil)["env"].(map[string]any)
	for _, name := range []string{"HOME", "USER", "LOGNAME", "SHELL", "LANG", "PATH"} {
		if env[name] == nil {
			t.Errorf("without env %s is missing", name)
		}
	}
	if len(env) != 6 {
		t.Errorf("without env: got %v", env)
	}
}

func TestTokensMayBeRequired(t *testing.T) {
	w := newWorld(t, func(o *kernel.Options) { o.RequireToken = true })
	w.dial().code(-32030, "session.attach", nil)
}

func TestOversizedLineEndsTheConnection(t *testing.T) {
	w := newWorld(t)
	for _, attached := range []bool{false, true} {
		c := w.dial()
		if attached {
			c.ok("session.attach", nil)
		}
		go func() { // the peer may stop reading at any time
			chunk := strings.Repeat("x", 1<<20)
			for range 17 {
				if _, err := io.WriteString(c.c, chunk); err != nil {
					return
				}
			}
		}()
		if a := c.await(-1); a.Error == nil || a.Error.Code != -32600 {
			t.Errorf("attached %t: got %+v", attached, a.Error)
		}
		for c.read() { // until the end
		}
	}
}

func TestConnectionsAreCounted(t *testing.T) {
	w := newWorld(t)
	c := w.attach("a")
	for range 5 {
		w.attach("a").c.Close()
	}
	within(t, "only one is left", func() bool { return c.ok("kernel.info", nil)["connections"] == 1.0 })
	within(t, "the session has one connection", func() bool {
		list := c.ok("session.list", nil)["sessions"].([]any)
		return len(list) == 1 && list[0].(map[string]any)["connections"] == 1.0
	})
}

func TestSessionsThatLeftMemoryComeBack(t *testing.T) {
	w := newWorld(t)
	a, b := w.attach("s"), w.attach("s")
	a.ok("exec", map[string]any{"src": "let x = 4"})
	b.ok("session.close", nil)
	for _, c := range []*client{a, b} {
		if got := c.ok("exec", map[string]any{"src": "x", "position": "value"})["render"]; got != "4" {
			t.Errorf("got %v", got)
		}
	}
}

func TestOrderOfPipelinedCalls(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	c.ok("exec", map[string]any{"src": "var n = 0"})
	var ids []int
	for i := range 100 {
		ids = append(ids, c.send("exec", map[string]any{"src": fmt.Sprintf("n = n * 3 %% 1000 + %d; n", i), "position": "value"}))
	}
	n := 0
	for i, id := range ids {
		n = n*3%1000 + i
		if got := c.await(id).Result["render"]; got != fmt.Sprint(n) {
			t.Fatalf("call %d: got %v, want %d", i, got, n)
		}
	}
}

func TestLostConnectionFreesTheLine(t *testing.T) {
	w := newWorld(t)
	a, b := w.attach("s"), w.attach("s")
	a.send("exec", map[string]any{"src": "^/bin/sleep 60"})
	within(t, "it runs", func() bool { return len(b.ok("task.list", map[string]any{"live": true})["tasks"].([]any)) == 1 })
	a.c.Close()
	b.ok("exec", map[string]any{"src": "1"})
	tasks := b.ok("task.list", map[string]any{"live": true})["tasks"].([]any)
	task := tasks[0].(map[string]any)["task"]
	b.ok("task.cancel", map[string]any{"task": task})
	if rec := b.ok("task.await", map[string]any{"task": task}); rec["state"] != "cancelled" {
		t.Errorf("got %v", rec)
	}
}
