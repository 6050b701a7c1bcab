package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// content is a file's text in the world's directory, "-" when it is not there.
func content(w *kit.World, name string) string {
	b, err := os.ReadFile(filepath.Join(w.Work, name))
	if err != nil {
		return "-"
	}
	return string(b)
}

// newestEntry is the newest entry of the journal.
func newestEntry(r *kit.Raw) kit.Val {
	r.T.Helper()
	return r.Must("journal.query", kit.Args{"limit": 1}).At("entries", 0)
}

// What a program did to files is undone, also after the kernel was killed, and
// what undid it can be undone too.
func TestUndo(t *testing.T) {
	w, r := served(t)
	w.Write("notes.txt", "alpha\n")
	if got := r.Render(`rm notes.txt; undo; path("notes.txt").exists`); got != "true" {
		t.Fatalf("the worked example: %s", got)
	}
	large := strings.Repeat("0123456789", 20_000)
	w.Write("large.txt", large)
	r.Exec("mkdir -p made/deep; cp notes.txt made/deep/n.txt; mv notes.txt old.txt\n" +
		"^echo more >> made/deep/n.txt; [1, 2].stream().save(\"large.txt\"); ln -s old.txt link; touch fresh")
	did := newestEntry(r)
	if did.At("undo", "steps").Int() < 7 || did.At("kind").Str() != "exec" {
		t.Errorf("entry: %v", did)
	}
	if content(w, "made/deep/n.txt") != "alpha\nmore\n" || content(w, "large.txt") != "1\n2\n" {
		t.Fatalf("the program did something else: %q %q", content(w, "made/deep/n.txt"), content(w, "large.txt"))
	}
	r = restart(w, "main")
	answer := r.Must("undo", kit.Args{"entry": did.At("id").Int()})
	if got := answer.At("value", "v", "entry", "v").Int(); got != did.At("id").Int() {
		t.Errorf("answer: %v", answer)
	}
	for name, want := range map[string]string{
		"notes.txt": "alpha\n", "large.txt": large, "old.txt": "-", "fresh": "-", "link": "-", "made/deep/n.txt": "-",
	} {
		if got := content(w, name); got != want {
			t.Errorf("%s: got %.40q, want %.40q", name, got, want)
		}
	}
	if _, err := os.Lstat(filepath.Join(w.Work, "made")); err == nil {
		t.Error("the directory that was made is there")
	}
	undid := newestEntry(r)
	if undid.At("kind").Str() != "undo" || !undid.At("ok").Bool() {
		t.Errorf("entry of the undo: %v", undid)
	}
	r = restart(w, "main")
	r.Must("undo", kit.Args{"entry": undid.At("id").Int()})
	if content(w, "made/deep/n.txt") != "alpha\nmore\n" || content(w, "large.txt") != "1\n2\n" || content(w, "fresh") != "" {
		t.Error("it was not done again")
	}
	r.Must("undo", nil)
	if got := content(w, "large.txt"); got != large {
		t.Errorf("undone again: %.40q", got)
	}
}

// A later edit is never overwritten.
func TestUndoOfAnEditedFile(t *testing.T) {
	w, r := served(t)
	w.Write("f", "old")
	r.Exec(`"saved".save("f"); "saved".save("g")`)
	id := newestEntry(r).At("id").Int()
	w.Write("f", "edited")
	data, _ := r.Refused(messages.CodeRaised, "undo", kit.Args{"entry": id})
	if got := data.At("error", "code").Str(); got != "stale_undo" {
		t.Errorf("got %v", data)
	}
	if content(w, "f") != "edited" || content(w, "g") != "saved" {
		t.Errorf("f %q, g %q", content(w, "f"), content(w, "g"))
	}
	w.Write("h", "x")
	r.Exec("sh { rm h }")
	data, _ = r.Refused(messages.CodeRaised, "undo", kit.Args{"entry": newestEntry(r).At("id").Int()})
	if got := data.At("error", "msg").Str(); !strings.Contains(got, "ran programs") {
		t.Errorf("got %q", got)
	}
	r.Refused(messages.CodeInvalidParams, "undo", kit.Args{"entry": "last"})
}

// What a run did to files can be undone although its kernel died in the middle.
func TestUndoOfAnInterruptedRun(t *testing.T) {
	w, r := served(t)
	w.Write("f", "old")
	task := r.Background("rm f\n^sh -c 'echo on; sleep 615'")
	kit.Eventually(t, quick, "output", func() bool { return r.Task(task).At("stdout_len").Int() > 0 })
	r = restart(w, "main")
	if got := content(w, "f"); got != "-" {
		t.Fatalf("f is %q", got)
	}
	r.Must("undo", nil)
	if got := content(w, "f"); got != "old" {
		t.Errorf("f is %q", got)
	}
}

// A script outside a kernel has no record to undo from.
func TestUndoOfAScript(t *testing.T) {
	w := world(t)
	w.Write("f", "old")
	script := w.Write("s.shl", "rm f\nundo\n")
	_, stderr, status := w.Shoal(script)
	if status == 0 || !strings.Contains(stderr, "nothing to undo") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
}
