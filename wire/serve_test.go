package wire

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

// fake is a Handler whose methods are echo (params back), order (numbers calls
// as they begin), hold (waits for release), panic, and refuse.
type fake struct {
	mu        sync.Mutex
	began     []string
	abandoned int
	closed    int
	release   chan struct{}
}

type fakeCall struct {
	fake   *fake
	hold   bool
	fault  bool
	answer json.RawMessage
}

func newFake() *fake { return &fake{release: make(chan struct{})} }

func (f *fake) Begin(method string, params json.RawMessage) (Call, *messages.Error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.began = append(f.began, string(params))
	switch method {
	case "echo":
		return fakeCall{fake: f, answer: params}, nil
	case "order":
		return fakeCall{fake: f, answer: fmt.Appendf(nil, "%d", len(f.began))}, nil
	case "hold":
		return fakeCall{fake: f, hold: true}, nil
	case "panic":
		panic("on purpose")
	case "panic later":
		return fakeCall{fake: f, fault: true}, nil
	case "nothing":
		return nil, nil
	}
	return nil, messages.Errorf(messages.CodeMethodNotFound, "no method %q", method)
}

func (f *fake) Close() { f.mu.Lock(); f.closed++; f.mu.Unlock() }

func (c fakeCall) Wait(ctx context.Context) (json.RawMessage, *messages.Error) {
	if c.fault {
		panic("on purpose")
	}
	if c.hold {
		select {
		case <-c.fake.release:
			return json.RawMessage(`"released"`), nil
		case <-ctx.Done():
			return nil, nil
		}
	}
	return c.answer, nil
}

func (c fakeCall) Abandon() { c.fake.mu.Lock(); c.fake.abandoned++; c.fake.mu.Unlock() }

// served is a connection that a Serve is running on.
type served struct {
	t     *testing.T
	conn  *net.UnixConn
	lines *bufio.Reader
	fake  *fake
	done  chan error
	stop  context.CancelFunc
}

func serve(t *testing.T, o ServeOptions) *served {
	t.Helper()
	a, b := pair(t)
	ctx, cancel := context.WithCancel(context.Background())
	s := &served{t: t, conn: a, lines: bufio.NewReader(a), fake: newFake(), done: make(chan error, 1), stop: cancel}
	go func() {
		c := NewConn(b)
		err := Serve(ctx, c, nil, s.fake, o)
		c.Close()
		s.done <- err
	}()
	t.Cleanup(func() { cancel(); a.Close() })
	return s
}

func (s *served) send(text string) {
	s.t.Helper()
	if _, err := io.WriteString(s.conn, text); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) line() string {
	s.t.Helper()
	s.conn.SetReadDeadline(time.Now().Add(20 * time.Second))
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("read answer: %v", err)
	}
	return strings.TrimSuffix(line, "\n")
}

func (s *served) end() error {
	s.t.Helper()
	select {
	case err := <-s.done:
		return err
	case <-time.After(20 * time.Second):
		s.t.Fatal("Serve does not return")
		return nil
	}
}

func TestServeEchoesEveryKindOfID(t *testing.T) {
	s := serve(t, ServeOptions{})
	for _, id := range []string{
		`1`, `0`, `-0`, `9007199254740993`, `123456789012345678901234567890`, `1.50`, `1e3`, `"a"`, `""`,
		`"\u00e9\/"`, `"ü"`, `true`, `false`, `null`, `[1, 2]`, `{"a": {"b":[]}}`, `"id\":1"`,
	} {
		s.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"echo","params":{"n":9007199254740993,"f":1.10}}` + "\n")
		want := `{"jsonrpc":"2.0","id":` + id + `,"result":{"n":9007199254740993,"f":1.10}}`
		if got := s.line(); got != want {
			t.Errorf("id %s: got %s, want %s", id, got, want)
		}
	}
}

func TestServeRefusesBadFramesAndLivesOn(t *testing.T) {
	s := serve(t, ServeOptions{})
	tests := []struct {
		in, id string
		code   messages.Code
	}{
		{`{`, `null`, messages.CodeParse},
		{`nonsense`, `null`, messages.CodeParse},
		{`{"id":1,"method":"echo"} x`, `null`, messages.CodeParse},
		{"{\"id\":1,\"method\":\"\xff\"}", `null`, messages.CodeParse},
		{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), `null`, messages.CodeParse},
		{`[]`, `null`, messages.CodeInvalidRequest},
		{`[{"jsonrpc":"2.0","id":1,"method":"echo"}]`, `null`, messages.CodeInvalidRequest},
		{`7`, `null`, messages.CodeInvalidRequest},
		{`null`, `null`, messages.CodeInvalidRequest},
		{`{}`, `null`, messages.CodeInvalidRequest},
		{`{"id":5}`, `5`, messages.CodeInvalidRequest},
		{`{"id":5,"method":7}`, `5`, messages.CodeInvalidRequest},
		{`{"id":5,"method":null}`, `5`, messages.CodeInvalidRequest},
		{`{"jsonrpc":"1.0","id":5,"method":"echo"}`, `5`, messages.CodeInvalidRequest},
		{`{"id":6,"method":"none"}`, `6`, messages.CodeMethodNotFound},
		{`{"id":7,"method":"panic"}`, `7`, messages.CodeInternal},
		{`{"id":8,"method":"panic later"}`, `8`, messages.CodeInternal},
	}
	for _, tt := range tests {
		s.send("\n \n" + tt.in + "\n")
		var got struct {
			ID    json.RawMessage
			Error messages.Error
		}
		if err := json.Unmarshal([]byte(s.line()), &got); err != nil {
			t.Fatal(err)
		}
		if string(got.ID) != tt.id || got.Error.Code != tt.code {
			t.Errorf("%.50q: got id %s, %v, want id %s, %d", tt.in, got.ID, &got.Error, tt.id, tt.code)
		}
	}
	s.send(`{"method":"none"}` + "\n" + `{"id":9,"method":"nothing"}` + "\n")
	if got, want := s.line(), `{"jsonrpc":"2.0","id":9,"result":null}`; got != want {
		t.Errorf("after a refused notification: got %s, want %s", got, want)
	}
}

func TestServeOversizedLineEndsTheConnection(t *testing.T) {
	s := serve(t, ServeOptions{})
	go func() { // the peer may stop reading before all is written
		chunk := []byte(strings.Repeat("x", 1<<20))
		for range 64 {
			if _, err := s.conn.Write(chunk); err != nil {
				return
			}
		}
	}()
	if got := s.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,`) {
		t.Errorf("got %s", got)
	}
	if err := s.end(); !errors.Is(err, ErrTooLong) {
		t.Errorf("Serve: got %v, want ErrTooLong", err)
	}
}

