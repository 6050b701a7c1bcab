package actors

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
)

// find is a plan as the store has it.
func (g *rig) findPlan(session messages.SessionName, ref string) messages.Plan {
	g.t.Helper()
	a := ask(g, "", g.d.plansPID(), messages.Request[messages.PlanAnswer](messages.GetPlan{
		PlanRef: messages.PlanRef(ref), Session: session, Principal: owner,
	}))
	if a.Err != nil {
		g.t.Fatal(a.Err)
	}
	return a.Plan
}

// The plan and apply of the language, and those of the protocol, share a store.
func TestPlansOfTheLanguage(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	os.Mkdir(filepath.Join(g.dir, "a"), 0o700)
	ref := g.render("s", "let name = \"x\"; cd a; let p = plan { mkdir (name) }; cd ..; p.ref")
	stored := g.findPlan("s", ref)
	if len(ref) != len("plan:")+32 || stored.Source != "mkdir (name)" || stored.Verdict != messages.VerdictAllow ||
		stored.Cwd != filepath.Join(g.dir, "a") || len(stored.Effects) != 1 || stored.Principal != owner {
		t.Fatalf("stored %+v", stored)
	}
	if got := g.render("s", "apply (p); pwd"); !strings.HasSuffix(got, filepath.Base(g.dir)) {
		t.Errorf("after apply: %s", got)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "a", "x")); err != nil {
		t.Error(err)
	}
	if g.findPlan("s", ref).State != planApplied {
		t.Error("the store does not know that it was applied")
	}
	for src, want := range map[string]string{
		"apply (p)": "applied already", "apply \"" + ref + "\"": "applied already", "apply \"plan:00\"": "no plan", "apply 99": "no plan",
	} {
		if got := g.render("s", "("+src+") catch e { e.code + \" \" + e.msg }"); !strings.HasPrefix(got, "not_found ") || !strings.Contains(got, want) {
			t.Errorf("%s: got %s", src, got)
		}
	}
	// Each way round.
	ofLanguage := g.render("s", "(plan { mkdir y }).ref")
	finished(t, g.applyPlan("s", messages.PlanRef(ofLanguage)))
	ofProtocol := g.plan("s", "mkdir z; let kept = 1; 7")
	if got := g.render("s", "apply \""+string(ofProtocol.PlanRef)+"\""); got != "7" {
		t.Errorf("applied: %s", got)
	}
	for _, name := range []string{"y", "z"} {
		if _, err := os.Stat(filepath.Join(g.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if got := g.render("s", "kept"); got != "1" {
		t.Errorf("kept: %s", got)
	}
	// A name that means something else by now.
	finished(t, g.run("s", "let into = \"u\"; let q = plan { mkdir (into) }"))
	finished(t, g.run("s", "let into = \"v\""))
	stale := g.render("s", "(apply (q)) catch e { e.msg }")
	if _, err := os.Stat(filepath.Join(g.dir, "v")); err == nil || !strings.Contains(stale, "no longer holds") {
		t.Errorf("it ran although it would do something else: %s", stale)
	}
}

// Plans of the language wait for approval, and run with it once. What apply does
// is known, so it takes no leave for the opaque.
func TestApprovalsOfTheLanguage(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.policy.Store(mustPolicy(t, strings.Replace(asking, "auto_apply", "opaque = \"deny\"\nauto_apply", 1)))
	ref := g.render("s", "let p = plan { mkdir asked; spawn { mkdir deep }.await() }; p.ref")
	if p := g.findPlan("s", ref); !p.ApprovalPending || p.Verdict != messages.VerdictApproval {
		t.Fatalf("stored %+v", p)
	}
	if got := g.render("s", "(apply (p)) catch e { e.code + \" \" + e.msg }"); !strings.HasPrefix(got, "permission approval required") {
		t.Errorf("without approval: %s", got)
	}
	granted := ask(g, "", g.d.plansPID(), messages.Request[messages.CapAnswer](messages.CapRequest{
		Key: "k", PlanRef: messages.PlanRef(ref), Session: "s", Principal: owner, Effects: []effect.Kind{effect.FSWrite},
	}))
	if granted.Err != nil || granted.Status != "granted" {
		t.Fatalf("got %+v", granted)
	}
	finished(t, g.run("s", "apply (p)"))
	for _, name := range []string{"asked", "deep"} {
		if _, err := os.Stat(filepath.Join(g.dir, name)); err != nil {
			t.Error(err)
		}
	}
	if got := g.render("s", "let q = plan { mkdir more }; (explain 'apply (q)').effects == q.effects"); got != "true" {
		t.Errorf("explain of apply: %s", got)
	}
	// The plan of another's apply asks for none of its approvals, but cannot do without.
	outer := g.plan("s", "apply (q)")
	if outer.ApprovalPending || len(outer.Effects) != 1 || outer.Effects[0].Origin == "" {
		t.Errorf("plan of apply: %+v", outer)
	}
	if err := refused(t, g.applyPlan("s", outer.PlanRef), messages.CodeRaised); !strings.Contains(string(err.Data), "approval required") {
		t.Errorf("applied without approval: %s", err.Data)
	}
	// What is not known of a plan stays opaque.
	refused(t, g.run("s", "let n = 41; apply (n + 1)"), messages.CodeLeashDenied)
	// The approval ends with the plan: the effect by itself is asked about again.
	refused(t, g.run("s", "mkdir another"), messages.CodeApprovalRequired)
}

// A plan of the protocol is known to the language by its reference: what it would
// do is shown, and waits for the plan's own approval.
func TestApplyOfAProtocolPlan(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.policy.Store(mustPolicy(t, strings.Replace(asking, "auto_apply", "opaque = \"deny\"\nauto_apply", 1)))
	finished(t, g.run("s", "cd ."))
	made := g.plan("s", "fn f() { mkdir made }\nif true { f() }")
	apply := "apply \"" + string(made.PlanRef) + "\""
	outer := g.plan("s", apply)
	if outer.ApprovalPending || len(outer.Effects) != 1 || outer.Effects[0].Kind != effect.FSWrite || outer.Effects[0].Origin != string(made.PlanRef) {
		t.Errorf("plan of %s: %+v", apply, outer)
	}
	if got := g.render("s", "(explain '"+apply+"').effects[0]"); got != "fs.write("+filepath.Join(g.dir, "made")+")" {
		t.Errorf("explain in the language: %s", got)
	}
	if got := g.render("s", "("+apply+") catch e { e.code + \" \" + e.msg }"); !strings.HasPrefix(got, "permission approval required") {
		t.Errorf("without approval: %s", got)
	}
	granted := ask(g, "", g.d.plansPID(), messages.Request[messages.CapAnswer](messages.CapRequest{
		Key: "k", PlanRef: made.PlanRef, Session: "s", Principal: owner, Effects: []effect.Kind{effect.FSWrite},
	}))
	if granted.Err != nil || granted.Status != "granted" {
		t.Fatalf("got %+v", granted)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "made")); err == nil {
		t.Fatal("applied before it was approved")
	}
	finished(t, g.run("s", apply))
	if _, err := os.Stat(filepath.Join(g.dir, "made")); err != nil {
		t.Error(err)
	}
	for _, src := range []string{apply, "apply \"plan:00\""} {
		if p := g.plan("s", src); !hasOpaque(p.Effects) {
			t.Errorf("%s: %+v", src, p.Effects)
		}
	}
}

const reading = `
[principal."local-human"]
opaque = "deny"
[principal."local-human".effects]
"fs.read" = ["/**"]
"fs.write" = ["$CWD/**"]
"session.write" = true
`

// Files of source are judged by what they hold.
func TestFilesAreJudged(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(g.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("good.shl", "export fn f() { mkdir made }\nlet a = 1\na")
	write("bad.shl", "export fn f() { rm made }\n^touch /tmp/x")
	g.policy.Store(mustPolicy(t, reading))
	for _, src := range []string{"source good.shl", "run ./good.shl", "./good.shl", "use ./good\ngood.f()"} {
		finished(t, g.run("s", src))
	}
	if _, err := os.Stat(filepath.Join(g.dir, "made")); err != nil {
		t.Error(err)
	}
	for _, src := range []string{"source bad.shl", "run ./bad.shl", "./bad.shl", "use ./bad\nbad.f()"} {
		refused(t, g.run("s", src), messages.CodeLeashDenied)
	}
	// Another text than the one that was judged does not run.
	path := filepath.Join(g.dir, "moving.shl")
	write("moving.shl", "1")
	var swap func(messages.Record) = func(r messages.Record) {
		if strings.HasSuffix(r.Key, "-intent") {
			write("moving.shl", "mkdir sneaked")
		}
	}
	g.journal.hold.Store(&swap)
	e := refused(t, g.run("s", "source moving.shl"), messages.CodeRaised)
	g.journal.hold.Store(nil)
	if _, err := os.Stat(filepath.Join(g.dir, "sneaked")); err == nil || !strings.Contains(e.Message, path+" has changed") {
		t.Errorf("got %v", e)
	}
}

// A plan is bound to the files that it runs.
func TestPlanOfAFileThatChanges(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(g.dir, "m.shl"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("^echo one")
	finished(t, g.run("s", "let p = plan { source m.shl }"))
	same, changed := g.plan("s", "source m.shl"), g.plan("s", "source m.shl")
	finished(t, g.applyPlan("s", same.PlanRef))
	write("^echo two")
	if got := reason(t, g.applyPlan("s", changed.PlanRef)); !strings.Contains(got, "file") {
		t.Errorf("got %q", got)
	}
	if got := g.render("s", "(apply (p)) catch e { e.msg }"); !strings.Contains(got, "a file that it runs has changed") {
		t.Errorf("in the language: %s", got)
	}
}

// An error of a file says so on the wire.
func TestErrorOfAFile(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	path := filepath.Join(g.dir, "broken.shl")
	if err := os.WriteFile(path, []byte("let a = 1\nlet = 2"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := refused(t, g.run("s", "use ./broken"), messages.CodeRaised)
	var data struct {
		Error struct {
			File string
			Span struct{ Start int }
		}
	}
	if json.Unmarshal(e.Data, &data) != nil || data.Error.File != path || data.Error.Span.Start != 14 {
		t.Errorf("data: %s", e.Data)
	}
}
