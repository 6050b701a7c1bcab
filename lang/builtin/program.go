package builtin

import (
	"path/filepath"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// programRows are the heads that find programs, and save.
func programRows() []headRow {
	return []headRow{
		{"which", "which [-a|--all] NAME", "The program behind a name as a record, null if there is none; with --all a table of all in PATH.", true, only(), headWhich},
		{"save", "save PATH VALUE", "Writes the value to a file; gives the value back.", false, firstWriteEffects, headSave},
	}
}

// The rows of which. Nothing here constrains tools, so the first program in
// PATH decides.
var (
	whichShape = value.ShapeOf("name", "scope", "constraint", "version", "provider", "path", "hash8", "locked", "chain", "note", "hint")
	toolShape  = value.ShapeOf("tool", "version", "path", "provider", "scope")
)

// What which says of a program that is only known by its place in PATH.
const (
	ambientScope   = "ambient"
	systemProvider = "system"
	unknownVersion = "unknown"
)

// headWhich looks for programs only: that a builtin has the name too does not
// change the answer.
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
	if w.has("all") {
		return allPrograms(c, name)
	}
	at, err := findProgram(c, name, c.M.Environ())
	if err != nil || at == "" {
		return value.Null, err
	}
	return value.NewRecord(whichShape, []value.Value{
		value.Str(name), value.Str(ambientScope), value.Str("*"), value.Str(unknownVersion),
		value.Str(systemProvider), value.Path(at), value.Null, value.Bool(false),
		value.NewTable(nil), value.Null, value.Null,
	}), nil
}

// allPrograms asks for each directory of PATH by itself.
func allPrograms(c *interp.HeadCall, name string) (value.Value, error) {
	var rows []*value.Record
	list, _ := c.M.Getenv("PATH")
	if list.Kind() != value.KindStr {
		return value.NewTable(nil), nil
	}
	for _, dir := range filepath.SplitList(list.AsStr()) {
		at, err := findProgram(c, name, []string{"PATH=" + dir})
		if err != nil {
			return value.Null, err
		}
		if at != "" {
			rows = append(rows, value.NewRecord(toolShape, []value.Value{
				value.Str(name), value.Str(unknownVersion), value.Path(at), value.Str(systemProvider), value.Str(ambientScope),
			}).AsRecord())
		}
	}
	return value.NewTable(rows), nil
}

// findProgram is the executable behind a name in the PATH of env, "" if there
// is none.
func findProgram(c *interp.HeadCall, name string, env []string) (string, error) {
	if c.M.Host().Programs == nil {
		return "", nil
	}
	at, err := c.M.Host().Programs.LookPath(c.M.Context(), name, c.M.Cwd(), env)
	if err != nil {
		if isCancelled(err) {
			return "", err
		}
		return "", nil
	}
	return at, nil
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

// isCancelled reports that the run as a whole is to end.
func isCancelled(err error) bool {
	e, ok := err.(*value.Error)
	return ok && e.Code == value.CodeCancelled
}