func TestServeKeepsArrivalOrder(t *testing.T) {
	const calls = 2000
	s := serve(t, ServeOptions{InFlight: calls})
	var all strings.Builder
	for i := range calls {
		fmt.Fprintf(&all, `{"id":%d,"method":"order","params":[%d]}`+"\n", i, i)
	}
	go io.WriteString(s.conn, all.String())
	answered := map[int]int{}
	for range calls {
		var got struct{ ID, Result int }
		if err := json.Unmarshal([]byte(s.line()), &got); err != nil {
			t.Fatal(err)
		}
		answered[got.ID] = got.Result
	}
	for i := range calls {
		if answered[i] != i+1 {
			t.Fatalf("call %d was the %dth to begin", i, answered[i])
		}
	}
}

func TestServeBoundsCallsInFlight(t *testing.T) {
	s := serve(t, ServeOptions{InFlight: 3})
	for i := range 4 {
		s.send(fmt.Sprintf(`{"id":%d,"method":"hold"}`+"\n", i))
	}
	if got := s.line(); !strings.Contains(got, `"id":3,"error":{"code":-32040`) || !strings.Contains(got, `"limit":3`) {
		t.Errorf("fourth call: got %s", got)
	}
	close(s.fake.release)
	for range 3 {
		s.line()
	}
}

func TestServeEnds(t *testing.T) {
	tests := []struct {
		name      string
		end       func(*served)
		answers   int
		abandoned int
		err       error
	}{
		{"half-closed peer gets its answers", func(s *served) {
			s.conn.CloseWrite()
			close(s.fake.release)
		}, 1, 0, nil},
		{"gone peer abandons at once", func(s *served) { s.conn.Close() }, 0, 1, nil},
		{"half-closed peer waits no longer than the grace", func(s *served) { s.conn.CloseWrite() }, 0, 1, nil},
		{"stop lets calls end", func(s *served) { s.stop(); close(s.fake.release) }, 1, 0, context.Canceled},
		{"stop abandons after the grace", func(s *served) { s.stop() }, 0, 1, context.Canceled},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			grace := time.Minute // must not be waited for where the peer is gone
			if strings.Contains(tt.name, "grace") {
				grace = time.Millisecond
			}
			s := serve(t, ServeOptions{Grace: grace})
			s.send(`{"id":1,"method":"hold"}` + "\n" + `{"id":2,"method":"echo"}` + "\n")
			s.line() // both have begun
			tt.end(s)
			for range tt.answers {
				if got := s.line(); !strings.Contains(got, "released") {
					t.Errorf("got %s", got)
				}
			}
			if err := s.end(); !errors.Is(err, tt.err) {
				t.Errorf("Serve: got %v, want %v", err, tt.err)
			}
			s.fake.mu.Lock()
			defer s.fake.mu.Unlock()
			if s.fake.abandoned != tt.abandoned || s.fake.closed != 1 {
				t.Errorf("abandoned %d, closed %d, want %d, 1", s.fake.abandoned, s.fake.closed, tt.abandoned)
			}
		})
	}
}

