package link

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

func itoa(n int) string { return strconv.Itoa(n) }

// kernel is a fake kernel: it takes its state directory as a real one must, and
// speaks enough of both protocols. Every frame that it gets is appended to
// STATE/frames, behind its pid.
type kernel struct {
	paths Paths
	id    string

	mu      sync.Mutex
	conns   []*wire.Conn
	streams []json.RawMessage // ids of listen requests
}

// fakeKernel is its main. TEST_DELAY_MS makes it slow to come up, TEST_FAIL
// makes it fail and log why, TEST_MUTE makes it end without a word.
func fakeKernel(args []string) int {
	time.AfterFunc(2*time.Minute, func() { os.Exit(9) }) // no test leaves one for ever
	o := Options{Environ: os.Environ()}
	ready := os.NewFile(0, "")
	for i := 0; i+1 < len(args); i += 2 {
		switch args[i] {
		case "--state-dir":
			o.StateDir = args[i+1]
		case "--socket":
			o.Socket = args[i+1]
		case "--ready-fd":
			fd, _ := strconv.Atoi(args[i+1])
			ready = os.NewFile(uintptr(fd), "ready")
		}
	}
	if os.Getenv("TEST_MUTE") != "" {
		return 1
	}
	paths, err := Locate(o)
	if err != nil {
		fmt.Fprintf(ready, "error %v\n", err)
		return 1
	}
	k := &kernel{paths: paths, id: "k" + filepath.Base(filepath.Dir(paths.StateDir))}
	ln, err := k.listen(args)
	if err != nil {
		fmt.Fprintf(ready, "error %v\n", err)
		return 1
	}
	fmt.Fprintf(ready, "ready %s\n", paths.Socket)
	ready.Close()
	go k.stopOnSignal()
	for {
		conn, err := ln.Accept()
		if err != nil {
			return 1
		}
		go k.serve(wire.NewConn(conn))
	}
}

func (k *kernel) listen(args []string) (net.Listener, error) {
	lock, err := os.OpenFile(k.paths.Lock(), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	for i := 0; syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil; i++ {
		if i == 200 {
			return nil, errors.New("another kernel holds the life lock")
		}
		<-time.After(10 * time.Millisecond)
	}
	if ms, _ := strconv.Atoi(os.Getenv("TEST_DELAY_MS")); ms > 0 {
		<-time.After(time.Duration(ms) * time.Millisecond)
	}
	if text := os.Getenv("TEST_FAIL"); text != "" {
		os.MkdirAll(filepath.Dir(k.paths.Log()), 0o700)
		line := messages.JSON(map[string]any{"time": time.Now(), "level": "ERROR", "msg": "cannot start", "err": text})
		os.WriteFile(k.paths.Log(), append(line, '\n'), 0o600)
		return nil, errors.New("start failed")
	}
	if err := MakeSocketDir(filepath.Dir(k.paths.Socket), false); err != nil && !k.paths.Given {
		return nil, err
	}
	os.Remove(k.paths.Socket) // the life lock is ours, so nobody serves it
	ln, err := net.Listen("unix", k.paths.Socket)
	if err != nil {
		return nil, err
	}
	err = k.paths.WriteEndpoint(Endpoint{
		Socket: k.paths.Socket, KernelID: k.id, Version: Version(), Protocol: wire.ProtocolVersion, PID: os.Getpid(),
		Args: []string{"--policy", "/some/policy"},
	})
	k.note("starts", os.Args[0])
	return ln, err
}

func (k *kernel) stopOnSignal() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	<-signals
	k.goodbye()
}

func (k *kernel) goodbye() {
	os.Remove(k.paths.Socket)
	k.mu.Lock()
	for _, c := range k.conns {
		c.Notify(wire.MethodGoodbye, nil)
		for _, id := range k.streams {
			c.Send(wire.AppendResult(nil, id, json.RawMessage(`{"resultType":"complete"}`)))
		}
	}
	os.Exit(0)
}

// note appends a line to a file of the state directory in one write.
func (k *kernel) note(file, text string) {
	f, err := os.OpenFile(filepath.Join(k.paths.StateDir, file), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		fmt.Fprintf(f, "%d %s\n", os.Getpid(), text)
		f.Close()
	}
}

