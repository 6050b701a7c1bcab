package mcp

import (
	"strings"
	"testing"
	"time"
)

// granted are the calls that decided about a plan.
func granted(k *fakeKernel) []string {
	var calls []string
	for _, call := range k.calls() {
		if strings.HasPrefix(call, "cap.request") && !strings.Contains(call, `"effects":[]`) || strings.HasPrefix(call, "cap.deny") || strings.HasPrefix(call, "plan.apply") {
			calls = append(calls, call)
		}
	}
	return calls
}

// TestLateApproval: an answer after the deadline of its question changes
// nothing, in either era.
func TestLateApproval(t *testing.T) {
	t.Run("handshake", func(t *testing.T) {
		k := scene()
		c := dial(t, k, Options{ApprovalWait: 20 * time.Millisecond})
		c.call("1", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}`)
		c.send(toolCall("2", "shoal_exec", `{"src":"ask"}`))
		question := c.next()
		id := at2(question, "id")
		if withdrawn := c.next(); at(t, withdrawn, "method") != "notifications/cancelled" || string(member(member([]byte(withdrawn), "params"), "requestId")) != id {
			t.Errorf("got %s, want the question %s withdrawn", withdrawn, id)
		}
		if reply := c.next(); at(t, reply, "result", "structuredContent", "code") != "-32011" || at(t, reply, "result", "structuredContent", "data", "reason") != "unanswered" {
			t.Errorf("got %s, want APPROVAL_REQUIRED, unanswered", reply)
		}
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"result":{"action":"accept"}}`)
		c.call("3", "ping", "{}")
		if calls := granted(k); len(calls) > 0 {
			t.Errorf("the late answer did %v", calls)
		}
	})
	t.Run("stateless", func(t *testing.T) {
		const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}}`
		k := scene()
		c := dial(t, k, Options{ApprovalWait: time.Nanosecond})
		asked := c.call("1", "tools/call", `{"name":"shoal_exec","arguments":{"src":"ask"},`+meta+`}`)
		state := at(t, asked, "result", "requestState")
		if at(t, asked, "result", "resultType") != "input_required" || state == "" {
			t.Fatalf("got %s, want a question", asked)
		}
		reply := c.call("2", "tools/call", `{"name":"shoal_exec","arguments":{"src":"ask"},"requestState":"`+state+`","inputResponses":{"approval":{"action":"accept"}},`+meta+`}`)
		if at(t, reply, "result", "structuredContent", "data", "reason") != "unanswered" {
			t.Errorf("got %s, want APPROVAL_REQUIRED, unanswered", reply)
		}
		if calls := granted(k); len(calls) > 0 {
			t.Errorf("the late answer did %v", calls)
		}
	})
}

// TestStateIsTheCallersOwn: the state of a question is of no use to another
// session, tool or call.
func TestStateIsTheCallersOwn(t *testing.T) {
	mine := question{session: "work", principal: "uid:1000", tool: "shoal_exec", args: [32]byte{1}}
	asked := mine
	asked.plan, asked.deadline = "plan:aa", time.Now()
	var q questions
	q.byKey = map[string]question{}
	q.put("k", asked)
	for name, by := range map[string]question{
		"session":   {session: "play", principal: "uid:1000", tool: "shoal_exec", args: [32]byte{1}},
		"principal": {session: "work", principal: "uid:0", tool: "shoal_exec", args: [32]byte{1}},
		"tool":      {session: "work", principal: "uid:1000", tool: "shoal_apply", args: [32]byte{1}},
		"arguments": {session: "work", principal: "uid:1000", tool: "shoal_exec"},
	} {
		if _, ok := q.take("k", by); ok {
			t.Errorf("another %s got the question", name)
		}
	}
	if got, ok := q.take("k", mine); !ok || got != asked {
		t.Errorf("got %v, %v, want %v", got, ok, asked)
	}
	if _, ok := q.take("k", mine); ok {
		t.Error("a question was given out twice")
	}
	for i := range questionsMax + 10 {
		q.put(strings.Repeat("x", i+1), asked)
	}
	if len(q.byKey) > questionsMax || len(q.order) > questionsMax {
		t.Errorf("%d questions are kept, want at most %d", len(q.byKey), questionsMax)
	}
}
