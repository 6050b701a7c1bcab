package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// memLog keeps steps and content in memory.
type memLog struct {
	n       uint64
	steps   []Step
	content map[string][]byte
	secret  string
}

func (l *memLog) Number() (uint64, error) { l.n++; return l.n, nil }

func (l *memLog) Store(r io.Reader) (string, error) {
	b, err := io.ReadAll(r)
	if l.secret != "" {
		b = bytes.ReplaceAll(b, []byte(l.secret), []byte("***"))
	}
	l.content[hashOf(b)] = b
	return hashOf(b), err
}

func (l *memLog) MayKeep(b []byte) bool {
	return l.secret == "" || !bytes.Contains(b, []byte(l.secret))
}

func (l *memLog) Write(steps []Step) { l.steps = append(l.steps, steps...) }

func (l *memLog) load(hash string) (io.ReadCloser, error) {
	b, ok := l.content[hash]
	if !ok {
		return nil, errors.New("no such content")
	}
	return io.NopCloser(bytes.NewReader(b)), nil
}

// bench is a directory with recorded files.
type bench struct {
	t     *testing.T
	dir   string
	plain Files
	log   *memLog
	steps *Steps
	files interp.Files
}

func newBench(t *testing.T) *bench {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: filepath.Join(dir, "w"), plain: Files{TrashDir: filepath.Join(dir, "trash")}, log: &memLog{content: map[string][]byte{}}}
	if err := os.Mkdir(b.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	b.steps = &Steps{Log: b.log}
	b.files = Record(b.plain, b.steps)
	return b
}

func (b *bench) at(parts ...string) string {
	return filepath.Join(append([]string{b.dir}, parts...)...)
}

func (b *bench) must(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) write(name, text string, mode interp.WriteMode) {
	b.t.Helper()
	b.must(b.files.WriteFile(b.t.Context(), b.at(name), strings.NewReader(text), mode))
}

// state is every path below the directory with what matters of it.
func (b *bench) state() map[string]string {
	out := map[string]string{}
	b.must(filepath.WalkDir(b.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		line := info.Mode().String()
		switch fileType(info.Mode()) {
		case "file":
			line += fmt.Sprint(" ", info.ModTime().UnixNano(), " ", text(b.t, path))
		case "symlink":
			to, _ := os.Readlink(path)
			line += " " + to
		}
		out[strings.TrimPrefix(path, b.dir)] = line
		return nil
	}))
	return out
}

func (b *bench) same(what string, want map[string]string) {
	b.t.Helper()
	got := b.state()
	for path, line := range want {
		if got[path] != line {
			b.t.Errorf("%s: %s: got %.80q, want %.80q", what, path, got[path], line)
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			b.t.Errorf("%s: %s should not be there", what, path)
		}
	}
}

// taken is what has been recorded since the last call, newest first.
func (b *bench) taken() []Step {
	b.steps.Flush()
	steps := b.log.steps
	b.log.steps = nil
	slices.Reverse(steps)
	return steps
}

func (b *bench) undo(steps []Step) error {
	if err := CheckSteps(steps); err != nil {
		return err
	}
	for _, s := range steps {
		if err := s.Take(context.Background(), b.plain, b.steps, nil, b.log.load); err != nil {
			return fmt.Errorf("%s: %w", s, err)
		}
	}
	return nil
}

// furnish makes what the changes below need.
func (b *bench) furnish() {
	put(b.t, b.at("f"), "one", 0o640)
	put(b.t, b.at("g"), "two", 0o600)
	put(b.t, b.at("large"), strings.Repeat("x", inlineMax+1), 0o600)
	b.must(os.MkdirAll(b.at("d", "e"), 0o755))
	b.must(os.MkdirAll(b.at("m", "e"), 0o755))
	put(b.t, b.at("d", "e", "x"), "deep", 0o600)
	put(b.t, b.at("d", "y"), "flat", 0o600)
	put(b.t, b.at("m", "e", "x"), "there", 0o600)
	b.must(os.Symlink("f", b.at("link")))
	old := time.Unix(1000, 5)
	for _, name := range []string{"f", "g", "large", "d/y"} {
		b.must(os.Chtimes(b.at(name), old, old))
	}
}

