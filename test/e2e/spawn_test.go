package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// What spawn and & start are tasks of the session, for clients too.
func TestSpawnedTasksAreSeen(t *testing.T) {
	w, r := served(t)
	gate, wait := gateOf(w, "gate")
	r.Exec("let t = spawn { sh { echo started }; " + wait + "; {n: 42} }\nlet u = (^sleep 613 &)")
	first, second := "task:"+r.Render("t.id"), "task:"+r.Render("u.id")
	kit.Eventually(t, quick, "output", func() bool { return r.Task(first).At("stdout_len").Int() == 8 })
	live := map[string]string{}
	for _, rec := range r.Must("task.list", kit.Args{"live": true}).At("tasks").List() {
		live[rec.At("task").Str()] = rec.At("src").Str()
	}
	if !strings.HasPrefix(live[first], "spawn {") || live[second] != "^sleep 613 &" {
		t.Errorf("listed: %v", live)
	}
	if got := r.Render("jobs.len()"); got != "3" {
		t.Errorf("jobs: got %s, want both and the run itself", got)
	}
	r.Must("task.suspend", kit.Args{"task": second})
	if got := r.Render("u.is_suspended()"); got != "true" {
		t.Errorf("suspended: %s", got)
	}
	r.Must("task.resume", kit.Args{"task": second})
	r.Must("task.cancel", kit.Args{"task": second})
	if rec := r.Await(second); rec.At("state").Str() != "cancelled" || sleeping(w, "sleep 613") {
		t.Errorf("cancelled: %v", rec)
	}
	open(t, gate)
	if rec := r.Await(first); rec.At("state").Str() != "completed" {
		t.Errorf("ended: %v", rec)
	}
	if got := r.Must("value.get", kit.Args{"ref": first, "path": ".n"}).At("value", "v").Int(); got != 42 {
		t.Errorf("value: %d", got)
	}
}

// What is remarked while a task runs stands in its record.
func TestTasksHaveNotes(t *testing.T) {
	_, r := served(t)
	spawned := "task:" + r.Render("(spawn { echo *.none; sh { (exit 3) | cat } }).id")
	background := r.Must("exec", kit.Args{"src": "sh { (exit 3) | cat }", "background": true}).At("task").Str()
	for task, want := range map[string]string{spawned: "no_matches_glob pipe_status", background: "pipe_status"} {
		r.Await(task)
		var codes []string
		for _, n := range r.Task(task).At("notes").List() {
			codes = append(codes, n.At("code").Str())
			if n.At("msg").Str() == "" || n.Has("span") != (task == background) {
				t.Errorf("%s: note %v", task, n)
			}
		}
		if got := strings.Join(codes, " "); got != want {
			t.Errorf("%s: notes %q, want %q", task, got, want)
		}
	}
}

// The channels that the kernel writes for a session can be read in the language.
func TestSessionChannelsAreRead(t *testing.T) {
	w, r := served(t)
	r.Exec("1 + 1")
	for src, want := range map[string]string{
		`channel("journal").latest().keys().contains("head")`:           "true",
		`channel("journal").events().take(1).collect()[0].channel`:      "journal",
		`channel("session").events().take(1).collect()[0].payload.kind`: "created",
		`(channel("journal").emit(1)) catch e { e.code }`:               "permission",
		`(channel("kernel").latest()) catch e { e.code }`:               "permission",
		`(channel("task.1").events()) catch e { e.code }`:               "permission",
		`(explain "channel('journal').latest()").effects.join()`:        "journal.read()",
		`(explain "channel('user.x').latest()").effects.len()`:          "0",
	} {
		if got := r.Render(src); got != want {
			t.Errorf("%s: got %s, want %s", src, got, want)
		}
	}
	policy := filepath.Join(w.Root, "policy.toml")
	if err := os.WriteFile(policy, []byte("[principal.\"local-human\".effects]\n\"journal.read\" = false\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.KillKernel()
	w.StartKernel("--policy", policy)
	r = w.Raw("main")
	r.Refused(messages.CodeLeashDenied, "exec", kit.Args{"src": `channel("journal").latest()`})
	data, _ := r.Refused(messages.CodeLeashDenied, "exec", kit.Args{"src": `let n = "jour" + "nal"; {channel: n}.latest()`})
	if data.At("effect").Str() != "journal_read" {
		t.Errorf("by another name: %v", data)
	}
}

// A spawned task that ran when its kernel died is failed and interrupted, with
// its newest output, and its processes are gone.
func TestSpawnedTaskIsInterrupted(t *testing.T) {
	w, r := served(t)
	task := "task:" + r.Render("(spawn { sh { echo started; exec sleep 614 } }).id")
	kit.Eventually(t, quick, "a process", func() bool { return r.Task(task).At("stdout_len").Int() == 8 && sleeping(w, "sleep 614") })
	r = restart(w, "main")
	if sleeping(w, "sleep 614") {
		t.Error("its process lives on")
	}
	rec := r.Task(task)
	if rec.At("state").Str() != "failed" || rec.At("error", "code").Str() != "interrupted" {
		t.Errorf("record: %v", rec)
	}
	if out := r.Must("task.output", kit.Args{"task": task, "stream": "stdout"}); out.At("data").Str() != "started\n" {
		t.Errorf("output: %v", out)
	}
	if next := r.Render("(spawn { 1 }).id"); number(next) <= number(task) {
		t.Errorf("%s after %s", next, task)
	}
	if _, err := r.Call("task.suspend", kit.Args{"task": task}); err == nil || err.Code != messages.CodeTaskControl {
		t.Errorf("suspended after its end: %v", err)
	}
}
