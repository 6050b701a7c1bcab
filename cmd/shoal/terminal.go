package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/proc"
)

// controllingTerminal is the terminal of the session that this process is in.
const controllingTerminal = "/dev/tty"

// terminal is the terminal of the person who runs a script. It is asked for
// anew each time, so that redirected streams do not matter.
type terminal struct {
	runner *proc.Runner
	task   uint64

	turn sync.Mutex // one program or question at a time
	lent atomic.Bool
	asks chan chan<- struct{} // whether all signals until now have been looked at
}

// hasTerminal reports whether there is a person to turn to.
func hasTerminal() bool {
	tty, err := os.OpenFile(controllingTerminal, os.O_RDWR, 0)
	if err != nil {
		return false
	}
	tty.Close()
	return true
}

func openTerminal() (*os.File, error) {
	tty, err := os.OpenFile(controllingTerminal, os.O_RDWR, 0)
	if err != nil {
		return nil, value.Errorf(value.CodeArg, "there is no terminal any more: %v", err)
	}
	return tty, nil
}

// Interact runs a program on the terminal to its end. What the person types to
// stop it is for the program alone.
func (t *terminal) Interact(ctx context.Context, spec interp.ExecSpec) (*interp.Exit, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	tty, err := openTerminal()
	if err != nil {
		return nil, err
	}
	defer tty.Close()
	restore, err := settings(tty)
	if err != nil {
		return nil, err
	}
	defer restore()
	t.lent.Store(true)
	defer t.lent.Store(false)
	defer t.catchUp(ctx)
	typed := make(chan os.Signal, 1) // nobody listens
	signal.Notify(typed, os.Interrupt, syscall.SIGQUIT)
	defer signal.Stop(typed) // returns when what was typed has come everywhere
	res, err := t.runner.Run(ctx, proc.Spec{
		Task: t.task, Argv: spec.Argv, Path: spec.Path, Dir: spec.Cwd, Env: append(spec.Env[:len(spec.Env):len(spec.Env)], spec.Overlay...),
		Terminal: tty,
	})
	if res == nil {
		return nil, fmt.Errorf("run %s: %w", spec.Argv[0], err)
	}
	return &interp.Exit{
		Status: res.Status, Signal: res.Signal, PID: res.PID, Dur: res.Dur,
		Stdout: value.BytesBlob(nil), Stderr: value.BytesBlob(nil),
	}, err
}

// settings remembers how a terminal is set up. Restore brings that back, and
// makes our group the one that the terminal listens to, as a shell does after a
// program that was killed.
func settings(tty *os.File) (restore func(), err error) {
	raw, err := tty.SyscallConn()
	if err != nil {
		return nil, fmt.Errorf("use the terminal: %w", err)
	}
	var before *unix.Termios
	var failure error
	if err := raw.Control(func(fd uintptr) { before, failure = unix.IoctlGetTermios(int(fd), getTermios) }); err != nil {
		failure = err
	}
	if failure != nil {
		return nil, fmt.Errorf("use the terminal: %w", failure)
	}
	return func() {
		// A background group that touches its terminal is stopped, unless it
		// ignores the signal for that.
		signal.Ignore(syscall.SIGTTOU)
		defer signal.Reset(syscall.SIGTTOU)
		raw.Control(func(fd uintptr) {
			unix.IoctlSetPointerInt(int(fd), unix.TIOCSPGRP, unix.Getpgrp())
			unix.IoctlSetTermios(int(fd), setTermios, before)
		})
	}, nil
}

// Pick lets the person choose lines.
func (t *terminal) Pick(ctx context.Context, prompt string, lines []string, multi bool) ([]int, bool, error) {
	t.turn.Lock()
	defer t.turn.Unlock()
	tty, err := openTerminal()
	if err != nil {
		return nil, false, err
	}
	defer tty.Close()
	restore, err := settings(tty)
	if err != nil {
		return nil, false, err
	}
	defer restore()
	if err := withFD(tty, func(fd int) error { _, err := makeRaw(fd); return err }); err != nil {
		return nil, false, err
	}
	return pickOn(ctx, tty, newPicker(prompt, lines, multi))
}

// withFD uses a file's descriptor without making the file block.
func withFD(f *os.File, use func(fd int) error) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failure error
	if err := raw.Control(func(fd uintptr) { failure = use(int(fd)) }); err != nil {
		return err
	}
	return failure
}

// untilInterrupted is a context that ends when somebody wants the script to end:
// by TERM, or by INT while no other program has the terminal.
func (t *terminal) untilInterrupted(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	t.asks = make(chan chan<- struct{})
	look := func(s os.Signal) {
		if s == syscall.SIGTERM || !t.lent.Load() {
			cancel()
		}
	}
	go func() {
		defer signal.Stop(signals)
		for {
			select {
			case s := <-signals:
				look(s)
			case answer := <-t.asks:
				select {
				case s := <-signals:
					look(s)
				default:
				}
				close(answer)
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, cancel
}

// catchUp returns when all signals that have come have been looked at: what was
// typed to end a program may come to this process after the program's end. Ctx is
// of the run that untilInterrupted bounds.
func (t *terminal) catchUp(ctx context.Context) {
	answer := make(chan struct{})
	select {
	case t.asks <- answer:
		<-answer
	case <-ctx.Done():
	}
}
