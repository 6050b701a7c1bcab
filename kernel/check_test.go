package kernel

import (
	"net"
	"strings"
	"testing"
)

// Check says what keeps a kernel from listening, and leaves nothing bound.
func TestCheckOfAddresses(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, c := range []struct{ nats, http, want string }{
		{"127.0.0.1", "", `NATS clients on "127.0.0.1": expected HOST:PORT`},
		{"127.0.0.1:65536", "", "bad port"},
		{"127.0.0.1:x", "", "bad port"},
		{"0.0.0.0:0", "", "not a loopback address"},
		{"example.org:0", "", "not a loopback address"},
		{taken.Addr().String(), "", "NATS clients: listen tcp " + taken.Addr().String() + ": bind: address already in use"},
		{"", taken.Addr().String(), "MCP over HTTP: listen tcp " + taken.Addr().String() + ": bind: address already in use"},
		{"127.0.0.1:0", "127.0.0.1:0", ""},
	} {
		o, _ := options(t)
		o.NATS, o.MCPHTTP = c.nats, c.http
		err := Check(o)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q %q: got %v, want %q", c.nats, c.http, err, c.want)
		}
	}
	addr := taken.Addr().String()
	taken.Close()
	o, _ := options(t)
	o.NATS = addr
	if err := Check(o); err != nil {
		t.Error(err)
	}
	k := start(t, o) // where Check was satisfied, a kernel can listen
	if err := Check(k.o); err != nil {
		t.Errorf("for a successor: %v", err)
	}
	other, _ := options(t)
	other.NATS = addr
	if err := Check(other); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("for another state directory: got %v", err)
	}
}
