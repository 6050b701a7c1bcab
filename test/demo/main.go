// Command demo walks an agent's whole workflow through a real shoal-mcp on a
// private kernel, and prints each call and its answer. It leaves nothing
// behind.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	bin := flag.String("bin", "bin", "`DIR` with the binaries")
	flag.Parse()
	if err := run(*bin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: demo: %v\n", err)
		os.Exit(1)
	}
}

// policy makes writing in the work directory a thing to ask about, and lets
// the local human approve: so that an approval can be shown by one person.
const policy = `[principal.local-human]
approve = ["self"]

[principal.local-human.effects]
"fs.write"  = { allow = ["/**"], ask = ["%s/archive/**"] }
`

// demo is the walk with everything it needs.
type demo struct {
	ctx   context.Context
	bin   string
	state string
	work  string
	out   io.Writer
	c     *client
	step  int
}

func run(bin string, out io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	if bin, err = filepath.Abs(bin); err != nil {
		return err
	}
	root, err := os.MkdirTemp("", "shoal-demo-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	d := &demo{ctx: ctx, bin: bin, state: filepath.Join(root, "state"), work: filepath.Join(root, "work"), out: out}
	if err := d.prepare(root); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.stopKernel()) }()
	if d.c, err = startClient(ctx, d.bin, d.state, d.work, d.out); err != nil {
		return err
	}
	defer d.c.close()
	for _, walk := range []func() error{
		d.inspect, d.execute, d.plan, d.background, d.terminal, d.journal, d.survive,
	} {
		if err := walk(); err != nil {
			return err
		}
	}
	fmt.Fprintf(out, "\nThat was the whole day of an agent. The same through your own client: see README.md.\n")
	return nil
}

// prepare makes a small project and a kernel with the demo's policy.
func (d *demo) prepare(root string) error {
	for name, text := range map[string]string{
		"src/main.go":   "package main\n\nfunc main() {}\n",
		"src/server.go": strings.Repeat("// a server\n", 200),
		"report.csv":    "name,count\nalpha,3\nbeta,5\n",
		"archive/.keep": "",
	} {
		path := filepath.Join(d.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	rules := filepath.Join(root, "policy.toml")
	if err := os.WriteFile(rules, fmt.Appendf(nil, policy, d.work), 0o644); err != nil {
		return err
	}
	return d.startKernel(rules)
}

// startKernel starts the private kernel and waits until it serves.
func (d *demo) startKernel(rules string) error {
	cmd := exec.Command(filepath.Join(d.bin, "shoal-kernel"), "--state-dir", d.state, "--policy", rules)
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start kernel: %w (run make build first)", err)
	}
	line := make([]byte, 4096)
	n, _ := stderr.Read(line)
	go func() { io.Copy(io.Discard, stderr); cmd.Wait() }()
	if !strings.HasPrefix(string(line[:n]), "shoal-kernel: ready") {
		return fmt.Errorf("start kernel: %s", strings.TrimSpace(string(line[:n])))
	}
	return nil
}

func (d *demo) stopKernel() error {
	out, err := exec.Command(filepath.Join(d.bin, "shoal"), "kernel", "stop", "--state-dir", d.state).CombinedOutput()
	if err != nil {
		return fmt.Errorf("stop kernel: %w: %s", err, out)
	}
	return nil
}

// title begins a part of the walk.
func (d *demo) title(text string) {
	d.step++
	fmt.Fprintf(d.out, "\n── %d. %s\n", d.step, text)
}
