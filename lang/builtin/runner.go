package builtin

import (
	"errors"
	"io/fs"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// runProgram runs a file with what its ending asks for, or a program by name.
func runProgram(m *interp.Machine, argv []string, span syntax.Span) (value.Value, error) {
	target := argv[0]
	known := interp.RunnerTools(target) != nil
	file, missing := fileAt(m, target)
	switch {
	case missing && isPath(target) && !known:
		return value.Null, hintErr(span, value.CodeRunnerNotFound,
			"endings with a runner: shl "+strings.Join(interp.Endings(), " "),
			"run: no file %s, and no runner for its ending", target)
	case missing && isPath(target):
		return value.Null, codeErr(span, value.CodeNotFound, "run: no file %s", target)
	case known && file:
		return m.RunFile(argv, span)
	}
	return m.External(argv, span)
}

// fileAt reports whether a target is a file, and whether there is none.
func fileAt(m *interp.Machine, target string) (file, missing bool) {
	if m.Host().Files == nil {
		return false, false
	}
	info, err := m.Host().Files.Stat(m.Context(), m.Abs(target))
	if err != nil {
		return false, isMissing(err) || errors.Is(err, fs.ErrNotExist)
	}
	return info.Type == "file", false
}
