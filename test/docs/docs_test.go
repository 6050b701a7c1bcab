// Package docs runs the examples of the documentation: every fenced shoal block
// of docs/*.md and of the guide for agents, in which a line "=> value" gives the inline rendering of what
// the lines before it are worth.
package docs

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/proc"
)

func TestExamples(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no pages: %v", err)
	}
	pages = append(pages, "../../mcp/guide.md")
	examples := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for i, block := range blocks(string(text)) {
			examples++
			t.Run(filepath.Base(page)+"/"+strings.Fields(block + " empty")[0], func(t *testing.T) { runBlock(t, i, block) })
		}
	}
	if examples < 5 {
		t.Errorf("only %d example blocks found", examples)
	}
}

// blocks are the contents of the fenced shoal blocks.
func blocks(text string) []string {
	var out []string
	for _, part := range strings.Split(text, "\n```shoal\n")[1:] {
		block, _, _ := strings.Cut(part, "\n```")
		out = append(out, block)
	}
	return out
}

// fixture is the directory that the page describes.
func fixture(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"notes.txt": "alpha\nbeta\n", "big.log": strings.Repeat("x", 5000),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// runBlock runs the pieces of one block in one session.
func runBlock(t *testing.T, n int, block string) {
	runner, err := proc.New(proc.Options{KernelID: "docs"})
	if err != nil {
		t.Fatal(err)
	}
	defer runner.Close()
	state := interp.NewState(fixture(t), []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()})
	defer state.Close()
	world := &interp.Host{
		Files: host.Files{TrashDir: filepath.Join(t.TempDir(), "trash")}, Programs: host.Programs{Runner: runner, Task: uint64(n) + 1}, Clock: host.Clock{},
		Channels: &host.Channels{}, Watcher: host.Watcher{},
	}
	compiler := lang.NewCompiler()
	var src []string
	for _, line := range strings.Split(block, "\n") {
		want, isResult := strings.CutPrefix(line, "=> ")
		if !isResult {
			src = append(src, line)
			continue
		}
		text := strings.Join(src, "\n")
		src = nil
		if got := eval(t, compiler, state, world, text); got != want {
			t.Errorf("%s\n got %s\nwant %s", text, got, want)
		}
	}
	if len(src) > 0 {
		t.Errorf("the block ends without a result: %q", strings.Join(src, "\n"))
	}
}

func eval(t *testing.T, c *lang.Compiler, s *interp.State, h *interp.Host, src string) string {
	p, perr := c.Compile(src, s)
	if perr != nil {
		return "parse error: " + perr.Msg
	}
	fork := s.Fork()
	v, err := p.Run(context.Background(), interp.Run{State: fork, Host: h})
	s.Commit(fork)
	if err != nil {
		return err.Error()
	}
	return value.Inline(v)
}
