package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// maxSource bounds a source read from stdin.
const maxSource = 8 << 20

func runCommand() command {
	return command{
		name: "run", args: "[--json] [SRC]", doc: "run a source in the session and show its result",
		more: `Without SRC, or with "-", the source is read from stdin. Exit status: 0; the
status of a command that failed; 1 for any other error; 2 when the source does
not parse; N for exit N.
`,
		run: runSource,
	}
}

// execResult is what of an execution's result is shown.
type execResult struct {
	Task    string          `json:"task"`
	Value   json.RawMessage `json:"value"`
	Render  string          `json:"render"`
	Printed []printed       `json:"printed"`
	Notes   []note          `json:"notes"`
	Exit    *int            `json:"exit"`
	// Of a raised error only.
	Error *raised `json:"error"`
}

type printed struct {
	Render string `json:"render"`
}

type note struct {
	Code string `json:"code"`
	Msg  string `json:"msg"`
}

type raised struct {
	Code   string `json:"code"`
	Msg    string `json:"msg"`
	Hint   string `json:"hint"`
	Stderr string `json:"stderr"`
	Status *int   `json:"status"`
}

func runSource(a *app, args []string) int {
	c := runCommand()
	flags := a.flagSet(c.name)
	asJSON := flags.Bool("json", false, "")
	args, code, done := a.parse(c, flags, args)
	if done {
		return code
	}
	if len(args) > 1 {
		return a.usageError("run takes one source, got %d: quote it", len(args))
	}
	src, err := a.source(args)
	if err != nil {
		return a.fail(err)
	}
	return a.execute(src, *asJSON)
}

func (a *app) source(args []string) (string, error) {
	if len(args) == 1 && args[0] != "-" {
		return args[0], nil
	}
	text, err := io.ReadAll(io.LimitReader(a.stdin, maxSource+1))
	if err != nil {
		return "", fmt.Errorf("read source: %w", err)
	}
	if len(text) > maxSource {
		return "", fmt.Errorf("read source: it has more than %d bytes", maxSource)
	}
	return string(text), nil
}

func (a *app) showResult(raw json.RawMessage, quiet bool) int {
	var r execResult
	if err := json.Unmarshal(raw, &r); err != nil {
		return a.fail(fmt.Errorf("decode result: %w", err))
	}
	if !quiet {
		a.showPrinted(r)
		if !isNull(r.Value) {
			a.printText(r.Render)
		}
	}
	if r.Exit != nil {
		return *r.Exit & 0xff
	}
	return exitOK
}

// showFailure shows a refused or failed execution and finds its exit status.
func (a *app) showFailure(err error) int {
	var refusal *messages.Error
	if !errors.As(err, &refusal) {
		return a.fail(err)
	}
	var r execResult
	if refusal.Code == messages.CodeRaised && json.Unmarshal(refusal.Data, &r) == nil && r.Error != nil {
		a.showPrinted(r)
		io.WriteString(a.stderr, r.Error.Stderr)
		a.complain(r.Error.Code+": "+r.Error.Msg, r.Error.Hint)
		if s := r.Error.Status; r.Error.Code == "cmd_failed" && s != nil && *s >= 1 && *s <= 255 {
			return *s
		}
		return exitFailed
	}
	code := a.fail(err)
	if refusal.Code == messages.CodeParseError {
		return exitUsage
	}
	return code
}

func (a *app) showPrinted(r execResult) {
	for _, p := range r.Printed {
		a.printText(p.Render)
	}
	for _, n := range r.Notes {
		fmt.Fprintf(a.stderr, "note: %s: %s\n", n.Code, n.Msg)
	}
}

// isNull reports whether a tagged value is null.
func isNull(value json.RawMessage) bool {
	return string(wire.Member(value, "$")) == `"null"`
}
