package builtin

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// runners are the programs that run files of an ending.
var runners = map[string][]string{
	"py": {"python", "python3"}, "sh": {"sh"}, "js": {"node"}, "rb": {"ruby"}, "lua": {"lua"}, "ts": {"deno"},
}

// runProgram runs a file with what its ending asks for, or a program by name.
func runProgram(m *interp.Machine, argv []string, span syntax.Span) (value.Value, error) {
	target := argv[0]
	ext := strings.TrimPrefix(filepath.Ext(target), ".")
	tools, known := runners[ext]
	file, missing := fileAt(m, target)
	switch {
	case missing && isPath(target) && !known:
		return value.Null, hintErr(span, value.CodeRunnerNotFound, "endings with a runner: js lua py rb sh shl ts",
			"run: no file %s, and no runner for its ending", target)
	case missing && isPath(target):
		return value.Null, codeErr(span, value.CodeNotFound, "run: no file %s", target)
	case !known || !file || isPath(target) && executable(m, target):
		return m.External(argv, span)
	}
	tool := tools[0]
	for _, t := range tools {
		if m.Host().Programs == nil {
			break
		}
		if _, err := m.Host().Programs.LookPath(m.Context(), t, m.Cwd(), m.Environ()); err == nil {
			tool = t
			break
		}
	}
	line := []string{tool}
	if tool == "deno" {
		line = append(line, "run")
	}
	return m.External(append(append(line, m.Abs(target)), argv[1:]...), span)
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

func executable(m *interp.Machine, target string) bool {
	info, err := m.Host().Files.Stat(m.Context(), m.Abs(target))
	return err == nil && info.Mode&0o111 != 0
}
