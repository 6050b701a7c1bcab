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

// rows shows the planner the effects of the library table.
type rows struct{ lib *builtin.Lib }

func effectArg(a plan.Arg) interp.EffectArg {
	return interp.EffectArg{Known: a.Known, Value: a.Value, Flag: a.Flag, Prefix: a.Prefix}
}

func effectArgs(args []plan.Arg) []interp.EffectArg {
	out := make([]interp.EffectArg, len(args))
	for i, a := range args {
		out[i] = effectArg(a)
	}
	return out
}

func derived(f interp.EffectFunc, args []plan.Arg, cwd string) []effect.Effect {
	if f == nil {
		return nil
	}
	return f(effectArgs(args), cwd)
}

func (r rows) Head(name string, args []plan.Arg, cwd string) ([]effect.Effect, bool) {
	row := r.lib.Head(name)
	if row == nil {
		return nil, false
	}
	return derived(row.Effects, args, cwd), true
}

func (r rows) Function(name string, args []plan.Arg, cwd string) ([]effect.Effect, bool) {
	row := r.lib.Function(name)
	if row == nil {
		return nil, false
	}
	return derived(row.Effects, args, cwd), true
}

func (r rows) Member(namespace, name string, args []plan.Arg, cwd string) ([]effect.Effect, bool) {
	row := r.lib.Member(namespace, name)
	if row == nil {
		return nil, false
	}
	return derived(row.Effects, args, cwd), true
}

func (r rows) Namespace(name string) bool { return r.lib.Namespace(name) }

func (r rows) Method(k value.Kind, anyKind bool, name string, recv plan.Arg, args []plan.Arg, cwd string) []effect.Effect {
	first, last := k, k
	if anyKind {
		first, last = value.KindNull, value.KindSecret
	}
	var out []effect.Effect
	seen := map[*interp.Method]bool{}
	for kind := first; kind <= last; kind++ {
		row := r.lib.Method(kind, name)
		if row == nil {
			row = r.lib.Field(kind, name)
		}
		if row == nil || row.Effects == nil || seen[row] {
			continue
		}
		seen[row] = true
		out = append(out, row.Effects(effectArg(recv), effectArgs(args), cwd)...)
	}
	return out
}

// bindings shows the planner a session.
type bindings struct{ s *interp.State }

func (b bindings) Cwd() string { return b.s.Cwd() }

func (b bindings) Lookup(name string) (v value.Value, variable, ok bool) {
	v, kind, ok := b.s.Lookup(name)
	return v, kind == interp.BindVar || kind == interp.BindExport, ok
}

func (b bindings) Code(v value.Value) (plan.Code, bool) {
	c, ok := b.s.Code(v)
	return plan.Code{
		Lambda: c.Lambda, Alias: c.Alias, Captured: c.Captured, Variables: c.Variables, Closed: c.Closed, Dir: c.Dir,
	}, ok
}

func (b bindings) Planned(v value.Value) (fn value.Value, ref, cwd string, ok bool) {
	return b.s.Planned(v)
}

// sources shows the planner the files and the plans of a host.
type sources struct {
	ctx   context.Context    // of the call that plans
	files interp.Files       // nil: none can be read
	plans interp.StoredPlans // nil: there are none
	state *interp.State
}

func (s sources) Source(path string) (real, text string, ok bool) {
	if s.files == nil {
		return "", "", false
	}
	info, err := s.files.Stat(s.ctx, path)
	if err != nil || info.Type == "dir" {
		return "", "", false
	}
	if real, err = s.files.Real(s.ctx, path); err != nil {
		return "", "", false
	}
	text, err = interp.ReadSource(s.ctx, s.files, real)
	return real, text, err == nil
}

func (s sources) Module(real string) (value.Value, bool) { return s.state.LoadedModule(real) }

func (s sources) Names() syntax.Names { return s.state.Names() }

func (s sources) Plan(ref string) (src, cwd string, ok bool) {
	if s.plans == nil {
		return "", "", false
	}
	p, err := s.plans.Find(s.ctx, ref)
	return p.Source, p.Cwd, err == nil
}

// sourcesOf are the sources of a host; nil when it has neither files nor plans.
func sourcesOf(ctx context.Context, files interp.Files, plans interp.StoredPlans, s *interp.State) plan.Sources {
	if files == nil && plans == nil {
		return nil
	}
	return sources{ctx, files, plans, s}
}
