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
