package ptyactor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// board collects what was published.
type board struct {
	mu   sync.Mutex
	seen map[string][]string
}

func (b *board) publish(key messages.ChannelKey, p json.RawMessage) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[key.Name] = append(b.seen[key.Name], string(p))
}

func (b *board) on(name string) []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.seen[name]...)
}

// kit is a registry with its actors.
type kit struct {
	sys   *supervisor.System
	reg   *Registry
	ptys  *actor.PID
	board *board
}

func newKit(t *testing.T) *kit {
	b := &board{seen: map[string][]string{}}
	k := &kit{sys: supervisor.New(supervisor.Options{}), reg: newRegistry(t, Config{Publish: b.publish}), board: b}
	pid, err := k.sys.Spawn(supervisor.Spec{Name: "ptys", New: NewRegistryActor(k.sys, k.reg)})
	if err != nil {
		t.Fatal(err)
	}
	k.ptys = pid
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := k.sys.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return k
}

func ask[R any](t *testing.T, k *kit, req messages.Request[R]) (R, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return supervisor.Ask(ctx, k.sys, k.ptys, req)
}

func must[R any](t *testing.T, k *kit, req messages.Request[R]) R {
	t.Helper()
	r, err := ask(t, k, req)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func typed(id messages.PTYID, wait *messages.PTYWait, input ...any) messages.SendPTY {
	return messages.SendPTY{Session: testSession, PTY: id, Input: messages.JSON(input), Wait: wait}
}

func code(err error) messages.Code {
	var e *messages.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestActorsServeATerminal(t *testing.T) {
	k := newKit(t)
	opened := must(t, k, request(t, "sh"))
	if opened.URI != "shoal://pty/1" || !opened.Alive || opened.PID == 0 || opened.Args == nil {
		t.Errorf("opened: %+v", opened)
	}
	w := regex(`(?m)^7$`)
	if s := must(t, k, typed(opened.PTY, &w, "echo $((3+4))", key("Enter"))); !s.Wait.Met {
		t.Errorf("send: %+v", s)
	}
	if got := must(t, k, messages.ResizePTY{Session: testSession, PTY: opened.PTY, Cols: 40, Rows: 5}); got.Cols != 40 || got.Rows != 5 {
		t.Errorf("resize: %+v", got)
	}
	if _, err := ask(t, k, messages.ResizePTY{Session: testSession, PTY: opened.PTY, Cols: 0, Rows: 5}); code(err) != messages.CodeInvalidParams {
		t.Errorf("bad size: %v", err)
	}
	list := must(t, k, messages.ListPTYs{Session: testSession})
	want := messages.PTYList{PTYs: []messages.PTYRow{{PTY: opened.PTY, Cmd: "sh", PID: opened.PID, Cols: 40, Rows: 5, Alive: true}}}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Error(diff)
	}
	must(t, k, typed(opened.PTY, nil, "exit 4", key("Enter")))
	s := must(t, k, messages.ReadPTY{Session: testSession, PTY: opened.PTY, Wait: &messages.PTYWait{Exit: true}})
	if s.Alive || s.Exit == nil || *s.Exit.Status != 4 {
		t.Errorf("exit: %+v", s.Exit)
	}
	within(t, 5*time.Second, "the exit is published", func() bool {
		seen := k.board.on("pty.1")
		return len(seen) > 1 && seen[len(seen)-1] == `{"exit":{"status":4,"signal":null}}` && strings.HasPrefix(seen[0], `{"version":`)
	})
	if closed := must(t, k, messages.ClosePTY{Session: testSession, PTY: opened.PTY}); !closed.Closed || *closed.Exit.Status != 4 {
		t.Errorf("close: %+v", closed)
	}
	if _, err := ask(t, k, messages.ReadPTY{Session: testSession, PTY: opened.PTY}); code(err) != messages.CodeUnknownPTY {
		t.Errorf("after close: %v", err)
	}
	within(t, 5*time.Second, "its actor is gone", func() bool { return len(k.sys.Live()) == 1 })
}

// The reply struct is what goes on the wire.
func TestRepliesOnTheWire(t *testing.T) {
	sent := messages.PTYSent{PTY: "pty:1", BytesSent: 2, Warnings: []string{}}
	if got := string(messages.JSON(sent)); got != `{"pty_id":"pty:1","bytes_sent":2,"warnings":[],"blocked":false}` {
		t.Errorf("without wait: %s", got)
	}
	sent.Screen = &messages.Screen{PTY: "pty:1", Lines: []string{"a"}, Wait: &messages.PTYWaited{Met: true, Rule: "text"}}
	var wire map[string]any
	if err := json.Unmarshal(messages.JSON(sent), &wire); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pty_id", "bytes_sent", "screen", "cursor", "exit", "version", "bracketed_paste", "wait"} {
		if _, ok := wire[name]; !ok {
			t.Errorf("%s is missing in %v", name, wire)
		}
	}
}

