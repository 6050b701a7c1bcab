package builtin

import (
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// programRows are the heads that find and run programs, and save.
func programRows() []headRow {
	return []headRow{
		{"which", "which [-a|--all] NAME", "Where a command name leads: a record {name, kind, path}, null if nowhere; with --all a table.", true, only(), headWhich},
		{"run", "run TARGET [ARG…]", "Runs a program by name, whatever else has that name.", false, runEffects, headRun},
		{"save", "save PATH VALUE", "Writes the value to a file; gives the value back.", false, firstWriteEffects, headSave},
	}
}

var whichShape = value.ShapeOf("name", "kind", "path")

func headWhich(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "all", short: "a"}}, 1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) != 1 {
		return value.Null, argErr(c.Span, "which requires a name")
	}
	name, err := w.text(w.args[0], "the name")
	if err != nil {
		return value.Null, err
	}
	var rows []*value.Record
	if c.M.Library().Head(name) != nil {
		rows = append(rows, whichRow(name, "builtin", value.Null))
	}
	at, err := findProgram(c, name)
	if err != nil {
		return value.Null, err
	}
	if at != "" {
		rows = append(rows, whichRow(name, "program", value.Path(at)))
	}
	switch {
	case w.has("all"):
		return value.NewTable(rows), nil
	case len(rows) == 0:
		return value.Null, nil
	}
	return rows[0].Value(), nil
}

func whichRow(name, kind string, at value.Value) *value.Record {
	return value.NewRecord(whichShape, []value.Value{value.Str(name), value.Str(kind), at}).AsRecord()
}

// findProgram is the executable behind a name, "" if there is none.
func findProgram(c *interp.HeadCall, name string) (string, error) {
	if c.M.Host().Programs == nil {
		return "", nil
	}
	at, err := c.M.Host().Programs.LookPath(c.M.Context(), name, c.M.Cwd(), c.M.Environ())
	if err != nil {
		return "", refusedLookup(err)
	}
	return at, nil
}

// refusedLookup keeps only what is no plain "not there".
func refusedLookup(err error) error {
	if isCancelled(err) {
		return err
	}
	return nil
}

func headRun(c *interp.HeadCall) (value.Value, error) {
	if !c.Block.IsNull() {
		return value.Null, typeErr(c.Span, "run takes no block")
	}
	argv, err := wordsArgv(c)
	if err != nil {
		return value.Null, err
	}
	if len(argv) == 0 {
		return value.Null, argErr(c.Span, "run requires a target")
	}
	return c.M.External(argv, c.Span)
}

// wordsArgv is the words of a head as a program gets them: flags and dashes as
// written, values by their argv text.
func wordsArgv(c *interp.HeadCall) ([]string, error) {
	var argv []string
	for _, word := range c.Words {
		plain := word.Kind == syntax.ArgLong || word.Kind == syntax.ArgShort ||
			word.Kind == syntax.ArgDash || word.Kind == syntax.ArgDashDash
		if plain || !word.Has {
			argv = append(argv, word.Text)
			continue
		}
		if word.Value.Kind() == value.KindGlob {
			found, err := c.M.Expand(word.Value.AsGlob())
			if err != nil {
				return nil, err
			}
			argv = append(argv, found...)
			continue
		}
		text, err := value.ArgvText(word.Value)
		if err != nil {
			return nil, err.WithSpan(spanOf(word.Span))
		}
		argv = append(argv, text)
	}
	return argv, nil
}

// callRun is run(target, args…); --k=v spellings are for command lines.
func callRun(c *interp.Call, a []value.Value) (value.Value, error) {
	argv := make([]string, 0, len(a))
	for _, v := range a {
		text, err := value.ArgvText(v)
		if err != nil {
			return value.Null, err.WithSpan(spanOf(c.Span))
		}
		argv = append(argv, text)
	}
	return c.M.External(argv, c.Span)
}

// isCancelled reports that the run as a whole is to end.
func isCancelled(err error) bool {
	e, ok := err.(*value.Error)
	return ok && e.Code == value.CodeCancelled
}
