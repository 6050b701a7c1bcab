package kernel

import (
	"log/slog"
	"os"
	"time"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/mcphttp"
)

// Options say what a kernel is to be. Paths is required.
type Options struct {
	Paths link.Paths
	// Policy is the policy file; empty means the default one if it exists.
	Policy string
	// ConfigDir holds shoal.toml and policy.toml; empty means none.
	ConfigDir string
	// NATS is the loopback address of the event bus for outside subscribers;
	// empty means none.
	NATS string
	// MCPHTTP is the loopback address on which MCP is served over HTTP; empty
	// means none.
	MCPHTTP string
	// HTTP has the limits of that server; what is left out is as usual.
	HTTP mcphttp.Options
	// WriteTime is how long a client of the socket may refuse to read before it
	// is given up; 0 means 30 s.
	WriteTime time.Duration
	// RequireToken refuses clients without a token.
	RequireToken bool
	// SocketGroup lets the members of a group connect.
	SocketGroup string
	// PTYEngine names what draws the screens of terminals, "own" or "xvt"; empty
	// means our own.
	PTYEngine string
	// SyncAlways flushes every journal record to the device.
	SyncAlways bool
	// Args are the flags to start a successor with.
	Args []string
	// Environ is the environment of the process that starts the kernel; only
	// HOME, USER, LOGNAME, SHELL, LANG and PATH are looked at.
	Environ []string
	// Log takes the kernel's log; nil means STATE/log/kernel.log.
	Log *slog.Logger
	// Chaos makes actors fail in tests.
	Chaos func(actor string, msg any, after bool) bool
	// LockWait is how long to wait for another kernel to let go; 0 means 2 s.
	LockWait time.Duration
	// SocketCheck is how often the socket's path is looked at, and bound again
	// when it is gone; 0 means 20 s.
	SocketCheck time.Duration
	// ResidentLimit is how many bytes of values a session keeps in memory;
	// 0 means the configuration's, or 64 MiB.
	ResidentLimit int64
}

const (
	lockWait      = 2 * time.Second
	socketCheck   = 20 * time.Second
	residentLimit = 64 << 20
)

// normalize fills in what the configuration has no say in.
func (o *Options) normalize() {
	if o.LockWait == 0 {
		o.LockWait = lockWait
	}
	if o.SocketCheck == 0 {
		o.SocketCheck = socketCheck
	}
	if o.Environ == nil {
		o.Environ = []string{}
	}
}

// fillLimits sets the limits that neither options nor configuration give.
func (o *Options) fillLimits() {
	if o.ResidentLimit == 0 {
		o.ResidentLimit = residentLimit
	}
}

// stateMode is the mode of every directory of the state directory.
const stateMode os.FileMode = 0o700
