package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

// TestReplayThenLive: events that are published while a subscription begins come
// once each, in order.
func TestReplayThenLive(t *testing.T) {
	k := newFake()
	for i := range 500 {
		k.publish("user.x", fmt.Sprint(i))
	}
	c := dial(t, k, Options{})
	go func() {
		for i := range 500 {
			k.publish("user.x", fmt.Sprint(500+i))
		}
	}()
	c.call("1", "resources/subscribe", `{"uri":"shoal://events/user.x?since=100"}`)
	for seq := 101; seq < 1000; seq++ {
		frame := c.next()
		if got := at(t, frame, "params", "seq"); got != strconv.Itoa(seq) || at(t, frame, "params", "payload") != got {
			t.Fatalf("event %d: %s", seq, frame)
		}
	}
}

// TestUnsubscribeIsTheEnd: nothing follows the answer, however much is published
// meanwhile.
func TestUnsubscribeIsTheEnd(t *testing.T) {
	k := newFake()
	k.serve["events.read"] = k.readEvents
	c := dial(t, k, Options{})
	stop := make(chan struct{})
	var publisher sync.WaitGroup
	publisher.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
				k.publish("user.x", "1")
			}
		}
	})
	for round := range 20 {
		c.call(fmt.Sprint(2*round), "resources/subscribe", `{"uri":"shoal://events/user.x"}`)
		for range 5 {
			c.next()
		}
		c.call(fmt.Sprint(2*round+1), "resources/unsubscribe", `{"uri":"shoal://events/user.x"}`)
		if frame := c.callRaw(`"p"`, "ping", "{}"); at(t, frame, "id") != "p" {
			t.Fatalf("after the answer: %s", frame)
		}
		if n := k.openCursors(); n != 0 {
			t.Fatalf("%d cursors open", n)
		}
	}
	close(stop)
	publisher.Wait()
}

// callRaw sends a request and gives the next frame, whatever it is.
func (c *client) callRaw(id, method, params string) string {
	c.t.Helper()
	c.send(frameOf(id, method, params))
	return c.next()
}

// TestPipelinedSubscriptions take effect in the order in which they were
// written, also while the kernel is slow to answer the first.
func TestPipelinedSubscriptions(t *testing.T) {
	k := newFake()
	release := make(chan struct{})
	k.serve["events.read"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		<-release
		return k.readEvents(ctx, params)
	}
	c := dial(t, k, Options{})
	c.send(
		frameOf("1", "resources/subscribe", `{"uri":"shoal://events/user.x"}`),
		frameOf("2", "resources/unsubscribe", `{"uri":"shoal://events/user.x"}`),
		frameOf("3", "resources/subscribe", `{"uri":"shoal://events/user.y"}`),
		frameOf("4", "resources/subscribe", `{"uri":"shoal://events/user.z"}`),
		cancelled("4"),
		frameOf("5", "ping", `{}`),
	)
	if frame := c.next(); at(t, frame, "id") != "5" {
		t.Errorf("a slow subscription holds up the rest: %s", frame)
	}
	close(release)
	for i := 1; i <= 3; i++ {
		if frame := c.next(); at(t, frame, "id") != fmt.Sprint(i) || at(t, frame, "error") != "" {
			t.Errorf("reply %d: %s", i, frame)
		}
	}
	k.publish("user.x", "1")
	k.publish("user.z", "1")
	k.publish("user.y", "1")
	if frame := c.next(); at(t, frame, "params", "uri") != "shoal://events/user.y" {
		t.Error(frame)
	}
}

// TestSubscriptionLimit: one too many is refused.
func TestSubscriptionLimit(t *testing.T) {
	k := newFake()
	c := dial(t, k, Options{})
	for i := range subscriptionLimit {
		c.call(fmt.Sprint(i), "resources/subscribe", fmt.Sprintf(`{"uri":"shoal://events/user.%d?since=0"}`, i))
	}
	frame := c.call("1000", "resources/subscribe", `{"uri":"shoal://events/user.z?since=0"}`)
	if at(t, frame, "error", "data", "data", "limit") != fmt.Sprint(subscriptionLimit) {
		t.Error(frame)
	}
	c.call("1001", "resources/subscribe", `{"uri":"shoal://events/user.5?since=3"}`) // one that is there already
	if n := k.openCursors(); n != subscriptionLimit {
		t.Errorf("%d cursors", n)
	}
}

