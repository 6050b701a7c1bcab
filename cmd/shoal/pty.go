package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

func ptyCommand() command {
	return command{
		name: "pty", args: "list | attach N | screenshot N | export FROM | replay FROM", doc: "show, watch and record terminals of the session",
		more: `list [--json]
attach N [--take]                   watch terminal N. Ctrl-] and then k takes the
                                    keyboard or gives it back, q leaves
screenshot N [--format svg|png] [-o FILE.svg|FILE.png]
                                    picture of the screen
export FROM [--format v2|v3|log] [-o FILE]
                                    a recording as asciicast or exact log
replay FROM [--speed X] [--screen]  play a recording, or print how it ends

FROM is the number of a terminal that is recorded, val:blake3:HEX, or a file; the
last two name a log.
`,
		run: runPTY,
	}
}

// ptyFlags are the flags of all its verbs.
type ptyFlags struct {
	json, take, screen bool
	output, format     string
	speed              float64
	what               string
	client             *wire.Client
	changed            chan struct{} // something happened to the terminal
}

func runPTY(a *app, args []string) int {
	c := ptyCommand()
	flags := a.flagSet(c.name)
	f := &ptyFlags{changed: make(chan struct{}, 1)}
	flags.BoolVar(&f.json, "json", false, "")
	flags.BoolVar(&f.take, "take", false, "")
	flags.BoolVar(&f.screen, "screen", false, "")
	flags.StringVar(&f.output, "o", "", "")
	flags.StringVar(&f.format, "format", "", "")
	flags.Float64Var(&f.speed, "speed", 1, "")
	args, code, done := a.parse(c, flags, args)
	if done {
		return code
	}
	verbs := map[string]struct {
		takes   int
		run     func(*app, *ptyFlags) error
		formats []string
	}{"list": {0, (*app).listPTYs, nil}, "attach": {1, (*app).attachPTY, nil}, "screenshot": {1, (*app).screenshotPTY, []string{"svg", "png"}},
		"export": {1, (*app).exportPTY, []string{"v2", "v3", "log"}}, "replay": {1, (*app).replayPTY, nil}}
	if len(args) == 0 {
		return a.usageError("pty takes one of list, attach, screenshot, export, replay")
	}
	verb, known := verbs[args[0]]
	switch {
	case !known:
		return a.usageError("pty takes one of list, attach, screenshot, export, replay, not %q", args[0])
	case len(args)-1 != verb.takes:
		return a.usageError("pty %s takes %d arguments, got %d", args[0], verb.takes, len(args)-1)
	case f.format != "" && verb.formats == nil:
		return a.usageError("pty %s takes no --format", args[0])
	case f.format != "" && !slices.Contains(verb.formats, f.format):
		return a.usageError("--format of pty %s takes one of %s, not %q", args[0], strings.Join(verb.formats, ", "), f.format)
	case f.speed <= 0:
		return a.usageError("--speed takes a number above 0")
	}
	f.what = strings.Join(args[1:], "")
	if err := verb.run(a, f); err != nil {
		return a.fail(err)
	}
	return exitOK
}

// connect attaches to the session, if that is not done yet.
func (f *ptyFlags) connect(ctx context.Context, a *app) error {
	if f.client != nil {
		return nil
	}
	client, _, err := a.open(ctx, false, wire.ClientOptions{Notify: f.notified})
	f.client = client
	return err
}

func (f *ptyFlags) close() {
	if f.client != nil {
		f.client.Close()
	}
}

// ptyRef is a terminal's id, of which the number is enough.
func ptyRef(s string) string {
	if s != "" && strings.Trim(s, "0123456789") == "" {
		return "pty:" + s
	}
	return s
}

func (a *app) listPTYs(f *ptyFlags) error {
	ctx := context.Background()
	if err := f.connect(ctx, a); err != nil {
		return err
	}
	defer f.close()
	var list messages.PTYList
	if err := f.client.Call(ctx, "pty.list", nil, &list); err != nil {
		return err
	}
	if f.json {
		a.printJSON(messages.JSON(list))
		return nil
	}
	for _, p := range list.PTYs {
		state := "alive"
		if !p.Alive {
			state = "ended"
		}
		fmt.Fprintf(a.stdout, "%-8s %7d %4dx%-4d %-6s %s\n", p.PTY, p.PID, p.Cols, p.Rows, state, p.Cmd)
	}
	return nil
}

// readPTY is the screen with its colours.
func (f *ptyFlags) readPTY(ctx context.Context) (messages.Screen, error) {
	var s messages.Screen
	err := f.client.Call(ctx, "pty.read", map[string]any{"pty_id": ptyRef(f.what), "attrs": true}, &s)
	return s, err
}
