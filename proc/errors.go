package proc

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// SpawnKind says why a program did not start.
type SpawnKind string

// The kinds of SpawnError.
const (
	NotFound      SpawnKind = "not_found"      // no such program
	NotExecutable SpawnKind = "not_executable" // no permission to execute
	IsDirectory   SpawnKind = "is_directory"   // the head names a directory
	BadDir        SpawnKind = "bad_dir"        // the working directory is gone or none
	BadFormat     SpawnKind = "bad_format"     // the system cannot run that file
	NoInterpreter SpawnKind = "no_interpreter" // the script's interpreter is missing
	TooLong       SpawnKind = "too_long"       // arguments and environment exceed the system's limit
	NoResources   SpawnKind = "no_resources"   // no more processes, descriptors or memory
	SpawnFailed   SpawnKind = "failed"         // anything else
)

// SpawnError is a program that did not start; nothing ran.
type SpawnError struct {
	Kind SpawnKind
	Path string // the program, or the directory for BadDir
	Err  error
}

// Error implements error.
func (e *SpawnError) Error() string {
	switch e.Kind {
	case NotFound:
		return fmt.Sprintf("start %s: command not found", e.Path)
	case IsDirectory:
		return fmt.Sprintf("start %s: is a directory", e.Path)
	case BadDir:
		return fmt.Sprintf("start in %s: %v", e.Path, e.Err)
	case NoInterpreter:
		return fmt.Sprintf("start %s: its interpreter is missing", e.Path)
	default:
		return fmt.Sprintf("start %s: %v", e.Path, e.Err)
	}
}

// Unwrap gives the system's error.
func (e *SpawnError) Unwrap() error { return e.Err }

// WhySpawn finds out what the system's error of starting path in dir was about:
// it reports a missing directory and a missing program alike.
func WhySpawn(path, dir string, err error) *SpawnError {
	var errno syscall.Errno
	if !errors.As(err, &errno) {
		return &SpawnError{Kind: SpawnFailed, Path: path, Err: err}
	}
	if dir != "" {
		if info, derr := os.Stat(dir); derr != nil {
			return &SpawnError{Kind: BadDir, Path: dir, Err: cause(derr)}
		} else if !info.IsDir() {
			return &SpawnError{Kind: BadDir, Path: dir, Err: syscall.ENOTDIR}
		}
	}
	kind := SpawnFailed
	switch errno {
	case syscall.ENOENT, syscall.ENOTDIR:
		kind = NotFound
		if _, serr := os.Stat(path); serr == nil {
			kind = NoInterpreter
		}
	case syscall.EACCES, syscall.EPERM:
		kind = NotExecutable
		if info, serr := os.Stat(path); serr == nil && info.IsDir() {
			kind = IsDirectory
		}
	case syscall.ENOEXEC:
		kind = BadFormat
	case syscall.E2BIG:
		kind = TooLong
	case syscall.EAGAIN, syscall.ENOMEM, syscall.EMFILE, syscall.ENFILE:
		kind = NoResources
	}
	return &SpawnError{Kind: kind, Path: path, Err: errno}
}

// cause strips the path that a PathError repeats.
func cause(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// What no system takes: the bytes of all arguments and variables with their
// pointers, and of one of them.
const (
	argsMost = 6 << 20
	argMost  = 1 << 20
)

// tooLong finds out without a fork what is far too long for the system, as
// copying it for the kernel takes long and holds up other starts.
func tooLong(lists ...[]string) bool {
	total := 0
	for _, list := range lists {
		if total += 8 * len(list); total > argsMost {
			return true
		}
		for _, s := range list {
			if total += len(s) + 1; total > argsMost || len(s) > argMost {
				return true
			}
		}
	}
	return false
}
