package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/wire"
)

const (
	// stopTimeout is how long an orderly stop may take: the kernel promises
	// five seconds.
	stopTimeout = 10 * time.Second
	stopPoll    = 20 * time.Millisecond
)

func kernelCommand() command {
	return command{
		name: "kernel", args: "status|stop|restart [--json]", doc: "show, stop or restart the kernel",
		more: "After a stop, clients that were attached wait for another kernel and start none.\n",
		run:  controlKernel,
	}
}

func controlKernel(a *app, args []string) int {
	c := kernelCommand()
	flags := a.flagSet(c.name)
	asJSON := flags.Bool("json", false, "")
	args, code, done := a.parse(c, flags, args)
	switch {
	case done:
		return code
	case len(args) != 1:
		return a.usageError("kernel takes one of status, stop, restart")
	}
	var err error
	switch args[0] {
	case "status":
		err = a.kernelStatus(false, *asJSON)
	case "stop":
		err = a.kernelStop()
	case "restart":
		err = a.kernelRestart(*asJSON)
	default:
		return a.usageError("kernel takes one of status, stop, restart, not %q", args[0])
	}
	if err != nil {
		return a.fail(err)
	}
	return exitOK
}

// kernelRestart stops the kernel and starts another one, unless that would not
// come up: then the one that runs is left alone.
func (a *app) kernelRestart(asJSON bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	if err := link.Check(ctx, a.options); err != nil {
		return fmt.Errorf("the kernel would not start again, and was left as it is: %w", err)
	}
	err := a.kernelStop()
	var none *link.NotServing
	if err == nil || errors.As(err, &none) {
		err = a.kernelStatus(true, asJSON)
	}
	return err
}

func (a *app) kernelStatus(start, asJSON bool) error {
	ctx := context.Background()
	client, attached, err := a.open(ctx, start, wire.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	var info json.RawMessage
	if err := client.Call(ctx, "kernel.info", nil, &info); err != nil {
		return err
	}
	if asJSON {
		a.printJSON(info)
		return nil
	}
	if wire.Member(info, "socket") == nil {
		fmt.Fprintf(a.stdout, "%-18s %s\n", "socket", attached.Socket)
	}
	wire.EachMember(info, func(key string, value []byte) bool {
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		fmt.Fprintf(a.stdout, "%-18s %s\n", key, text)
		return true
	})
	return nil
}

// kernelStop stops the kernel and waits until nobody serves any more.
func (a *app) kernelStop() error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), stopTimeout,
		fmt.Errorf("the kernel has not stopped within %s", stopTimeout))
	defer cancel()
	client, _, err := a.open(ctx, false, wire.ClientOptions{})
	if err != nil {
		return err
	}
	defer client.Close()
	if err := client.Call(ctx, "kernel.shutdown", nil, nil); err != nil && !isLost(client) {
		return err
	}
	select {
	case <-client.Done():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return a.awaitStopped(ctx)
}

// awaitStopped waits until the kernel has let go of its state directory.
func (a *app) awaitStopped(ctx context.Context) error {
	paths, err := link.Locate(a.options)
	if err != nil {
		return err
	}
	tick := time.NewTicker(stopPoll)
	defer tick.Stop()
	for paths.Held() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// isLost reports whether the connection ended, as it does when the kernel stops
// before its answer is out.
func isLost(client *wire.Client) bool {
	select {
	case <-client.Done():
		return true
	default:
		return false
	}
}
