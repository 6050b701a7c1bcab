package host

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/proc"
)

// Programs starts programs for one task.
type Programs struct {
	Runner *proc.Runner
	Task   uint64
	Output *proc.TaskOutput // may be nil
	// Ended hears of each program that ended; may be nil.
	Ended func(*proc.Result)
}

// LookPath finds an executable in the PATH of env.
func (p Programs) LookPath(_ context.Context, name, cwd string, env []string) (string, error) {
	path, err := p.Runner.LookPath(name, lookup(env, "PATH"), cwd)
	if err != nil {
		if plain := plainFile(name, cwd, err); plain != nil {
			return "", plain
		}
		return "", spawnFailed(name, err)
	}
	return path, nil
}

// plainFile is a file named by its path that there is and that may not be
// executed.
func plainFile(name, cwd string, err error) error {
	var e *proc.SpawnError
	if !errors.As(err, &e) || e.Kind != proc.NotExecutable || !strings.Contains(name, "/") {
		return nil
	}
	at := name
	if !filepath.IsAbs(at) {
		at = filepath.Join(cwd, at)
	}
	if info, serr := os.Stat(at); serr != nil || !info.Mode().IsRegular() {
		return nil
	}
	return &interp.NotExecutable{Path: name, Shebang: shebang(at)}
}

// maxShebang is how much of a first line systems look at, in bytes.
const maxShebang = 256

// shebang is what follows "#!" on a file's first line, "" without one.
func shebang(path string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	b := make([]byte, maxShebang)
	n, _ := io.ReadFull(f, b)
	line, _, _ := strings.Cut(string(b[:n]), "\n")
	rest, ok := strings.CutPrefix(line, "#!")
	if !ok {
		return ""
	}
	return strings.TrimSpace(rest)
}

func lookup(env []string, name string) string {
	for i := len(env) - 1; i >= 0; i-- {
		if v, ok := strings.CutPrefix(env[i], name+"="); ok {
			return v
		}
	}
	return ""
}

// spawnFailed words why a program did not start.
func spawnFailed(name string, err error) error {
	var e *proc.SpawnError
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case proc.NotFound:
		return value.Errorf(value.CodeNotFound, "command not found: %s", name)
	case proc.IsDirectory:
		return value.Errorf(value.CodePermission, "%s is a directory", name).WithHint("cd %s", name)
	case proc.NotExecutable:
		return value.Errorf(value.CodePermission, "%s is not executable", e.Path).
			WithHint("make it executable, or name its interpreter")
	case proc.BadDir:
		return value.Errorf(value.CodeNotFound, "the working directory %s is gone: %v", e.Path, e.Err).
			WithHint("cd to a directory that exists")
	case proc.NoInterpreter:
		return value.Errorf(value.CodeNotFound, "%s: its interpreter is missing", e.Path)
	case proc.TooLong:
		return value.Errorf(value.CodeArg, "%s: the arguments and the environment are too long for the system", name).
			WithHint("pass the data on stdin with feed")
	case proc.BadFormat:
		return value.Errorf(value.CodeCustom, "%s: the system does not know how to run it", e.Path).
			WithHint("give it a `#!` line, or name its interpreter: `sh %s`", name)
	default:
		return value.Errorf(value.CodeCustom, "%v", e)
	}
}

// Exec runs a program to its end. Stdin is /dev/null unless it is fed.
func (p Programs) Exec(ctx context.Context, s interp.ExecSpec) (*interp.Exit, error) {
	spec := proc.Spec{
		Task: p.Task, Argv: s.Argv, Path: s.Path, Dir: s.Cwd,
		Env: childEnv(s.Env, s.Overlay), Stdin: s.Stdin,
	}
	if p.Output != nil {
		spec.Stdout, spec.Stderr = p.Output.Stdout, p.Output.Stderr
	}
	if f, ok := s.Stdout.(*os.File); ok {
		spec.StdoutFile = f
	}
	res, err := p.Runner.Run(ctx, spec)
	if res == nil {
		return nil, spawnFailed(s.Argv[0], err)
	}
	if p.Ended != nil {
		p.Ended(res)
	}
	exit := &interp.Exit{
		Status: res.Status, Signal: res.Signal, PID: res.PID, Dur: res.Dur,
		Stdout: captured(res.Stdout), Stderr: captured(res.Stderr), Notes: notes(res),
	}
	for _, h := range res.Holders {
		exit.Holders = append(exit.Holders, h.PID)
	}
	if err == nil && s.Stdout != nil && spec.StdoutFile == nil {
		if _, werr := io.Copy(s.Stdout, res.Stdout.Reader()); werr != nil {
			err = plain(werr)
		}
		exit.Stdout = value.BytesBlob(nil)
	}
	if err == nil && res.StdinErr != nil {
		err = res.StdinErr
	}
	return exit, err
}

// childEnv is the environment of a captured child: the session's, the pinned
// variables over it, the overlay over both.
func childEnv(session, overlay []string) []string {
	layers := [][]string{session, proc.PinnedEnv(), overlay}
	at := map[string]int{}
	var out []string
	for _, layer := range layers {
		for _, kv := range layer {
			name, _, ok := strings.Cut(kv, "=")
			switch i, seen := at[name]; {
			case !ok: // a bare name unsets
				if seen {
					out[i] = ""
				}
				delete(at, name)
			case seen:
				out[i] = kv
			default:
				at[name] = len(out)
				out = append(out, kv)
			}
		}
	}
	kept := out[:0]
	for _, kv := range out {
		if kv != "" {
			kept = append(kept, kv)
		}
	}
	return kept
}

// noteCodes are the language's names for what proc remarks.
var noteCodes = map[string]string{
	proc.NoteHolders:       "pipe_holder",
	proc.NoteNeedsTerminal: "needs_terminal",
	proc.NoteTruncated:     "output_truncated",
}

func notes(res *proc.Result) []interp.Note {
	var out []interp.Note
	for _, n := range res.Notes {
		note := interp.Note{Code: n.Code, Msg: n.Msg}
		if code, ok := noteCodes[n.Code]; ok {
			note.Code = code
		}
		if len(n.PIDs) > 0 {
			note.Data = map[string]any{"pids": n.PIDs}
		}
		if n.Code == proc.NoteTruncated {
			note.Data = map[string]any{
				"stdout": sizes(res.Stdout), "stderr": sizes(res.Stderr),
			}
		}
		out = append(out, note)
	}
	return out
}

func sizes(c *proc.Capture) map[string]int64 {
	return map[string]int64{"kept": c.Len(), "total": c.Total()}
}

// capture is captured output as the language sees it; its files are closed
// when no value holds it any more.
type capture struct{ c *proc.Capture }

func captured(c *proc.Capture) value.Blob {
	if c.Len() <= inlineCapture && !c.Spilled() && c.Total() == c.Len() {
		return value.BytesBlob(c.Bytes())
	}
	b := &capture{c}
	runtime.AddCleanup(b, func(c *proc.Capture) { c.Close() }, c)
	return b
}

// inlineCapture is up to how many bytes captured output becomes plain bytes.
const inlineCapture = 64 << 10

func (b *capture) Len() int64 { return b.c.Len() }

func (b *capture) ReadAt(p []byte, off int64) (int, error) {
	defer runtime.KeepAlive(b)
	return b.c.ReadAt(p, off)
}

// Ref is empty: the content store does not hold the bytes yet.
func (b *capture) Ref() string { return "" }

func (b *capture) Total() int64 { return b.c.Total() }

var _ interp.Programs = Programs{}
