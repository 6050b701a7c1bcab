package actors

import (
	"context"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
)

// planKeeper is the plan store as the language's plan and apply use it: plans of
// the run's session and principal, under the rules that are in force by then.
type planKeeper struct{ w *worker }

// Keep stores a plan.
func (k planKeeper) Keep(ctx context.Context, src, cwd string, p interp.Planned) (string, error) {
	r := k.w.run
	derived := plan.Result{Effects: p.Effects, Reversibility: p.Reversibility, Files: p.Files}
	stored := r.newPlan(src, cwd, derived, r.host.rulesOf(r.principal), k.w.d.Now())
	a, err := k.ask(ctx, messages.StorePlan{Plan: stored})
	if err != nil {
		return "", err
	}
	return string(a.PlanRef), nil
}

// Find is a plan that may be applied.
func (k planKeeper) Find(ctx context.Context, ref string) (interp.StoredPlan, error) {
	p, err := k.find(ctx, messages.PlanRef(ref))
	return interp.StoredPlan{Source: p.Source, Cwd: p.Cwd}, err
}

func (k planKeeper) find(ctx context.Context, ref messages.PlanRef) (messages.Plan, error) {
	r := k.w.run
	p, err := k.ask(ctx, messages.GetPlan{PlanRef: ref, Session: r.host.name, Principal: r.principal})
	switch {
	case err != nil:
		return messages.Plan{}, err
	case p.Principal != r.principal:
		return messages.Plan{}, planError(unknownPlan(ref, "unknown"))
	case p.Terminal != nil:
		return messages.Plan{}, planError(wrongUse(&p))
	case p.State == planApplied:
		return messages.Plan{}, planError(unknownPlan(ref, planApplied))
	}
	return p, nil
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
	p, err = k.ask(ctx, messages.ClaimPlan{
		Key: string(newPlanRef()), PlanRef: p.PlanRef, Session: r.host.name, Principal: r.principal,
	})
	if err != nil {
		return nil, err
	}
	return k.w.newHost(rules, &p), nil
}

// ask asks the plan store, again while it is being restarted.
func (k planKeeper) ask(ctx context.Context, req messages.Request[messages.PlanAnswer]) (messages.Plan, error) {
	ctx, cancel := context.WithTimeout(ctx, claimTimeout)
	defer cancel()
	a, err := askAgain(ctx, k.w.d.Sys, k.w.d.plansPID(), req)
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
