package interp_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// quietChannels give cursors whose events never come; they count what is open.
type quietChannels struct {
	open    atomic.Int32
	waiting chan struct{} // one for each Next that waits
}

type quietCursor struct {
	of   *quietChannels
	once sync.Once
	done chan struct{}
}

func newQuiet() *quietChannels { return &quietChannels{waiting: make(chan struct{}, 16)} }

func (*quietChannels) Emit(context.Context, string, []byte) error     { return nil }
func (*quietChannels) Latest(context.Context, string) ([]byte, error) { return nil, nil }
func (q *quietChannels) Subscribe(context.Context, string, interp.ChannelStart) (interp.ChannelCursor, error) {
	q.open.Add(1)
	return &quietCursor{of: q, done: make(chan struct{})}, nil
}

func (c *quietCursor) Next(ctx context.Context) (interp.ChannelItem, error) {
	c.of.waiting <- struct{}{}
	select {
	case <-c.done:
		return interp.ChannelItem{}, value.Errorf(value.CodeChannelClosed, "closed")
	case <-ctx.Done():
		return interp.ChannelItem{}, context.Cause(ctx)
	}
}

func (c *quietCursor) Close() {
	c.once.Do(func() {
		c.of.open.Add(-1)
		close(c.done)
	})
}

// until waits for a condition that another goroutine is about to make true.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain until %s", what)
		}
		runtime.GC()
	}
}

func TestStreamsCloseTheirProducers(t *testing.T) {
	for _, test := range []struct{ name, src string }{
		{"unreachable", `channel("a").events(); null`},
		{"unreachable stage", `channel("a").events().map(e => e).buffer(3); null`},
		{"consumer without items", `channel("a").events().take(0).collect()`},
		{"failed sink", `channel("a").events().each(1) catch 1; null`},
		{"timeout", `channel("a").take(timeout: 1us) catch 1`},
		{"cancelled task", `let t = spawn { channel("a").events().take(1).collect() }; t.cancel(); t.await() catch 1`},
		{"cancelled handler", `let t = on("a", e => e); t.cancel(); t.await() catch 1`},
		{"merged", `channel("a").events().merge(channel("b").events()).take_until([1].stream()); null`},
	} {
		t.Run(test.name, func(t *testing.T) {
			q := newQuiet()
			runWith(t, test.src, interp.Run{State: newState(), Host: &interp.Host{Channels: q}})
			until(t, "the cursors are closed", func() bool { return q.open.Load() == 0 })
		})
	}
}

func TestBoundStreamKeepsItsProducer(t *testing.T) {
	q, s := newQuiet(), newState()
	runWith(t, `let e = channel("a").events().map(x => x)`, interp.Run{State: s, Host: &interp.Host{Channels: q}})
	runtime.GC()
	runtime.GC()
	if n := q.open.Load(); n != 1 {
		t.Fatalf("%d cursors are open, want 1", n)
	}
	s.Close()
	if n := q.open.Load(); n != 0 {
		t.Errorf("%d cursors are open after the session was closed", n)
	}
	runtime.KeepAlive(s)
}

func TestCloseEndsTasks(t *testing.T) {
	q, s := newQuiet(), newState()
	host := &interp.Host{Channels: q}
	got := runWith(t, `let a = spawn { channel("a").take() }; let b = spawn { while true { } }; let c = on("x", e => e); let d = spawn { 1 }; d.await()`,
		interp.Run{State: s, Host: host})
	if got != "1" {
		t.Fatal(got)
	}
	<-q.waiting
	<-q.waiting
	s.Close()
	if n := q.open.Load(); n != 0 {
		t.Errorf("%d cursors are open", n)
	}
	if got := runWith(t, `[a.await() catch e e.code, b.await() catch e e.code, c.is_done()]`, interp.Run{State: s, Host: host}); got != `["cancelled", "cancelled", true]` {
		t.Error(got)
	}
	if got := runWith(t, `spawn { 1 }`, interp.Run{State: s, Host: host}); got != "cancelled: the session is closed" {
		t.Error(got)
	}
	s.Close()
}

