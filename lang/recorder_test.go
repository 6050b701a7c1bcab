package lang_test

import (
	"context"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
)

// recorder is a file system on disk that notes the effects of what it is asked
// to do. Copies of directories and the like are left out: they are not needed.
type recorder struct{ did []effect.Effect }

func (r *recorder) note(k effect.Kind, path string) {
	r.did = append(r.did, effect.Effect{Kind: k, Path: path})
}

func info(i fs.FileInfo, err error) (interp.FileInfo, error) {
	if err != nil {
		return interp.FileInfo{}, err
	}
	return interp.FileInfo{Name: i.Name(), Type: kind(i.Mode()), Size: i.Size(), Modified: i.ModTime(), Mode: i.Mode()}, nil
}

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	case m.IsRegular():
		return "file"
	}
	return "other"
}

// Lstat, Stat and Real look at names, which resolving a path does too; only
// the content of files and directories is an effect here.
func (r *recorder) Lstat(_ context.Context, p string) (interp.FileInfo, error) {
	return info(os.Lstat(p))
}

func (r *recorder) Stat(_ context.Context, p string) (interp.FileInfo, error) {
	return info(os.Stat(p))
}

func (r *recorder) Real(_ context.Context, p string) (string, error) {
	return filepath.EvalSymlinks(p)
}

func (r *recorder) ReadDir(_ context.Context, p string) ([]interp.DirEntry, error) {
	r.note(effect.FSRead, p)
	entries, err := os.ReadDir(p)
	var out []interp.DirEntry
	for _, e := range entries {
		out = append(out, interp.DirEntry{Name: e.Name(), Type: kind(e.Type())})
	}
	return out, err
}

func (r *recorder) List(_ context.Context, p string) ([]interp.FileInfo, error) {
	r.note(effect.FSRead, p)
	entries, err := os.ReadDir(p)
	out := make([]interp.FileInfo, len(entries))
	for i, e := range entries {
		if out[i], err = info(e.Info()); err != nil {
			return nil, err
		}
	}
	return out, err
}

func (r *recorder) Open(_ context.Context, p string) (io.ReadCloser, error) {
	r.note(effect.FSRead, p)
	return os.Open(p)
}

func (r *recorder) WriteFile(_ context.Context, p string, content io.Reader, mode interp.WriteMode) error {
	r.note(effect.FSWrite, p)
	flags := os.O_CREATE | os.O_WRONLY | os.O_TRUNC
	if mode == interp.Append {
		flags = os.O_CREATE | os.O_WRONLY | os.O_APPEND
	}
	f, err := os.OpenFile(p, flags, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(f, content)
	return err
}

func (r *recorder) Mkdir(_ context.Context, p string, parents bool) error {
	r.note(effect.FSWrite, p)
	if parents {
		return os.MkdirAll(p, 0o755)
	}
	return os.Mkdir(p, 0o755)
}

func (r *recorder) Touch(_ context.Context, p string, _ time.Time) error {
	r.note(effect.FSWrite, p)
	return os.WriteFile(p, nil, 0o644)
}

func (r *recorder) Copy(_ context.Context, src, dst string, _ bool) error {
	r.note(effect.FSRead, src)
	r.note(effect.FSWrite, dst)
	b, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	return os.WriteFile(dst, b, 0o644)
}

func (r *recorder) Move(_ context.Context, src, dst string) error {
	r.note(effect.FSDelete, src)
	r.note(effect.FSWrite, dst)
	return os.Rename(src, dst)
}

func (r *recorder) Remove(_ context.Context, p string, _ bool) error {
	r.note(effect.FSDelete, p)
	return os.RemoveAll(p)
}

func (r *recorder) Trash(_ context.Context, p string) (string, error) {
	r.note(effect.FSDelete, p)
	return p, os.RemoveAll(p)
}

func (r *recorder) Link(_ context.Context, target, link string, _ bool) error {
	r.note(effect.FSWrite, link)
	return os.Symlink(target, link)
}
