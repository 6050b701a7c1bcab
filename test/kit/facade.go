package kit

import (
	"bufio"
	"encoding/json"
	"io"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Revision is the MCP revision that clients of this package ask for.
const Revision = "2025-11-25"

// Facade is a shoal-mcp process and the simplest client of it: lines in, lines
// out, nothing hidden.
type Facade struct {
	T   testing.TB
	PID int

	cmd  *exec.Cmd
	in   io.WriteCloser
	errs *tail
	done chan struct{} // closed when the process has been reaped

	mu      sync.Mutex
	last    int
	waiting map[string]chan Reply
	notices []Val
	strays  []string // lines that answer nothing
	ended   bool
}

// Reply is the answer to a request.
type Reply struct {
	Line   string
	Result Val
	Error  Val // null when it is a result
}

// Facade starts shoal-mcp for a session and initializes it.
func (w *World) Facade(session string) *Facade {
	w.T.Helper()
	f := w.StartFacade(session)
	f.Initialize()
	return f
}

// StartFacade starts shoal-mcp and says nothing to it.
func (w *World) StartFacade(session string, args ...string) *Facade {
	w.T.Helper()
	cmd := w.Command("shoal-mcp", append([]string{"--session", session, "--state-dir", w.State}, args...)...)
	f := &Facade{T: w.T, cmd: cmd, errs: &tail{}, done: make(chan struct{}), waiting: map[string]chan Reply{}}
	cmd.Stderr = f.errs
	in, err := cmd.StdinPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		w.T.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		w.T.Fatalf("start shoal-mcp: %v", err)
	}
	f.in, f.PID = in, cmd.Process.Pid
	go f.listen(out)
	w.T.Cleanup(f.close)
	return f
}

// Initialize makes the handshake and gives the server's answer.
func (f *Facade) Initialize() Val {
	f.T.Helper()
	r := f.Call("initialize", Args{
		"protocolVersion": Revision, "capabilities": Args{},
		"clientInfo": Args{"name": "test", "version": "1"},
	})
	if !r.Error.IsNull() {
		f.T.Fatalf("initialize: %v; stderr: %s", r.Error, f.errs)
	}
	f.Line(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return r.Result
}

// close ends the process as a client would, and the hard way if it stays.
func (f *Facade) close() {
	f.in.Close()
	select {
	case <-f.done:
	case <-time.After(stopBound):
		f.T.Errorf("shoal-mcp %d did not end at the end of its input; stderr: %s", f.PID, f.errs)
		f.cmd.Process.Kill()
		<-f.done
	}
	if f.T.Failed() && f.errs.String() != "" {
		f.T.Logf("stderr of shoal-mcp %d: %s", f.PID, f.errs)
	}
}

// Close ends the facade's input and waits for its end; it gives the status.
func (f *Facade) Close() int {
	f.close()
	return f.cmd.ProcessState.ExitCode()
}

// Kill ends the facade with -9.
func (f *Facade) Kill() {
	Kill(f.PID, syscall.SIGKILL)
	<-f.done
}

// Stderr is what the facade has said to people.
func (f *Facade) Stderr() string { return f.errs.String() }

// Line writes one line as it stands.
func (f *Facade) Line(line string) {
	f.T.Helper()
	if _, err := io.WriteString(f.in, line+"\n"); err != nil {
		f.T.Fatalf("write to shoal-mcp: %v; stderr: %s", err, f.errs)
	}
}

// listen hands answers to who waits for them and keeps the rest.
func (f *Facade) listen(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 0 {
			f.heard(line)
		}
		if err != nil {
			break
		}
	}
	f.cmd.Wait()
	f.mu.Lock()
	f.ended = true
	for id, ch := range f.waiting {
		close(ch)
		delete(f.waiting, id)
	}
	f.mu.Unlock()
	close(f.done)
}

func (f *Facade) heard(line []byte) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
	}
	err := json.Unmarshal(line, &head)
	f.mu.Lock()
	defer f.mu.Unlock()
	frame := Parse(line)
	switch ch := f.waiting[string(head.ID)]; {
	case err == nil && head.Method != "" && head.ID == nil:
		f.notices = append(f.notices, frame)
	case err == nil && head.Method == "" && ch != nil:
		delete(f.waiting, string(head.ID))
		ch <- Reply{string(line), frame.At("result"), frame.At("error")}
	default:
		f.strays = append(f.strays, string(line))
	}
}

// Strays are the lines that were neither an answer to a request of ours nor a
// notification.
func (f *Facade) Strays() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string(nil), f.strays...)
}

// Notices are the params of the notifications of a method heard so far.
func (f *Facade) Notices(method string) []Val {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []Val
	for _, n := range f.notices {
		if n.At("method").Str() == method {
			out = append(out, n.At("params"))
		}
	}
	return out
}

// Updates are the notices about a resource heard so far.
func (f *Facade) Updates(uri string) []Val {
	var out []Val
	for _, n := range f.Notices("notifications/resources/updated") {
		if n.At("uri").Str() == uri {
			out = append(out, n)
		}
	}
	return out
}

// Expect registers a request id, as JSON, whose answer will be waited for.
func (f *Facade) Expect(id string) *Open {
	ch := make(chan Reply, 1)
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.ended {
		close(ch)
	} else {
		f.waiting[id] = ch
	}
	return &Open{f, id, ch}
}

// Open is a request that waits for its answer.
type Open struct {
	f  *Facade
	ID string
	ch chan Reply
}

// Start sends a request.
func (f *Facade) Start(method string, params any) *Open {
	f.T.Helper()
	f.mu.Lock()
	f.last++
	id := strconv.Itoa(f.last)
	f.mu.Unlock()
	o := f.Expect(id)
	raw, err := json.Marshal(Args{"jsonrpc": "2.0", "id": json.RawMessage(id), "method": method, "params": params})
	if err != nil {
		f.T.Fatalf("%s: %v", method, err)
	}
	f.Line(string(raw))
	return o
}

// Wait gives the answer; none at all fails the test.
func (o *Open) Wait() Reply {
	o.f.T.Helper()
	select {
	case r, ok := <-o.ch:
		if !ok {
			o.f.T.Fatalf("request %s: shoal-mcp has ended; stderr: %s", o.ID, o.f.errs)
		}
		return r
	case <-time.After(Long):
		o.f.T.Fatalf("request %s: no answer; stderr: %s", o.ID, o.f.errs)
		return Reply{}
	}
}

// Answered reports whether the answer is there.
func (o *Open) Answered() bool { return len(o.ch) > 0 }

// Call makes a request and waits for its answer.
func (f *Facade) Call(method string, params any) Reply {
	f.T.Helper()
	return f.Start(method, params).Wait()
}
