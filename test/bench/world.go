package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"shoal.dev/shoal/link"
)

// bench is one run: a temporary directory, and the servers in it.
type bench struct {
	ctx                  context.Context
	o                    options
	notes                io.Writer
	root                 string
	peer                 string // the comparison server's program
	ours                 *server
	theirs               *server
	sprayer              string  // the program that writes the bytes of events, once built
	alone                *server // our connection loop without a kernel
	nu                   *server
	nuErr                error
	programs             map[string]peerFile // of the language peers, once looked for
	worked               float64             // resident bytes of a kernel after work, once measured
	client               float64             // resident bytes of a kernel for one client, once measured
	oursHTTP, theirsHTTP *httpServer
	endHTTP              func()   // ends theirs; may be nil
	warm                 string   // state directory of the warm kernel, once shoal has started it
	states               []string // state directories whose kernels are to be stopped
}

// prepare makes the directory and builds the comparison server.
func prepare(ctx context.Context, o options, notes io.Writer) (*bench, error) {
	var err error
	if o.bin, err = filepath.Abs(o.bin); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(o.bin, "shoal-mcp")); err != nil {
		return nil, fmt.Errorf("%w; run make build first", err)
	}
	b := &bench{ctx: ctx, o: o, notes: notes, programs: map[string]peerFile{}}
	if b.root, err = os.MkdirTemp("", "shoal-bench-"); err != nil {
		return nil, err
	}
	if b.peer, err = b.build("peer"); err != nil {
		b.cleanUp()
		return nil, err
	}
	return b, nil
}

// build builds one of the programs beside this one.
func (b *bench) build(name string) (string, error) {
	program := filepath.Join(b.root, name)
	build := exec.CommandContext(b.ctx, "go", "build", "-o", program, "shoal.dev/shoal/test/bench/"+name)
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w: %s", name, err, out)
	}
	return program, nil
}

// cleanUp ends every process of the run and removes its directory.
func (b *bench) cleanUp() {
	for _, s := range []*server{b.ours, b.theirs, b.alone, b.nu} {
		if s != nil {
			s.close()
		}
	}
	if b.endHTTP != nil {
		b.endHTTP()
	}
	for _, state := range b.states {
		if err := b.stopKernel(state); err != nil {
			fmt.Fprintf(b.notes, "warning: %v\n", err)
		}
	}
	os.RemoveAll(b.root)
}

// state makes a new state directory whose kernel is stopped at the end.
func (b *bench) state(name string) (string, error) {
	dir, err := os.MkdirTemp(b.root, name)
	if err == nil {
		b.states = append(b.states, dir)
	}
	return dir, err
}

func (b *bench) program(name string) string { return filepath.Join(b.o.bin, name) }

// relay starts a shoal-mcp for a state directory.
func (b *bench) relay(state, session string) (*server, time.Duration, error) {
	return startServer("shoal-mcp", environment(b.root), b.root, b.program("shoal-mcp"), "--state-dir", state, "--session", session)
}

// shoal is the one long-lived facade, with its kernel warm.
func (b *bench) shoal() (*server, error) {
	if b.ours != nil {
		return b.ours, nil
	}
	state, err := b.state("state")
	if err != nil {
		return nil, err
	}
	if b.ours, _, err = b.relay(state, "bench"); err != nil {
		return nil, err
	}
	b.warm = state
	_, err = b.ours.median(tool("shoal_exec", `{"src":"1 + 1"}`), 500)
	return b.ours, err
}

// bare is the one long-lived comparison server.
func (b *bench) bare() (*server, error) {
	if b.theirs != nil {
		return b.theirs, nil
	}
	var err error
	if b.theirs, _, err = startServer("mcp-go", environment(b.root), b.root, b.peer); err != nil {
		return nil, err
	}
	_, err = b.theirs.median(tool("noop", `{}`), 500)
	return b.theirs, err
}

// nushell is nushell's MCP server, if there is one.
func (b *bench) nushell() (*server, error) {
	if b.nu != nil || b.nuErr != nil {
		return b.nu, b.nuErr
	}
	program, err := b.peerProgram("nu")
	if b.nuErr = err; err == nil {
		b.nu, _, b.nuErr = startServer("nushell", environment(b.root), b.root, program, "-n", "--no-std-lib", "--mcp")
	}
	if b.nuErr != nil {
		b.nuErr = fmt.Errorf("nushell: %w: %w", errAbsent, b.nuErr)
		return nil, b.nuErr
	}
	_, b.nuErr = b.nu.median(nuOnePlusOne, 200)
	return b.nu, b.nuErr
}

// nuProgram is the program that the flag names, or one from npm.
func (b *bench) nuProgram() (string, error) {
	if b.o.nu != "" {
		return b.o.nu, nil
	}
	return b.installNu()
}

// installTime bounds the installation of a peer.
const installTime = 3 * time.Minute

func (b *bench) installNu() (string, error) {
	dir := filepath.Join(b.root, "nu")
	if err := b.installNPM(dir, "@nushell/linux-x64"); err != nil {
		return "", err
	}
	return filepath.Join(dir, "node_modules", "@nushell", "linux-x64", "bin", "nu"), nil
}

// installNPM installs packages into a new directory.
func (b *bench) installNPM(dir string, packages ...string) error {
	ctx, cancel := context.WithTimeout(b.ctx, installTime)
	defer cancel()
	if err := os.Mkdir(dir, 0o755); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund"}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w: %.200s", strings.Join(packages, " "), err, out)
	}
	return nil
}

// kernelPID is the process that serves a state directory.
func kernelPID(state string) (int, error) {
	paths, err := link.Locate(link.Options{StateDir: state, Environ: os.Environ(), Cwd: "/"})
	if err != nil {
		return 0, err
	}
	e, err := paths.ReadEndpoint()
	return e.PID, err
}

// stopKernel stops the kernel of a state directory if one serves.
func (b *bench) stopKernel(state string) error {
	cmd := exec.Command(b.program("shoal"), "kernel", "stop", "--state-dir", state)
	cmd.Env = environment(b.root)
	out, err := cmd.CombinedOutput()
	if err != nil && !strings.Contains(string(out), "no kernel") {
		return fmt.Errorf("stop kernel of %s: %w: %s", state, err, out)
	}
	return nil
}

// startKernel starts a kernel and gives the time until it serves.
func (b *bench) startKernel(state string, args ...string) (took time.Duration, err error) {
	ready, child, err := os.Pipe()
	if err != nil {
		return 0, err
	}
	defer ready.Close()
	cmd := exec.Command(b.program("shoal-kernel"), append(args, "--state-dir", state, "--ready-fd", "3")...)
	cmd.Env, cmd.Dir, cmd.ExtraFiles = environment(b.root), b.root, []*os.File{child}
	start := time.Now()
	err = cmd.Start()
	child.Close()
	if err != nil {
		return 0, err
	}
	line, err := io.ReadAll(ready)
	took = time.Since(start)
	go cmd.Wait() // it ends when its state directory's kernel is stopped
	if err != nil || !strings.HasPrefix(string(line), "ready") {
		return 0, errors.Join(fmt.Errorf("start kernel: it said %q", line), err)
	}
	return took, nil
}
