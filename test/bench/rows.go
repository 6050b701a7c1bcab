package main

import (
	"bytes"
	"fmt"
	"time"
)

// How many calls one round makes.
const (
	sequential = 400
	commands   = 60
	pipelined  = 3000
)

// The calls that are compared.
var (
	noOp         = tool("shoal_pty_list", `{}`)
	onePlusOne   = tool("shoal_exec", `{"src":"1 + 1"}`)
	runTrue      = tool("shoal_exec", `{"src":"^true"}`)
	bareNoOp     = tool("noop", `{}`)
	bareTrue     = tool("run", `{"program":"true"}`)
	nuOnePlusOne = tool("evaluate", `{"input":"1 + 1"}`)
	nuTrue       = tool("evaluate", `{"input":"^true"}`)
)

// allRows is the table.
func (b *bench) allRows() []row {
	rows := []row{
		{key: "ping", what: "ping", unit: micros, ours: b.latency(b.shoal, ping(), sequential),
			ref: "mcp-go ping", peer: b.latency(b.bare, ping(), sequential), most: 2},
		{key: "noop", what: "tool that does nothing (shoal_pty_list)", unit: micros, ours: b.latency(b.shoal, noOp, sequential),
			ref: "mcp-go tool", peer: b.latency(b.bare, bareNoOp, sequential), most: 2},
		{key: "exec", what: "exec `1 + 1`", unit: micros, ours: b.latency(b.shoal, onePlusOne, sequential),
			ref: "mcp-go tool", peer: b.latency(b.bare, bareNoOp, sequential), most: 4},
		{key: "exec.nu", what: "exec `1 + 1`", unit: micros, ours: b.latency(b.shoal, onePlusOne, sequential),
			ref: "nushell", peer: b.latency(b.nushell, nuOnePlusOne, sequential), most: 0.5},
		{key: "command", what: "exec `^true`", unit: micros, ours: b.latency(b.shoal, runTrue, commands),
			ref: "mcp-go tool with os/exec", peer: b.latency(b.bare, bareTrue, commands), most: 1.6},
		{key: "command.nu", what: "exec `^true`", unit: micros, ours: b.latency(b.shoal, runTrue, commands),
			ref: "nushell", peer: b.latency(b.nushell, nuTrue, commands), most: 1},
		{key: "exec.16", what: "exec `1 + 1`, 16 in flight", unit: perSec, ours: b.throughput(b.shoal, onePlusOne, pipelined), least: 4000},
		{key: "noop.16", what: "tool that does nothing, 16 in flight", unit: perSec, ours: b.throughput(b.shoal, noOp, pipelined),
			ref: "mcp-go tool", peer: b.throughput(b.bare, bareNoOp, pipelined), least: 0.7},
		{key: "exec.16.nu", what: "exec `1 + 1`, 16 in flight", unit: perSec, ours: b.throughput(b.shoal, onePlusOne, pipelined),
			ref: "nushell", peer: b.throughput(b.nushell, nuOnePlusOne, 1000), least: 2},
	}
	rows = append(rows, b.connectionRows()...)
	rows = append(rows, b.besideRows()...)
	rows = append(rows, b.httpRows()...)
	rows = append(rows, b.memoryRows()...)
	rows = append(rows, b.screenRows()...)
	rows = append(rows, b.ptyRows()...)
	rows = append(rows, b.startRows()...)
	return append(rows, b.languageRows()...)
}

// latency measures the median time of one call.
func (b *bench) latency(of func() (*server, error), c call, n int) probe {
	return func() (float64, error) {
		s, err := of()
		if err != nil {
			return 0, err
		}
		took, err := s.median(c, n)
		return took.Seconds(), err
	}
}

// throughput measures the calls that are answered in a second.
func (b *bench) throughput(of func() (*server, error), c call, n int) probe {
	return func() (float64, error) {
		s, err := of()
		if err != nil {
			return 0, err
		}
		return s.rate(c, n)
	}
}

// startRows measure how long it takes until somebody answers.
func (b *bench) startRows() []row {
	return []row{
		{key: "start", what: "facade and kernel from nothing to `initialize` answered", unit: millis, ours: b.coldStart, most: 0.060},
		{key: "start.peer", what: "the same", unit: millis, ours: b.coldStart, ref: "mcp-go server", peer: b.bareStart},
		{key: "attach", what: "facade to `initialize` answered, kernel serves", unit: millis, ours: b.warmStart,
			ref: "mcp-go server", peer: b.bareStart},
		{key: "reopen", what: "kernel start, 100,000 entries", unit: millis, ours: b.reopen, most: 0.200},
	}
}

func (b *bench) coldStart() (float64, error) {
	state, err := b.state("cold")
	if err != nil {
		return 0, err
	}
	s, took, err := b.relay(state, "default")
	if err != nil {
		return 0, err
	}
	s.close()
	b.states = b.states[:len(b.states)-1]
	return took.Seconds(), b.stopKernel(state)
}

func (b *bench) warmStart() (float64, error) {
	if _, err := b.shoal(); err != nil {
		return 0, err
	}
	s, took, err := b.relay(b.warm, "default")
	if err != nil {
		return 0, err
	}
	s.close()
	return took.Seconds(), nil
}

func (b *bench) bareStart() (float64, error) {
	s, took, err := startServer("mcp-go", environment(b.root), b.root, b.peer)
	if err != nil {
		return 0, err
	}
	s.close()
	return took.Seconds(), nil
}

// evaluate runs a source on the warm kernel and gives the time of the call.
func (b *bench) evaluate(src, want string) (float64, error) {
	s, err := b.shoal()
	if err != nil {
		return 0, err
	}
	start := time.Now()
	got, err := s.call("tools/call", fmt.Sprintf(`{"name":"shoal_exec","arguments":{"src":%q}}`, src))
	took := time.Since(start)
	if err == nil && !bytes.Contains(got, []byte(want)) {
		err = fmt.Errorf("%s: got %.300s, want %s", src, got, want)
	}
	return took.Seconds(), err
}
