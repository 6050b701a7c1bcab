package actors

import (
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// refusalData is what every refusal by policy tells.
type refusalData struct {
	Dimension string `json:"dimension"`
	Effect    string `json:"effect"`
	Target    string `json:"target"`
	Rule      string `json:"rule"`
	Grant     string `json:"grant,omitempty"`
}

// deniedError is a refusal on the wire.
func deniedError(v leash.Verdict) *messages.Error {
	return messages.Errorf(messages.CodeLeashDenied, "policy denies %s: %s", v.Effect, v.Rule).
		With(refusalData{v.Dimension, v.Effect.Kind.String(), v.Effect.Target(), v.Rule, v.Grant})
}

// refusalError is a refusal as the program sees it.
func refusalError(v leash.Verdict) *value.Error {
	code := value.CodePermission
	if v.Effect.Kind == effect.ProcSpawn || v.Effect.Kind == effect.Opaque {
		code = value.CodeSpawnDenied
	}
	err := value.Errorf(code, "policy refuses %s", v.Effect)
	return err.WithHint("%s, rule %s; it would be allowed by %s", v.Dimension, v.Rule, v.Grant)
}

// approvalError says that a plan waits for an approval; nothing has run.
func approvalError(p messages.Plan) *messages.Error {
	return messages.Errorf(messages.CodeApprovalRequired,
		"approval required for plan %s: %s; ask with cap.request, then apply the plan", p.PlanRef, p.Rule).
		With(struct {
			PlanRef messages.PlanRef `json:"plan_ref"`
			URI     string           `json:"uri"`
			Effects []effect.Effect  `json:"effects"`
			Rule    string           `json:"rule"`
		}{p.PlanRef, p.PlanRef.URI(), effect.Brief(p.Effects), p.Rule})
}

// coveredKinds are the kinds that the plan's approvals cover.
func coveredKinds(p *messages.Plan) map[effect.Kind]bool {
	covered := map[effect.Kind]bool{}
	for _, a := range p.Approvals {
		if a.Status != "granted" {
			continue
		}
		for _, k := range a.Effects {
			covered[k] = true
		}
	}
	return covered
}

// uncovered are the kinds that policy asks about and no approval covers, in
// table order. What belongs to another plan is for that plan's approvals.
func uncovered(p *messages.Plan, rules *leash.Rules, effects []effect.Effect, sc leash.Scene) []effect.Kind {
	covered := coveredKinds(p)
	asked := map[effect.Kind]bool{}
	for _, e := range effects {
		if e.Origin == "" && (rules.AutoApply == leash.Never || rules.Judge(e, sc).Outcome == leash.Ask) {
			asked[e.Kind] = true
		}
	}
	kinds := []effect.Kind{}
	for _, k := range effect.Kinds() {
		if asked[k] && !covered[k] {
			kinds = append(kinds, k)
		}
	}
	return kinds
}

func covers(p *messages.Plan, rules *leash.Rules, effects []effect.Effect, sc leash.Scene) bool {
	return len(uncovered(p, rules, effects, sc)) == 0
}

// approves reports whether a plan, which may be nil, was approved for this very
// effect: its kind is covered, and the plan showed the target or showed any.
func approves(p *messages.Plan, e effect.Effect) bool {
	if p == nil || !coveredKinds(p)[e.Kind] {
		return false
	}
	for _, planned := range p.Effects {
		if planned.Kind == e.Kind && (planned.Target() == effect.Any || planned.Same(e)) {
			return true
		}
	}
	return false
}
