package actors

import (
	"encoding/json"
	"fmt"

	"shoal.dev/shoal/messages"
)

// Tables of the journal that this package owns. Keys join their parts with
// NUL, which no session name, binding name or hex number contains.
const (
	tableSession = "session" // name → sessionRow
	tableMember  = "member"  // session NUL principal → memberRow
	tableBinding = "binding" // session NUL name → interp.Stored
	tableOut     = "out"     // session NUL hex number → stored value
	tableNext    = "next"    // session → next transcript number
	tableTask    = "task"    // hex number → taskRow
	tableTaskOut = "taskout" // hex number NUL stream → newest output
	tablePlan    = "plan"    // hex digits of the ref → messages.Plan
	tableUndo    = "undo"    // session NUL hex ^entry NUL hex number of the first step → undoRow
	tableRequest = "request" // session NUL principal NUL id → requestRow
)

func numKey(n uint64) string                                { return fmt.Sprintf("%016x", n) }
func outKey(s messages.SessionName, n uint64) string        { return string(s) + "\x00" + numKey(n) }
func bindingKey(s messages.SessionName, name string) string { return string(s) + "\x00" + name }
func taskOutKey(n uint64, stream string) string             { return numKey(n) + "\x00" + stream }
func requestKey(s messages.SessionName, p messages.Principal, id string) string {
	return string(s) + "\x00" + string(p) + "\x00" + id
}

// sessionRow is a session as the journal keeps it. Env holds what the session
// itself set; null unsets.
type sessionRow struct {
	Owner   messages.Principal `json:"owner"`
	Created int64              `json:"created"`
	Cwd0    string             `json:"cwd0"` // where it was created: $CWD of policies
	Cwd     string             `json:"cwd"`
	Env     map[string]*string `json:"env,omitempty"`
}

// taskRow is a task as the journal keeps it.
type taskRow struct {
	Record messages.TaskRecord `json:"record"`
	Entry  messages.EntryID    `json:"entry"`
}

// requestRow remembers the answer to a request id; without answer it says that
// the run had begun.
type requestRow struct {
	SourceHash string           `json:"source"`
	Task       messages.TaskID  `json:"task"`
	Entry      messages.EntryID `json:"entry"`
	TS         int64            `json:"ts"`
	JSON       json.RawMessage  `json:"json,omitempty"`
	Err        *messages.Error  `json:"err,omitempty"`
}

// requestTTLNS is how long a request id is remembered, in nanoseconds.
const requestTTLNS = int64(24 * 3600 * 1e9)

// row encodes v, which always can be, as a row.
func row(table, key string, v any) messages.Row {
	return messages.Row{Table: table, Key: key, Value: messages.JSON(v)}
}