// TestRunEndsItsPumps checks that no goroutine of a stage outlives the run that
// pulled, and that a later run goes on where the first one stopped.
func TestRunEndsItsPumps(t *testing.T) {
	s := newState()
	defer s.Close()
	before := runtime.NumGoroutine()
	for i, test := range []struct{ src, want string }{
		{`let t = every(1us).enumerate().map(p => p[0]).buffer(4).tee(2); t[0].take(3).collect()`, "[0, 1, 2]"},
		{`t[1].take(5).collect()`, "[0, 1, 2, 3, 4]"},
	} {
		if got := run(t, s, test.src); got != test.want {
			t.Errorf("%s: got %s, want %s", test.src, got, test.want)
		}
		until(t, "the goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
		_ = i
	}
}

func TestCancelInterruptsPulls(t *testing.T) {
	for _, src := range []string{
		`channel("a").events().take(1).collect()`,
		`channel("a").events().buffer(2).take(1).collect()`,
		`channel("a").events().merge(channel("b").events()).each(e => e)`,
		`channel("a").events().debounce(1h).each(e => e)`,
		`channel("a").events().take_until(channel("b").events()).each(e => e)`,
		`channel("a").events().tee()[1].each(e => e)`,
		`for e in channel("a").events().take(1) { e }`,
		`channel("a").take()`,
		`parallel(() => channel("a").take())`,
		`(spawn { channel("a").take() }).await()`,
	} {
		t.Run(src, func(t *testing.T) {
			q, s := newQuiet(), newState()
			defer s.Close()
			p := must(t, src, s)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			go func() {
				<-q.waiting
				cancel()
			}()
			_, err := p.Run(ctx, interp.Run{State: s, Host: &interp.Host{Channels: q}})
			if err == nil || !strings.HasPrefix(err.Error(), "cancelled:") {
				t.Errorf("got %v, want cancelled", err)
			}
		})
	}
}

// ownTasks is a host that runs tasks itself.
type ownTasks struct {
	mu   sync.Mutex
	desc []string
	said []string
}

type ownTask struct {
	cancel context.CancelFunc
	done   chan struct{}
	v      value.Value
	err    error
}

func (o *ownTasks) Spawn(_ context.Context, spec interp.TaskSpec) (string, value.TaskHandle, error) {
	if strings.Contains(spec.Desc, "refused") {
		return "", nil, value.Errorf(value.CodePermission, "no more tasks")
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &ownTask{cancel: cancel, done: make(chan struct{})}
	o.mu.Lock()
	o.desc = append(o.desc, spec.Desc)
	o.mu.Unlock()
	go func() {
		defer close(t.done)
		t.v, t.err = spec.Run(ctx, interp.TaskEnv{Sink: func(v value.Value) {
			o.mu.Lock()
			defer o.mu.Unlock()
			o.said = append(o.said, value.Inline(v))
		}})
	}()
	return "task:7", t, nil
}

func (t *ownTask) Await(ctx context.Context) (value.Value, error) {
	select {
	case <-t.done:
		return t.v, t.err
	case <-ctx.Done():
		return value.Null, context.Cause(ctx)
	}
}

func (t *ownTask) Cancel() { t.cancel() }

func (t *ownTask) Done() bool {
	select {
	case <-t.done:
		return true
	default:
		return false
	}
}

func TestHostRunsTasks(t *testing.T) {
	o := &ownTasks{}
	var sunk []string
	r := interp.Run{State: newState(), Host: &interp.Host{Tasks: o}, Sink: func(v value.Value) { sunk = append(sunk, value.Inline(v)) }}
	for _, test := range []struct{ src, want string }{
		{`let t = spawn { echo out; 3 }; [t.id, t.await()]`, `[7, 3]`},
		{`let u = (echo hi &); u.await().out`, `"hi"`},
		{`let v = spawn { sleep 1h }; v.cancel(); v.await()`, `cancelled: cancelled`},
		{`t.suspend()`, `arg_error: suspend: this host cannot suspend tasks`},
		{`spawn { "refused" }`, `permission: no more tasks`},
	} {
		if got := runWith(t, test.src, r); got != test.want {
			t.Errorf("%s: got %s, want %s", test.src, got, test.want)
		}
	}
	if got := strings.Join(o.said, " "); got != "outcome(status: 0, ok: true)" {
		t.Errorf("the host heard %q", got)
	}
	if len(sunk) > 0 {
		t.Errorf("the run's own sink got %q", sunk)
	}
	if got := strings.Join(o.desc, "; "); got != "spawn { echo out; 3 }; echo hi &; spawn { sleep 1h }" {
		t.Errorf("descriptions are %q", got)
	}
}

// TestTasksTellNothingAfterTheRun checks that a task which outlives its run
// does not use what the host gave the run.
func TestTasksTellNothingAfterTheRun(t *testing.T) {
	s := newState()
	defer s.Close()
	var over atomic.Bool
	r := interp.Run{State: s, Sink: func(value.Value) {
		if over.Load() {
			t.Error("the sink was called after the run")
		}
	}}
	if got := runWith(t, `var go = false; let t = spawn { while !go { sleep 1ms }; echo late; 1 }; null`, r); got != "null" {
		t.Fatal(got)
	}
	over.Store(true)
	if got := run(t, s, `go = true; t.await()`); got != "1" {
		t.Error(got)
	}
}

func TestMatchGlob(t *testing.T) {
	for _, test := range []struct {
		pattern, path string
		hidden, want  bool
	}{
		{"*.txt", "/w/a.txt", false, true},
		{"*.txt", "/w/d/a.txt", false, false},
		{"*.txt", "/w/.a.txt", false, false},
		{"*.txt", "/w/.a.txt", true, true},
		{".*.txt", "/w/.a.txt", false, true},
		{"**/*.go", "/w/a.go", false, true},
		{"**/*.go", "/w/x/y/a.go", false, true},
		{"**/*.go", "/w/.git/a.go", false, false},
		{"s/**/t/*.go", "/w/s/t/t/a.go", false, true},
		{"s/**", "/w/s/a/b", false, true},
		{"/x/*", "/x/a", false, true},
		{"/x/*", "/w/a", false, false},
		{"../*", "/a", false, true},
		{"a", "/w/a", false, true},
		{strings.Repeat("**/a/", 30) + "b", "/w/" + strings.Repeat("a/", 500) + "c", false, false},
	} {
		g := value.NewGlob(value.Glob{Pattern: test.pattern, Cwd: "/w", Hidden: test.hidden}).AsGlob()
		if got := interp.MatchGlob(g, test.path); got != test.want {
			t.Errorf("%s on %.40s: got %v", test.pattern, test.path, got)
		}
	}
	for _, test := range []struct {
		pattern, root string
		deep          bool
	}{
		{"*.txt", "/w", false}, {"s/*.txt", "/w/s", false}, {"s/**/*.txt", "/w/s", true},
		{"/*", "/", false}, {"a/b", "/w/a/b", false}, {"**", "/w", true}, {"*/x", "/w", true},
	} {
		root, deep := interp.GlobRoot(value.NewGlob(value.Glob{Pattern: test.pattern, Cwd: "/w"}).AsGlob())
		if root != test.root || deep != test.deep {
			t.Errorf("%s: got %s, %v", test.pattern, root, deep)
		}
	}
}
