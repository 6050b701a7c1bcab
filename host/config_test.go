package host

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/value"
)

func TestConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "shoal.toml")
	for _, c := range []struct{ text, want, err string }{
		{"", "{}", ""},
		{"[limits]\nresident_bytes = 5\n[kernel]\nnats = \"x\"\n", `{limits: {resident_bytes: 5}, kernel: {nats: "x"}}`, ""},
		{"a = ", "", "io_error: configuration " + path},
	} {
		if c.text != "" {
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		v, err := Config{path}.Snapshot(context.Background())
		switch {
		case c.err != "" && (err == nil || !strings.HasPrefix(err.Error(), c.err)):
			t.Errorf("%q: got %v, want %s", c.text, err, c.err)
		case c.err == "" && (err != nil || value.Inline(v) != c.want):
			t.Errorf("%q: got %s, %v, want %s", c.text, value.Inline(v), err, c.want)
		}
	}
	if v, err := (Config{}).Snapshot(context.Background()); err != nil || value.Inline(v) != "{}" {
		t.Errorf("without a file: %v", err)
	}
}
