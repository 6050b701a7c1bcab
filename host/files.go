package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"shoal.dev/shoal/lang/interp"
)

// Files is the system's file tree. TrashDir is where removed files go when it
// is on the same device; empty means the user's own place per mount only.
type Files struct{ TrashDir string }

// fileType names a file's type as listings do.
func fileType(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "dir"
	case m&fs.ModeSymlink != 0:
		return "symlink"
	case m.IsRegular():
		return "file"
	default:
		return "other"
	}
}

func fileInfo(info fs.FileInfo) interp.FileInfo {
	return interp.FileInfo{
		Name: info.Name(), Type: fileType(info.Mode()), Size: info.Size(),
		Modified: info.ModTime(), Mode: info.Mode(),
	}
}

// plain is the system's reason without Go's operation and path, which callers
// word themselves.
func plain(err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	var se *os.SyscallError
	switch {
	case errors.As(err, &pe):
		return pe.Err
	case errors.As(err, &le):
		return le.Err
	case errors.As(err, &se):
		return se.Err
	default:
		return err
	}
}

// Lstat looks at a path without following a link at its end.
func (Files) Lstat(_ context.Context, path string) (interp.FileInfo, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return interp.FileInfo{}, plain(err)
	}
	return fileInfo(info), nil
}

// Stat looks at what a path leads to.
func (Files) Stat(_ context.Context, path string) (interp.FileInfo, error) {
	info, err := os.Stat(path)
	if err != nil {
		return interp.FileInfo{}, plain(err)
	}
	return fileInfo(info), nil
}

// ReadDir lists a directory in no order, without looking at its entries.
func (Files) ReadDir(ctx context.Context, path string) ([]interp.DirEntry, error) {
	entries, err := readDir(ctx, path)
	return entries, plain(err)
}

// List lists a directory in no order with what Lstat says of each entry.
func (Files) List(ctx context.Context, path string) ([]interp.FileInfo, error) {
	infos, err := list(ctx, path)
	return infos, plain(err)
}

// Open opens a file for reading. It does not wait for the writer of a pipe, and
// a read that waits for one ends with ctx.
func (Files) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	info, err := f.Stat()
	if err == nil && info.IsDir() {
		err = syscall.EISDIR
	}
	if err != nil {
		f.Close()
		return nil, plain(err)
	}
	b := within(ctx, f)
	b.size = info.Size()
	return b, nil
}

// bounded is a file whose reads and writes end with a context, where they can
// wait at all.
type bounded struct {
	f    *os.File
	ctx  context.Context
	stop func() bool
	size int64 // when it was opened, if that was for reading
}

// Size is how much there was to read when the file was opened, 0 when that is
// not known. It may have grown or shrunk since.
func (b *bounded) Size() int64 { return b.size }

func within(ctx context.Context, f *os.File) *bounded {
	return &bounded{f: f, ctx: ctx, stop: context.AfterFunc(ctx, func() {
		f.SetDeadline(time.Unix(1, 0)) // regular files have none and need none
	})}
}

func (b *bounded) Read(p []byte) (int, error) {
	n, err := b.f.Read(p)
	return n, b.cause(err)
}

func (b *bounded) Write(p []byte) (int, error) {
	n, err := b.f.Write(p)
	return n, b.cause(err)
}

func (b *bounded) cause(err error) error {
	if errors.Is(err, os.ErrDeadlineExceeded) && b.ctx.Err() != nil {
		return context.Cause(b.ctx)
	}
	return err
}

// Close closes the file.
func (b *bounded) Close() error {
	b.stop()
	return b.f.Close()
}

