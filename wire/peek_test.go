package wire

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestPeek(t *testing.T) {
	tests := []struct {
		in       string
		id, name string
		params   string
		ok       bool
	}{
		{`{"jsonrpc":"2.0","id":1,"method":"m","params":{"a":[1,"}"]}}`, `1`, "m", `{"a":[1,"}"]}`, true},
		{`{"params":{"id":9,"method":"inner"},"method":"m","id":"a\"b\\"}`, `"a\"b\\"`, "m", `{"id":9,"method":"inner"}`, true},
		{` { "id" : 9007199254740993 , "method" : "x" } `, `9007199254740993`, "x", ``, true},
		{`{"\u0069d":[1,{"k":null}],"method":"a\u0062"}`, `[1,{"k":null}]`, "ab", ``, true},
		{`{"id":1,"id":2}`, `2`, "", ``, true},
		{`{}`, ``, "", ``, true},
		{`[]`, ``, "", ``, false},
		{`7`, ``, "", ``, false},
		{``, ``, "", ``, false},
		{`{"id":1`, `1`, "", ``, false},
		{`{"id":"abc`, ``, "", ``, false},
		{`{"id"}`, ``, "", ``, false},
		{`{"id":}`, ``, "", ``, false},
		{`{"a":{`, ``, "", ``, false},
	}
	for _, tt := range tests {
		head, ok := Peek([]byte(tt.in))
		got := []any{string(head.ID), head.MethodName(), string(head.Params), ok}
		if diff := cmp.Diff([]any{tt.id, tt.name, tt.params, tt.ok}, got); diff != "" {
			t.Errorf("Peek(%s) (-want +got):\n%s", tt.in, diff)
		}
	}
}

func TestPeekReplyStopsAtTheResult(t *testing.T) {
	head, ok := PeekReply([]byte(`{"jsonrpc":"2.0","id":4,"result":{"_meta":{"k":1},"x":"` + `unfinished`))
	if !ok || string(head.ID) != "4" || !head.IsReply() || head.Error != nil {
		t.Errorf("got %+v, %v", head, ok)
	}
	head, _ = PeekReply([]byte(`{"jsonrpc":"2.0","id":4,"result":{"_meta":{"k":1}}}`))
	if got := Member(Member(head.Result, "_meta"), "k"); string(got) != "1" {
		t.Errorf("member: got %s, want 1", got)
	}
	head, _ = PeekReply([]byte(`{"result":1,"id":5}`))
	if string(head.ID) != "5" || head.Result == nil {
		t.Errorf("id after result: got %+v", head)
	}
	head, _ = PeekReply([]byte(`{"jsonrpc":"2.0","id":3,"method":"ping"}`))
	if !head.IsRequest() || head.IsReply() {
		t.Errorf("kernel's request: got %+v", head)
	}
}

// FuzzPeek holds Peek against encoding/json on everything that is valid.
func FuzzPeek(f *testing.F) {
	f.Add([]byte(`{"id":1,"method":"m","params":{}}`))
	f.Add([]byte(`{"id":"\\\"","x":[{}],"method":null}`))
	f.Add([]byte(`{"a":"\`))
	f.Fuzz(func(t *testing.T, data []byte) {
		head, ok := Peek(data)
		PeekReply(data)
		var want struct {
			ID json.RawMessage
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(data, &members) != nil || members == nil {
			return
		}
		want.ID = members["id"]
		if !ok || string(head.ID) != string(want.ID) {
			t.Errorf("Peek(%q): id %q %v, encoding/json has %q", data, head.ID, ok, want.ID)
		}
	})
}

func BenchmarkPeek(b *testing.B) {
	frame := []byte(`{"jsonrpc":"2.0","id":17,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"1+1"}}}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := Peek(frame); !ok {
			b.Fatal("not found")
		}
	}
}
