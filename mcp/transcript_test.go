package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"shoal.dev/shoal/messages"
)

var update = flag.Bool("update", false, "write the transcripts as they are now")

// TestTranscripts plays testdata/*.txt. A line that begins with > goes to the
// server, and what comes until its answer is received, which >> does not wait
// for; one with < must come back; = publish CHANNEL PAYLOAD makes an event,
// = expect N waits for N frames, in whatever order if sorted, = cursors N until so
// many are open, = hangup ends the client's writing, = calls at the end shows what the kernel was
// called, # is a comment. Every result of a tool must
// satisfy the tool's published schema.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	schemas := map[string]*jsonschema.Schema{}
	for _, tool := range toolTable() {
		schemas[tool.name] = compile(t, tool.name, outputSchema(tool.output))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := play(t, string(want), schemas)
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			compareLines(t, string(want), got)
		})
	}
}

// running is how long a call has been running, which no two plays agree on.
var running = regexp.MustCompile(`"progress":[0-9.]+,"message":"running for [0-9.]+ s"`)

func compareLines(t *testing.T, want, got string) {
	t.Helper()
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(w), len(g)) {
		var a, b string
		if i < len(w) {
			a = w[i]
		}
		if i < len(g) {
			b = g[i]
		}
		if a != b {
			t.Fatalf("line %d:\n got %s\nwant %s", i+1, b, a)
		}
	}
}

// play runs a transcript and gives it back as it happened.
func play(t *testing.T, script string, schemas map[string]*jsonschema.Schema) string {
	t.Helper()
	k := scene()
	questions := 0 // named in order, so that a transcript can answer them
	c := dial(t, k, Options{Version: "1.2.3", token: func() string { questions++; return fmt.Sprintf("Q%d", questions) }})
	var out bytes.Buffer
	receive := func(asked string) string {
		frame := running.ReplaceAllString(c.next(), `"progress":250,"message":"running for 0.3 s"`)
		out.WriteString("< " + frame + "\n")
		checkResult(t, asked, frame, schemas)
		return frame
	}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "< ") {
			continue
		}
		out.WriteString(line + "\n")
		switch {
		case strings.HasPrefix(line, ">> "):
			c.send(line[3:])
		case strings.HasPrefix(line, "> "):
			frame := line[2:]
			c.send(frame)
			id := at2(frame, "id")
			if !json.Valid([]byte(frame)) || frame[0] != '{' {
				id = "null"
			}
			for id != "" && at2(receive(frame), "id") != id {
			}
		case strings.HasPrefix(line, "= publish "):
			channel, payload, _ := strings.Cut(strings.TrimPrefix(line, "= publish "), " ")
			k.publish(channel, payload)
		case strings.HasPrefix(line, "= expect "):
			count, sorted := strings.CutSuffix(strings.TrimPrefix(line, "= expect "), " sorted")
			n, err := strconv.Atoi(count)
			if err != nil {
				t.Fatal(err)
			}
			from := out.Len()
			for range n {
				receive("")
			}
			if sorted {
				frames := slices.Sorted(strings.Lines(out.String()[from:]))
				out.Truncate(from)
				out.WriteString(strings.Join(frames, ""))
			}
		case line == "= calls":
			for _, call := range k.calls() {
				out.WriteString("# " + call + "\n")
			}
			return out.String()
		case strings.HasPrefix(line, "= cursors "):
			eventually(t, line, func() bool { return strconv.Itoa(k.openCursors()) == strings.TrimPrefix(line, "= cursors ") })
		case line == "= hangup":
			c.conn.(*net.UnixConn).CloseWrite()
		case line != "" && !strings.HasPrefix(line, "#"):
			t.Fatalf("line %q", line)
		}
	}
	return out.String()
}

// checkResult holds the result of a tool to its schema and its text to the cap.
func checkResult(t *testing.T, asked, frame string, schemas map[string]*jsonschema.Schema) {
	t.Helper()
	if at(t, asked, "method") != "tools/call" || at2(frame, "result") == "" {
		return
	}
	if at(t, frame, "result", "resultType") == "input_required" {
		return
	}
	schema := schemas[at(t, asked, "params", "name")]
	if err := validates(t, schema, at(t, frame, "result", "structuredContent")); err != nil {
		t.Errorf("%s\n%v", frame, err)
	}
	if n := len(at(t, frame, "result", "content", 0, "text")); n > messages.HardCap {
		t.Errorf("%d bytes of text", n)
	}
}

