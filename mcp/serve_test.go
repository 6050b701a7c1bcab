package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// echoExec answers an execution with its source as the value.
func echoExec(_ context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
	src := unquote(member(params, "src"))
	return messages.JSON(messages.Finished{
		Ref: "out:1", URI: "shoal://out/1", Value: json.RawMessage(`{"$":"str","v":` + string(messages.AppendString(nil, src)) + `}`),
		Render: src, Printed: []messages.Printed{}, Notes: []messages.Note{},
	}), nil
}

// blocking is an execution that waits until it is released.
func blocking(release <-chan struct{}) func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error) {
	return func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		select {
		case <-release:
			return echoExec(ctx, params)
		case <-ctx.Done():
			return nil, messages.Errorf(messages.CodeInterrupted, "gone")
		}
	}
}

// TestIDs: an id comes back byte for byte, whatever JSON value it is.
func TestIDs(t *testing.T) {
	k := newFake()
	k.serve["exec"] = echoExec
	c := dial(t, k, Options{})
	for _, id := range []string{
		`1`, `0`, `-1`, `9007199254740993`, `18446744073709551616`, `1.5`, `1e3`, `1.0`, `"a"`, `""`, `"\u00e9\n"`, `"é"`,
		`null`, `true`, `{"a":[1]}`, `[1, 2]`,
	} {
		for _, frame := range []string{frameOf(id, "ping", "{}"), toolCall(id, "shoal_exec", `{"src":"x"}`), frameOf(id, "no/such", "{}")} {
			c.send(frame)
			if got := at2(c.next(), "id"); got != id {
				t.Errorf("%s came back as %s", id, got)
			}
		}
	}
}

// at2 is a member as it is spelled.
func at2(raw, name string) string { return string(member([]byte(raw), name)) }

// TestExactIntegers: nanoseconds pass 2^53.
func TestExactIntegers(t *testing.T) {
	k := newFake()
	k.answer("journal.query", `{"entries":[{"id":9007199254740993,"ts":1}]}`)
	c := dial(t, k, Options{})
	reply := c.call("1", "tools/call", `{"name":"shoal_journal","arguments":{"since":9007199254740993}}`)
	if got, want := k.calls()[0], `journal.query {"since":9007199254740993}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := at(t, reply, "result", "structuredContent", "entries", 0, "id"); got != "9007199254740993" {
		t.Errorf("got %s", got)
	}
}

// TestBadFrames: each is answered by one error, and the connection lives on.
func TestBadFrames(t *testing.T) {
	c := dial(t, newFake(), Options{})
	for _, test := range []struct{ line, want string }{
		{`{`, `-32700 null`},
		{`nonsense`, `-32700 null`},
		{`{"jsonrpc":"2.0","id":1,"method":"ping"} x`, `-32700 null`},
		{"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"pi\xffng\"}", `-32700 null`},
		{`[]`, `-32600 null`},
		{`123`, `-32600 null`},
		{`"ping"`, `-32600 null`},
		{`null`, `-32600 null`},
		{`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `-32600 null`},
		{`{}`, `-32600 null`},
		{`{"jsonrpc":"1.0","id":7,"method":"ping"}`, `-32600 7`},
		{`{"id":7,"method":"ping"}`, `-32600 7`},
		{`{"jsonrpc":"2.0","id":7}`, `-32600 7`},
		{`{"jsonrpc":"2.0","id":7,"method":5}`, `-32600 7`},
		{`{"jsonrpc":"2.0","id":7,"method":""}`, `-32600 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"ping","params":[1]}`, `-32602 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"nothing"}`, `-32601 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call"}`, `-32602 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"shoal_nothing"}}`, `-32602 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":5}}`, `-32602 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"server/discover"}`, `-32601 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"prompts/list"}`, `-32601 7`},
		{`{"jsonrpc":"2.0","id":7,"method":"resources/list","params":{"cursor":"?"}}`, `-32602 7`},
		{strings.Repeat("[", 20000), `-32700 null`},
	} {
		c.send("", " \t\r", test.line) // blank lines are nothing
		frame := c.next()
		if got := at(t, frame, "error", "code") + " " + at2(frame, "id"); got != test.want {
			t.Errorf("%.80q: got %s, want %s", test.line, frame, test.want)
		}
	}
	c.send(`{"jsonrpc":"2.0","id":5,"result":{}}`, `{"jsonrpc":"2.0","method":"notifications/whatever","params":{"a":1}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","method":"tools/call","params":{"name":"shoal_exec"}}`)
	c.call("99", "ping", "{}")
}

