package mcp

import (
	"context"
	"encoding/json"
	"time"

	"shoal.dev/shoal/messages"
)

// Conn is a connection as Serve needs it: frames in, frames out in order. Next
// belongs to Serve; Send may be called by any goroutine.
type Conn interface {
	// Next is the next line that is not blank, without its newline, valid until
	// the following call. A last line without newline comes with
	// io.ErrUnexpectedEOF, the end with io.EOF. A line that is too long comes
	// with its beginning and any other error; Skip then discards its rest.
	Next() ([]byte, error)
	Skip() error
	// Send queues a frame and takes the slice over.
	Send(frame []byte) error
	// HungUp reports whether no answer can reach the peer any more.
	HungUp() bool
	SetReadDeadline(t time.Time) error
}

// Streams may be implemented by a Conn that answers requests on streams of their
// own, as HTTP does: SendFor queues a frame that belongs to the open request
// with that raw id, and takes the frame over. Those are its progress, its log
// messages, questions to its user, and the notices of a listen request; its
// answer, and what belongs to no request, come through Send.
type Streams interface {
	SendFor(request json.RawMessage, frame []byte) error
}

// Losing may be implemented by a Conn whose requests can lose their callers one
// by one, as HTTP's do. Serve gives it a function to say so by: an execution
// becomes a task, as when it is cancelled, but is answered, for its caller may
// come back for the answer.
type Losing interface {
	OnLoss(lose func(request json.RawMessage))
}

// Call is a kernel call that has been handed over and whose answer is awaited.
type Call interface {
	// Wait gives the answer. It returns early when ctx ends; its result is then
	// not used.
	Wait(ctx context.Context) (json.RawMessage, *messages.Error)
	// Abandon says that the caller is gone, which counts as wait budget spent.
	// It comes at most once, while Wait may be running, and does not block.
	Abandon()
}

// Releaser may be implemented by a Call: Release says that the caller has left but
// may come back, which spends the wait budget and leaves the answer to be given.
// It comes at most once, before Abandon if at all, and does not block.
type Releaser interface{ Release() }

// Backend is the kernel as one attached connection sees it.
type Backend interface {
	// Begin validates a call of the raw protocol and hands it over before it
	// returns, so that calls arrive in the order in which they were written.
	Begin(method string, params json.RawMessage) (Call, *messages.Error)
	// Attached is the answer that the connection's attachment got.
	Attached() messages.Attached
	// Subscribe follows a channel: after since (exclusive) or, when it is nil,
	// live only; nothing is lost or repeated.
	Subscribe(channel string, since *uint64) (Cursor, *messages.Error)
	// Watch has an event, without number or payload, whenever something of the
	// session has changed since the cursor was opened or last read.
	Watch(what Watched) (Cursor, *messages.Error)
}

// Watched is what of a session can be watched beside its channels.
type Watched string

const (
	// WatchedJobs is the list of the session's tasks and their states.
	WatchedJobs Watched = "jobs"
	// WatchedThings is which plans, terminals, and tasks that stay the session
	// has.
	WatchedThings Watched = "things"
)

// Cursor is a reader's place in a channel. Next is for one goroutine, Close for
// any; a closed cursor's Next returns an error. After another error Next may be
// called again.
type Cursor interface {
	Next(ctx context.Context) (messages.Event, *messages.Dropped, error)
	Close()
}

// Aside may be implemented by a Backend whose reads leave marks, as a terminal
// read does: what it returns reads as somebody else, who leaves none.
type Aside interface{ Aside() Backend }

// aside is b without marks, where it can be had.
func aside(b Backend) Backend {
	if a, ok := b.(Aside); ok {
		return a.Aside()
	}
	return b
}
