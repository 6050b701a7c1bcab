package e2e

import (
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// Every second frame of a facade is malformed: the others are answered, and so
// is another client.
func TestMalformedFrames(t *testing.T) {
	w := world(t)
	f, other := w.Facade("main"), w.Facade("other")
	good := `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"%d"}}}`
	const frames = 300
	var open []*kit.Open
	for i := range frames {
		line := fmt.Sprintf(good, 1000+i, i)
		cut := i * 13 % len(line)
		bad := []string{line[:cut], line[cut:], line + line, "\x00" + line, "\xff", strings.Repeat("[", 5000)}[i%6]
		f.Line(bad)
		open = append(open, f.Expect(fmt.Sprint(1000+i)))
		f.Line(line)
		if i%100 == 0 {
			other.Exec("1 + 1")
		}
	}
	for i, o := range open {
		if got := o.WaitTool().Structured.At("value", "v").Int(); got != int64(i) {
			t.Errorf("frame %d: got %d", i, got)
		}
	}
}

// Far more subscriptions than a connection may have: each one too many is
// refused with its code, and memory stays.
func TestTooManySubscriptions(t *testing.T) {
	w, r := served(t)
	f := w.Facade("main")
	pid := w.KernelPID()
	const tried, most = 10_000, 256
	before := kit.Resident(pid)
	refused := 0
	for i := 0; i < tried; i += 500 { // some at a time
		var open []*kit.Open
		for k := range 500 {
			open = append(open, f.Start("resources/subscribe", kit.Args{"uri": fmt.Sprintf("shoal://events/user.n%d", i+k)}))
		}
		for _, o := range open {
			if a := o.Wait(); a.Error.At("data", "code").Int() == int64(messages.CodeQuota) {
				refused++
			} else if !a.Error.IsNull() {
				t.Fatalf("got %s", a.Line)
			}
		}
		if got := r.Render("1 + 1"); got != "2" {
			t.Errorf("another client: got %s", got)
		}
	}
	if refused != tried-most {
		t.Errorf("%d were refused, want %d", refused, tried-most)
	}
	if grown := kit.Resident(pid) - before; grown > 64<<20 && !kit.Raced() {
		t.Errorf("resident memory grew by %d MiB", grown>>20)
	}
}

// Connections that never attach cost little and hold up nobody.
func TestHalfOpenConnections(t *testing.T) {
	w, r := served(t)
	for i := range 300 {
		l := w.Lines()
		if i%2 == 0 {
			l.Send(`{"jsonrpc":"2.0","id":1,"method":"session.att`)
		}
	}
	if got := r.Render("1 + 1"); got != "2" {
		t.Errorf("got %s", got)
	}
	w.Facade("new").Exec("1")
}
