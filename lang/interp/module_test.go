package interp_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// folder is a session in a new folder with these files.
func folder(t *testing.T, files map[string]string) (*interp.State, *interp.Host) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return interp.NewState(dir, nil), &interp.Host{Files: host.Files{}}
}

const tools = `
export let name = "tools"
export var count = 0
var hidden = 10
fn step(n) { count += n; hidden += n; count }
export fn bump() { step(1) }
export fn peek() { [count, hidden] }
export let pair = {up: () => step(10), down: x => step(-x)}
`

// What a module is survives storing: private names, shared variables, exports
// that are read live.
func TestModuleExportImport(t *testing.T) {
	s, h := folder(t, map[string]string{"tools.shl": tools, "user.shl": "use ./tools\nexport fn go() { tools.bump() }"})
	dir := s.Cwd()
	at := func(src string) string { return runWith(t, src, interp.Run{State: s, Host: h}) }
	if got := at("use ./tools\nuse ./user\ntools.bump()\nlet f = tools.pair.up\nlet snapshot = tools"); got != "null" {
		t.Fatal(got)
	}
	for round := range 2 {
		s = reload(t, s)
		if got, want := at("tools.peek()"), fmt.Sprintf("[%d, %d]", 1+13*round, 11+13*round); got != want {
			t.Errorf("round %d: private state %s, want %s", round, got, want)
		}
		if got, want := at("f()\nuser.go()\ntools.bump()\ntools.bump()\n[tools.count, snapshot.count]"), fmt.Sprintf("[%d, 1]", 14+13*round); got != want {
			t.Errorf("round %d: shared state %s, want %s", round, got, want)
		}
		if diff := cmp.Diff([]string{"f", "snapshot", "tools", "user"}, s.TakeChanges().Set); diff != "" {
			t.Errorf("round %d: changed (-want +got):\n%s", round, diff)
		}
		if got := at("tools.keys()"); got != `["name", "count", "bump", "peek", "pair"]` {
			t.Errorf("exports %s", got)
		}
		if got := at("tools = 1"); !strings.HasPrefix(got, "type_error") {
			t.Errorf("assigning the module: %s", got)
		}
		if got := at("hidden"); !strings.HasPrefix(got, "not_found") {
			t.Errorf("a private name leaks: %s", got)
		}
	}
	// It is still the module of its path.
	s.SetCwd(dir)
	if got := at("use ./tools\ntools.count"); got != "27" {
		t.Errorf("using it again: %s", got)
	}
}

func TestModuleChanges(t *testing.T) {
	s, h := folder(t, map[string]string{"tools.shl": tools})
	at := func(src string) string { return runWith(t, src, interp.Run{State: s, Host: h}) }
	at("use ./tools")
	if diff := cmp.Diff([]string{"tools"}, s.TakeChanges().Set); diff != "" {
		t.Errorf("after use (-want +got):\n%s", diff)
	}
	at("tools.peek()")
	if c := s.TakeChanges(); !c.Empty() {
		t.Errorf("reading counts as a change: %+v", c)
	}
	at("tools.bump()")
	if diff := cmp.Diff([]string{"tools"}, s.TakeChanges().Set); diff != "" {
		t.Errorf("after a call that assigns (-want +got):\n%s", diff)
	}
}

// A script's closure keeps its scope when it is stored.
func TestScriptClosureExportImport(t *testing.T) {
	s, h := folder(t, map[string]string{"s.shl": "var n = 0\nlet k = 5\n() => { n += k; n }"})
	at := func(src string) string { return runWith(t, src, interp.Run{State: s, Host: h}) }
	at("let f = run ./s.shl\nlet g = f")
	at("f()")
	s = reload(t, s)
	if got := at("[f(), g()]"); got != "[10, 15]" {
		t.Errorf("got %s", got)
	}
}

// Bad stored modules are refused, and the name says so when it is used.
func TestBadStoredModule(t *testing.T) {
	for _, data := range []string{"", "{}x", `{"path":"/m","scope":{"id":9},"exports":["a"]}`,
		`{"path":"/m","scope":{"id":9,"names":[{"name":"a","kind":"zzz","id":1}]},"exports":["a"]}`,
		`{"path":"/m","scope":{"id":9,"names":[{"name":"a","kind":"let","id":1,"data":"AAAA"}]},"exports":["a"]}`} {
		s := newState()
		if err := s.Import("m", interp.Stored{Kind: "use", Data: []byte(data)}, lib, nil); err == nil {
			t.Errorf("%q was loaded", data)
		}
		if got := run(t, s, "m.a"); !strings.HasPrefix(got, "undefined_var") {
			t.Errorf("%q: using it gives %s", data, got)
		}
	}
}

