package interp

import (
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// NotExecutable is what a host's LookPath says of a file that may not be
// executed. Shebang is what follows "#!" on its first line, if it begins so.
type NotExecutable struct {
	Path    string
	Shebang string
}

func (e *NotExecutable) Error() string { return e.Path + " is not executable" }

// runner is how files of one ending are run: by the first of the tools that is
// there, with args before the file.
type runner struct {
	tools []string
	args  []string
}

var runners = map[string]runner{
	"py": {tools: []string{"python", "python3"}}, "sh": {tools: []string{"sh"}}, "rb": {tools: []string{"ruby"}},
	"js": {tools: []string{"node"}}, "lua": {tools: []string{"lua"}}, "ts": {[]string{"deno"}, []string{"run"}},
	"rs": {tools: []string{"rust-script", "sh"}},
}

// compileRust is the program of sh that stands in for rust-script. Its first
// argument is the file.
const compileRust = `d=$(mktemp -d) && trap 'rm -rf "$d"' EXIT && rustc -o "$d/main" "$1" && shift && "$d/main" "$@"`

// Endings are the endings of file names that have a runner.
func Endings() []string { return slices.Sorted(maps.Keys(runners)) }

// RunnerTools are the programs of which one runs a file of that name.
func RunnerTools(file string) []string { return runners[ending(file)].tools }

// ShebangTools is RunnerTools for what a file's first line says after "#!".
func ShebangTools(line string) []string {
	if words := shebang(line); len(words) > 0 {
		return words[:1]
	}
	return nil
}

func ending(file string) string { return strings.TrimPrefix(path.Ext(path.Base(file)), ".") }

// shebang is the command line of a "#!" line: what env is asked for, or the
// interpreter as it stands.
func shebang(line string) []string {
	words := strings.Fields(line)
	if len(words) < 2 || path.Base(words[0]) != "env" {
		return words
	}
	words = words[1:]
	if rest, ok := strings.CutPrefix(words[0], "-S"); ok {
		words = words[1:]
		if rest != "" {
			words = append([]string{rest}, words...)
		}
	}
	return words
}

// RunFile runs a file with the runner of its ending, which it must have; argv
// begins with the file's name. The result is an outcome; a failed one is no
// error.
func (m *Machine) RunFile(argv []string, span syntax.Span) (value.Value, error) {
	return m.External(m.runnerArgv(argv, ""), span)
}

// runnerArgv is the command line that runs a file, or nil when neither its
// ending nor its "#!" line says how.
func (m *Machine) runnerArgv(argv []string, firstLine string) []string {
	file := m.Abs(m.expandHome(argv[0]))
	r, known := runners[ending(argv[0])]
	words := shebang(firstLine)
	switch {
	case known:
		tool := m.firstTool(r.tools)
		if tool == "sh" && r.tools[0] == "rust-script" {
			words = []string{"sh", "-c", compileRust, "sh"}
		} else {
			words = append([]string{tool}, r.args...)
		}
	case len(words) == 0:
		return nil
	}
	return append(append(slices.Clone(words), file), argv[1:]...)
}

// firstTool is the first tool that is there, else the first.
func (m *Machine) firstTool(tools []string) string {
	for _, tool := range tools {
		if _, err := m.lookPath(tool); err == nil {
			return tool
		}
	}
	return tools[0]
}

// executable is the command line for argv and the file it starts: a file that may not be
// executed is run by its runner.
func (m *Machine) executable(argv []string) (line []string, path string, err error) {
	path, err = m.lookPath(argv[0])
	var plain *NotExecutable
	if !errors.As(err, &plain) {
		return argv, path, err
	}
	if line = m.runnerArgv(argv, plain.Shebang); line == nil {
		return nil, "", value.Errorf(value.CodeRunnerNotFound, "%s is not executable, and nothing says what runs it", argv[0]).
			WithHint("chmod +x, a `#!` line, or an ending with a runner: %s", strings.Join(Endings(), " "))
	}
	if path, err = m.lookPath(line[0]); err != nil {
		err = value.Errorf(value.CodeNotFound, "%s: %s, which runs it, is not there", argv[0], line[0]).
			WithHint("install %s, or name another interpreter: `sh %s`", line[0], argv[0])
	}
	return line, path, err
}
