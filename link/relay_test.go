package link

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func call(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + name + `"}}`
}

func echoed(id, name string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"result":{"name":"` + name + `"}}`
}

func (c *client) handshake() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`)
	if got := c.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":"init","result":{"pid":`) {
		c.t.Fatalf("initialize: got %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
}

// insist repeats a call until it is answered: the relay may not have noticed
// yet that its kernel is gone.
func (c *client) insist(id string) {
	c.t.Helper()
	for range 100 {
		c.send(call(id, "x"))
		if c.line() == echoed(id, "x") {
			return
		}
	}
	c.t.Fatalf("call %s is never answered", id)
}

func TestRelayStartsAKernelAndPassesEverything(t *testing.T) {
	w := newWorld(t, "SHOAL_TOKEN=secret", "KEPT=1", "BAD=\xff")
	c := w.client()
	c.handshake()
	for _, id := range []string{`1`, `9007199254740993`, `"a\/b"`, `1.50`, `[1]`, `{"x":1}`, `true`} {
		c.send(call(id, "x"))
		c.want(echoed(id, "x"))
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, `{oops`, `[]`, "{\"method\":\"\xff\"}")
	c.wantError("null", "-32700", "JSON")
	c.wantError("null", "-32600", "batch")
	c.wantError("null", "-32700", "UTF-8")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
	frames := w.frames(0)
	attach := frames[0]
	for _, part := range []string{`"method":"session.attach"`, `"session":"default"`, `"client":{"kind":"mcp"}`, `"cwd":"/"`, `"KEPT":"1"`} {
		if !strings.Contains(attach, part) {
			t.Errorf("attachment lacks %s: %s", part, attach)
		}
	}
	for _, part := range []string{"SHOAL_", "secret", "BAD"} {
		if strings.Contains(attach, part) {
			t.Errorf("attachment holds %s: %s", part, attach)
		}
	}
	if !strings.Contains(strings.Join(frames, "\n"), "notifications/cancelled") {
		t.Error("the client's cancellation did not reach the kernel")
	}
}

func TestRelayKeepsOrderOfPipelinedFrames(t *testing.T) {
	const n = 2000
	w := newWorld(t)
	c := w.client()
	go func() {
		for i := range n {
			c.in.Write([]byte(call(itoa(i), "x"+itoa(i)) + "\n"))
		}
	}()
	for i := range n {
		c.want(echoed(itoa(i), "x"+itoa(i)))
	}
}

