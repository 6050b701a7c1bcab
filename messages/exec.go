package messages

import (
	"encoding/json"

	"shoal.dev/shoal/lang/effect"
)

// Elide bounds what a result shows. Zero fields mean the default; values are
// clamped, never refused.
type Elide struct {
	MaxBytes *int64 `json:"max_bytes,omitempty"`
	MaxRows  *int64 `json:"max_rows,omitempty"`
	MaxItems *int64 `json:"max_items,omitempty"`
}

// Position says whether a program's final failed outcome raises (statement) or
// is returned (value).
type Position string

// The positions.
const (
	PositionStmt  Position = "stmt"
	PositionValue Position = "value"
)

// Mode says whether to run a source or to derive its plan.
type Mode string

// The modes.
const (
	ModeRun  Mode = "run"
	ModePlan Mode = "plan"
)

// ExecParams are the params of exec.
type ExecParams struct {
	Src        string   `json:"src" wire:"required"`
	Mode       Mode     `json:"mode,omitempty"`
	Position   Position `json:"position,omitempty"`
	Async      bool     `json:"async,omitempty"`
	Background bool     `json:"background,omitempty"`
	TimeoutMS  *int64   `json:"timeout_ms,omitempty"`
	Elide      *Elide   `json:"elide,omitempty"`
	RequestID  string   `json:"request_id,omitempty"`
	DeadlineMS *int64   `json:"deadline_ms,omitempty"`
	// PlanRef is a plan of this very source, by whose approvals it is to run,
	// once, as plan.apply would run it.
	PlanRef PlanRef `json:"plan_ref,omitempty"`
}

// Exec submits a source to a session. Key identifies the call: the same Key
// again is the same call.
type Exec struct {
	Key       string
	Conn      string
	Principal Principal
	Params    ExecParams
}

// Reply pairs Exec with its answer.
func (Exec) Reply(ExecResult) {}

// ApplyPlan runs a stored plan in the session's line.
type ApplyPlan struct {
	Key       string
	Conn      string
	Principal Principal
	PlanRef   PlanRef
	Elide     *Elide
	// TimeoutMS and DeadlineMS are as for a submission.
	TimeoutMS, DeadlineMS *int64
}

// Reply pairs ApplyPlan with its answer.
func (ApplyPlan) Reply(ExecResult) {}

// ExecResult answers a submission: the kernel's result as JSON, or a refusal.
type ExecResult struct {
	Key  string
	JSON json.RawMessage
	Err  *Error
}

// AbandonExec says that nobody waits for the call any more; it counts as its
// wait budget spent.
type AbandonExec struct {
	Key    string
	Answer bool // the caller may come back: it is answered all the same
}

// Reply pairs AbandonExec with its answer.
func (AbandonExec) Reply(Done) {}

// Finished is the result of an execution that ended within its budget.
type Finished struct {
	Ref          Ref             `json:"ref"`
	URI          string          `json:"uri"`
	Value        json.RawMessage `json:"value"`
	Render       string          `json:"render"`
	Printed      []Printed       `json:"printed"`
	PrintedTotal int             `json:"printed_total"`
	Notes        []Note          `json:"notes"`
	Truncated    bool            `json:"truncated"`
	Exit         *int            `json:"exit,omitempty"`
	Task         TaskID          `json:"task,omitempty"`
	ElapsedMS    int64           `json:"elapsed_ms"`
}

// Printed is one value that a statement showed. Ref is empty for values that
// are not kept.
type Printed struct {
	Ref    Ref    `json:"ref,omitempty"`
	Render string `json:"render"`
}

// Limits of what a result shows of printed values.
const (
	PrintedHead  = 50
	PrintedTail  = 50
	PrintedBytes = 32 << 10
)

// Note is a remark beside a result.
type Note struct {
	Code string          `json:"code"`
	Msg  string          `json:"msg"`
	Span *effect.Span    `json:"span,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Handed is the answer of an execution that goes on without its caller.
type Handed struct {
	Task     TaskID `json:"task"`
	Events   string `json:"events"`
	TimedOut bool   `json:"timed_out,omitempty"`
	Detached bool   `json:"detached,omitempty"`
	State    string `json:"state,omitempty"`
}

// RaisedData is the data of a -32002 error.
type RaisedData struct {
	Ref      Ref             `json:"ref,omitempty"`
	URI      string          `json:"uri,omitempty"`
	Error    json.RawMessage `json:"error"`
	Printed  []Printed       `json:"printed"`
	Notes    []Note          `json:"notes"`
	Deadline bool            `json:"deadline,omitempty"`
	Task     TaskID          `json:"task,omitempty"`
}

// ParseErrorData is the data of a -32001 error.
type ParseErrorData struct {
	Span effect.Span `json:"span"`
	Line int         `json:"line"`
	Col  int         `json:"col"`
	Hint string      `json:"hint,omitempty"`
}

// GetValueParams are the params of value.get.
type GetValueParams struct {
	Ref    string  `json:"ref" wire:"required"`
	Path   string  `json:"path,omitempty"`
	Slice  []int64 `json:"slice,omitempty"`
	Format string  `json:"format,omitempty"` // json, render or raw
	Elide  *Elide  `json:"elide,omitempty"`
}

// GetValue reads a kept value; it never runs anything.
type GetValue struct {
	Principal Principal
	Params    GetValueParams
}

// Reply pairs GetValue with its answer.
func (GetValue) Reply(Raw) {}

// ValueView is the answer of value.get; exactly one of its views is set.
type ValueView struct {
	Ref       string          `json:"ref"`
	Value     json.RawMessage `json:"value,omitempty"`
	Render    *string         `json:"render,omitempty"`
	Raw       *string         `json:"raw,omitempty"`
	RawBase64 *string         `json:"raw_base64,omitempty"`
	Next      *int64          `json:"next,omitempty"`
}