// WriteFile writes content to a file. Replace goes through a temporary file
// beside it and keeps its mode; what is no regular file is written in place. A
// pipe that nobody reads is an error at once.
func (fl Files) WriteFile(ctx context.Context, path string, content io.Reader, mode interp.WriteMode) error {
	if mode == interp.Replace {
		return replace(ctx, path, content)
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if mode == interp.Append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	file, err := os.OpenFile(path, flags|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return plain(err)
	}
	f := within(ctx, file)
	_, err = io.Copy(f, reader{ctx, content})
	return plain(errors.Join(err, f.Close()))
}

// replace writes beside what the path leads to and renames.
func replace(ctx context.Context, path string, content io.Reader) error {
	target, mode, err := destination(path)
	if err != nil {
		return err
	}
	if mode != nil && !mode.IsRegular() {
		return Files{}.WriteFile(ctx, path, content, interp.Truncate)
	}
	return writeBeside(ctx, target, mode, content)
}

// destination is the file that a path leads to, and its mode, nil when there is
// none yet. A read-only file is not replaced behind its back.
func destination(path string) (target string, mode *fs.FileMode, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		target, err = behind(path)
		return target, nil, err
	case err != nil:
		return "", nil, plain(err)
	}
	m := info.Mode()
	if !m.IsRegular() {
		return path, &m, nil
	}
	if target, err = filepath.EvalSymlinks(path); err != nil {
		return "", nil, plain(err)
	}
	f, err := os.OpenFile(target, os.O_WRONLY, 0)
	if err != nil {
		return "", nil, plain(err)
	}
	return target, &m, f.Close()
}

// linksMax is how many links in a row are followed, as by the system.
const linksMax = 40

// behind is the missing file at the end of a chain of links: what is written to
// a dangling link is made where the link points.
func behind(path string) (string, error) {
	for range linksMax {
		to, err := os.Readlink(path)
		if err != nil {
			return path, nil
		}
		if !filepath.IsAbs(to) {
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", plain(err)
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", syscall.ELOOP
}

func writeBeside(ctx context.Context, target string, mode *fs.FileMode, content io.Reader) (err error) {
	f, name, err := createBeside(target)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(name)
		}
	}()
	if _, err = io.Copy(f, reader{ctx, content}); err != nil {
		f.Close()
		return plain(err)
	}
	if mode != nil {
		if err = f.Chmod(mode.Perm()); err != nil {
			f.Close()
			return plain(err)
		}
	}
	if err = f.Close(); err != nil {
		return plain(err)
	}
	return plain(os.Rename(name, target))
}

// createBeside makes a fresh file in the target's directory, with the mode that
// the process's mask gives new files.
func createBeside(target string) (*os.File, string, error) {
	for i := 0; ; i++ {
		name := filepath.Join(filepath.Dir(target), ".shoal-"+strconv.Itoa(os.Getpid())+"-"+
			strconv.FormatInt(time.Now().UnixNano(), 36)+strconv.Itoa(i))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return f, name, nil
		}
		if !errors.Is(err, fs.ErrExist) || i > 100 {
			return nil, "", plain(err)
		}
	}
}

// reader stops at the end of its context.
type reader struct {
	ctx context.Context
	r   io.Reader
}

func (r reader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}

// Mkdir makes a directory, with parents if asked for.
func (Files) Mkdir(_ context.Context, path string, parents bool) error {
	if parents {
		return plain(os.MkdirAll(path, 0o777))
	}
	return plain(os.Mkdir(path, 0o777))
}

// Touch creates a file or sets the times of what is there.
func (Files) Touch(_ context.Context, path string, at time.Time) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err == nil {
		return plain(f.Close())
	}
	if !errors.Is(err, fs.ErrExist) {
		return plain(err)
	}
	return plain(os.Chtimes(path, at, at))
}

// Copy copies a file, or with recursive a tree. Links are copied as links.
func (Files) Copy(ctx context.Context, src, dst string, recursive bool) error {
	info, err := os.Stat(src)
	if err != nil {
		return plain(err)
	}
	if info.IsDir() {
		if !recursive {
			return errors.New("is a directory")
		}
		return copyTree(ctx, src, dst)
	}
	return copyFile(ctx, src, dst, info)
}