func TestRelayDrainsAtEndOfInput(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	go func() {
		for i := range 21 {
			c.in.Write([]byte(call(itoa(i), "x") + "\n"))
		}
		c.in.Write([]byte(call("21", "x"))) // no newline
		c.in.Close()
	}()
	for i := range 22 {
		c.want(echoed(itoa(i), "x"))
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestRelayGivesUpOpenCallsAtEndOfInput(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.send(call("1", "hold"), call("2", "x"))
	c.want(echoed("2", "x"))
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestRelayRefusesAnOversizedLineAndResyncs(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	for _, prefix := range []string{`{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"x":"`, ``} {
		go func() {
			c.in.Write([]byte(prefix + strings.Repeat("y", 17<<20) + `"}}` + "\n"))
			c.in.Write([]byte(call("2", "x") + "\n"))
		}()
		id := "null"
		if prefix != "" {
			id = "77"
		}
		c.wantError(id, "-32600", "16777216")
		c.want(echoed("2", "x"))
	}
}

func TestRelayPassesLargeFrames(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	name := strings.Repeat("z", 3<<20)
	go c.in.Write([]byte(call("1", name) + "\n"))
	c.want(echoed("1", name))
	c.send(call("2", "x"))
	c.want(echoed("2", "x"))
}

// restored are the frames that a second kernel must get after the kill in
// TestRelaySurvivesItsKernel, attachment left out.
var restored = []string{
	`{"jsonrpc":"2.0","id":"\u001fshoal-relay:initialize","method":"initialize","params":{"protocolVersion":"2025-11-25"}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
	`{"jsonrpc":"2.0","id":"\u001fshoal-relay:level","method":"logging/setLevel","params":{"level":"info"}}`,
	`{"jsonrpc":"2.0","id":"\u001fshoal-relay:0","method":"resources/subscribe","params":{"uri":"shoal://events/journal?since=8"}}`,
	`{"jsonrpc":"2.0","id":"\u001fshoal-relay:1","method":"resources/subscribe","params":{"uri":"shoal://session/cwd"}}`,
	`{"jsonrpc":"2.0","id":"\u001fshoal-relay:2","method":"resources/subscribe","params":{"uri":"shoal://events/known?since=41"}}`,
	`{"jsonrpc":"2.0","id":"\u001fshoal-relay:3","method":"resources/subscribe","params":{"uri":"shoal://task/9?since=3"}}`,
}

func TestRelaySurvivesItsKernel(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.handshake()
	ask := func(id, method, params string) {
		t.Helper()
		c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `","params":` + params + `}`)
		if got := c.line(); !strings.Contains(got, `"id":`+id+`,`) {
			t.Fatalf("%s: got %s", method, got)
		}
	}
	ask("1", "logging/setLevel", `{"level":"debug"}`)
	ask("2", "logging/setLevel", `{"level":"info"}`)
	ask("3", "resources/subscribe", `{"uri":"shoal://events/gone"}`)
	ask("4", "resources/subscribe", `{"uri":"shoal://events/journal?since=2"}`)
	ask("5", "resources/subscribe", `{"uri":"shoal://session/cwd"}`)
	ask("6", "resources/subscribe", `{"uri":"shoal://nothing"}`)
	ask("7", "resources/unsubscribe", `{"uri":"shoal://events/gone"}`)
	ask("8", "resources/subscribe", `{"uri":"shoal://events/known"}`)
	ask("9", "resources/subscribe", `{"uri":"shoal://task/9?since=3"}`)
	ask("10", "resources/list", `{}`)
	for _, seq := range []string{"7", "8"} {
		c.send(`{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"notice","uri":"shoal://events/journal","seq":` + seq + `}}`)
		c.line()
		c.line()
	}
	c.send(call("21", "ask"))
	question := c.line()
	c.want(echoed("21", "ask"))
	c.send(call(`"h1"`, "hold"), call(`{"h":2}`, "hold"), call("22", "x"))
	c.want(echoed("22", "x"))

	w.kill(w.kernels()[0])
	c.wantError(`"h1"`, "-32041", `"data":{"name":"INTERRUPTED","reason":"kernel_lost"}`)
	c.wantError(`{"h":2}`, "-32041", `"reason":"kernel_lost"`)
	if got := c.line(); !strings.Contains(got, `"method":"notifications/cancelled"`) || !strings.Contains(got, `"requestId":"`+itoa(w.kernels()[0])+`-1"`) {
		t.Errorf("the kernel's question %s: got %s, want it withdrawn", question, got)
	}
	// An answer to the lost kernel's question must not reach the new one.
	c.send(`{"jsonrpc":"2.0","id":"`+itoa(w.kernels()[0])+`-1","result":{"action":"accept"}}`, call("23", "x"))
	got := []string{c.line(), c.line(), c.line(), c.line()}
	want := []string{
		`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"shoal://session/cwd"}}`,
		`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"shoal://task/9"}}`,
		echoed("23", "x"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the client sees of the new kernel (-want +got):\n%s", diff)
	}
	if n := len(w.kernels()); n != 2 {
		t.Fatalf("%d kernels have served, want 2", n)
	}
	if diff := cmp.Diff(append(restored, call("23", "x")), w.frames(1)[1:]); diff != "" {
		t.Errorf("what the new kernel was told (-want +got):\n%s", diff)
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

// A client without handshake: its open calls fail, its streams go on where each
// of them was, and those that it ended stay ended.
func TestRelayGoesOnWithStreams(t *testing.T) {
	listen := func(id, wanted string) string {
		return `{"jsonrpc":"2.0","id":` + id + `,"method":"subscriptions/listen","params":{"notifications":` + wanted + `,"_meta":{"v":1}}}`
	}
	told := func(stream, params string) string {
		return `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{` + params + `"_meta":{"io.modelcontextprotocol/subscriptionId":` + stream + `}}}`
	}
	w := newWorld(t)
	c := w.client()
	c.send(listen(`"a"`, `{"resourceSubscriptions":["shoal://events/journal?since=2","shoal://pty/3","shoal://session/cwd"],"resourcesListChanged":true}`))
	if got := c.line(); !strings.Contains(got, "acknowledged") {
		t.Fatalf("got %s, want the acknowledgement", got)
	}
	c.send(listen(`2`, `{"resourceSubscriptions":["shoal://events/journal?since=5"]}`), listen(`3`, `{"resourceSubscriptions":["shoal://jobs"]}`))
	c.line()
	c.line()
	c.send(`{"jsonrpc":"2.0","id":20,"method":"tools/call","params":{"name":"notice","uri":"shoal://events/journal","seq":9,"stream":"a"}}`)
	c.line()
	c.line()
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}`, call("21", "hold"), call("22", "hold"),
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":22}}`, call("23", "x"))
	c.want(echoed("23", "x"))

	w.kill(w.kernels()[0])
	c.wantError("21", "-32041", "kernel_lost")
	c.send(call("24", "x"))
	got := []string{c.line(), c.line(), c.line(), c.line()}
	want := []string{
		told(`"a"`, `"uri":"shoal://pty/3",`), // which the new kernel does not have
		told(`"a"`, `"uri":"shoal://session/cwd",`),
		strings.Replace(told(`"a"`, ""), "updated", "list_changed", 1),
		echoed("24", "x"),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what the client sees of the new kernel (-want +got):\n%s", diff)
	}
	wantFrames := []string{
		listen(`"a"`, `{"resourceSubscriptions":["shoal://events/journal?since=9","shoal://pty/3","shoal://session/cwd"],"resourcesListChanged":true}`),
		listen(`2`, `{"resourceSubscriptions":["shoal://events/journal?since=5"]}`),
		call("24", "x"),
	}
	if diff := cmp.Diff(wantFrames, w.frames(1)[1:]); diff != "" {
		t.Errorf("what the new kernel was told (-want +got):\n%s", diff)
	}

	// A kernel that stops in order ends its streams; the client does not see it.
	c.send(call("30", "goodbye"))
	c.wantError("30", "-32041", "kernel_stopped")
	w.startKernel()
	for range 3 {
		if got := c.line(); !strings.Contains(got, `"io.modelcontextprotocol/subscriptionId":"a"`) {
			t.Errorf("got %s, want a notice of stream a", got)
		}
	}
	eventually(t, "the third kernel is told of both streams", func() bool { return len(w.frames(2)) >= 3 })
	if diff := cmp.Diff(wantFrames[:2], w.frames(2)[1:]); diff != "" {
		t.Errorf("what the third kernel was told (-want +got):\n%s", diff)
	}
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestRelaySurvivesManyKills(t *testing.T) {
	const kills = 10
	w := newWorld(t)
	c := w.client()
	c.handshake()
	for i := range kills {
		c.send(call(itoa(i), "hold"))
		eventually(t, "call is there", func() bool {
			return len(w.frames(i)) > 0 && strings.Contains(strings.Join(w.frames(i), "\n"), call(itoa(i), "hold"))
		})
		w.kill(w.kernels()[i])
		c.wantError(itoa(i), "-32041", "kernel_lost")
		c.insist(`"after"`)
	}
	if n := len(w.kernels()); n != kills+1 {
		t.Errorf("%d kernels have served, want %d", n, kills+1)
	}
}

func TestRelayDropsATornLine(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.send(call("1", "torn"))
	c.wantError("1", "-32041", "kernel_lost")
	c.send(call("2", "x"))
	c.want(echoed("2", "x"))
}

func TestRelayRepeatsAnInitializeThatWasNotAnswered(t *testing.T) {
	w := newWorld(t)
	first := w.client()
	first.handshake()
	pid := w.kernels()[0]
	syscall.Kill(pid, syscall.SIGSTOP)
	second := w.client()
	second.send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
	w.kill(pid)
	if got := second.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":1,"result":{"pid":`) {
		t.Errorf("got %s", got)
	}
	first.send(call("2", "x"))
	first.want(echoed("2", "x"))
	if n := len(w.kernels()); n != 2 {
		t.Errorf("%d kernels have served, want 2", n)
	}
}

func TestRelayAfterGoodbye(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.handshake()
	c.send(call("1", "hold"), call("2", "goodbye"))
	c.wantError("1", "-32041", `"reason":"kernel_stopped"`)
	c.wantError("2", "-32041", `"reason":"kernel_stopped"`)
	for i := range 3 {
		c.send(call(itoa(i), "x"))
		c.wantError(itoa(i), "-32041", `"reason":"kernel_stopped"`)
	}
	if n := len(w.kernels()); n != 1 {
		t.Fatalf("%d kernels have served, want 1: none may be started after a goodbye", n)
	}
	w.startKernel()
	c.send(call("9", "x"))
	c.want(echoed("9", "x"))
	if frames := w.frames(1); len(frames) != 4 || !strings.Contains(frames[1], "shoal-relay:initialize") {
		t.Errorf("what the new kernel was told: %s", strings.Join(frames, "\n"))
	}
	// That kernel said no goodbye: from now on one is started again.
	w.kill(w.kernels()[1])
	c.insist("10")
}

func TestRelayFindsANewKernelWhileIdle(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.handshake()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"shoal://session/cwd"}}`)
	c.line()
	c.send(call("2", "goodbye"))
	c.wantError("2", "-32041", "kernel_stopped")
	w.startKernel()
	c.want(`{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"shoal://session/cwd"}}`)
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestRelayExitsCleanlyWhileStopped(t *testing.T) {
	w := newWorld(t)
	c := w.client()
	c.send(call("1", "goodbye"))
	c.wantError("1", "-32041", "kernel_stopped")
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestRelayWithoutKernel(t *testing.T) {
	tests := []struct {
		name, code, text string
		environ          []string
		change           func(*Options)
	}{
		{"refused token", "-32030", `"the token is revoked","data":{"name":"AUTH_FAILED"}`, nil, func(o *Options) { o.Token = "bad" }},
		{"other protocol", "-32600", "speaks protocol 99.0", nil, func(o *Options) { o.Session = "from-the-future" }},
		{"autostart off", "-32041", "no kernel serves", []string{"SHOAL_NO_AUTOSTART=1"}, func(*Options) {}},
		{"start fails", "-32041", "start kernel: start failed; its log says: cannot start: disk on fire", []string{"TEST_FAIL=disk on fire"}, func(*Options) {}},
		{"no word", "-32041", "it ended before it was ready", []string{"TEST_MUTE=1"}, func(*Options) {}},
		{"no program", "-32041", "no-such-kernel", nil, func(o *Options) { o.Kernel = "/nowhere/no-such-kernel" }},
		{"nowhere to be", "-32041", "neither --state-dir", nil, func(o *Options) { o.Environ = []string{"PATH=/bin"} }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t, tt.environ...)
			c := w.client(tt.change)
			c.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{}}`, `{"jsonrpc":"2.0","method":"notifications/x"}`, call("2", "x"))
			c.wantError(`"i"`, tt.code, tt.text)
			c.wantError("2", tt.code, tt.text)
			if code := c.exit(); code != 1 {
				t.Errorf("exit code: got %d, want 1", code)
			}
		})
	}
}

