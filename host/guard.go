package host

import (
	"context"
	"io"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// Check judges one effect before it happens: nil lets it happen.
type Check func(effect.Effect) *value.Error

// Guard puts a check in front of every effect of a host. A nil check allows
// everything and leaves the host as it is.
func Guard(h *interp.Host, check Check) *interp.Host {
	if check == nil {
		return h
	}
	out := *h
	if h.Files != nil {
		out.Files = guardedFiles{h.Files, check}
	}
	if h.Programs != nil {
		out.Programs = guardedPrograms{h.Programs, check}
	}
	if h.Net != nil {
		out.Net = guardedNet{h.Net, check}
	}
	if h.Secrets != nil {
		out.Secrets = guardedSecrets{h.Secrets, check}
	}
	if h.Terminal != nil {
		out.Terminal = guardedTerminal{h.Terminal, check}
	}
	out.Watcher = nil
	if h.Watcher != nil && h.Files != nil {
		out.Watcher = guardedWatcher{h.Watcher, guardedFiles{h.Files, check}}
	}
	return &out
}

type guardedFiles struct {
	in    interp.Files
	check Check
}

// allow judges an effect on what a path leads to, by the path and by where its
// links really lead, so that no link leads out of a grant.
func (g guardedFiles) allow(ctx context.Context, kind effect.Kind, path string) error {
	real, err := g.real(ctx, path)
	if err != nil {
		return err
	}
	return g.judge(kind, path, real)
}

// allowEntry judges an effect on the very name in its directory: a link there
// is the thing meant, not where it leads.
func (g guardedFiles) allowEntry(ctx context.Context, kind effect.Kind, path string) error {
	parent, last := split(path)
	dir, err := g.real(ctx, parent)
	if err != nil {
		return err
	}
	return g.judge(kind, path, join(dir, last))
}

func (g guardedFiles) judge(kind effect.Kind, path, real string) error {
	if err := g.check(effect.Effect{Kind: kind, Path: path}); err != nil {
		return err
	}
	if real == path {
		return nil
	}
	if err := g.check(effect.Effect{Kind: kind, Path: real}); err != nil {
		return err
	}
	return nil
}

// allowTree judges an effect on an entry and, when it is a directory, on
// everything below: what is denied in it cannot be had by taking the whole. To,
// unless nil, hears of each path below and judges what comes of it.
func (g guardedFiles) allowTree(ctx context.Context, kind effect.Kind, path string, to func(rel string) error) error {
	return g.walk(ctx, kind, path, "", to)
}

func (g guardedFiles) walk(ctx context.Context, kind effect.Kind, path, rel string, to func(string) error) error {
	if err := g.allowEntry(ctx, kind, path); err != nil {
		return err
	}
	if to != nil && rel != "" {
		if err := to(rel); err != nil {
			return err
		}
	}
	info, err := g.in.Lstat(ctx, path)
	if err != nil || info.Type != "dir" {
		return nil // what is wrong with it shows when it is done
	}
	entries, err := g.in.ReadDir(ctx, path)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := g.walk(ctx, kind, join(path, e.Name), join2(rel, e.Name), to); err != nil {
			return err
		}
	}
	return nil
}

// real is the path with links resolved as far as it exists. A link that leads
// nowhere cannot be judged: what is written through it would come to be where it
// points.
func (g guardedFiles) real(ctx context.Context, path string) (string, error) {
	rest := ""
	for at := path; ; {
		if real, err := g.in.Real(ctx, at); err == nil {
			return join(real, rest), nil
		}
		if info, err := g.in.Lstat(ctx, at); err == nil && info.Type == "symlink" {
			return "", value.Errorf(value.CodePermission, "policy cannot judge %s: a link in it leads nowhere", path)
		}
		parent, last := split(at)
		if parent == at {
			return path, nil
		}
		at, rest = parent, join2(last, rest)
	}
}

func (g guardedFiles) Lstat(ctx context.Context, path string) (interp.FileInfo, error) {
	if err := g.allowEntry(ctx, effect.FSRead, path); err != nil {
		return interp.FileInfo{}, err
	}
	return g.in.Lstat(ctx, path)
}

func (g guardedFiles) Stat(ctx context.Context, path string) (interp.FileInfo, error) {
	if err := g.allow(ctx, effect.FSRead, path); err != nil {
		return interp.FileInfo{}, err
	}
	return g.in.Stat(ctx, path)
}

func (g guardedFiles) ReadDir(ctx context.Context, path string) ([]interp.DirEntry, error) {
	if err := g.allow(ctx, effect.FSRead, path); err != nil {
		return nil, err
	}
	return g.in.ReadDir(ctx, path)
}

func (g guardedFiles) List(ctx context.Context, path string) ([]interp.FileInfo, error) {
	if err := g.allow(ctx, effect.FSRead, path); err != nil {
		return nil, err
	}
	return g.in.List(ctx, path)
}

func (g guardedFiles) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	if err := g.allow(ctx, effect.FSRead, path); err != nil {
		return nil, err
	}
	return g.in.Open(ctx, path)
}

func (g guardedFiles) WriteFile(ctx context.Context, path string, content io.Reader, mode interp.WriteMode) error {
	if err := g.allow(ctx, effect.FSWrite, path); err != nil {
		return err
	}
	return g.in.WriteFile(ctx, path, content, mode)
}

