package messages

import (
	"encoding/json"
	"testing"
)

func TestEncodeKeepsTextReadable(t *testing.T) {
	inner := json.RawMessage(`{"hint": "x > 1kb && y"}`)
	for _, test := range []struct {
		value any
		want  string
	}{
		{"a < b & c", `"a < b & c"`},
		{map[string]any{"data": inner}, `{"data":{"hint":"x > 1kb && y"}}`},
		{Errorf(CodeRaised, "1 < %q", "<").With(inner).Data, `{"hint":"x > 1kb && y"}`},
		{"line\u2028", `"line\u2028"`},
		{"bad\xff", `"bad\ufffd"`},
	} {
		if got := string(JSON(test.value)); got != test.want {
			t.Errorf("%#v: got %s, want %s", test.value, got, test.want)
		}
	}
	if _, err := Encode(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}
