package actors

import (
	"context"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
)

// planFinder finds the plans of a session and principal.
type planFinder struct {
	host      *sessionHost
	principal messages.Principal
}

// Find is a plan that may be applied.
func (f planFinder) Find(ctx context.Context, ref string) (interp.StoredPlan, error) {
	p, err := f.find(ctx, messages.PlanRef(ref))
	return interp.StoredPlan{Source: p.Source, Cwd: p.Cwd}, err
}

func (f planFinder) find(ctx context.Context, ref messages.PlanRef) (messages.Plan, error) {
	p, err := f.host.d.askPlanStore(ctx, messages.GetPlan{PlanRef: ref, Session: f.host.name, Principal: f.principal})
	switch {
	case err != nil:
		return messages.Plan{}, err
	case p.Principal != f.principal:
		return messages.Plan{}, planError(unknownPlan(ref, "unknown"))
	case p.Terminal != nil:
		return messages.Plan{}, planError(wrongUse(&p))
	case p.State == planApplied:
		return messages.Plan{}, planError(unknownPlan(ref, planApplied))
	}
	return p, nil
}

// planKeeper is the plan store as the language's plan and apply use it: plans of
// the run's session and principal, under the rules that are in force by then.
type planKeeper struct {
	planFinder
	w *worker
}

func (w *worker) plans() planKeeper {
	return planKeeper{planFinder{w.run.host, w.run.principal}, w}
}

// Keep stores a plan.
func (k planKeeper) Keep(ctx context.Context, src, cwd string, p interp.Planned) (string, error) {
	r := k.w.run
	derived := plan.Result{Effects: p.Effects, Reversibility: p.Reversibility, Files: p.Files}
	stored := r.newPlan(src, cwd, derived, r.host.rulesOf(r.principal), k.w.d.Now())
	a, err := k.w.d.askPlanStore(ctx, messages.StorePlan{Plan: stored})
	if err != nil {
		return "", err
	}
	return string(a.PlanRef), nil
}

// Claim takes a plan that is still as it was bound, and may run, once.
func (k planKeeper) Claim(ctx context.Context, ref, cwd string, now interp.Planned) (*interp.Host, error) {
	r := k.w.run
	p, err := k.find(ctx, messages.PlanRef(ref))
	if err != nil {
		return nil, err
	}
	rules := r.host.rulesOf(r.principal)
	if err := stale(&p, cwd, sourcesHash(p.Source, now.Files), now.Effects, rules); err != nil {
		return nil, planError(err)
	}
	p, err = k.w.d.askPlanStore(ctx, messages.ClaimPlan{
		Key: string(newPlanRef()), PlanRef: p.PlanRef, Session: r.host.name, Principal: r.principal,
	})
	if err != nil {
		return nil, err
	}
	return k.w.newHost(rules, &p), nil
}

// askPlanStore asks the plan store, again while it is being restarted.
func (d *Deps) askPlanStore(ctx context.Context, req messages.Request[messages.PlanAnswer]) (messages.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	a, err := askAgain(ctx, d.Sys, d.plansPID(), req)
	switch {
	case err != nil:
		return messages.Plan{}, value.Errorf(value.CodeCustom, "the plan store did not answer: %v", err)
	case a.Err != nil:
		return messages.Plan{}, planError(a.Err)
	}
	return a.Plan, nil
}

// planError is a refusal of the plan store as the language sees it.
func planError(e *messages.Error) error {
	codes := map[messages.Code]string{
		messages.CodeUnknownPlan: value.CodeNotFound, messages.CodeLeashDenied: value.CodePermission,
		messages.CodeApprovalRequired: value.CodePermission,
	}
	code, ok := codes[e.Code]
	if !ok {
		code = value.CodeCustom
	}
	return value.Errorf(code, "%s", e.Message)
}
