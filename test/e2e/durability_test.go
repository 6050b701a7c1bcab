package e2e

import (
	"strings"
	"syscall"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// restart kills the kernel with -9, starts another, and attaches again.
func restart(w *kit.World, session string) *kit.Raw {
	w.T.Helper()
	w.KillKernel()
	w.StartKernel()
	return w.Raw(session)
}

// What a session holds is there after kill -9 between two calls.
func TestKilledBindings(t *testing.T) {
	w, r := served(t)
	w.Write("sub/f", "x")
	r.Exec("let a = {n: [1, 2.5, \"x\", null, 3kb, 2s]}")
	r.Exec("var counter = 10")
	r.Exec("fn bump(by: int) { counter = counter + by; counter }")
	r.Exec("alias hello = echo hi")
	if got := r.Render("bump(5)"); got != "15" {
		t.Fatalf("bump: got %s, want 15", got)
	}
	r.Exec("env.KEPT = \"v\"\ncd sub")
	want := r.Exec("a").At("value").String()
	last := r.Exec("1").At("ref").Str()
	r = restart(w, "main")
	if got := r.Exec("a").At("value").String(); got != want {
		t.Errorf("a: got %s, want %s", got, want)
	}
	if got := r.Render("bump(1)"); got != "16" {
		t.Errorf("bump after a restart: got %s, want 16: it closes over the variable", got)
	}
	if got := r.Render("counter"); got != "16" {
		t.Errorf("counter: got %s, want 16", got)
	}
	if got := r.Render("(hello).out"); got != "hi" {
		t.Errorf("alias: got %s, want hi", got)
	}
	if got := r.Render("pwd"); got != w.Work+"/sub" {
		t.Errorf("pwd: got %s, want %s/sub", got, w.Work)
	}
	if got := r.Render("(^printenv KEPT).out"); got != "v" {
		t.Errorf("KEPT: got %s, want v", got)
	}
	if next := r.Exec("1").At("ref").Str(); number(next) <= number(last) {
		t.Errorf("refs: got %s after %s, want a higher one", next, last)
	}
}

// A binding that cannot be kept becomes an error that names it.
func TestKilledTaskBinding(t *testing.T) {
	w, r := served(t)
	r.Exec("let gone = spawn { 1 }")
	r = restart(w, "main")
	data, _ := r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "gone"})
	if !strings.Contains(data.String(), "gone") {
		t.Errorf("got %v, want an error naming it", data)
	}
}

// number is N of out:N, task:N or a plain number.
func number(ref string) int {
	n := 0
	for _, c := range ref[strings.IndexByte(ref, ':')+1:] {
		n = 10*n + int(c-'0')
	}
	return n
}

// Transcript values, large ones too, survive.
func TestKilledRefs(t *testing.T) {
	w, r := served(t)
	table := r.Exec("range(0, 5000).map(i => {i: i, s: \"row {i}\"})").At("ref").Str()
	big := r.Exec("sh { seq 1 200000 }").At("ref").Str()
	bytes := r.Exec(`(sh { printf '\377\0ok' }).out`).At("ref").Str()
	failed := r.Exec("^false").At("ref").Str()
	data, _ := r.Refused(messages.CodeRaised, "exec", kit.Args{"src": "[1][9]"})
	raised := data.At("ref").Str()
	var before []string
	reads := []kit.Args{
		{"ref": table, "path": ".s", "slice": []int{4998, 5000}},
		{"ref": table, "path": ".rows[17].i"},
		{"ref": big, "path": ".stdout", "slice": []int{1000000, 1000020}},
		{"ref": bytes},
		{"ref": failed, "path": ".status"},
		{"ref": raised, "path": ".code"},
	}
	for _, read := range reads {
		before = append(before, r.Must("value.get", read).String())
	}
	r = restart(w, "main")
	for i, read := range reads {
		if got := r.Must("value.get", read).String(); got != before[i] {
			t.Errorf("%v: got %s, want %s", read, got, before[i])
		}
	}
	r.Refused(messages.CodeUnknownRef, "value.get", kit.Args{"ref": "out:99999"})
}

