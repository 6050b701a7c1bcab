package mcp

import (
	"fmt"
	"sync/atomic"

	"github.com/mark3labs/mcp-go/mcp"
)

// session is a connection as the protocol library sees it. The library sends
// nothing through it: every frame leaves through the connection loop.
type session struct {
	id          string
	peer        *peer
	initialized atomic.Bool
	revision    atomic.Value // string, negotiated
	level       atomic.Value // mcp.LoggingLevel
	elicits     atomic.Bool  // the client can ask its user, by its handshake
	unread      chan mcp.JSONRPCNotification
}

func (s *Server) newSession(p *peer) *session {
	return &session{
		id: fmt.Sprintf("shoal-%d", s.sessions.Add(1)), peer: p,
		unread: make(chan mcp.JSONRPCNotification, 1),
	}
}

// Initialize notes the handshake.
func (s *session) Initialize() { s.initialized.Store(true) }

// Initialized reports whether there was a handshake.
func (s *session) Initialized() bool { return s.initialized.Load() }

// NotificationChannel is a channel that nobody reads.
func (s *session) NotificationChannel() chan<- mcp.JSONRPCNotification { return s.unread }

// SessionID is unique in the kernel.
func (s *session) SessionID() string { return s.id }

// SetLogLevel sets the least level of the log messages that the client wants.
func (s *session) SetLogLevel(level mcp.LoggingLevel) { s.level.Store(level) }

// GetLogLevel is the least level of the log messages that the client gets.
func (s *session) GetLogLevel() mcp.LoggingLevel {
	if level, ok := s.level.Load().(mcp.LoggingLevel); ok {
		return level
	}
	return mcp.LoggingLevelError
}

// SetProtocolVersion notes the negotiated revision.
func (s *session) SetProtocolVersion(revision string) { s.revision.Store(revision) }

// ProtocolVersion is the negotiated revision, "" before the handshake.
func (s *session) ProtocolVersion() string {
	revision, _ := s.revision.Load().(string)
	return revision
}

// links reports whether the client knows resource links in results.
func (s *session) links() bool {
	revision := s.ProtocolVersion()
	return revision == "" || revision >= mcp.ProtocolVersion20250618
}
