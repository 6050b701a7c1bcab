package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/syntax"
)

// TestCardParses: what agents are shown is Shoal.
func TestCardParses(t *testing.T) {
	for _, row := range card {
		if _, err := syntax.Parse(row.src, syntax.Names{}); err != nil {
			t.Errorf("%s: %v", row.src, err)
		}
	}
}

// TestExamplesAreArguments: the example in a tool's description is a call that
// the tool takes, and Shoal where it holds source.
func TestExamplesAreArguments(t *testing.T) {
	for _, tool := range toolTable() {
		_, example, found := strings.Cut(tool.doc, "Example: ")
		if !found {
			continue
		}
		for !json.Valid([]byte(example)) && example != "" {
			example = example[:strings.LastIndexByte(example, '}')+1]
			if !json.Valid([]byte(example)) {
				example = strings.TrimSuffix(example, "}")
			}
		}
		if _, refusal := tool.params([]byte(example)); refusal != nil || example == "" {
			t.Errorf("%s: example %q: %v", tool.name, example, refusal)
		}
		if src := unquote(member([]byte(example), "src")); src != "" {
			if _, err := syntax.Parse(src, syntax.Names{}); err != nil {
				t.Errorf("%s: %s: %v", tool.name, src, err)
			}
		}
	}
}

// TestGuide: the guide that the instructions name can be read.
func TestGuide(t *testing.T) {
	c := dial(t, newFake(), Options{})
	if !strings.Contains(instructions(), "shoal://guide") {
		t.Error("the instructions do not name the guide")
	}
	reply := c.call("1", "resources/read", `{"uri":"shoal://guide"}`)
	if at(t, reply, "result", "contents", 0, "text") != guide || at(t, reply, "result", "contents", 0, "mimeType") != "text/markdown" {
		t.Errorf("got %.200s", reply)
	}
}
