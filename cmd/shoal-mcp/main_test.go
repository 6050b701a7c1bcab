package main

import (
	"io"
	"os"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	t.Setenv("SHOAL_NO_AUTOSTART", "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	t.Setenv("SHOAL_STATE_DIR", "")
	t.Setenv("SHOAL_SOCKET", "")
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n"
	tests := []struct {
		args           []string
		stdin          string
		code           int
		stdout, stderr string // parts
	}{
		{[]string{"--help"}, "", 0, "usage: shoal-mcp", ""},
		{[]string{"--version"}, "", 0, "shoal-mcp ", ""},
		{[]string{"--nonsense"}, "", 2, "", "error: flag provided but not defined"},
		{[]string{"extra"}, "", 2, "", `error: unexpected argument "extra"`},
		{[]string{"--token-file", "/nowhere"}, "", 2, "", "error: read token"},
		{nil, initialize, 1, `{"jsonrpc":"2.0","id":1,"error":{"code":-32041,"message":"no kernel serves`, ""},
		{[]string{"--socket", "/nowhere/s"}, initialize, 1, "(tried /nowhere/s)", ""},
	}
	for _, tt := range tests {
		code, stdout, stderr := runWith(t, tt.stdin, tt.args)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) ||
			(tt.stdout == "") != (stdout == "") {
			t.Errorf("%q: got %d, %q, %q", tt.args, code, stdout, stderr)
		}
	}
}

func TestTokenLeavesTheEnvironment(t *testing.T) {
	t.Setenv("SHOAL_NO_AUTOSTART", "1")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("SHOAL_TOKEN", "secret")
	runWith(t, "", nil)
	if got, ok := os.LookupEnv("SHOAL_TOKEN"); ok {
		t.Errorf("SHOAL_TOKEN is still %q", got)
	}
}

// runWith runs the program on pipes; what it prints fits into them.
func runWith(t *testing.T, stdin string, args []string) (code int, stdout, stderr string) {
	t.Helper()
	outRead, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	errRead, errs, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	code = run(args, strings.NewReader(stdin), out, errs)
	out.Close()
	errs.Close()
	printed, _ := io.ReadAll(outRead)
	complained, _ := io.ReadAll(errRead)
	outRead.Close()
	errRead.Close()
	return code, string(printed), string(complained)
}
