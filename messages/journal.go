package messages

import (
	"bytes"
	"encoding/json"

	"shoal.dev/shoal/lang/effect"
)

// Row is one keyed value of the store. Table names a family of rows ("binding",
// "out", "task", …); Key is unique within it. A nil Value deletes the row.
type Row struct {
	Table string
	Key   string
	Value []byte
}

// Record is what the journal writes as one: all of it survives, or none.
type Record struct {
	// Key makes writing idempotent: a record whose key was written before is
	// acknowledged again and changes nothing.
	Key string
	// Sync asks for fdatasync before the answer: set for intents with effects.
	Sync   bool
	Entry  *Entry
	Rows   []Row
	Events []Draft
}

// Append asks the journal to write a record.
type Append struct{ Record Record }

// Reply pairs Append with its answer.
func (Append) Reply(Appended) {}

// Appended says that the record survives the death of the kernel. Seqs are the
// numbers of its events, in order. Err is set when nothing was written.
type Appended struct {
	Key  string
	Seqs []uint64
	Err  *Error
}

// EntryKind is what a journal entry records.
type EntryKind string

// The kinds of entry.
const (
	EntryExec     EntryKind = "exec"
	EntryPlan     EntryKind = "plan"
	EntryApply    EntryKind = "apply"
	EntryApproval EntryKind = "approval"
	EntryPTY      EntryKind = "pty"
	EntryUndo     EntryKind = "undo"
)

// EntryStatus is how far an entry got.
type EntryStatus string

// The states of an entry. An entry that is running when the kernel dies is
// interrupted after the restart.
const (
	EntryRunning     EntryStatus = "running"
	EntryDone        EntryStatus = "done"
	EntryFailed      EntryStatus = "failed"
	EntryCancelled   EntryStatus = "cancelled"
	EntryInterrupted EntryStatus = "interrupted"
	EntryRefused     EntryStatus = "refused"
)

// Entry is one submission. It is written as an intent (Status running) before
// anything runs, and once more, whole, when it ends.
type Entry struct {
	ID         EntryID         `json:"id"`
	TS         int64           `json:"ts"`
	Session    SessionName     `json:"session"`
	Principal  Principal       `json:"principal"`
	Kind       EntryKind       `json:"kind"`
	Src        string          `json:"src"`
	Head       string          `json:"head"`
	OK         *bool           `json:"ok"`
	Status     EntryStatus     `json:"status"`
	Effects    []effect.Effect `json:"effects"`
	DurNS      int64           `json:"dur_ns"`
	Cwd        string          `json:"cwd,omitempty"`
	EnvHash    string          `json:"env_hash,omitempty"`
	Opaque     bool            `json:"opaque,omitempty"`
	Ref        Ref             `json:"ref,omitempty"`
	Task       TaskID          `json:"task,omitempty"`
	PlanRef    PlanRef         `json:"plan_ref,omitempty"`
	Approver   Principal       `json:"approver,omitempty"`
	RequestID  string          `json:"request_id,omitempty"`
	Statements []Statement     `json:"statements,omitempty"`
	Undo       *EntryUndoing   `json:"undo,omitempty"`
}

// EntryUndoing says what of an entry's changes to files can be undone: the
// number of steps for that, and the first changes that nothing undoes, with the
// reasons.
type EntryUndoing struct {
	Steps   int      `json:"steps"`
	Without []string `json:"without,omitempty"`
}

// Statement is a top-level statement of a submission, its entry's child.
type Statement struct {
	Src     string          `json:"src"`
	Head    string          `json:"head,omitempty"`
	OK      *bool           `json:"ok"`
	Effects []effect.Effect `json:"effects,omitempty"`
	DurNS   int64           `json:"dur_ns"`
}

// JournalQuery filters entries; since ≤ ts < until, every filter before Limit.
type JournalQuery struct {
	Since     *int64        `json:"since,omitempty"`
	Until     *int64        `json:"until,omitempty"`
	Principal Principal     `json:"principal,omitempty"`
	Session   SessionName   `json:"session,omitempty"`
	OK        *bool         `json:"ok,omitempty"`
	Effects   []effect.Kind `json:"effects,omitempty"`
	Head      string        `json:"head,omitempty"`
	Text      string        `json:"text,omitempty"`
	Cursor    string        `json:"cursor,omitempty"`
	Limit     int           `json:"limit,omitempty"`

	// VisibleTo restricts rows to those whose session it names; empty means
	// all. The caller's rights decide it, not the caller.
	VisibleTo []SessionName `json:"-"`
	// RequestID finds the entry of one request; internal.
	RequestID string `json:"-"`
}

// Default and greatest number of entries a query returns.
const (
	JournalLimit    = 50
	JournalLimitMax = 1000
)

// JournalPage is the answer to a query, newest first.
type JournalPage struct {
	Entries []Entry `json:"entries"`
	Next    string  `json:"next,omitempty"`
	Scanned int     `json:"scanned,omitempty"`
}

// Blob names content kept in the content store.
type Blob struct {
	Hash string `json:"hash"` // 64 hex digits of BLAKE3
	Len  int64  `json:"len"`
}

// JSON encodes v for a Draft's payload; v must be encodable.
func JSON(v any) json.RawMessage {
	b, err := Encode(v)
	if err != nil {
		return json.RawMessage(`null`)
	}
	return b
}

// Encode is json.Marshal without the escapes that are for HTML: what is encoded
// here is read by agents, and `<` costs them less than \u003c.
func Encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
