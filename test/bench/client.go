package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// server is an MCP server in a process of its own, spoken to over its stdio.
type server struct {
	name string
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *bufio.Reader
	next int
}

// startServer starts the program and initializes it. Took is the time from the
// start of the process to its first answer.
func startServer(name string, env []string, dir, program string, args ...string) (s *server, took time.Duration, err error) {
	s = &server{name: name, cmd: exec.Command(program, args...)}
	s.cmd.Env, s.cmd.Dir, s.cmd.Stderr = env, dir, nil
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, 0, err
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, 0, err
	}
	s.out = bufio.NewReaderSize(out, 1<<16)
	start := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, 0, fmt.Errorf("start %s: %w", name, err)
	}
	_, err = s.call("initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}`)
	took = time.Since(start)
	if err == nil {
		_, err = io.WriteString(s.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	}
	if err != nil {
		s.close()
		return nil, 0, fmt.Errorf("start %s: %w", name, err)
	}
	return s, took, nil
}

// close ends the server by ending its input, and waits for it.
func (s *server) close() {
	s.in.Close()
	timer := time.AfterFunc(10*time.Second, func() { s.cmd.Process.Kill() })
	s.cmd.Wait() // its status says nothing that the answers have not said
	timer.Stop()
}

// write sends one call and returns its id.
func (s *server) write(method, params string) (int, error) {
	s.next++
	line := `{"jsonrpc":"2.0","id":` + strconv.Itoa(s.next) + `,"method":"` + method + `","params":` + params + "}\n"
	_, err := io.WriteString(s.in, line)
	return s.next, err
}

// answer is the head of an answer.
type answer struct {
	ID     *int            `json:"id"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
}

// read gives the next answer; notifications are skipped.
func (s *server) read() (answer, error) {
	for {
		line, err := s.out.ReadSlice('\n')
		for errors.Is(err, bufio.ErrBufferFull) {
			var rest []byte
			line = bytes.Clone(line)
			rest, err = s.out.ReadSlice('\n')
			line = append(line, rest...)
		}
		if err != nil {
			return answer{}, fmt.Errorf("%s: read answer: %w", s.name, err)
		}
		var a answer
		if err := json.Unmarshal(line, &a); err != nil {
			return answer{}, fmt.Errorf("%s: read answer %.80q: %w", s.name, line, err)
		}
		if a.ID == nil {
			continue
		}
		if a.Error != nil || bytes.Contains(a.Result, []byte(`"isError":true`)) {
			return a, fmt.Errorf("%s: answered with an error: %.300s%.300s", s.name, a.Error, a.Result)
		}
		return a, nil
	}
}

// call makes one call and waits for its answer.
func (s *server) call(method, params string) (json.RawMessage, error) {
	id, err := s.write(method, params)
	if err != nil {
		return nil, err
	}
	a, err := s.read()
	if err == nil && *a.ID != id {
		err = fmt.Errorf("%s: answer to %d instead of %d", s.name, *a.ID, id)
	}
	return a.Result, err
}

// call is one kind of call.
type call struct{ method, params string }

func ping() call { return call{"ping", "{}"} }

func tool(name, arguments string) call {
	return call{"tools/call", `{"name":"` + name + `","arguments":` + arguments + `}`}
}

// median makes n calls one after another and gives the median time of one.
func (s *server) median(c call, n int) (time.Duration, error) {
	times := make([]time.Duration, n)
	for i := range times {
		start := time.Now()
		if _, err := s.call(c.method, c.params); err != nil {
			return 0, err
		}
		times[i] = time.Since(start)
	}
	slices.Sort(times)
	return times[n/2], nil
}

// inFlight is how many calls a throughput row keeps open at a time.
const inFlight = 16

// rate keeps sixteen calls in flight until n are answered, and gives the calls
// answered in a second.
func (s *server) rate(c call, n int) (float64, error) {
	room := make(chan struct{}, inFlight)
	stop := make(chan struct{})
	var wrote error
	var writer sync.WaitGroup
	start := time.Now()
	writer.Go(func() {
		for range n {
			select {
			case room <- struct{}{}:
			case <-stop:
				return
			}
			if _, wrote = s.write(c.method, c.params); wrote != nil {
				return
			}
		}
	})
	var err error
	for range n {
		if _, err = s.read(); err != nil {
			break
		}
		<-room
	}
	took := time.Since(start)
	close(stop)
	writer.Wait()
	return float64(n) / took.Seconds(), errors.Join(err, wrote)
}

// environment is a small environment in which a server finds nothing but its
// own home.
func environment(home string) []string {
	return []string{
		"HOME=" + home, "XDG_RUNTIME_DIR=" + home, "XDG_CONFIG_HOME=" + home, "XDG_DATA_HOME=" + home,
		"XDG_STATE_HOME=" + home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + home,
	}
}