// scene is the kernel of the transcripts: one session with a bit of everything.
func scene() *fakeKernel {
	k := newFake()
	k.serve["events.read"] = k.readEvents
	k.serve["exec"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		if unquote(member(params, "src")) == "slow" { // until something is published there
			first := ^uint64(0)
			if c, refusal := k.Subscribe("slow", &first); refusal == nil {
				c.Next(ctx)
				c.Close()
			}
		}
		return sceneExec(ctx, params)
	}
	k.answer("plan.apply", `{"ref":"out:20","uri":"shoal://out/20","value":{"$":"null"},"render":"","printed":[],"printed_total":0,"notes":[],"truncated":false,"elapsed_ms":3}`)
	k.serve["value.get"] = sceneValue
	k.answer("journal.query", `{"entries":[{"id":12,"ts":1700000000000000000,"session":"work","principal":"uid:1000","kind":"exec","src":"git status\nls","head":"git","ok":true,"status":"done","effects":[],"dur_ns":1,"ref":"out:3"}],"next":"c2"}`)
	k.answer("task.cancel", `{"task":"task:9","state":"cancelling"}`)
	k.answer("cap.request", `{"status":"approval_pending","uncovered":["fs_write"],"caps_enforced":false}`)
	k.serve["session.cwd"] = func(context.Context, json.RawMessage) (json.RawMessage, *messages.Error) {
		moves := k.channel("session")
		moves.mu.Lock()
		defer moves.mu.Unlock()
		display := "/home/me"
		for _, ev := range moves.events {
			if unquote(member(ev.Payload, "kind")) == "cwd" {
				display += "/sub"
			}
		}
		return messages.JSON(messages.PathView{Display: display}), nil
	}
	k.answer("session.env", `{"granted":true,"names":["HOME"]}`)
	k.answer("session.reef", `{"scope":null}`)
	k.answer("task.list", `{"tasks":[{"task":"task:9","state":"running","src":"make  -j2\nall"},{"task":"task:8","state":"completed","src":"true"}]}`)
	k.serve["task.get"] = func(_ context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		if id := unquote(member(params, "task")); id != "task:9" {
			return nil, messages.Errorf(messages.CodeUnknownTask, "there is no %s in session work", id)
		}
		return json.RawMessage(`{"task":"task:9","state":"running"}`), nil
	}
	k.answer("task.output", `{"data":"ok\n","offset":0,"next":3,"eof":false}`)
	k.answer("plan.list", `{"plans":[{"plan_ref":"plan:ab","verdict":"allow","source":"rm x"}]}`)
	k.answer("plan.get", `{"plan_ref":"plan:ab","verdict":"allow","approvals":[]}`)
	sceneTerminals(k)
	scenePlans(k)
	return k
}

