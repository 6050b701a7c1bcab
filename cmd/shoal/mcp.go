package main

import (
	"context"
	"log/slog"
	"os"

	"shoal.dev/shoal/link"
)

func mcpCommand() command {
	return command{
		name: "mcp", args: "", doc: "serve MCP on stdin and stdout, as shoal-mcp does",
		run: serveMCP,
	}
}

func serveMCP(a *app, args []string) int {
	c := mcpCommand()
	args, code, done := a.parse(c, a.flagSet(c.name), args)
	switch {
	case done:
		return code
	case len(args) > 0:
		return a.usageError("mcp takes no argument")
	}
	var err error
	o := a.options
	if o.Token, err = link.Token(a.tokenFile, o.Environ); err != nil {
		return a.fail(err)
	}
	os.Unsetenv("SHOAL_TOKEN")
	in, out := a.stdin, a.stdout
	if in == os.Stdin {
		in = link.Stdin()
	}
	if f, ok := out.(*os.File); ok && f.Fd() == 1 {
		if out, err = link.TakeStdout(); err != nil {
			return a.fail(err)
		}
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return link.Relay{In: in, Out: out, Log: log, Options: o}.Run(context.Background())
}