// TestTooLong: a line over the limit is refused without an id, and the next one
// is served.
func TestTooLong(t *testing.T) {
	k := newFake()
	k.answer("exec", `{"ref":"out:1","render":"x"}`)
	c := dial(t, k, Options{})
	long := func(n int) string {
		frame := toolCall("1", "shoal_exec", `{"src":"%s"}`)
		return strings.Replace(frame, "%s", strings.Repeat("x", n-len(frame)+2), 1)
	}
	c.send(long(wire.MaxFrame), long(wire.MaxFrame+1), frameOf("2", "ping", "{}"))
	got := map[string]string{}
	for range 3 {
		frame := c.next()
		got[at2(frame, "id")] = at(t, frame, "error", "code")
	}
	if diff := cmp.Diff(map[string]string{"1": "", "null": "-32600", "2": ""}, got); diff != "" {
		t.Error(diff)
	}
}

// TestOrder: pipelined calls reach the kernel in the order they were written.
func TestOrder(t *testing.T) {
	const n = 2000
	k := newFake()
	k.serve["exec"] = echoExec
	c := dial(t, k, Options{InFlight: n})
	var lines, want []string
	for i := range n {
		lines = append(lines, toolCall(fmt.Sprint(i), "shoal_exec", fmt.Sprintf(`{"src":"%d"}`, i)))
		want = append(want, fmt.Sprintf(`exec {"src":"%d","position":"value"}`, i))
	}
	go c.send(lines...)
	seen := map[string]bool{}
	for range n {
		frame := c.next()
		id := at2(frame, "id")
		if seen[id] || at(t, frame, "result", "content", 0, "text") != id {
			t.Fatalf("reply %s", frame)
		}
		seen[id] = true
	}
	if diff := cmp.Diff(want, k.calls()); diff != "" {
		t.Error(diff)
	}
}

// TestRepliesMatch is 30 concurrent calls that end in another order than they
// began.
func TestRepliesMatch(t *testing.T) {
	k := newFake()
	var mu sync.Mutex
	release := map[string]chan struct{}{}
	for i := range 30 {
		release[fmt.Sprint(i)] = make(chan struct{})
	}
	k.serve["exec"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		mu.Lock()
		ch := release[unquote(member(params, "src"))]
		mu.Unlock()
		<-ch
		return echoExec(ctx, params)
	}
	c := dial(t, k, Options{})
	for i := range 30 {
		c.send(toolCall(fmt.Sprintf(`"id-%d"`, i), "shoal_exec", fmt.Sprintf(`{"src":"%d"}`, i)))
	}
	for i := 29; i >= 0; i-- {
		close(release[fmt.Sprint(i)])
		frame := c.next()
		if at(t, frame, "id") != fmt.Sprintf("id-%d", i) || at(t, frame, "result", "structuredContent", "render") != fmt.Sprint(i) {
			t.Fatalf("reply %d: %s", i, frame)
		}
	}
}

// TestSlowCallsDelayNobody: many blocked calls and a slow subscription leave the
// rest as it is.
func TestSlowCallsDelayNobody(t *testing.T) {
	k := newFake()
	release := make(chan struct{})
	k.serve["exec"] = blocking(release)
	k.serve["events.read"] = blocking(release)
	k.answer("pty.list", `{"ptys":[]}`)
	c := dial(t, k, Options{})
	for i := range 120 {
		c.send(toolCall(fmt.Sprint(i), "shoal_exec", `{"src":"x"}`))
	}
	c.send(frameOf(`"sub"`, "resources/subscribe", `{"uri":"shoal://events/journal"}`))
	if frame := c.call(`"list"`, "tools/call", `{"name":"shoal_pty_list"}`); at(t, frame, "result", "isError") != "false" {
		t.Error(frame)
	}
	if frame := c.call(`"tools"`, "tools/list", `{}`); at(t, frame, "result", "tools", 12) == "" {
		t.Error(frame)
	}
	close(release)
	for range 121 {
		c.next()
	}
}

