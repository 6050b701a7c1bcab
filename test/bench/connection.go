package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/link"
)

const (
	tailCalls   = 2000 // of which the 99th of a hundred is taken
	subscribers = 100
	published   = 5000 // events of one round
	publishing  = 64   // publications that are open at once
	idleClients = 400  // whose memory is averaged
	idleClient  = 40 << 10
)

// connectionRows measure the MCP connection loop, alone and behind the relay,
// and what many raw connections cost.
func (b *bench) connectionRows() []row {
	return []row{
		{key: "loop.noop", what: "tool that does nothing, connection loop alone", unit: micros, ours: b.latency(b.loop, noOp, sequential),
			ref: "mcp-go tool", peer: b.latency(b.bare, bareNoOp, sequential), most: 1.1},
		{key: "loop.noop.99", what: "the same, 99th percentile", unit: micros, ours: b.tail(b.loop, noOp),
			ref: "mcp-go tool", peer: b.tail(b.bare, bareNoOp), most: 1.5},
		{key: "loop.noop.16", what: "the same, 16 in flight", unit: perSec, ours: b.throughput(b.loop, noOp, pipelined),
			ref: "mcp-go tool", peer: b.throughput(b.bare, bareNoOp, pipelined), least: 0.85},
		{key: "noop.99", what: "tool that does nothing, through the relay, 99th percentile", unit: micros, ours: b.tail(b.shoal, noOp),
			ref: "mcp-go tool", peer: b.tail(b.bare, bareNoOp), most: 1.5},
		{key: "events", what: "events delivered to 100 raw subscribers of one channel, none dropped", unit: perSec, ours: b.fanOut, least: 10_000,
			note: func() string {
				return fmt.Sprintf("; the kernel takes %.1f µs of processor time for a delivery", b.delivery*1e6)
			}},
		{key: "rss.client", what: "kernel's growth for one more idle MCP client", unit: kibi, ours: b.clientMemory, most: idleClient},
	}
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

// fanOut publishes events to a channel that a hundred connections read, and
// gives the events that they have got together in a second.
func (b *bench) fanOut() (float64, error) {
	if _, err := b.shoal(); err != nil {
		return 0, err
	}
	channel := "user.fan" + strconv.FormatInt(time.Now().UnixNano(), 36)
	var all []*line
	defer func() {
		for _, l := range all {
			l.Close()
		}
	}()
	for range subscribers + 1 {
		l, err := b.dialKernel(b.states[0], "bench")
		if err != nil {
			return 0, err
		}
		all = append(all, l)
		if len(all) > 1 {
			if err := l.ask("events.subscribe", `{"channel":"`+channel+`"}`); err != nil {
				return 0, err
			}
		}
	}
	ended := make(chan error, subscribers)
	for _, l := range all[1:] {
		go func() { ended <- l.readEvents(published) }()
	}
	pid, err := kernelPID(b.states[0])
	if err != nil {
		return 0, err
	}
	used, err := processorTime(pid)
	if err != nil {
		return 0, err
	}
	start := time.Now()
	if err := all[0].publish(channel, published); err != nil {
		return 0, err
	}
	for range subscribers {
		if err := <-ended; err != nil {
			return 0, err
		}
	}
	took := time.Since(start)
	after, err := processorTime(pid)
	b.delivery = (after - used).Seconds() / (published * subscribers)
	return published * subscribers / took.Seconds(), err
}

// readEvents reads n events, of which none may be missing.
func (l *line) readEvents(n int) error {
	for range n {
		got, err := l.in.ReadSlice('\n')
		if err != nil {
			return err
		}
		if bytes.Contains(got, []byte(`"dropped"`)) {
			return fmt.Errorf("events were dropped: %.200s", got)
		}
	}
	return nil
}

// publish publishes n events, a few at a time.
func (l *line) publish(channel string, n int) error {
	room := make(chan struct{}, publishing)
	var failed atomic.Pointer[error]
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		for range n {
			got, err := l.in.ReadSlice('\n')
			if err == nil && !bytes.Contains(got, []byte(`"result"`)) {
				err = fmt.Errorf("publish: got %.300s", got)
			}
			if err != nil {
				failed.Store(&err)
				l.Close()
			}
			<-room
		}
	}()
	out := bufio.NewWriterSize(l, 1<<14)
	for i := range n {
		select {
		case room <- struct{}{}:
		default: // what is buffered makes room
			if err := out.Flush(); err != nil {
				return errors.Join(err, l.failure(&failed))
			}
			room <- struct{}{}
		}
		fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"events.publish","params":{"channel":%q,"payload":{"n":%d}}}`+"\n", i, channel, i)
	}
	err := out.Flush()
	<-answered
	return errors.Join(err, l.failure(&failed))
}

func (*line) failure(of *atomic.Pointer[error]) error {
	if err := of.Load(); err != nil {
		return *err
	}
	return nil
}

// clientMemory is by how much the resident memory of a kernel that has done
// nothing else grows for one client that has made its handshake and then says
// nothing.
func (b *bench) clientMemory() (float64, error) {
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
