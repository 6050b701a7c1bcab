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

	Reversibility effect.Reversibility
	Files         map[string]string // texts of the files that would run, by real path
}

// Planner derives effects without running anything; it reads files of source
// through files, and what is planned elsewhere from plans, which both may be nil.
type Planner interface {
	// Plan is for a program that would run on s.
	Plan(ctx context.Context, tree *syntax.Program, s *State, files Files, plans StoredPlans) (Planned, *value.Error)
	// PlanCall is for a call of fn without arguments.
	PlanCall(ctx context.Context, fn value.Value, s *State, files Files, plans StoredPlans) (Planned, *value.Error)
}

// Plans is where a kernel keeps plans. Without it a session has its own, which
// have numbers but no references. Errors are not_found, or permission where
// policy stands in the way.
type Plans interface {
	// Keep stores what src would do in the directory cwd and gives the reference
	// of the plan.
	Keep(ctx context.Context, src, cwd string, p Planned) (ref string, err error)
	StoredPlans
	// Claim takes note that a plan runs now, in the directory cwd and with the
	// effects p, which must be those that were planned. The host is the one to run
	// it on.
	Claim(ctx context.Context, ref, cwd string, p Planned) (*Host, error)
}

// StoredPlans finds what a kernel keeps.
type StoredPlans interface {
	// Find is a plan that has not been applied, and may be.
	Find(ctx context.Context, ref string) (StoredPlan, error)
}

// StoredPlan is what a kernel knows of a plan: its source, and the directory in
// which that is to run.
type StoredPlan struct{ Source, Cwd string }

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
	cwd string // where it was made, and is to run
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

// Planned is the code behind a plan that the session keeps, which a value names as
// it does for `apply`: the plan's record, its number or its reference.
func (s *State) Planned(v value.Value) (fn value.Value, ref, cwd string, ok bool) {
	if v.Kind() == value.KindRecord {
		v, _ = v.AsRecord().Get("id")
	}
	var plan keptPlan
	switch v.Kind() {
	case value.KindInt:
		plan, ok = s.world.plans.find(v.AsInt())
	case value.KindStr:
		if n, err := value.ConvertWord(v.AsStr(), "int"); err == nil {
			plan, ok = s.world.plans.find(n.AsInt())
		} else {
			plan, ok = s.world.plans.withRef(v.AsStr())
		}
	}
	return plan.fn, plan.ref, plan.cwd, ok
}

// Plan says what fn would do and keeps it under a number, and with a kernel
// under a reference, for Apply.
func (m *Machine) Plan(fn value.Value) (id int64, ref string, p Planned, err error) {
	if m.run.Planner == nil {
		return 0, "", Planned{}, noPlanner()
	}
	p, perr := m.run.Planner.PlanCall(m.ctx, fn, m.state, m.host.Files, m.host.Plans)
	if perr != nil {
		return 0, "", Planned{}, perr
	}
	cwd := m.Cwd()
	if m.host.Plans != nil {
		m.Outside(func() { ref, err = m.host.Plans.Keep(m.ctx, sourceOf(fn), cwd, p) })
		if err != nil {
			return 0, "", Planned{}, err
		}
	}
	return m.world.plans.keep(keptPlan{fn, ref, cwd}), ref, p, nil
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
	planned, err := m.run.Planner.Plan(m.ctx, tree, m.state, m.host.Files, m.host.Plans)
	if err != nil {
		return Planned{}, err
	}
	return planned, nil
}

// Apply runs what was planned under that number. It runs as the session's own
// code, in the directory of the plan: it may change directory and environment
// where the caller may.
func (m *Machine) Apply(id int64) (value.Value, error) {
	plan, ok := m.world.plans.find(id)
	if !ok {
		return value.Null, value.Errorf(value.CodeNotFound, "no plan with the id %d", id)
	}
	return m.applyKept(plan)
}

// ApplyRef is Apply for a reference; a plan that this session did not make runs
// by its source.
func (m *Machine) ApplyRef(ref string, span syntax.Span) (value.Value, error) {
	if plan, ok := m.world.plans.withRef(ref); ok {
		return m.applyKept(plan)
	}
	if m.host.Plans == nil {
		return value.Null, value.Errorf(value.CodeNotFound, "no plan with the ref `%s`", ref)
	}
	var stored StoredPlan
	var err error
	m.Outside(func() { stored, err = m.host.Plans.Find(m.ctx, ref) })
	if err != nil {
		return value.Null, err
	}
	p, perr := Parse(stored.Source, m.scope().Names(), m.lib)
	if perr != nil {
		return value.Null, SourceError(ref, stored.Source, perr)
	}
	p.unit.scope, p.unit.dir = m.links.unit.scope, m.links.unit.dir
	defer m.within(stored.Cwd)()
	derive := func() (Planned, *value.Error) {
		return m.run.Planner.Plan(m.ctx, p.unit.tree, m.state, m.host.Files, m.host.Plans)
	}
	return m.claimed(ref, derive, func() (value.Value, error) {
		back := m.beginCallback()
		return m.endCallback(m.nested(p, span), back)
	})
}

// applyKept runs a plan that this session made, with the names it was made with.
func (m *Machine) applyKept(plan keptPlan) (value.Value, error) {
	defer m.within(plan.cwd)()
	run := func() (value.Value, error) {
		m.aliases++
		defer func() { m.aliases-- }()
		return m.Call(plan.fn)
	}
	if plan.ref == "" || m.host.Plans == nil {
		return run()
	}
	derive := func() (Planned, *value.Error) {
		return m.run.Planner.PlanCall(m.ctx, plan.fn, m.state, m.host.Files, m.host.Plans)
	}
	return m.claimed(plan.ref, derive, run)
}

// claimed runs a plan of the kernel on the host that the kernel gives for it, if
// it would still do what was planned.
func (m *Machine) claimed(ref string, derive func() (Planned, *value.Error), run func() (value.Value, error)) (value.Value, error) {
	if m.run.Planner == nil {
		return value.Null, noPlanner()
	}
	now, perr := derive()
	if perr != nil {
		return value.Null, perr
	}
	var host *Host
	var err error
	cwd := m.Cwd()
	m.Outside(func() { host, err = m.host.Plans.Claim(m.ctx, ref, cwd, now) })
	if err != nil {
		return value.Null, err
	}
	own := m.host
	m.host = host
	defer func() { m.host = own }()
	return run()
}

// within moves the session to the directory of a plan. The function that it
// gives brings it back, unless the plan has moved it further.
func (m *Machine) within(cwd string) (back func()) {
	saved := m.state.place()
	if saved.cwd == cwd {
		return func() {}
	}
	there := saved
	there.cwd = cwd
	m.state.setPlace(there)
	state := m.state
	return func() {
		if state.place().cwd == cwd {
			state.setPlace(saved)
		}
	}
}

func noPlanner() error {
	return value.Errorf(value.CodeArg, "this host cannot plan")
}
