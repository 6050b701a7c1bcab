package link

import (
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func testLogger(t *testing.T) *slog.Logger { return slog.New(slog.NewTextHandler(&testLog{t}, nil)) }

func TestLocate(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"real", "run", "tmp", strings.Repeat("l", 90)} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("real", filepath.Join(root, "alias")); err != nil {
		t.Fatal(err)
	}
	own := ownDirName()
	home, run := "HOME="+root, "XDG_RUNTIME_DIR="+root+"/run"
	long := root + "/" + strings.Repeat("l", 90)
	hash := func(state string) string { // of a directory that is not the default one
		return filepath.Base(defaultSocket(nil, state, false))
	}
	tests := []struct {
		name    string
		options Options
		environ []string
		want    Paths
	}{
		{"default", Options{}, []string{home, run}, Paths{root + "/.local/state/shoal", root + "/run/shoal/kernel.sock", false}},
		{"state home", Options{}, []string{home, run, "XDG_STATE_HOME=" + root + "/s"}, Paths{root + "/s/shoal", root + "/run/shoal/kernel.sock", false}},
		{"relative state home is ignored", Options{}, []string{home, run, "XDG_STATE_HOME=s"}, Paths{root + "/.local/state/shoal", root + "/run/shoal/kernel.sock", false}},
		{"variable", Options{}, []string{home, run, "SHOAL_STATE_DIR=" + root + "/v"}, Paths{root + "/v", root + "/run/shoal/" + hash(root+"/v"), false}},
		{"flag beats variable", Options{StateDir: root + "/f"}, []string{home, run, "SHOAL_STATE_DIR=" + root + "/v"}, Paths{root + "/f", root + "/run/shoal/" + hash(root+"/f"), false}},
		{"relative flag", Options{StateDir: "f", Cwd: root}, []string{home, run}, Paths{root + "/f", root + "/run/shoal/" + hash(root+"/f"), false}},
		{"symlink", Options{StateDir: root + "/alias/x"}, []string{home, run}, Paths{root + "/real/x", root + "/run/shoal/" + hash(root+"/real/x"), false}},
		{"the default by name", Options{StateDir: root + "/.local/state/shoal"}, []string{home, run}, Paths{root + "/.local/state/shoal", root + "/run/shoal/kernel.sock", false}},
		{"no home needed", Options{StateDir: root + "/f"}, []string{run}, Paths{root + "/f", root + "/run/shoal/" + hash(root+"/f"), false}},
		{"TMPDIR", Options{}, []string{home, "TMPDIR=" + root + "/tmp"}, Paths{root + "/.local/state/shoal", root + "/tmp/" + own + "/shoal/kernel.sock", false}},
		{"missing runtime folder", Options{}, []string{home, "XDG_RUNTIME_DIR=" + root + "/none"}, Paths{root + "/.local/state/shoal", "/tmp/" + own + "/shoal/kernel.sock", false}},
		{"too long", Options{}, []string{home, "XDG_RUNTIME_DIR=" + long}, Paths{root + "/.local/state/shoal", "/tmp/" + own + "/" + hash(root+"/.local/state/shoal"), false}},
		{"given socket", Options{Socket: "/s/k"}, []string{home, run, "SHOAL_SOCKET=/v/k"}, Paths{root + "/.local/state/shoal", "/s/k", true}},
		{"socket variable", Options{}, []string{home, run, "SHOAL_SOCKET=/v/k"}, Paths{root + "/.local/state/shoal", "/v/k", true}},
		{"last value counts", Options{}, []string{home, run, "SHOAL_SOCKET=/v/a", "SHOAL_SOCKET=/v/b"}, Paths{root + "/.local/state/shoal", "/v/b", true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.options.Environ = tt.environ
			got, err := Locate(tt.options)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if len(got.Socket) > maxSocketPath {
				t.Errorf("socket has %d bytes", len(got.Socket))
			}
		})
	}
	for _, o := range []Options{{}, {StateDir: "relative"}, {StateDir: "/x", Socket: "/" + strings.Repeat("s", 107)}} {
		if got, err := Locate(o); err == nil {
			t.Errorf("Locate(%+v): got %+v, want an error", o, got)
		}
	}
}

func TestEndpoint(t *testing.T) {
	p := Paths{StateDir: t.TempDir()}
	if _, err := p.ReadEndpoint(); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	want := Endpoint{Socket: "/s", KernelID: "k", Version: "v", Protocol: "1.0", PID: 7, Args: []string{"--policy", "/p"}}
	for range 2 {
		if err := p.WriteEndpoint(want); err != nil {
			t.Fatal(err)
		}
	}
	got, err := p.ReadEndpoint()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	entries, _ := os.ReadDir(p.StateDir)
	if len(entries) != 1 {
		t.Errorf("%d files are left over", len(entries)-1)
	}
	if info, _ := os.Stat(p.EndpointFile()); info.Mode().Perm() != 0o600 {
		t.Errorf("mode: got %v, want 0600", info.Mode())
	}
	os.WriteFile(p.EndpointFile(), []byte("{torn"), 0o600)
	if _, err := p.ReadEndpoint(); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("damaged: got %v", err)
	}
	os.Remove(p.EndpointFile())
	os.Mkdir(p.EndpointFile(), 0o700)
	if _, err := p.ReadEndpoint(); err == nil {
		t.Error("a directory was read as endpoint")
	}
}

