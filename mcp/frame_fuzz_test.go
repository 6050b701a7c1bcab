package mcp

import (
	"encoding/json"
	"testing"
)

// FuzzFrame reads frames of any content: what is accepted is a message whose
// parts are valid and lie in the frame, and what is refused has an id to answer
// with.
func FuzzFrame(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":{"a":[1]},"method":"x","params":{"_meta":{}}}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `[]`, `{"id":1,"id":2,"method":"a","jsonrpc":"2.0"}`, `{"jsonrpc":"2.0","method":"\u0061","params":null}`, "\xff",
		`{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		req, refusal := parseFrame(line)
		if refusal != nil {
			if !json.Valid(req.id) {
				t.Errorf("refused without an id to answer with: %q", req.id)
			}
			if !json.Valid(errorFrame(req.id, refusal)) {
				t.Error("the refusal is not JSON")
			}
			return
		}
		if !json.Valid(line) {
			t.Fatal("accepted what is not JSON")
		}
		for name, part := range map[string][]byte{"id": req.id, "params": req.params} {
			if part != nil && !json.Valid(part) {
				t.Errorf("%s is not JSON: %q", name, part)
			}
		}
		if req.method == "" {
			return
		}
		if m, refusal := readMeta(req.params); refusal == nil && m.token != nil && !json.Valid(m.token) {
			t.Errorf("token is not JSON: %q", m.token)
		}
	})
}
