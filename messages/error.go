package messages

import (
	"encoding/json"
	"fmt"
)

// Code is an error number of the wire.
type Code int

// The codes. The first five are JSON-RPC's own.
const (
	CodeParse          Code = -32700
	CodeInvalidRequest Code = -32600
	CodeMethodNotFound Code = -32601
	CodeInvalidParams  Code = -32602
	CodeInternal       Code = -32603

	CodeNotAttached      Code = -32000
	CodeParseError       Code = -32001
	CodeRaised           Code = -32002
	CodeUnknownRef       Code = -32004
	CodeBadPath          Code = -32005
	CodeLeashDenied      Code = -32010
	CodeApprovalRequired Code = -32011
	CodeUnknownPlan      Code = -32012
	CodeTaskControl      Code = -32020
	CodeUnknownTask      Code = -32021
	CodeUnknownPTY       Code = -32022
	CodePTYSpawn         Code = -32023
	CodeAuthFailed       Code = -32030
	CodeQuota            Code = -32040
	CodeInterrupted      Code = -32041
)

// CodeInfo is one row of the error table.
type CodeInfo struct {
	Code Code
	Name string
	Doc  string
}

// Codes is the error table; docs/errors.md is generated from it.
var Codes = []CodeInfo{
	{CodeParse, "PARSE", "the frame is not JSON"},
	{CodeInvalidRequest, "INVALID_REQUEST", "the frame is JSON but no request, or is too large"},
	{CodeMethodNotFound, "METHOD_NOT_FOUND", "no such method"},
	{CodeInvalidParams, "INVALID_PARAMS", "an argument is missing, unknown or of the wrong type; the message names it"},
	{CodeInternal, "INTERNAL", "a fault in the kernel"},
	{CodeNotAttached, "NOT_ATTACHED", "the connection has not attached to a session"},
	{CodeParseError, "PARSE_ERROR", "the source does not parse; data: {span, line, col, hint}"},
	{CodeRaised, "RAISED", "the program raised an error; data: {ref, uri, error, printed, notes}"},
	{CodeUnknownRef, "UNKNOWN_REF", "no such value in this session"},
	{CodeBadPath, "BAD_PATH", "the path or slice does not fit the value; the message names the step"},
	{CodeLeashDenied, "LEASH_DENIED", "policy refuses; data: {dimension, effect, target, rule}"},
	{CodeApprovalRequired, "APPROVAL_REQUIRED", "policy wants an approval first; data: {plan_ref, effects}"},
	{CodeUnknownPlan, "UNKNOWN_PLAN", "no such plan, or it no longer holds; data: {reason}"},
	{CodeTaskControl, "TASK_CONTROL_UNAVAILABLE", "the task cannot be suspended or resumed, or somebody else holds the terminal's keyboard; then data: {holder, expires_ms}"},
	{CodeUnknownTask, "UNKNOWN_TASK", "no such task in this session"},
	{CodeUnknownPTY, "UNKNOWN_PTY", "no such terminal in this session"},
	{CodePTYSpawn, "PTY_SPAWN_FAILED", "the terminal's program did not start; the message gives the system's reason"},
	{CodeAuthFailed, "AUTH_FAILED", "the token is bad, expired or revoked"},
	{CodeQuota, "QUOTA", "a limit is reached; data: {limit, used, retry_after_ms?}"},
	{CodeInterrupted, "INTERRUPTED", "what served the call was lost; data: {reason, entry?}"},
}

// Name is the symbolic name of the code.
func (c Code) Name() string {
	for _, row := range Codes {
		if row.Code == c {
			return row.Name
		}
	}
	return fmt.Sprintf("CODE_%d", int(c))
}

// Error is a refusal, in the kernel and on the wire alike.
type Error struct {
	Code    Code            `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error makes an *Error an error.
func (e *Error) Error() string {
	return fmt.Sprintf("%s (%d): %s", e.Code.Name(), int(e.Code), e.Message)
}

// Errorf builds an Error without data.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// With returns a copy of e whose data is v as JSON.
func (e *Error) With(v any) *Error {
	data, err := Encode(v)
	if err != nil {
		data, _ = json.Marshal(map[string]string{"unencodable": err.Error()})
	}
	return &Error{Code: e.Code, Message: e.Message, Data: data}
}

// Request is a message whose answer is an R. The method is never called; it
// makes a wrong pairing of request and reply a compile error.
type Request[R any] interface{ Reply(R) }
