package e2e

import (
	"testing"

	"shoal.dev/shoal/test/kit"
)

// Subscribing blocks nothing, and unsubscribing really stops it.
func TestB60Subscribe(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	const uri = "shoal://events/journal"
	if r := f.Call("resources/subscribe", kit.Args{"uri": uri}); !r.Error.IsNull() {
		t.Fatalf("subscribe: %v", r.Error)
	}
	if n := len(f.Call("tools/list", kit.Args{}).Result.At("tools").List()); n != 13 {
		t.Errorf("tools/list: got %d tools, want 13", n)
	}
	f.Exec("1 + 1")
	kit.Eventually(t, quick, "a notice of the execution", func() bool { return len(f.Updates(uri)) >= 1 })
	if n := f.Updates(uri)[0]; !n.Has("seq") || n.At("payload", "session").Str() != "main" || n.At("_meta", "shoal/event", "seq").String() != n.At("seq").String() {
		t.Errorf("notice: got %v, want seq, payload and the same under _meta", n)
	}
	if r := f.Call("resources/unsubscribe", kit.Args{"uri": uri}); !r.Error.IsNull() {
		t.Fatalf("unsubscribe: %v", r.Error)
	}
	heard := len(f.Updates(uri))
	f.Exec("2 + 2")
	// The next channel's notice comes after anything the first would have sent.
	if r := f.Call("resources/subscribe", kit.Args{"uri": "shoal://events/user.mark"}); !r.Error.IsNull() {
		t.Fatalf("subscribe: %v", r.Error)
	}
	w.Raw("main").Must("events.publish", kit.Args{"channel": "user.mark", "payload": 1})
	kit.Eventually(t, quick, "the mark", func() bool { return len(f.Updates("shoal://events/user.mark")) == 1 })
	if got := len(f.Updates(uri)); got != heard {
		t.Errorf("notices after unsubscribe: got %d, want none", got-heard)
	}
}

// Absence of a cursor and cursor 0 are different things.
func TestB89FirstEvent(t *testing.T) {
	w, r := served(t)
	r.Must("events.publish", kit.Args{"channel": "user.x", "payload": "first"})
	all := r.Must("events.read", kit.Args{"channel": "user.x"})
	if ev := all.At("events", 0); ev.At("seq").Int() != 0 || ev.At("payload").Str() != "first" {
		t.Errorf("without cursor: got %v, want the first event with seq 0", all)
	}
	after := r.Must("events.read", kit.Args{"channel": "user.x", "since": 0})
	if n := len(after.At("events").List()); n != 0 {
		t.Errorf("since 0: got %v, want nothing", after)
	}
	f := w.Facade("main")
	if got := f.MustRead("shoal://events/user.x"); len(got.At("events").List()) != 1 {
		t.Errorf("resource: got %v, want one event", got)
	}
	if got := f.MustRead("shoal://events/user.x?since=0"); len(got.At("events").List()) != 0 {
		t.Errorf("resource since 0: got %v, want none", got)
	}
}

// A subscription that starts in a backlog while more arrives loses and repeats
// nothing.
func TestSubscribeWhilePublishing(t *testing.T) {
	w, r := served(t)
	const n = 400
	publish := func(from, to int) {
		for i := from; i < to; i++ {
			r.Must("events.publish", kit.Args{"channel": "user.x", "payload": i})
		}
	}
	publish(0, n)
	reader := w.Raw("main")
	sub := reader.Start("events.subscribe", kit.Args{"channel": "user.x", "since": 100})
	publish(n, 2*n)
	sub.Must()
	kit.Eventually(t, quick, "all events", func() bool { return len(reader.Events()) >= 2*n-101 })
	for i, ev := range reader.Events() {
		if got := ev.At("seq").Int(); got != int64(101+i) || ev.At("payload").Int() != got {
			t.Fatalf("event %d: got %v, want seq %d", i, ev, 101+i)
		}
	}
}
