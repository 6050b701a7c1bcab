package e2e

import (
	"os"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// Tokens as people and agents use them: made on the command line, given in the
// environment or a file, revoked under a running kernel.
func TestTokens(t *testing.T) {
	w := world(t)
	w.StartKernel("--require-token")
	shoal := func(want int, args ...string) (out, errs string) {
		t.Helper()
		out, errs, status := w.Shoal(append(args, "--state-dir", w.State)...)
		if status != want {
			t.Fatalf("shoal %v: status %d, want %d: %s%s", args, status, want, out, errs)
		}
		return out, errs
	}
	if _, errs := shoal(1, "run", "1"); !strings.Contains(errs, "token") || !strings.Contains(errs, "hint: shoal token create") {
		t.Errorf("without a token: got %q", errs)
	}
	out, errs := shoal(0, "token", "create", "local-human")
	secret := strings.TrimSuffix(out, "\n")
	if !strings.HasPrefix(secret, "shoal_") || strings.Contains(secret, "\n") || strings.Contains(errs, secret) {
		t.Fatalf("create: got %q, %q", out, errs)
	}
	if list, _ := shoal(0, "token", "list"); strings.Contains(list, secret) || !strings.Contains(list, "local-human") {
		t.Errorf("list: got %q", list)
	}
	plain := w.Env
	w.Env = append(append([]string(nil), plain...), "SHOAL_TOKEN="+secret)
	if out, _ := shoal(0, "run", "1 + 1"); out != "2\n" {
		t.Errorf("with the token: got %q", out)
	}
	f := w.Facade("main")
	if got := f.Exec("sh { echo [$SHOAL_TOKEN] }").Text; !strings.Contains(got, "[]") {
		t.Errorf("programs see the token: %q", got)
	}
	w.Env = plain
	file := w.Write("token", secret+"\n")
	if err := os.Chmod(file, 0o600); err != nil {
		t.Fatal(err)
	}
	shoal(0, "run", "1", "--token-file", file)
	shoal(0, "token", "revoke", "local-human")
	kit.Eventually(t, kit.Long, "the facade's calls are refused", func() bool {
		r := f.Call("tools/call", kit.Args{"name": "shoal_exec", "arguments": kit.Args{"src": "1"}})
		return r.Error.At("code").Int() == int64(messages.CodeAuthFailed)
	})
	if _, errs := shoal(1, "run", "1", "--token-file", file); !strings.Contains(errs, "revoked") {
		t.Errorf("after revoking: got %q", errs)
	}
	shoal(1, "token", "revoke", "local-human")
	shoal(2, "token", "create")
	shoal(2, "token", "mend")
	shoal(1, "token", "create", "uid:0")
}