// Machines of one session that use a module at once load it once.
func TestModuleLoadedOnce(t *testing.T) {
	s, h := folder(t, map[string]string{
		"m.shl": "\"x\".append(\"log\")\nexport var n = 0\nexport fn up() { n += 1; n }",
	})
	var wg sync.WaitGroup
	for range 8 {
		fork := s.Fork()
		wg.Add(1)
		go func() {
			defer wg.Done()
			if got := runWith(t, "use ./m\nfor i in 1..=50 { m.up() }\nm.n >= 50", interp.Run{State: fork, Host: h}); got != "true" {
				t.Errorf("got %s", got)
			}
		}()
	}
	wg.Wait()
	text, err := os.ReadFile(filepath.Join(s.Cwd(), "log"))
	if err != nil || string(text) != "x" {
		t.Errorf("loaded %q times, %v", text, err)
	}
}

// Two machines that load modules which use each other do not wait for ever.
func TestModuleCycleOfMachines(t *testing.T) {
	for range 20 {
		s, h := folder(t, map[string]string{"a.shl": "use ./b\nexport let v = 1", "b.shl": "use ./a\nexport let v = 2"})
		results := make(chan string, 2)
		for _, name := range []string{"a", "b"} {
			fork := s.Fork()
			go func() { results <- runWith(t, "use ./"+name, interp.Run{State: fork, Host: h}) }()
		}
		for range 2 {
			if got := <-results; !strings.Contains(got, "circular `use`") {
				t.Fatalf("got %s", got)
			}
		}
	}
}

// waitingFiles hold back the reading of one file until told.
type waitingFiles struct {
	host.Files
	opened chan struct{}
	once   sync.Once
}

func (w *waitingFiles) Open(ctx context.Context, path string) (io.ReadCloser, error) {
	if strings.HasSuffix(path, "slow.shl") {
		w.once.Do(func() { close(w.opened) })
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return w.Files.Open(ctx, path)
}

// Waiting for another machine's module ends with the run.
func TestModuleWaitIsCancelled(t *testing.T) {
	s, h := folder(t, map[string]string{"slow.shl": "export let v = 1"})
	files := &waitingFiles{opened: make(chan struct{})}
	h.Files = files
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ended := make(chan error, 2)
	start := func() {
		fork := s.Fork()
		p := must(t, "use ./slow", fork)
		go func() {
			_, err := p.Run(ctx, interp.Run{State: fork, Host: h})
			ended <- err
		}()
	}
	start()
	<-files.opened
	start()
	cancel()
	for range 2 {
		if err := <-ended; err == nil {
			t.Error("a cancelled use succeeded")
		}
	}
}

// A source that is no text, and one that is too large, are errors.
func TestHostileSources(t *testing.T) {
	s, h := folder(t, map[string]string{
		"nul.shl": "let a = \"\x00\"", "bin.shl": "\xff\xfe", "deep.shl": strings.Repeat("(", 5000),
		"huge.shl": strings.Repeat("# filler\n", 1<<20),
	})
	for src, code := range map[string]string{
		"source nul.shl": "parse_error", "run ./bin.shl": "parse_error", "use ./deep": "parse_error",
		"use ./huge": "io_error", "source huge.shl": "io_error", "./huge.shl": "io_error",
	} {
		if got := runWith(t, src, interp.Run{State: s, Host: h}); !strings.HasPrefix(got, code) {
			t.Errorf("%s: %.80s", src, got)
		}
	}
	if got := runWith(t, "use ./x", interp.Run{State: s, Host: &interp.Host{}}); !strings.HasPrefix(got, "arg_error") {
		t.Errorf("without files: %s", got)
	}
}

// Scripts that are run many times leave nothing behind.
func TestScriptsInALoop(t *testing.T) {
	s, h := folder(t, map[string]string{"s.shl": "let n = args[0].parse_int()\nn * 2"})
	if got := runWith(t, "var t = 0\nfor i in 0..200 { t += run(\"./s.shl\", i) }\nt", interp.Run{State: s, Host: h}); got != "39800" {
		t.Errorf("got %s", got)
	}
	if diff := cmp.Diff([]string{"t"}, s.Bindings()); diff != "" {
		t.Errorf("bindings (-want +got):\n%s", diff)
	}
}

func BenchmarkModuleCall(b *testing.B) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "m.shl"), []byte("let k = 2\nexport fn f(x) { x * k }"), 0o644); err != nil {
		b.Fatal(err)
	}
	s := interp.NewState(dir, nil)
	p, perr := interp.Parse("use ./m\nvar t = 0\nfor i in 0..10000 { t += m.f(i) }\nt", s.Names(), lib)
	if perr != nil {
		b.Fatal(perr)
	}
	for b.Loop() {
		if v, err := p.Run(context.Background(), interp.Run{State: s, Host: &interp.Host{Files: host.Files{}}}); err != nil || v.Kind() != value.KindInt {
			b.Fatal(err)
		}
	}
}
