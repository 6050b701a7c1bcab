package builtin

import (
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// scriptRows are the heads that run source of the language or look at it.
func scriptRows() []headRow {
	return []headRow{
		{"run", "run TARGET [ARG…]", "Runs a script, whose value is its last statement's, or a program by name, whatever else has that name.", false, runEffects, headRun},
		{"source", "source PATH", "Runs a file in the present scope, which keeps what it declares; gives its last value.", false, sourceEffects, headSource},
		{"plan", "plan CMD ARG…, plan { … }", "What code would do, without doing it: {id, ref, effects, reversible, spawns}.", false, only(), headPlan},
		{"apply", "apply PLAN|ID|REF", "Runs what was planned; gives its value.", false, applyEffects, headApply},
		{"explain", "explain SOURCE", "What a source would do: {source, effects, reversible, spawns}.", false, only(), headExplain},
	}
}

// headRun runs a script when the target is one, and a program otherwise.
func headRun(c *interp.HeadCall) (value.Value, error) {
	if !c.Block.IsNull() {
		return value.Null, typeErr(c.Span, "run takes no block")
	}
	if len(c.Words) > 0 {
		if path, ok := scriptPath(c.M, c.Words[0]); ok {
			args := make([]value.Value, 0, len(c.Words)-1)
			for _, w := range c.Words[1:] {
				v, err := interp.ScriptArg(w)
				if err != nil {
					return value.Null, err
				}
				args = append(args, v)
			}
			return c.M.Script(path, args, c.Span)
		}
	}
	argv, err := wordsArgv(c)
	if err != nil {
		return value.Null, err
	}
	if len(argv) == 0 {
		return value.Null, argErr(c.Span, "run requires a target")
	}
	return runProgram(c.M, argv, c.Span)
}

// callRun is run(target, args…); --k=v spellings are for command lines.
func callRun(c *interp.Call, a []value.Value) (value.Value, error) {
	if isScript(c.M, a[0].AsStr()) {
		args := make([]value.Value, 0, len(a)-1)
		for _, v := range a[1:] {
			if v.Kind() != value.KindPath {
				text, err := value.ArgvText(v)
				if err != nil {
					return value.Null, err.WithSpan(spanOf(c.Span))
				}
				v = value.Str(text)
			}
			args = append(args, v)
		}
		return c.M.Script(a[0].AsStr(), args, c.Span)
	}
	argv := make([]string, 0, len(a))
	for _, v := range a {
		text, err := value.ArgvText(v)
		if err != nil {
			return value.Null, err.WithSpan(spanOf(c.Span))
		}
		argv = append(argv, text)
	}
	return runProgram(c.M, argv, c.Span)
}

// scriptPath is the script that a word names.
func scriptPath(m *interp.Machine, w interp.Word) (string, bool) {
	text := w.Text
	if w.Has {
		if k := w.Value.Kind(); k != value.KindStr && k != value.KindPath {
			return "", false
		}
		text = w.Value.AsStr()
	}
	return text, isScript(m, text)
}

// isScript reports whether a target of run is a script of the language: a path
// that says so, or a file that is there.
func isScript(m *interp.Machine, target string) bool {
	if !strings.HasSuffix(target, ".shl") {
		return false
	}
	return isPath(target) || isFile(m, target)
}

// isPath reports whether a target of run can only be a file.
func isPath(target string) bool {
	return strings.Contains(target, "/") || strings.HasPrefix(target, ".") || strings.HasPrefix(target, "~")
}

func isFile(m *interp.Machine, name string) bool {
	if m.Host().Files == nil {
		return false
	}
	info, err := m.Host().Files.Stat(m.Context(), m.Abs(name))
	return err == nil && info.Type == "file"
}

func headSource(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	paths, err := w.somePaths()
	if err != nil {
		return value.Null, err
	}
	if len(paths) != 1 {
		return value.Null, argErr(c.Span, "source: expected one file, got %d", len(paths))
	}
	return c.M.Source(paths[0], c.Span)
}

func headPlan(c *interp.HeadCall) (value.Value, error) {
	if c.Block.IsNull() || len(c.Words) > 0 {
		return value.Null, hintErr(c.Span, value.CodeArg, "`plan rm notes.txt`, or `plan { … }`",
			"plan takes a command or a block")
	}
	id, ref, planned, err := c.M.Plan(c.Block)
	if err != nil {
		return value.Null, err
	}
	var b value.RecordBuilder
	b.Add("id", value.Int(id))
	b.Add("ref", value.Str(ref))
	addPlanned(&b, planned)
	return b.Done(), nil
}

func addPlanned(b *value.RecordBuilder, p interp.Planned) {
	effects := make([]value.Value, len(p.Effects))
	for i, e := range p.Effects {
		effects[i] = value.Str(e.String())
	}
	b.Add("effects", value.NewList(effects))
	b.Add("reversible", value.Bool(p.Reversible))
	b.Add("spawns", value.Bool(p.Spawns))
}

func headExplain(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) != 1 || w.args[0].v.Kind() != value.KindStr {
		return value.Null, hintErr(c.Span, value.CodeArg, `explain "rm notes.txt"`, "explain takes source text as a str")
	}
	src := w.args[0].v.AsStr()
	planned, err := c.M.Explain(src)
	if err != nil {
		return value.Null, err
	}
	var b value.RecordBuilder
	b.Add("source", value.Str(src))
	addPlanned(&b, planned)
	return b.Done(), nil
}

func headApply(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) != 1 {
		return value.Null, argErr(c.Span, "apply takes a plan")
	}
	v, err := planNamed(w.args[0])
	switch {
	case err != nil:
		return value.Null, err
	case v.Kind() == value.KindStr:
		return c.M.ApplyRef(v.AsStr(), c.Span)
	}
	return c.M.Apply(v.AsInt())
}

// planNamed is the number or the reference of the plan that an operand names.
func planNamed(o operand) (value.Value, error) {
	v := o.v
	if o.word {
		if n, err := value.ConvertWord(v.AsStr(), "int"); err == nil {
			v = n
		} else if name := v.AsStr(); !strings.HasPrefix(name, "plan:") {
			return value.Null, hintErr(o.span, value.CodeArg, "`apply ("+name+")` applies the plan that a name holds", "apply: `%s` is a word, not a plan, its id or its ref", name)
		}
	}
	if v.Kind() == value.KindRecord {
		v, _ = v.AsRecord().Get("id")
	}
	if k := v.Kind(); k != value.KindInt && k != value.KindStr {
		return value.Null, argErr(o.span, "apply: expected a plan, its id or its ref, got %s", o.v.Kind())
	}
	return v, nil
}

// sourceEffects reads the file; what is in it is followed by planning it, not
// by this row.
func sourceEffects(args []interp.EffectArg, cwd string) []effect.Effect {
	of := operands(args, nil)
	return append(pathEffects(effect.FSRead, of[:min(1, len(of))], cwd), effect.Effect{Kind: effect.Opaque, Why: "source"})
}

func applyEffects([]interp.EffectArg, string) []effect.Effect {
	return []effect.Effect{{Kind: effect.Opaque, Why: "apply"}}
}
