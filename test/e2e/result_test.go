package e2e

import (
	"fmt"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// What commands print comes first, in order, the first and last fifty of
// many, and refs of what is kept can be read.
func TestPrinted(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	a := f.Exec("echo one\n{b: 2}\necho two\n3")
	printed := a.Structured.At("printed")
	if printed.At(0, "render").Str() != "one" || a.Structured.At("printed_total").Int() != 2 || a.Structured.At("value", "v").Int() != 3 {
		t.Errorf("got %v", a)
	}
	if lines := strings.Split(strings.TrimSpace(a.Text), "\n"); lines[0] != "one" || lines[len(lines)-1] != "3" {
		t.Errorf("text: got %q, want printed first and the value last", a.Text)
	}
	if v := f.MustTool("shoal_get", kit.Args{"ref": printed.At(1, "ref").Str()}).Structured; !strings.Contains(v.At("value").String(), "two") {
		t.Errorf("printed ref: got %v", v)
	}
	var src strings.Builder
	for i := range 150 {
		fmt.Fprintf(&src, "echo %d\n", i)
	}
	a = f.Exec(src.String() + "null")
	printed = a.Structured.At("printed")
	if n := len(printed.List()); n != 100 || a.Structured.At("printed_total").Int() != 150 {
		t.Fatalf("got %d printed of %v, want 100 of 150", n, a.Structured.At("printed_total"))
	}
	if printed.At(49, "render").Str() != "49" || printed.At(50, "render").Str() != "100" || printed.At(99, "render").Str() != "149" {
		t.Errorf("printed: got %v, want the first and the last fifty", printed)
	}
	// A raise keeps what was printed before.
	raised := f.Tool("shoal_exec", kit.Args{"src": "echo before\n[1][9]"})
	if raised.Structured.At("data", "printed", 0, "render").Str() != "before" {
		t.Errorf("raised: got %v, want what was printed before", raised)
	}
}

// exit N ends the program with a result that says so.
func TestExit(t *testing.T) {
	_, r := served(t)
	got := r.Exec("let a = 1\nexit 4\nlet b = 2")
	if got.At("exit").Int() != 4 {
		t.Errorf("got %v, want exit 4", got)
	}
	if r.Render("a") != "1" {
		t.Error("a statement before exit is lost")
	}
	r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "b"})
}

// Parse errors say where and store nothing.
func TestParseError(t *testing.T) {
	_, r := served(t)
	before := number(r.Exec("1").At("ref").Str())
	data, _ := r.Refused(messages.CodeParseError, "exec", kit.Args{"src": "let a = 1\nls | wc -l"})
	if data.At("line").Int() != 2 || data.At("col").Int() < 1 || data.At("span", "start").Int() < 10 || data.At("hint").Str() == "" {
		t.Errorf("got %v, want span, line, col and hint", data)
	}
	if after := number(r.Exec("1").At("ref").Str()); after != before+1 {
		t.Errorf("refs: got out:%d after out:%d, want nothing stored between", after, before)
	}
}

// Closing a session ends its tasks, what they left over, and its terminals;
// its values and bindings are there at the next attach.
func TestSessionClose(t *testing.T) {
	w, r := served(t)
	keeper := w.Raw("keeper")
	r.Exec("let a = 1")
	task := r.Background("sh { sleep 618 }")
	r.Exec("sh { sleep 619 >/dev/null 2>&1 & }")
	r.Must("pty.open", kit.Args{"cmd": "sleep", "args": []string{"620"}})
	kit.Eventually(t, quick, "everything runs", func() bool {
		return sleeping(w, "sleep 618") && sleeping(w, "sleep 619") && sleeping(w, "sleep 620")
	})
	r.Must("session.close", kit.Args{})
	kit.Eventually(t, quick, "everything has ended", func() bool {
		return !sleeping(w, "sleep 618") && !sleeping(w, "sleep 619") && !sleeping(w, "sleep 620")
	})
	if list := keeper.Must("session.list", kit.Args{}); strings.Contains(list.String(), `"main"`) {
		t.Errorf("sessions: got %v, want main gone", list)
	}
	r = w.Raw("main")
	if got := r.Render("a"); got != "1" {
		t.Errorf("a: got %s, want 1", got)
	}
	if rec := r.Task(task); rec.At("state").Str() != "cancelled" {
		t.Errorf("task: got %v, want cancelled", rec)
	}
	keeper.Refused(messages.CodeUnknownTask, "task.get", kit.Args{"task": task})
}