// Every change of the language can be undone, which can be undone itself.
func TestChangesAreUndone(t *testing.T) {
	ctx := context.Background()
	for what, change := range map[string]func(b *bench){
		"rm":                  func(b *bench) { second(b.files.Trash(ctx, b.at("f"))) },
		"rm a tree":           func(b *bench) { second(b.files.Trash(ctx, b.at("d"))) },
		"rm a link":           func(b *bench) { second(b.files.Trash(ctx, b.at("link"))) },
		"mv":                  func(b *bench) { b.must(b.files.Move(ctx, b.at("f"), b.at("n"))) },
		"mv onto a file":      func(b *bench) { b.must(b.files.Move(ctx, b.at("f"), b.at("g"))) },
		"mv onto a link":      func(b *bench) { b.must(b.files.Move(ctx, b.at("g"), b.at("link"))) },
		"mv a tree":           func(b *bench) { b.must(b.files.Move(ctx, b.at("d"), b.at("m", "d"))) },
		"cp":                  func(b *bench) { b.must(b.files.Copy(ctx, b.at("f"), b.at("n"), false)) },
		"cp onto a file":      func(b *bench) { b.must(b.files.Copy(ctx, b.at("f"), b.at("large"), false)) },
		"cp onto a link":      func(b *bench) { b.must(b.files.Copy(ctx, b.at("g"), b.at("link"), false)) },
		"cp a tree":           func(b *bench) { b.must(b.files.Copy(ctx, b.at("d"), b.at("n"), true)) },
		"cp a tree into one":  func(b *bench) { b.must(b.files.Copy(ctx, b.at("d"), b.at("m"), true)) },
		"mkdir":               func(b *bench) { b.must(b.files.Mkdir(ctx, b.at("n"), false)) },
		"mkdir with parents":  func(b *bench) { b.must(b.files.Mkdir(ctx, b.at("d", "n", "o"), true)) },
		"touch a new file":    func(b *bench) { b.must(b.files.Touch(ctx, b.at("n"), time.Now())) },
		"touch":               func(b *bench) { b.must(b.files.Touch(ctx, b.at("link"), time.Unix(7, 7))) },
		"ln":                  func(b *bench) { b.must(b.files.Link(ctx, b.at("f"), b.at("n"), false)) },
		"ln -s":               func(b *bench) { b.must(b.files.Link(ctx, "anywhere", b.at("n"), true)) },
		"save a new file":     func(b *bench) { b.write("n", "new", interp.Replace) },
		"save":                func(b *bench) { b.write("f", "new", interp.Replace) },
		"save through a link": func(b *bench) { b.write("link", "new", interp.Replace) },
		"save a large file":   func(b *bench) { b.write("large", "new", interp.Replace) },
		"redirect":            func(b *bench) { b.write("g", "new", interp.Truncate) },
		"append":              func(b *bench) { b.write("f", "new", interp.Append) },
		"append to nothing":   func(b *bench) { b.write("n", "new", interp.Append) },
		"many on one file": func(b *bench) {
			b.write("f", "1", interp.Append)
			b.write("f", "22", interp.Append)
			b.write("f", "3", interp.Truncate)
			b.write("f", "44", interp.Replace)
		},
		"make, move, change": func(b *bench) {
			b.must(b.files.Mkdir(ctx, b.at("n"), false))
			b.write("n/f", "new", interp.Replace)
			b.must(b.files.Move(ctx, b.at("n"), b.at("o")))
			b.write("o/f", "more", interp.Append)
			b.must(b.files.Move(ctx, b.at("g"), b.at("o", "g")))
			second(b.files.Trash(ctx, b.at("o")))
			b.write("g", "another", interp.Replace)
		},
		"copy, change inside": func(b *bench) {
			b.must(b.files.Copy(ctx, b.at("d"), b.at("n"), true))
			b.write("n/new", "new", interp.Replace)
			b.write("n/y", "other", interp.Replace)
			b.must(b.files.Move(ctx, b.at("n"), b.at("o")))
		},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.furnish()
			before := b.state()
			change(b)
			after := b.state()
			steps := b.taken()
			if len(steps) == 0 {
				t.Fatal("nothing was recorded")
			}
			b.must(b.undo(steps))
			b.same("undone", before)
			b.must(b.undo(b.taken()))
			b.same("done again", after)
			b.must(b.undo(b.taken()))
			b.same("undone again", before)
		})
	}
}

// A file that is replaced within one tick of the file system's clock by another
// of its length looks the same to all but its content, which belongs to the last
// step that left it.
func TestUndoWithinOneTick(t *testing.T) {
	b := newBench(t)
	tick := time.Unix(1_700_000_000, 0)
	put(t, b.at("f"), "old", 0o600)
	b.must(os.Chtimes(b.at("f"), tick, tick))
	b.write("f", "new", interp.Replace)
	b.must(b.files.Touch(t.Context(), b.at("f"), tick))
	b.must(b.files.Move(t.Context(), b.at("f"), b.at("h")))
	done := b.state()
	b.must(b.undo(b.taken()))
	undone := b.state()
	b.must(b.undo(b.taken()))
	b.same("done again", done)
	b.must(b.undo(b.taken()))
	b.same("undone again", undone)
}

