// Package clients drives Shoal with the clients that agents are built on: the
// inspector, the TypeScript SDKs, and the Go SDK, over stdio and HTTP. Their
// packages are fetched into a cache of the user's when the tests run.
package clients

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"shoal.dev/shoal/test/kit"
)

var (
	bin string // holds the binaries under test
	all = flag.Bool("all", false, "fetch the clients and drive them")
)

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(kit.Main(m, &bin))
}

// packages are the npm packages, of the versions that this was written for.
var packages = []string{"@modelcontextprotocol/inspector@2.12.0", "@modelcontextprotocol/sdk@1.32.2", "@modelcontextprotocol/client@2.4.0"}

const (
	fetchTime  = 90 * time.Second
	clientTime = 40 * time.Second
)

// fetched is the folder with the npm packages. Where they cannot be had the
// test is skipped by name, but not in continuous integration.
func fetched(t *testing.T) string {
	t.Helper()
	if !*all {
		t.Skip("fetches packages: make clients, or -args -all")
	}
	give := t.Skipf
	if os.Getenv("CI") != "" {
		give = t.Fatalf
	}
	if _, err := exec.LookPath("node"); err != nil {
		give("no client packages: %v", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(cache, "shoal-clients")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	stamp := filepath.Join(dir, "installed")
	want := strings.Join(packages, "\n")
	if had, _ := os.ReadFile(stamp); string(had) != want {
		ctx, cancel := context.WithTimeout(context.Background(), fetchTime)
		defer cancel()
		args := append([]string{"install", "--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", "--prefix", dir}, packages...)
		cmd := exec.CommandContext(ctx, "npm", args...)
		cmd.WaitDelay = time.Second
		if out, err := cmd.CombinedOutput(); err != nil {
			give("no client packages: npm install %s: %v: %.500s", strings.Join(packages, " "), err, out)
		}
		if err := os.WriteFile(stamp, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// policy has writes into the archive asked about, and lets the caller answer.
const policy = `[principal.local-human]
approve = ["self"]

[principal.local-human.effects]
"fs.write"  = { allow = ["/**"], ask = ["%s/archive/**"] }
`

// place is a kernel with a small project, reached in both ways.
type place struct {
	*kit.World
	url, token string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	p := &place{World: kit.NewWorld(t, bin)}
	p.Policy(fmt.Sprintf(policy, p.Work))
	p.Write("report.csv", "a,b\n1,2\n")
	p.Write("archive/.keep", "")
	p.StartKernel("--mcp-http", "127.0.0.1:0")
	out, errs, status := p.Shoal("kernel", "status", "--json", "--state-dir", p.State)
	addr := kit.Parse([]byte(strings.TrimSpace(out))).At("mcp_http").Str()
	if status != 0 || addr == "" {
		t.Fatalf("kernel status: %d %s%s", status, out, errs)
	}
	out, errs, status = p.Shoal("token", "create", "local-human", "--state-dir", p.State)
	if status != 0 {
		t.Fatalf("token create: %s", errs)
	}
	p.url, p.token = "http://"+addr+"/mcp/", strings.TrimSpace(out)
	return p
}

// ways are how a client reaches a session.
var ways = []string{"stdio", "http"}

// run runs a client to its end and gives what it printed.
func (p *place) run(t *testing.T, dir string, env []string, args ...string) string {
	t.Helper()
	out, err := p.try(dir, env, args...)
	if err != nil {
		t.Fatalf("%s: %v: %.3000s", strings.Join(args, " "), err, out)
	}
	return out
}

// try is run of a client that may fail.
func (p *place) try(dir string, env []string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(append([]string(nil), p.Env...), env...), time.Second
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestTypeScript(t *testing.T) {
	dir := fetched(t)
	p := newPlace(t)
	text, err := os.ReadFile("testdata/walk.mjs")
	if err != nil {
		t.Fatal(err)
	}
	script := filepath.Join(dir, fmt.Sprintf("walk-%d.mjs", os.Getpid())) // beside the packages that it imports
	if err := os.WriteFile(script, text, 0o644); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(script)
	for _, version := range []string{"v1", "v2"} {
		for _, way := range ways {
			t.Run(version+" "+way, func(t *testing.T) {
				session := version + "-" + way
				out := p.run(t, p.Work, []string{
					"SHOAL_MCP=" + filepath.Join(bin, "shoal-mcp"), "SESSION=" + session, "STATE=" + p.State, "WORK=" + p.Work,
					"URL=" + p.url + session, "TOKEN=" + p.token,
				}, "node", script, version, way)
				if !strings.Contains(out, "walked") {
					t.Errorf("got %s", out)
				}
			})
		}
	}
}

func TestInspector(t *testing.T) {
	dir := fetched(t)
	p := newPlace(t)
	inspector := filepath.Join(dir, "node_modules", ".bin", "mcp-inspector")
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel() // each call is a process of its own, which takes its time
			session := "inspect-" + way
			target := []string{inspector, "--cli", filepath.Join(bin, "shoal-mcp"), "--session", session, "--state-dir", p.State}
			if way == "http" {
				target = []string{inspector, "--cli", p.url + session, "--transport", "http", "--header", "Authorization: Bearer " + p.token}
			}
			inspect := func(args ...string) string {
				t.Helper()
				return p.run(t, p.Work, nil, slices.Concat(target, args)...)
			}
			call := func(tool string, args ...string) kit.Val {
				t.Helper()
				line := slices.Concat(target, []string{"--method", "tools/call", "--tool-name", tool})
				for _, arg := range args {
					line = append(line, "--tool-arg", arg)
				}
				out, _ := p.try(p.Work, nil, line...) // it fails by a result that is an error
				v := kit.Parse([]byte(out)).At("structuredContent")
				if v.IsNull() {
					t.Fatalf("%s %q: got %s", tool, args, out)
				}
				return v
			}
			read := func(uri string) kit.Val {
				t.Helper()
				out := inspect("--method", "resources/read", "--uri", uri)
				return kit.Parse([]byte(kit.Parse([]byte(out)).At("contents", 0, "text").Str()))
			}
			want := func(what string, holds bool, got kit.Val) {
				t.Helper()
				if !holds {
					t.Errorf("%s: got %v", what, got)
				}
			}
			if tools := kit.Parse([]byte(inspect("--method", "tools/list"))).At("tools"); len(tools.List()) != 13 {
				t.Errorf("tools/list: got %v", tools)
			}
			ref := call("shoal_exec", `src={rows: [{name: "a"}], list: [5, 6, 7]}`).At("ref").Str()
			v := call("shoal_get", "ref="+ref, "path=.list", "slice=[1,3]")
			want("a slice", v.At("value", "v", 0, "v").Int() == 6 && len(v.At("value", "v").List()) == 2, v)
			v = read("shoal://" + strings.Replace(ref, ":", "/", 1) + "?path=.rows[0].name")
			want("a field by its URI", v.At("value", "v").Str() == "a", v)

			// It asks nobody anything, so a second client approves.
			archived := p.Work + "/archive/" + way + ".csv"
			plan := call("shoal_plan", fmt.Sprintf("src=cp %q %q", p.Work+"/report.csv", archived)).At("plan_ref").Str()
			v = call("shoal_apply", "plan_ref="+plan)
			want("not approved", v.At("code").Int() == -32011, v)
			p.Raw("supervisor").Must("cap.grant", kit.Args{"plan_ref": plan})
			v = read("shoal://plan/" + strings.TrimPrefix(plan, "plan:"))
			want("the approval", len(v.At("approvals").List()) == 1, v)
			v = call("shoal_apply", "plan_ref="+plan)
			if _, err := os.Stat(archived); err != nil {
				t.Errorf("apply: %v, %v", v, err)
			}

			task := call("shoal_exec", "src=sh { echo begun; while true; do sleep 0.05; done }", "background=true").At("task").Str()
			uri := "shoal://task/" + strings.TrimPrefix(task, "task:")
			kit.Eventually(t, clientTime, "the task writes", func() bool { return read(uri+"/stdout").At("data").Str() == "begun\n" })
			call("shoal_cancel", "task="+task)
			kit.Eventually(t, clientTime, "the task is cancelled", func() bool { return read(uri).At("state").Str() == "cancelled" })

			pty := call("shoal_pty_open", "cmd=sh", `args=["-i"]`, "cols=60", "rows=6").At("pty_id").Str()
			call("shoal_pty_send", "pty_id="+pty, `input=["echo $((6 * 7))",{"key":"Enter"}]`)
			v = call("shoal_pty_read", "pty_id="+pty, `wait={"regex":"(?m)^42$","timeout_ms":10000}`)
			want("a screen", v.At("wait", "met").Bool(), v)
			v = read("shoal://pty/" + strings.TrimPrefix(pty, "pty:"))
			want("the screen as a resource", strings.Contains(v.At("screen").String(), "42"), v)
			call("shoal_pty_close", "pty_id="+pty)
			v = read("shoal://journal?limit=1")
			want("the journal", len(v.At("entries").List()) == 1, v)
		})
	}
}

// bearer adds the token to a client's requests.
type bearer struct{ token string }

// RoundTrip sends the request with the token.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

func TestGoSDK(t *testing.T) {
	if !*all {
		t.Skip("part of make clients: -args -all")
	}
	p := newPlace(t)
	for _, way := range ways {
		t.Run(way, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), clientTime)
			defer cancel()
			asked, told := 0, make(chan string, 64)
			client := mcp.NewClient(&mcp.Implementation{Name: "walk", Version: "1"}, &mcp.ClientOptions{
				ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					asked++
					return &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}, nil
				},
				ResourceUpdatedHandler: func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) {
					select {
					case told <- r.Params.URI:
					default:
					}
				},
			})
			var transport mcp.Transport = &mcp.CommandTransport{Command: p.Command("shoal-mcp", "--session", "go-stdio", "--state-dir", p.State)}
			if way == "http" {
				transport = &mcp.StreamableClientTransport{Endpoint: p.url + "go-http", HTTPClient: &http.Client{Transport: bearer{p.token}}}
			}
			s, err := client.Connect(ctx, transport, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			tool := func(name string, args kit.Args) (kit.Val, bool) {
				t.Helper()
				r, err := s.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: args})
				if err != nil {
					t.Fatalf("%s %v: %v", name, args, err)
				}
				raw, err := json.Marshal(r.StructuredContent)
				if err != nil {
					t.Fatal(err)
				}
				return kit.Parse(raw), r.IsError
			}
			if list, err := s.ListTools(ctx, nil); err != nil || len(list.Tools) != 13 {
				t.Fatalf("tools: got %v, %v", list, err)
			}
			tool("shoal_exec", kit.Args{"src": fmt.Sprintf("cd %q", p.Work)})
			if v, failed := tool("shoal_exec", kit.Args{"src": "6 * 7"}); failed || v.At("render").Str() != "42" {
				t.Errorf("exec: got %v", v)
			}
			v, _ := tool("shoal_exec", kit.Args{"src": `{rows: [{name: "a"}], list: [5, 6, 7]}`})
			ref := v.At("ref").Str()
			if v, failed := tool("shoal_get", kit.Args{"ref": ref, "path": ".rows[0].name"}); failed || v.At("value", "v").Str() != "a" {
				t.Errorf("a field: got %v", v)
			}
			if v, failed := tool("shoal_get", kit.Args{"ref": ref, "path": ".list", "slice": []int{1, 3}}); failed || v.At("value", "v", 1, "v").Int() != 7 {
				t.Errorf("a slice: got %v", v)
			}
			if v, failed := tool("shoal_exec", kit.Args{"src": "cp ./report.csv ./archive/" + way + ".csv"}); failed || asked != 1 {
				t.Errorf("approved copy: asked %d times, got %v", asked, v)
			}
			v, _ = tool("shoal_plan", kit.Args{"src": "cp ./report.csv ./archive/go-" + way + ".csv"})
			if v, failed := tool("shoal_apply", kit.Args{"plan_ref": v.At("plan_ref").Str()}); failed || asked != 2 {
				t.Errorf("applied plan: asked %d times, got %v", asked, v)
			}
			if _, err := os.Stat(p.Work + "/archive/go-" + way + ".csv"); err != nil {
				t.Error(err)
			}
			v, _ = tool("shoal_pty_open", kit.Args{"cmd": "sh", "args": []string{"-i"}, "cols": 60, "rows": 6})
			pty := v.At("pty_id").Str()
			tool("shoal_pty_send", kit.Args{"pty_id": pty, "input": []any{"echo $((6 * 7))", kit.Args{"key": "Enter"}}})
			v, _ = tool("shoal_pty_read", kit.Args{"pty_id": pty, "wait": kit.Args{"regex": "(?m)^42$", "timeout_ms": 10000}})
			if !v.At("wait", "met").Bool() {
				t.Errorf("a screen: got %v", v)
			}
			tool("shoal_pty_close", kit.Args{"pty_id": pty})
			v, _ = tool("shoal_exec", kit.Args{"src": "sh { echo begun; while true; do sleep 0.05; done }", "background": true})
			task := v.At("task").Str()
			uri := "shoal://task/" + strings.TrimPrefix(task, "task:")
			if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
				t.Fatalf("subscribe: %v", err)
			}
			kit.Eventually(t, clientTime, "the task writes", func() bool {
				read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri + "/stdout"})
				return err == nil && kit.Parse([]byte(read.Contents[0].Text)).At("data").Str() == "begun\n"
			})
			tool("shoal_cancel", kit.Args{"task": task})
			for state := ""; state != "cancelled"; { // each notice is a hint to read
				select {
				case heard := <-told:
					if heard != uri {
						continue
					}
				case <-ctx.Done():
					t.Fatalf("the notices ended with the task %s", state)
				}
				read, err := s.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
				if err != nil {
					t.Fatalf("read %s: %v", uri, err)
				}
				state = kit.Parse([]byte(read.Contents[0].Text)).At("state").Str()
			}
		})
	}
}
