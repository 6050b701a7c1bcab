package e2e

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// agent is the official SDK's client on a real shoal-mcp.
type agent struct {
	t  *testing.T
	cs *mcp.ClientSession

	mu      sync.Mutex
	updated []string
}

// newAgent connects with the revision that real clients speak.
func newAgent(t *testing.T, w *kit.World, session string) *agent {
	t.Helper()
	a := &agent{t: t}
	client := mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.updated = append(a.updated, r.Params.URI)
		},
	})
	cmd := w.Command("shoal-mcp", "--session", session, "--state-dir", w.State)
	cs, err := client.Connect(t.Context(), &mcp.CommandTransport{Command: cmd}, &mcp.ClientSessionOptions{ProtocolVersion: kit.Revision})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { cs.Close() })
	if got := cs.InitializeResult().ProtocolVersion; got != kit.Revision {
		t.Fatalf("revision: got %s, want %s", got, kit.Revision)
	}
	a.cs = cs
	return a
}

// call calls a tool and gives its text, structured content and error flag.
func (a *agent) call(name string, args kit.Args) (text string, structured kit.Val, isError bool) {
	a.t.Helper()
	res, err := a.cs.CallTool(a.t.Context(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		a.t.Fatalf("%s %v: %v", name, args, err)
	}
	for _, c := range res.Content {
		if block, ok := c.(*mcp.TextContent); ok {
			text += block.Text
		}
	}
	return text, kit.Of(res.StructuredContent), res.IsError
}

// must is call without an error.
func (a *agent) must(name string, args kit.Args) kit.Val {
	a.t.Helper()
	text, structured, isError := a.call(name, args)
	if isError {
		a.t.Fatalf("%s %v: %s", name, args, text)
	}
	return structured
}

// read is the JSON of a resource.
func (a *agent) read(uri string) kit.Val {
	a.t.Helper()
	res, err := a.cs.ReadResource(a.t.Context(), &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		a.t.Fatalf("read %s: %v", uri, err)
	}
	return kit.Parse([]byte(res.Contents[0].Text))
}

func (a *agent) heard(uri string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := 0
	for _, u := range a.updated {
		if u == uri {
			n++
		}
	}
	return n
}

// An agent's whole day through the official client.
func TestWorkflow(t *testing.T) {
	w := world(t)
	w.Policy(askPolicy(w))
	w.Write("src/main.go", "package main\n")
	w.Write("src/server.go", strings.Repeat("// a server\n", 200))
	w.Write("report.csv", "name,count\nalpha,3\n")
	w.Write("archive/.keep", "")
	a := newAgent(t, w, "agent-review")

	tools, err := a.cs.ListTools(t.Context(), nil)
	if err != nil || len(tools.Tools) != 13 {
		t.Fatalf("tools: got %d %v, want 13", len(tools.Tools), err)
	}
	got := a.must("shoal_exec", kit.Args{"src": "{cwd: (pwd), files: (ls .).take(20)}", "position": "value", "elide": kit.Args{"max_rows": 20, "max_bytes": 8192}})
	if got.At("value", "v", "cwd", "v").Str() != w.Work {
		t.Errorf("inspect: got %v", got)
	}
	if cwd := a.read("shoal://session/cwd"); cwd.At("display").Str() != w.Work {
		t.Errorf("cwd: got %v", cwd)
	}

	got = a.must("shoal_exec", kit.Args{"src": "let files = (ls src).where(.type == \"file\")\n{\n  total: files.len(),\n  largest: files.sort_by(.size).reverse().take(10),\n  has_manifest: files.any(.name == \"Cargo.toml\")\n}"})
	ref := got.At("ref").Str()
	if v := got.At("value", "v"); v.At("total", "v").Int() != 2 || v.At("has_manifest", "v").String() != "false" {
		t.Errorf("summary: got %v", got)
	}
	if v := a.must("shoal_get", kit.Args{"ref": ref, "path": ".largest[0].name"}); v.At("value", "v").Str() != "server.go" {
		t.Errorf("get: got %v, want server.go", v)
	}

	const src = "cp ./report.csv ./archive/report.csv"
	plan := a.must("shoal_plan", kit.Args{"src": src})
	planRef := plan.At("plan_ref").Str()
	if plan.At("verdict").Str() != "approval_required" {
		t.Errorf("plan: got %v", plan)
	}
	if _, refused, isError := a.call("shoal_apply", kit.Args{"plan_ref": planRef}); !isError || refused.At("code").Int() != int64(messages.CodeApprovalRequired) {
		t.Errorf("apply before approval: got %v", refused)
	}
	if got := a.must("shoal_cap_request", kit.Args{"plan_ref": planRef, "effects": []string{"fs.read", "fs.write"}}); got.At("status").Str() != "granted" {
		t.Errorf("request: got %v", got)
	}
	if got := a.read("shoal://plan/" + strings.TrimPrefix(planRef, "plan:")); got.At("approval_pending").Bool() {
		t.Errorf("plan resource: got %v", got)
	}
	a.must("shoal_apply", kit.Args{"plan_ref": planRef})
	if got := a.must("shoal_exec", kit.Args{"src": `(ls ./archive).where(.name == "report.csv").len()`}); got.At("value", "v").Int() != 1 {
		t.Errorf("verify: got %v, want 1", got)
	}

	task := a.must("shoal_exec", kit.Args{"src": "sh { while true; do echo tick; sleep 0.05; done }", "background": true}).At("task").Str()
	uri := "shoal://task/" + strings.TrimPrefix(task, "task:")
	if err := a.cs.Subscribe(t.Context(), &mcp.SubscribeParams{URI: uri}); err != nil {
		t.Fatalf("subscribe: %v", err)
	}
	if state := a.read(uri).At("state").Str(); state != "running" {
		t.Errorf("task: got %s, want running", state)
	}
	kit.Eventually(t, quick, "output while it runs", func() bool { return strings.Contains(a.read(uri+"/stdout").String(), "tick") })
	a.must("shoal_cancel", kit.Args{"task": task})
	kit.Eventually(t, quick, "a notice of the end", func() bool {
		return a.heard(uri) > 0 && a.read(uri).At("state").Str() == "cancelled"
	})
	if out := a.read(uri + "/stdout"); !strings.Contains(out.String(), "tick") {
		t.Errorf("output of the cancelled task: got %v", out)
	}

	pty := a.must("shoal_pty_open", kit.Args{"cmd": "sh", "args": []string{"-i"}, "cols": 60, "rows": 6, "env": kit.Args{"PS1": "prompt> "}}).At("pty_id").Str()
	a.must("shoal_pty_send", kit.Args{"pty_id": pty, "input": []any{"echo $((6 * 7))", kit.Args{"key": "Enter"}}})
	screen := a.must("shoal_pty_read", kit.Args{"pty_id": pty, "wait": kit.Args{"regex": "(?m)^42$", "timeout_ms": 20000}})
	if !screen.At("wait", "met").Bool() || len(screen.At("screen").List()) != 6 {
		t.Errorf("screen: got %v", screen)
	}
	a.must("shoal_pty_resize", kit.Args{"pty_id": pty, "cols": 100, "rows": 10})
	if list := a.must("shoal_pty_list", kit.Args{}); list.At("ptys", 0, "cols").Int() != 100 {
		t.Errorf("list: got %v", list)
	}
	if got := a.must("shoal_pty_close", kit.Args{"pty_id": pty}); !got.At("closed").Bool() {
		t.Errorf("close: got %v", got)
	}

	entries := a.must("shoal_journal", kit.Args{"head": "cp", "limit": 5}).At("entries")
	if entries.At(0, "kind").Str() != "apply" || entries.At(0, "src").Str() != src {
		t.Errorf("journal: got %v, want the application first", entries)
	}

	a.must("shoal_exec", kit.Args{"src": "let kept = 7 * 6"})
	w.KillKernel()
	kit.Eventually(t, quick, "everything is back", func() bool {
		res, err := a.cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "shoal_exec", Arguments: kit.Args{"src": "kept"}})
		return err == nil && !res.IsError && kit.Of(res.StructuredContent).At("value", "v").Int() == 42
	})
	if v := a.must("shoal_get", kit.Args{"ref": ref, "path": ".total"}); v.At("value", "v").Int() != 2 {
		t.Errorf("the old ref: got %v", v)
	}
}

