package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/proc"
)

func programs(t *testing.T) Programs {
	t.Helper()
	r, err := proc.New(proc.Options{KernelID: "0123456789abcdef", SpillDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return Programs{Runner: r, Task: 1}
}

func TestLayersOfTheEnvironment(t *testing.T) {
	session := []string{"A=1", "PAGER=less", "B=2", "A=3", "bare", "EMPTY="}
	got := childEnv(session, []string{"B=over", "GIT_PAGER=mine", "PAGER", "NEW=n"})
	env := map[string]string{}
	for _, kv := range got {
		name, v, ok := strings.Cut(kv, "=")
		if _, twice := env[name]; twice || !ok {
			t.Errorf("%q stands twice or has no value", kv)
		}
		env[name] = v
	}
	want := map[string]string{"A": "3", "B": "over", "GIT_PAGER": "mine", "NEW": "n", "TERM": "dumb", "EMPTY": ""}
	for name, v := range want {
		if got, ok := env[name]; !ok || got != v {
			t.Errorf("%s is %q, want %q", name, got, v)
		}
	}
	if v, ok := env["PAGER"]; ok {
		t.Errorf("PAGER is %q, want it unset", v)
	}
}

func TestWordsOfErrors(t *testing.T) {
	p := programs(t)
	dir := t.TempDir()
	put(t, filepath.Join(dir, "plain"), "x", 0o600)
	put(t, filepath.Join(dir, "script"), "#!/no/such/interpreter\n", 0o700)
	env := []string{"PATH=" + dir + ":/usr/bin:/bin"}
	for _, c := range []struct{ name, code, part string }{
		{"nothere-at-all", value.CodeNotFound, "command not found: nothere-at-all"},
		{dir, value.CodePermission, "is a directory"},
		{"plain", value.CodePermission, "not executable"}, // found in PATH
	} {
		_, err := p.LookPath(t.Context(), c.name, dir, env)
		var e *value.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Msg, c.part) {
			t.Errorf("%s: got %v, want %s with %q", c.name, err, c.code, c.part)
		}
	}
	_, err := p.LookPath(t.Context(), "./script0", dir, env)
	var plain *interp.NotExecutable
	if put(t, filepath.Join(dir, "script0"), "#! /bin/sh -e\nx", 0o600); errors.As(err, &plain) {
		t.Errorf("got %v before there is a file", err)
	}
	_, err = p.LookPath(t.Context(), "./script0", dir, env)
	if !errors.As(err, &plain) || plain.Shebang != "/bin/sh -e" {
		t.Errorf("got %v, want the line that says what runs the file", err)
	}
	run := func(s interp.ExecSpec) error { _, err := p.Exec(t.Context(), s); return err }
	for _, c := range []struct {
		what string
		spec interp.ExecSpec
		code string
		part string
	}{
		{"interpreter", interp.ExecSpec{Argv: []string{"script"}, Path: filepath.Join(dir, "script"), Cwd: dir}, value.CodeNotFound, "interpreter"},
		{"directory", interp.ExecSpec{Argv: []string{"true"}, Path: "/bin/true", Cwd: "/nothere"}, value.CodeNotFound, "working directory /nothere is gone"},
		{"too long", interp.ExecSpec{Argv: []string{"true", strings.Repeat("x", 3<<20)}, Path: "/bin/true", Cwd: dir}, value.CodeArg, "too long"},
	} {
		err := run(c.spec)
		var e *value.Error
		if !errors.As(err, &e) || e.Code != c.code || !strings.Contains(e.Msg, c.part) {
			t.Errorf("%s: got %v, want %s with %q", c.what, err, c.code, c.part)
		}
	}
}

func TestExec(t *testing.T) {
	p := programs(t)
	dir := t.TempDir()
	ended := 0
	p.Ended = func(*proc.Result) { ended++ }
	sh := func(script string, change ...func(*interp.ExecSpec)) *interp.Exit {
		t.Helper()
		s := interp.ExecSpec{Argv: []string{"sh", "-c", script}, Path: "/bin/sh", Cwd: dir, Env: []string{"PATH=/usr/bin:/bin"}}
		for _, f := range change {
			f(&s)
		}
		exit, err := p.Exec(t.Context(), s)
		if err != nil {
			t.Fatal(err)
		}
		return exit
	}
	read := func(b value.Blob) string {
		buf := make([]byte, b.Len())
		b.ReadAt(buf, 0)
		return string(buf)
	}
	if e := sh("cat; echo out; echo err >&2; exit 3"); *e.Status != 3 || read(e.Stdout) != "out\n" || read(e.Stderr) != "err\n" {
		t.Errorf("got %v %q %q", *e.Status, read(e.Stdout), read(e.Stderr))
	}
	if e := sh("cat", func(s *interp.ExecSpec) { s.Stdin = strings.NewReader("fed") }); read(e.Stdout) != "fed" {
		t.Errorf("fed: got %q", read(e.Stdout))
	}
	var into strings.Builder
	if e := sh("echo x", func(s *interp.ExecSpec) { s.Stdout = &into }); into.String() != "x\n" || e.Stdout.Len() != 0 {
		t.Errorf("redirected: got %q, captured %d", into.String(), e.Stdout.Len())
	}
	if e := sh("kill -TERM $$"); e.Status != nil || e.Signal != "SIGTERM" {
		t.Errorf("signal: got %v %q", e.Status, e.Signal)
	}
	if e := sh("head -c 1000000 /dev/zero"); e.Stdout.Len() != 1000000 {
		t.Errorf("large: got %d", e.Stdout.Len())
	}
	if ended != 5 {
		t.Errorf("%d ends were told", ended)
	}
	if _, err := os.Stat(dir); err != nil {
		t.Error(err)
	}
}