// B05 and B91: a task that ran when its kernel died is failed and interrupted,
// with its newest output, and its processes are gone, grandchildren included.
func TestB05B91Interrupted(t *testing.T) {
	w, r := served(t)
	task := r.Background("sh { echo started; echo warned >&2; (sleep 611 &) ; sleep 612 }")
	finished := r.Background("sh { echo fine }")
	r.Await(finished)
	kit.Eventually(t, quick, "output and processes", func() bool {
		return r.Task(task).At("stdout_len").Int() == 8 && r.Task(task).At("stderr_len").Int() == 7 && sleeping(w, "sleep 611") && sleeping(w, "sleep 612")
	})
	w.KillKernel()
	if !sleeping(w, "sleep 612") {
		t.Log("the processes died with the kernel already")
	}
	w.StartKernel()
	if sleeping(w, "sleep 611") || sleeping(w, "sleep 612") {
		t.Error("processes of the killed kernel's task live on although the new one is ready")
	}
	r = w.Raw("main")
	rec := r.Task(task)
	if rec.At("state").Str() != "failed" || rec.At("error", "code").Str() != "interrupted" || rec.At("error", "msg").Str() == "" {
		t.Errorf("record: got %v, want failed and interrupted with a reason", rec)
	}
	for stream, want := range map[string]string{"stdout": "started\n", "stderr": "warned\n"} {
		out := r.Must("task.output", kit.Args{"task": task, "stream": stream})
		if out.At("data").Str() != want || !out.At("eof").Bool() {
			t.Errorf("%s: got %v, want %q", stream, out, want)
		}
	}
	events := r.Must("events.read", kit.Args{"channel": "task." + strings.TrimPrefix(task, "task:")}).At("events")
	if last := events.At(-1, "payload"); last.At("state").Str() != "failed" || last.At("error", "code").Str() != "interrupted" {
		t.Errorf("events: got %v, want them to end with interrupted", events)
	}
	if rec := r.Task(finished); rec.At("state").Str() != "completed" || rec.At("exit", "status").Int() != 0 {
		t.Errorf("finished before: got %v, want completed", rec)
	}
	if state := r.Must("task.cancel", kit.Args{"task": task}).At("state").Str(); state != "failed" {
		t.Errorf("cancel of an interrupted task: got %s, want failed and no error", state)
	}
	found := false
	for _, e := range r.Must("journal.query", kit.Args{"text": "sleep 612"}).At("entries").List() {
		found = found || e.At("status").Str() == "interrupted"
	}
	if !found {
		t.Errorf("journal: got %v, want the entry interrupted", r.Must("journal.query", kit.Args{"text": "sleep 612"}))
	}
	if again := r.Background("sh { sleep 0 }"); number(again) <= number(finished) {
		t.Errorf("task numbers: got %s after %s", again, finished)
	}
}

// A foreground run that its kernel took along is interrupted in the journal,
// and its caller is told.
func TestKilledForeground(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	f.Exec("let a = 1")
	call := f.StartTool("shoal_exec", kit.Args{"src": "sh { sleep 613 }"})
	kit.Eventually(t, quick, "the program runs", func() bool { return sleeping(w, "sleep 613") })
	w.KillKernel()
	a := call.WaitTool()
	if a.RPC.At("code").Int() != int64(messages.CodeInterrupted) || a.RPC.At("data", "reason").Str() != "kernel_lost" {
		t.Errorf("got %v, want -32041 kernel_lost", a)
	}
	if got := strings.TrimSpace(f.Exec("a").Text); got != "1" {
		t.Errorf("a: got %q, want 1 through the same facade", got)
	}
	entries := f.MustTool("shoal_journal", kit.Args{"text": "sleep 613"}).Structured.At("entries")
	if entries.At(0, "status").Str() != "interrupted" || entries.At(0, "ok").Bool() {
		t.Errorf("journal: got %v, want interrupted", entries)
	}
	if sleeping(w, "sleep 613") {
		t.Error("its program lives on")
	}
}

// Plans and their approvals survive, and are applied once.
func TestKilledPlans(t *testing.T) {
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("report.csv", "a,b\n")
	w.Write("archive/.keep", "")
	w.StartKernel()
	r := w.Raw("main")
	ref := planOf(r, "cp ./report.csv ./archive/report.csv")
	if got := r.Must("cap.request", kit.Args{"plan_ref": ref, "effects": []string{"fs.write"}}).At("status").Str(); got != "granted" {
		t.Fatalf("got %s, want granted", got)
	}
	pending := planOf(r, "cp ./report.csv ./archive/other.csv")
	before := r.Must("plan.get", kit.Args{"plan_ref": ref}).String()
	r = restart(w, "main")
	if got := r.Must("plan.get", kit.Args{"plan_ref": ref}).String(); got != before {
		t.Errorf("plan: got %s, want %s", got, before)
	}
	r.Refused(messages.CodeApprovalRequired, "plan.apply", kit.Args{"plan_ref": pending})
	r.Must("plan.apply", kit.Args{"plan_ref": ref})
	r.Refused(messages.CodeUnknownPlan, "plan.apply", kit.Args{"plan_ref": ref})
	r = restart(w, "main")
	data, _ := r.Refused(messages.CodeUnknownPlan, "plan.apply", kit.Args{"plan_ref": ref})
	if data.At("reason").Str() == "" {
		t.Errorf("got %v, want a reason", data)
	}
}