func copyFile(ctx context.Context, src, dst string, info fs.FileInfo) error {
	in, err := Files{}.Open(ctx, src)
	if err != nil {
		return err
	}
	defer in.Close()
	target, mode, err := destination(dst)
	switch {
	case err != nil:
		return err
	case mode == nil:
		m := info.Mode()
		mode = &m
	case !mode.IsRegular():
		return Files{}.WriteFile(ctx, dst, in, interp.Truncate)
	}
	return writeBeside(ctx, target, mode, in)
}

// copyTree copies a directory. Directories become writable while they are
// filled; their own modes come last.
func copyTree(ctx context.Context, src, dst string) error {
	if inside(dst, src) {
		return fmt.Errorf("%s lies inside it", dst)
	}
	var closed []string // directories that are not to stay as they were made
	modes := map[string]fs.FileMode{}
	err := filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return plain(err)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		to := filepath.Join(dst, rel)
		if info, err := d.Info(); err == nil && d.IsDir() && info.Mode().Perm()&0o700 != 0o700 {
			closed = append(closed, to)
			modes[to] = info.Mode().Perm()
		}
		return copyEntry(ctx, path, to, d)
	})
	for _, dir := range slices.Backward(closed) {
		err = errors.Join(err, os.Chmod(dir, modes[dir]))
	}
	return err
}

// inside reports whether a path, which need not exist, lies in a directory or
// is it.
func inside(path, dir string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	for at := path; ; {
		if info, err := os.Stat(at); err == nil && os.SameFile(info, want) {
			return true
		}
		real, err := filepath.EvalSymlinks(at)
		if err != nil {
			real = at
		}
		parent := filepath.Dir(real)
		if parent == real {
			return false
		}
		at = parent
	}
}

func copyEntry(ctx context.Context, path, to string, d fs.DirEntry) error {
	info, err := d.Info()
	if err != nil {
		return plain(err)
	}
	switch {
	case d.IsDir():
		if err := os.Mkdir(to, info.Mode().Perm()|0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return plain(err)
		}
		return nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := os.Readlink(path)
		if err != nil {
			return plain(err)
		}
		os.Remove(to) // replaced, as a file would be
		return plain(os.Symlink(target, to))
	case info.Mode().IsRegular():
		return copyFile(ctx, path, to, info)
	default:
		return fmt.Errorf("%s is no file, directory or link", path)
	}
}

// Move renames; across devices it copies, then removes the source.
func (Files) Move(ctx context.Context, src, dst string) error {
	err := os.Rename(src, dst)
	if !errors.Is(err, syscall.EXDEV) {
		return plain(err)
	}
	info, err := os.Lstat(src)
	if err != nil {
		return plain(err)
	}
	if old, err := os.Lstat(dst); err == nil && old.Mode()&fs.ModeSymlink != 0 {
		if err := os.Remove(dst); err != nil { // it is replaced, not followed
			return plain(err)
		}
	}
	if info.IsDir() {
		err = copyTree(ctx, src, dst)
	} else { // links stay links, and a pipe is not emptied
		err = copyEntry(ctx, src, dst, fs.FileInfoToDirEntry(info))
	}
	if err != nil {
		return err
	}
	return plain(os.RemoveAll(src))
}

// Remove deletes a file, or with recursive a tree, for good.
func (Files) Remove(_ context.Context, path string, recursive bool) error {
	if recursive {
		return plain(os.RemoveAll(path))
	}
	return plain(os.Remove(path))
}

// Link makes a link to target, which stays as written when symbolic.
func (Files) Link(_ context.Context, target, link string, symbolic bool) error {
	if symbolic {
		return plain(os.Symlink(target, link))
	}
	return plain(os.Link(target, link))
}

// Real resolves symbolic links.
func (Files) Real(_ context.Context, path string) (string, error) {
	real, err := filepath.EvalSymlinks(path)
	return real, plain(err)
}

var _ interp.Files = Files{}
