package e2e

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shoal.dev/shoal/test/kit"
)

// The command line for people, on its own kernel.
func TestCommandLine(t *testing.T) {
	w := world(t)
	for _, tc := range []struct {
		args   []string
		out    string
		status int
	}{
		{[]string{"run", "1 + 1"}, "2", 0},
		{[]string{"run", "let a = 5"}, "", 0},
		{[]string{"run", "a"}, "5", 0},
		{[]string{"run", "sh { exit 7 }"}, "", 7},
		{[]string{"run", "exit 4"}, "", 4},
		{[]string{"run", "[1][9]"}, "", 1},
		{[]string{"run", "ls | wc"}, "", 2},
		{[]string{"run", "--session", "other", "a"}, "", 1},
		{[]string{"kernel", "status"}, w.State, 0},
		{[]string{"history"}, "sh { exit 7 }", 0},
		{[]string{"no-such-command"}, "", 2},
		{[]string{"--version"}, "shoal ", 0},
	} {
		out, errs, status := w.Shoal(append(tc.args, flags(tc.args, w)...)...)
		if status != tc.status || !strings.Contains(out, tc.out) {
			t.Errorf("shoal %v: got status %d, %q, %q, want %d and %q", tc.args, status, out, errs, tc.status, tc.out)
		}
		if status != 0 && tc.status != 4 && tc.status != 7 && !strings.Contains(errs, "error:") {
			t.Errorf("shoal %v: stderr: got %q, want an error line", tc.args, errs)
		}
	}
	live, _, _ := w.Shoal("history", "--json", "--state-dir", w.State)
	if _, errs, status := w.Shoal("kernel", "stop", "--state-dir", w.State); status != 0 {
		t.Errorf("stop: %d %s", status, errs)
	}
	if k := w.Kernels(); len(k) != 0 {
		t.Errorf("kernels after stop: %v", k)
	}
	stored, errs, status := w.Shoal("history", "--json", "--state-dir", w.State)
	if status != 0 || stored != live {
		t.Errorf("history without a kernel: got %d %q %q, want what the kernel gave: %q", status, stored, errs, live)
	}
	if k := w.Kernels(); len(k) != 0 {
		t.Errorf("history started a kernel: %v", k)
	}
}

// flags name the state directory where a command takes it.
func flags(args []string, w *kit.World) []string {
	if strings.HasPrefix(args[0], "-") || args[0] == "no-such-command" {
		return nil
	}
	return []string{"--state-dir", w.State}
}

// A client of the official SDK as it comes, without a revision of its own
// choice, works.
func TestDefaultClient(t *testing.T) {
	w := world(t)
	client := mcp.NewClient(&mcp.Implementation{Name: "default", Version: "1"}, nil)
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: w.Command("shoal-mcp", "--state-dir", w.State)}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer cs.Close()
	res, err := cs.CallTool(t.Context(), &mcp.CallToolParams{Name: "shoal_exec", Arguments: kit.Args{"src": "6 * 7"}})
	if err != nil || res.IsError {
		t.Fatalf("exec: %v %v", res, err)
	}
	if got := kit.Of(res.StructuredContent).At("value", "v").Int(); got != 42 {
		t.Errorf("got %d, want 42", got)
	}
}

// Every MCP revision that stateful clients ask for is spoken.
func TestRevisions(t *testing.T) {
	w := world(t)
	for _, revision := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"} {
		f := w.StartFacade("main")
		r := f.Call("initialize", kit.Args{"protocolVersion": revision, "capabilities": kit.Args{}, "clientInfo": kit.Args{"name": "t", "version": "1"}})
		if got := r.Result.At("protocolVersion").Str(); got != revision {
			t.Errorf("got %s, want %s", r.Line, revision)
		}
		if !json.Valid([]byte(r.Line)) || r.Result.At("instructions").Str() == "" {
			t.Errorf("%s: got %s, want instructions", revision, r.Line)
		}
		f.Close()
	}
}
