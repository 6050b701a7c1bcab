package lang

import (
	"context"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// planner answers the plan and explain of a running program.
type planner struct{ lib *builtin.Lib }

// Plan is for a program.
func (p planner) Plan(ctx context.Context, tree *syntax.Program, s *interp.State, files interp.Files, plans interp.StoredPlans) (interp.Planned, *value.Error) {
	return planned(plan.Derive(tree, rows{p.lib}, bindings{s}, sourcesOf(ctx, files, plans, s)))
}

// plannedName is how the planner calls the function of PlanCall; no source can
// spell it.
const plannedName = "\x00plan"

// PlanCall is for a call of a function without arguments.
func (p planner) PlanCall(ctx context.Context, fn value.Value, s *interp.State, files interp.Files, plans interp.StoredPlans) (interp.Planned, *value.Error) {
	call := &syntax.Call{Fn: &syntax.Name{Name: plannedName}}
	tree := &syntax.Program{Stmts: []syntax.Stmt{&syntax.ExprStmt{X: call}}}
	return planned(plan.Derive(tree, rows{p.lib}, withFunction{bindings{s}, fn}, sourcesOf(ctx, files, plans, s)))
}

func planned(r plan.Result) (interp.Planned, *value.Error) {
	return interp.Planned{
		Effects: r.Effects, Reversible: r.Reversibility == effect.Reversible, Spawns: r.Spawns,
		Reversibility: r.Reversibility, Files: r.Files,
	}, r.Err
}

// withFunction is a session in which plannedName is bound.
type withFunction struct {
	bindings
	fn value.Value
}

func (w withFunction) Lookup(name string) (v value.Value, variable, ok bool) {
	if name == plannedName {
		return w.fn, false, true
	}
	return w.bindings.Lookup(name)
}