func TestOtherSessionsSeeNothing(t *testing.T) {
	k := newKit(t)
	opened := must(t, k, request(t, "cat"))
	for name, err := range map[string]error{
		"read":   second(ask(t, k, messages.ReadPTY{Session: "other", PTY: opened.PTY})),
		"send":   second(ask(t, k, messages.SendPTY{Session: "other", PTY: opened.PTY, Input: json.RawMessage(`"x"`)})),
		"resize": second(ask(t, k, messages.ResizePTY{Session: "other", PTY: opened.PTY, Cols: 1, Rows: 1})),
		"close":  second(ask(t, k, messages.ClosePTY{Session: "other", PTY: opened.PTY})),
	} {
		if code(err) != messages.CodeUnknownPTY {
			t.Errorf("%s: got %v, want unknown", name, err)
		}
	}
	if list := must(t, k, messages.ListPTYs{Session: "other"}); len(list.PTYs) != 0 {
		t.Errorf("list: %+v", list)
	}
	if n := must(t, k, messages.ClosePTYs{Session: "other"}); n.Count != 0 {
		t.Errorf("closed %d of others", n.Count)
	}
	if n := must(t, k, messages.ClosePTYs{Session: testSession}); n.Count != 1 {
		t.Errorf("closed %d, want 1", n.Count)
	}
	within(t, 5*time.Second, "its actor is gone", func() bool { return len(k.sys.Live()) == 1 })
}

func second[R any](_ R, err error) error { return err }

// A read that waits when the terminal is closed ends with the last screen, also
// one that was asked right before the close.
func TestCloseEndsWaits(t *testing.T) {
	k := newKit(t)
	for i := range 30 {
		opened := must(t, k, request(t, "cat"))
		w := text("never")
		req := messages.ReadPTY{Session: testSession, PTY: opened.PTY, Wait: &w}
		read := supervisor.Start(k.sys, k.ptys, req)
		must(t, k, messages.ClosePTY{Session: testSession, PTY: opened.PTY})
		s, err := read.Await(t.Context())
		if err != nil || s.Wait.Met || s.Wait.Rule != "closed" {
			t.Fatalf("round %d: got %+v %v, want a wait that ended by the close", i, s.Wait, err)
		}
	}
}

// Killing actors while output flows and a call waits loses nothing: same child,
// every line, the pending wait answered.
func TestKilledActorLosesNothing(t *testing.T) {
	k := newKit(t)
	opened := must(t, k, request(t, "sh", "-c", "i=0; while [ $i -lt 400 ]; do i=$((i+1)); echo line $i; sleep 0.005; done; echo over; exec cat"))
	wait := text("over")
	wait.TimeoutMS = 30000
	type end struct {
		s   messages.Screen
		err error
	}
	pending := make(chan end, 1)
	go func() {
		s, err := supervisor.Ask(context.Background(), k.sys, k.ptys, messages.ReadPTY{Session: testSession, PTY: opened.PTY, Wait: &wait})
		pending <- end{s, err}
	}()
	h, _ := k.reg.Adopt(opened.PTY)
	within(t, 5*time.Second, "the wait is pending", func() bool { h.mu.Lock(); defer h.mu.Unlock(); return len(h.waits) == 1 })
	for i := range 20 {
		k.sys.Kill("ptys/pty-1")
		if i%5 == 0 {
			k.sys.Kill("ptys")
		}
		<-time.After(20 * time.Millisecond)
	}
	got := <-pending
	if got.err != nil || !got.s.Wait.Met {
		t.Fatalf("pending wait: %+v %v", got.s.Wait, got.err)
	}
	var s messages.Screen
	within(t, 10*time.Second, "it answers", func() bool {
		var err error
		s, err = ask(t, k, messages.ReadPTY{Session: testSession, PTY: opened.PTY, Scrollback: &messages.PTYRange{To: 1000}})
		return err == nil
	})
	lines := append(s.PTYLines.Text, s.Lines...)
	for i := range 400 {
		if want := fmt.Sprintf("line %d", i+1); lines[i] != want {
			t.Fatalf("line %d is %q, want %q", i, lines[i], want)
		}
	}
	if s.PID != opened.PID || !s.Alive {
		t.Errorf("pid %d alive %v, want %d still", s.PID, s.Alive, opened.PID)
	}
	w := text("still here\nstill here")
	if sent := must(t, k, typed(opened.PTY, &w, "still here", key("Enter"))); sent.BytesSent == 0 {
		t.Errorf("send: %+v", sent)
	}
}

// Pipelined sends arrive in their order.
func TestSendsKeepTheirOrder(t *testing.T) {
	k := newKit(t)
	opened := must(t, k, request(t, "cat"))
	var pending []*supervisor.Pending[messages.PTYSent]
	var want strings.Builder
	for i := range 200 {
		fmt.Fprintf(&want, "%d.", i)
		pending = append(pending, supervisor.Start(k.sys, k.ptys, typed(opened.PTY, nil, fmt.Sprintf("%d.", i))))
	}
	for _, p := range pending {
		if _, err := p.Await(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	within(t, 5*time.Second, "the echo", func() bool {
		h, _ := k.reg.Adopt(opened.PTY)
		return strings.HasPrefix(strings.Join(h.Snapshot().Lines, ""), want.String())
	})
}

// However much is printed, notices come at a bounded rate and end with the
// last state.
func TestNoticesAreCoalesced(t *testing.T) {
	k := newKit(t)
	began := time.Now()
	opened := must(t, k, request(t, "sh", "-c", "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo $i; done; exec cat"))
	w := text("3000")
	s := must(t, k, messages.ReadPTY{Session: testSession, PTY: opened.PTY, Wait: &w})
	last := fmt.Sprintf(`{"version":%d}`, s.Version)
	within(t, 5*time.Second, "the last state is told", func() bool {
		seen := k.board.on("pty.1")
		return len(seen) > 0 && seen[len(seen)-1] >= last
	})
	if n, most := len(k.board.on("pty.1")), int(time.Since(began)/publishEvery)+3; n > most {
		t.Errorf("told %d times, want at most %d", n, most)
	}
}
