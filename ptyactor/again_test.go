package ptyactor

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

// A send that is asked again after a crash is typed once; one that others have
// overtaken is not typed in the wrong place.
func TestSendsAreTypedOnce(t *testing.T) {
	h := start(t, newRegistry(t, Config{}), "cat")
	do := func(seq uint64, input string) (messages.PTYSent, *messages.Error) {
		return h.Send(context.Background(), messages.SendPTY{PTY: h.id, Reader: "c1", Seq: seq, Input: messages.JSON(input)})
	}
	first, bad := do(3, "AAA")
	if bad != nil || first.BytesSent != 3 {
		t.Fatalf("got %+v %v", first, bad)
	}
	again, bad := do(3, "AAA")
	if bad != nil || again.BytesSent != 3 {
		t.Errorf("again: %+v %v, want the same answer", again, bad)
	}
	if _, bad := do(2, "BBB"); bad == nil || bad.Code != messages.CodeInterrupted {
		t.Errorf("overtaken: got %v", bad)
	}
	if _, bad := do(4, "CCC"); bad != nil {
		t.Error(bad)
	}
	s := until(t, h, text("CCC"))
	if got := strings.TrimSpace(strings.Join(s.Lines, "")); got != "AAACCC" {
		t.Errorf("typed %q, want AAACCC", got)
	}
	for i := range uint64(2 * sendsMax) {
		do(10+i, "")
	}
	if n := len(h.sends["c1"].recent); n > sendsMax {
		t.Errorf("%d sends are remembered, want at most %d", n, sendsMax)
	}
}

// A close that is asked again gets the same answer; another one is told that
// there is no such terminal.
func TestCloseIsAnsweredAgain(t *testing.T) {
	k := newKit(t)
	opened := must(t, k, request(t, "sh", "-c", "exit 4"))
	must(t, k, messages.ReadPTY{Session: testSession, PTY: opened.PTY, Wait: &messages.PTYWait{Exit: true}})
	req := messages.ClosePTY{Session: testSession, PTY: opened.PTY, Key: "c1/9"}
	first, again := must(t, k, req), must(t, k, req)
	if diff := cmp.Diff(first, again); diff != "" || *first.Exit.Status != 4 {
		t.Errorf("exit %v, again: %s", first.Exit, diff)
	}
	req.Key = "c1/10"
	if _, err := ask(t, k, req); code(err) != messages.CodeUnknownPTY {
		t.Errorf("another close: %v", err)
	}
}

// An open that is asked again opens nothing new, whatever becomes of the actor
// that was asked; another one does.
func TestOpenIsAnsweredAgain(t *testing.T) {
	k := newKit(t)
	req := request(t, "cat")
	req.Key = "c1/1"
	first := must(t, k, req)
	k.sys.Kill("ptys")
	var again messages.PTYOpened
	within(t, 10*time.Second, "it answers again", func() bool {
		var err error
		again, err = ask(t, k, req)
		return err == nil
	})
	if diff := cmp.Diff(first, again); diff != "" {
		t.Error(diff)
	}
	req.Key = "c1/2"
	if other := must(t, k, req); other.PTY == first.PTY {
		t.Errorf("another open got %s again", other.PTY)
	}
	if n := len(must(t, k, messages.ListPTYs{Session: testSession}).PTYs); n != 2 {
		t.Errorf("%d terminals, want 2", n)
	}
}
