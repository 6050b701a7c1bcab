package gateway_test

import (
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/kernel"
)

// A client that stops reading is given up after its time, in both protocols;
// nobody else waits for it.
func TestClientsThatStopReading(t *testing.T) {
	w := newWorld(t, func(o *kernel.Options) { o.WriteTime = 2 * time.Second })
	other := w.attach("other")
	for _, kind := range []string{"", "mcp"} {
		stuck := w.dial()
		stuck.ok("session.attach", map[string]any{"session": "s", "cwd": w.dir, "client": map[string]any{"kind": kind}})
		call := `{"jsonrpc":"2.0","id":1,"method":"exec","params":{"src":"'` + strings.Repeat("x", 50<<10) + `'","position":"value","elide":{"max_bytes":65536}}}`
		if kind == "mcp" {
			call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"'` + strings.Repeat("x", 50<<10) + `'","elide":{"max_bytes":65536}}}}`
		}
		written := make(chan struct{})
		go func() { // until nobody takes any more
			defer close(written)
			for range 4096 {
				if _, err := stuck.c.Write([]byte(call + "\n")); err != nil {
					return
				}
			}
		}()
		within(t, "the client is given up", func() bool {
			if got := other.ok("exec", map[string]any{"src": "1 + 1", "position": "value"})["render"]; got != "2" {
				t.Errorf("the other client: got %v", got)
			}
			return other.ok("kernel.info", nil)["connections"] == 1.0
		})
		stuck.c.Close()
		<-written
	}
}