// The lists, templates and schemas hold what the pages say of them.
func TestSurface(t *testing.T) {
	w := world(t)
	a := newAgent(t, w, "main")
	task := a.must("shoal_exec", kit.Args{"src": "sh { sleep 617 }", "background": true}).At("task").Str()
	tools, err := a.cs.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range tools.Tools {
		in := kit.Of(tool.InputSchema)
		if in.At("type").Str() != "object" || !in.Has("additionalProperties") || in.At("additionalProperties").Bool() || in.Has("anyOf") || in.Has("oneOf") {
			t.Errorf("%s: input schema: got %v, want a closed object", tool.Name, in)
		}
		if tool.OutputSchema == nil || tool.Description == "" || tool.Annotations == nil {
			t.Errorf("%s: no output schema, description or annotations", tool.Name)
		}
	}
	names := map[string]bool{}
	for res, err := range a.cs.Resources(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		names[res.URI] = true
	}
	for _, uri := range []string{"shoal://journal", "shoal://jobs", "shoal://session/cwd", "shoal://session/env", "shoal://session/reef", "shoal://pty", "shoal://task/" + strings.TrimPrefix(task, "task:")} {
		if !names[uri] {
			t.Errorf("resources: %s is not listed among %v", uri, names)
		}
		a.read(uri)
	}
	templates := 0
	for _, err := range a.cs.ResourceTemplates(t.Context(), nil) {
		if err != nil {
			t.Fatal(err)
		}
		templates++
	}
	if templates < 8 {
		t.Errorf("templates: got %d, want those of the table", templates)
	}
	caps, _ := json.Marshal(a.cs.InitializeResult().Capabilities)
	if !strings.Contains(string(caps), `"subscribe":true`) || !strings.Contains(string(caps), `"tools"`) {
		t.Errorf("capabilities: got %s", caps)
	}
	a.must("shoal_cancel", kit.Args{"task": task})
}