// Changes of one file become one step, so that what many small ones cost does
// not grow with the file.
func TestAppendingIsOneStep(t *testing.T) {
	b := newBench(t)
	put(t, b.at("f"), "start", 0o600)
	for range 500 {
		b.write("f", "line\n", interp.Append)
	}
	steps := b.taken()
	if len(steps) != 1 || steps[0].Op != StepCut || steps[0].Was.Size != 5 || len(b.log.content) != 0 {
		t.Fatalf("got %v", steps)
	}
	b.must(b.undo(steps))
	if got := text(t, b.at("f")); got != "start" {
		t.Errorf("got %q", got)
	}
}

// Nothing is touched when anything is not as it was left.
func TestStale(t *testing.T) {
	ctx := context.Background()
	keepTime := func(b *bench, name, text string) {
		info, err := os.Stat(b.at(name))
		b.must(err)
		b.must(os.WriteFile(b.at(name), []byte(text), 0o600))
		b.must(os.Chtimes(b.at(name), info.ModTime(), info.ModTime()))
	}
	for what, c := range map[string]struct{ change, meddle func(b *bench) }{
		"saved, edited":           {func(b *bench) { b.write("f", "new", interp.Replace) }, func(b *bench) { put(b.t, b.at("f"), "edited", 0o600) }},
		"saved, edited in secret": {func(b *bench) { b.write("f", "new", interp.Replace) }, func(b *bench) { keepTime(b, "f", "old") }},
		"appended, edited":        {func(b *bench) { b.write("f", "new", interp.Append) }, func(b *bench) { keepTime(b, "f", "onewen") }},
		"saved, gone":             {func(b *bench) { b.write("f", "new", interp.Replace) }, func(b *bench) { b.must(os.Remove(b.at("f"))) }},
		"removed, there again":    {func(b *bench) { second(b.files.Trash(ctx, b.at("f"))) }, func(b *bench) { put(b.t, b.at("f"), "", 0o600) }},
		"removed, directory gone": {func(b *bench) { second(b.files.Trash(ctx, b.at("m/e/x"))) }, func(b *bench) { b.must(os.Remove(b.at("m/e"))) }},
		"removed, directory a link": {func(b *bench) { second(b.files.Trash(ctx, b.at("m/e/x"))) },
			func(b *bench) { b.must(os.Rename(b.at("m/e"), b.at("o"))); b.must(os.Symlink("../o", b.at("m/e"))) }},
		"made, filled":  {func(b *bench) { b.must(b.files.Mkdir(ctx, b.at("n"), false)) }, func(b *bench) { put(b.t, b.at("n/x"), "", 0o600) }},
		"copied, added": {func(b *bench) { b.must(b.files.Copy(ctx, b.at("d"), b.at("n"), true)) }, func(b *bench) { put(b.t, b.at("n/e/z"), "", 0o600) }},
		"moved, replaced": {func(b *bench) { b.must(b.files.Move(ctx, b.at("d"), b.at("n"))) },
			func(b *bench) { b.must(os.Rename(b.at("n"), b.at("o"))); b.must(os.Mkdir(b.at("n"), 0o700)) }},
	} {
		t.Run(what, func(t *testing.T) {
			b := newBench(t)
			b.furnish()
			c.change(b)
			b.write("g", "last", interp.Replace) // would be undone first
			steps := b.taken()
			c.meddle(b)
			want := b.state()
			err := b.undo(steps)
			var e *value.Error
			if !errors.As(err, &e) || e.Code != value.CodeStaleUndo {
				t.Errorf("got %v, want stale_undo", err)
			}
			b.same("touched", want)
		})
	}
}

