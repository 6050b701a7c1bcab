package gateway_test

import (
	"encoding/json"
	"strings"
	"testing"

	"shoal.dev/shoal/gateway"
	"shoal.dev/shoal/wire"
)

// Every method of the table is served or said not to be; none is a surprise.
func TestEveryMethodIsServedOrNot(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	for _, m := range wire.Methods {
		a := c.call(m.Name, map[string]any{"no_such_property": 1})
		if a.Error == nil {
			t.Errorf("%s: takes a property that is not there: %v", m.Name, a.Result)
			continue
		}
		switch {
		case a.Error.Code == -32601 && strings.Contains(a.Error.Message, "not served by this kernel"):
		case a.Error.Code == -32600 && m.Name == "session.attach":
		case a.Error.Code == -32602 && strings.Contains(a.Error.Message, "no_such_property"):
		default:
			t.Errorf("%s: got %+v", m.Name, a.Error)
		}
	}
	if r := c.code(-32601, "no.such.method", nil); !strings.Contains(r.Message, "no.such.method") {
		t.Errorf("got %q", r.Message)
	}
}

// Params are judged before anything happens, and the property is named.
func TestParams(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	for _, p := range []struct{ method, params, names string }{
		{"exec", `{}`, "src"},
		{"exec", `{"src":1}`, "src"},
		{"exec", `[]`, ""},
		{"exec", `{"src":"1","mode":"fly"}`, "mode"},
		{"exec", `{"src":"1","position":"x"}`, "position"},
		{"exec", `{"src":"1","timeout_ms":0}`, "timeout_ms"},
		{"exec", `{"src":"1","timeout_ms":1.5}`, "timeout_ms"},
		{"exec", `{"src":"1","timeout_ms":99999999999999999999}`, "timeout_ms"},
		{"exec", `{"src":"1","deadline_ms":-1}`, "deadline_ms"},
		{"exec", `{"src":"1","background":"yes"}`, "background"},
		{"exec", `{"src":"1","elide":{"max_rows":0}}`, "max_rows"},
		{"exec", `{"src":"1","elide":{"x":1}}`, "x"},
		{"exec", `{"src":"1","request_id":"` + strings.Repeat("x", 129) + `"}`, "request_id"},
		{"value.get", `{}`, "ref"},
		{"value.get", `{"ref":"out:1","format":"xml"}`, "format"},
		{"value.get", `{"ref":"out:1","elide":{"max_bytes":-5}}`, "max_bytes"},
		{"blob.get", `{}`, "hash"},
		{"blob.get", `{"hash":"x","offset":-1}`, "offset"},
		{"blob.get", `{"hash":"x","limit":0}`, "limit"},
		{"journal.query", `{"limit":1001}`, "limit"},
		{"journal.query", `{"limit":-1}`, "limit"},
		{"journal.query", `{"effects":["nope"]}`, "effect"},
		{"journal.query", `{"VisibleTo":["x"]}`, "VisibleTo"},
		{"task.get", `{}`, "task"},
		{"task.await", `{"task":"task:1","timeout_ms":0}`, "timeout_ms"},
		{"task.output", `{"task":"task:1"}`, "stream"},
		{"plan.apply", `{}`, "plan_ref"},
		{"cap.request", `{"plan_ref":"plan:x"}`, "effects"},
		{"cap.request", `{"plan_ref":"plan:x","effects":["fly"]}`, "fly"},
		{"cap.grant", `{}`, "plan_ref"},
		{"pty.open", `{}`, "cmd"},
		{"pty.open", `{"cmd":"sh","cols":0}`, "cols"},
		{"pty.open", `{"cmd":"sh","env":{"A=B":"c"}}`, "env"},
		{"pty.open", `{"cmd":"sh","scrollback":-1}`, "scrollback"},
		{"pty.send", `{"pty_id":"pty:1"}`, "input"},
		{"pty.read", `{"pty_id":"pty:1","wait":{"timeout_ms":-1}}`, "timeout_ms"},
		{"pty.resize", `{"pty_id":"pty:1","cols":1,"rows":100000}`, "rows"},
		{"events.read", `{}`, "channel"},
		{"events.read", `{"channel":"journal","limit":0}`, "limit"},
		{"events.read", `{"channel":"journal","limit":5000}`, "limit"},
		{"events.read", `{"channel":"journal","since":-1}`, "since"},
		{"events.publish", `{"channel":"user.x"}`, "payload"},
		{"events.subscribe", `{}`, "channel"},
		{"kernel.info", `{"x":1}`, "x"},
	} {
		r := c.code(-32602, p.method, json.RawMessage(p.params))
		if !strings.Contains(r.Message, p.names) {
			t.Errorf("%s %s: got %q, want %q named", p.method, p.params, r.Message, p.names)
		}
	}
	if n := len(c.ok("task.list", nil)["tasks"].([]any)); n != 0 {
		t.Errorf("%d tasks were made", n)
	}
}

