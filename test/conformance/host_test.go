package conformance

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// newHost is the smallest host that the cases need: real files, real programs,
// channels in memory, no policy. trash is where rm moves things.
func newHost(trash string) *interp.Host {
	return &interp.Host{
		Files: diskFiles{trash}, Programs: programs{}, Clock: utcClock{},
		Channels: &memoryChannels{latest: map[string][]byte{}},
	}
}

type utcClock struct{}

func (utcClock) Now() time.Time { return time.Now().UTC() }

type memoryChannels struct {
	mu     sync.Mutex
	latest map[string][]byte
}

func (m *memoryChannels) Emit(_ context.Context, channel string, payload []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.latest[channel] = payload
	return nil
}

func (m *memoryChannels) Latest(_ context.Context, channel string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.latest[channel], nil
}

type diskFiles struct{ trash string }

func typeOf(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "dir"
	case mode&fs.ModeSymlink != 0:
		return "symlink"
	case mode.IsRegular():
		return "file"
	}
	return "other"
}

func infoOf(info fs.FileInfo, err error) (interp.FileInfo, error) {
	if err != nil {
		return interp.FileInfo{}, err
	}
	return interp.FileInfo{
		Name: info.Name(), Type: typeOf(info.Mode()), Size: info.Size(),
		Modified: info.ModTime(), Mode: info.Mode(),
	}, nil
}

func (diskFiles) Lstat(_ context.Context, path string) (interp.FileInfo, error) {
	return infoOf(os.Lstat(path))
}

func (diskFiles) Stat(_ context.Context, path string) (interp.FileInfo, error) {
	return infoOf(os.Stat(path))
}

func (diskFiles) ReadDir(_ context.Context, path string) ([]interp.DirEntry, error) {
	entries, err := os.ReadDir(path)
	out := make([]interp.DirEntry, 0, len(entries))
	for _, e := range entries {
		out = append(out, interp.DirEntry{
			Name: e.Name(), Type: typeOf(e.Type()),
			Info: func() (interp.FileInfo, error) { return infoOf(e.Info()) },
		})
	}
	return out, err
}

func (diskFiles) Open(_ context.Context, path string) (io.ReadCloser, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.EISDIR}
	}
	return f, nil
}

func (diskFiles) WriteFile(_ context.Context, path string, content io.Reader, mode interp.WriteMode) error {
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if mode == interp.Append {
		flags = os.O_WRONLY | os.O_CREATE | os.O_APPEND
	}
	f, err := os.OpenFile(path, flags, 0o666)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, content)
	return errors.Join(err, f.Close())
}

func (diskFiles) Mkdir(_ context.Context, path string, parents bool) error {
	if parents {
		return os.MkdirAll(path, 0o777)
	}
	return os.Mkdir(path, 0o777)
}

func (diskFiles) Touch(_ context.Context, path string, at time.Time) error {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	f.Close()
	return os.Chtimes(path, at, at)
}

func (diskFiles) Copy(_ context.Context, src, dst string, recursive bool) error {
	if recursive {
		if info, err := os.Stat(src); err == nil && info.IsDir() {
			return os.CopyFS(dst, os.DirFS(src))
		}
	}
	content, err := os.ReadFile(src)
	if err != nil {
		return err
	}
	return os.WriteFile(dst, content, 0o666)
}

func (diskFiles) Move(_ context.Context, src, dst string) error { return os.Rename(src, dst) }

func (diskFiles) Remove(_ context.Context, path string, recursive bool) error {
	if recursive {
		return os.RemoveAll(path)
	}
	return os.Remove(path)
}

func (d diskFiles) Trash(_ context.Context, path string) (string, error) {
	dir, err := os.MkdirTemp(d.trash, "")
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(path))
	return to, os.Rename(path, to)
}

func (diskFiles) Link(_ context.Context, target, link string, symbolic bool) error {
	if symbolic {
		return os.Symlink(target, link)
	}
	return os.Link(target, link)
}

func (diskFiles) Real(_ context.Context, path string) (string, error) {
	return filepath.EvalSymlinks(path)
}

type programs struct{}

func (programs) LookPath(_ context.Context, name, cwd string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		return name, executable(name)
	}
	for _, kv := range env {
		list, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(list) {
			if at := filepath.Join(dir, name); executable(at) == nil {
				return at, nil
			}
		}
	}
	return "", value.Errorf(value.CodeNotFound, "command not found: %s", name)
}

func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return value.Errorf(value.CodeNotFound, "command not found: %s", path)
	case info.IsDir():
		return value.Errorf(value.CodePermission, "%s is a directory", path).WithHint("cd %s", path)
	case info.Mode()&0o111 == 0:
		return value.Errorf(value.CodePermission, "%s is not executable", path)
	}
	return nil
}

// drain is how long output of a finished program is waited for.
const drain = 100 * time.Millisecond

func (programs) Exec(ctx context.Context, spec interp.ExecSpec) (*interp.Exit, error) {
	var stdout, stderr bytes.Buffer
	cmd := exec.CommandContext(ctx, spec.Path, spec.Argv[1:]...)
	cmd.Args[0] = spec.Argv[0]
	cmd.Dir = spec.Cwd
	cmd.Env = append(spec.Env, spec.Overlay...)
	cmd.Stdin = spec.Stdin
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if spec.Stdout != nil {
		cmd.Stdout = spec.Stdout
	}
	cmd.WaitDelay = drain
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, value.Errorf(value.CodePermission, "start %s: %v", spec.Argv[0], err)
	}
	// What Wait says beyond the state is a broken input pipe or late output,
	// and neither is a failure of the program.
	_ = cmd.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	exit := &interp.Exit{
		PID: cmd.Process.Pid, Dur: time.Since(start),
		Stdout: value.BytesBlob(stdout.Bytes()), Stderr: value.BytesBlob(stderr.Bytes()),
	}
	if ws := cmd.ProcessState.Sys().(syscall.WaitStatus); ws.Signaled() {
		exit.Signal = unix.SignalName(ws.Signal())
	} else {
		status := ws.ExitStatus()
		exit.Status = &status
	}
	return exit, nil
}
