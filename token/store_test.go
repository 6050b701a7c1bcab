package token

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestTokenIsGoodUntilRevoked(t *testing.T) {
	dir := t.TempDir()
	kernel, people := Open(dir), Open(dir) // two processes share a file, not a Store
	if _, err := kernel.Check("shoal_x"); !errors.Is(err, ErrUnknown) {
		t.Errorf("without a file: got %v", err)
	}
	secret, made, err := people.Create("agent:a", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := people.Create(Owner, 0, []string{"review-*"})
	if err != nil || other == secret {
		t.Fatalf("second token: %q, %v", other, err)
	}
	for _, c := range []struct{ secret, principal string }{{secret, "agent:a"}, {other, Owner}} {
		if e, err := kernel.Check(c.secret); err != nil || e.Principal != c.principal {
			t.Errorf("got %+v, %v, want %s", e, err, c.principal)
		}
	}
	for _, wrong := range []string{"", "shoal_", secret[:len(secret)-1], secret + "A", strings.ToUpper(secret), made.ID, made.Digest} {
		if _, err := kernel.Check(wrong); !errors.Is(err, ErrUnknown) {
			t.Errorf("%q: got %v", wrong, err)
		}
	}
	gone, err := people.Revoke(made.ID)
	if err != nil || len(gone) != 1 {
		t.Errorf("revoke: got %v, %v", gone, err)
	}
	if _, err := kernel.Check(secret); !errors.Is(err, ErrUnknown) || kernel.Holds(made.ID) {
		t.Errorf("after revoking: got %v", err)
	}
	if _, err := kernel.Check(other); err != nil {
		t.Errorf("the other token: %v", err)
	}
	if _, err := people.Revoke(made.ID); err == nil {
		t.Error("revoking twice is no mistake")
	}
}

func TestFileHoldsNoToken(t *testing.T) {
	dir := t.TempDir()
	secret, _, err := Open(dir).Create("agent:a", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Join(dir, FileName))
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, %v", info.Mode(), err)
	}
	names, _ := filepath.Glob(dir + "/.*")
	for _, name := range append(names, filepath.Join(dir, FileName)) {
		if text, _ := os.ReadFile(name); strings.Contains(string(text), strings.TrimPrefix(secret, prefix)) {
			t.Errorf("%s holds the token", name)
		}
	}
	if random := strings.TrimPrefix(secret, prefix); len(random) != 43 {
		t.Errorf("got %d characters, want 32 bytes", len(random))
	}
}

func TestTokensExpire(t *testing.T) {
	s := Open(t.TempDir())
	now := time.Unix(1000, 0)
	s.now = func() time.Time { return now }
	secret, e, err := s.Create("agent:a", time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	now = now.Add(time.Minute - 1)
	if _, err := s.Check(secret); err != nil {
		t.Errorf("before: %v", err)
	}
	now = now.Add(1)
	if _, err := s.Check(secret); !errors.Is(err, ErrExpired) || s.Holds(e.ID) {
		t.Errorf("after: got %v", err)
	}
}

func TestWhatATokenOpens(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		session  string
		want     bool
	}{
		{nil, "any", true}, {[]string{"a"}, "a", true}, {[]string{"a"}, "ab", false},
		{[]string{"a", "review-*"}, "review-1", true}, {[]string{"*"}, "any", true}, {[]string{"["}, "[", false},
	} {
		if got := (Entry{Sessions: c.patterns}).Opens(c.session); got != c.want {
			t.Errorf("%v opens %s: got %v", c.patterns, c.session, got)
		}
	}
}

func TestBadNames(t *testing.T) {
	s := Open(t.TempDir())
	for _, name := range []string{"", "a b", "a\n", "uid:0", "tok-12345678", strings.Repeat("x", 257), "\xff"} {
		if _, _, err := s.Create(name, 0, nil); err == nil {
			t.Errorf("%.20q was accepted", name)
		}
	}
	if _, _, err := s.Create("a", 0, []string{"["}); err == nil {
		t.Error("a broken pattern was accepted")
	}
	if _, _, err := s.Create("a", -1, nil); err == nil {
		t.Error("a negative time was accepted")
	}
}

// A file that is damaged, or that others may have written, opens nothing, and
// counts again once it is put right.
func TestUntrustedFile(t *testing.T) {
	dir := t.TempDir()
	s := Open(dir)
	path := filepath.Join(dir, FileName)
	secret, _, err := s.Create("agent:a", 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	replace := func(text []byte, mode os.FileMode) {
		t.Helper()
		if err := errors.Join(os.Remove(path), os.WriteFile(path, text, mode), os.Chmod(path, mode)); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		text []byte
		mode os.FileMode
		part string
	}{
		{good[:len(good)/2], 0o600, "damaged"},
		{good, 0o644, "0600"},
		{[]byte(`{"version":2}`), 0o600, "version 2"},
	} {
		replace(c.text, c.mode)
		if _, err := s.Check(secret); err == nil || !strings.Contains(err.Error(), c.part) {
			t.Errorf("%s: got %v", c.part, err)
		}
		if _, _, err := s.Create("agent:b", 0, nil); err == nil {
			t.Errorf("%s: the file was overwritten", c.part)
		}
	}
	replace(good, 0o600)
	if _, err := s.Check(secret); err != nil {
		t.Errorf("put right: %v", err)
	}
}

func TestWritersDoNotLoseTokens(t *testing.T) {
	dir := t.TempDir()
	var writers sync.WaitGroup
	const each = 8
	for range 4 {
		writers.Go(func() {
			for range each {
				if _, _, err := Open(dir).Create("agent:a", 0, nil); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writers.Wait()
	if all, err := Open(dir).List(); err != nil || len(all) != 4*each {
		t.Errorf("got %d tokens, %v", len(all), err)
	}
}
