package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A restart that could not end well does not begin: the kernel that runs stays.
func TestRestartWithBadConfiguration(t *testing.T) {
	w := world(t)
	w.StartKernel()
	r := w.Raw("main")
	r.Exec("let x = 5")
	pid := w.KernelPID()
	dir := filepath.Join(w.Home, ".config", "shoal")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ file, text, part string }{
		{"policy.toml", "[principal.local-human]\nopaque = \"perhaps\"\n", "policy.toml"},
		{"policy.toml", "[principal\n", "line 2"},
		{"shoal.toml", "[journal]\nsync = \"never\"\n", "journal.sync"},
		{"shoal.toml", "[kernel]\nmcp_http = \"0.0.0.0:1\"\n", "loopback"},
		{"shoal.toml", "[kernel]\npty_engine = \"vt52\"\n", "vt52"},
		{"shoal.toml", "[kernel]\nsocket_group = \"no-such-group\"\n", "no-such-group"},
	} {
		path := filepath.Join(dir, tc.file)
		if err := os.WriteFile(path, []byte(tc.text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, errs, status := w.Shoal("kernel", "restart", "--state-dir", w.State)
		if status != 1 || !strings.Contains(errs, tc.part) || !strings.Contains(errs, "left as it is") {
			t.Errorf("%s: got %d %q, want %q", tc.file, status, errs, tc.part)
		}
		if got := w.KernelPID(); got != pid {
			t.Fatalf("%s: kernel %d has taken the place of %d", tc.file, got, pid)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	if got := r.Render("x"); got != "5" {
		t.Errorf("got %s", got)
	}
	if out, errs, status := w.Shoal("kernel", "restart", "--state-dir", w.State); status != 0 || w.KernelPID() == pid {
		t.Errorf("with all in order: got %d %s%s", status, out, errs)
	}
}