func TestSocketDir(t *testing.T) {
	root := t.TempDir()
	good := filepath.Join(root, "good")
	if err := CheckSocketDir(good, false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: got %v", err)
	}
	for range 2 {
		if err := MakeSocketDir(good, false); err != nil {
			t.Fatal(err)
		}
	}
	nested := filepath.Join(root, ownDirName(), "shoal")
	if err := MakeSocketDir(nested, false); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(good, filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	os.WriteFile(filepath.Join(root, "file"), nil, 0o600)
	group, open := filepath.Join(root, "group"), filepath.Join(root, "open")
	os.Mkdir(group, 0o700)
	os.Chmod(group, 0o710)
	os.Mkdir(open, 0o700)
	os.Chmod(open, 0o755)
	tests := []struct {
		dir   string
		group bool
		want  string
	}{
		{good, false, ""}, {good, true, ""}, {group, true, ""}, {nested, false, ""},
		{group, false, "mode 0710"}, {open, false, "mode 0755"}, {open, true, "mode 0755"},
		{filepath.Join(root, "link"), false, "symlink"}, {filepath.Join(root, "file"), false, "not a directory"},
	}
	check := func(dir string, group bool, want string) {
		t.Helper()
		err := CheckSocketDir(dir, group)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s, group %v: got %v, want %q", dir, group, err, want)
		}
	}
	for _, tt := range tests {
		check(tt.dir, tt.group, tt.want)
	}
	os.Chmod(filepath.Dir(nested), 0o777) // the folder above is ours to guard, too
	check(nested, false, "mode 0777")
	if os.Getuid() == 0 {
		theirs := filepath.Join(root, "theirs")
		os.Mkdir(theirs, 0o700)
		os.Chown(theirs, 12345, 12345)
		check(theirs, false, "belongs to user 12345")
	}
}

// A socket in a folder that others can write to might be anybody's.
func TestDialRefusesAnUnsafeFolder(t *testing.T) {
	root, _ := filepath.EvalSymlinks(t.TempDir())
	dir := filepath.Join(root, "shoal")
	os.Mkdir(dir, 0o700)
	os.Chmod(dir, 0o777)
	p, err := Locate(Options{Environ: []string{"HOME=" + root, "XDG_RUNTIME_DIR=" + root}})
	if err != nil {
		t.Fatal(err)
	}
	if len(filepath.Join(dir, "kernel.sock")) > maxSocketPath {
		t.Skip("the temporary folder's name is too long for a socket")
	}
	ln, err := net.Listen("unix", p.Socket)
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if _, err := p.Dial(t.Context()); err == nil || isNotServing(err) || !strings.Contains(err.Error(), "mode 0777") {
		t.Errorf("got %v", err)
	}
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	os.WriteFile(file, []byte("from-file\n"), 0o600)
	empty := file + ".empty"
	os.WriteFile(empty, []byte(" \n"), 0o600)
	environ := []string{"SHOAL_TOKEN=from-env"}
	tests := []struct {
		file    string
		environ []string
		want    string
		fails   bool
	}{
		{"", nil, "", false},
		{"", environ, "from-env", false},
		{file, environ, "from-file", false},
		{empty, environ, "", true},
		{file + ".none", environ, "", true},
	}
	for _, tt := range tests {
		got, err := Token(tt.file, tt.environ)
		if got != tt.want || (err != nil) != tt.fails {
			t.Errorf("Token(%q, %v): got %q, %v", tt.file, tt.environ, got, err)
		}
	}
}

func TestLastError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	now := time.Now()
	old, new := now.Add(-time.Hour).Format(time.RFC3339Nano), now.Format(time.RFC3339Nano)
	tests := []struct{ log, want string }{
		{"", ""},
		{"not json\n", ""},
		{`{"time":"` + old + `","level":"ERROR","msg":"old"}` + "\n", ""},
		{`{"time":"` + new + `","level":"ERROR","msg":"first"}` + "\n" + `{"time":"` + new + `","level":"ERROR","msg":"second","err":"why"}` + "\n" + `{"time":"` + new + `","level":"INFO","msg":"third"}` + "\n{torn", "second: why"},
		{strings.Repeat("x", 2*logTail) + "\n" + `{"time":"` + new + `","level":"ERROR","msg":"behind much"}`, "behind much"},
	}
	for _, tt := range tests {
		os.WriteFile(file, []byte(tt.log), 0o600)
		if got := lastError(file, now); got != tt.want {
			t.Errorf("%.60s: got %q, want %q", tt.log, got, tt.want)
		}
	}
	if got := lastError(file+".none", now); got != "" {
		t.Errorf("missing log: got %q", got)
	}
}

func TestKernelEnvironment(t *testing.T) {
	got := kernelEnv([]string{"A=1", "SHOAL_TASK=k/1", "SHOAL_TOKEN=x", "SHOAL_TOKENS=2", "B="})
	if diff := cmp.Diff([]string{"A=1", "SHOAL_TOKENS=2", "B="}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
