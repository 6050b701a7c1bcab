package token

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
	"unicode/utf8"
)

const (
	// Owner is the principal whose token stands for the kernel's own user.
	Owner = "local-human"
	// prefix tells people and scanners for leaked secrets what they see.
	prefix = "shoal_"
	// idPrefix begins what a token is called.
	idPrefix = "tok-"
	// size is the random part of a token in bytes.
	size = 32
	// limit is how many tokens a state directory may have.
	limit = 4096
	// maxPrincipal is the longest name of a principal in bytes.
	maxPrincipal = 256
)

// Entry is what is kept of a token.
type Entry struct {
	ID        string `json:"id"`
	Principal string `json:"principal"`
	// Digest is the SHA-256 of the token in hexadecimal digits. The token is
	// random, so that nothing slower is called for.
	Digest    string `json:"digest"`
	CreatedNS int64  `json:"created_ns"`
	ExpiresNS int64  `json:"expires_ns,omitempty"` // 0: never
	// Sessions are patterns of the session names that the token opens; none
	// means all that policy permits.
	Sessions []string `json:"sessions,omitempty"`
}

// Expired reports whether the token's time is over.
func (e Entry) Expired(now time.Time) bool { return e.ExpiresNS != 0 && now.UnixNano() >= e.ExpiresNS }

// Opens reports whether the token is good for a session of that name.
func (e Entry) Opens(session string) bool {
	if len(e.Sessions) == 0 {
		return true
	}
	return slices.ContainsFunc(e.Sessions, func(pattern string) bool {
		ok, err := path.Match(pattern, session)
		return ok && err == nil
	})
}

// Why a token is not accepted.
var (
	ErrUnknown = errors.New("the token is not known to this kernel, or was revoked; shoal token create makes one")
	ErrExpired = errors.New("the token has expired; shoal token create makes a new one")
)

// Store is the tokens of one state directory. Any goroutine may use it.
type Store struct {
	path string
	now  func() time.Time

	mu   sync.Mutex
	seen stamp // of the file that was read
	err  error // why it could not be
	all  []known
}

// known is an entry with its digest decoded.
type known struct {
	Entry
	digest []byte
}

// stamp tells one version of the file from another: it is only ever replaced.
type stamp struct {
	there    bool
	dev, ino uint64
	size     int64
	modified time.Time
	mode     os.FileMode
}

// Open is the store of a state directory. It reads nothing yet.
func Open(stateDir string) *Store {
	return &Store{path: filepath.Join(stateDir, FileName), now: time.Now, seen: stamp{size: -1}}
}

// Create makes a token and gives it, the only time that it can be seen. A ttl
// of 0 means that it does not expire.
func (s *Store) Create(principal string, ttl time.Duration, sessions []string) (string, Entry, error) {
	if err := checkPrincipal(principal); err != nil {
		return "", Entry{}, err
	}
	for _, pattern := range sessions {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return "", Entry{}, fmt.Errorf("session %q: expected the name of a session, or a pattern such as review-*", pattern)
		}
	}
	if ttl < 0 {
		return "", Entry{}, fmt.Errorf("ttl %v: expected a time that is not negative", ttl)
	}
	var random [size]byte
	var id [4]byte
	rand.Read(random[:]) // never fails
	rand.Read(id[:])
	secret := prefix + base64.RawURLEncoding.EncodeToString(random[:])
	now := s.now()
	e := Entry{ID: idPrefix + hex.EncodeToString(id[:]), Principal: principal, Digest: hex.EncodeToString(digest(secret)), CreatedNS: now.UnixNano(), Sessions: sessions}
	if ttl > 0 {
		e.ExpiresNS = now.Add(ttl).UnixNano()
	}
	err := s.change(func(c *file) error {
		c.Tokens = slices.DeleteFunc(c.Tokens, func(old Entry) bool { return old.Expired(now.Add(-keepExpired)) })
		if len(c.Tokens) >= limit {
			return fmt.Errorf("create token: there are %d; revoke some", limit)
		}
		c.Tokens = append(c.Tokens, e)
		return nil
	})
	if err != nil {
		return "", Entry{}, err
	}
	return secret, e, nil
}

