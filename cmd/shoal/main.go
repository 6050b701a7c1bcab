// Command shoal is the kernel's client for people. Each command is one row of
// the table in command.go and one file; what they share, the connection to the
// kernel and the way errors are shown, is in app.go. It keeps no state.
package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

func main() { os.Exit(run(arguments(os.Args), os.Stdin, os.Stdout, os.Stderr)) }

// arguments are those of the program. Under the name shoal-COMMAND, as a link
// gives it, it is that command.
func arguments(argv []string) []string {
	if len(argv) == 0 {
		return nil
	}
	if name, ok := strings.CutPrefix(filepath.Base(argv[0]), "shoal-"); ok {
		if _, ok := findCommand(name); ok {
			return append([]string{name}, argv[1:]...)
		}
	}
	return argv[1:]
}

// run is the program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	rest, code, done := a.globals(args)
	if done {
		return code
	}
	switch {
	case a.text != nil && len(rest) > 0:
		return a.usageError("-c takes the whole source as one argument, and nothing follows it")
	case a.text != nil:
		return a.runText("-c", *a.text)
	case len(rest) == 0 && isTerminal(stdin):
		io.WriteString(stderr, a.overview())
		return exitUsage
	case len(rest) == 0:
		src, err := a.source(nil)
		if err != nil {
			return a.fail(err)
		}
		return a.runText("stdin", src)
	case isScriptFile(rest[0]):
		return a.runFile(rest)
	}
	cmd, ok := findCommand(rest[0])
	if !ok {
		return a.usageError("unknown command %q", rest[0])
	}
	return cmd.run(a, rest[1:])
}

// isTerminal reports whether a person types there.
func isTerminal(r io.Reader) bool {
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}
