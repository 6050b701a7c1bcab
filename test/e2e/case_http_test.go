package e2e

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"shoal.dev/shoal/test/kit"
)

// The field's cases again, over HTTP.

// onWeb is a kernel that serves HTTP.
func onWeb(t *testing.T) (*kit.World, *kit.Web) {
	t.Helper()
	w := world(t)
	addr := w.FreeAddr()
	w.StartKernel("--mcp-http", addr)
	return w, w.Web(addr)
}

func TestB30ProgressFramesOverHTTP(t *testing.T) {
	_, web := onWeb(t)
	h := web.Session("main")
	r := h.Exec(`sh { i=0; while [ $i -lt 200 ]; do printf '0%%\r50%%\r100%%\r'; i=$((i+1)); done; printf '100%%\n' }`)
	if got := strings.TrimRight(r.At("content", 0, "text").Str(), "\n"); got != "100%" {
		t.Errorf("text: got %q, want 100%%", got)
	}
	uri := r.At("content", 1, "uri").Str() + "?path=.stdout&format=raw"
	raw := h.Ask("2", "resources/read", kit.Args{"uri": uri}).At("result", "contents", 0, "text").Str()
	if want := 200*12 + 5; len(raw) != want {
		t.Errorf("raw: got %d bytes, want %d", len(raw), want)
	}
}

func TestB55RepliesMatchOverHTTP(t *testing.T) {
	_, web := onWeb(t)
	h := web.Session("main")
	var open sync.WaitGroup
	for i := range 30 {
		id := []string{fmt.Sprint(9007199254740993 + int64(i)), fmt.Sprintf(`"id-%d é"`, i), fmt.Sprint(-i), "7"}[i%4]
		open.Go(func() {
			src := fmt.Sprintf("sleep %dms\n%d", (i*37)%60, i)
			a := h.Ask(id, "tools/call", kit.Args{"name": "shoal_exec", "arguments": kit.Args{"src": src}})
			if got := a.At("result", "structuredContent", "value", "v").Int(); got != int64(i) || a.At("id").String() != kit.Parse([]byte(id)).String() {
				t.Errorf("id %s: got %v, want %d", id, a, i)
			}
		})
	}
	open.Wait()
}