// What has no inverse says why.
func TestWithoutInverse(t *testing.T) {
	b := newBench(t)
	b.furnish()
	b.log.secret = "hunter2"
	put(t, b.at("small"), "password: hunter2", 0o600)
	put(t, b.at("big"), strings.Repeat("a", inlineMax)+"hunter2", 0o600)
	f, err := os.Create(b.at("huge"))
	b.must(err)
	b.must(f.Truncate(contentMax + 1))
	b.must(f.Close())
	for _, name := range []string{"small", "big", "huge"} {
		b.write(name, "new", interp.Replace)
	}
	b.must(b.files.Remove(t.Context(), b.at("f"), false))
	why := map[string]string{}
	for _, s := range b.taken() {
		if s.Op != StepNone {
			t.Errorf("got %v", s)
		}
		why[filepath.Base(string(s.Path))] = s.Why
	}
	for name, part := range map[string]string{"small": "secret", "big": "secret", "huge": "32 MiB", "f": "for good"} {
		if !strings.Contains(why[name], part) {
			t.Errorf("%s: got %q, want %q", name, why[name], part)
		}
	}
	for hash, content := range b.log.content {
		if bytes.Contains(content, []byte("hunter2")) {
			t.Errorf("%s holds the secret", hash)
		}
	}
}

// What failed and changed nothing is not recorded, nor is a write to a device.
func TestNothingChanged(t *testing.T) {
	b := newBench(t)
	b.furnish()
	failing := io.MultiReader(strings.NewReader("new"), errReader{})
	if err := b.files.WriteFile(t.Context(), b.at("f"), failing, interp.Replace); err == nil {
		t.Error("the write should fail")
	}
	if err := b.files.WriteFile(t.Context(), b.at("gone", "f"), strings.NewReader(""), interp.Replace); err == nil {
		t.Error("the write should fail")
	}
	if err := b.files.Move(t.Context(), b.at("none"), b.at("f")); err == nil {
		t.Error("the move should fail")
	}
	b.must(os.Symlink("nowhere/f", b.at("dangling")))
	if err := b.files.Touch(t.Context(), b.at("dangling"), time.Now()); err == nil {
		t.Error("the touch should fail")
	}
	b.must(b.files.WriteFile(t.Context(), "/dev/null", strings.NewReader("x"), interp.Truncate))
	if steps := b.taken(); len(steps) != 0 {
		t.Errorf("recorded: %v", steps)
	}
}

// A copy that stops halfway can be undone as far as it went.
func TestHalfACopy(t *testing.T) {
	b := newBench(t)
	b.furnish()
	b.must(syscall.Mkfifo(b.at("d", "z"), 0o600)) // is not copied
	before := b.state()
	for _, to := range []string{"n", "m"} {
		if err := b.files.Copy(t.Context(), b.at("d"), b.at(to), true); err == nil {
			t.Fatal("the copy should fail")
		}
		if text(t, b.at(to, "e", "x")) != "deep" {
			t.Fatal("nothing was copied")
		}
	}
	b.must(b.undo(b.taken()))
	b.same("undone", before)
}

// Every method that changes files is recorded; a new one is found by reflection.
func TestEveryChangeIsRecorded(t *testing.T) {
	reads := []string{"Lstat", "Stat", "ReadDir", "List", "Open", "Real"}
	methods := reflect.TypeFor[interp.Files]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		if slices.Contains(reads, name) {
			continue
		}
		b := newBench(t)
		b.furnish()
		m := reflect.ValueOf(b.files).MethodByName(name)
		in := args(m.Type(), b.dir) // paths that are not there
		for k := range in {
			if k == 1 && in[k].Kind() == reflect.String && name != "Mkdir" && name != "Touch" && name != "WriteFile" {
				in[k] = reflect.ValueOf(b.at("f"))
			}
		}
		out := m.Call(in)
		if err, _ := out[len(out)-1].Interface().(error); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if len(b.taken()) == 0 {
			t.Errorf("%s is not recorded", name)
		}
	}
}

// Undoing is judged as the changes that it makes.
func TestUndoIsJudged(t *testing.T) {
	b := newBench(t)
	b.furnish()
	second(b.files.Trash(t.Context(), b.at("d")))
	b.write("n", "new", interp.Replace)
	steps := b.taken()
	var asked []string
	refuse := func(e effect.Effect) *value.Error {
		asked = append(asked, e.String())
		if strings.HasSuffix(e.Path, "/d/e/x") {
			return value.Errorf(value.CodePermission, "no")
		}
		return nil
	}
	for _, s := range steps {
		if err := s.Judge(refuse); (err == nil) != (s.Op == StepRemove) {
			t.Errorf("%s: %v", s, err)
		}
	}
	if asked[0] != "fs.delete("+b.at("n")+")" || !slices.Contains(asked, "fs.write("+b.at("d")+")") {
		t.Errorf("asked: %v", asked)
	}
	if err := steps[1].Take(t.Context(), b.plain, b.steps, refuse, b.log.load); err == nil {
		t.Error("a refused step was taken")
	}
}
