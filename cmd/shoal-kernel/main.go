// Command shoal-kernel is the daemon: it owns one state directory and serves
// every session in it.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"shoal.dev/shoal/kernel"
	"shoal.dev/shoal/link"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the whole command; its result is the exit status.
func run(args []string, stdout, stderr io.Writer) int {
	f, err := parse(args, stdout, stderr)
	if err != nil {
		if errors.Is(err, errShown) {
			return 0
		}
		fmt.Fprintf(stderr, "error: %v\nhint: shoal-kernel --help lists the flags\n", err)
		return 2
	}
	if f.check {
		if err := kernel.Check(f.options); err != nil {
			fmt.Fprintf(stderr, "error: %v\n", err)
			return 1
		}
		return 0
	}
	ready := readyPipe(f.readyFD)
	kernel.SetMemory()
	signals := make(chan os.Signal, 4) // a signal counts from the first moment
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	k, err := kernel.Start(f.options)
	if err != nil {
		ready.say("error " + err.Error())
		fmt.Fprintf(stderr, "error: %v\n", err)
		return 1
	}
	ready.say("ready " + k.Socket())
	fmt.Fprintf(stderr, "shoal-kernel: ready %s\n", k.Socket())
	if err := wait(k, signals); err != nil {
		fmt.Fprintf(stderr, "error: stop: %v\n", err)
		return 1
	}
	return 0
}

// wait serves until a signal or a client asks to stop; a second signal ends the
// process at once.
func wait(k *kernel.Kernel, signals <-chan os.Signal) error {
	for {
		select {
		case s := <-signals:
			if s == syscall.SIGHUP {
				k.Reload()
				continue
			}
		case <-k.Stopping():
		}
		break
	}
	go func() {
		for s := range signals {
			if s != syscall.SIGHUP {
				os.Exit(1)
			}
		}
	}()
	return k.Stop(context.Background())
}

type flags struct {
	options kernel.Options
	readyFD int
	check   bool
}

// errShown says that the answer has been printed already.
var errShown = errors.New("shown")

func parse(args []string, stdout, stderr io.Writer) (flags, error) {
	var f flags
	var stateDir, socket string
	var version bool
	set := flag.NewFlagSet("shoal-kernel", flag.ContinueOnError)
	set.SetOutput(io.Discard)
	set.StringVar(&stateDir, "state-dir", "", "state directory `DIR` (default $SHOAL_STATE_DIR, $XDG_STATE_HOME/shoal, ~/.local/state/shoal)")
	set.StringVar(&socket, "socket", "", "socket `PATH` (default $SHOAL_SOCKET, else derived from the state directory)")
	set.StringVar(&f.options.Policy, "policy", "", "policy `FILE` (default policy.toml in the configuration directory, if it exists)")
	set.StringVar(&f.options.NATS, "nats", "", "loopback `ADDR` for event subscribers, such as 127.0.0.1:0 (default: none)")
	set.StringVar(&f.options.MCPHTTP, "mcp-http", "", "loopback `ADDR` on which MCP is served over HTTP, such as 127.0.0.1:8420, with bearer tokens (default: none)")
	set.BoolVar(&f.options.RequireToken, "require-token", false, "refuse clients without a token")
	set.StringVar(&f.options.SocketGroup, "socket-group", "", "let members of `GROUP` connect")
	set.StringVar(&f.options.PTYEngine, "pty-engine", "", "`ENGINE` that draws terminals: own, or xvt for charmbracelet/x/vt (default own)")
	set.IntVar(&f.readyFD, "ready-fd", -1, "descriptor `N` that is told when the kernel serves, or why it does not")
	set.BoolVar(&f.check, "check", false, "say whether flags, configuration and policy are in order, and stop")
	set.BoolVar(&version, "version", false, "print the version")
	if err := set.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			usage(stdout, set)
			return f, errShown
		}
		return f, err
	}
	switch {
	case version:
		fmt.Fprintf(stdout, "shoal-kernel %s\n", link.Version())
		return f, errShown
	case set.NArg() > 0:
		return f, fmt.Errorf("unexpected argument %q", set.Arg(0))
	}
	return f, f.locate(stateDir, socket)
}

// locate resolves everything that depends on where we are, once.
func (f *flags) locate(stateDir, socket string) error {
	cwd, err := os.Getwd()
	if err != nil {
		cwd = ""
	}
	o := &f.options
	o.Environ = os.Environ()
	if o.Policy != "" && !filepath.IsAbs(o.Policy) {
		o.Policy = filepath.Join(cwd, o.Policy)
	}
	o.Paths, err = link.Locate(link.Options{StateDir: stateDir, Socket: socket, Environ: o.Environ, Cwd: cwd})
	if err != nil {
		return err
	}
	if dir, err := os.UserConfigDir(); err == nil {
		o.ConfigDir = filepath.Join(dir, "shoal")
	}
	o.Args = f.successorArgs()
	return nil
}

// successorArgs are the flags that make a successor as strict as this kernel.
func (f *flags) successorArgs() []string {
	var args []string
	add := func(name, v string) {
		if v != "" {
			args = append(args, name, v)
		}
	}
	add("--policy", f.options.Policy)
	add("--nats", f.options.NATS)
	add("--mcp-http", f.options.MCPHTTP)
	add("--socket-group", f.options.SocketGroup)
	add("--pty-engine", f.options.PTYEngine)
	if f.options.RequireToken {
		args = append(args, "--require-token")
	}
	return args
}

func usage(w io.Writer, set *flag.FlagSet) {
	fmt.Fprintln(w, "usage: shoal-kernel [flags]\n\nServes every session of one state directory until it is told to stop.\nflags:")
	set.SetOutput(w)
	set.PrintDefaults()
}

// pipe is where the starter of a kernel listens; nil when there is none.
type pipe struct{ f *os.File }

func readyPipe(fd int) pipe {
	if fd < 0 {
		return pipe{}
	}
	syscall.CloseOnExec(fd)
	return pipe{os.NewFile(uintptr(fd), "ready")}
}

// say writes the one line and hangs up.
func (p pipe) say(line string) {
	if p.f == nil {
		return
	}
	w := bufio.NewWriter(p.f)
	fmt.Fprintln(w, line)
	w.Flush() // a starter that is gone needs no answer
	p.f.Close()
}
