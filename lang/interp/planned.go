package interp

import (
	"context"
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

// maxPlans is how many plans a session keeps; the oldest goes first.
const maxPlans = 1000

// plans are the code that `plan` has looked at and `apply` may run, by number.
type plans struct {
	mu   sync.Mutex
	last int64
	code map[int64]value.Value
}

func (p *plans) keep(fn value.Value) int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.code == nil {
		p.code = map[int64]value.Value{}
	}
	p.last++
	p.code[p.last] = fn
	delete(p.code, p.last-maxPlans)
	return p.last
}

func (p *plans) find(id int64) (value.Value, bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fn, ok := p.code[id]
	return fn, ok
}

// Plan says what fn would do and keeps it under a number for Apply.
func (m *Machine) Plan(fn value.Value) (int64, Planned, error) {
	if m.run.Planner == nil {
		return 0, Planned{}, noPlanner()
	}
	planned, err := m.run.Planner.PlanCall(m.ctx, fn, m.state, m.host.Files)
	if err != nil {
		return 0, Planned{}, err
	}
	return m.world.plans.keep(fn), planned, nil
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
	fn, ok := m.world.plans.find(id)
	if !ok {
		return value.Null, value.Errorf(value.CodeNotFound, "no plan with the id %d", id)
	}
	m.aliases++
	defer func() { m.aliases-- }()
	return m.Call(fn)
}

func noPlanner() error {
	return value.Errorf(value.CodeArg, "this host cannot plan")
}
