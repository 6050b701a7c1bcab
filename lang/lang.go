// Package lang is the language as the rest of Shoal uses it: Compile source,
// Run it, Plan it.
//
// A Compiler owns the library table and a bounded cache of compiled programs;
// programs are immutable and may run in many sessions at once. It promises
// that Plan never runs anything, and that what Run does was in the Plan. It
// never reaches the world: that is the Host a run is given.
package lang

import (
	"context"

	"shoal.dev/shoal/lang/builtin"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/plan"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// Compiler turns source into programs. It is safe for concurrent use.
type Compiler struct {
	lib   *builtin.Lib
	cache *cache
}

// NewCompiler makes a compiler with an empty cache.
func NewCompiler() *Compiler {
	return &Compiler{lib: builtin.Library(), cache: newCache()}
}

// Program is a compiled program.
type Program struct {
	code *interp.Program
	lib  *builtin.Lib
}

// Compile parses and compiles src for a session. The same source with the same
// answers to the names it depends on is compiled once.
func (c *Compiler) Compile(src string, s *interp.State) (*Program, *syntax.Error) {
	names := s.Names()
	if p := c.cache.find(src, names); p != nil {
		return p, nil
	}
	code, err := interp.Parse(src, names, c.lib)
	if err != nil {
		return nil, err
	}
	p := &Program{code: code, lib: c.lib}
	c.cache.add(src, names, p)
	return p, nil
}

// Library is the library table that programs are compiled against.
func (c *Compiler) Library() *builtin.Lib { return c.lib }

// Run runs the program to its end and gives its value; see interp.Program.Run.
func (p *Program) Run(ctx context.Context, r interp.Run) (value.Value, error) {
	if r.Planner == nil {
		r.Planner = planner{p.lib}
	}
	return p.code.Run(ctx, r)
}

// Plan derives what the program would do in a session, without running any of
// it. Files that it would load are opaque.
func (p *Program) Plan(s *interp.State) plan.Result {
	return plan.Derive(p.code.Tree(), rows{p.lib}, bindings{s}, nil)
}

// PlanFiles is Plan that reads the modules and scripts which the program would
// load, and the plans which it would apply, and follows them too. Both files and
// plans may be nil.
func (p *Program) PlanFiles(ctx context.Context, s *interp.State, files interp.Files, plans interp.StoredPlans) plan.Result {
	return plan.Derive(p.code.Tree(), rows{p.lib}, bindings{s}, sourcesOf(ctx, files, plans, s))
}

// Tree is the parsed program; it must not be changed.
func (p *Program) Tree() *syntax.Program { return p.code.Tree() }
