package messages

// BlobPiece is the answer of blob.get; Next is absent at the end.
type BlobPiece struct {
	Hash       string `json:"hash"`
	Len        int64  `json:"len"`
	Offset     int64  `json:"offset"`
	DataBase64 string `json:"data_base64"`
	Next       *int64 `json:"next,omitempty"`
}

// EventPublished is the answer of events.publish.
type EventPublished struct {
	Channel string `json:"channel"`
	Seq     uint64 `json:"seq"`
}

// Subscribed is the answer of events.subscribe.
type Subscribed struct {
	Channel    string `json:"channel"`
	Subscribed bool   `json:"subscribed"`
}

// Unsubscribed is the answer of events.unsubscribe: whether the channel was
// followed.
type Unsubscribed struct {
	Channel      string `json:"channel"`
	Unsubscribed bool   `json:"unsubscribed"`
}

// ClosedSession is the answer of session.close.
type ClosedSession struct {
	Session SessionName `json:"session"`
	Closed  bool        `json:"closed"`
}

// Stopping is the answer of kernel.shutdown.
type Stopping struct {
	Stopping bool `json:"stopping"`
}

// KernelInfo is the answer of kernel.info. NATS is the address that outside
// subscribers use, if there is one.
type KernelInfo struct {
	Version         string `json:"version"`
	ProtocolVersion string `json:"protocol_version"`
	KernelID        string `json:"kernel_id"`
	PID             int    `json:"pid"`
	Socket          string `json:"socket"`
	StateDir        string `json:"state_dir"`
	StartedNS       int64  `json:"started_ns"`
	UptimeMS        int64  `json:"uptime_ms"`
	Connections     int    `json:"connections"`
	LiveTasks       int    `json:"live_tasks"`
	NATS            string `json:"nats,omitempty"`
	MCPHTTP         string `json:"mcp_http,omitempty"`
}

// EnvView is the environment of a session as far as it is shown: Names in
// order, and their values with wrong UTF-8 replaced.
type EnvView struct {
	Granted bool              `json:"granted"`
	Names   []string          `json:"names"`
	Env     map[string]string `json:"env"`
}

// ReefView is how a session's tools resolve; without a manifest it is empty.
type ReefView struct {
	ActiveScope *string           `json:"active_scope"`
	Hermetic    bool              `json:"hermetic"`
	Lock        *string           `json:"lock"`
	Policy      string            `json:"policy"`
	Revision    int               `json:"revision"`
	Bindings    []struct{}        `json:"bindings"`
	Runners     map[string]string `json:"runners"`
	Problems    []struct{}        `json:"problems"`
}