func (g guardedFiles) Mkdir(ctx context.Context, path string, parents bool) error {
	if err := g.allow(ctx, effect.FSWrite, path); err != nil {
		return err
	}
	return g.in.Mkdir(ctx, path, parents)
}

func (g guardedFiles) Touch(ctx context.Context, path string, at time.Time) error {
	if err := g.allow(ctx, effect.FSWrite, path); err != nil {
		return err
	}
	return g.in.Touch(ctx, path, at)
}

func (g guardedFiles) Copy(ctx context.Context, src, dst string, recursive bool) error {
	if err := g.allow(ctx, effect.FSRead, src); err != nil {
		return err
	}
	if err := g.allow(ctx, effect.FSWrite, dst); err != nil {
		return err
	}
	if recursive {
		if err := g.allowTree(ctx, effect.FSRead, src, g.lands(ctx, dst)); err != nil {
			return err
		}
	}
	return g.in.Copy(ctx, src, dst, recursive)
}

func (g guardedFiles) Move(ctx context.Context, src, dst string) error {
	if err := g.allowTree(ctx, effect.FSRead, src, g.lands(ctx, dst)); err != nil {
		return err
	}
	if err := g.allowEntry(ctx, effect.FSWrite, dst); err != nil {
		return err
	}
	if err := g.allowTree(ctx, effect.FSDelete, src, nil); err != nil {
		return err
	}
	return g.in.Move(ctx, src, dst)
}

// lands judges where the parts of a tree come to be.
func (g guardedFiles) lands(ctx context.Context, dst string) func(rel string) error {
	return func(rel string) error { return g.allow(ctx, effect.FSWrite, join(dst, rel)) }
}

func (g guardedFiles) Remove(ctx context.Context, path string, recursive bool) error {
	judge := g.allowEntry
	if recursive {
		judge = func(ctx context.Context, kind effect.Kind, path string) error {
			return g.allowTree(ctx, kind, path, nil)
		}
	}
	if err := judge(ctx, effect.FSDelete, path); err != nil {
		return err
	}
	return g.in.Remove(ctx, path, recursive)
}

func (g guardedFiles) Trash(ctx context.Context, path string) (string, error) {
	if err := g.allowTree(ctx, effect.FSDelete, path, nil); err != nil {
		return "", err
	}
	return g.in.Trash(ctx, path)
}

func (g guardedFiles) Link(ctx context.Context, target, link string, symbolic bool) error {
	if err := g.allowEntry(ctx, effect.FSWrite, link); err != nil {
		return err
	}
	if !symbolic { // a name under which the file can be read and written
		for _, kind := range []effect.Kind{effect.FSRead, effect.FSWrite} {
			if err := g.allow(ctx, kind, target); err != nil {
				return err
			}
		}
	}
	return g.in.Link(ctx, target, link, symbolic)
}

// Real tells where links lead, which is reading them.
func (g guardedFiles) Real(ctx context.Context, path string) (string, error) {
	if err := g.allowEntry(ctx, effect.FSRead, path); err != nil {
		return "", err
	}
	return g.in.Real(ctx, path)
}

type guardedPrograms struct {
	in    interp.Programs
	check Check
}

func (g guardedPrograms) LookPath(ctx context.Context, name, cwd string, env []string) (string, error) {
	return g.in.LookPath(ctx, name, cwd, env)
}

func (g guardedPrograms) Exec(ctx context.Context, s interp.ExecSpec) (*interp.Exit, error) {
	if err := judgeProgram(g.check, s); err != nil {
		return nil, err
	}
	return g.in.Exec(ctx, s)
}

// judgeProgram judges the very file that would run. What the program then does
// is opaque, which its own kind of effect stands for.
func judgeProgram(check Check, s interp.ExecSpec) error {
	if err := check(effect.Effect{Kind: effect.ProcSpawn, Argv0: s.Argv[0], Path: s.Path}); err != nil {
		return err
	}
	if err := check(effect.Effect{Kind: effect.Opaque, Why: s.Argv[0]}); err != nil {
		return err
	}
	return nil
}

type guardedTerminal struct {
	interp.Terminal
	check Check
}

func (g guardedTerminal) Interact(ctx context.Context, s interp.ExecSpec) (*interp.Exit, error) {
	if err := judgeProgram(g.check, s); err != nil {
		return nil, err
	}
	return g.Terminal.Interact(ctx, s)
}

type guardedNet struct {
	in    interp.Net
	check Check
}

// Fetch judges every place that the request goes to.
func (g guardedNet) Fetch(ctx context.Context, r interp.NetRequest) (*interp.NetResponse, error) {
	r.Permit = func(host, port string) error {
		if err := g.check(effect.Effect{Kind: effect.NetConnect, Host: host, Port: port}); err != nil {
			return err
		}
		return nil
	}
	return g.in.Fetch(ctx, r)
}

type guardedSecrets struct {
	in    interp.Secrets
	check Check
}

func (g guardedSecrets) Secret(ctx context.Context, name string) ([]byte, error) {
	if err := g.check(effect.Effect{Kind: effect.SecretUse, Name: name}); err != nil {
		return nil, err
	}
	return g.in.Secret(ctx, name)
}