// A terminal does not survive its kernel: closed, and its child gone.
func TestKilledTerminal(t *testing.T) {
	w, r := served(t)
	id := r.Must("pty.open", kit.Args{"cmd": "sh", "args": []string{"-c", "trap '' HUP TERM; sleep 621; sleep 621"}}).At("pty_id").Str()
	kit.Eventually(t, quick, "its program runs", func() bool { return sleeping(w, "sleep 621") })
	r = restart(w, "main")
	if sleeping(w, "sleep 621") {
		t.Error("its program outlives the kernel")
	}
	r.Refused(messages.CodeUnknownPTY, "pty.read", kit.Args{"pty_id": id})
	next := r.Must("pty.open", kit.Args{"cmd": "cat"}).At("pty_id").Str()
	if number(next) <= number(id) {
		t.Errorf("terminal numbers: got %s after %s", next, id)
	}
	r.Must("pty.close", kit.Args{"pty_id": next})
}

// The journal pages without loss or repeat and filters before it counts.
func TestJournalPages(t *testing.T) {
	_, r := served(t)
	for i := range 30 {
		r.Exec(fmt.Sprintf("%d", i))
		if i%3 == 0 {
			r.Exec("^false")
		}
	}
	var ids []int64
	cursor := ""
	for range 20 {
		args := kit.Args{"limit": 7}
		if cursor != "" {
			args["cursor"] = cursor
		}
		page := r.Must("journal.query", args)
		for _, e := range page.At("entries").List() {
			ids = append(ids, e.At("id").Int())
		}
		if cursor = page.At("next").Str(); cursor == "" {
			break
		}
	}
	if len(ids) != 40 {
		t.Errorf("entries: got %d, want 40", len(ids))
	}
	for i := 1; i < len(ids); i++ {
		if ids[i] >= ids[i-1] {
			t.Fatalf("ids: got %v, want them falling", ids)
		}
	}
	failed := r.Must("journal.query", kit.Args{"ok": false, "head": "false", "limit": 4})
	if n := len(failed.At("entries").List()); n != 4 || failed.At("next").Str() == "" {
		t.Errorf("filtered: got %d entries, next %v, want 4 and more", n, failed.At("next"))
	}
	for _, e := range failed.At("entries").List() {
		if e.At("ok").Bool() || e.At("head").Str() != "false" {
			t.Errorf("filtered: got %v", e)
		}
	}
	if got := r.Must("journal.query", kit.Args{"session": "nobody"}); len(got.At("entries").List()) != 0 {
		t.Errorf("another session: got %v, want none", got)
	}
}

// Many attached clients and calls leave no descriptor, child or zombie behind.
func TestNothingLeaks(t *testing.T) {
	w, r := served(t)
	pid := w.KernelPID()
	churn := func() {
		c, err := w.TryRaw("churn")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.Exec("sh { true }")
		c.Await(c.Background("sh { echo x; exit 1 }"))
		id := c.Must("pty.open", kit.Args{"cmd": "true"}).At("pty_id").Str()
		c.Must("pty.close", kit.Args{"pty_id": id})
		c.Must("events.subscribe", kit.Args{"channel": "journal"})
	}
	churn()
	r.Exec("1")
	before := kit.Descriptors(pid)
	for range repeat(30) {
		churn()
	}
	kit.Eventually(t, quick, "descriptors as before", func() bool { return kit.Descriptors(pid) <= before+2 })
	kit.Eventually(t, quick, "no children", func() bool { return len(kit.Children(pid)) == 0 })
}
