package actors

import (
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
)

// What a value takes in memory counts, not what its row takes: a long text lies
// out of line, and small numbers are small there only.
func TestTranscriptCountsMemory(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	h := g.sessions.get("s")
	ints := make([]value.Value, 1000)
	for name, c := range map[string]struct {
		v     value.Value
		least int64
	}{
		"text": {value.Str(strings.Repeat("x", 200_000)), 200_000},
		"ints": {value.NewList(ints), 16_000},
	} {
		codec := h.codec()
		if _, err := value.AppendStored(nil, c.v, codec); err != nil || codec.Memory < c.least || codec.Memory > 2*c.least {
			t.Errorf("%s: %d bytes %v, want about %d", name, codec.Memory, err, c.least)
		}
	}
	tr := newTranscript(1000)
	tr.put(kept{num: 1, v: value.Int(1), size: 300})
	tr.put(kept{num: 2, v: value.Int(2), size: 900})
	tr.put(kept{num: 3, v: value.Int(3), size: 300})
	tr.put(kept{num: 4, v: value.Int(4), size: 900, only: true})
	tr.put(kept{num: 5, v: value.Int(5), size: 400})
	for num, want := range map[uint64]bool{1: false, 2: false, 3: true, 4: true, 5: true} {
		if _, got := tr.get(num); got != want {
			t.Errorf("value %d is in memory: %v, want %v", num, got, want)
		}
	}
	tr.relieve()
	for num := range uint64(6) {
		if _, got := tr.get(num); got != (num == 4) {
			t.Errorf("relieved: value %d is in memory: %v", num, got)
		}
	}
}

// Memory that is short costs sessions their copies, and nothing else.
func TestRelieve(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.attach("gone")
	finished(t, g.run("s", "let x = [1, 2]; x"))
	finished(t, g.run("gone", "let y = 3"))
	ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.Detached{Session: "gone", Conn: "conn-1"}))
	if _, kept := g.sessions.get("s").values.get(1); !kept {
		t.Fatal("the value is not kept")
	}
	g.sessions.Relieve(time.Minute)
	if _, kept := g.sessions.get("s").values.get(1); kept {
		t.Error("the value is still in memory")
	}
	if v, err := g.sessions.get("s").value(1); err != nil || value.Inline(v) != "[1, 2]" {
		t.Errorf("the value is lost: %v %v", v, err)
	}
	g.clock.Add(int64(2 * time.Minute))
	g.sessions.Relieve(time.Minute)
	within(t, "the session without connection leaves memory", func() bool { return g.sessions.get("gone") == nil })
	if g.sessions.get("s") == nil {
		t.Error("a session with a connection has left memory")
	}
	g.attach("gone")
	if got := g.render("gone", "y"); got != "3" {
		t.Errorf("its binding: got %s", got)
	}
}

// A session that has left memory holds nothing there, though its ended tasks are
// still known.
func TestSessionLeavesNothing(t *testing.T) {
	g := newRig(t)
	g.attach("gone")
	finished(t, g.run("gone", "let l = [1, 2]; let t = spawn { l }; t.await()"))
	state := weak.Make(g.sessions.get("gone").state)
	ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.Detached{Session: "gone", Conn: "conn-1"}))
	g.clock.Add(int64(2 * time.Minute))
	g.sessions.Relieve(time.Minute)
	within(t, "its state leaves memory", func() bool { runtime.GC(); return state.Value() == nil })
	if len(g.tasks.of("gone")) == 0 {
		t.Error("its tasks are forgotten: this test shows nothing")
	}
}

// Large values lie in the content store, so that no record is long, and come
// back from there.
func TestFarRows(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	var longest atomic.Int64
	look := func(rec messages.Record) {
		for _, row := range rec.Rows {
			longest.Store(max(longest.Load(), int64(len(row.Value))))
		}
	}
	g.journal.hold.Store(&look)
	n := farRow / 4
	finished(t, g.run("s", fmt.Sprintf("let l = range(1000000, 1000000 + %d).collect(); fn f() { l.len() }; let g = { h: () => l.last() }; l", n)))
	if longest.Load() > farRow {
		t.Errorf("a row of %d bytes was written", longest.Load())
	}
	g.sessions.get("s").values.relieve()
	if v, err := g.sessions.get("s").value(1); err != nil || v.Kind() != value.KindList || len(v.AsList().Items) != n {
		t.Errorf("the result: %v", err)
	}
	ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.Detached{Session: "s", Conn: "conn-1"}))
	g.clock.Add(int64(2 * time.Minute))
	g.sessions.Relieve(time.Minute)
	within(t, "the session leaves memory", func() bool { return g.sessions.get("s") == nil })
	g.attach("s")
	if got, want := g.render("s", "[l.len(), l.last(), f(), (g.h)()]"), fmt.Sprintf("[%d, %d, %[1]d, %[2]d]", n, 1000000+n-1); strings.Join(strings.Fields(got), ", ") != strings.Trim(want, "[]") {
		t.Errorf("loaded: got %s, want %s", got, want)
	}
}

// One session cannot fill the memory of all with its bindings: what does not fit
// is let go of, and the run that left it says so.
func TestBindingsAreBounded(t *testing.T) {
	g := newRig(t)
	g.d.BindingLimit = 4 << 20
	g.attach("s")
	finished(t, g.run("s", "let small = 1; let l = range(0, 100000).collect()"))
	a := g.run("s", "let n = 7; let m = range(0, 300000).collect(); n")
	if a.Err == nil || a.Err.Code != messages.CodeRaised || !strings.Contains(a.Err.Message, "overflow: the bindings of this session") ||
		!strings.Contains(a.Err.Message, "`m` was not kept") {
		t.Fatalf("too much: got %s %v", a.JSON, a.Err)
	}
	if got := g.render("s", "[small, n, l.len()]"); got != "1\n7\n100000" {
		t.Errorf("the others: %q", got)
	}
	again := func(when string) {
		t.Helper()
		if a := g.run("s", "m.len()"); a.Err == nil || !strings.Contains(a.Err.Message, "`m` was not kept") {
			t.Errorf("%s: the name: got %s %v", when, a.JSON, a.Err)
		}
	}
	again("at once")
	finished(t, g.run("s", "let l = null"))
	finished(t, g.run("s", "let k = range(0, 150000).collect(); k.len()"))
	ask(g, "", g.d.pid(SessionsName), messages.Request[messages.Done](messages.Detached{Session: "s", Conn: "conn-1"}))
	g.clock.Add(int64(2 * time.Minute))
	g.sessions.Relieve(time.Minute)
	within(t, "the session leaves memory", func() bool { return g.sessions.get("s") == nil })
	g.attach("s")
	again("loaded")
	if a := g.run("s", "let j = range(0, 150000).collect()"); a.Err == nil || !strings.Contains(a.Err.Message, "`j` was not kept") {
		t.Errorf("what was loaded does not count: got %s %v", a.JSON, a.Err)
	}
}
