package builtin

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
	"unicode/utf8"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/syntax"
	"shoal.dev/shoal/lang/value"
)

// run is what a row does once its arguments have been checked.
type run func(c *interp.Call, a []value.Value) (value.Value, error)

// codeErr makes an error at a place.
func codeErr(at syntax.Span, code, format string, args ...any) error {
	return value.Errorf(code, format, args...).WithSpan(spanOf(at))
}

// hintErr makes an error with a hint at a place.
func hintErr(at syntax.Span, code, hint, format string, args ...any) error {
	return value.Errorf(code, format, args...).WithHint("%s", hint).WithSpan(spanOf(at))
}

func argErr(at syntax.Span, format string, args ...any) error {
	return codeErr(at, value.CodeArg, format, args...)
}

func typeErr(at syntax.Span, format string, args ...any) error {
	return codeErr(at, value.CodeType, format, args...)
}

func spanOf(s syntax.Span) value.Span { return value.Span{Start: s.Start, End: s.End} }

// raised makes a Go error of a language error; a nil *value.Error stays nil.
func raised(e *value.Error) error {
	if e == nil {
		return nil
	}
	return e
}

// reason is why an operation of the host failed, without path and operation,
// which the caller has already named.
func reason(err error) string {
	var path *fs.PathError
	var link *os.LinkError
	var errno syscall.Errno
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file or directory"
	case errors.Is(err, fs.ErrExist):
		return "already exists"
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case errors.As(err, &errno):
		return errno.Error()
	case errors.As(err, &path):
		return path.Err.Error()
	case errors.As(err, &link):
		return link.Err.Error()
	}
	return err.Error()
}

// equal is `==`.
func equal(a, b value.Value) (bool, error) {
	same, err := value.Equal(a, b)
	return same, raised(err)
}

// compare orders two values as `<` does.
func compare(c *interp.Call, a, b value.Value) (int, error) {
	n, err := value.Compare(a, b)
	if err != nil {
		return 0, err.WithSpan(spanOf(c.Span))
	}
	return n, nil
}

func inline(v value.Value) string { return value.Inline(v) }

// filesOf is the host's file system; a host without one refuses.
func filesOf(c *interp.Call) (interp.Files, error) { return hostFiles(c.M, c.Name, c.Span) }

func hostFiles(m *interp.Machine, what string, at syntax.Span) (interp.Files, error) {
	if m.Host() == nil || m.Host().Files == nil {
		return nil, argErr(at, "%s: this host has no files", what)
	}
	return m.Host().Files, nil
}

// absolute is a path as the host wants it. Unlike a shell word a path value is
// never expanded.
func absolute(m *interp.Machine, path string) string { return m.Abs(path) }

// hostErr words a failure of the host that names nothing more precise.
func hostErr(c *interp.Call, err error) error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*value.Error](err); ok {
		return e.WithSpan(spanOf(c.Span))
	}
	return codeErr(c.Span, value.CodeCustom, "%s: %s", c.Name, reason(err))
}

// isMissing reports that a file is not there.
func isMissing(err error) bool {
	if e, ok := errors.AsType[*value.Error](err); ok {
		return e.Code == value.CodeNotFound
	}
	return errors.Is(err, fs.ErrNotExist)
}

// clockNow is the host's time; a host without a clock leaves the real one.
func clockNow(m *interp.Machine) time.Time {
	if m.Host() == nil || m.Host().Clock == nil {
		return time.Now()
	}
	return m.Host().Clock.Now()
}

func isText(s string) bool { return utf8.ValidString(s) }
