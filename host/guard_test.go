package host

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// denied refuses everything and remembers what it was asked.
type denied struct{ asked []effect.Effect }

func (d *denied) check(e effect.Effect) *value.Error {
	d.asked = append(d.asked, e)
	return value.Errorf(value.CodePermission, "no")
}

// args are arguments of a method: a path below dir wherever a string is wanted.
func args(m reflect.Type, dir string) []reflect.Value {
	in := make([]reflect.Value, m.NumIn())
	for i := range in {
		switch p := m.In(i); p.String() {
		case "context.Context":
			in[i] = reflect.ValueOf(context.Background())
		case "string":
			in[i] = reflect.ValueOf(filepath.Join(dir, "new"))
		case "io.Reader":
			in[i] = reflect.ValueOf(strings.NewReader("x"))
		case "bool":
			in[i] = reflect.ValueOf(true)
		case "time.Time":
			in[i] = reflect.ValueOf(time.Now())
		default:
			in[i] = reflect.Zero(p)
		}
	}
	return in
}

// Every method of Files asks before it acts: refused, it changes nothing. A new
// method is found by reflection.
func TestEveryFileMethodAsks(t *testing.T) {
	dir := t.TempDir()
	d := &denied{}
	files := Guard(&interp.Host{Files: Files{TrashDir: filepath.Join(dir, "trash")}}, d.check).Files
	methods := reflect.TypeFor[interp.Files]()
	for i := range methods.NumMethod() {
		name := methods.Method(i).Name
		d.asked = nil
		m := reflect.ValueOf(files).MethodByName(name)
		out := m.Call(args(m.Type(), dir))
		err, _ := out[len(out)-1].Interface().(error)
		if e, ok := err.(*value.Error); !ok || e.Code != value.CodePermission {
			t.Errorf("%s: got %v, want it refused", name, err)
		}
		if len(d.asked) == 0 {
			t.Errorf("%s does not ask", name)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("something was done: %v", entries)
	}
}

func TestProgramsAsk(t *testing.T) {
	d := &denied{}
	h := Guard(&interp.Host{Programs: Programs{}}, d.check)
	_, err := h.Programs.Exec(t.Context(), interp.ExecSpec{Argv: []string{"x"}, Path: "/bin/x"})
	if e, ok := err.(*value.Error); !ok || e.Code != value.CodePermission || len(d.asked) != 1 || d.asked[0].Kind != effect.ProcSpawn || d.asked[0].Path != "/bin/x" {
		t.Errorf("got %v, asked %v", err, d.asked)
	}
}

func TestNoCheckIsNoGuard(t *testing.T) {
	h := &interp.Host{Files: Files{}}
	if Guard(h, nil) != h {
		t.Error("the host was wrapped")
	}
}

// grant allows everything in a directory but what lies in its secret part.
func grant(dir string) Check {
	return func(e effect.Effect) *value.Error {
		path := filepath.Clean(e.Path)
		if path != dir && !strings.HasPrefix(path, dir+"/") || strings.Contains(path+"/", "/secret/") {
			return value.Errorf(value.CodePermission, "no: %s", e)
		}
		return nil
	}
}

// room is a granted directory with ways out of it.
func room(t *testing.T) (in, out string, files interp.Files) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, out = filepath.Join(base, "in"), filepath.Join(base, "out")
	for _, dir := range []string{filepath.Join(in, "tree", "secret"), filepath.Join(in, "into"), filepath.Join(out, "deep")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(out, "f"), "outside", 0o600)
	put(t, filepath.Join(in, "f"), "inside", 0o600)
	put(t, filepath.Join(in, "tree", "secret", "f"), "secret", 0o600)
	os.Symlink(out, filepath.Join(in, "dir"))
	os.Symlink(filepath.Join(out, "f"), filepath.Join(in, "file"))
	os.Symlink(filepath.Join(out, "new"), filepath.Join(in, "dangling"))
	os.Symlink(filepath.Join(out, "deep"), filepath.Join(in, "deep"))
	os.Symlink(filepath.Join(in, "f"), filepath.Join(out, "back"))
	os.Symlink(out, filepath.Join(in, "into", "tree"))
	return in, out, Guard(&interp.Host{Files: Files{TrashDir: filepath.Join(in, "trash")}}, grant(in)).Files
}