func TestB56SlowCallsBlockNothingOverHTTP(t *testing.T) {
	w, web := onWeb(t)
	h := web.Session("main")
	gate := w.Root + "/gate"
	var slow sync.WaitGroup
	for range 12 {
		slow.Go(func() {
			if r := h.Exec("sh { while [ ! -e " + gate + " ]; do sleep 0.02; done }"); r.At("isError").Bool() || r.IsNull() {
				t.Errorf("got %v", r)
			}
			if _, err := os.Stat(gate); err != nil {
				t.Error("a slow call was answered before its time")
			}
		})
	}
	list := h.Ask("2", "tools/call", kit.Args{"name": "shoal_pty_list", "arguments": kit.Args{}})
	if list.At("result").IsNull() {
		t.Errorf("got %v", list)
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	slow.Wait()
}

func TestB60SubscribeOverHTTP(t *testing.T) {
	w, web := onWeb(t)
	h := web.Session("main")
	const uri, mark = "shoal://events/journal", "shoal://events/user.mark"
	follow := func(method, uri string) {
		t.Helper()
		if r := h.Ask("5", "resources/"+method, kit.Args{"uri": uri}); !r.At("error").IsNull() {
			t.Fatalf("%s: %v", method, r)
		}
	}
	follow("subscribe", uri)
	if n := len(h.Ask("2", "tools/list", kit.Args{}).At("result", "tools").List()); n != 13 {
		t.Errorf("tools/list: got %d tools, want 13", n)
	}
	heard, stop := h.Notices()
	defer stop()
	h.Exec("1 + 1")
	first := (<-heard).At("params")
	if first.At("uri").Str() != uri || first.At("payload", "session").Str() != "main" {
		t.Errorf("got %v", first)
	}
	follow("unsubscribe", uri)
	h.Exec("2 + 2")
	follow("subscribe", mark)
	w.Raw("main").Must("events.publish", kit.Args{"channel": "user.mark", "payload": 1})
	for f := range heard { // what came before unsubscribing may still be on its way
		params := f.At("params")
		if params.At("uri").Str() == mark {
			return
		}
		if strings.Contains(params.String(), "2 + 2") {
			t.Errorf("after unsubscribing: got %v", params)
		}
	}
	t.Error("the stream has ended")
}

// Clients that die in the middle of a call leave nothing but the task.
func TestB62ClientsDieOverHTTP(t *testing.T) {
	w, web := onWeb(t)
	r := w.Raw("main")
	task := r.Background("sh { sleep 600 }")
	kernel := w.KernelPID()
	files := kit.Descriptors(kernel)
	for i := range repeat(20) {
		h := web.Session(fmt.Sprint("dies-", i))
		ctx, cancel := context.WithCancel(context.Background())
		transport := &http.Transport{}
		req := h.Request(http.MethodPost, kit.Frame("1", "tools/call", kit.Args{"name": "shoal_exec", "arguments": kit.Args{"src": "sh { sleep 600 }"}}))
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			if resp, err := transport.RoundTrip(req.WithContext(ctx)); err == nil {
				resp.Body.Close()
			}
		}()
		watch := w.Raw(fmt.Sprint("dies-", i))
		kit.Eventually(t, quick, "the call runs", func() bool {
			return len(watch.Must("task.list", kit.Args{"live": true}).At("tasks").List()) == 1
		})
		cancel()
		<-gone
		transport.CloseIdleConnections()
		live := watch.Must("task.list", kit.Args{"live": true}).At("tasks").List()
		if len(live) != 1 {
			t.Fatalf("got %v, want the task", live)
		}
		watch.Must("task.cancel", kit.Args{"task": live[0].At("task").Str()})
		watch.Close()
	}
	kit.Eventually(t, quick, "the descriptors are closed again", func() bool { return kit.Descriptors(kernel) <= files+8 })
	if !kit.Alive(kernel) || r.Task(task).At("state").Str() != "running" {
		t.Error("the kernel or its task went with a client")
	}
	r.Must("task.cancel", kit.Args{"task": task})
	r.Await(task)
}

// Of kernels that start at the same moment on one state directory and address,
// one serves.
func TestB64ColdStartsOverHTTP(t *testing.T) {
	w := world(t)
	addr := w.FreeAddr()
	var starting sync.WaitGroup
	var mu sync.Mutex
	ready := 0
	for range 4 {
		starting.Go(func() {
			_, line := w.TryKernel("--mcp-http", addr)
			mu.Lock()
			defer mu.Unlock()
			if strings.HasPrefix(line, "shoal-kernel: ready") {
				ready++
			} else if !strings.Contains(line, "another kernel owns") {
				t.Errorf("got %q", line)
			}
		})
	}
	starting.Wait()
	if ready != 1 {
		t.Errorf("%d kernels serve", ready)
	}
	if got := w.Web(addr).Session("main").Exec("1 + 1").At("structuredContent", "render").Str(); got != "2" {
		t.Errorf("got %q", got)
	}
}

// After kill -9 the next kernel serves at the same address; the session is
// unknown, the token and the values are not.
func TestB65KilledKernelOverHTTP(t *testing.T) {
	w, web := onWeb(t)
	h := web.Session("main")
	h.Exec("let kept = 42")
	w.KillKernel()
	w.Facade("other").Exec("1") // starts a kernel with the flags of the last one
	web.AwaitWeb()
	if resp, body := h.Post(kit.Frame("1", "ping", kit.Args{})); resp.StatusCode != http.StatusNotFound {
		t.Errorf("the session of before: got %d %s", resp.StatusCode, body)
	}
	if got := web.Session("main").Exec("kept").At("structuredContent", "render").Str(); got != "42" {
		t.Errorf("kept: got %q", got)
	}
}