// serveInMemory serves a kernel inside a bubble of fake time.
func serveInMemory(t *testing.T, k Backend) (m *memoryConn, call func(frame string) string) {
	t.Helper()
	s, err := NewServer(Options{})
	if err != nil {
		t.Fatal(err)
	}
	m = newMemoryConn()
	done := make(chan struct{})
	go func() { defer close(done); s.Serve(context.Background(), m, k) }()
	t.Cleanup(func() { m.Close(); <-done })
	return m, func(frame string) string {
		m.in <- []byte(frame)
		return string(<-m.frames)
	}
}

// TestViewsAreCoalesced: many changes give few notices, and never none after the
// last one.
func TestViewsAreCoalesced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newFake()
		m, call := serveInMemory(t, k)
		call(frameOf("1", "resources/subscribe", `{"uri":"shoal://jobs"}`))
		for range 1000 {
			k.publish("jobs", "{}")
			synctest.Wait()
		}
		sleep(t.Context(), viewPause)
		synctest.Wait()
		if n := len(m.frames); n < 2 || n > 3 {
			t.Errorf("%d notices of 1000 changes", n)
		}
		for len(m.frames) > 0 {
			if frame := string(<-m.frames); frame != `{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"shoal://jobs"}}`+"\n" {
				t.Error(frame)
			}
		}
		sleep(t.Context(), viewPause)
		k.publish("jobs", "{}")
		synctest.Wait()
		if len(m.frames) != 1 {
			t.Errorf("%d notices of a late change", len(m.frames))
		}
	})
}

// TestPlanView: only a plan that has changed is told of.
func TestPlanView(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newFake()
		var mu sync.Mutex
		state := "stored"
		k.serve["plan.get"] = func(_ context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
			if unquote(member(params, "plan_ref")) != "plan:ab" {
				return nil, messages.Errorf(messages.CodeUnknownPlan, "unknown")
			}
			mu.Lock()
			defer mu.Unlock()
			return messages.JSON(map[string]string{"plan_ref": "plan:ab", "state": state}), nil
		}
		m, call := serveInMemory(t, k)
		if frame := call(frameOf("1", "resources/subscribe", `{"uri":"shoal://plan/zz"}`)); at(t, frame, "error", "code") != "-32002" {
			t.Error(frame)
		}
		if n := k.openCursors(); n != 0 {
			t.Errorf("%d cursors open after a refusal", n)
		}
		call(frameOf("2", "resources/subscribe", `{"uri":"shoal://plan/ab"}`))
		k.publish("journal", `{"id":1}`)
		k.publish("approval", `{"plan_ref":"plan:cd"}`)
		synctest.Wait()
		if len(m.frames) != 0 {
			t.Errorf("told of another plan: %s", <-m.frames)
		}
		for _, next := range []string{"approved", "applied"} {
			mu.Lock()
			state = next
			mu.Unlock()
			k.publish("journal", `{"id":2}`)
			synctest.Wait()
			if len(m.frames) != 1 || at(t, string(<-m.frames), "params", "uri") != "shoal://plan/ab" {
				t.Errorf("%s: not told of", next)
			}
			sleep(t.Context(), viewPause)
		}
	})
}

// failingCursor fails for a while, then for ever.
type failingCursor struct {
	fails int
	then  Cursor
}

func (f *failingCursor) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	if f.fails != 0 {
		f.fails--
		return messages.Event{}, nil, errors.New("backlog: try again")
	}
	return f.then.Next(ctx)
}
func (f *failingCursor) Close() { f.then.Close() }

type failingKernel struct {
	*fakeKernel
	fails int
}

func (k failingKernel) Subscribe(name string, since *uint64) (Cursor, *messages.Error) {
	c, err := k.fakeKernel.Subscribe(name, since)
	return &failingCursor{k.fails, c}, err
}

