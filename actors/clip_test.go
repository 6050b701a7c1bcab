package actors

import (
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
)

// However long a name or a message is, what is answered stays small; the value
// behind the ref keeps as much as an error has.
func TestLongErrorsAreCut(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	name := strings.Repeat("n", 1<<20)
	for src, code := range map[string]messages.Code{
		name:                 messages.CodeRaised,
		name + " = 1":        messages.CodeRaised,
		"let x = " + name:    messages.CodeRaised,
		"let " + name + " 1": messages.CodeParseError,
		`fail("` + name + `", code: "` + name + `")`: messages.CodeRaised,
		`assert (false) "` + name + `"`:              messages.CodeRaised,
	} {
		e := refused(t, g.run("s", src), code)
		if n := len(e.Message) + len(e.Data); n > 32<<10 {
			t.Errorf("%.20s… (%d bytes): the answer has %d bytes: %.200s", src, len(src), n, e.Message)
		}
	}
	page, err := g.store.Events(messages.ChannelKey{Session: "s", Name: "journal"}, nil, 100, false)
	if err != nil || len(page.Events) == 0 {
		t.Fatalf("events: %v %v", page, err)
	}
	for _, e := range page.Events {
		if len(e.Payload) > 4<<10 {
			t.Errorf("an event has %d bytes: %.100s", len(e.Payload), e.Payload)
		}
	}
	if got := g.render("s", `let m = range(0, 50000).map(i => "m").join(""); [m, m + m].map(m => (try { assert (false) (m) } catch e { e.msg.len() }))`); got != fmt.Sprintf("50000\n%d", value.ErrorTextMost-2) {
		t.Errorf("message of the value: got %s", got)
	}
}