func (k *kernel) serve(c *wire.Conn) {
	defer c.Close()
	line, err := c.Next()
	if err != nil {
		return
	}
	k.note("frames", string(line))
	req, _ := wire.ParseRequest(line)
	var p attachParams
	switch refusal := wire.Decode(req.Params, &p); {
	case refusal != nil:
		c.Send(wire.AppendError(nil, req.ID, refusal))
		return
	case p.Token == "bad":
		c.Send(wire.AppendError(nil, req.ID, messages.Errorf(messages.CodeAuthFailed, "the token is revoked")))
		return
	}
	protocol := wire.ProtocolVersion
	if p.Session == "from-the-future" {
		protocol = "99.0"
	}
	c.Send(wire.AppendResult(nil, req.ID, messages.JSON(map[string]any{
		"session": p.Session, "principal": "uid:0", "version": Version(), "protocol_version": protocol, "kernel_id": k.id,
	})))
	if p.Client.Kind != "mcp" {
		wire.Serve(context.Background(), c, nil, rawHandler{}, wire.ServeOptions{})
		return
	}
	k.mu.Lock()
	k.conns = append(k.conns, c)
	k.mu.Unlock()
	for {
		line, err := c.Next()
		if err != nil {
			return
		}
		k.note("frames", string(line))
		k.frame(c, line)
	}
}

// frame answers an MCP frame.
func (k *kernel) frame(c *wire.Conn, line []byte) {
	req, refusal := wire.ParseRequest(line)
	if head, _ := wire.Peek(line); head.IsReply() {
		return
	}
	if refusal != nil {
		c.Send(wire.AppendError(nil, req.ID, refusal))
		return
	}
	switch req.Method {
	case "initialize":
		c.Send(wire.AppendResult(nil, req.ID, messages.JSON(map[string]int{"pid": os.Getpid()})))
	case "tools/call":
		k.tool(c, req)
	case "resources/subscribe":
		var p struct{ URI string }
		json.Unmarshal(req.Params, &p)
		switch p.URI {
		case "shoal://events/known":
			c.Send(wire.AppendResult(nil, req.ID, json.RawMessage(`{"_meta":{"shoal/since":41}}`)))
		case "shoal://nothing":
			c.Send(wire.AppendError(nil, req.ID, messages.Errorf(messages.CodeInvalidParams, "cannot subscribe")))
		default:
			c.Send(wire.AppendResult(nil, req.ID, json.RawMessage(`{}`)))
		}
	case "subscriptions/listen":
		k.stream(c, req)
	default:
		if req.ID != nil {
			c.Send(wire.AppendResult(nil, req.ID, json.RawMessage(`{}`)))
		}
	}
}

// stream acknowledges a listen request. The first kernel alone has terminals.
func (k *kernel) stream(c *wire.Conn, req wire.Request) {
	id := slices.Clone(req.ID)
	k.mu.Lock()
	k.streams = append(k.streams, id)
	k.mu.Unlock()
	var p struct {
		Notifications struct {
			ResourceSubscriptions []string
			ResourcesListChanged  bool
		}
	}
	json.Unmarshal(req.Params, &p)
	first, _ := os.ReadFile(filepath.Join(k.paths.StateDir, "starts"))
	followed, since := []string{}, map[string]int{}
	for _, uri := range p.Notifications.ResourceSubscriptions {
		base, query, _ := strings.Cut(uri, "?since=")
		if strings.Contains(base, "/pty/") && strings.Count(string(first), "\n") > 1 {
			continue
		}
		followed = append(followed, base)
		if n, err := strconv.Atoi(query); err == nil {
			since[base] = n
		}
	}
	c.Notify("notifications/subscriptions/acknowledged", messages.JSON(map[string]any{
		"notifications": map[string]any{"resourceSubscriptions": followed, "resourcesListChanged": p.Notifications.ResourcesListChanged},
		"_meta":         map[string]any{"io.modelcontextprotocol/subscriptionId": id, "shoal/since": since},
	}))
}

// tool does what the tests ask for.
func (k *kernel) tool(c *wire.Conn, req wire.Request) {
	var p struct {
		Name   string
		URI    string
		Seq    uint64
		Stream string
	}
	json.Unmarshal(req.Params, &p)
	switch p.Name {
	case "hold":
		return
	case "notice":
		params := map[string]any{"uri": p.URI, "seq": p.Seq, "payload": map[string]any{}}
		if p.Stream != "" {
			params["_meta"] = map[string]any{"io.modelcontextprotocol/subscriptionId": p.Stream}
		}
		c.Notify(methodUpdated, messages.JSON(params))
	case "ask":
		c.Send(wire.AppendRequest(nil, json.RawMessage(`"`+itoa(os.Getpid())+`-1"`), "elicitation/create", json.RawMessage(`{}`)))
	case "goodbye":
		k.goodbye()
	case "die":
		os.Exit(7)
	case "torn":
		c.Stream().Write([]byte(`{"jsonrpc":"2.0","id":1,"resu`))
		os.Exit(7)
	}
	c.Send(wire.AppendResult(nil, req.ID, req.Params))
}

// rawHandler answers every raw call with its method's name.
type rawHandler struct{}

type rawCall string

func (rawHandler) Begin(method string, _ json.RawMessage) (wire.Call, *messages.Error) {
	return rawCall(method), nil
}
func (rawHandler) Close() {}

func (c rawCall) Wait(context.Context) (json.RawMessage, *messages.Error) {
	return messages.JSON(string(c)), nil
}
func (rawCall) Abandon() {}
