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
	ctx, cancel := context.WithTimeout(context.Background(), clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = dir, append(append([]string(nil), p.Env...), env...), time.Second
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v: %.3000s", strings.Join(args, " "), err, out)
	}
	return string(out)
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
			inspect := func(args ...string) string {
				t.Helper()
				target := []string{inspector, "--cli", filepath.Join(bin, "shoal-mcp"), "--session", "inspect", "--state-dir", p.State}
				if way == "http" {
					target = []string{inspector, "--cli", p.url + "inspect", "--transport", "http", "--header", "Authorization: Bearer " + p.token}
				}
				return p.run(t, p.Work, nil, append(target, args...)...)
			}
			if out := inspect("--method", "tools/list"); !strings.Contains(out, "shoal_cap_request") {
				t.Errorf("tools/list: got %s", out)
			}
			if out := inspect("--method", "tools/call", "--tool-name", "shoal_exec", "--tool-arg", "src=6 * 7"); !strings.Contains(out, "42") {
				t.Errorf("tools/call: got %s", out)
			}
			if out := inspect("--method", "resources/read", "--uri", "shoal://journal?limit=1"); !strings.Contains(out, "6 * 7") {
				t.Errorf("resources/read: got %s", out)
			}
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
			if v, failed := tool("shoal_exec", kit.Args{"src": "cp ./report.csv ./archive/" + way + ".csv"}); failed || asked != 1 {
				t.Errorf("approved copy: asked %d times, got %v", asked, v)
			}
			v, _ := tool("shoal_exec", kit.Args{"src": "sh { while true; do sleep 0.05; done }", "background": true})
			task := v.At("task").Str()
			uri := "shoal://task/" + strings.TrimPrefix(task, "task:")
			if err := s.Subscribe(ctx, &mcp.SubscribeParams{URI: uri}); err != nil {
				t.Fatalf("subscribe: %v", err)
			}
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
