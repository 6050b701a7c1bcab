package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// httpCalls is how many calls all clients of a row make together.
const httpCalls = 6000

// httpRows compare MCP over HTTP with a bare mcp-go server, in calls answered
// and in processor time of the server.
func (b *bench) httpRows() []row {
	var rows []row
	for _, n := range []int{1, 64, 1000} {
		what := fmt.Sprintf("tool that does nothing over HTTP, %d clients", n)
		rows = append(rows,
			row{key: fmt.Sprintf("http.%d", n), what: what, unit: perSec, ours: b.overHTTP(b.shoalHTTP, noOp, n, callRate),
				ref: "mcp-go over HTTP", peer: b.overHTTP(b.bareHTTP, bareNoOp, n, callRate), least: 0.8},
			row{key: fmt.Sprintf("http.cpu.%d", n), what: what + ", processor time a call", unit: micros, ours: b.overHTTP(b.shoalHTTP, noOp, n, callCPU),
				ref: "mcp-go over HTTP", peer: b.overHTTP(b.bareHTTP, bareNoOp, n, callCPU), most: 1.2},
		)
	}
	return rows
}

// httpServer is an MCP server that is spoken to over HTTP.
type httpServer struct {
	url, token string
	pid        int
}

// shoalHTTP is the one kernel that serves HTTP.
func (b *bench) shoalHTTP() (*httpServer, error) {
	if b.oursHTTP != nil {
		return b.oursHTTP, nil
	}
	state, err := b.state("http")
	if err != nil {
		return nil, err
	}
	if _, err := b.startKernel(state, "--mcp-http", "127.0.0.1:0"); err != nil {
		return nil, err
	}
	shoal := func(args ...string) (string, error) {
		cmd := exec.CommandContext(b.ctx, b.program("shoal"), append(args, "--state-dir", state)...)
		cmd.Env = environment(b.root)
		out, err := cmd.Output()
		return strings.TrimSpace(string(out)), err
	}
	status, err := shoal("kernel", "status", "--json")
	if err != nil {
		return nil, fmt.Errorf("kernel status: %w", err)
	}
	var info struct {
		PID     int    `json:"pid"`
		MCPHTTP string `json:"mcp_http"`
	}
	if err := json.Unmarshal([]byte(status), &info); err != nil {
		return nil, fmt.Errorf("kernel status: %w", err)
	}
	token, err := shoal("token", "create", "local-human")
	if err != nil {
		return nil, fmt.Errorf("create token: %w", err)
	}
	b.oursHTTP = &httpServer{url: "http://" + info.MCPHTTP + "/mcp", token: token, pid: info.PID}
	return b.oursHTTP, nil
}

// bareHTTP is the one comparison server that serves HTTP. It ends with its
// input.
func (b *bench) bareHTTP() (*httpServer, error) {
	if b.theirsHTTP != nil {
		return b.theirsHTTP, nil
	}
	cmd := exec.CommandContext(b.ctx, b.peer, "-http")
	cmd.Env, cmd.Dir = environment(b.root), b.root
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		in.Close()
		cmd.Wait()
		return nil, fmt.Errorf("start mcp-go over HTTP: %w", err)
	}
	b.endHTTP = func() { in.Close(); cmd.Wait() }
	b.theirsHTTP = &httpServer{url: "http://" + strings.TrimSpace(addr) + "/mcp", pid: cmd.Process.Pid}
	return b.theirsHTTP, nil
}

// What is taken of a run over HTTP: calls answered in a second, or the server's
// processor time for one call.
func callRate(took, _ time.Duration) float64 { return httpCalls / took.Seconds() }
func callCPU(_, cpu time.Duration) float64   { return cpu.Seconds() / httpCalls }

// overHTTP has n clients make calls one after another, all at the same time.
func (b *bench) overHTTP(of func() (*httpServer, error), c call, n int, take func(took, cpu time.Duration) float64) probe {
	return func() (float64, error) {
		s, err := of()
		if err != nil {
			return 0, err
		}
		transport := &http.Transport{MaxIdleConnsPerHost: n}
		defer transport.CloseIdleConnections()
		clients := make([]*httpClient, n)
		for i := range clients {
			if clients[i], err = s.client(transport); err != nil {
				return 0, err
			}
		}
		before, err := processorTime(s.pid)
		if err != nil {
			return 0, err
		}
		var calling sync.WaitGroup
		failed := make([]error, n)
		start := time.Now()
		for i, client := range clients {
			calling.Go(func() {
				for k := i; k < httpCalls && failed[i] == nil; k += n {
					_, failed[i] = client.call(c)
				}
			})
		}
		calling.Wait()
		took := time.Since(start)
		after, err := processorTime(s.pid)
		for _, client := range clients {
			client.end()
		}
		return take(took, after-before), errors.Join(append(failed, err)...)
	}
}

// httpClient is one HTTP session.
type httpClient struct {
	s         *httpServer
	transport *http.Transport
	session   string
	next      int
}

func (s *httpServer) client(transport *http.Transport) (*httpClient, error) {
	c := &httpClient{s: s, transport: transport}
	resp, err := c.call(call{"initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`})
	if err != nil {
		return nil, err
	}
	if c.session = resp.Get("Mcp-Session-Id"); c.session == "" {
		return nil, fmt.Errorf("initialize at %s: there is no session", s.url)
	}
	return c, nil
}

func (c *httpClient) do(method, body string) (http.Header, []byte, error) {
	r, err := http.NewRequest(method, c.s.url, strings.NewReader(body))
	if err != nil {
		return nil, nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if c.s.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.s.token)
	}
	if c.session != "" {
		r.Header.Set("Mcp-Session-Id", c.session)
	}
	resp, err := c.transport.RoundTrip(r)
	if err != nil {
		return nil, nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	return resp.Header, answer, err
}

func (c *httpClient) call(what call) (http.Header, error) {
	c.next++
	h, answer, err := c.do(http.MethodPost, `{"jsonrpc":"2.0","id":`+strconv.Itoa(c.next)+`,"method":"`+what.method+`","params":`+what.params+"}")
	if err == nil && (!bytes.Contains(answer, []byte(`"result"`)) || bytes.Contains(answer, []byte(`"isError":true`))) {
		err = fmt.Errorf("%s at %s: answered %.300s", what.method, c.s.url, answer)
	}
	return h, err
}

func (c *httpClient) end() { c.do(http.MethodDelete, "") }
