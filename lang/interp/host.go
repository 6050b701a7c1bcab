package interp

import (
	"context"
	"io"
	"io/fs"
	"time"

	"shoal.dev/shoal/lang/value"
)

// Host is the world as a program sees it. Every part is an interface of its
// own so that a test or a policy can stand in for one of them; a nil part means
// that this host has no such thing, and using it raises arg_error. Paths given
// to a host are absolute native bytes. Errors are *value.Error when they have a
// code of their own (permission, spawn_denied, not_found, …); any other error is
// a failure of the operation, which the caller words.
type Host struct {
	Files    Files
	Programs Programs
	Clock    Clock
	Memory   *Memory // bounds what programs hold; nil: nothing does
	Turns    *Turns  // bounds how many evaluate at once; nil: nothing does
	Channels Channels
	Kernel   Kernel
	Values   Values
	Net      Net
	Secrets  Secrets
	Config   Config
	Plans    Plans
	Watcher  Watcher
	Tasks    Tasks
	Terminal Terminal
	Undo     Undo
}

// FileInfo is what a directory listing shows of one file, from lstat.
type FileInfo struct {
	Name     string // last component, native bytes
	Type     string // dir, symlink, file or other
	Size     int64
	Modified time.Time
	Mode     fs.FileMode
}

// DirEntry is a name in a directory.
type DirEntry struct {
	Name string
	Type string // dir, symlink, file, other
}

// WriteMode is how WriteFile treats what is there.
type WriteMode uint8

// The write modes. Replace is atomic: readers see the old content or the new.
const (
	Replace WriteMode = iota
	Truncate
	Append
)

// Files is the file system.
type Files interface {
	Lstat(ctx context.Context, path string) (FileInfo, error)
	Stat(ctx context.Context, path string) (FileInfo, error)
	// ReadDir lists a directory, in any order.
	ReadDir(ctx context.Context, path string) ([]DirEntry, error)
	// List is ReadDir with what Lstat says of each entry; of one that went away,
	// or may not be looked at, only the name and the type.
	List(ctx context.Context, path string) ([]FileInfo, error)
	Open(ctx context.Context, path string) (io.ReadCloser, error)
	WriteFile(ctx context.Context, path string, content io.Reader, mode WriteMode) error
	Mkdir(ctx context.Context, path string, parents bool) error
	Touch(ctx context.Context, path string, at time.Time) error
	Copy(ctx context.Context, src, dst string, recursive bool) error
	Move(ctx context.Context, src, dst string) error
	Remove(ctx context.Context, path string, recursive bool) error
	// Trash moves path out of the way and says where to.
	Trash(ctx context.Context, path string) (string, error)
	Link(ctx context.Context, target, link string, symbolic bool) error
	// Real resolves symbolic links; the path must exist.
	Real(ctx context.Context, path string) (string, error)
}

// ExecSpec is a program to run to its end with its output captured.
type ExecSpec struct {
	Argv    []string // Argv[0] is the name as written
	Path    string   // the executable that LookPath found
	Cwd     string
	Env     []string  // KEY=value, the session's; the host pins and marks on top
	Overlay []string  // KEY=value that win over pinned ones (env prefix, with env:)
	Stdin   io.Reader // nil: /dev/null
	// Stdout, when set, receives the bytes instead of the capture (redirect >).
	Stdout io.Writer
	Cmd    string // the command as shown in outcomes
}

// Exit is how a program ended.
type Exit struct {
	Status  *int   // nil after a signal
	Signal  string // "SIGTERM"
	PID     int
	Dur     time.Duration
	Stdout  value.Blob
	Stderr  value.Blob
	Notes   []Note
	Holders []int // descendants that still live
}

// Programs starts programs. A non-zero exit is no error; failing to start is.
type Programs interface {
	// LookPath finds the executable for a bare name or a path, in the PATH of
	// env; not_found or permission otherwise.
	LookPath(ctx context.Context, name, cwd string, env []string) (string, error)
	Exec(ctx context.Context, spec ExecSpec) (*Exit, error)
}

// Clock tells the time.
type Clock interface{ Now() time.Time }

// Channels are the session's event channels by their language names.
type Channels interface {
	// Emit appends a payload (compact JSON) to the channel.
	Emit(ctx context.Context, channel string, payload []byte) error
	// Latest is the newest payload, or nil.
	Latest(ctx context.Context, channel string) ([]byte, error)
	// Subscribe follows the channel from start on; ctx is for the opening only.
	Subscribe(ctx context.Context, channel string, start ChannelStart) (ChannelCursor, error)
}

// Kernel is what only a session in a kernel has; each call answers with a
// language value.
type Kernel interface {
	Jobs(ctx context.Context) (value.Value, error)
	Journal(ctx context.Context, q JournalQuery) (value.Value, error)
}

// Values is the content store behind references such as val:blake3:HEX.
type Values interface {
	OpenValue(ctx context.Context, ref string) (value.Blob, error)
}

// JournalQuery are the filters of the journal builtin.
type JournalQuery struct {
	Head      string
	Principal string
	Limit     int
}

// Note is a remark that goes beside a result, never into it.
type Note struct {
	Code string         `json:"code"`
	Msg  string         `json:"msg"`
	Span *NoteSpan      `json:"span,omitempty"`
	Data map[string]any `json:"data,omitempty"`
}

// NoteSpan is where in the source a note belongs.
type NoteSpan struct {
	Start int `json:"start"`
	End   int `json:"end"`
}