// TestFailingCursor: a fault that passes loses nothing; one that stays is told
// of, once.
func TestFailingCursor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := newFake()
		m, call := serveInMemory(t, failingKernel{k, 3})
		call(frameOf("1", "resources/subscribe", `{"uri":"shoal://events/user.x?since=0"}`))
		k.publish("user.x", "0")
		k.publish("user.x", "1")
		if frame := string(<-m.frames); at(t, frame, "params", "seq") != "1" {
			t.Error(frame)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		m, call := serveInMemory(t, failingKernel{newFake(), -1})
		call(frameOf("0", "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`))
		call(frameOf("1", "logging/setLevel", `{"level":"info"}`))
		call(frameOf("2", "resources/subscribe", `{"uri":"shoal://events/user.x?since=0"}`))
		if frame := string(<-m.frames); at(t, frame, "method") != "notifications/message" || at(t, frame, "params", "level") != "warning" {
			t.Error(frame)
		}
	})
}

// TestListPages: every resource is listed once, also while the list changes.
func TestListPages(t *testing.T) {
	k := newFake()
	var plans []string
	for i := range 250 {
		plans = append(plans, fmt.Sprintf(`{"plan_ref":"plan:%d","verdict":"allow","source":"x"}`, i))
	}
	var tasks []string // oldest first, as the kernel gives them
	for i := range 80 {
		tasks = append(tasks, fmt.Sprintf(`{"task":"task:%d","state":"completed"}`, i+1))
	}
	tasks = append(tasks, `{"task":"task:1000","state":"running"}`)
	var mu sync.Mutex
	k.answer("task.list", `{"tasks":[`+strings.Join(tasks, ",")+`]}`)
	k.serve["plan.list"] = func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error) {
		mu.Lock()
		defer mu.Unlock()
		return json.RawMessage(`{"plans":[` + strings.Join(plans, ",") + `]}`), nil
	}
	c := dial(t, k, Options{})
	var got []string
	params := "{}"
	for page := 0; ; page++ {
		reply := []byte(at(t, c.call(fmt.Sprint(page), "resources/list", params), "result"))
		eachItem(member(reply, "resources"), func(r []byte) bool {
			got = append(got, unquote(member(r, "uri")))
			return true
		})
		cursor := member(reply, "nextCursor")
		if cursor == nil {
			break
		}
		if page == 0 {
			mu.Lock()
			plans = append([]string{`{"plan_ref":"plan:new"}`}, plans...)
			mu.Unlock()
		}
		params = `{"cursor":` + string(cursor) + `}`
	}
	want := []string{"shoal://journal", "shoal://jobs", "shoal://session/cwd", "shoal://session/env", "shoal://session/reef", "shoal://pty"}
	for i := range recentTasks {
		want = append(want, fmt.Sprintf("shoal://task/%d", 80-recentTasks+i+1))
	}
	want = append(want, "shoal://task/1000")
	for i := range 250 {
		want = append(want, fmt.Sprintf("shoal://plan/%d", i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// FuzzURI: any URI is refused or names a kernel call whose params are JSON.
func FuzzURI(f *testing.F) {
	for _, uri := range []string{
		"shoal://out/17?path=.rows[0]&slice=0..5", "shoal://val/blake3:8b?format=raw", "shoal://task/9/stdout?offset=1", "shoal://events/user.%2F?since=18446744073709551615",
		"SHOAL://journal?effects=a,b&ok=true", "shoal://", "shoal:///", "shoal://pty/%33", "shoal://task/9/out/x", "shoal://out/99999999999999999999999",
	} {
		f.Add(uri)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		target, refusal := parseURI(uri)
		if refusal != nil {
			return
		}
		src, refusal := target.source()
		if refusal == nil && src.params != nil && !json.Valid(src.params) {
			t.Errorf("%q gave %s", uri, src.params)
		}
		if strings.ContainsAny(target.id, "/?#") && target.kind != "events" && target.kind != "val" && target.kind != "plan" {
			t.Errorf("%q gave id %q", uri, target.id)
		}
	})
}