// keepExpired is how long an expired token is still listed.
const keepExpired = 30 * 24 * time.Hour

func checkPrincipal(name string) error {
	switch {
	case name == "" || len(name) > maxPrincipal || !utf8.ValidString(name) || strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }):
		return fmt.Errorf("principal %.80q: expected a name without spaces, of at most %d bytes, such as agent:reviewer or %s", name, maxPrincipal, Owner)
	case strings.HasPrefix(name, "uid:"):
		return fmt.Errorf("principal %.80q: users of this machine are known by their socket; use %s for the kernel's own user", name, Owner)
	case strings.HasPrefix(name, idPrefix):
		return fmt.Errorf("principal %.80q: names that begin with %s are those of tokens", name, idPrefix)
	}
	return nil
}

// List is every token, oldest first.
func (s *Store) List() ([]Entry, error) {
	c, _, err := read(s.path)
	return c.Tokens, err
}

// Revoke takes tokens back, by their id or by their principal, and gives those
// that it has taken.
func (s *Store) Revoke(name string) ([]Entry, error) {
	var gone []Entry
	err := s.change(func(c *file) error {
		c.Tokens = slices.DeleteFunc(c.Tokens, func(e Entry) bool {
			if e.ID != name && e.Principal != name {
				return false
			}
			gone = append(gone, e)
			return true
		})
		if len(gone) == 0 {
			return fmt.Errorf("revoke token: there is none of id or principal %.80q; shoal token list shows them", name)
		}
		return nil
	})
	return gone, err
}

// change reads, changes and replaces the file while no other writer does.
func (s *Store) change(f func(*file) error) error {
	l, err := lock(s.path)
	if err != nil {
		return err
	}
	defer l.Close()
	c, _, err := read(s.path)
	if err != nil {
		return err
	}
	if err := f(&c); err != nil {
		return err
	}
	return write(s.path, c)
}

// Check finds the entry of a token. How long it takes tells nothing of how
// much of a token is right.
func (s *Store) Check(secret string) (Entry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.refreshLocked(); err != nil {
		return Entry{}, err
	}
	sum := digest(secret)
	found := -1
	for i, k := range s.all {
		if subtle.ConstantTimeCompare(k.digest, sum) == 1 {
			found = i
		}
	}
	switch {
	case found < 0:
		return Entry{}, ErrUnknown
	case s.all[found].Expired(s.now()):
		return Entry{}, ErrExpired
	}
	return s.all[found].Entry, nil
}

// Holds reports whether a token of that id is still good.
func (s *Store) Holds(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.refreshLocked() != nil {
		return false
	}
	return slices.ContainsFunc(s.all, func(k known) bool { return k.ID == id && !k.Expired(s.now()) })
}

// refreshLocked reads the file again if it has been replaced.
func (s *Store) refreshLocked() error {
	now, err := stampOf(s.path)
	if err != nil {
		return fmt.Errorf("read tokens: %w", err)
	}
	if now == s.seen {
		return s.err
	}
	c, info, err := read(s.path)
	s.seen, s.err, s.all = now, err, nil
	if info != nil { // of the very file that was read
		s.seen = stampFrom(info)
	}
	if err != nil {
		return err
	}
	for _, e := range c.Tokens {
		sum, err := hex.DecodeString(e.Digest)
		if err != nil || len(sum) != sha256.Size {
			continue // opens nothing
		}
		s.all = append(s.all, known{e, sum})
	}
	return nil
}

func stampOf(path string) (stamp, error) {
	info, err := os.Stat(path)
	if errors.Is(err, os.ErrNotExist) {
		return stamp{}, nil
	}
	if err != nil {
		return stamp{}, err
	}
	return stampFrom(info), nil
}

func stampFrom(info os.FileInfo) stamp {
	s := stamp{there: true, size: info.Size(), modified: info.ModTime(), mode: info.Mode()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.dev, s.ino = uint64(st.Dev), st.Ino
	}
	return s
}

func digest(secret string) []byte {
	sum := sha256.Sum256([]byte(secret))
	return sum[:]
}
