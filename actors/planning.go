package actors

import (
	"fmt"
	"os"
	"syscall"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// storePlan keeps what the program would do and answers the run with it: the
// plan itself when it was asked for, -32011 when policy wants an approval.
func (w *worker) storePlan(derived plan.Result, rules *leash.Rules) {
	r := w.run
	verdict := rules.Decide(derived.Effects, derived.Reversibility, r.host.scene())
	now := w.d.Now().UnixNano()
	dev, ino := identity(r.fork.Cwd())
	stored := messages.Plan{
		PlanRef: newPlanRef(), Source: r.params.Src, Position: r.params.Position, Session: r.host.name,
		Principal: r.principal, Cwd: r.fork.Cwd(), Root: r.host.cwd0, CwdDev: dev, CwdIno: ino,
		Effects: derived.Effects, Reversibility: derived.Reversibility,
		Verdict: messages.VerdictAllow, Rule: verdict.Rule, State: planStored,
		CreatedAt: now, ExpiresAt: now + messages.PlanTTLNS,
		SourceHash: sourceHash(r.params.Src), PolicyHash: rules.Hash(),
		Approvals: []messages.Approval{},
	}
	if stored.Effects == nil {
		stored.Effects = []effect.Effect{}
	}
	switch verdict.Outcome {
	case leash.Deny:
		stored.Verdict = messages.VerdictDeny
	case leash.Ask:
		stored.Verdict, stored.ApprovalPending = messages.VerdictApproval, true
	}
	w.d.askPlan(messages.StorePlan{Plan: stored}, func(a messages.PlanAnswer) { w.planned(a) })
}

// planned answers the run with its stored plan.
func (w *worker) planned(a messages.PlanAnswer) {
	r := w.run
	if a.Err != nil {
		w.refuse(a.Err)
		return
	}
	ok := r.params.Mode == messages.ModePlan
	r.mu.Lock()
	r.planRef = a.Plan.PlanRef
	status := messages.EntryDone
	if !ok {
		status = messages.EntryRefused
	} else {
		r.kind = messages.EntryPlan
	}
	entry := r.entryLocked(status, &ok)
	events := r.journalEventsLocked(entry.Head, ok)
	r.mu.Unlock()
	ack := w.d.write(messages.Record{Key: fmt.Sprintf("task-%d-plan", r.num), Entry: &entry, Events: events})
	switch {
	case ack.Err != nil:
		w.refuse(ack.Err)
	case ok:
		res := messages.ExecResult{Key: r.key, JSON: messages.JSON(a.Plan)}
		w.end(res, w.rememberedRows(res))
	default:
		w.refuse(approvalError(a.Plan))
	}
}

// rememberedRows keep the answer for the run's request id, if it has one.
func (w *worker) rememberedRows(res messages.ExecResult) []messages.Row {
	r := w.run
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.params.RequestID == "" {
		return nil
	}
	return []messages.Row{r.requestRowLocked(res)}
}

// stale says what of the run's plan is no longer as it was bound; "" if all
// is.
func (r *Run) stale(effects []effect.Effect, rules *leash.Rules) string {
	p := r.plan
	dev, ino := identity(r.fork.Cwd())
	switch {
	case dev != p.CwdDev || ino != p.CwdIno:
		return "the directory " + p.Cwd + " is not the same any more"
	case rules.Hash() != p.PolicyHash:
		return "the policy has changed"
	case !sameEffects(effects, p.Effects):
		return "the source would have other effects now"
	}
	return ""
}

func sameEffects(a, b []effect.Effect) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !a[i].Same(b[i]) {
			return false
		}
	}
	return true
}

// identity is a directory's device and inode, zero when it is gone.
func identity(dir string) (dev, ino uint64) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, 0
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), uint64(st.Ino)
	}
	return 0, 0
}
