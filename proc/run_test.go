package proc

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestOutcome(t *testing.T) {
	r := newRunner(t, Limits{})
	tests := []struct {
		name, script  string
		status        int
		signal        string
		stdout, errs  string
		stdoutIsExact bool
	}{
		{"both streams", "echo out; echo err >&2; exit 3", 3, "", "out\n", "err\n", true},
		{"no input waits", "cat", 0, "", "", "", true},
		{"looks like a prompt", "printf 'Done: '", 0, "", "Done: ", "", true},
		{"not UTF-8", `printf '\377\376ok'`, 0, "", "\xff\xfeok", "", true},
		{"signal", "kill -TERM $$", -1, "SIGTERM", "", "", true},
		{"kill", "kill -9 $$", -1, "SIGKILL", "", "", true},
		{"marked", `echo "$SHOAL_TASK" | sed 's/.*\///'`, 0, "", "1\n", "", true},
		{"own session", `ps -o sid= -p $$ | tr -d ' ' | grep -qx $$ && echo own`, 0, "", "own\n", "", true},
		{"editor refuses", `$SHELL -c true; sh -c "$EDITOR" x`, 1, "", "", "", false},
		{"merged pipe of two", `(printf '1\n2\n' | tail -1)`, 0, "", "2\n", "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			res := sh(t, r, tt.script)
			if exitStatus(res) != tt.status || res.Signal != tt.signal {
				t.Errorf("got status %d signal %q, want %d %q", exitStatus(res), res.Signal, tt.status, tt.signal)
			}
			if tt.stdoutIsExact && (text(res.Stdout) != tt.stdout || text(res.Stderr) != tt.errs) {
				t.Errorf("got %q and %q, want %q and %q", text(res.Stdout), text(res.Stderr), tt.stdout, tt.errs)
			}
			if len(res.Holders) > 0 {
				t.Errorf("got holders %v, want none", res.Holders)
			}
		})
	}
}

func TestEditorSaysWhy(t *testing.T) {
	r := newRunner(t, Limits{})
	res := sh(t, r, `sh -c "$GIT_EDITOR \"\$@\"" edit file`)
	if exitStatus(res) == 0 || !strings.Contains(text(res.Stderr), "no editor") {
		t.Errorf("got status %d, stderr %q; want a refusal with its reason", exitStatus(res), text(res.Stderr))
	}
}

func TestNoControllingTerminal(t *testing.T) {
	r := newRunner(t, Limits{})
	res := sh(t, r, "read x < /dev/tty; echo got")
	if res.Dur > 3*time.Second {
		t.Errorf("took %v, want at once", res.Dur)
	}
	if !strings.Contains(text(res.Stderr), "/dev/tty") || !hasNote(res, NoteNeedsTerminal) {
		t.Errorf("got stderr %q notes %v, want /dev/tty and %s", text(res.Stderr), res.Notes, NoteNeedsTerminal)
	}
}

func TestBackgroundHolder(t *testing.T) {
	for name, script := range map[string]string{
		"stdout":      "sleep 30 & echo hi",
		"stderr only": "sleep 30 </dev/null >/dev/null & echo hi",
		"no pipe":     "sleep 30 >/dev/null 2>&1 & echo hi",
		"own session": "setsid sleep 30 & echo hi",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, Limits{})
			res := sh(t, r, script)
			if res.Dur > time.Second {
				t.Errorf("took %v, want well under a second", res.Dur)
			}
			if exitStatus(res) != 0 || text(res.Stdout) != "hi\n" {
				t.Errorf("got %d %q, want 0 and hi", exitStatus(res), text(res.Stdout))
			}
			if len(res.Holders) != 1 || !strings.Contains(res.Holders[0].Cmd, "sleep 30") || !hasNote(res, NoteHolders) {
				t.Fatalf("got holders %v notes %v, want the sleep", res.Holders, res.Notes)
			}
			pid := res.Holders[0].PID
			if left := r.Leftovers(1); len(left) != 1 || left[0].PID != pid {
				t.Errorf("got leftovers %v, want %d", left, pid)
			}
			if left := r.KillTree(context.Background(), 1, KillLadder()); len(left) > 0 || isRunning(pid) {
				t.Errorf("survivors %v", left)
			}
			within(t, 2*time.Second, "the orphan is reaped", func() bool {
				_, err := os.Stat("/proc/" + itoa(pid))
				return err != nil
			})
		})
	}
}

