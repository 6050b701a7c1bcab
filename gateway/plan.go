package gateway

import (
	"encoding/json"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// planRef accepts a plan's ref and its URI.
func planRef(s string) messages.PlanRef {
	if rest, ok := strings.CutPrefix(s, "shoal://plan/"); ok {
		return messages.PlanRef("plan:" + strings.TrimPrefix(rest, "plan:"))
	}
	return messages.PlanRef(s)
}

func planAnswer(a messages.PlanAnswer) (json.RawMessage, *messages.Error) {
	if a.Err != nil {
		return nil, a.Err
	}
	return messages.JSON(a.Plan.Shown()), nil
}

type getPlanParams struct {
	PlanRef string `json:"plan_ref" wire:"required"`
}

func (b *backend) getPlan(p getPlanParams) (wire.Call, *messages.Error) {
	return ask[messages.PlanAnswer](b, b.g.o.To.Plans,
		messages.GetPlan{PlanRef: planRef(p.PlanRef), Session: b.session, Principal: b.principal}, planAnswer), nil
}

func (b *backend) listPlans(noParams) (wire.Call, *messages.Error) {
	return ask(b, b.g.o.To.Plans, messages.ListPlans{Session: b.session, Principal: b.principal}, func(all messages.Plans) (json.RawMessage, *messages.Error) {
		for i := range all.Plans {
			all.Plans[i] = all.Plans[i].Shown()
		}
		return encoded(all)
	}), nil
}

type applyPlanParams struct {
	PlanRef    string          `json:"plan_ref" wire:"required"`
	Elide      *messages.Elide `json:"elide"`
	TimeoutMS  *int64          `json:"timeout_ms"`
	DeadlineMS *int64          `json:"deadline_ms"`
}

func (b *backend) applyPlan(p applyPlanParams) (wire.Call, *messages.Error) {
	if err := checkBudgets(p.TimeoutMS, p.DeadlineMS); err != nil {
		return nil, err
	}
	if err := checkElide(p.Elide); err != nil {
		return nil, err
	}
	req := messages.ApplyPlan{
		Key: b.key(), Conn: b.conn, Principal: b.principal, PlanRef: planRef(p.PlanRef), Elide: p.Elide,
		TimeoutMS: p.TimeoutMS, DeadlineMS: p.DeadlineMS,
	}
	return b.submit(req.Key, ask(b, b.g.o.To.Session(b.session), req, finished)), nil
}

// kinds reads a list of effect kinds in either spelling.
func kinds(names []string) ([]effect.Kind, *messages.Error) {
	out := make([]effect.Kind, 0, len(names))
	for _, name := range names {
		k, ok := effect.ParseKind(name)
		if !ok {
			return nil, messages.Errorf(messages.CodeInvalidParams, "effects: %q is no effect kind; kinds are %s", name, kindList())
		}
		out = append(out, k)
	}
	return out, nil
}

func kindList() string {
	var names []string
	for _, k := range effect.Kinds() {
		names = append(names, k.Dotted())
	}
	return strings.Join(names, " ")
}

func capAnswer(a messages.CapAnswer) (json.RawMessage, *messages.Error) {
	if a.Err != nil {
		return nil, a.Err
	}
	return messages.JSON(a), nil
}

type requestCapParams struct {
	PlanRef string   `json:"plan_ref" wire:"required"`
	Effects []string `json:"effects" wire:"required"`
	Reason  string   `json:"reason"`
}

func (b *backend) requestCap(p requestCapParams) (wire.Call, *messages.Error) {
	ks, err := kinds(p.Effects)
	if err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Plans, messages.CapRequest{
		Key: b.key(), PlanRef: planRef(p.PlanRef), Session: b.session, Principal: b.principal, Effects: ks, Reason: p.Reason,
	}, capAnswer), nil
}

// pendingCaps lists the plans of the session that wait for an approval.
func (b *backend) pendingCaps(noParams) (wire.Call, *messages.Error) {
	return ask(b, b.g.o.To.Plans, messages.ListPlans{Session: b.session, Principal: b.principal},
		func(all messages.Plans) (json.RawMessage, *messages.Error) {
			pending := messages.Plans{Plans: []messages.Plan{}}
			for _, p := range all.Plans {
				if p.ApprovalPending {
					pending.Plans = append(pending.Plans, p.Shown())
				}
			}
			return messages.JSON(pending), nil
		}), nil
}

type decideCapParams struct {
	PlanRef string   `json:"plan_ref" wire:"required"`
	Effects []string `json:"effects"`
	Reason  string   `json:"reason"`
}

func decideCap(grant bool) handler {
	return with(func(b *backend, p decideCapParams) (wire.Call, *messages.Error) {
		ks, err := kinds(p.Effects)
		if err != nil {
			return nil, err
		}
		return ask(b, b.g.o.To.Plans, messages.DecideCap{
			Key: b.key(), PlanRef: planRef(p.PlanRef), Principal: b.principal, Grant: grant, Effects: ks, Reason: p.Reason,
		}, capAnswer), nil
	})
}
