package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
)

// toolMethods are the methods behind the tools, by tool.
var toolMethods = map[string]string{
	"shoal_exec": "exec", "shoal_plan": "exec", "shoal_apply": "plan.apply", "shoal_get": "value.get",
	"shoal_journal": "journal.query", "shoal_cancel": "task.cancel", "shoal_cap_request": "cap.request",
	"shoal_pty_open": "pty.open", "shoal_pty_send": "pty.send", "shoal_pty_read": "pty.read",
	"shoal_pty_resize": "pty.resize", "shoal_pty_close": "pty.close", "shoal_pty_list": "pty.list",
}

// Whatever a tool's schema offers, its method knows.
func TestMethodsKnowTheArgumentsOfTheirTools(t *testing.T) {
	w := newWorld(t)
	m := w.dial()
	m.ok("session.attach", map[string]any{"session": "s", "client": map[string]string{"kind": "mcp"}})
	m.ok("initialize", map[string]any{"protocolVersion": "2025-06-18", "capabilities": struct{}{}, "clientInfo": map[string]string{"name": "t", "version": "1"}})
	var list struct {
		Tools []struct {
			Name   string
			Schema struct {
				Properties map[string]json.RawMessage
			} `json:"inputSchema"`
		}
	}
	if err := json.Unmarshal(messages.JSON(m.ok("tools/list", struct{}{})), &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Tools) != len(toolMethods) {
		t.Fatalf("%d tools, want %d", len(list.Tools), len(toolMethods))
	}
	c := w.attach("s")
	for _, tool := range list.Tools {
		for name := range tool.Schema.Properties {
			// Of no property's type, so that nothing runs.
			r := c.code(-32602, toolMethods[tool.Name], json.RawMessage(fmt.Sprintf(`{%q:[[]]}`, name)))
			if strings.Contains(r.Message, "unknown") {
				t.Errorf("%s: %s", tool.Name, r.Message)
			}
		}
	}
}