// TestLimit: one call too many is refused, and only that one.
func TestLimit(t *testing.T) {
	k := newFake()
	release := make(chan struct{})
	k.serve["exec"] = blocking(release)
	c := dial(t, k, Options{InFlight: 3})
	for i := range 4 {
		c.send(toolCall(fmt.Sprint(i), "shoal_exec", `{"src":"x"}`))
	}
	frame := c.next()
	if at(t, frame, "id") != "3" || at(t, frame, "error", "code") != "-32040" || at(t, frame, "error", "data", "limit") != "3" {
		t.Error(frame)
	}
	close(release)
	for range 3 {
		c.next()
	}
	c.call("5", "ping", "{}")
}

// TestByteLimit: a few huge calls are one too many as well.
func TestByteLimit(t *testing.T) {
	p := &peer{s: &Server{o: Options{InFlight: 10}}, open: map[*openCall]struct{}{}}
	if refusal := p.room(inFlightBytes + 1); refusal != nil {
		t.Errorf("a call that is alone: %v", refusal)
	}
	p.open[&openCall{}] = struct{}{}
	p.bytes = inFlightBytes - 5
	if refusal := p.room(5); refusal != nil {
		t.Errorf("a call that fits: %v", refusal)
	}
	if refusal := p.room(6); refusal == nil || refusal.Code != messages.CodeQuota {
		t.Errorf("a call that does not fit: %v", refusal)
	}
}

