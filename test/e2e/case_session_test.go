package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/test/kit"
)

// The directory stays between calls and is what the resource says.
func TestB50Cwd(t *testing.T) {
	w := world(t)
	w.Write("sub/f", "x")
	f := w.Facade("main")
	f.Exec("cd sub")
	want := w.Work + "/sub"
	if got := f.Exec("pwd").Text; strings.TrimSpace(got) != want {
		t.Errorf("pwd: got %q, want %q", got, want)
	}
	if got := f.MustRead("shoal://session/cwd").At("display").Str(); got != want {
		t.Errorf("shoal://session/cwd: got %q, want %q", got, want)
	}
}

// A directory that was removed is a clear error, and the session goes on.
func TestB51RemovedCwd(t *testing.T) {
	w := world(t)
	w.Write("d/f", "x")
	f := w.Facade("main")
	f.Exec("cd d")
	if err := os.RemoveAll(w.Work + "/d"); err != nil {
		t.Fatal(err)
	}
	for _, src := range []string{"^printf x", "(ls .).len()"} {
		if a := f.Tool("shoal_exec", kit.Args{"src": src}); a.Code() != messages.CodeRaised || !strings.Contains(a.Text, w.Work+"/d") {
			t.Errorf("%s: got %v, want an error that names the directory", src, a)
		}
	}
	a := f.Tool("shoal_exec", kit.Args{"src": "pwd"})
	if a.Code() != messages.CodeRaised || !strings.Contains(a.Text, w.Work+"/d") {
		t.Errorf("pwd: got %v, want an error that names the directory", a)
	}
	f.Exec("cd /")
	if got := strings.TrimSpace(f.Exec("pwd").Text); got != "/" {
		t.Errorf("pwd: got %q, want /", got)
	}
}

// Environment and bindings stay between calls and over a facade's end.
func TestB53Bindings(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	f.Exec(`env.FOO = "1"; let x = 7`)
	check := func(f *kit.Facade) {
		t.Helper()
		v := f.Exec("{e: (^printenv FOO).out, x}").Structured.At("value", "v")
		if v.At("e", "v").Str() != "1" || v.At("x", "v").Int() != 7 {
			t.Errorf("got %v, want 1 and 7", v)
		}
	}
	check(f)
	f.Close()
	again := w.Facade("main")
	check(again)
	again.Kill()
	check(w.Facade("main"))
}

// Each of many concurrent calls gets its own answer, whatever its id.
func TestB55RepliesMatch(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	ids := []string{}
	for i := range 30 {
		switch i % 3 {
		case 0:
			ids = append(ids, fmt.Sprint(9007199254740993+int64(i)))
		case 1:
			ids = append(ids, fmt.Sprintf(`"id-%d \u00e9"`, i))
		default:
			ids = append(ids, fmt.Sprint(-i))
		}
	}
	var open []*kit.Open
	for i, id := range ids {
		o := f.Expect(id)
		open = append(open, o)
		args := kit.Args{"src": fmt.Sprintf("sleep %dms\n%d", (i*37)%60, i)}
		raw, _ := json.Marshal(kit.Args{
			"jsonrpc": "2.0", "id": json.RawMessage(id), "method": "tools/call",
			"params": kit.Args{"name": "shoal_exec", "arguments": args},
		})
		f.Line(string(raw))
	}
	for i, o := range open {
		a := o.WaitTool()
		if got := a.Structured.At("value", "v").Int(); got != int64(i) {
			t.Errorf("id %s: got %v, want %d", o.ID, a, i)
		}
	}
	if strays := f.Strays(); len(strays) > 0 {
		t.Errorf("frames that answer nothing: %q", strays)
	}
}

// Slow calls do not block cheap ones.
func TestB56SlowCallsBlockNothing(t *testing.T) {
	w := world(t)
	f := w.Facade("main")
	gate := w.Root + "/gate"
	var slow []*kit.Open
	for range 12 {
		slow = append(slow, f.StartTool("shoal_exec", kit.Args{"src": "sh { while [ ! -e " + gate + " ]; do sleep 0.02; done }"}))
	}
	f.MustTool("shoal_pty_list", kit.Args{})
	for _, o := range slow {
		if o.Answered() {
			t.Error("a slow call was answered before its time")
		}
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range slow {
		if a := o.WaitTool(); a.IsError {
			t.Errorf("got %v", a)
		}
	}
}

// One session's line is blocked with eleven waiting behind; whatever is no
// execution of it answers meanwhile, and so do executions of another session.
func TestBlockedLine(t *testing.T) {
	w, r := served(t)
	other := w.Raw("other")
	seed := r.Exec("{a: [1, 2, 3]}").At("ref").Str()
	done := r.Background("1 + 1")
	r.Await(done)
	plan := r.Must("exec", kit.Args{"src": "touch planned", "mode": "plan"}).At("plan_ref").Str()
	gate := w.Root + "/gate"
	line := []*kit.Pending{r.Start("exec", kit.Args{"src": "sh { while [ ! -e " + gate + " ]; do sleep 0.02; done }\n0", "position": "value"})}
	kit.Eventually(t, quick, "the first of the line runs", func() bool { return sleeping(w, gate) })
	for i := 1; i < 12; i++ {
		line = append(line, r.Start("exec", kit.Args{"src": fmt.Sprintf("let step = %d\nstep", i), "position": "value"}))
	}
	beside := []struct {
		method string
		params kit.Args
	}{
		{"value.get", kit.Args{"ref": seed, "path": ".a[1]"}},
		{"task.list", kit.Args{}},
		{"task.get", kit.Args{"task": done}},
		{"plan.get", kit.Args{"plan_ref": plan}},
		{"journal.query", kit.Args{"limit": 5}},
		{"events.read", kit.Args{"channel": "journal"}},
		{"session.cwd", kit.Args{}},
		{"session.env", kit.Args{}},
		{"pty.list", kit.Args{}},
		{"kernel.info", kit.Args{}},
	}
	var calls []*kit.Pending
	for i := range 50 {
		c := beside[i%len(beside)]
		calls = append(calls, r.Start(c.method, c.params))
	}
	for _, c := range calls {
		c.Must()
	}
	for i := range 5 {
		if got := other.Exec(fmt.Sprintf("%d + 1", i)).At("value", "v").Int(); got != int64(i+1) {
			t.Errorf("other session: got %d, want %d", got, i+1)
		}
	}
	if got := r.Exec("2 * 21", kit.Args{"background": true}).At("task").Str(); r.Await(got).At("state").Str() != "completed" {
		t.Error("a background execution waits for the line")
	}
	// All that was answered while the first of the line still runs.
	if !sleeping(w, gate) {
		t.Error("the line was not blocked all the time")
	}
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, p := range line {
		if got := p.Must().At("value", "v").Int(); got != int64(i) {
			t.Errorf("in line: got %d, want %d", got, i)
		}
	}
	if got := r.Render("step"); got != "11" {
		t.Errorf("step: got %s, want 11: they ran in arrival order", got)
	}
}