func TestLateOutputGoesToTaskOnly(t *testing.T) {
	r := newRunner(t, Limits{})
	out := r.OpenOutput(1, nil)
	defer out.Close()
	fifo := filepath.Join(t.TempDir(), "gate")
	spec := shSpec(1, "mkfifo "+fifo+"; (read x <"+fifo+"; echo late) & echo early")
	spec.Stdout = out.Stdout
	res, err := r.Run(context.Background(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(fifo, []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	within(t, 3*time.Second, "late output", func() bool { return out.Stdout.Len() == int64(len("early\nlate\n")) })
	if got := text(res.Stdout); got != "early\n" {
		t.Errorf("got capture %q, want only what came before the end", got)
	}
}

func TestNothingCutAtExit(t *testing.T) {
	r := newRunner(t, Limits{})
	for range 40 {
		res := sh(t, r, "exec seq 1 100000")
		if got := res.Stdout.Len(); got != 588895 || exitStatus(res) != 0 {
			t.Fatalf("got %d bytes, status %d; want 588895, 0", got, exitStatus(res))
		}
		res.Stdout.Close()
	}
}

func TestShortLivedKeepsStderr(t *testing.T) {
	r := newRunner(t, Limits{})
	var wg sync.WaitGroup
	gate := make(chan struct{}, 4)
	for range 100 {
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			res, err := r.Run(context.Background(), shSpec(2, "echo oops >&2; exit 3"))
			if err != nil || exitStatus(res) != 3 || text(res.Stderr) != "oops\n" {
				t.Errorf("got %v %v, want status 3 and oops", res, err)
			}
		})
	}
	wg.Wait()
}

func TestLargeCaptureIsEqual(t *testing.T) {
	file := filepath.Join(t.TempDir(), "data")
	block := make([]byte, 1<<20)
	for i := range block {
		block[i] = byte(i*7 ^ i>>9)
	}
	want := sha256.New()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		block[0] = byte(i)
		f.Write(block)
		want.Write(block)
	}
	f.Close()
	for name, caps := range map[string]int64{"memory": 200 << 20, "spilled": 3<<20 + 17} {
		t.Run(name, func(t *testing.T) {
			r := newRunner(t, Limits{CaptureCap: caps})
			out := r.OpenOutput(1, nil)
			defer out.Close()
			spec := shSpec(1, "exec cat "+file)
			spec.Stdout = out.Stdout
			res, err := r.Run(context.Background(), spec)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Stdout.Close()
			byChunks, byReader, byOutput := sha256.New(), sha256.New(), sha256.New()
			if err := res.Stdout.Chunks(func(b []byte) bool { byChunks.Write(b); return true }); err != nil {
				t.Fatal(err)
			}
			io.Copy(byReader, res.Stdout.Reader())
			io.Copy(byOutput, io.NewSectionReader(out.Stdout, 0, out.Stdout.Len()))
			for how, h := range map[string][]byte{"chunks": byChunks.Sum(nil), "reader": byReader.Sum(nil), "output": byOutput.Sum(nil)} {
				if !bytes.Equal(h, want.Sum(nil)) {
					t.Errorf("%s: bytes differ (%d of %d)", how, res.Stdout.Len(), 100<<20)
				}
			}
			if res.Stdout.Spilled() != (name == "spilled") {
				t.Errorf("spilled = %v", res.Stdout.Spilled())
			}
		})
	}
}

func TestSpawnErrors(t *testing.T) {
	r := newRunner(t, Limits{})
	dir := t.TempDir()
	write := func(name, body string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(body), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	tests := []struct {
		name string
		spec Spec
		kind SpawnKind
	}{
		{"missing", Spec{Path: dir + "/none", Dir: dir}, NotFound},
		{"no permission", Spec{Path: write("plain", "x", 0o644), Dir: dir}, NotExecutable},
		{"directory", Spec{Path: dir, Dir: dir}, IsDirectory},
		{"bad directory", Spec{Path: "/bin/true", Dir: dir + "/none"}, BadDir},
		{"file as directory", Spec{Path: "/bin/true", Dir: write("f", "", 0o644)}, BadDir},
		{"no interpreter", Spec{Path: write("script", "#!/none/here\n", 0o755), Dir: dir}, NoInterpreter},
		{"no format", Spec{Path: write("text", "just text", 0o755), Dir: dir}, BadFormat},
		{"too long", Spec{Path: "/bin/true", Argv: []string{"true", strings.Repeat("x", 4<<20)}, Dir: dir}, TooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.spec.Argv == nil {
				tt.spec.Argv = []string{"x"}
			}
			_, err := r.Run(context.Background(), tt.spec)
			var spawn *SpawnError
			if !errors.As(err, &spawn) || spawn.Kind != tt.kind {
				t.Errorf("got %#v, want kind %s", err, tt.kind)
			}
		})
	}
}

func TestStdin(t *testing.T) {
	r := newRunner(t, Limits{})
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	tests := []struct {
		name, script string
		in           io.Reader
		want         string
		wantErr      bool
	}{
		{"fed", "wc -c | tr -d ' '", bytes.NewReader(big), "1048576\n", false},
		{"child leaves early", "head -c 4", bytes.NewReader(big), "0123", false},
		{"source fails", "cat", io.MultiReader(strings.NewReader("ab"), failing{}), "ab", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			spec := shSpec(1, tt.script)
			spec.Stdin = tt.in
			res, err := r.Run(context.Background(), spec)
			if err != nil || exitStatus(res) != 0 {
				t.Fatal(res, err)
			}
			if got := text(res.Stdout); got != tt.want || (res.StdinErr != nil) != tt.wantErr {
				t.Errorf("got %q, %v; want %q, error %v", got, res.StdinErr, tt.want, tt.wantErr)
			}
		})
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("source failed") }

