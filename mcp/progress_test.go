package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"
	"time"

	"shoal.dev/shoal/messages"
)

// statelessMeta is the _meta of a stateless request with more members.
func statelessMeta(more string) string {
	return `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}` + more + `}`
}

// TestProgressEndsWithTheAnswer: each of twenty calls at once hears of its
// progress, which rises; nothing comes after its answer, and its log messages
// come before.
func TestProgressEndsWithTheAnswer(t *testing.T) {
	for _, era := range []string{"handshake", "stateless"} {
		t.Run(era, func(t *testing.T) { checkProgress(t, era == "stateless") })
	}
}

func checkProgress(t *testing.T, stateless bool) {
	const calls = 20
	k := newFake()
	k.serve["exec"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		sleep(ctx, progressFirst+progressEvery+200*time.Millisecond)
		return json.RawMessage(`{"ref":"out:1","uri":"shoal://out/1","value":{"$":"null"},"render":"","notes":[{"code":"n","msg":` + string(member(params, "src")) + `}]}`), nil
	}
	c := dial(t, k, Options{})
	if !stateless {
		c.handshake()
		c.call(`"level"`, "logging/setLevel", `{"level":"info"}`)
	}
	for i := range calls {
		meta := fmt.Sprintf(`"_meta":{"progressToken":"t%d"}`, i)
		if stateless {
			meta = statelessMeta(fmt.Sprintf(`,"progressToken":"t%d","io.modelcontextprotocol/logLevel":"info"`, i))
		}
		c.send(frameOf(strconv.Itoa(i), "tools/call", fmt.Sprintf(`{"name":"shoal_exec","arguments":{"src":"s%d"},%s}`, i, meta)))
	}
	last, told, logged, answered := map[string]int{}, map[string]int{}, map[string]bool{}, map[string]bool{}
	for len(answered) < calls {
		frame := c.next()
		switch at(t, frame, "method") {
		case "notifications/progress":
			token := at(t, frame, "params", "progressToken")
			now, err := strconv.Atoi(at(t, frame, "params", "progress"))
			if err != nil || now <= last[token] || answered[token[1:]] {
				t.Errorf("%s after %d, answered %v", frame, last[token], answered[token[1:]])
			}
			last[token] = now
			told[token]++
		case "notifications/message":
			logged[at(t, frame, "params", "data")] = true
		default:
			id := at(t, frame, "id")
			if !logged["n: s"+id] {
				t.Errorf("call %s was answered before its log message came", id)
			}
			answered[id] = true
		}
	}
	for i := range calls {
		if n := told[fmt.Sprintf("t%d", i)]; n < 2 {
			t.Errorf("call %d heard of its progress %d times, want 2", i, n)
		}
	}
	c.send(frameOf(`"last"`, "no/such", "{}"))
	if got := c.next(); at(t, got, "id") != "last" {
		t.Errorf("after the answers came %s", got)
	}
}

// TestLogLevels: log messages come from the level that was asked for: of the
// connection after a handshake, of the request without.
func TestLogLevels(t *testing.T) {
	const notes = `{"ref":"out:1","uri":"shoal://out/1","value":{"$":"null"},"render":"","notes":[{"code":"n","msg":"m"}]}`
	call := func(more string) string {
		params := `{"name":"shoal_exec","arguments":{"src":"x"}`
		if more != "" {
			params += "," + more
		}
		return frameOf("1", "tools/call", params+"}")
	}
	for _, test := range []struct {
		name, level, frame string
		handshake, want    bool
	}{
		{"before any handshake", "", call(""), false, false},
		{"the default", "", call(""), true, false},
		{"a lower level", "debug", call(""), true, true},
		{"the level", "info", call(""), true, true},
		{"a higher level", "warning", call(""), true, false},
		{"a stateless request that names none", "debug", call(statelessMeta("")), true, false},
		{"a stateless request", "", call(statelessMeta(`,"io.modelcontextprotocol/logLevel":"info"`)), false, true},
		{"a stateless request of a higher level", "debug", call(statelessMeta(`,"io.modelcontextprotocol/logLevel":"notice"`)), true, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newFake()
			k.answer("exec", notes)
			c := dial(t, k, Options{})
			if test.handshake {
				c.handshake()
			}
			if test.level != "" {
				c.call(`"level"`, "logging/setLevel", `{"level":"`+test.level+`"}`)
			}
			c.send(test.frame)
			frame := c.next()
			if got := at(t, frame, "method") == "notifications/message"; got != test.want {
				t.Errorf("got %s, want a log message: %v", frame, test.want)
			}
		})
	}
}
