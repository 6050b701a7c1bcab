package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"shoal.dev/shoal/lang/value"
)

const (
	// maxSecret is how many bytes a secret may have.
	maxSecret = 64 << 10
	// maxSecretName is how many characters its name may have.
	maxSecretName = 128
)

// Secrets is a directory with a file for each secret, named as the secret is. A
// line feed at the end of a file is not part of it. Nobody else may read the
// files. It knows the secrets that it has given out, and masks them. It is safe
// for concurrent use; the zero value has no secrets.
type Secrets struct {
	Dir string

	mu    sync.Mutex
	known map[string]string // by name
	masks atomic.Pointer[masks]
}

// Secret reads a secret.
func (s *Secrets) Secret(_ context.Context, name string) ([]byte, error) {
	if s.Dir == "" || !isSecretName(name) {
		return nil, noSecret(name)
	}
	path := filepath.Join(s.Dir, name)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK|syscall.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, noSecret(name).WithHint("it would be the file %s, which only you may read", path)
	case err != nil:
		return nil, value.Errorf(value.CodePermission, "secret `%s` cannot be read: %v", name, err)
	}
	defer f.Close()
	if err := private(f, name); err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(f, maxSecret+2))
	if err != nil {
		return nil, value.Errorf(value.CodePermission, "secret `%s` cannot be read: %v", name, err)
	}
	text = bytes.TrimSuffix(text, []byte("\n"))
	if len(text) > maxSecret {
		return nil, value.Errorf(value.CodePermission, "secret `%s` has more than %d bytes", name, maxSecret)
	}
	s.learn(name, string(text))
	return text, nil
}

// isSecretName keeps names within the directory.
func isSecretName(name string) bool {
	if name == "" || len(name) > maxSecretName || name[0] == '.' {
		return false
	}
	return strings.Trim(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") == ""
}

func noSecret(name string) *value.Error {
	return value.Errorf(value.CodeNotFound, "no secret named `%s`", name)
}

// private refuses what is no file of ours, or can be read by others.
func private(f *os.File, name string) error {
	info, err := f.Stat()
	if err != nil {
		return value.Errorf(value.CodePermission, "secret `%s` cannot be read: %v", name, err)
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !info.Mode().IsRegular():
		return value.Errorf(value.CodePermission, "secret `%s`: %s is no file", name, f.Name())
	case info.Mode().Perm()&0o077 != 0 || ok && int(st.Uid) != os.Geteuid():
		return value.Errorf(value.CodePermission, "secret `%s` is open to others", name).
			WithHint("chmod 600 %s, and let it belong to you", f.Name())
	}
	return nil
}

// learn makes a secret one that is masked.
func (s *Secrets) learn(name, text string) {
	more := masksOf(name, text)
	if len(more) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[name] == text {
		return
	}
	if s.known == nil {
		s.known = map[string]string{}
	}
	s.known[name] = text
	var all []mask
	if old := s.masks.Load(); old != nil {
		all = slices.Clone(old.all) // former values of a secret stay masked
	}
	s.masks.Store(newMasks(append(all, more...)))
}

// Known reports whether there are secrets to be masked.
func (s *Secrets) Known() bool { return s.masks.Load() != nil }

// Mask replaces in place the secrets that are known by now, also where they are
// spelled in other ways; see masksOf. The length stays.
func (s *Secrets) Mask(b []byte) {
	if m := s.masks.Load(); m != nil {
		m.hide(b)
	}
}

// Margin is by how many bytes what is masked may reach into a piece from the
// outside.
func (s *Secrets) Margin() int {
	m := s.masks.Load()
	if m == nil {
		return 0
	}
	return m.longest - 1
}

// Masked is b, or a copy of it in which the known secrets are masked.
func (s *Secrets) Masked(b []byte) []byte {
	if s.masks.Load() == nil {
		return b
	}
	b = bytes.Clone(b)
	s.Mask(b)
	return b
}

// MaskReader masks what is read through it.
func (s *Secrets) MaskReader(r io.Reader) io.Reader {
	m := s.masks.Load()
	if m == nil {
		return r
	}
	return &maskReader{s: s, r: r, keep: m.longest - 1}
}

// maskReader holds back as many bytes as could be the beginning of a secret.
type maskReader struct {
	s    *Secrets
	r    io.Reader
	keep int
	buf  []byte
	err  error
}

// maskPiece is how much is read at a time, in bytes.
const maskPiece = 64 << 10

// Read gives masked bytes.
func (m *maskReader) Read(p []byte) (int, error) {
	for m.err == nil && len(m.buf) <= m.keep {
		old := len(m.buf)
		m.buf = slices.Grow(m.buf, maskPiece+m.keep)[:old+maskPiece+m.keep]
		n, err := io.ReadFull(m.r, m.buf[old:])
		m.buf, m.err = m.buf[:old+n], err
		m.s.Mask(m.buf)
	}
	ready := len(m.buf)
	if m.err == nil {
		ready -= m.keep
	}
	n := copy(p, m.buf[:ready])
	m.buf = m.buf[n:]
	switch {
	case n > 0 || len(p) == 0:
		return n, nil
	case errors.Is(m.err, io.ErrUnexpectedEOF):
		return 0, io.EOF
	case m.err == io.EOF:
		return 0, io.EOF
	default:
		return 0, fmt.Errorf("read what is to be masked: %w", m.err)
	}
}