func TestRelayWithoutKernelAndWithoutInput(t *testing.T) {
	w := newWorld(t, "SHOAL_NO_AUTOSTART=1")
	c := w.client()
	if code := c.exit(); code != 1 {
		t.Errorf("exit code: got %d, want 1", code)
	}
}

func TestRelayThatFailedTriesAgainLater(t *testing.T) {
	w := newWorld(t, "SHOAL_NO_AUTOSTART=1")
	c := w.client()
	c.send(call("1", "x"))
	c.wantError("1", "-32041", "kernel_unavailable")
	w.startKernel()
	c.send(call("2", "x"))
	c.want(echoed("2", "x"))
	if code := c.exit(); code != 0 {
		t.Errorf("exit code: got %d, want 0", code)
	}
}

func TestRelayWaitsForASlowKernel(t *testing.T) {
	w := newWorld(t)
	w.startKernel()
	pid := w.kernels()[0]
	syscall.Kill(pid, syscall.SIGSTOP)
	var clients []*client
	for range 3 {
		c := w.client()
		c.send(call("1", "x"))
		clients = append(clients, c)
	}
	// Each has dialed once its connection stands in the listener's queue.
	eventually(t, "relays wait in the accept queue", func() bool { return connections(w.paths.Socket) >= 3 })
	syscall.Kill(pid, syscall.SIGCONT)
	for _, c := range clients {
		c.want(echoed("1", "x"))
	}
	if n := len(w.kernels()); n != 1 {
		t.Errorf("%d kernels have served, want 1: slow is not dead", n)
	}
}

func BenchmarkRelay(b *testing.B) {
	for _, size := range []int{1, 64 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmarkMemory(b, size) })
	}
}

// benchmarkMemory measures what a relay does to a call and its answer, without
// the system.
func benchmarkMemory(b *testing.B, size int) {
	r := &relay{memory: newMemory(), empty: make(chan struct{}, 1)}
	ask := []byte(call("1", "x"))
	answer := []byte(`{"jsonrpc":"2.0","id":1,"result":{"x":"` + strings.Repeat("y", size) + `"}}`)
	b.ReportAllocs()
	for b.Loop() {
		head, _ := peek(ask)
		r.memory.fromClient(head, ask)
		r.kernelFrame(answer)
	}
	if len(r.memory.open) != 0 {
		b.Fatal("calls are left open")
	}
}
