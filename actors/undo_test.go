package actors

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// read is a file's text in the rig's directory, "-" when it is not there.
func (g *rig) read(name string) string {
	b, err := os.ReadFile(filepath.Join(g.dir, name))
	if err != nil {
		return "-"
	}
	return string(b)
}

func (g *rig) write(name, text string) {
	g.t.Helper()
	if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// caught is what a source raises.
func (g *rig) caught(src string) string {
	g.t.Helper()
	return g.render("s", "("+src+") catch e { e.code + \" \" + e.msg }")
}

// lastEntry is the number of the session's newest entry.
func (g *rig) lastEntry() messages.Entry {
	g.t.Helper()
	page, err := g.store.Query(messages.JournalQuery{Session: "s", Limit: 1})
	if err != nil || len(page.Entries) == 0 {
		g.t.Fatalf("query: %v, %d entries", err, len(page.Entries))
	}
	return page.Entries[0]
}

func TestUndoGoesBackStepByStep(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.write("notes.txt", "alpha")
	if got := g.render("s", `rm notes.txt; undo; path("notes.txt").exists`); got != "true" {
		t.Fatalf("the worked example: got %s", got)
	}
	g.run("s", `"one".save("notes.txt"); "two".append("notes.txt"); mkdir made`)
	if got := g.lastEntry(); got.Undo == nil || got.Undo.Steps != 3 || got.Kind != messages.EntryExec {
		t.Errorf("entry: %+v", got.Undo)
	}
	g.run("s", "undo")
	if _, err := os.Stat(filepath.Join(g.dir, "made")); err == nil {
		t.Error("the newest statement was not undone")
	}
	if got := g.lastEntry(); got.Kind != messages.EntryUndo || got.Head != "undo" || got.Undo == nil {
		t.Errorf("entry: %+v", got)
	}
	for _, want := range []string{"one", "alpha"} {
		g.run("s", "undo")
		if got := g.read("notes.txt"); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if got := g.caught("undo"); !strings.HasPrefix(got, "custom undo: nothing to undo") {
		t.Errorf("got %s", got)
	}
}

func TestUndoOfAnEntry(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.write("f", "old")
	g.run("s", `"new".save("f"); cp f g; mv f h`)
	entry := g.lastEntry().ID
	g.run("s", "touch other")
	if got := g.render("s", fmt.Sprintf("let u = undo %d; \"{u.entry} {u.undone} {u.actions.len()}\"", entry)); got != fmt.Sprintf("%d 3 3", entry) {
		t.Errorf("got %s", got)
	}
	undid := g.lastEntry().ID
	if g.read("f") != "old" || g.read("g") != "-" || g.read("h") != "-" || g.read("other") != "" {
		t.Errorf("f %q g %q h %q other %q", g.read("f"), g.read("g"), g.read("h"), g.read("other"))
	}
	if got := g.caught(fmt.Sprint("undo ", entry)); !strings.HasPrefix(got, "custom ") || !strings.Contains(got, fmt.Sprint("already, by entry ", undid)) {
		t.Errorf("again: %s", got)
	}
	if r := g.run("s", fmt.Sprint("undo ", undid)); r.Err != nil { // does it again
		t.Errorf("the undo of the undo: %v", r.Err)
	}
	if g.read("f") != "-" || g.read("g") != "new" || g.read("h") != "new" {
		t.Errorf("done again: f %q g %q h %q", g.read("f"), g.read("g"), g.read("h"))
	}
	g.run("s", "undo") // and that is the newest by now
	if g.read("f") != "old" || g.read("g") != "-" {
		t.Errorf("undone again: f %q g %q", g.read("f"), g.read("g"))
	}
}

func TestUndoRefuses(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.write("f", "old")
	g.run("s", "^true")
	program := g.lastEntry().ID
	g.run("s", "rm --permanent f")
	gone := g.lastEntry()
	if gone.Undo == nil || len(gone.Undo.Without) != 1 || !strings.Contains(gone.Undo.Without[0], "for good") {
		t.Errorf("entry: %+v", gone.Undo)
	}
	g.run("s", `"new".save("f")`)
	saved := g.lastEntry().ID
	g.write("f", "edited")
	g.attach("other")
	for src, want := range map[string]string{
		fmt.Sprint("undo ", program):    "custom undo: entry .. ran programs",
		fmt.Sprint("undo ", gone.ID):    "custom undo: entry .. cannot be undone",
		fmt.Sprint("undo ", saved):      "stale_undo ",
		"undo":                          "stale_undo ",
		fmt.Sprint("undo ", saved+1000): "custom undo: there is no entry",
		"undo last":                     "arg_error ",
	} {
		got := g.caught(src)
		for _, part := range strings.Split(want, "..") {
			if !strings.Contains(got, strings.TrimSpace(part)) {
				t.Errorf("%s: got %s, want %s", src, got, want)
			}
		}
	}
	if got := g.read("f"); got != "edited" {
		t.Errorf("f is %q", got)
	}
	if got := g.render("other", fmt.Sprintf("(undo %d) catch e { e.msg }", saved)); !strings.Contains(got, "no entry") {
		t.Errorf("from another session: %s", got)
	}
}

func TestUndoOutlivesTheKernel(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.write("f", "old")
	g.write("large", strings.Repeat("x", 100_000))
	g.run("s", `"new".save("f"); "new".save("large"); rm f`)
	entry := g.lastEntry().ID
	g.stop()
	next := openRig(t, g.dir, Interrupted{})
	next.attach("s")
	finished(t, next.run("s", fmt.Sprint("undo ", entry)))
	if next.read("f") != "old" || len(next.read("large")) != 100_000 {
		t.Errorf("f %q, large of %d bytes", next.read("f"), len(next.read("large")))
	}
}

// A spawned task's changes belong to the entry of the submission, in their order.
func TestUndoOfATask(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.run("s", `"1".save("f"); let t = spawn { "2".save("f") }; t.await(); "3".save("f")`)
	entry := g.lastEntry().ID
	finished(t, g.run("s", fmt.Sprint("undo ", entry)))
	if got := g.read("f"); got != "-" {
		t.Errorf("got %q", got)
	}
}

func TestUndoIsJudgedByPolicy(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.write("f", "old")
	g.run("s", `"new".save("f")`)
	g.policy.Store(mustPolicy(t, `
[principal.local-human.effects]
"fs.write" = ["$CWD/elsewhere/**"]
"fs.delete" = ["$CWD/elsewhere/**"]
`))
	refused(t, g.run("s", "undo"), messages.CodeLeashDenied)
	if got := g.read("f"); got != "new" {
		t.Errorf("f is %q", got)
	}
	g.policy.Store(leash.Default())
	finished(t, g.run("s", "undo"))
	if got := g.read("f"); got != "old" {
		t.Errorf("f is %q", got)
	}
}