// Event sequences go on without a gap or a repeat.
func TestKilledSequences(t *testing.T) {
	w, r := served(t)
	r.Exec("1")
	r.Must("events.publish", kit.Args{"channel": "user.x", "payload": "a"})
	task := r.Background("2")
	r.Await(task)
	for range 3 {
		r = restart(w, "main")
		r.Exec("3")
		r.Must("events.publish", kit.Args{"channel": "user.x", "payload": "b"})
	}
	for _, channel := range []string{"journal", "session.transcript", "user.x", "kernel", "kernel.journal", "session", "task." + strings.TrimPrefix(task, "task:")} {
		page := r.Must("events.read", kit.Args{"channel": channel})
		events := page.At("events").List()
		if len(events) == 0 {
			t.Errorf("%s: no events", channel)
		}
		for i, ev := range events {
			if ev.At("seq").Int() != int64(i) {
				t.Errorf("%s: event %d: got seq %v", channel, i, ev.At("seq"))
			}
		}
		if latest := page.At("latest_seq").Int(); latest != int64(len(events)-1) {
			t.Errorf("%s: latest_seq: got %d, want %d", channel, latest, len(events)-1)
		}
	}
	if n := len(r.Must("events.read", kit.Args{"channel": "user.x"}).At("events").List()); n != 4 {
		t.Errorf("user.x: got %d events, want 4", n)
	}
}

// A facade subscribed to a channel hears on after the kernel was killed, from
// where it was.
func TestKilledSubscription(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	const uri = "shoal://events/user.x"
	if r := f.Call("resources/subscribe", kit.Args{"uri": uri}); !r.Error.IsNull() {
		t.Fatal(r.Error)
	}
	publish := func() { w.Raw("main").Must("events.publish", kit.Args{"channel": "user.x", "payload": 1}) }
	publish()
	kit.Eventually(t, quick, "the first notice", func() bool { return len(f.Updates(uri)) == 1 })
	w.KillKernel()
	kit.Eventually(t, quick, "the facade starts another kernel", func() bool {
		r, err := w.TryRaw("main")
		if err == nil {
			r.Close()
		}
		return err == nil
	})
	publish()
	kit.Eventually(t, quick, "the second notice", func() bool { return len(f.Updates(uri)) >= 2 })
	publish()
	kit.Eventually(t, quick, "the third notice", func() bool { return len(f.Updates(uri)) >= 3 })
	next := int64(0)
	for _, n := range f.Updates(uri) {
		switch seq := n.At("seq").Int(); {
		case seq == next:
			next++
		case seq > next:
			t.Errorf("notices: got seq %d, want %d: %v", seq, next, f.Updates(uri))
		}
	}
}

// Acknowledged means kept: in a storm of kills nothing that was answered is
// lost, nothing happens twice.
func TestKilledUnderLoad(t *testing.T) {
	w := world(t)
	w.StartKernel()
	acknowledged := 0
	for round := range repeat(5) {
		r, err := w.TryRaw("main")
		if err != nil {
			t.Fatal(err)
		}
		if round == 0 {
			r.Must("exec", kit.Args{"src": "var n = 0", "position": "value"})
		}
		var open []*kit.Pending
		for range 30 {
			open = append(open, r.Start("exec", kit.Args{"src": "n = n + 1\nn", "position": "value"}))
		}
		for range 10 {
			open[0].Must()
			open = open[1:]
			acknowledged++
		}
		kit.Kill(w.KernelPID(), syscall.SIGKILL)
		highest := int64(acknowledged)
		for _, p := range open {
			if v, err := p.Wait(); err == nil {
				highest = max(highest, v.At("value", "v").Int())
			}
		}
		r.Close()
		kit.Eventually(t, quick, "the kernel is gone", func() bool { return len(w.Kernels()) == 0 })
		w.StartKernel()
		after := w.Raw("main")
		n := int(after.Exec("n").At("value", "v").Int())
		if n < int(highest) || n > acknowledged+len(open) {
			t.Errorf("round %d: n is %d; %d was acknowledged, %d were sent", round, n, highest, acknowledged+len(open))
		}
		acknowledged = n
	}
}

// What an orderly stop and a start keep is the same.
func TestStoppedInOrder(t *testing.T) {
	w := world(t)
	k := w.StartKernel()
	r := w.Raw("main")
	r.Exec("let a = 1")
	task := r.Background("sh { trap '' INT TERM; sleep 614 & wait; wait }")
	kit.Eventually(t, quick, "the program runs", func() bool { return sleeping(w, "sleep 614") })
	w.StopKernel()
	if status := k.Status(); status != 0 {
		t.Errorf("exit status: got %d, want 0; %s", status, k.Stderr())
	}
	if sleeping(w, "sleep 614") {
		t.Error("a task's program outlives an orderly stop")
	}
	w.StartKernel()
	r = w.Raw("main")
	if got := r.Render("a"); got != "1" {
		t.Errorf("a: got %s, want 1", got)
	}
	if state := r.Task(task).At("state").Str(); !messages.TaskState(state).Ended() {
		t.Errorf("%s: got %s, want an end", task, state)
	}
}
