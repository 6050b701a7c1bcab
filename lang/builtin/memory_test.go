package builtin_test

import (
	"bytes"
	"context"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
)

// memoryFiles is a file system in a map that writes down what is done to it.
// Looking at a file's metadata is not written down: heads look before they act.
type memoryFiles struct {
	mu  sync.Mutex
	all map[string]*memoryFile
	did []effect.Effect
}

type memoryFile struct {
	dir     bool
	content []byte
	at      time.Time
}

func newMemoryFiles(dirs, files []string) *memoryFiles {
	m := &memoryFiles{all: map[string]*memoryFile{"/": {dir: true}}}
	for _, d := range dirs {
		m.all[d] = &memoryFile{dir: true}
	}
	for _, f := range files {
		m.all[f] = &memoryFile{content: []byte("content of " + f + "\n")}
	}
	return m
}

func (m *memoryFiles) note(kind effect.Kind, p string) {
	m.did = append(m.did, effect.Effect{Kind: kind, Path: p})
}

func fail(op, p string, err error) error { return &fs.PathError{Op: op, Path: p, Err: err} }

// find is the file at p, whose parents must be directories.
func (m *memoryFiles) find(op, p string) (*memoryFile, error) {
	if f := m.all[p]; f != nil {
		return f, nil
	}
	return nil, fail(op, p, fs.ErrNotExist)
}

// place checks that p can be created.
func (m *memoryFiles) place(op, p string) error {
	if parent := m.all[path.Dir(p)]; parent == nil || !parent.dir {
		return fail(op, p, fs.ErrNotExist)
	}
	return nil
}

func (m *memoryFiles) info(p string, f *memoryFile) interp.FileInfo {
	info := interp.FileInfo{Name: path.Base(p), Type: "file", Size: int64(len(f.content)), Modified: f.at}
	if f.dir {
		info.Type = "dir"
	}
	return info
}

func (m *memoryFiles) Stat(_ context.Context, p string) (interp.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f, err := m.find("stat", p)
	if err != nil {
		return interp.FileInfo{}, err
	}
	return m.info(p, f), nil
}

func (m *memoryFiles) Lstat(ctx context.Context, p string) (interp.FileInfo, error) {
	return m.Stat(ctx, p)
}

func (m *memoryFiles) ReadDir(ctx context.Context, p string) ([]interp.DirEntry, error) {
	var out []interp.DirEntry
	all, err := m.List(ctx, p)
	for _, info := range all {
		out = append(out, interp.DirEntry{Name: info.Name, Type: info.Type})
	}
	return out, err
}

func (m *memoryFiles) List(_ context.Context, p string) ([]interp.FileInfo, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSRead, p)
	f, err := m.find("read", p)
	if err != nil {
		return nil, err
	}
	if !f.dir {
		return nil, fail("read", p, fs.ErrInvalid)
	}
	var out []interp.FileInfo
	for name, child := range m.all {
		if name != "/" && path.Dir(name) == p {
			out = append(out, m.info(name, child))
		}
	}
	return out, nil
}

func (m *memoryFiles) Open(_ context.Context, p string) (io.ReadCloser, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSRead, p)
	f, err := m.find("open", p)
	if err != nil {
		return nil, err
	}
	if f.dir {
		return nil, fail("open", p, fs.ErrInvalid)
	}
	return io.NopCloser(bytes.NewReader(slices.Clone(f.content))), nil
}

func (m *memoryFiles) WriteFile(_ context.Context, p string, r io.Reader, mode interp.WriteMode) error {
	content, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSWrite, p)
	if err := m.place("write", p); err != nil {
		return err
	}
	if old := m.all[p]; old != nil && old.dir {
		return fail("write", p, fs.ErrInvalid)
	} else if old != nil && mode == interp.Append {
		content = append(slices.Clone(old.content), content...)
	}
	m.all[p] = &memoryFile{content: content}
	return nil
}

func (m *memoryFiles) Mkdir(_ context.Context, p string, parents bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSWrite, p)
	if f := m.all[p]; f != nil {
		if parents && f.dir {
			return nil
		}
		return fail("mkdir", p, fs.ErrExist)
	}
	if !parents {
		if err := m.place("mkdir", p); err != nil {
			return err
		}
	}
	for ; m.all[p] == nil; p = path.Dir(p) {
		m.all[p] = &memoryFile{dir: true}
	}
	if !m.all[p].dir {
		return fail("mkdir", p, fs.ErrExist)
	}
	return nil
}

func (m *memoryFiles) Touch(_ context.Context, p string, at time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSWrite, p)
	if f := m.all[p]; f != nil {
		f.at = at
		return nil
	}
	if err := m.place("touch", p); err != nil {
		return err
	}
	m.all[p] = &memoryFile{at: at}
	return nil
}

// below lists p and everything under it.
func (m *memoryFiles) below(p string) []string {
	var out []string
	for name := range m.all {
		if name == p || strings.HasPrefix(name, p+"/") {
			out = append(out, name)
		}
	}
	return out
}

func (m *memoryFiles) Copy(_ context.Context, src, dst string, _ bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSRead, src)
	m.note(effect.FSWrite, dst)
	return m.transfer("copy", src, dst)
}

func (m *memoryFiles) transfer(op, src, dst string) error {
	if _, err := m.find(op, src); err != nil {
		return err
	}
	if err := m.place(op, dst); err != nil {
		return err
	}
	for _, name := range m.below(src) {
		f := *m.all[name]
		m.all[dst+strings.TrimPrefix(name, src)] = &f
	}
	return nil
}

func (m *memoryFiles) Move(_ context.Context, src, dst string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSDelete, src)
	m.note(effect.FSWrite, dst)
	if err := m.transfer("move", src, dst); err != nil {
		return err
	}
	for _, name := range m.below(src) {
		delete(m.all, name)
	}
	return nil
}

func (m *memoryFiles) Remove(_ context.Context, p string, recursive bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSDelete, p)
	names := m.below(p)
	if len(names) == 0 {
		return fail("remove", p, fs.ErrNotExist)
	}
	if len(names) > 1 && !recursive {
		return fail("remove", p, fs.ErrExist)
	}
	for _, name := range names {
		delete(m.all, name)
	}
	return nil
}

func (m *memoryFiles) Trash(ctx context.Context, p string) (string, error) {
	if err := m.Remove(ctx, p, true); err != nil {
		return "", err
	}
	return "/trash/" + path.Base(p), nil
}

func (m *memoryFiles) Link(_ context.Context, target, link string, _ bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.note(effect.FSWrite, link)
	if err := m.place("link", link); err != nil {
		return err
	}
	if m.all[link] != nil {
		return fail("link", link, fs.ErrExist)
	}
	m.all[link] = &memoryFile{content: []byte("link to " + target)}
	return nil
}

func (m *memoryFiles) Real(_ context.Context, p string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.find("resolve", p)
	return p, err
}
