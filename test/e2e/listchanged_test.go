package e2e

import (
	"testing"

	"shoal.dev/shoal/test/kit"
)

const listChanged = "notifications/resources/list_changed"

// What another connection adds to a session makes the lists of its clients
// stale, of both eras, and nobody's in another session.
func TestListChangedByOthers(t *testing.T) {
	w, r := served(t)
	f, apart := w.Facade("main"), w.Facade("apart")
	listen := f.Start("subscriptions/listen", kit.Args{"notifications": kit.Args{"resourcesListChanged": true}, "_meta": kit.Args{
		"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": kit.Args{},
	}})
	kit.Eventually(t, quick, "the stream is there", func() bool {
		return len(f.Notices("notifications/subscriptions/acknowledged")) == 1
	})
	// heard are the notices of the connection, or of its stream.
	heard := func(f *kit.Facade, stream bool) int {
		n := 0
		for _, params := range f.Notices(listChanged) {
			if params.At("_meta").IsNull() != stream {
				n++
			}
		}
		return n
	}
	lists := func(f *kit.Facade, uri string) bool {
		for _, item := range f.Call("resources/list", kit.Args{}).Result.At("resources").List() {
			if item.At("uri").Str() == uri {
				return true
			}
		}
		return false
	}
	lists(f, "")
	lists(apart, "")
	var pty string
	for _, step := range []struct {
		what string
		make func() (uri string)
		gone bool
	}{
		{"a plan", func() string { return "shoal://plan/" + planOf(r, "1")[len("plan:"):] }, false},
		{"a task in the background", func() string { return "shoal://task/" + r.Background("1")[len("task:"):] }, false},
		{"a task that was handed over", func() string {
			v := r.Must("exec", kit.Args{"src": "sleep 100ms; 1", "timeout_ms": 1})
			return "shoal://task/" + v.At("task").Str()[len("task:"):]
		}, false},
		{"a spawned task", func() string {
			r.Exec("let h = spawn { 1 }\nh.await()")
			tasks := r.Must("task.list", kit.Args{}).At("tasks")
			return "shoal://task/" + tasks.At(-1, "task").Str()[len("task:"):]
		}, false},
		{"a terminal", func() string {
			pty = r.Must("pty.open", kit.Args{"cmd": "cat"}).At("pty_id").Str()
			return "shoal://pty/" + pty[len("pty:"):]
		}, false},
		{"a terminal that is closed", func() string {
			r.Must("pty.close", kit.Args{"pty_id": pty})
			return "shoal://pty/" + pty[len("pty:"):]
		}, true},
	} {
		connection, stream := heard(f, false), heard(f, true)
		uri := step.make()
		kit.Eventually(t, quick, step.what+" is announced", func() bool {
			return heard(f, false) > connection && heard(f, true) > stream
		})
		if got := lists(f, uri); got == step.gone {
			t.Errorf("%s, %s: listed %t", step.what, uri, got)
		}
	}
	before := heard(f, false)
	for range 20 { // executions that somebody waits for
		r.Exec("1 + 1")
	}
	if n := heard(f, false) - before; n > 1 { // 1: what the last list may have missed
		t.Errorf("executions: got %d notices", n)
	}
	if n := heard(apart, false); n != 0 {
		t.Errorf("another session: got %d notices", n)
	}
	if listen.Answered() {
		t.Error("the stream has ended")
	}
}
