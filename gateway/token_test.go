package gateway_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/token"
)

// tokens is the store of the world's kernel, as the command line opens it.
func (w *world) tokens() *token.Store { return token.Open(filepath.Join(w.dir, "state")) }

func (w *world) token(principal string, ttl time.Duration, sessions ...string) (secret, id string) {
	w.t.Helper()
	secret, e, err := w.tokens().Create(principal, ttl, sessions)
	if err != nil {
		w.t.Fatal(err)
	}
	return secret, e.ID
}

// A token counts in the kernel that runs, and stops counting the same way.
func TestTokenOfTheOwner(t *testing.T) {
	w := newWorld(t, func(o *kernel.Options) { o.RequireToken = true })
	if r := w.dial().code(-32030, "session.attach", nil); !strings.Contains(string(r.Data), "token_required") {
		t.Errorf("without a token: got %s", r.Data)
	}
	if r := w.dial().code(-32030, "session.attach", map[string]any{"token": "shoal_x"}); !strings.Contains(r.Message, "not known") {
		t.Errorf("unknown: got %q", r.Message)
	}
	secret, id := w.token(token.Owner, 0)
	c := w.dial()
	got := c.ok("session.attach", map[string]any{"token": secret, "cwd": w.dir})
	if p, _ := got["principal"].(string); !strings.HasPrefix(p, "uid:") {
		t.Errorf("principal: got %v", got["principal"])
	}
	c.ok("exec", map[string]any{"src": "1"})
	if _, err := w.tokens().Revoke(id); err != nil {
		t.Fatal(err)
	}
	for c.read() { // the connection is cut
	}
	w.dial().code(-32030, "session.attach", map[string]any{"token": secret})
}

func TestExpiredTokenIsCut(t *testing.T) {
	w := newWorld(t)
	secret, _ := w.token(token.Owner, 300*time.Millisecond)
	c := w.dial()
	c.ok("session.attach", map[string]any{"token": secret, "cwd": w.dir})
	for c.read() {
	}
	if r := w.dial().code(-32030, "session.attach", map[string]any{"token": secret}); !strings.Contains(r.Message, "expired") {
		t.Errorf("got %q", r.Message)
	}
}

// Whom policy does not name may attach nowhere, and is told what is missing.
func TestTokenOfAPrincipalWithoutPolicy(t *testing.T) {
	w := newWorld(t)
	secret, _ := w.token("agent:x", 0)
	r := w.dial().code(-32010, "session.attach", map[string]any{"token": secret, "session": "s"})
	if !strings.Contains(r.Message, "agent:x") || !strings.Contains(string(r.Data), "policy file") {
		t.Errorf("got %q %s", r.Message, r.Data)
	}
}

// Whom policy names enters its own sessions, and acts under its own rules.
func TestTokenOfAPrincipalWithPolicy(t *testing.T) {
	w := newWorld(t, func(o *kernel.Options) {
		o.ConfigDir = filepath.Join(filepath.Dir(o.Paths.Socket), "config")
		write(t, filepath.Join(o.ConfigDir, "policy.toml"), "[principal.\"agent:x\"]\nsessions = [\"x-*\"]\n")
	})
	secret, _ := w.token("agent:x", 0)
	w.dial().code(-32010, "session.attach", map[string]any{"token": secret, "session": "mine"})
	c := w.dial()
	got := c.ok("session.attach", map[string]any{"token": secret, "session": "x-1", "cwd": w.dir})
	if got["principal"] != "agent:x" {
		t.Errorf("got %v", got["principal"])
	}
	c.ok("exec", map[string]any{"src": "1 + 1"})
	c.code(-32010, "exec", map[string]any{"src": "^/bin/true"})
	c.code(-32010, "kernel.shutdown", nil)
}

func TestTokenForSomeSessions(t *testing.T) {
	w := newWorld(t)
	w.attach("other")
	secret, _ := w.token(token.Owner, 0, "review-*")
	if r := w.dial().code(-32010, "session.attach", map[string]any{"token": secret, "session": "other"}); !strings.Contains(r.Message, "review-*") {
		t.Errorf("got %q", r.Message)
	}
	c := w.dial()
	got := c.ok("session.attach", map[string]any{"token": secret, "session": "review-1", "cwd": w.dir})
	if caps := got["caps"].(map[string]any)["token_caps"].([]any); len(caps) != 1 || caps[0] != "session:review-*" {
		t.Errorf("token_caps: got %v", caps)
	}
	c.code(-32010, "session.close", map[string]any{"session": "other"})
	c.code(-32010, "kernel.shutdown", nil)
	if list := c.ok("session.list", nil)["sessions"].([]any); len(list) != 1 {
		t.Errorf("list: got %v", list)
	}
}
