package actors

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
)

// plan derives a plan that must be stored.
func (g *rig) plan(name messages.SessionName, src string, options ...option) messages.Plan {
	g.t.Helper()
	var p messages.Plan
	r := g.run(name, src, append(options, planned)...)
	if r.Err != nil || json.Unmarshal(r.JSON, &p) != nil || p.PlanRef == "" {
		g.t.Fatalf("plan %q: got %s %v", src, r.JSON, r.Err)
	}
	return p
}

func reason(t *testing.T, r messages.ExecResult) string {
	t.Helper()
	err := refused(t, r, messages.CodeUnknownPlan)
	var data struct{ Reason string }
	if json.Unmarshal(err.Data, &data) != nil {
		t.Fatalf("data: %s", err.Data)
	}
	return data.Reason
}

func TestApply(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	os.Mkdir(filepath.Join(g.dir, "a"), 0o700)
	os.Mkdir(filepath.Join(g.dir, "b"), 0o700)
	finished(t, g.run("s", "cd a"))
	p := g.plan("s", "mkdir made; let kept = 1; pwd")
	q := g.plan("s", "cd ../b; mkdir x; cd ../a")
	if entries, _ := os.ReadDir(filepath.Join(g.dir, "a")); len(entries) != 0 {
		t.Errorf("planning did something: %v", entries)
	}
	finished(t, g.run("s", "cd ../b"))
	if got := finished(t, g.applyPlan("s", p.PlanRef)).Render; !strings.HasSuffix(got, "/a") {
		t.Errorf("applied in %s, want a", got)
	}
	if _, err := os.Stat(filepath.Join(g.dir, "a", "made")); err != nil {
		t.Error(err)
	}
	if got := g.render("s", "pwd"); !strings.HasSuffix(got, "/b") {
		t.Errorf("afterwards the session is in %s, want b", got)
	}
	if got := g.render("s", "kept"); got != "1" {
		t.Errorf("kept is %s", got)
	}
	if got := reason(t, g.applyPlan("s", p.PlanRef)); got != planApplied {
		t.Errorf("applied twice: %q", got)
	}
	if got := reason(t, g.applyPlan("s", "plan:00")); got != "unknown" {
		t.Errorf("unknown: %q", got)
	}
	finished(t, g.applyPlan("s", q.PlanRef))
	if got := g.render("s", "pwd"); !strings.HasSuffix(got, "/b") && !strings.HasSuffix(got, "/a") {
		t.Errorf("after there and back the session is in %s", got)
	}
}

func TestPlansThatNoLongerHold(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	gone := filepath.Join(g.dir, "gone")
	os.Mkdir(gone, 0o700)
	finished(t, g.run("s", "cd gone"))
	moved := g.plan("s", "mkdir x")
	finished(t, g.run("s", "cd .."))
	os.Rename(gone, gone+"2")
	os.Mkdir(gone, 0o700)
	if got := reason(t, g.applyPlan("s", moved.PlanRef)); !strings.Contains(got, "directory") {
		t.Errorf("another directory: %q", got)
	}
	policy := g.plan("s", "mkdir y")
	g.policy.Store(mustPolicy(t, "[principal.\"local-human\"]\nauto_apply = \"never\"\n"))
	if got := reason(t, g.applyPlan("s", policy.PlanRef)); !strings.Contains(got, "policy") {
		t.Errorf("another policy: %q", got)
	}
	old := g.plan("s", "mkdir z")
	g.clock.Store(2 * messages.PlanTTLNS)
	if got := reason(t, g.applyPlan("s", old.PlanRef)); got != planExpired && got != "unknown" {
		t.Errorf("expired: %q", got)
	}
}

func TestPlansSurviveARestart(t *testing.T) {
	dir := t.TempDir()
	g := openRig(t, dir, Interrupted{})
	g.attach("s")
	p, applied := g.plan("s", "mkdir x"), g.plan("s", "mkdir y")
	finished(t, g.applyPlan("s", applied.PlanRef))
	g.stop()
	g = openRig(t, dir, Interrupted{})
	g.attach("s")
	finished(t, g.applyPlan("s", p.PlanRef))
	if got := reason(t, g.applyPlan("s", applied.PlanRef)); got != planApplied {
		t.Errorf("got %q", got)
	}
}

const asking = `
[principal."local-human"]
approve = ["self"]
auto_apply = "in-grant"
[principal."local-human".effects]
"fs.write" = { ask = ["/**"] }
"fs.read" = ["/**"]
`

