package value

import (
	"fmt"
	"unicode/utf8"
	"unsafe"
)

// The error codes. They are part of the language; messages may improve.
const (
	CodeParse           = "parse_error"
	CodeType            = "type_error"
	CodeArg             = "arg_error"
	CodeUndefined       = "undefined_var"
	CodeFieldMissing    = "field_missing"
	CodeIndexRange      = "index_range"
	CodeNotFound        = "not_found"
	CodeCmdFailed       = "cmd_failed"
	CodeOverflow        = "overflow"
	CodeDivZero         = "div_zero"
	CodeRecursion       = "recursion_limit"
	CodeAssert          = "assert_failed"
	CodeUTF8            = "utf8_error"
	CodeNoMatches       = "no_matches"
	CodeCustom          = "custom"
	CodeIO              = "io_error"
	CodePermission      = "permission"
	CodeSpawnDenied     = "spawn_denied"
	CodeNet             = "net_error"
	CodeTimeout         = "timeout"
	CodeCancelled       = "cancelled"
	CodeStreamConsumed  = "stream_consumed"
	CodeStreamUnbounded = "stream_unbounded"
	CodeChannelClosed   = "channel_closed"
	CodeFeed            = "feed_error"
	CodeRunnerNotFound  = "runner_not_found"
	CodeReefUnlocked    = "reef_unlocked"
	CodeReefDrift       = "reef_drift"
	CodeReefConflict    = "reef_conflict"
	CodeReefNotFound    = "reef_not_found"
	CodeReefProvider    = "reef_provider"
	CodeStaleUndo       = "stale_undo"
)

// Span is a half-open range of source bytes.
type Span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// Error is a raised error, as a Go error and as the object behind an error
// value. It is not changed once it has been raised or made a value.
type Error struct {
	kind      Kind
	HasStderr bool
	Code      string
	Msg       string
	Hint      string // "" when there is none
	Stderr    string
	Status    *int
	Span      *Span
	File      string // that Span lies in; "" for the program's own source
}

// ErrorTextMost bounds the message of an error, and its hint, in bytes: a text
// that a program quotes in one may be of any length, and an error is copied by
// all who pass it on.
const ErrorTextMost = 64 << 10

// Errorf makes an error without hint.
func Errorf(code, format string, args ...any) *Error {
	return &Error{kind: KindError, Code: code, Msg: errorText(format, args)}
}

// errorText formats a message, or a hint, of bounded length. Long texts are
// shortened before they are copied.
func errorText(format string, args []any) string {
	if len(args) == 0 {
		return Clip(format, ErrorTextMost)
	}
	short := make([]any, len(args))
	for i, arg := range args {
		short[i] = arg
		switch arg := arg.(type) {
		case string:
			short[i] = Clip(arg, ErrorTextMost)
		case []byte:
			short[i] = Clip(string(arg[:min(len(arg), ErrorTextMost+1)]), ErrorTextMost)
		case error:
			if text := arg.Error(); len(text) > ErrorTextMost {
				short[i] = Clip(text, ErrorTextMost)
			}
		}
	}
	return Clip(fmt.Sprintf(format, short...), ErrorTextMost)
}

// Clip is s, or as many whole characters of it as n bytes hold, with an ellipsis.
// What is cut does not keep the rest alive.
func Clip(s string, n int) string {
	const more = "…"
	if len(s) <= n {
		return s
	}
	n = max(n-len(more), 0)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + more
}

// Error is "code: msg".
func (e *Error) Error() string { return e.Code + ": " + e.Msg }

// WithHint is a copy of e with a hint.
func (e *Error) WithHint(format string, args ...any) *Error {
	c := *e
	c.Hint = errorText(format, args)
	return &c
}

// WithSpan is e, or a copy of it at span when e has no place yet: the
// innermost span wins.
func (e *Error) WithSpan(span Span) *Error {
	if e.Span != nil {
		return e
	}
	c := *e
	c.Span = &span
	return &c
}

// WithStatus is a copy of e with an exit status.
func (e *Error) WithStatus(status int) *Error {
	c := *e
	c.Status = &status
	return &c
}

// WithStderr is a copy of e with the failed command's error output.
func (e *Error) WithStderr(text string) *Error {
	c := *e
	c.Stderr, c.HasStderr = text, true
	return &c
}

// NewError makes an error value of e.
func NewError(e *Error) Value {
	if e.kind != KindError {
		c := *e
		c.kind = KindError
		e = &c
	}
	return Value{unsafe.Pointer(e), 0}
}

// AsError is the object behind an error value.
func (v Value) AsError() *Error { return (*Error)(v.p) }

// Field reads a field by its language name; what is absent is null.
func (e *Error) Field(name string) (Value, bool) {
	switch name {
	case "code":
		return Str(e.Code), true
	case "msg":
		return Str(e.Msg), true
	case "hint":
		if e.Hint == "" {
			return Null, true
		}
		return Str(e.Hint), true
	case "stderr":
		if !e.HasStderr {
			return Null, true
		}
		return Str(e.Stderr), true
	case "status":
		if e.Status == nil {
			return Null, true
		}
		return Int(int64(*e.Status)), true
	case "span":
		if e.Span == nil {
			return Null, true
		}
		return NewRecord(spanShape, []Value{Int(int64(e.Span.Start)), Int(int64(e.Span.End))}), true
	}
	return Null, false
}

var spanShape = ShapeOf("start", "end")

// ErrorFields are the names that Field knows, in order.
func ErrorFields() []string {
	return []string{"code", "msg", "hint", "stderr", "status", "span"}
}
