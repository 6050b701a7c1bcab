package messages

import (
	"fmt"
	"strconv"
	"strings"
)

// SessionName names a session: 1–64 of [A-Za-z0-9._-], no leading dot.
type SessionName string

// DefaultSession is where a client lands that names none.
const DefaultSession SessionName = "default"

// Valid reports whether the name obeys the rule above.
func (s SessionName) Valid() bool {
	if len(s) == 0 || len(s) > 64 || s[0] == '.' {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		ok := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			c == '.' || c == '_' || c == '-'
		if !ok {
			return false
		}
	}
	return true
}

// Principal is on whose behalf a call is made, such as "uid:1000" or
// "agent:reviewer".
type Principal string

// TaskID is "task:N"; N counts per state directory and is never used twice.
type TaskID string

// PTYID is "pty:N"; N counts per state directory and is never used twice.
type PTYID string

// PlanRef is "plan:" and 32 hex digits of randomness.
type PlanRef string

// Ref names a kept value: "out:N" within its session, or "val:blake3:HEX".
type Ref string

// EntryID is a journal entry's number within the state directory.
type EntryID uint64

// NewTaskID spells the id of task n.
func NewTaskID(n uint64) TaskID { return TaskID("task:" + strconv.FormatUint(n, 10)) }

// NewPTYID spells the id of terminal n.
func NewPTYID(n uint64) PTYID { return PTYID("pty:" + strconv.FormatUint(n, 10)) }

// OutRef spells the ref of transcript value n.
func OutRef(n uint64) Ref { return Ref("out:" + strconv.FormatUint(n, 10)) }

// Num is N of "task:N".
func (t TaskID) Num() (uint64, bool) { return number(string(t), "task:") }

// Num is N of "pty:N".
func (p PTYID) Num() (uint64, bool) { return number(string(p), "pty:") }

// Out is N of "out:N".
func (r Ref) Out() (uint64, bool) { return number(string(r), "out:") }

// URI is the resource that shows the value.
func (r Ref) URI() string {
	if n, ok := r.Out(); ok {
		return fmt.Sprintf("shoal://out/%d", n)
	}
	return "shoal://val/" + strings.TrimPrefix(string(r), "val:")
}

// URI is the resource that shows the task's record.
func (t TaskID) URI() string { return "shoal://task/" + strings.TrimPrefix(string(t), "task:") }

// Channel is the event channel of the task, "task.N".
func (t TaskID) Channel() string { return "task." + strings.TrimPrefix(string(t), "task:") }

// URI is the resource that shows the terminal's screen.
func (p PTYID) URI() string { return "shoal://pty/" + strings.TrimPrefix(string(p), "pty:") }

// Channel is the event channel of the terminal, "pty.N".
func (p PTYID) Channel() string { return "pty." + strings.TrimPrefix(string(p), "pty:") }

// URI is the resource that shows the plan.
func (p PlanRef) URI() string { return "shoal://plan/" + strings.TrimPrefix(string(p), "plan:") }

// number reads the decimal after prefix; leading zeros and signs are refused,
// so that one thing has one name.
func number(s, prefix string) (uint64, bool) {
	digits, ok := strings.CutPrefix(s, prefix)
	if !ok || digits == "" || digits[0] == '0' && digits != "0" {
		return 0, false
	}
	for _, c := range []byte(digits) {
		if c < '0' || c > '9' {
			return 0, false
		}
	}
	n, err := strconv.ParseUint(digits, 10, 64)
	return n, err == nil
}
