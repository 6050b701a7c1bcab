package actors

import (
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang"
	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/leash"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/proc"
	"shoal.dev/shoal/supervisor"
)

// Journal is what the actors need of the journal. Append's done is called once,
// from a goroutine that writes, when the record survives the death of the kernel
// or could not be written. Queue leaves the writing to Write, which may write on
// the caller's goroutine.
type Journal interface {
	Append(rec messages.Record, done func(messages.Appended))
	Queue(rec messages.Record, done func(messages.Appended))
	Write()
	Get(table, key string) ([]byte, bool, error)
	Scan(table, prefix string, fn func(key string, value []byte) bool) error
	PutBlob(r io.Reader) (messages.Blob, error)
	OpenBlob(hash string) (Content, error)
	Entry(id messages.EntryID) (messages.Entry, bool, error)
}

// Content is a blob of the content store.
type Content interface {
	io.ReaderAt
	Len() int64
}

// HostSpec says for whom a language host is made.
type HostSpec struct {
	Session messages.SessionName
	Task    uint64
	Output  *proc.TaskOutput
	// Check decides about each effect as it happens; nil allows everything.
	Check func(effect.Effect) *value.Error
	// Steps collects what undoes the changes that are made to files; nil records
	// nothing.
	Steps *host.Steps
	// Ended hears of each program that ended, for the task's record.
	Ended func(Ended)
}

// Ended is how one program of a task ended.
type Ended struct {
	Status    *int
	Signal    string
	Leftovers []proc.Proc
}

// Deps is what the actors are built from. Every field is required.
type Deps struct {
	Sys     *supervisor.System
	Log     *slog.Logger
	Journal Journal
	Runner  *proc.Runner
	// Compiler is shared by all sessions.
	Compiler *lang.Compiler
	// NextTask, NextEntry and NextStep give numbers that were never given before.
	NextTask  func() (uint64, error)
	NextEntry func() (uint64, error)
	NextStep  func() (uint64, error)
	// Files is the file tree, without policy.
	Files host.Files
	// Owner is the kernel's own user, the local human of policies.
	Owner messages.Principal
	// Policy is the policy in force.
	Policy func() *leash.Policy
	// NewHost makes the language's host for one run.
	NewHost func(HostSpec) *interp.Host
	// Publish sends an event of a channel that lives in memory only.
	Publish func(key messages.ChannelKey, payload []byte)
	// ClosePTYs ends every terminal of a session.
	ClosePTYs func(ctx context.Context, session messages.SessionName)
	// HasPTYs reports whether a session has terminals open.
	HasPTYs func(messages.SessionName) bool
	// Cut ends the connections of a principal to a session but for one.
	Cut      func(s messages.SessionName, p messages.Principal, except string)
	Now      func() time.Time
	Home     string // of the owner
	LookPath func(name string) string
	// BindingLimit is how many bytes the bindings of one session may take in
	// memory; 0: any number.
	BindingLimit int64
	// Mask replaces in place the secrets that programs have been given.
	Mask func([]byte)
	// Margin is by how many bytes what is masked may reach into a piece; nil: by
	// none.
	Margin func() int
	// ResidentLimit is how many bytes of values a session keeps in memory.
	ResidentLimit int64

	crew     crew     // goroutines that work for the actors
	watchers watchers // of tasks
	things   watchers // of what a session has
}

// The actors' stable names, as children of the kernel.
const (
	SessionsName = "sessions"
	TasksName    = "tasks"
	PlansName    = "plans"
)

// pid is the address of an actor by its path below the kernel.
func (d *Deps) pid(path string) *actor.PID { return d.Sys.PID("kernel/" + path) }

func (d *Deps) sessionPID(name messages.SessionName) *actor.PID {
	return d.pid(SessionsName + "/" + string(name))
}

// PolicyPrincipal is the policy table of a principal.
func (d *Deps) PolicyPrincipal(p messages.Principal) string {
	if p == d.Owner {
		return leash.LocalHuman
	}
	return string(p)
}

func (d *Deps) tasksPID() *actor.PID { return d.pid(TasksName) }
func (d *Deps) plansPID() *actor.PID { return d.pid(PlansName) }
