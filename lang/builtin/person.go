package builtin

import (
	"runtime"
	"strings"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// personRows are the heads for the person at the host, and undo.
func personRows() []headRow {
	return []headRow{
		{"open", "open PATH", "Opens a file, a directory or a URL with the desktop's program for it; does not wait.", false, openEffects, headOpen},
		{"interact", "interact CMD ARG…", "Runs a program on the terminal of the person at the host.", false, runEffects, headInteract},
		{"undo", "undo [ENTRY]", "Reverses the newest statement that can be, or those of an entry: {entry, undone, actions}.", false, undoEffects, headUndo},
	}
}

// opener is the desktop's program that opens files.
func opener() string {
	if runtime.GOOS == "darwin" {
		return "open"
	}
	return "xdg-open"
}

// detached is the program of sh that starts its arguments and does not wait.
const detached = `"$@" </dev/null >/dev/null 2>&1 &`

func openEffects([]interp.EffectArg, string) []effect.Effect {
	return []effect.Effect{
		{Kind: effect.ProcSpawn, Argv0: opener()}, {Kind: effect.ProcSpawn, Argv0: "sh"},
		{Kind: effect.Opaque, Why: "open"},
	}
}

func headOpen(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) != 1 {
		return value.Null, argErr(c.Span, "open requires a path")
	}
	target, err := w.path(w.args[0])
	if err != nil {
		return value.Null, err
	}
	return value.Null, openWith(c.M, target, c.Span)
}

func callOpen(c *interp.Call, a []value.Value) (value.Value, error) {
	if a[0].AsStr() == "" {
		return value.Null, argErr(c.Span, "open: empty path")
	}
	return value.Null, openWith(c.M, a[0].AsStr(), c.Span)
}

func openWith(m *interp.Machine, target string, span syntax.Span) error {
	if !strings.Contains(target, "://") {
		files, err := hostFiles(m, "open", span)
		if err != nil {
			return err
		}
		target = absolute(m, target)
		if _, err := files.Stat(m.Context(), target); err != nil {
			return hintErr(span, value.CodeCustom, "", "open %s: %s", lossy(target), reason(err))
		}
	}
	if m.Host().Programs == nil {
		return argErr(span, "open: this host starts no programs")
	}
	if _, err := m.Host().Programs.LookPath(m.Context(), opener(), m.Cwd(), m.Environ()); err != nil {
		if isCancelled(err) {
			return err
		}
		return hintErr(span, value.CodeCustom, "`path(\"file\").read` gives the content; `interact` runs a program on a terminal",
			"open: there is no %s here", opener())
	}
	_, err := m.External([]string{"sh", "-c", detached, "sh", opener(), target}, span)
	return err
}

func headInteract(c *interp.HeadCall) (value.Value, error) {
	if !c.Block.IsNull() {
		return value.Null, typeErr(c.Span, "interact takes no block")
	}
	argv, err := wordsArgv(c)
	if err != nil {
		return value.Null, err
	}
	if len(argv) == 0 {
		return value.Null, argErr(c.Span, "interact requires a command")
	}
	if c.M.Host().Terminal == nil {
		return value.Null, noTerminal(c.Name, c.Span)
	}
	return c.M.Interact(argv, strings.Join(argv, " "))
}

// noTerminal refuses what only a person at a terminal can do.
func noTerminal(name string, span syntax.Span) error {
	return hintErr(span, value.CodeArg, "the PTY tools open a terminal for a program: shoal_pty_open", "%s: this host has no terminal", name)
}

// maxPick is how many items a person can be asked to choose from.
const maxPick = 100_000

// anyPick lets the person choose among the items of a sequence, or take or
// leave the value itself.
func anyPick(c *interp.Call, a []value.Value) (value.Value, error) {
	if c.M.Host().Terminal == nil {
		return value.Null, noTerminal(c.Name, c.Span)
	}
	what, err := c.Recv, error(nil)
	if what.Kind() == value.KindOutcome {
		if what, err = what.AsOutcome().OutValue(); err != nil {
			return value.Null, err
		}
	}
	from := []value.Value{what}
	switch what.Kind() {
	case value.KindList, value.KindTable, value.KindRange, value.KindGlob:
		from, err = items(c, what)
	case value.KindStream:
		from, err = c.M.Collect(what.AsStream(), ".pick")
	}
	if err != nil {
		return value.Null, err
	}
	if len(from) > maxPick {
		return value.Null, codeErr(c.Span, value.CodeOverflow, "pick: more than %d items", maxPick)
	}
	lines := make([]string, len(from))
	for i, v := range from {
		lines[i] = value.EchoText(v)
	}
	chosen, ok, err := c.M.Host().Terminal.Pick(c.M.Context(), a[0].AsStr(), lines, a[1].AsBool())
	switch {
	case err != nil:
		return value.Null, hostErr(c, err)
	case !ok || len(chosen) == 0 && !a[1].AsBool():
		return value.Null, codeErr(c.Span, value.CodeCustom, "pick: cancelled")
	case !a[1].AsBool():
		return from[chosen[0]], nil
	}
	out := make([]value.Value, len(chosen))
	for i, n := range chosen {
		out[i] = from[n]
	}
	return value.NewList(out), nil
}

// undoEffects are any: what is reversed is known to the host only, which
// judges each step.
func undoEffects([]interp.EffectArg, string) []effect.Effect {
	return []effect.Effect{{Kind: effect.FSWrite, Path: effect.Any}, {Kind: effect.FSDelete, Path: effect.Any}}
}

func headUndo(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	entry := ""
	if len(w.args) == 1 {
		text, err := value.ArgvText(w.args[0].v)
		if err != nil {
			return value.Null, err.WithSpan(spanOf(w.args[0].span))
		}
		entry = text
	}
	if c.M.Host().Undo == nil {
		return value.Null, hintErr(c.Span, value.CodeCustom, "a session of a kernel keeps one: `shoal --session NAME …`, or the MCP tools",
			"undo: nothing to undo: there is no record of what was done here")
	}
	return c.M.Host().Undo.Undo(c.M.Context(), entry)
}
