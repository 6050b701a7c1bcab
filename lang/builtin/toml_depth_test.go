package builtin

import (
	"strings"
	"testing"
)

func TestTOMLDepth(t *testing.T) {
	deep := func(open, middle, shut string, n int) string {
		return strings.Repeat(open, n) + middle + strings.Repeat(shut, n)
	}
	for name, tt := range map[string]struct {
		text string
		want bool
	}{
		"lists":           {"a = " + deep("[", "1", "]", 600), true},
		"few lists":       {"a = " + deep("[", "1", "]", 400), false},
		"inline tables":   {"a = " + deep("{b = ", "1", "}", 600), true},
		"keys":            {strings.Repeat("a.", 600) + "a = 1", true},
		"few keys":        {strings.Repeat("a.", 400) + "a = 1", false},
		"header":          {"[" + strings.Repeat("a.", 600) + "a]\nb = 1", true},
		"header and keys": {"[" + strings.Repeat("a.", 300) + "a]\n" + strings.Repeat("b.", 300) + "b = 1", true},
		"keys in tables":  {"a = " + deep(strings.Repeat("b.", 30)+"b = {", "", "}", 30), true},
		"many in a row":   {strings.Repeat("[a.b.c]\nx = [[1], {y.z = 2}]\n[[l]]\n", 2000), false},
		"many floats":     {"a = [" + strings.Repeat("1.5, ", 2000) + "1.5]", false},
		"in strings": {"a = \"" + strings.Repeat("[.", 600) + `\"` + strings.Repeat("{", 600) + "\"\nb = '" + strings.Repeat("[", 600) + "'\n" +
			"c = \"\"\"\n" + strings.Repeat("[\n.", 600) + "\"\"\"\n# " + strings.Repeat("[", 600) + "\nd = 1", false},
		"lines of a list": {"a = [\n" + strings.Repeat("1.0,\n", 2000) + "]", false},
		"nothing":         {"", false},
	} {
		if got := tomlDeep(tt.text, 500); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
