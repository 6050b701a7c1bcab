package gateway_test

import (
	"fmt"
	"strings"
	"testing"
)

func TestEventsArePublishedReadAndFollowed(t *testing.T) {
	w := newWorld(t)
	a, b := w.attach("s"), w.attach("s")
	publish := func(n int) {
		t.Helper()
		if got := a.ok("events.publish", map[string]any{"channel": "user.x", "payload": n})["seq"]; got != float64(n) {
			t.Fatalf("seq: got %v, want %d", got, n)
		}
	}
	for i := range 5 {
		publish(i)
	}
	b.ok("events.subscribe", map[string]any{"channel": "user.x", "since": 1})
	for i := 5; i < 10; i++ {
		publish(i)
	}
	for i, ev := range b.until(8) {
		if ev.Channel != "user.x" || ev.Seq != uint64(i+2) || string(ev.Payload) != fmt.Sprint(i+2) {
			t.Errorf("event %d: got %+v %s", i, ev, ev.Payload)
		}
	}
	page := b.ok("events.read", map[string]any{"channel": "user.x", "limit": 3})
	if evs := page["events"].([]any); len(evs) != 3 || page["next"] != 2.0 || page["latest_seq"] != 9.0 {
		t.Errorf("read: got %v", page)
	}
	if got := b.ok("events.unsubscribe", map[string]any{"channel": "user.x"})["unsubscribed"]; got != true {
		t.Errorf("unsubscribe: got %v", got)
	}
	publish(10)
	b.ok("kernel.info", nil)
	if n := len(b.events); n != 8 {
		t.Errorf("%d events, want none after the end", n)
	}
	if got := b.ok("events.unsubscribe", map[string]any{"channel": "user.x"})["unsubscribed"]; got != false {
		t.Errorf("unsubscribe twice: got %v", got)
	}
}

func TestChannelsOfTheKernelCannotBePublished(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	for _, name := range []string{"journal", "kernel", "task.1", "session.transcript", "pty.1", "user", "jobs", ""} {
		c.code(-32010, "events.publish", map[string]any{"channel": name, "payload": 1})
	}
	for _, payload := range []any{nil, 1, "x", []int{1}, map[string]int{"a": 1}} {
		if payload != nil {
			c.ok("events.publish", map[string]any{"channel": "shared.x", "payload": payload})
		}
	}
}

// Two requests for one channel are one subscription, and requests that are
// written one after the other take effect in that order.
func TestSubscriptionsTakeEffectInOrder(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	for range 20 {
		c.send("events.subscribe", map[string]any{"channel": "user.x"})
		c.send("events.subscribe", map[string]any{"channel": "user.x"})
		last := c.send("events.unsubscribe", map[string]any{"channel": "user.x"})
		if got := c.await(last).Result["unsubscribed"]; got != true {
			t.Fatalf("got %v, want it unsubscribed", got)
		}
	}
	c.send("events.subscribe", map[string]any{"channel": "user.x"})
	c.ok("events.subscribe", map[string]any{"channel": "user.x"})
	c.ok("events.publish", map[string]any{"channel": "user.x", "payload": 1})
	c.ok("events.publish", map[string]any{"channel": "user.x", "payload": 2})
	for i, ev := range c.until(2) {
		if string(ev.Payload) != fmt.Sprint(i+1) {
			t.Errorf("event %d: got %s", i, ev.Payload)
		}
	}
}

func TestTaskEventsReachAFollower(t *testing.T) {
	w := newWorld(t)
	c := w.attach("s")
	h := c.ok("exec", map[string]any{"src": "^/bin/sleep 0.05; 3", "background": true})
	c.ok("events.subscribe", map[string]any{"channel": h["events"], "since": 0})
	for n := 1; ; n++ {
		if ev := c.until(n)[n-1]; strings.Contains(string(ev.Payload), `"state":"completed"`) {
			break
		}
	}
}

// A client that does not read holds up nobody and is told, in order, exactly
// what it has lost; one that reads late, but not too late, loses nothing.
func TestReadersOfEventsThatAreBehind(t *testing.T) {
	w := newWorld(t)
	from, stuck := w.attach("s"), w.attach("s")
	stuck.ok("events.subscribe", map[string]any{"channel": "user.x"})
	published := 0
	publish := func(n, size int) {
		t.Helper()
		payload, last := strings.Repeat("x", size), 0
		for range n {
			last = from.send("events.publish", map[string]any{"channel": "user.x", "payload": payload})
			if published++; published%512 == 0 { // as many as may be open at once
				from.await(last)
			}
		}
		from.await(last)
	}
	// check reads up to the newest event, and gives how many were lost.
	check := func() (lost uint64) {
		t.Helper()
		seen, next := len(stuck.events), uint64(0)
		if seen > 0 {
			next = stuck.events[seen-1].Seq + 1
		}
		for ; next < uint64(published); seen++ {
			ev := stuck.until(seen + 1)[seen]
			if ev.Seq != next+ev.Dropped-min(ev.Dropped, 1) {
				t.Fatalf("got event %d after %d (dropped %d)", ev.Seq, int64(next)-1, ev.Dropped)
			}
			next, lost = ev.Seq+1, lost+ev.Dropped
		}
		return lost
	}
	publish(10*1024, 10)
	if lost := check(); lost != 0 {
		t.Errorf("a slow reader has lost %d events", lost)
	}
	publish(3000, 10<<10) // 30 MB, of which at most 8 are kept
	if lost := check(); lost == 0 {
		t.Error("a reader that did not read has lost nothing")
	}
	publish(10, 10)
	if lost := check(); lost != 0 {
		t.Errorf("%d events were lost once it had caught up", lost)
	}
}
