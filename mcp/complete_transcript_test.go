package mcp

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// notices are the notifications that the facade sends.
var notices = []string{
	"notifications/message", "notifications/progress", "notifications/cancelled", "notifications/resources/updated",
	"notifications/resources/list_changed", mcp.MethodNotificationSubscriptionsAcknowledged,
}

// TestTranscriptsAreComplete: whatever the facade offers or says, a transcript
// shows.
func TestTranscriptsAreComplete(t *testing.T) {
	shown := map[string]bool{}
	methods := map[string]string{} // of requests, by id, in one transcript
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		clear(methods)
		for line := range strings.Lines(string(text)) {
			sign, frame, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
			if !json.Valid([]byte(frame)) || frame[0] != '{' {
				continue
			}
			switch sign {
			case ">", ">>":
				methods[at2(frame, "id")] = frame
			case "<":
				noteShown(t, shown, methods[at2(frame, "id")], frame)
			}
		}
	}
	for _, what := range offered() {
		if !shown[what] {
			t.Errorf("no transcript shows %s", what)
		}
	}
}

// offered is all that is to be shown.
func offered() []string {
	var all []string
	for _, tool := range toolTable() {
		all = append(all, "tool "+tool.name)
	}
	for kind, keys := range queries {
		all = append(all, "read "+kind)
		for _, key := range keys {
			all = append(all, "read "+kind+" with "+key)
		}
		for _, id := range slices.Concat([]string{"1"}, views) {
			if f := (target{kind: kind, id: id}); f.channel() != "" || viewOf(f) != nil {
				all = append(all, "subscription of "+kind)
			}
		}
	}
	for _, template := range templateTable() {
		all = append(all, "completion of "+template.URITemplate.Raw())
	}
	for _, row := range messages.Codes {
		all = append(all, "code "+strconv.Itoa(int(row.Code)))
	}
	for _, notice := range notices {
		all = append(all, "notice "+notice)
	}
	return all
}

// noteShown notes what a frame of the server, and the request that it answers, if
// any, show.
func noteShown(t *testing.T, shown map[string]bool, asked, frame string) {
	t.Helper()
	if method := at(t, frame, "method"); method != "" {
		shown["notice "+method] = true
		return
	}
	for _, path := range [][]any{{"error", "code"}, {"error", "data", "code"}, {"result", "structuredContent", "code"}} {
		shown["code "+at(t, frame, path...)] = true
	}
	if asked == "" || at2(frame, "result") == "" {
		return
	}
	uri := at(t, asked, "params", "uri")
	switch at(t, asked, "method") {
	case "tools/call":
		if at(t, frame, "result", "isError") == "false" {
			shown["tool "+at(t, asked, "params", "name")] = true
		}
	case "resources/read":
		read, refusal := parseURI(uri)
		if refusal != nil {
			t.Errorf("%s was read: %v", uri, refusal)
		}
		shown["read "+read.kind] = true
		for key := range read.query {
			shown["read "+read.kind+" with "+key] = true
		}
	case "resources/subscribe":
		base, _, _ := strings.Cut(uri, "?")
		followed, _, _ := splitURI(base)
		shown["subscription of "+followed.kind] = true
	case "completion/complete":
		shown["completion of "+at(t, asked, "params", "ref", "uri")] = true
	}
}