func TestUnknownThings(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	for _, p := range []struct {
		method, params string
		code           int
	}{
		{"value.get", `{"ref":"out:99"}`, -32004},
		{"value.get", `{"ref":"nonsense"}`, -32004},
		{"value.get", `{"ref":"val:blake3:../../etc/passwd"}`, -32004},
		{"blob.get", `{"hash":"../../etc/passwd"}`, -32004},
		{"task.get", `{"task":"task:99"}`, -32021},
		{"task.get", `{"task":"task:099"}`, -32021},
		{"task.await", `{"task":"x"}`, -32021},
		{"task.cancel", `{"task":"shoal://task/99"}`, -32021},
		{"plan.get", `{"plan_ref":"plan:00"}`, -32012},
		{"plan.apply", `{"plan_ref":"plan:00"}`, -32012},
		{"cap.request", `{"plan_ref":"plan:00","effects":[]}`, -32012},
		{"cap.grant", `{"plan_ref":"plan:00"}`, -32012},
		{"pty.read", `{"pty_id":"pty:9"}`, -32022},
		{"events.read", `{"channel":"task.9"}`, -32021},
		{"events.read", `{"channel":"task.01"}`, -32602},
		{"events.read", `{"channel":"pty.9"}`, -32022},
		{"events.read", `{"channel":"local.x"}`, -32602},
		{"events.read", `{"channel":"jobs"}`, -32602},
		{"events.subscribe", `{"channel":"user."}`, -32602},
	} {
		c.code(p.code, p.method, json.RawMessage(p.params))
	}
}

// What belongs to a session cannot be seen from another.
func TestSessionsAreApart(t *testing.T) {
	w := newWorld(t)
	a, b := w.attach("a"), w.attach("b")
	ref := a.ok("exec", map[string]any{"src": "1", "position": "value"})["ref"]
	task := a.ok("exec", map[string]any{"src": "^/bin/sleep 60", "background": true})["task"]
	plan := a.ok("exec", map[string]any{"src": "mkdir x", "mode": "plan"})["plan_ref"]
	b.code(-32004, "value.get", map[string]any{"ref": ref})
	for _, op := range []string{"task.get", "task.cancel", "task.await"} {
		b.code(-32021, op, map[string]any{"task": task})
	}
	b.code(-32021, "task.output", map[string]any{"task": task, "stream": "stdout"})
	b.code(-32021, "events.read", map[string]any{"channel": strings.Replace(task.(string), ":", ".", 1)})
	b.code(-32012, "plan.get", map[string]any{"plan_ref": plan})
	b.code(-32012, "plan.apply", map[string]any{"plan_ref": plan})
	a.ok("task.cancel", map[string]any{"task": task})
}

// What is served has a contract, and what has one is served.
func TestContracts(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	has := map[string]bool{}
	for _, m := range gateway.Contracts() {
		has[m.Method.Name] = true
		if m.Params == nil || len(m.Results) == 0 {
			t.Errorf("%s: params %v, results %v", m.Method.Name, m.Params, m.Results)
		}
	}
	for _, m := range wire.Methods {
		a := c.call(m.Name, map[string]any{"no_such_property": 1})
		served := a.Error == nil || a.Error.Code != -32601
		if served != has[m.Name] {
			t.Errorf("%s: served %v, contract %v", m.Name, served, has[m.Name])
		}
	}
}
