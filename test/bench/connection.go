package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"time"

	"shoal.dev/shoal/link"
)

const (
	tailCalls   = 2000 // of which the 99th of a hundred is taken
	idleClients = 400  // whose memory is averaged
	idleClient  = 40 << 10
)

// connectionRows measure the MCP connection loop, alone and behind the relay,
// and what many raw connections cost.
func (b *bench) connectionRows() []row {
	return append(b.eventRows(), []row{
		{key: "loop.noop", what: "tool that does nothing, connection loop alone", unit: micros, ours: b.latency(b.loop, noOp, sequential),
			ref: "mcp-go tool", peer: b.latency(b.bare, bareNoOp, sequential), most: 1.1},
		{key: "loop.noop.99", what: "the same, 99th percentile", unit: micros, ours: b.tail(b.loop, noOp),
			ref: "mcp-go tool", peer: b.tail(b.bare, bareNoOp), most: 1.5},
		{key: "loop.noop.16", what: "the same, 16 in flight", unit: perSec, ours: b.throughput(b.loop, noOp, pipelined),
			ref: "mcp-go tool", peer: b.throughput(b.bare, bareNoOp, pipelined), least: 0.85},
		{key: "noop.99", what: "tool that does nothing, through the relay, 99th percentile", unit: micros, ours: b.tail(b.shoal, noOp),
			ref: "mcp-go tool", peer: b.tail(b.bare, bareNoOp), most: 1.5},
		{key: "rss.client", what: "kernel's growth for one more idle MCP client (once)", unit: kibi, ours: b.clientMemory, most: idleClient},
	}...)
}

// loop is our connection loop alone.
func (b *bench) loop() (*server, error) {
	if b.alone != nil {
		return b.alone, nil
	}
	program, err := b.build("loop")
	if err != nil {
		return nil, err
	}
	if b.alone, _, err = startServer("loop", environment(b.root), b.root, program); err != nil {
		return nil, err
	}
	_, err = b.alone.median(noOp, 500)
	return b.alone, err
}

// tail measures the 99th percentile of one call.
func (b *bench) tail(of func() (*server, error), c call) probe {
	return func() (float64, error) {
		s, err := of()
		if err != nil {
			return 0, err
		}
		times := make([]time.Duration, tailCalls)
		for i := range times {
			start := time.Now()
			if _, err := s.call(c.method, c.params); err != nil {
				return 0, err
			}
			times[i] = time.Since(start)
		}
		slices.Sort(times)
		return times[tailCalls*99/100].Seconds(), nil
	}
}

// line is a connection to the kernel's socket on which lines are written by hand.
type line struct {
	net.Conn
	in *bufio.Reader
}

// dialKernel attaches a connection to the kernel of a state directory.
func (b *bench) dialKernel(state, client string) (*line, error) {
	paths, err := link.Locate(link.Options{StateDir: state, Environ: os.Environ(), Cwd: "/"})
	if err != nil {
		return nil, err
	}
	e, err := paths.ReadEndpoint()
	if err != nil {
		return nil, err
	}
	c, err := net.Dial("unix", e.Socket)
	if err != nil {
		return nil, err
	}
	l := &line{c, bufio.NewReaderSize(c, 1<<16)}
	if err := l.ask("session.attach", `{"session":"fan","client":{"kind":"`+client+`"}}`); err != nil {
		c.Close()
		return nil, err
	}
	return l, nil
}

// ask makes one call and waits for its answer, the next line.
func (l *line) ask(method, params string) error {
	if _, err := io.WriteString(l, `{"jsonrpc":"2.0","id":1,"method":"`+method+`","params":`+params+"}\n"); err != nil {
		return err
	}
	got, err := l.in.ReadSlice('\n')
	if err == nil && !bytes.Contains(got, []byte(`"result"`)) {
		err = fmt.Errorf("%s: got %.300s", method, got)
	}
	return err
}

// clientMemory is, measured once as it takes long, by how much the resident memory of a kernel that has done
// nothing else grows for one client that has made its handshake and then says
// nothing.
func (b *bench) clientMemory() (n float64, err error) {
	if b.client > 0 {
		return b.client, nil
	}
	defer func() { b.client = n }()
	state, err := b.state("clients")
	if err != nil {
		return 0, err
	}
	if _, err := b.startKernel(state); err != nil {
		return 0, err
	}
	defer b.stopKernel(state)
	pid, err := kernelPID(state)
	if err != nil {
		return 0, err
	}
	var all []*line
	defer func() {
		for _, l := range all {
			l.Close()
		}
	}()
	var before float64
	for i := range idleClients + 1 {
		if i == 1 { // the first has made what all share
			if before, err = settled(pid, settleLate); err != nil {
				return 0, err
			}
		}
		l, err := b.dialKernel(state, "mcp")
		if err != nil {
			return 0, err
		}
		all = append(all, l)
		if err := l.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`); err != nil {
			return 0, err
		}
	}
	after, err := settled(pid, settleLate)
	return max(after-before, 0) / idleClients, err
}
