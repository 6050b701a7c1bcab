// Command shoal is the kernel's client for people. Each command is one row of
// the table in command.go and one file; what they share, the connection to the
// kernel and the way errors are shown, is in app.go. It keeps no state.
package main

import (
	"io"
	"os"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// run is the program: it returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := newApp(stdin, stdout, stderr)
	rest, code, done := a.globals(args)
	if done {
		return code
	}
	if len(rest) == 0 {
		io.WriteString(stderr, a.overview())
		return exitUsage
	}
	cmd, ok := findCommand(rest[0])
	if !ok {
		return a.usageError("unknown command %q", rest[0])
	}
	return cmd.run(a, rest[1:])
}
