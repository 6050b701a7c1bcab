package actors

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// storePlan keeps what the program would do and answers the run with it: the
// plan itself when it was asked for, -32011 when policy wants an approval.
func (w *worker) storePlan(derived plan.Result, rules *leash.Rules) {
	r := w.run
	stored := r.newPlan(r.params.Src, r.fork.Cwd(), derived, rules, w.d.Now())
	stored.Position = r.params.Position
	w.d.askPlan(messages.StorePlan{Plan: stored}, func(a messages.PlanAnswer) { w.planned(a) })
}

// newPlan is a plan of the run's principal, with what policy says of it.
func (r *Run) newPlan(src, cwd string, derived plan.Result, rules *leash.Rules, now time.Time) messages.Plan {
	verdict := decide(rules, derived, r.host.scene())
	dev, ino := identity(cwd)
	p := messages.Plan{
		PlanRef: newPlanRef(), Source: src, Position: messages.PositionValue, Session: r.host.name,
		Principal: r.principal, Cwd: cwd, Root: r.host.cwd0, CwdDev: dev, CwdIno: ino,
		Effects: derived.Effects, Reversibility: derived.Reversibility,
		Verdict: messages.VerdictAllow, Rule: verdict.Rule, State: planStored,
		CreatedAt: now.UnixNano(), ExpiresAt: now.UnixNano() + messages.PlanTTLNS,
		SourceHash: sourcesHash(src, derived.Files), PolicyHash: rules.Hash(),
		Approvals: []messages.Approval{},
	}
	if p.Effects == nil {
		p.Effects = []effect.Effect{}
	}
	switch verdict.Outcome {
	case leash.Deny:
		p.Verdict = messages.VerdictDeny
	case leash.Ask:
		p.Verdict, p.ApprovalPending = messages.VerdictApproval, true
	}
	return p
}

// decide judges a program as a whole. What it would do by applying a plan may be
// subject to an approval of that plan, which is asked for when it is claimed.
func decide(rules *leash.Rules, derived plan.Result, sc leash.Scene) leash.Verdict {
	own := slices.DeleteFunc(slices.Clone(derived.Effects), func(e effect.Effect) bool { return !asks(rules, e, sc) })
	return rules.Decide(own, derived.Reversibility, sc)
}

// asks reports whether an effect is one that the program itself answers for.
func asks(rules *leash.Rules, e effect.Effect, sc leash.Scene) bool {
	return e.Origin == "" || rules.Judge(e, sc).Outcome != leash.Ask
}

// sourcesHash identifies a source and the texts of the files that it runs, by
// their real paths.
func sourcesHash(src string, files map[string]string) string {
	if len(files) == 0 {
		return sourceHash(src)
	}
	parts := []string{src}
	for _, path := range slices.Sorted(maps.Keys(files)) {
		parts = append(parts, sourceHash(path), sourceHash(files[path]))
	}
	return sourceHash(strings.Join(parts, "\x00"))
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
		res := messages.ExecResult{Key: r.key, JSON: messages.JSON(a.Plan.Shown())}
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

// stale says what of a plan is no longer as it was bound; nil if all is.
func stale(p *messages.Plan, cwd, hash string, effects []effect.Effect, rules *leash.Rules) *messages.Error {
	dev, ino := identity(cwd)
	why := ""
	switch {
	case cwd != p.Cwd || dev != p.CwdDev || ino != p.CwdIno:
		why = "the directory " + p.Cwd + " is not the same any more"
	case rules.Hash() != p.PolicyHash:
		why = "the policy has changed"
	case !sameEffects(effects, p.Effects):
		why = "the source would have other effects now"
	case hash != p.SourceHash:
		why = "a file that it runs has changed"
	default:
		return nil
	}
	return messages.Errorf(messages.CodeUnknownPlan, "plan %s no longer holds: %s; derive it again", p.PlanRef, why).
		With(map[string]string{"reason": why})
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
