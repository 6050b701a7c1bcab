// Command shoal-mcp serves MCP on stdin and stdout for one kernel session. It
// relays frames to the kernel, starts one if none serves, and survives its end.
// All the work is done by package link; this file reads flags and the
// environment.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"

	"shoal.dev/shoal/link"
)

const usage = `usage: shoal-mcp [--session NAME] [--state-dir DIR] [--socket PATH] [--token-file PATH]

Serves MCP on stdin and stdout for one kernel session until stdin closes.
Protocol frames go to stdout, everything else to stderr.

  --session NAME     session to attach to (SHOAL_SESSION, "default")
  --state-dir DIR    state directory of the kernel (SHOAL_STATE_DIR)
  --socket PATH      socket of the kernel (SHOAL_SOCKET)
  --token-file PATH  file with the bearer token (SHOAL_TOKEN holds one itself)
  --version          print the version
  --help             print this

A kernel is started if none serves, unless SHOAL_NO_AUTOSTART is set.
`

func main() { os.Exit(run(os.Args[1:], link.Stdin(), os.Stdout, os.Stderr)) }

func run(args []string, stdin io.Reader, stdout, stderr *os.File) int {
	var o link.Options
	flags := flag.NewFlagSet("shoal-mcp", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.Session, "session", "", "")
	flags.StringVar(&o.StateDir, "state-dir", "", "")
	flags.StringVar(&o.Socket, "socket", "", "")
	tokenFile := flags.String("token-file", "", "")
	version := flags.Bool("version", false, "")
	err := flags.Parse(args)
	switch {
	case err == flag.ErrHelp:
		fmt.Fprint(stdout, usage)
		return 0
	case err == nil && flags.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case err == nil && *version:
		fmt.Fprintf(stdout, "shoal-mcp %s\n", link.Version())
		return 0
	}
	if err != nil {
		fmt.Fprintf(stderr, "error: %v\nhint: shoal-mcp --help lists the flags\n", err)
		return 2
	}
	return relay(o, *tokenFile, stdin, stdout, stderr)
}

func relay(o link.Options, tokenFile string, stdin io.Reader, stdout, stderr *os.File) int {
	var err error
	o.Environ = os.Environ()
	os.Unsetenv("SHOAL_TOKEN")
	if o.Token, err = link.Token(tokenFile, o.Environ); err != nil {
		fmt.Fprintf(stderr, "error: %v\n", err)
		return 2
	}
	if o.Cwd, err = os.Getwd(); err != nil {
		o.Cwd = ""
	}
	if stdout.Fd() == 1 {
		if stdout, err = link.TakeStdout(); err != nil {
			fmt.Fprintf(stderr, "error: %v\n", err)
			return 1
		}
	}
	debug.SetGCPercent(50) // frames pass through: there is little to keep
	log := slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return link.Relay{In: stdin, Out: stdout, Log: log, Options: o}.Run(context.Background())
}
