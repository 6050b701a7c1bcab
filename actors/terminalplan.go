package actors

import (
	"context"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
)

// planTerminal stores the plan of a terminal that policy wants approved, and is
// the refusal that names it.
func (h *sessionHost) planTerminal(req messages.OpenPTY, effects []effect.Effect, rules *leash.Rules, v leash.Verdict) *messages.Error {
	dev, ino := identity(req.Dir)
	now := h.d.Now().UnixNano()
	t := &messages.TerminalPlan{
		Cmd: req.Cmd, Args: req.Args, Path: req.Path, Set: req.Set, Cols: req.Cols, Rows: req.Rows,
		Scrollback: req.Scrollback, Record: req.Record, RecordInput: req.RecordInput,
	}
	plan := messages.Plan{
		PlanRef: newPlanRef(), Source: commandLine(req), Position: messages.PositionValue, Session: h.name,
		Principal: req.Principal, Cwd: req.Dir, Root: h.cwd0, CwdDev: dev, CwdIno: ino,
		Effects: effects, Reversibility: effect.Unknown, Verdict: messages.VerdictApproval, Rule: v.Rule,
		ApprovalPending: true, Approvals: []messages.Approval{}, State: planStored,
		CreatedAt: now, ExpiresAt: now + messages.PlanTTLNS, SourceHash: terminalHash(t), PolicyHash: rules.Hash(),
		Terminal: t,
	}
	a := h.askPlan(messages.StorePlan{Plan: plan})
	if a.Err != nil {
		return a.Err
	}
	e := approvalError(a.Plan)
	e.Message = strings.Replace(e.Message, "then apply the plan", "then open it with plan_ref", 1)
	return e
}

// openPlanned opens the terminal of an approved plan, exactly.
func (h *sessionHost) openPlanned(m messages.OpenTerminal, env []string) messages.Raw {
	a := h.askPlan(messages.GetPlan{PlanRef: m.PlanRef, Session: h.name, Principal: m.Principal})
	if a.Err == nil && a.Plan.Terminal != nil {
		// What no longer holds is told before the plan is taken.
		t := a.Plan.Terminal
		a.Err = stale(&a.Plan, a.Plan.Cwd, terminalHash(t), terminalEffects(t.Cmd, t.Path), h.rulesOf(m.Principal))
	}
	if a.Err == nil {
		a = h.askPlan(messages.ClaimPlan{Key: m.Key, PlanRef: m.PlanRef, Session: h.name, Principal: m.Principal, Terminal: true})
	}
	if a.Err != nil {
		return messages.Raw{Err: a.Err}
	}
	t := a.Plan.Terminal
	return h.startTerminal(m, a.Plan.Effects, messages.OpenPTY{
		Session: h.name, Principal: m.Principal, Cmd: t.Cmd, Args: t.Args, Path: t.Path, Dir: a.Plan.Cwd,
		Env: env, Set: t.Set, Cols: t.Cols, Rows: t.Rows, Scrollback: t.Scrollback,
		Record: t.Record, RecordInput: t.RecordInput,
	}, &a.Plan)
}

// terminalHash identifies what a plan opens.
func terminalHash(t *messages.TerminalPlan) string { return sourceHash(string(messages.JSON(t))) }

// askPlan asks the plan store; it blocks.
func (h *sessionHost) askPlan(req messages.Request[messages.PlanAnswer]) messages.PlanAnswer {
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	a, err := askAgain(ctx, h.d.Sys, h.d.plansPID(), req)
	if err != nil {
		a.Err = asRefusal(err, "the plan store did not answer")
	}
	return a
}