func TestServeTakesALastLineWithoutNewline(t *testing.T) {
	s := serve(t, ServeOptions{})
	s.send(`{"id":1,"method":"echo","params":[1]}`)
	s.conn.CloseWrite()
	if got, want := s.line(), `{"jsonrpc":"2.0","id":1,"result":[1]}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestServeTakesTheFirstFrame(t *testing.T) {
	a, b := pair(t)
	done := make(chan error, 1)
	go func() {
		done <- Serve(context.Background(), NewConn(b), []byte(`{"id":"first","method":"echo","params":[0]}`), newFake(), ServeOptions{})
	}()
	line, err := bufio.NewReader(a).ReadString('\n')
	if want := `{"jsonrpc":"2.0","id":"first","result":[0]}` + "\n"; err != nil || line != want {
		t.Errorf("got %q, %v, want %q", line, err, want)
	}
	a.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestClient(t *testing.T) {
	a, b := pair(t)
	conn := NewConn(b)
	handler := newFake()
	done := make(chan error, 1)
	go func() { done <- Serve(context.Background(), conn, nil, handler, ServeOptions{}); conn.Close() }()
	notices := make(chan string, 1)
	c := NewClient(NewConn(a), ClientOptions{Notify: func(method string, params json.RawMessage) {
		notices <- method + " " + string(params)
	}})
	ctx := context.Background()

	var n int64
	if err := c.Call(ctx, "echo", int64(9007199254740993), &n); err != nil || n != 9007199254740993 {
		t.Errorf("echo: got %d, %v", n, err)
	}
	var refusal *messages.Error
	if err := c.Call(ctx, "none", nil, nil); !errors.As(err, &refusal) || refusal.Code != messages.CodeMethodNotFound {
		t.Errorf("unknown method: got %v", err)
	}
	conn.Notify("event", json.RawMessage(`{"seq":1}`))
	if got, want := <-notices, `event {"seq":1}`; got != want {
		t.Errorf("notice: got %s, want %s", got, want)
	}
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			var got int
			if err := c.Call(ctx, "echo", i, &got); err != nil || got != i {
				t.Errorf("concurrent echo %d: got %d, %v", i, got, err)
			}
		})
	}
	wg.Wait()

	short, cancel := context.WithCancel(ctx)
	held, err := c.Start("hold", nil)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := held.Wait(short, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled wait: got %v", err)
	}
	lost, err := c.Start("hold", nil)
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := lost.Wait(ctx, nil); !errors.As(err, &refusal) || refusal.Code != messages.CodeInterrupted {
		t.Errorf("call on a lost connection: got %v", err)
	}
	if err := c.Call(ctx, "echo", nil, nil); !errors.As(err, &refusal) || refusal.Code != messages.CodeInterrupted {
		t.Errorf("call after close: got %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if diff := cmp.Diff(1, handler.closed); diff != "" {
		t.Error(diff)
	}
}

func TestAppendRawKeepsFramesOnOneLine(t *testing.T) {
	got := string(AppendResult(nil, json.RawMessage("1"), json.RawMessage("{\n \"a\": 1\n}")))
	if want := `{"jsonrpc":"2.0","id":1,"result":{"a":1}}` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	bad := messages.Errorf(messages.CodeInternal, "x")
	bad.Data = json.RawMessage(`{`)
	got = string(AppendError(nil, nil, bad))
	if want := `{"jsonrpc":"2.0","id":null,"error":{"code":-32603,"message":"x"}}` + "\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestIdleConnectionsAreSmall holds the promise on which a thousand idle
// facades rest.
func TestIdleConnectionsAreSmall(t *testing.T) {
	const conns, most = 200, 20 << 10
	before := footprint()
	var all []*served
	for range conns {
		s := serve(t, ServeOptions{})
		s.send(`{"id":1,"method":"echo","params":[1]}` + "\n")
		s.lines = nil // the client's side is not what is measured
		all = append(all, s)
		one := bufio.NewReaderSize(s.conn, 64)
		if _, err := one.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	if each := int(footprint()-before) / conns; each > most {
		t.Errorf("an idle connection costs %d bytes, want at most %d", each, most)
	}
	for _, s := range all {
		s.conn.Close()
		s.end()
	}
}

func footprint() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}

func BenchmarkRoundTrip(b *testing.B) {
	client, server := pair(b)
	conn := NewConn(server)
	go Serve(context.Background(), conn, nil, newFakeQuiet(), ServeOptions{})
	c := NewClient(NewConn(client), ClientOptions{})
	defer c.Close()
	b.ReportAllocs()
	for b.Loop() {
		if err := c.Call(context.Background(), "echo", 1, nil); err != nil {
			b.Fatal(err)
		}
	}
}

// quiet answers everything with null and remembers nothing.
type quiet struct{}

func newFakeQuiet() quiet                                             { return quiet{} }
func (quiet) Begin(string, json.RawMessage) (Call, *messages.Error)   { return quiet{}, nil }
func (quiet) Wait(context.Context) (json.RawMessage, *messages.Error) { return nil, nil }
func (quiet) Abandon()                                                {}
func (quiet) Close()                                                  {}
