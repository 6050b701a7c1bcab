package interp

import (
	"context"
	"strings"
	"sync"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Planned is what is known of code before it runs.
type Planned struct {
	Effects    []effect.Effect
	Reversible bool
	Spawns     bool
}

// Planner derives effects without running anything; it reads files of source
// through files, which may be nil.
type Planner interface {
	// Plan is for a program that would run on s.
	Plan(ctx context.Context, tree *syntax.Program, s *State, files Files) (Planned, *value.Error)
	// PlanCall is for a call of fn without arguments.
	PlanCall(ctx context.Context, fn value.Value, s *State, files Files) (Planned, *value.Error)
}

// Plans is where a kernel keeps plans. Without it a session has its own, which
// have numbers but no references.
type Plans interface {
	// Keep stores what src would do and gives the reference of the plan.
	Keep(ctx context.Context, src string, p Planned) (ref string, err error)
	// Claim gives the source of a plan that may run now, and takes note that it
	// does; not_found or permission otherwise.
	Claim(ctx context.Context, ref string) (src string, err error)
}

// maxPlans is how many plans a session keeps; the oldest goes first.
const maxPlans = 1000

// plans are the code that `plan` has looked at and `apply` may run, by number.
type plans struct {
	mu   sync.Mutex
	last int64
	kept map[int64]keptPlan
}

type keptPlan struct {
	fn  value.Value
	ref string // "" without a kernel
}

func (p *plans) keep(plan keptPlan) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.kept == nil {
		p.kept = map[int64]keptPlan{}
	}
	p.last++
	p.kept[p.last] = plan
	delete(p.kept, p.last-maxPlans)
	return p.last
}

func (p *plans) find(id int64) (keptPlan, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	plan, ok := p.kept[id]
	return plan, ok
}

// withRef is the plan of that reference, if this session made it.
func (p *plans) withRef(ref string) (keptPlan, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, plan := range p.kept {
		if plan.ref == ref {
			return plan, true
		}
	}
	return keptPlan{}, false
}

// Plan says what fn would do and keeps it under a number, and with a kernel
// under a reference, for Apply.
func (m *Machine) Plan(fn value.Value) (id int64, ref string, p Planned, err error) {
	if m.run.Planner == nil {
		return 0, "", Planned{}, noPlanner()
	}
	p, perr := m.run.Planner.PlanCall(m.ctx, fn, m.state, m.host.Files)
	if perr != nil {
		return 0, "", Planned{}, perr
	}
	if m.host.Plans != nil {
		if ref, err = m.host.Plans.Keep(m.ctx, sourceOf(fn), p); err != nil {
			return 0, "", Planned{}, err
		}
	}
	return m.world.plans.keep(keptPlan{fn, ref}), ref, p, nil
}

// sourceOf is the text of a block, without its braces.
func sourceOf(fn value.Value) string {
	if fn.Kind() != value.KindClosure {
		return ""
	}
	f, ok := fn.AsClosure().Fn.(*Func)
	if !ok {
		return ""
	}
	at := f.code.lambda.Body.Pos()
	text := f.code.unit.tree.Src[at.Start:at.End]
	if strings.HasPrefix(text, "{") && strings.HasSuffix(text, "}") {
		text = text[1 : len(text)-1]
	}
	return strings.TrimSpace(text)
}

// Explain says what a source would do in this session.
func (m *Machine) Explain(src string) (Planned, error) {
	if m.run.Planner == nil {
		return Planned{}, noPlanner()
	}
	tree, perr := syntax.Parse(src, m.state.Names())
	if perr != nil {
		err := value.Errorf(value.CodeParse, "%s", perr.Msg)
		if perr.Hint != "" {
			err = err.WithHint("%s", perr.Hint)
		}
		return Planned{}, err
	}
	planned, err := m.run.Planner.Plan(m.ctx, tree, m.state, m.host.Files)
	if err != nil {
		return Planned{}, err
	}
	return planned, nil
}

// Apply runs what was planned under that number. It runs as the session's own
// code: it may change directory and environment where the caller may.
func (m *Machine) Apply(id int64) (value.Value, error) {
	plan, ok := m.world.plans.find(id)
	if !ok {
		return value.Null, value.Errorf(value.CodeNotFound, "no plan with the id %d", id)
	}
	if plan.ref != "" && m.host.Plans != nil {
		if _, err := m.host.Plans.Claim(m.ctx, plan.ref); err != nil {
			return value.Null, err
		}
	}
	return m.applied(plan.fn)
}

// ApplyRef is Apply for a reference; a plan that another session made runs by
// its source.
func (m *Machine) ApplyRef(ref string, span syntax.Span) (value.Value, error) {
	if m.host.Plans == nil {
		return value.Null, value.Errorf(value.CodeNotFound, "no plan with the ref `%s`", ref)
	}
	src, err := m.host.Plans.Claim(m.ctx, ref)
	if err != nil {
		return value.Null, err
	}
	if plan, ok := m.world.plans.withRef(ref); ok {
		return m.applied(plan.fn)
	}
	p, perr := Parse(src, m.scope().Names(), m.lib)
	if perr != nil {
		return value.Null, SourceError(ref, src, perr)
	}
	p.unit.scope, p.unit.dir = m.links.unit.scope, m.links.unit.dir
	back := m.beginCallback()
	return m.endCallback(m.nested(p, span), back)
}

func (m *Machine) applied(fn value.Value) (value.Value, error) {
	m.aliases++
	defer func() { m.aliases-- }()
	return m.Call(fn)
}

func noPlanner() error {
	return value.Errorf(value.CodeArg, "this host cannot plan")
}
