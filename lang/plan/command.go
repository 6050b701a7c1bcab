package plan

import (
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// command walks a command line; more are arguments that a call of an alias
// appends.
func (w *walker) command(c *syntax.Command, more []Arg) abstract {
	for i := range c.EnvPrefix {
		w.parts(c.EnvPrefix[i].Value)
	}
	for i := range c.Redirects {
		w.redirect(&c.Redirects[i])
	}
	if c.Background {
		cwd, cds := w.cwd, w.cds
		defer func() { w.cwd, w.cds = cwd, cds }()
	}
	if c.Interp != nil {
		w.words(c.Args)
		w.spawn(c.Head.Text, c.Span)
		return ofKind(value.KindOutcome)
	}
	args := append(w.words(c.Args), more...)
	switch {
	case c.Trailing != nil && w.onlyPlans(c):
		return abstract{kind: value.KindRecord, typed: true, planned: &planned{&function{lambda: c.Trailing, scope: w.scope}, w.cwd, NewPlan}}
	case c.Trailing != nil:
		w.expr(c.Trailing)
	}
	head := w.word(&c.Head)
	if !head.Known || head.Value.Kind() != value.KindStr && head.Value.Kind() != value.KindPath {
		w.spawn("", c.Span)
		return ofKind(value.KindOutcome)
	}
	name := head.Value.AsStr()
	if a, bound := w.lookup(name); bound && c.Head.Kind == syntax.ArgWord {
		if a.fn != nil {
			return w.bound(a.fn, args)
		}
		w.mention(a)
		if len(args) == 0 && !c.Force && a.known {
			return a
		}
	}
	if reads(c) || c.Force && c.Trailing == nil && interp.ReadsInput(name, len(args)) {
		w.spawn(name, c.Span)
		return ofKind(value.KindOutcome)
	}
	return w.head(name, args, c.Span)
}

// onlyPlans reports whether a command is `plan`, which does not run its block:
// apply does.
func (w *walker) onlyPlans(c *syntax.Command) bool {
	_, bound := w.lookup("plan")
	return !bound && !c.Force && c.Head.Kind == syntax.ArgWord && c.Head.Text == "plan"
}

// reads reports whether a command has a `<`: then it is a program.
func reads(c *syntax.Command) bool {
	for i := range c.Redirects {
		if c.Redirects[i].Op == "<" {
			return true
		}
	}
	return false
}

// bound walks the call of a function or alias in command form. Words are
// converted on the way, so a function is followed with plain words only when
// none of them is a flag.
func (w *walker) bound(f *function, args []Arg) abstract {
	if f.alias != nil {
		w.depth++
		defer func() { w.depth-- }()
		if w.depth > maxDepth {
			if w.err == nil {
				w.err = value.Errorf(value.CodeRecursion, "calls nest more than %d deep", maxDepth)
			}
			return unknown
		}
		outer := w.scope
		w.scope = f.scope
		defer func() { w.scope = outer }()
		return w.aliased(f.alias, args)
	}
	given := make([]abstract, 0, len(args))
	for _, a := range args {
		if a.Flag != "" || a.Known && a.Value.Kind() == value.KindGlob {
			return w.follow(f, nil)
		}
		x := unknown
		if a.Known {
			x = constant(a.Value)
		}
		given = append(given, x)
	}
	return w.follow(f, given)
}

// aliased walks the command behind an alias. An alias that names itself means
// what lies behind the name.
func (w *walker) aliased(c *syntax.Command, args []Arg) abstract {
	if a, bound := w.lookup(c.Head.Text); bound && a.fn != nil && a.fn.alias == c {
		return w.head(c.Head.Text, append(w.words(c.Args), args...), c.Span)
	}
	return w.command(c, args)
}

func (w *walker) redirect(r *syntax.Redirect) {
	a := w.word(&r.Target)
	kind := effect.FSWrite
	if r.Op == "<" {
		kind = effect.FSRead
	}
	e := effect.Effect{Kind: kind, Path: effect.Any}
	if a.Known && (a.Value.Kind() == value.KindStr || a.Value.Kind() == value.KindPath) {
		target := a.Value.AsStr()
		switch {
		case strings.HasPrefix(target, "~"):
		case strings.HasPrefix(target, "/"):
			e.Path = clean(target)
		default:
			e.Path = clean(w.dir() + "/" + target)
		}
	}
	w.add(r.Span, e)
}

// words walks the words of a command.
func (w *walker) words(args []syntax.CmdArg) []Arg {
	out := make([]Arg, 0, len(args))
	literal := false // after `--` words are never flags
	for i := range args {
		c := &args[i]
		switch {
		case c.Kind == syntax.ArgSpread:
			out = append(out, w.spread(c)...)
			continue
		case literal && (c.Kind == syntax.ArgLong || c.Kind == syntax.ArgShort || c.Kind == syntax.ArgDashDash):
			out = append(out, w.literal(c))
			continue
		}
		switch c.Kind {
		case syntax.ArgDashDash:
			literal = true
		case syntax.ArgShort:
			for _, letter := range c.Flag {
				out = append(out, Arg{Flag: string(letter)})
			}
		default:
			out = append(out, w.word(c))
		}
	}
	return out
}

// literal is a word that would be a flag before `--`. One whose text is put
// together at run time is unknown.
func (w *walker) literal(c *syntax.CmdArg) Arg {
	if w.word(c); c.Text == "" {
		return Arg{}
	}
	return Arg{Known: true, Value: value.Str(c.Text)}
}

// spread is `...(xs)`: each element, or one unknown argument.
func (w *walker) spread(c *syntax.CmdArg) []Arg {
	a := w.expr(c.X)
	w.mention(a)
	if !a.known || a.v.Kind() != value.KindList {
		return []Arg{{}}
	}
	var out []Arg
	for _, item := range a.v.AsList().Items {
		out = append(out, Arg{Known: true, Value: item})
	}
	return out
}

func (w *walker) word(c *syntax.CmdArg) Arg {
	out := Arg{Known: true, Value: value.Str(c.Text)}
	switch c.Kind {
	case syntax.ArgValue:
		a := w.expr(c.X)
		w.mention(a)
		return a.arg()
	case syntax.ArgLong:
		out = Arg{Flag: c.Flag}
		if c.HasValue {
			out.Value, out.Known = w.joined(c.Parts)
		}
		return out
	case syntax.ArgGlob:
		if text, known := w.joined(c.Parts); c.Parts != nil {
			if !known {
				w.add(c.Span, effect.Effect{Kind: effect.FSRead, Path: effect.Any})
				return Arg{}
			}
			out.Value = text
		}
		pattern := out.Value.AsStr()
		w.add(c.Span, effect.Effect{Kind: effect.FSRead, Path: w.globTarget(pattern)})
		return Arg{Known: true, Value: value.NewGlob(value.Glob{Pattern: pattern, Cwd: w.cwd})}
	case syntax.ArgPath:
		out.Value = value.Path(c.Text)
	}
	if c.Parts != nil {
		text, known := w.joined(c.Parts)
		if !known {
			return Arg{}
		}
		out.Value = text
	}
	return out
}

// globTarget is what expanding a pattern reads: the pattern, made absolute.
func (w *walker) globTarget(pattern string) string {
	switch {
	case strings.HasPrefix(pattern, "~"):
		return effect.Any
	case strings.HasPrefix(pattern, "/"):
		return clean(pattern)
	}
	return clean(w.dir() + "/" + pattern)
}

func (w *walker) parts(parts []syntax.WordPart) { w.joined(parts) }

// joined is the text of touching pieces, if all of it is known.
func (w *walker) joined(parts []syntax.WordPart) (value.Value, bool) {
	var b strings.Builder
	known := true
	for i := range parts {
		if parts[i].X == nil {
			b.WriteString(parts[i].Text)
			continue
		}
		a := w.expr(parts[i].X)
		w.mention(a)
		text, err := value.ArgvText(a.v)
		if !a.known || err != nil {
			known = false
			continue
		}
		b.WriteString(text)
	}
	return value.Str(b.String()), known
}