func TestLinksDoNotLeadOutOfAGrant(t *testing.T) {
	in, out, files := room(t)
	ctx := t.Context()
	at := func(parts ...string) string { return in + "/" + strings.Join(parts, "/") } // not cleaned
	write := func(path string, mode interp.WriteMode) error {
		return files.WriteFile(ctx, path, strings.NewReader("x"), mode)
	}
	for what, err := range map[string]error{
		"read through a link":             second(files.Open(ctx, at("file"))),
		"read below a link":               second(files.Open(ctx, at("dir", "f"))),
		"list a link":                     second(files.ReadDir(ctx, at("dir"))),
		"list a link with its entries":    second(files.List(ctx, at("dir"))),
		"stat a link":                     second(files.Stat(ctx, at("file"))),
		"lstat below a link":              second(files.Lstat(ctx, at("dir", "f"))),
		"dots after a link":               second(files.Open(ctx, at("deep", "..", "f"))),
		"new file by dots after a link":   write(at("deep", "..", "new"), interp.Replace),
		"write through a link":            write(at("file"), interp.Replace),
		"append through a link":           write(at("file"), interp.Append),
		"replace through a dangling link": write(at("dangling"), interp.Replace),
		"append through a dangling link":  write(at("dangling"), interp.Append),
		"new file below a link":           write(at("dir", "new"), interp.Truncate),
		"mkdir below a link":              files.Mkdir(ctx, at("dir", "a", "b"), true),
		"touch through a dangling link":   files.Touch(ctx, at("dangling"), time.Now()),
		"copy out":                        files.Copy(ctx, at("f"), at("dir", "x"), false),
		"copy in":                         files.Copy(ctx, at("file"), at("x"), false),
		"copy onto a link":                files.Copy(ctx, at("f"), at("file"), false),
		"tree onto a link":                files.Copy(ctx, at("tree"), at("into", "tree"), true),
		"move out":                        files.Move(ctx, at("f"), at("dir", "x")),
		"move in":                         files.Move(ctx, at("dir", "f"), at("x")),
		"remove a link below a link":      files.Remove(ctx, at("dir", "back"), false),
		"trash below a link":              second(files.Trash(ctx, at("dir", "f"))),
		"link below a link":               files.Link(ctx, "x", at("dir", "l"), true),
		"hard link to outside":            files.Link(ctx, out+"/f", at("h"), false),
		"tree with a secret":              files.Copy(ctx, at("tree"), at("copy"), true),
		"remove a tree with a secret":     files.Remove(ctx, at("tree"), true),
		"trash a tree with a secret":      second(files.Trash(ctx, at("tree"))),
		"move a tree with a secret":       files.Move(ctx, at("tree"), at("moved")),
	} {
		if e, ok := err.(*value.Error); !ok || e.Code != value.CodePermission {
			t.Errorf("%s: got %v, want it refused", what, err)
		}
	}
	entries, err := os.ReadDir(out)
	if err != nil || len(entries) != 3 || text(t, filepath.Join(out, "f")) != "outside" {
		t.Errorf("outside: %v %v", entries, err)
	}
	if got := text(t, filepath.Join(in, "tree", "secret", "f")); got != "secret" {
		t.Errorf("the secret is %q", got)
	}
}

// A hard link is a name under which the file could be changed, or read.
func TestHardLinkNeedsReadingAndWriting(t *testing.T) {
	in, out, _ := room(t)
	for kind, want := range map[effect.Kind]bool{effect.FSRead: false, effect.FSWrite: false, effect.FSDelete: true} {
		files := Guard(&interp.Host{Files: Files{}}, func(e effect.Effect) *value.Error {
			if e.Kind == kind && strings.HasPrefix(e.Path, out) {
				return value.Errorf(value.CodePermission, "no: %s", e)
			}
			return nil
		}).Files
		link := filepath.Join(in, fmt.Sprint("hard-", kind))
		if err := files.Link(t.Context(), filepath.Join(out, "f"), link, false); (err == nil) != want {
			t.Errorf("with %s refused: got %v", kind, err)
		}
		if err := files.Link(t.Context(), filepath.Join(out, "f"), link+"-soft", true); err != nil {
			t.Errorf("a symbolic link with %s refused: %v", kind, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestWhatIsGrantedWorks(t *testing.T) {
	in, out, files := room(t)
	ctx := t.Context()
	at := func(parts ...string) string { return filepath.Join(append([]string{in}, parts...)...) }
	for what, err := range map[string]error{
		"write":                     files.WriteFile(ctx, at("n"), strings.NewReader("x"), interp.Replace),
		"new directories":           files.Mkdir(ctx, at("a", "b", "c"), true),
		"lstat of a link":           second(files.Lstat(ctx, at("file"))),
		"remove of a link":          files.Remove(ctx, at("file"), false),
		"trash of a link":           second(files.Trash(ctx, at("dir"))),
		"symbolic link to anywhere": files.Link(ctx, out, at("l"), true),
	} {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	r, err := files.Open(ctx, at("f"))
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if b, _ := io.ReadAll(r); string(b) != "inside" {
		t.Errorf("got %q", b)
	}
	if text(t, filepath.Join(out, "f")) != "outside" {
		t.Error("a link's target was removed")
	}
}
