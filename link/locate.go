package link

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// maxSocketPath is what every supported system takes in a socket address, less
// its closing zero byte.
const maxSocketPath = 107

// Options say which kernel is meant and who asks. Flags are fields; where one
// is empty, Environ decides.
type Options struct {
	StateDir string // --state-dir, else SHOAL_STATE_DIR, else the default
	Socket   string // --socket, else SHOAL_SOCKET, else derived
	Session  string // --session, else SHOAL_SESSION, else "default"
	Token    string // bearer token; empty for the local human

	// Environ is the client's environment in the form of os.Environ. It goes
	// to a kernel that is started, and, less SHOAL_*, to the session.
	Environ []string
	// Cwd is the client's working directory; empty when it has none.
	Cwd string
	// Kind and TTY describe the client to the kernel.
	Kind string
	TTY  bool

	// NoStart forbids starting a kernel; SHOAL_NO_AUTOSTART does the same.
	NoStart bool
	// Kernel is the program to start; empty: shoal-kernel beside our own
	// executable, else in PATH.
	Kernel string
}

// Paths is where a kernel and its clients meet.
type Paths struct {
	// StateDir is absolute and has no symlinks as far as it exists.
	StateDir string
	// Socket is what a kernel binds, and what clients try last.
	Socket string
	// Given says that Socket was asked for by flag or environment: clients then
	// try only that one, and its folder is the user's affair.
	Given bool
}

// Lock is held by the kernel for life.
func (p Paths) Lock() string { return filepath.Join(p.StateDir, "lock") }

// StartLock is held by whoever starts a kernel, until it serves.
func (p Paths) StartLock() string { return filepath.Join(p.StateDir, "start.lock") }

// Log is the kernel's log, JSON lines.
func (p Paths) Log() string { return filepath.Join(p.StateDir, "log", "kernel.log") }

// Locate finds the state directory and the socket. Nothing is created.
func Locate(o Options) (Paths, error) {
	fallback, fallbackErr := defaultStateDir(o.Environ)
	dir := firstSet(o.StateDir, getenv(o.Environ, "SHOAL_STATE_DIR"))
	if dir == "" {
		if fallbackErr != nil {
			return Paths{}, fallbackErr
		}
		dir = fallback
	}
	state, err := realPath(dir, o.Cwd)
	if err != nil {
		return Paths{}, fmt.Errorf("locate state directory: %w", err)
	}
	if given := firstSet(o.Socket, getenv(o.Environ, "SHOAL_SOCKET")); given != "" {
		socket, err := absolute(given, o.Cwd)
		if err != nil {
			return Paths{}, fmt.Errorf("locate socket: %w", err)
		}
		if len(socket) > maxSocketPath {
			return Paths{}, fmt.Errorf("locate socket: %s has %d bytes, a socket path may have %d", socket, len(socket), maxSocketPath)
		}
		return Paths{StateDir: state, Socket: socket, Given: true}, nil
	}
	isDefault := false
	if fallbackErr == nil {
		real, err := realPath(fallback, o.Cwd)
		isDefault = err == nil && real == state
	}
	return Paths{StateDir: state, Socket: defaultSocket(o.Environ, state, isDefault)}, nil
}

func defaultStateDir(environ []string) (string, error) {
	if base := getenv(environ, "XDG_STATE_HOME"); filepath.IsAbs(base) {
		return filepath.Join(base, "shoal"), nil
	}
	home := getenv(environ, "HOME")
	if !filepath.IsAbs(home) {
		return "", errors.New("locate state directory: neither --state-dir, SHOAL_STATE_DIR, XDG_STATE_HOME nor HOME says where")
	}
	return filepath.Join(home, ".local", "state", "shoal"), nil
}

// defaultSocket derives the socket from the state directory, so that everyone
// who means the same directory comes to the same path.
func defaultSocket(environ []string, state string, isDefault bool) string {
	sum := sha256.Sum256([]byte(state))
	hashed := hex.EncodeToString(sum[:6]) + ".sock"
	name := hashed
	if isDefault {
		name = "kernel.sock"
	}
	if path := filepath.Join(runtimeDir(environ), "shoal", name); len(path) <= maxSocketPath {
		return path
	}
	return filepath.Join("/tmp", ownDirName(), hashed)
}

// runtimeDir is the first of the known places that exists.
func runtimeDir(environ []string) string {
	if dir := getenv(environ, "XDG_RUNTIME_DIR"); isDir(dir) {
		return filepath.Clean(dir)
	}
	if dir := getenv(environ, "TMPDIR"); isDir(dir) {
		return filepath.Join(dir, ownDirName())
	}
	return filepath.Join("/tmp", ownDirName())
}

// ownDirName names our folder in a place that all users share.
func ownDirName() string { return "shoal-" + strconv.Itoa(os.Getuid()) }

func isDir(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// realPath resolves symlinks in the part of path that exists.
func realPath(path, cwd string) (string, error) {
	path, err := absolute(path, cwd)
	if err != nil {
		return "", err
	}
	missing := ""
	for dir := path; ; dir = filepath.Dir(dir) {
		real, err := filepath.EvalSymlinks(dir)
		if err == nil {
			return filepath.Join(real, missing), nil
		}
		if !errors.Is(err, os.ErrNotExist) || dir == filepath.Dir(dir) {
			return "", err
		}
		missing = filepath.Join(filepath.Base(dir), missing)
	}
}

func absolute(path, cwd string) (string, error) {
	if filepath.IsAbs(path) {
		return filepath.Clean(path), nil
	}
	if cwd == "" {
		return "", fmt.Errorf("%s is relative, and there is no working directory", path)
	}
	return filepath.Join(cwd, path), nil
}

// getenv is the last value of a variable, as for os.Getenv after os.Setenv.
func getenv(environ []string, name string) string {
	for i := len(environ) - 1; i >= 0; i-- {
		if key, value, ok := strings.Cut(environ[i], "="); ok && key == name {
			return value
		}
	}
	return ""
}

func firstSet(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
