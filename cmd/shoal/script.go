package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/link"
	"shoal.dev/shoal/proc"
	"shoal.dev/shoal/wire"
)

// script is a source that runs in this process, without a kernel.
type script struct {
	name string // as errors show it
	src  string
	file string // absolute; "" when it is no file
	args []string
}

// isScriptFile reports whether a first argument names a source file: it has the
// ending, or it is a path.
func isScriptFile(arg string) bool {
	return strings.HasSuffix(arg, ".shl") || strings.Contains(arg, "/")
}

// runFile is `shoal FILE.shl ARG…`.
func (a *app) runFile(args []string) int {
	path, err := filepath.Abs(args[0])
	if err != nil {
		return a.fail(fmt.Errorf("find %s: %w", args[0], err))
	}
	if a.options.Session != "" {
		return a.sendFile(path, args[1:])
	}
	src, err := interp.ReadSource(context.Background(), host.Files{}, path)
	if err != nil {
		a.complain(err.Error(), "")
		return exitFailed
	}
	return a.runScript(script{name: args[0], src: src, file: path, args: args[1:]})
}

// runText is `shoal -c SRC` and source on stdin.
func (a *app) runText(name, src string) int {
	if a.options.Session != "" {
		return a.execute(src, false)
	}
	return a.runScript(script{name: name, src: src})
}

// sendFile runs a file in a session of the kernel: its source as if it had been
// typed there, or, when there are arguments, as a script.
func (a *app) sendFile(path string, args []string) int {
	if len(args) == 0 {
		src, err := interp.ReadSource(context.Background(), host.Files{}, path)
		if err != nil {
			a.complain(err.Error(), "")
			return exitFailed
		}
		return a.execute(src, false)
	}
	words := []string{value.Inline(value.Str(path))}
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	return a.execute("run("+strings.Join(words, ", ")+")", false)
}

// quoted is text as a literal of the language.
func quoted(s string) string {
	text := value.Inline(scriptArg(s))
	if scriptArg(s).Kind() == value.KindPath {
		text = "path(" + value.Inline(value.Str(s)) + ")"
	}
	return strings.NewReplacer("{", `\{`, "}", `\}`).Replace(text)
}

// scriptArg is an argument as an item of args: what looks like a path is one,
// as in command text.
func scriptArg(s string) value.Value {
	for _, start := range []string{"/", "./", "../"} {
		if strings.HasPrefix(s, start) {
			return value.Path(s)
		}
	}
	return value.Str(s)
}

// runScript runs a source to its end and returns the exit status.
func (a *app) runScript(s script) int {
	state := interp.NewState(a.options.Cwd, a.options.Environ)
	if s.file != "" {
		args := make([]value.Value, len(s.args))
		for i, arg := range s.args {
			args[i] = scriptArg(arg)
		}
		state.BindScript(s.file, args)
	}
	program, perr := lang.NewCompiler().Compile(s.src, state)
	if perr != nil {
		a.showParseError(s, perr)
		return exitUsage
	}
	log := slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	runner, err := proc.New(proc.Options{KernelID: "script-" + strconv.Itoa(os.Getpid()), Log: log})
	if err != nil {
		return a.fail(err)
	}
	defer runner.Close()
	defer state.Close() // before the runner: tasks run programs
	terminal := &terminal{runner: runner, task: scriptTask}
	ctx, stop := terminal.untilInterrupted(context.Background())
	defer stop()
	status := exitOK
	v, err := program.Run(ctx, interp.Run{
		State: state, Host: a.scriptHost(runner, terminal),
		Sink: func(v value.Value) { a.printValue(v) },
		Note: func(n interp.Note) { fmt.Fprintf(a.stderr, "note: %s: %s\n", n.Code, n.Msg) },
		Exit: func(code int) { status = code },
		Log:  log,
	})
	if err != nil {
		return a.showRaised(s, err)
	}
	a.printValue(v)
	return status
}

// scriptTask is the number that programs of a script carry.
const scriptTask = 1

