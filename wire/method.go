package wire

// Class says what a method may do, and so what a caller must be allowed.
type Class uint8

const (
	// Public methods answer before the connection is attached.
	Public Class = iota + 1
	// Read methods show what the session or its kernel holds and change nothing.
	Read
	// Mutate methods run, change, start or end something in the session.
	Mutate
	// Subscribe methods open and close live streams of events.
	Subscribe
	// Supervise methods decide for others: approvals, members, the kernel's life.
	Supervise
)

// String is the class's name.
func (c Class) String() string {
	names := [...]string{Public: "public", Read: "read", Mutate: "mutate", Subscribe: "subscribe", Supervise: "supervise"}
	if int(c) < len(names) && c != 0 {
		return names[c]
	}
	return "unknown"
}

// Method is one row of the method table.
type Method struct {
	Name  string
	Class Class
	Doc   string
}

// Methods is every method of the protocol, the only place that classifies them.
var Methods = []Method{
	{"session.attach", Public, "bind the connection to a session and a principal"},
	{"parse", Public, "syntax tree of a source"},
	{"complete", Public, "candidates at a byte offset of a source"},

	{"session.env", Read, "environment of the session as far as it is granted"},
	{"session.reef", Read, "how the session's tools resolve"},
	{"session.cwd", Read, "working directory of the session"},
	{"session.list", Read, "sessions that the caller may see"},
	{"session.members", Supervise, "list, invite and remove members of the session"},
	{"session.close", Mutate, "end the session and all that it holds"},

	{"explain", Read, "effects and reversibility of a source, without running or storing anything"},
	{"exec", Mutate, "run or plan a source"},

	{"value.get", Read, "a kept value, a part of it, or a rendering"},
	{"blob.get", Read, "bytes of the content store, at most 64 KiB a call"},
	{"journal.query", Read, "journal entries, newest first"},

	{"task.list", Read, "tasks of the session"},
	{"task.get", Read, "record of a task"},
	{"task.await", Read, "record of a task once it has ended, or the wait is over"},
	{"task.output", Read, "output of a task by byte offset, while it runs and after"},
	{"task.cancel", Mutate, "end a task and its whole process tree"},
	{"task.suspend", Mutate, "stop a task and its whole process tree"},
	{"task.resume", Mutate, "continue a suspended task"},

	{"plan.get", Read, "a stored plan and its approvals"},
	{"plan.list", Read, "stored plans of the session"},
	{"plan.apply", Mutate, "run a stored plan"},

	{"cap.request", Mutate, "ask for the approval of a plan"},
	{"cap.pending", Read, "plans that wait for an approval which the caller may give"},
	{"cap.grant", Supervise, "approve a plan"},
	{"cap.deny", Supervise, "refuse a plan"},

	{"pty.open", Mutate, "start a program in a terminal"},
	{"pty.send", Mutate, "type into a terminal"},
	{"pty.read", Read, "screen of a terminal"},
	{"pty.resize", Mutate, "change a terminal's size"},
	{"pty.keyboard", Mutate, "hold a terminal's keyboard for this connection alone, or give it back"},
	{"pty.record", Mutate, "keep what a recorded terminal has shown so far"},
	{"pty.close", Mutate, "end a terminal and its process tree"},
	{"pty.list", Read, "terminals of the session"},

	{"events.read", Read, "events of a channel after a cursor"},
	{"events.publish", Mutate, "publish to a user or shared channel"},
	{"events.subscribe", Subscribe, "replay a channel after a cursor, then follow it live"},
	{"events.unsubscribe", Subscribe, "stop following a channel"},

	{"undo", Mutate, "replay the recorded inverses of an entry"},

	{"kernel.info", Read, "version, identity and load of the kernel"},
	{"kernel.shutdown", Supervise, "stop the kernel in order"},
}

// Lookup finds a method by name.
func Lookup(name string) (Method, bool) {
	for _, m := range Methods {
		if m.Name == name {
			return m, true
		}
	}
	return Method{}, false
}