// TestDuplicateIDs: both calls are answered.
func TestDuplicateIDs(t *testing.T) {
	k := newFake()
	k.serve["exec"] = echoExec
	c := dial(t, k, Options{})
	c.send(toolCall("1", "shoal_exec", `{"src":"a"}`), toolCall("1", "shoal_exec", `{"src":"b"}`))
	var got []string
	for range 2 {
		got = append(got, at(t, c.next(), "result", "content", 0, "text"))
	}
	sort.Strings(got)
	if diff := cmp.Diff([]string{"a", "b"}, got); diff != "" {
		t.Error(diff)
	}
}

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"r"}}`
}

// TestCancel: a cancelled call is not answered; an execution is abandoned, which
// lets its work go on, a read is ended.
func TestCancel(t *testing.T) {
	for _, test := range []struct {
		name, frame, id string
		method          string
		abandoned       int
	}{
		{"exec", toolCall("7", "shoal_exec", `{"src":"x"}`), "7", "exec", 1},
		{"exec by text id", toolCall(`"é"`, "shoal_exec", `{"src":"x"}`), `"\u00e9"`, "exec", 1},
		{"apply", toolCall("7", "shoal_apply", `{"plan_ref":"plan:a"}`), "7", "plan.apply", 1},
		{"pty read", toolCall("7", "shoal_pty_read", `{"pty_id":"pty:1"}`), "7", "pty.read", 0},
		{"resource read", frameOf("7", "resources/read", `{"uri":"shoal://out/1"}`), "7", "value.get", 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			k := newFake()
			ended := make(chan struct{})
			k.serve[test.method] = func(ctx context.Context, _ json.RawMessage) (json.RawMessage, *messages.Error) {
				<-ctx.Done()
				close(ended)
				return nil, messages.Errorf(messages.CodeInterrupted, "gone")
			}
			c := dial(t, k, Options{})
			c.send(test.frame, cancelled("1"), cancelled(test.id), cancelled(test.id))
			if frame := c.call("8", "ping", "{}"); at(t, frame, "error") != "" {
				t.Error(frame)
			}
			select {
			case <-ended:
			case <-time.After(patience):
				t.Fatal("the wait goes on")
			}
			if got := k.gone(); got != test.abandoned {
				t.Errorf("abandoned %d times, want %d", got, test.abandoned)
			}
			c.conn.(*net.UnixConn).CloseWrite()
			if rest := c.rest(); len(rest) != 0 {
				t.Errorf("frames after the cancellation: %s", rest)
			}
		})
	}
}

// TestCancelRaces: cancelled at any moment, a call is answered at most once, and
// the others always.
func TestCancelRaces(t *testing.T) {
	k := newFake()
	k.serve["exec"] = echoExec
	c := dial(t, k, Options{})
	const n = 300
	go func() {
		for i := range n {
			c.send(toolCall(fmt.Sprint(i), "shoal_exec", `{"src":"x"}`), cancelled(fmt.Sprint(i)), toolCall(fmt.Sprintf(`"k%d"`, i), "shoal_exec", `{"src":"y"}`))
		}
		c.conn.(*net.UnixConn).CloseWrite()
	}()
	seen := map[string]int{}
	for _, frame := range c.rest() {
		seen[at2(frame, "id")]++
	}
	for i := range n {
		if seen[fmt.Sprint(i)] > 1 || seen[fmt.Sprintf(`"k%d"`, i)] != 1 {
			t.Fatalf("call %d: %d answers, its neighbour %d", i, seen[fmt.Sprint(i)], seen[fmt.Sprintf(`"k%d"`, i)])
		}
	}
}

// TestEndAnswersWhatIsOpen: the peer ends its writing; calls that end in time
// are answered, also the one on a last line without newline.
func TestEndAnswersWhatIsOpen(t *testing.T) {
	k := newFake()
	release := make(chan struct{})
	k.serve["exec"] = blocking(release)
	c := dial(t, k, Options{})
	var lines []string
	for i := range 20 {
		lines = append(lines, toolCall(fmt.Sprint(i), "shoal_exec", `{"src":"x"}`))
	}
	if _, err := io.WriteString(c.conn, strings.Join(lines, "\n")); err != nil {
		t.Fatal(err)
	}
	c.conn.(*net.UnixConn).CloseWrite()
	eventually(t, "all calls are handed over", func() bool { return len(k.calls()) == 20 })
	close(release)
	if got := len(c.rest()); got != 20 {
		t.Errorf("%d replies of 20", got)
	}
	if err := c.end(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if k.gone() != 0 {
		t.Errorf("%d calls abandoned", k.gone())
	}
	checkLeaks(t)
}

// TestEndAbandonsTheRest: calls that do not end in time are abandoned.
func TestEndAbandonsTheRest(t *testing.T) {
	k := newFake()
	k.serve["exec"] = blocking(nil)
	k.serve["events.read"] = k.readEvents
	k.answer("session.cwd", `{"display":"/"}`)
	c := dial(t, k, Options{Grace: time.Millisecond})
	c.call("1", "resources/subscribe", `{"uri":"shoal://events/journal"}`)
	c.call("2", "resources/subscribe", `{"uri":"shoal://session/cwd"}`)
	c.send(toolCall("3", "shoal_exec", `{"src":"x"}`), frameOf("4", "ping", "{}"))
	c.next()
	c.conn.(*net.UnixConn).CloseWrite()
	if rest := c.rest(); len(rest) != 0 {
		t.Errorf("answered: %s", rest)
	}
	if err := c.end(); err != nil {
		t.Errorf("Serve: %v", err)
	}
	if k.gone() != 1 || k.openCursors() != 0 {
		t.Errorf("%d abandoned, %d cursors open", k.gone(), k.openCursors())
	}
	checkLeaks(t)
}

// TestHangUp: a peer that is gone is not waited for, though the grace is long.
func TestHangUp(t *testing.T) {
	k := newFake()
	k.serve["exec"] = blocking(nil)
	c := dial(t, k, Options{Grace: time.Hour})
	c.send(toolCall("3", "shoal_exec", `{"src":"x"}`))
	eventually(t, "the call is handed over", func() bool { return len(k.calls()) == 1 })
	c.conn.Close()
	c.end()
	if k.gone() != 1 {
		t.Errorf("%d calls abandoned", k.gone())
	}
}

// TestKernelStops: when the context ends, Serve returns why, with everything
// answered or abandoned.
func TestKernelStops(t *testing.T) {
	k := newFake()
	k.serve["exec"] = blocking(nil)
	c := dial(t, k, Options{Grace: time.Millisecond})
	c.send(toolCall("3", "shoal_exec", `{"src":"x"}`))
	eventually(t, "the call is handed over", func() bool { return len(k.calls()) == 1 })
	stopping := errors.New("stopping")
	c.stop(stopping)
	if err := c.end(); !errors.Is(err, stopping) {
		t.Errorf("Serve: %v", err)
	}
	if k.gone() != 1 {
		t.Errorf("%d calls abandoned", k.gone())
	}
}

// TestPanics: a fault costs the call that met it.
func TestPanics(t *testing.T) {
	k := newFake()
	k.serve["exec"] = func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error) { panic("in wait") }
	k.check["journal.query"] = func(json.RawMessage) *messages.Error { panic("in begin") }
	c := dial(t, k, Options{})
	for i, frame := range []string{
		toolCall("0", "shoal_exec", `{"src":"x"}`), toolCall("1", "shoal_journal", `{}`), frameOf("2", "resources/read", `{"uri":"shoal://journal"}`),
	} {
		c.send(frame)
		got := c.next()
		if at(t, got, "error", "code") != "-32603" || at(t, got, "id") != fmt.Sprint(i) {
			t.Error(got)
		}
	}
	c.call("3", "ping", "{}")
}

// TestSlowReader: a peer that does not read holds up nobody else, and its
// connection ends.
func TestSlowReader(t *testing.T) {
	k := newFake()
	k.serve["exec"] = func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error) {
		return json.RawMessage(`{"ref":"out:1","render":"` + strings.Repeat("x", 40<<10) + `"}`), nil
	}
	s, err := NewServer(Options{Grace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	near, far := socketPair(t)
	conn := wire.NewConn(far)
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx, conn, k) }()
	for i := range 150 {
		fmt.Fprintln(near, toolCall(fmt.Sprint(i), "shoal_exec", `{"src":"x"}`))
	}
	other := dial(t, k, Options{})
	other.call("1", "tools/call", `{"name":"shoal_exec","arguments":{"src":"x"}}`)
	stop()
	select {
	case <-served:
	case <-time.After(patience):
		t.Fatal("Serve waits for a peer that does not read")
	}
	near.Close()
	conn.Close()
}

// memoryConn is a connection in memory, for tests with a clock of their own.
type memoryConn struct {
	in     chan []byte
	frames chan []byte
	ended  chan struct{}
	once   sync.Once
}

func newMemoryConn() *memoryConn {
	return &memoryConn{in: make(chan []byte), frames: make(chan []byte, 1000), ended: make(chan struct{})}
}

func (m *memoryConn) Next() ([]byte, error) {
	select {
	case line := <-m.in:
		return line, nil
	case <-m.ended:
		return nil, io.EOF
	}
}
func (m *memoryConn) Skip() error                     { return io.EOF }
func (m *memoryConn) Send(frame []byte) error         { m.frames <- frame; return nil }
func (m *memoryConn) HungUp() bool                    { return false }
func (m *memoryConn) SetReadDeadline(time.Time) error { m.Close(); return nil }
func (m *memoryConn) Close() error                    { m.once.Do(func() { close(m.ended) }); return nil }

// TestProgress: a call with a token tells how long it runs, with the token as it
// was spelled, rising, and never after the reply.
func TestProgress(t *testing.T) {
	for _, token := range []string{`"tok"`, `9007199254740993`} {
		synctest.Test(t, func(t *testing.T) {
			s, err := NewServer(Options{})
			if err != nil {
				t.Fatal(err)
			}
			k := newFake()
			k.serve["exec"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
				sleep(ctx, 3500*time.Millisecond)
				return echoExec(ctx, params)
			}
			m := newMemoryConn()
			done := make(chan struct{})
			go func() { defer close(done); s.Serve(t.Context(), m, k) }()
			m.in <- []byte(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"shoal_exec","arguments":{"src":"x"},"_meta":{"progressToken":` + token + `}}}`)
			var got []string
			for {
				frame := string(<-m.frames)
				if at2(frame, "id") != "" {
					break
				}
				got = append(got, at2(at2(frame, "params"), "progressToken")+" "+at2(at2(frame, "params"), "progress"))
			}
			want := []string{token + " 250", token + " 1250", token + " 2250", token + " 3250"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			m.Close()
			<-done
			if len(m.frames) != 0 {
				t.Errorf("after the reply: %s", <-m.frames)
			}
		})
	}
}

// TestOneSessionPerConnection: what one client sets does not reach another.
func TestOneSessionPerConnection(t *testing.T) {
	s, err := NewServer(Options{})
	if err != nil {
		t.Fatal(err)
	}
	var ids atomic.Value
	ids.Store("")
	for range 3 {
		id := s.newSession(nil).SessionID()
		if strings.Contains(ids.Load().(string), id+" ") {
			t.Errorf("session %s twice", id)
		}
		ids.Store(ids.Load().(string) + id + " ")
	}
}