// scriptHost is the world of a script: files, programs and the network as they
// are, the configuration and the secrets that a kernel of this user has, and the
// person's terminal if there is one. What takes a kernel is not there.
func (a *app) scriptHost(runner *proc.Runner, t *terminal) *interp.Host {
	h := &interp.Host{
		Files: host.Files{}, Programs: host.Programs{Runner: runner, Task: scriptTask}, Clock: host.Clock{}, Net: host.Net{},
		Channels: &host.Channels{}, Watcher: host.Watcher{}, Secrets: &host.Secrets{}, Config: host.Config{},
	}
	if paths, err := link.Locate(a.options); err == nil {
		h.Secrets = &host.Secrets{Dir: filepath.Join(paths.StateDir, "secrets")}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		h.Config = host.Config{Path: filepath.Join(dir, "shoal", "shoal.toml")}
	}
	if hasTerminal() {
		h.Terminal = t
	}
	return h
}

// printValue shows a result as a block.
func (a *app) printValue(v value.Value) {
	if !v.IsNull() {
		a.printText(value.Block(v, value.BlockOptions{}))
	}
}

// showRaised shows an uncaught error and finds the exit status.
func (a *app) showRaised(s script, err error) int {
	e, ok := err.(*value.Error)
	if !ok {
		return a.fail(err)
	}
	if e.Stderr != "" {
		io.WriteString(a.stderr, strings.TrimSuffix(e.Stderr, "\n")+"\n")
	}
	fmt.Fprintf(a.stderr, "error: %s\n", e.Error())
	io.WriteString(a.stderr, s.place(e))
	if e.Hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", e.Hint)
	}
	if e.Code == value.CodeCmdFailed && e.Status != nil && *e.Status >= 1 && *e.Status <= 255 {
		return *e.Status
	}
	return exitFailed
}

// place is the line that an error was raised in, with its mark: of the script,
// or of the file that the error names.
func (s script) place(e *value.Error) string {
	if e.Span == nil {
		return ""
	}
	name, src := s.name, s.src
	if e.File != "" {
		text, err := os.ReadFile(e.File)
		if err != nil {
			return ""
		}
		name, src = e.File, string(text)
	}
	return excerpt(name, src, e.Span.Start, e.Span.End)
}

func (a *app) showParseError(s script, e *syntax.Error) {
	fmt.Fprintf(a.stderr, "error: parse_error: %s\n", e.Msg)
	io.WriteString(a.stderr, excerpt(s.name, s.src, e.Start, e.End))
	if e.Hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", e.Hint)
	}
}

// maxExcerpt is how many characters of a line an error shows.
const maxExcerpt = 160

// excerpt is the line in which a span starts, with carets below the span.
func excerpt(name, src string, start, end int) string {
	start = max(0, min(start, len(src)))
	end = max(start, min(end, len(src)))
	line, col := syntax.LineCol(src, start)
	bol := strings.LastIndexByte(src[:start], '\n') + 1
	text, _, _ := strings.Cut(src[bol:], "\n")
	text = strings.TrimRight(text, "\r")
	before := []rune(src[bol:start])
	under := []rune(src[start:min(end, bol+len(text))])
	shown := []rune(text)
	if len(shown) > maxExcerpt && len(before) <= maxExcerpt {
		shown = append(shown[:maxExcerpt:maxExcerpt], '…')
	} else if len(shown) > maxExcerpt {
		return fmt.Sprintf("  at %s:%d:%d\n", name, line, col)
	}
	number := strconv.Itoa(line)
	gap := strings.Repeat(" ", len(number))
	var b strings.Builder
	fmt.Fprintf(&b, "  at %s:%d:%d\n", name, line, col)
	fmt.Fprintf(&b, "%s | %s\n", number, string(shown))
	fmt.Fprintf(&b, "%s | ", gap)
	for _, r := range before {
		if r == '\t' {
			b.WriteRune('\t')
			continue
		}
		b.WriteString(strings.Repeat(" ", runewidth.RuneWidth(r)))
	}
	marks := 0
	for _, r := range under[:min(len(under), max(0, maxExcerpt-len(before)))] {
		marks += runewidth.RuneWidth(r)
	}
	b.WriteString(strings.Repeat("^", max(1, marks)) + "\n")
	return b.String()
}

// execute sends a source to the session and shows what comes back.
func (a *app) execute(src string, asJSON bool) int {
	ctx := context.Background()
	client, _, err := a.open(ctx, true, wire.ClientOptions{})
	if err != nil {
		return a.fail(err)
	}
	defer client.Close()
	var raw json.RawMessage
	err = client.Call(ctx, "exec", map[string]string{"src": src, "position": "stmt"}, &raw)
	switch {
	case err != nil:
		return a.showFailure(err)
	case asJSON:
		a.printJSON(raw)
	}
	return a.showResult(raw, asJSON)
}
