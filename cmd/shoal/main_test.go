package main

import (
	"bytes"
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// kernel is a fake one: it answers from a table of results and errors, and
// remembers what it was asked.
type kernel struct {
	ln      net.Listener
	paths   link.Paths
	answers map[string]any // by source for exec, else by method
	asked   chan string
	ended   chan struct{}
}

// startKernel serves in this process, for the environment of this test.
func startKernel(t *testing.T, answers map[string]any) *kernel {
	t.Helper()
	root := isolate(t)
	paths, err := link.Locate(link.Options{Environ: os.Environ()})
	if err != nil {
		t.Fatal(err)
	}
	if err := paths.MakeStateDir(); err != nil {
		t.Fatal(err)
	}
	if err := link.MakeSocketDir(filepath.Join(root, "shoal-run", "shoal"), false); err != nil {
		t.Fatal(err)
	}
	err = paths.WriteEndpoint(link.Endpoint{Socket: paths.Socket, KernelID: "k", Version: link.Version(), Protocol: wire.ProtocolVersion})
	if err != nil {
		t.Fatal(err)
	}
	k := &kernel{paths: paths, answers: answers, asked: make(chan string, 100), ended: make(chan struct{})}
	if k.ln, err = net.Listen("unix", paths.Socket); err != nil {
		t.Fatal(err)
	}
	go k.accept()
	t.Cleanup(func() { k.ln.Close(); <-k.ended })
	return k
}

// isolate gives the test an environment without a kernel, in a short folder.
func isolate(t *testing.T) string {
	t.Helper()
	root, err := os.MkdirTemp("/tmp", "shoal")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	os.Mkdir(filepath.Join(root, "shoal-run"), 0o700)
	t.Setenv("XDG_RUNTIME_DIR", filepath.Join(root, "shoal-run"))
	t.Setenv("XDG_STATE_HOME", root)
	for _, name := range []string{"SHOAL_STATE_DIR", "SHOAL_SOCKET", "SHOAL_SESSION", "SHOAL_TOKEN"} {
		t.Setenv(name, "")
	}
	t.Setenv("SHOAL_NO_AUTOSTART", "1")
	return root
}

func (k *kernel) accept() {
	defer close(k.ended)
	for {
		stream, err := k.ln.Accept()
		if err != nil {
			return
		}
		c := wire.NewConn(stream)
		wire.Serve(context.Background(), c, nil, &session{k, c}, wire.ServeOptions{})
		c.Close()
	}
}

type session struct {
	*kernel
	conn *wire.Conn
}

type answer struct {
	result  json.RawMessage
	refusal *messages.Error
}

func (s *session) Begin(method string, params json.RawMessage) (wire.Call, *messages.Error) {
	s.asked <- method + " " + string(params)
	key := method
	var p struct{ Src string }
	if method == "exec" && json.Unmarshal(params, &p) == nil {
		key = p.Src
	}
	switch {
	case method == "session.attach":
		return answer{result: messages.JSON(map[string]string{"protocol_version": wire.ProtocolVersion, "version": link.Version(), "kernel_id": "k"})}, nil
	case method == "kernel.shutdown":
		s.ln.Close()
		s.conn.Stream().(*net.UnixConn).CloseRead()
	case method == "events.subscribe":
		s.conn.Notify("event", json.RawMessage(`{"channel":"journal","seq":9,"ts":0,"payload":{"live":1}}`))
		s.conn.Notify("event", json.RawMessage(`{"channel":"other","seq":1,"ts":0,"payload":{}}`))
		s.conn.Notify("event", json.RawMessage(`{"channel":"journal","seq":12,"dropped":3,"latest_seq":20}`))
		s.conn.Stream().(*net.UnixConn).CloseRead() // the kernel ends
	}
	switch a := s.answers[key].(type) {
	case *messages.Error:
		return answer{refusal: a}, nil
	case nil:
		return answer{result: json.RawMessage(`null`)}, nil
	default:
		return answer{result: messages.JSON(a)}, nil
	}
}

func (s *session) Close() {}

func (a answer) Wait(context.Context) (json.RawMessage, *messages.Error) { return a.result, a.refusal }
func (answer) Abandon()                                                  {}

// shoal runs the program.
func shoal(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

func raisedError(code, msg string, more map[string]any) *messages.Error {
	e := map[string]any{"code": code, "msg": msg}
	for k, v := range more {
		e[k] = v
	}
	return messages.Errorf(messages.CodeRaised, "%s", msg).With(map[string]any{
		"ref": "out:1", "error": e, "printed": []any{map[string]string{"render": "before"}},
		"notes": []any{map[string]string{"code": "n", "msg": "told"}},
	})
}

func TestRun(t *testing.T) {
	startKernel(t, map[string]any{
		"1+1":    map[string]any{"render": "2", "value": map[string]any{"$": "int", "v": 2}},
		"print":  map[string]any{"render": "null", "value": map[string]any{"$": "null"}, "printed": []any{map[string]string{"render": "a\n"}, map[string]string{"render": "b"}}, "notes": []any{map[string]string{"code": "leftover", "msg": "one process"}}},
		"exit 7": map[string]any{"render": "", "value": map[string]any{"$": "null"}, "exit": 7},
		"oops":   raisedError("type_error", "no", map[string]any{"hint": "try yes"}),
		"false":  raisedError("cmd_failed", "`false` exited with status 3", map[string]any{"status": 3, "stderr": "bad\n"}),
		"signal": raisedError("cmd_failed", "`x` died from SIGKILL", map[string]any{"status": nil}),
		"(":      messages.Errorf(messages.CodeParseError, "unexpected end").With(map[string]any{"line": 1, "hint": "close it"}),
		"denied": messages.Errorf(messages.CodeLeashDenied, "not allowed").With(map[string]any{"rule": "fs.write"}),
	})
	tests := []struct {
		stdin          string
		args           []string
		code           int
		stdout, stderr string
	}{
		{"", []string{"run", "1+1"}, 0, "2\n", ""},
		{"1+1", []string{"run"}, 0, "2\n", ""},
		{"1+1", []string{"run", "-"}, 0, "2\n", ""},
		{"", []string{"run", "--", "1+1"}, 0, "2\n", ""},
		{"", []string{"run", "1+1", "--json"}, 0, `{"render":"2","value":{"$":"int","v":2}}` + "\n", ""},
		{"", []string{"run", "print"}, 0, "a\nb\n", "note: leftover: one process\n"},
		{"", []string{"run", "exit 7"}, 7, "", ""},
		{"", []string{"run", "oops"}, 1, "before\n", "note: n: told\nerror: type_error: no\nhint: try yes\n"},
		{"", []string{"run", "false"}, 3, "before\n", "note: n: told\nbad\nerror: cmd_failed: `false` exited with status 3\n"},
		{"", []string{"run", "signal"}, 1, "before\n", "note: n: told\nerror: cmd_failed: `x` died from SIGKILL\n"},
		{"", []string{"run", "("}, 2, "", "error: unexpected end\nhint: close it\n"},
		{"", []string{"run", "denied"}, 1, "", "error: not allowed\nhint: refused by fs.write\n"},
		{"", []string{"run", "a", "b"}, 2, "", "error: run takes one source, got 2: quote it\nhint: shoal --help lists the commands and flags\n"},
	}
	for _, tt := range tests {
		code, stdout, stderr := shoal(tt.stdin, tt.args...)
		if code != tt.code || stdout != tt.stdout || stderr != tt.stderr {
			t.Errorf("%q: got %d, %q, %q\nwant %d, %q, %q", tt.args, code, stdout, stderr, tt.code, tt.stdout, tt.stderr)
		}
	}
}

func TestRunAsksForStatementPosition(t *testing.T) {
	k := startKernel(t, nil)
	if code, _, stderr := shoal("", "--session", "s1", "run", "x"); code != 0 {
		t.Fatal(stderr)
	}
	if attach := <-k.asked; !strings.Contains(attach, `"session":"s1"`) || !strings.Contains(attach, `"client":{"kind":"cli"}`) {
		t.Errorf("attachment: got %s", attach)
	}
	if got, want := <-k.asked, `exec {"position":"stmt","src":"x"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestKernel(t *testing.T) {
	k := startKernel(t, map[string]any{"kernel.info": map[string]any{"version": "1", "pid": 7}})
	code, stdout, stderr := shoal("", "kernel", "status")
	if code != 0 || !strings.Contains(stdout, "pid                7\n") || !strings.Contains(stdout, k.paths.Socket) {
		t.Errorf("status: got %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, _ := shoal("", "kernel", "status", "--json"); code != 0 || stdout != `{"pid":7,"version":"1"}`+"\n" {
		t.Errorf("status --json: got %d, %q", code, stdout)
	}
	if code, _, stderr := shoal("", "kernel", "stop"); code != 0 {
		t.Errorf("stop: got %d, %q", code, stderr)
	}
	code, _, stderr = shoal("", "kernel", "status")
	if code != 1 || !strings.HasPrefix(stderr, "error: no kernel serves ") || !strings.Contains(stderr, "\nhint: ") {
		t.Errorf("status after stop: got %d, %q", code, stderr)
	}
}

func TestEventsTail(t *testing.T) {
	page := map[string]any{"channel": "journal", "latest_seq": 8, "events": []any{map[string]any{"channel": "journal", "seq": 8, "ts": 0, "payload": map[string]int{"a": 1}}}}
	k := startKernel(t, map[string]any{"events.read": page})
	code, stdout, stderr := shoal("", "events", "tail", "journal", "--follow", "--json")
	want := `{"channel":"journal","seq":8,"ts":0,"payload":{"a":1}}` + "\n" + `{"channel":"journal","seq":9,"ts":0,"payload":{"live":1}}` + "\n"
	if code != 1 || stdout != want {
		t.Errorf("got %d, %q, want %q", code, stdout, want)
	}
	if !strings.Contains(stderr, "note: 3 events up to 12 were lost\n") || !strings.Contains(stderr, "go on with --since 9") {
		t.Errorf("stderr: got %q", stderr)
	}
	<-k.asked
	for _, want := range []string{`events.read {"channel":"journal","tail":true}`, `events.subscribe {"channel":"journal","since":8}`} {
		if got := <-k.asked; got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	code, stdout, stderr = shoal("", "events", "tail", "journal", "--since", "7")
	if code != 0 || !strings.HasSuffix(stdout, `      8 {"a":1}`+"\n") {
		t.Errorf("plain: got %d, %q, %q", code, stdout, stderr)
	}
}

func TestHistory(t *testing.T) {
	page := map[string]any{"entries": []any{map[string]any{"id": 3, "ts": 0, "session": "s", "status": "done", "src": "let x = 1\nx", "dur_ns": 1500000}}, "next": "c1"}
	k := startKernel(t, map[string]any{"journal.query": page})
	code, stdout, stderr := shoal("", "history", "--failed", "--effects", "fs.write,net_connect", "--since", "5", "--limit", "2", "--session", "s")
	if code != 0 || !strings.Contains(stdout, "     3  ") || !strings.Contains(stdout, "1.5ms  let x = 1 …\n") || stderr != "note: there is more: --cursor c1\n" {
		t.Errorf("got %d, %q, %q", code, stdout, stderr)
	}
	<-k.asked
	if got, want := <-k.asked, `journal.query {"since":5,"session":"s","ok":false,"effects":["fs_write","net_connect"],"limit":2}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if code, stdout, _ := shoal("", "history", "--json"); code != 0 || !strings.HasPrefix(stdout, `{"entries":[`) {
		t.Errorf("--json: got %d, %q", code, stdout)
	}
}

func TestUsage(t *testing.T) {
	isolate(t)
	tests := []struct {
		args           []string
		code           int
		stdout, stderr string // parts
	}{
		{[]string{"--help"}, 0, "kernel    show, stop or restart", ""},
		{[]string{"help"}, 0, "usage: shoal", ""},
		{[]string{"--version"}, 0, "shoal ", ""},
		{[]string{"run", "--help"}, 0, "usage: shoal run [--json] [SRC]", ""},
		{[]string{"run", "--version"}, 0, "shoal ", ""},
		{[]string{"nonsense"}, 2, "", `error: unknown command "nonsense"`},
		{[]string{"--nonsense"}, 2, "", "error: flag provided but not defined"},
		{[]string{"kernel"}, 2, "", "error: kernel takes one of"},
		{[]string{"kernel", "eat"}, 2, "", `not "eat"`},
		{[]string{"events", "tail"}, 2, "", "error: events takes"},
		{[]string{"events", "tail", "x", "--since", "-1"}, 2, "", "since"},
		{[]string{"history", "--since", "yesterday"}, 2, "", "RFC 3339"},
		{[]string{"history", "--effects", "fs.eat"}, 2, "", "fs.eat"},
		{[]string{"history", "x"}, 2, "", "filters only"},
		{[]string{"mcp", "x"}, 2, "", "no argument"},
		{[]string{"run", "1"}, 1, "", "error: no kernel serves"},
		{[]string{"--token-file", "/nowhere", "run", "1"}, 1, "", "error: read token"},
	}
	for _, tt := range tests {
		code, stdout, stderr := shoal("", tt.args...)
		if code != tt.code || !strings.Contains(stdout, tt.stdout) || !strings.Contains(stderr, tt.stderr) ||
			(tt.stdout == "") != (stdout == "") || (tt.stderr == "") != (stderr == "") {
			t.Errorf("%q: got %d, %q, %q", tt.args, code, stdout, stderr)
		}
	}
}

func TestLinksAreCommands(t *testing.T) {
	for _, test := range []struct{ argv, want []string }{
		{nil, nil},
		{[]string{"shoal", "run", "1"}, []string{"run", "1"}},
		{[]string{"/usr/bin/shoal-history", "--limit", "3"}, []string{"history", "--limit", "3"}},
		{[]string{"shoal-nothing", "run"}, []string{"run"}},
	} {
		if got := arguments(test.argv); !slices.Equal(got, test.want) {
			t.Errorf("%q: got %q, want %q", test.argv, got, test.want)
		}
	}
}

func TestMCPWithoutKernel(t *testing.T) {
	isolate(t)
	code, stdout, _ := shoal(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n", "mcp")
	if code != 1 || !strings.Contains(stdout, `"id":1,"error":{"code":-32041`) {
		t.Errorf("got %d, %q", code, stdout)
	}
}
