package messages

import "encoding/json"

// Client says what kind of program attaches.
type Client struct {
	Kind string `json:"kind,omitempty"` // "mcp" turns the connection into an MCP one
	TTY  bool   `json:"tty,omitempty"`
}

// AttachParams are the params of session.attach. Cwd and Env are the client's
// own; they apply when the call creates the session, Env also as the base after
// a kernel restart.
type AttachParams struct {
	Session  SessionName       `json:"session,omitempty"`
	Token    string            `json:"token,omitempty"`
	Cwd      string            `json:"cwd,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Adapters *bool             `json:"adapters,omitempty"`
	Reef     string            `json:"reef,omitempty"`
	Client   *Client           `json:"client,omitempty"`
}

// Attach asks for membership of a session, which it creates when there is none.
type Attach struct {
	Session   SessionName
	Principal Principal
	Conn      string
	Cwd       string
	Env       []string // KEY=value, complete base environment
}

// Reply pairs Attach with its answer.
func (Attach) Reply(SessionInfo) {}

// SessionInfo is a session's own part of an attachment.
type SessionInfo struct {
	Cwd         PathView
	EnvHash     string
	RestartedAt int64 // Unix ns of the last restart of the session's state, 0 if none
	Err         *Error
}

// PathView is a path for display; Raw is base64 of the bytes when they are not
// UTF-8.
type PathView struct {
	Display string `json:"display"`
	Raw     string `json:"raw,omitempty"`
}

// Dimension says how one kind of confinement stands for this principal.
type Dimension struct {
	Mode     string          `json:"mode"`
	Enforced json.RawMessage `json:"enforced"` // true, false or "partial"
	Detail   string          `json:"detail"`
}

// Caps is what the attached principal may do, in outline.
type Caps struct {
	Profile         string               `json:"profile"`
	PolicyPrincipal string               `json:"policy_principal"`
	TokenCaps       []string             `json:"token_caps"`
	Opaque          string               `json:"opaque"`
	Dimensions      map[string]Dimension `json:"dimensions"`
}

// ElideDefaults are the limits that apply when a call gives none.
type ElideDefaults struct {
	MaxBytes    int `json:"max_bytes"`
	MaxRows     int `json:"max_rows"`
	MaxItems    int `json:"max_items"`
	MaxBytesRaw int `json:"max_bytes_raw"`
	HardCap     int `json:"hard_cap"`
}

// The presentation defaults and caps.
const (
	DefaultMaxBytes = 8192
	DefaultMaxRows  = 100
	DefaultMaxItems = 500
	DefaultMaxRaw   = 4096
	HardCap         = 65536
	MaxItemsCap     = 10000
)

// Versions of the two contracts. A different protocol major is refused.
const (
	ProtocolVersion = "1.0"
	ASTVersion      = 1
)

// Attached is the answer to session.attach.
type Attached struct {
	Session         SessionName   `json:"session"`
	Principal       Principal     `json:"principal"`
	Caps            Caps          `json:"caps"`
	CapsEnforced    bool          `json:"caps_enforced"`
	Cwd             PathView      `json:"cwd"`
	EnvHash         string        `json:"env_hash"`
	ASTVersion      int           `json:"ast_version"`
	ProtocolVersion string        `json:"protocol_version"`
	Version         string        `json:"version"`
	KernelID        string        `json:"kernel_id"`
	RestartedAt     int64         `json:"restarted_at"`
	ElideDefaults   ElideDefaults `json:"elide_defaults"`
	Channels        []string      `json:"channels"`
}

// ViewSession asks for a live view of the session: "cwd", "env" or "reef".
type ViewSession struct {
	View      string
	Principal Principal
}

// Reply pairs ViewSession with its answer.
func (ViewSession) Reply(Raw) {}

// Raw is an answer that is already JSON.
type Raw struct {
	JSON json.RawMessage
	Err  *Error
}

// ListSessions asks which sessions live.
type ListSessions struct{ Principal Principal }

// Reply pairs ListSessions with its answer.
func (ListSessions) Reply(Sessions) {}

// Sessions lists live sessions in name order.
type Sessions struct {
	Sessions []SessionSummary `json:"sessions"`
}

// SessionSummary is one line of session.list.
type SessionSummary struct {
	Session SessionName `json:"session"`
	Owner   Principal   `json:"owner"`
	Conns   int         `json:"connections"`
	Tasks   int         `json:"tasks"`
}

// CloseSession ends a session: its tasks and terminals end, its state stays in
// the journal.
type CloseSession struct {
	Session   SessionName
	Principal Principal
}

// Reply pairs CloseSession with its answer.
func (CloseSession) Reply(Done) {}

// Done is the answer of a request that has nothing to tell.
type Done struct{ Err *Error }

// Detached says that a connection has left the session.
type Detached struct {
	Session SessionName
	Conn    string
}

// Reply pairs Detached with its answer.
func (Detached) Reply(Done) {}
