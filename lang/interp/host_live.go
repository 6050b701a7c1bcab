package interp

import (
	"context"
	"time"

	"shoal.dev/shoal/lang/value"
)

// ChannelStart is where a subscription begins: after the event numbered Since,
// or, without it, at the oldest event that is kept; Live leaves out everything
// that is there already.
type ChannelStart struct {
	Since *uint64
	Live  bool
}

// ChannelItem is an event of a channel, or, when Dropped is not 0, the notice
// that so many events are no longer kept and that Latest is the newest.
type ChannelItem struct {
	Seq     uint64
	At      time.Time
	Payload []byte // compact JSON
	Dropped uint64
	Latest  uint64
}

// ChannelCursor follows a channel. Next is for one goroutine at a time, Close
// for any; after Close, and when the host ends, Next gives channel_closed.
type ChannelCursor interface {
	Next(ctx context.Context) (ChannelItem, error)
	Close()
}

// Watcher follows files. What it gives belongs to the caller, who closes it;
// ctx is for the opening only.
type Watcher interface {
	// Watch begins to watch a file or a directory, which must exist.
	Watch(ctx context.Context, path string, recursive bool) (Watch, error)
	// Tail opens a file at its end, or at its start.
	Tail(ctx context.Context, path string, fromStart bool) (Tail, error)
}

// WatchEvent is a change of a file. Coalesced stands for changes anywhere
// below Path that there was no room to tell one by one.
type WatchEvent struct {
	Path      string
	Kind      string // created, modified, removed, renamed
	At        time.Time
	Coalesced bool
}

// Watch gives the changes since it was made. Next is for one goroutine at a
// time, Close for any.
type Watch interface {
	Next(ctx context.Context) (WatchEvent, error)
	Close()
}

// Tail gives a file's complete lines, without their ends, as they are written;
// after a truncation or replacement it begins anew. Next is for one goroutine
// at a time, Close for any.
type Tail interface {
	Next(ctx context.Context) (line []byte, err error)
	Close()
}

// Tasks runs the tasks of `spawn`, `cmd &` and `on`. A host without it leaves
// them to the session's own goroutines, which end with the session.
//
// Spawn starts a task and returns its handle at once; the host numbers it,
// calls Run on a goroutine of its own with a context that ends when the task is
// cancelled, and keeps what Run gives. ctx is that of the program that spawns:
// the task outlives it.
type Tasks interface {
	Spawn(ctx context.Context, t TaskSpec) (id string, h value.TaskHandle, err error)
}

// TaskSpec is a task to be run. Run is called once, with a context that has ended
// when the task is not to run; it evaluates on a fork of the spawning program's
// state and never panics. Calls after the first do nothing.
type TaskSpec struct {
	Desc string // the source text
	Run  func(ctx context.Context, env TaskEnv) (value.Value, error)
	Gate *Gate // suspends the task
}

// TaskEnv is what the host gives a task of its own. What is nil is that of the
// program that spawned it, as long as that runs.
type TaskEnv struct {
	Host *Host
	Sink func(value.Value)
	Note func(Note)
}
