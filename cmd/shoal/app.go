package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// Exit codes beside those that a program sets by itself.
const (
	exitOK     = 0
	exitFailed = 1 // raised, refused, or no kernel
	exitUsage  = 2 // also: the source does not parse
)

// app is one invocation: its streams and what the flags said.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	options        link.Options
	tokenFile      string
	text           *string // of -c
	version        bool
}

func newApp(stdin io.Reader, stdout, stderr io.Writer) *app {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	a.options.Environ = os.Environ()
	a.options.Kind = "cli"
	if cwd, err := os.Getwd(); err == nil {
		a.options.Cwd = cwd
	}
	return a
}

// flagSet has the flags that may stand before and after a command.
func (a *app) flagSet(name string) *flag.FlagSet {
	flags := a.kernelFlags(name)
	flags.StringVar(&a.options.Session, "session", a.options.Session, "")
	return flags
}

// kernelFlags are those that say which kernel is meant, for commands that
// attach to no session.
func (a *app) kernelFlags(name string) *flag.FlagSet {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&a.options.StateDir, "state-dir", a.options.StateDir, "")
	flags.StringVar(&a.options.Socket, "socket", a.options.Socket, "")
	flags.StringVar(&a.tokenFile, "token-file", a.tokenFile, "")
	flags.BoolVar(&a.version, "version", false, "")
	return flags
}

// globals reads the flags before the command. Done means that there is nothing
// more to do than to exit with code.
func (a *app) globals(args []string) (rest []string, code int, done bool) {
	flags := a.flagSet("shoal")
	flags.Func("c", "", func(src string) error { a.text = &src; return nil })
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		io.WriteString(a.stdout, a.overview())
		return nil, exitOK, true
	case err != nil:
		return nil, a.usageError("%v", err), true
	case a.version:
		a.printVersion()
		return nil, exitOK, true
	}
	return flags.Args(), exitOK, false
}

// parse reads the flags of a command, wherever among its arguments they stand;
// what follows "--" is not looked at. Done is as for globals.
func (a *app) parse(c command, flags *flag.FlagSet, args []string) (rest []string, code int, done bool) {
	for {
		switch err := flags.Parse(args); {
		case errors.Is(err, flag.ErrHelp):
			io.WriteString(a.stdout, c.help())
			return nil, exitOK, true
		case err != nil:
			return nil, a.usageError("%v", err), true
		case a.version:
			a.printVersion()
			return nil, exitOK, true
		}
		left := flags.Args()
		taken := len(args) - len(left)
		if len(left) == 0 || taken > 0 && args[taken-1] == "--" {
			return append(rest, left...), exitOK, false
		}
		rest, args = append(rest, left[0]), left[1:]
	}
}

func (a *app) printVersion() { fmt.Fprintf(a.stdout, "shoal %s\n", link.Version()) }

// open attaches to the kernel; start says whether one may be started.
func (a *app) open(ctx context.Context, start bool, c wire.ClientOptions) (*wire.Client, link.Attachment, error) {
	token, err := link.Token(a.tokenFile, a.options.Environ)
	if err != nil {
		return nil, link.Attachment{}, err
	}
	o := a.options
	o.Token = token
	o.NoStart = !start
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return link.Open(ctx, o, log, c)
}

func (a *app) usageError(format string, args ...any) int {
	fmt.Fprintf(a.stderr, "error: %s\nhint: shoal --help lists the commands and flags\n", fmt.Sprintf(format, args...))
	return exitUsage
}

// fail shows an error to a person and returns the exit code.
func (a *app) fail(err error) int {
	var refusal *messages.Error
	var none *link.NotServing
	message, hint := err.Error(), ""
	switch {
	case errors.As(err, &refusal):
		message, hint = refusal.Message, hintOf(refusal)
	case errors.As(err, &none):
		hint = "shoal run starts a kernel, and so does shoal-kernel"
	}
	a.complain(message, hint)
	return exitFailed
}

func (a *app) complain(message, hint string) {
	fmt.Fprintf(a.stderr, "error: %s\n", message)
	if hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", hint)
	}
}

// hintOf says what the refusal's data say, or what its code suggests.
func hintOf(e *messages.Error) string {
	var data struct {
		Hint   string
		Reason string
		Rule   string
	}
	json.Unmarshal(e.Data, &data) // data of another shape has no hint
	switch {
	case data.Hint != "":
		return data.Hint
	case e.Code == messages.CodeAuthFailed:
		return "check SHOAL_TOKEN or --token-file"
	case e.Code == messages.CodeLeashDenied && data.Rule != "":
		return "refused by " + data.Rule
	case e.Code == messages.CodeInterrupted:
		return "shoal history shows what became of the call"
	}
	return ""
}

// printJSON writes raw JSON as one line.
func (a *app) printJSON(raw json.RawMessage) int {
	fmt.Fprintf(a.stdout, "%s\n", raw)
	return exitOK
}

// printText writes text and makes sure that it ends its line.
func (a *app) printText(text string) {
	if text == "" {
		return
	}
	io.WriteString(a.stdout, text)
	if !strings.HasSuffix(text, "\n") {
		io.WriteString(a.stdout, "\n")
	}
}