// scenePlans adds plan:aa, which policy asks about and the caller may approve,
// and plan:zz, which only somebody else may.
func scenePlans(k *fakeKernel) {
	const effects = `[{"kind":"fs_write","path":"/home/me/notes/a\u202etxt"},{"kind":"opaque","why":"eval"}]`
	granted := false // guarded by k.mu
	isGranted := func() bool { k.mu.Lock(); defer k.mu.Unlock(); return granted }
	required := func(ref string) *messages.Error {
		return messages.Errorf(messages.CodeApprovalRequired, "approval required for %s", ref).
			With(map[string]any{"plan_ref": ref, "effects": json.RawMessage(effects)})
	}
	k.check["exec"] = func(params json.RawMessage) *messages.Error {
		switch unquote(member(params, "src")) {
		case "ask":
			k.mu.Lock()
			defer k.mu.Unlock()
			if granted && unquote(member(params, "plan_ref")) == "plan:aa" {
				return nil
			}
			granted = false
			return required("plan:aa")
		case "ask another":
			return required("plan:zz")
		}
		return nil
	}
	apply := k.serve["plan.apply"]
	k.serve["plan.apply"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		if unquote(member(params, "plan_ref")) == "plan:aa" && !isGranted() {
			return nil, required("plan:aa")
		}
		return apply(ctx, params)
	}
	capRequest := k.serve["cap.request"]
	k.serve["cap.request"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		switch ref := unquote(member(params, "plan_ref")); {
		case ref != "plan:aa" && ref != "plan:zz":
			return capRequest(ctx, params)
		case ref == "plan:zz" || string(member(params, "effects")) == "[]":
			return messages.JSON(map[string]any{"status": "approval_pending", "uncovered": []string{"fs_write"}, "may_approve": ref == "plan:aa"}), nil
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		granted = true
		return json.RawMessage(`{"status":"granted","uncovered":[],"may_approve":true}`), nil
	}
	k.answer("cap.deny", `{"status":"denied","uncovered":[]}`)
	get := k.serve["plan.get"]
	k.serve["plan.get"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		if unquote(member(params, "plan_ref")) != "plan:aa" {
			return get(ctx, params)
		}
		return json.RawMessage(`{"plan_ref":"plan:aa","source":"echo hi > notes/a\nsh { x }","session":"work","principal":"uid:1000","cwd":"/home/me","reversibility":"conditional","effects":` + effects + `}`), nil
	}
	terminal := k.serve["pty.open"]
	k.serve["pty.open"] = func(ctx context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
		if unquote(member(params, "cmd")) == "ask" {
			return nil, required("plan:aa")
		}
		return terminal(ctx, params)
	}
}

func sceneTerminals(k *fakeKernel) {
	k.answer("pty.open", `{"pty_id":"pty:3","uri":"shoal://pty/3","pid":71,"cmd":"python3","args":["-q"],"cols":80,"rows":24,"alive":true}`)
	k.answer("pty.send", `{"pty_id":"pty:3","bytes_sent":4,"warnings":["905 bytes will be lost"],"blocked":false}`)
	k.answer("pty.read", `{"pty_id":"pty:3","screen":[">>> 6*7","42","",">>>","",""],"cursor":{"row":3,"col":4,"hidden":false},"changed":true,"alive":false,"exit":{"status":0,"signal":null},"pid":71,"cmd":"python3","cols":80,"rows":6,"version":4,"wait":{"met":false,"elapsed_ms":9,"rule":"text"}}`)
	k.answer("pty.resize", `{"pty_id":"pty:3","cols":120,"rows":40}`)
	k.answer("pty.close", `{"pty_id":"pty:3","closed":true,"exit":{"status":null,"signal":"SIGHUP"}}`)
	k.answer("pty.list", `{"ptys":[{"pty_id":"pty:3","cmd":"python3","pid":71,"cols":80,"rows":24,"alive":true}]}`)
}

// sceneErrors are refusals of the kernel, by the names of their codes.
var sceneErrors = map[string]*messages.Error{
	"NOT_ATTACHED": messages.Errorf(messages.CodeNotAttached, "attach first"),
	"PARSE_ERROR": messages.Errorf(messages.CodeParseError, "expected an expression").
		With(map[string]any{"span": map[string]int{"start": 3, "end": 3}, "line": 1, "col": 4, "hint": "end the sum"}),
	"UNKNOWN_PLAN": messages.Errorf(messages.CodeUnknownPlan, "plan plan:ab has been applied already; derive it again").
		With(map[string]string{"reason": "applied"}),
	"PTY_SPAWN_FAILED": messages.Errorf(messages.CodePTYSpawn, "start nope: no such file or directory").With(map[string]string{"reason": "not_found"}),
	"AUTH_FAILED":      messages.Errorf(messages.CodeAuthFailed, "the token has expired").With(map[string]string{"reason": "expired"}),
	"QUOTA":            messages.Errorf(messages.CodeQuota, "256 tasks run already").With(map[string]int{"limit": 256, "used": 256}),
}

// sceneExec answers by what the source says.
func sceneExec(_ context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
	if unquote(member(params, "mode")) == "plan" {
		return json.RawMessage(`{"plan_ref":"plan:ab","source":"rm x","session":"work","principal":"uid:1000","cwd":"/home/me","effects":[{"kind":"fs_delete","path":"/home/me/x"},{"kind":"net_connect","host":"h","port":"443"}],"reversibility":"conditional","verdict":"approval_required","approval_pending":true,"expires_at":5}`), nil
	}
	if string(member(params, "background")) == "true" {
		return json.RawMessage(`{"task":"task:9","events":"task.9"}`), nil
	}
	if name, ok := strings.CutPrefix(unquote(member(params, "src")), "error "); ok {
		return nil, sceneErrors[name]
	}
	switch unquote(member(params, "src")) {
	case "sleep":
		return json.RawMessage(`{"task":"task:9","events":"task.9","timed_out":true,"detached":true}`), nil
	case "raise":
		return nil, messages.Errorf(messages.CodeRaised, "cmd_failed: false exited with status 1").
			With(map[string]any{"ref": "out:18", "uri": "shoal://out/18", "printed": []int{}, "notes": []int{}})
	case "nodata":
		return nil, messages.Errorf(messages.CodeTaskControl, "cannot")
	case "invalid":
		return nil, messages.Errorf(messages.CodeInvalidParams, "request_id: used with another source")
	case "fault":
		return nil, messages.Errorf(messages.CodeInternal, "no answer within 30s; ask again")
	case "stopped":
		return nil, messages.Errorf(messages.CodeInterrupted, "the kernel is stopping").With(map[string]string{"reason": "kernel_stopped"})
	case "restarted":
		return nil, messages.Errorf(messages.CodeInterrupted, "the session was restarted").With(map[string]any{"entry": 5, "name": "x"})
	case "noisy":
		return json.RawMessage(`{"ref":"out:19","uri":"shoal://out/19","value":{"$":"outcome","status":0},"render":"b\n…(9 more lines, fetch via shoal://out/19)","printed":[{"ref":"out:18","render":"a"}],"printed_total":3,"notes":[{"code":"left_running","msg":"pid 71 still holds the pipe"}],"truncated":true,"exit":3,"task":"task:10","elapsed_ms":8}`), nil
	}
	return json.RawMessage(`{"ref":"out:17","uri":"shoal://out/17","value":{"$":"int","v":42},"render":"42","printed":[],"printed_total":0,"notes":[],"truncated":false,"elapsed_ms":1}`), nil
}

func sceneValue(_ context.Context, params json.RawMessage) (json.RawMessage, *messages.Error) {
	ref, format, slice := unquote(member(params, "ref")), unquote(member(params, "format")), member(params, "slice")
	quoted := string(messages.AppendString(nil, ref))
	switch {
	case ref == "out:404":
		return nil, messages.Errorf(messages.CodeUnknownRef, "there is no value out:404 in session work; the newest is out:17")
	case unquote(member(params, "path")) == ".nope":
		return nil, messages.Errorf(messages.CodeBadPath, ".nope: no such field")
	case ref == "out:17" && format == "" && slice == nil && member(params, "elide") != nil:
		return json.RawMessage(`{"ref":"out:17","value":{"$":"table","n":1,"cols":{"name":[1],"a.b":[2]}}}`), nil
	case ref == "task:9" && member(params, "elide") != nil:
		return json.RawMessage(`{"ref":"task:9","value":{"$":"outcome","status":0,"stdout":null,"ok":true}}`), nil
	case format == "render":
		return json.RawMessage(`{"ref":` + quoted + `,"render":"a <b>\nc"}`), nil
	case format == "raw" && ref == "out:5":
		return json.RawMessage(`{"ref":"out:5","raw_base64":"//5vaw=="}`), nil
	case format == "raw" && ref == "out:6" && slice == nil:
		return nil, messages.Errorf(messages.CodeBadPath, "raw text of length 100000 does not fit one reply").With(map[string]int{"len": 100000, "next": 65536})
	case format == "raw":
		return json.RawMessage(`{"ref":` + quoted + `,"raw":"text\n","next":5}`), nil
	}
	return json.RawMessage(`{"ref":` + quoted + `,"value":{"$":"list","v":[]}}`), nil
}