func TestApprovals(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	g.policy.Store(mustPolicy(t, asking))
	err := refused(t, g.run("s", "mkdir asked"), messages.CodeApprovalRequired)
	var data struct {
		PlanRef messages.PlanRef `json:"plan_ref"`
	}
	if json.Unmarshal(err.Data, &data) != nil || data.PlanRef == "" {
		t.Fatalf("data: %s", err.Data)
	}
	refused(t, g.applyPlan("s", data.PlanRef), messages.CodeApprovalRequired)
	request := messages.CapRequest{Key: "k", PlanRef: data.PlanRef, Session: "s", Principal: owner}
	if a := ask(g, "", g.d.plansPID(), messages.Request[messages.CapAnswer](request)); a.Status != "approval_pending" || len(a.Uncovered) == 0 {
		t.Errorf("an empty request: got %+v", a)
	}
	request.Key, request.Effects = "k2", []effect.Kind{effect.FSWrite}
	for range 2 { // the same call twice
		if a := ask(g, "", g.d.plansPID(), messages.Request[messages.CapAnswer](request)); a.Status != "granted" || a.Err != nil {
			t.Errorf("got %+v", a)
		}
	}
	a := ask(g, "", g.d.plansPID(), messages.Request[messages.PlanAnswer](messages.GetPlan{PlanRef: data.PlanRef, Session: "s"}))
	if n := len(a.Plan.Approvals); n != 1 {
		t.Errorf("%d approvals are recorded, want 1", n)
	}
	finished(t, g.applyPlan("s", data.PlanRef))
	request.Key = "k3"
	if a := ask(g, "", g.d.plansPID(), messages.Request[messages.CapAnswer](request)); a.Err == nil || a.Err.Code != messages.CodeUnknownPlan {
		t.Errorf("an applied plan: got %+v", a)
	}
}

// A run is judged by the rules of its admission, and the next one by the new.
func TestPolicyChangesInMidRun(t *testing.T) {
	g, gt := newRig(t), newGate(t)
	g.attach("s")
	c := g.submit("s", gt.src()+"; mkdir first; 1")
	within(t, "it is admitted", func() bool {
		for _, r := range g.tasks.of("s") {
			r.mu.Lock()
			defer r.mu.Unlock()
			return r.recorded
		}
		return false
	})
	g.policy.Store(mustPolicy(t, "[principal.\"local-human\".effects]\n\"fs.write\" = { deny = [\"/**\"] }\n"))
	gt.open(t)
	finished(t, c.wait())
	refused(t, g.run("s", "mkdir second"), messages.CodeLeashDenied)
}

func TestStoreIsIdempotentAndBounded(t *testing.T) {
	g := newRig(t)
	now := g.d.Now().UnixNano()
	store := func(i int, session messages.SessionName) messages.PlanRef {
		p := messages.Plan{
			PlanRef: messages.PlanRef(fmt.Sprintf("plan:%s%04d", session, i)), Session: session,
			CreatedAt: now + int64(i), ExpiresAt: now + int64(i) + messages.PlanTTLNS, Source: fmt.Sprint(i),
		}
		g.plans.store(messages.StorePlan{Plan: p}, func(any) {})
		return p.PlanRef
	}
	other := store(0, "b")
	for i := range planLimit + 50 {
		store(i, "a")
		store(i, "a")
	}
	size := func() (int, int) {
		g.plans.mu.Lock()
		defer g.plans.mu.Unlock()
		return len(g.plans.plans), len(g.plans.mine["a"])
	}
	if all, mine := size(); all != planLimit+1 || mine != planLimit {
		t.Errorf("got %d plans, %d of a", all, mine)
	}
	for ref, want := range map[messages.PlanRef]bool{"plan:a0049": false, "plan:a0050": true, other: true} {
		if a := g.plans.get(messages.GetPlan{PlanRef: ref}); (a.Err == nil) != want {
			t.Errorf("%s: %v", ref, a.Err)
		}
	}
	g.clock.Store(2 * messages.PlanTTLNS)
	now = g.d.Now().UnixNano()
	store(1, "c")
	if all, mine := size(); all != 1 || mine != 0 || len(g.plans.order) != 1 {
		t.Errorf("after expiry: %d plans, %d of a, %d in order", all, mine, len(g.plans.order))
	}
	within(t, "the rows are gone", func() bool {
		n := 0
		if err := g.store.Scan(tablePlan, "", func(string, []byte) bool { n++; return true }); err != nil {
			t.Fatal(err)
		}
		return n == 1
	})
}

// A plan shows as much of a long source as somebody may read, and is judged and
// applied as a whole.
func TestLongPlan(t *testing.T) {
	g := newRig(t)
	g.attach("s")
	var touches strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&touches, "touch a%d\n", i)
	}
	src := "# " + strings.Repeat("x", 100_000) + "\n" + touches.String() + "touch b/" + strings.Repeat("y/", 10_000) + "\nenv.X = \"1\""
	r := g.run("s", src, planned)
	var p messages.Plan
	if r.Err != nil || json.Unmarshal(r.JSON, &p) != nil {
		t.Fatalf("got %.300s %v", r.JSON, r.Err)
	}
	if len(r.JSON) > 1<<20 || len(p.Source) > messages.SourceShown || len(p.Effects) > effect.BriefMost {
		t.Errorf("the answer has %d bytes, %d of source, %d effects", len(r.JSON), len(p.Source), len(p.Effects))
	}
	if p.EffectsTotal < 2000 || p.Effects[len(p.Effects)-1].Kind != effect.EnvWrite {
		t.Errorf("%d effects in all, the last one shown is %v", p.EffectsTotal, p.Effects[len(p.Effects)-1])
	}
	finished(t, g.applyPlan("s", g.plan("s", touches.String()).PlanRef))
}
