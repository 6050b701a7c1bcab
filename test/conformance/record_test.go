package conformance

import (
	"context"
	"io"
	"path"
	"strings"
	"sync"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
)

// recorder writes down what a run does to the world, so that it can be held
// against what its plan said. Looking at a file's metadata is not written down.
type recorder struct {
	mu  sync.Mutex
	did []effect.Effect
}

func (r *recorder) note(e effect.Effect) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.did = append(r.did, e)
}

func (r *recorder) file(kind effect.Kind, path string) {
	r.note(effect.Effect{Kind: kind, Path: path})
}

// wrap puts the recorder between a program and its host.
func (r *recorder) wrap(h *interp.Host) *interp.Host {
	wrapped := *h
	wrapped.Files = recordedFiles{h.Files, r}
	wrapped.Programs = recordedPrograms{h.Programs, r}
	wrapped.Watcher = recordedWatcher{h.Watcher, r}
	return &wrapped
}

// outside is the first thing that was done and not planned, if there is one.
func (r *recorder) outside(plan []effect.Effect) (effect.Effect, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, did := range r.did {
		if !covered(plan, did) {
			return did, true
		}
	}
	return effect.Effect{}, false
}

// covered reports whether a plan has an effect of the same kind on the same
// target, on everything, or on a directory above it. A pattern stands for the
// directory that its fixed beginning names.
func covered(plan []effect.Effect, did effect.Effect) bool {
	for _, p := range plan {
		if p.Kind == effect.Opaque && sourceCode(p.Why) {
			return true // code that the plan could not look into
		}
		if p.Kind != did.Kind {
			continue
		}
		target := p.Target()
		if did.Kind == effect.ProcSpawn {
			if target == effect.Any || target == "" || target == did.Argv0 {
				return true
			}
			continue
		}
		if i := strings.IndexAny(target, "*?["); i >= 0 && target != effect.Any {
			target = path.Dir(target[:i] + "x")
		}
		if target == effect.Any || target == did.Path || strings.HasPrefix(did.Path, strings.TrimRight(target, "/")+"/") {
			return true
		}
	}
	return false
}

type recordedFiles struct {
	interp.Files
	r *recorder
}

func (f recordedFiles) ReadDir(ctx context.Context, path string) ([]interp.DirEntry, error) {
	f.r.file(effect.FSRead, path)
	return f.Files.ReadDir(ctx, path)
}

func (f recordedFiles) List(ctx context.Context, path string) ([]interp.FileInfo, error) {
	f.r.file(effect.FSRead, path)
	return f.Files.List(ctx, path)
}

func (f recordedFiles) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	f.r.file(effect.FSRead, path)
	return f.Files.Open(ctx, path)
}

func (f recordedFiles) WriteFile(ctx context.Context, path string, content io.Reader, mode interp.WriteMode) error {
	f.r.file(effect.FSWrite, path)
	return f.Files.WriteFile(ctx, path, content, mode)
}

func (f recordedFiles) Mkdir(ctx context.Context, path string, parents bool) error {
	f.r.file(effect.FSWrite, path)
	return f.Files.Mkdir(ctx, path, parents)
}

func (f recordedFiles) Touch(ctx context.Context, path string, at time.Time) error {
	f.r.file(effect.FSWrite, path)
	return f.Files.Touch(ctx, path, at)
}

func (f recordedFiles) Copy(ctx context.Context, src, dst string, recursive bool) error {
	f.r.file(effect.FSRead, src)
	f.r.file(effect.FSWrite, dst)
	return f.Files.Copy(ctx, src, dst, recursive)
}

func (f recordedFiles) Move(ctx context.Context, src, dst string) error {
	f.r.file(effect.FSDelete, src)
	f.r.file(effect.FSWrite, dst)
	return f.Files.Move(ctx, src, dst)
}

func (f recordedFiles) Remove(ctx context.Context, path string, recursive bool) error {
	f.r.file(effect.FSDelete, path)
	return f.Files.Remove(ctx, path, recursive)
}

func (f recordedFiles) Trash(ctx context.Context, path string) (string, error) {
	f.r.file(effect.FSDelete, path)
	return f.Files.Trash(ctx, path)
}

func (f recordedFiles) Link(ctx context.Context, target, link string, symbolic bool) error {
	f.r.file(effect.FSWrite, link)
	return f.Files.Link(ctx, target, link, symbolic)
}

type recordedPrograms struct {
	interp.Programs
	r *recorder
}

func (p recordedPrograms) Exec(ctx context.Context, spec interp.ExecSpec) (*interp.Exit, error) {
	p.r.note(effect.Effect{Kind: effect.ProcSpawn, Argv0: spec.Argv[0]})
	return p.Programs.Exec(ctx, spec)
}

// sourceCode reports whether an opaque effect stands for source of the language,
// which may do anything itself; programs do what they do out of sight.
func sourceCode(why string) bool {
	return why == "use" || why == "source" || why == "apply" || strings.HasPrefix(why, "script ")
}

type recordedWatcher struct {
	interp.Watcher
	r *recorder
}

func (w recordedWatcher) Watch(ctx context.Context, path string, recursive bool) (interp.Watch, error) {
	w.r.file(effect.FSRead, path)
	return w.Watcher.Watch(ctx, path, recursive)
}

func (w recordedWatcher) Tail(ctx context.Context, path string, fromStart bool) (interp.Tail, error) {
	w.r.file(effect.FSRead, path)
	return w.Watcher.Tail(ctx, path, fromStart)
}