// A source that never ends must not hold a command that has exited.
func TestStdinBlockedSource(t *testing.T) {
	r := newRunner(t, Limits{})
	pr, pw := io.Pipe()
	defer pw.Close()
	spec := shSpec(1, "true")
	spec.Stdin = pr
	res, err := r.Run(context.Background(), spec)
	if err != nil || res.Dur > time.Second {
		t.Errorf("got %v after %v, want at once", err, res.Dur)
	}
}

func TestMergeAndFiles(t *testing.T) {
	r := newRunner(t, Limits{})
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	spec := shSpec(1, "echo a; echo b >&2; echo c")
	spec.Merge = true
	res, err := r.Run(context.Background(), spec)
	if err != nil || text(res.Stdout) != "a\nb\nc\n" {
		t.Errorf("merge: got %q %v", text(res.Stdout), err)
	}
	spec.Merge, spec.StdoutFile = false, f
	if res, err = r.Run(context.Background(), spec); err != nil || res.Stdout.Len() != 0 || text(res.Stderr) != "b\n" {
		t.Errorf("file: got %q %q %v", text(res.Stdout), text(res.Stderr), err)
	}
	if got, _ := os.ReadFile(f.Name()); string(got) != "a\nc\n" {
		t.Errorf("file: got %q", got)
	}
}

func TestLookPath(t *testing.T) {
	r := newRunner(t, Limits{})
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{"a/tool": 0o644, "b/tool": 0o755, "b/only": 0o644, "tool": 0o755} {
		path := filepath.Join(dir, name)
		os.MkdirAll(filepath.Dir(path), 0o755)
		if err := os.WriteFile(path, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	path := dir + "/a:" + dir + "/b"
	for range 2 {
		if got, err := r.LookPath("tool", path, dir); err != nil || got != dir+"/b/tool" {
			t.Errorf("got %q %v, want b/tool", got, err)
		}
	}
	if got, err := r.LookPath("./tool", path, dir); err != nil || got != dir+"/./tool" {
		t.Errorf("relative: got %q %v", got, err)
	}
	if got, err := r.LookPath("tool", "", dir); err == nil {
		t.Errorf("empty PATH: got %q", got)
	}
	if got, err := r.LookPath("tool", "b", dir); err != nil || got != dir+"/b/tool" {
		t.Errorf("relative element: got %q %v", got, err)
	}
	kinds := map[string]SpawnKind{"only": NotExecutable, "none": NotFound, "./a": IsDirectory, "": NotFound}
	for name, want := range kinds {
		_, err := r.LookPath(name, path, dir)
		var spawn *SpawnError
		if !errors.As(err, &spawn) || spawn.Kind != want {
			t.Errorf("%q: got %v, want %s", name, err, want)
		}
	}
	os.Remove(dir + "/b/tool")
	if got, err := r.LookPath("tool", path, dir); err == nil {
		t.Errorf("after removal: got %q, want an error", got)
	}
}

func TestRuntimeLeavesNothing(t *testing.T) {
	r := newRunner(t, Limits{})
	sh(t, r, "true")
	before := openFiles(t)
	for i := range 100 {
		sh(t, r, "echo x; echo y >&2")
		if i%2 == 0 {
			r.Run(context.Background(), Spec{Path: "/none", Argv: []string{"x"}})
		}
		out := r.OpenOutput(uint64(i+1), nil)
		out.Stdout.Write([]byte("x"))
		out.Close()
	}
	within(t, 2*time.Second, "descriptors are closed", func() bool { return openFiles(t) <= before })
	out, err := exec.Command("ps", "-o", "pid=,stat=", "--ppid", itoa(os.Getpid())).Output()
	if err == nil && strings.Contains(string(out), "Z") {
		t.Errorf("zombies: %s", out)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if diff := cmp.Diff([]int{0, 0, 0}, []int{len(r.own), len(r.trees), len(r.open)}); diff != "" {
		t.Errorf("still remembered: %s", diff)
	}
}

func openFiles(t testing.TB) int {
	names, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(names)
}

func TestUsage(t *testing.T) {
	r := newRunner(t, Limits{})
	res := sh(t, r, "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done")
	if u := r.Usage(1); u.CPU != res.CPU || u.CPU == 0 || u.MaxRSS < 100<<10 || u.Count != 1 {
		t.Errorf("got %+v, want what the result says (%v)", u, res.CPU)
	}
	r.Forget(1)
	if u := r.Usage(1); u != (Usage{}) {
		t.Errorf("after Forget: %+v", u)
	}
}

// What no system takes is refused before anything is copied for a fork.
func TestTooLong(t *testing.T) {
	for name, tt := range map[string]struct {
		args []string
		want bool
	}{
		"short":      {[]string{"a", "b"}, false},
		"long one":   {[]string{strings.Repeat("x", argMost+1)}, true},
		"many":       {make([]string, argsMost/8), true},
		"many bytes": {slices.Repeat([]string{strings.Repeat("x", argMost)}, argsMost/argMost+1), true},
	} {
		if got := tooLong(nil, tt.args); got != tt.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
