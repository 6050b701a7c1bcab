package messages

import (
	"encoding/json"
	"strings"
)

// Event is one entry of a channel. Seq starts at 0 and rises by one per
// channel, across kernel restarts; TS is Unix nanoseconds, for display only.
type Event struct {
	Channel string          `json:"channel"`
	Seq     uint64          `json:"seq"`
	TS      int64           `json:"ts"`
	Payload json.RawMessage `json:"payload"`
}

// ChannelKey is a channel's identity in one kernel. Session is empty for
// kernel-wide channels ("kernel", "kernel.journal", "kernel.approval",
// "shared.*"); task and terminal channels carry the session that owns them.
type ChannelKey struct {
	Session SessionName `json:"session,omitempty"`
	Name    string      `json:"name"`
}

// Retention says how long a channel's events are kept.
type Retention uint8

const (
	// RetainRing keeps the newest RingSize events, across restarts.
	RetainRing Retention = iota
	// RetainJournal keeps events as long as the journal keeps its rows.
	RetainJournal
	// RetainMemory keeps the newest RingSize events until the kernel ends.
	RetainMemory
)

// RingSize is how many events a channel keeps in memory.
const RingSize = 1024

// EventMost is how many bytes of payload an event may have.
const EventMost = 1 << 20

// Retention is decided by the channel's name alone.
func (k ChannelKey) Retention() Retention {
	switch {
	case k.Name == "journal", k.Name == "kernel.journal", k.Name == "session.transcript":
		return RetainJournal
	case strings.HasPrefix(k.Name, "pty."),
		strings.HasPrefix(k.Name, "task.") && strings.HasSuffix(k.Name, ".output"):
		return RetainMemory
	default:
		return RetainRing
	}
}

// KernelWide reports whether the name belongs to the whole kernel.
func KernelWide(name string) bool {
	return name == "kernel" || strings.HasPrefix(name, "kernel.") || strings.HasPrefix(name, "shared.")
}

// Draft is an event that has no number yet.
type Draft struct {
	Key     ChannelKey
	Payload json.RawMessage
}

// Published is an event with its channel's identity, as the journal hands it
// to the bus after writing it.
type Published struct {
	Key   ChannelKey
	Event Event
}

// EventPage is one cursor read: the oldest events after the cursor.
type EventPage struct {
	Channel   string    `json:"channel"`
	Events    []Event   `json:"events"`
	Next      *uint64   `json:"next,omitempty"`
	Gap       *EventGap `json:"gap,omitempty"`
	LatestSeq *uint64   `json:"latest_seq"`
}

// EventGap says which events after the cursor are no longer kept, both ends
// included.
type EventGap struct {
	From uint64 `json:"from"`
	To   uint64 `json:"to"`
}

// Dropped tells a live reader that the ring has moved past its cursor. Seq is
// the last lost event.
type Dropped struct {
	Seq       uint64 `json:"seq"`
	Dropped   uint64 `json:"dropped"`
	LatestSeq uint64 `json:"latest_seq"`
}

// ChannelDropped is what an event notification carries in place of events that
// are lost.
type ChannelDropped struct {
	Channel string `json:"channel"`
	Dropped
}

// TranscriptEvent is the payload of session.transcript: a value that was kept.
type TranscriptEvent struct {
	Ref        Ref       `json:"ref"`
	URI        string    `json:"uri"`
	Type       string    `json:"type"`
	RenderHead string    `json:"render_head"`
	Principal  Principal `json:"principal"`
}

// JournalEvent is the payload of journal and kernel.journal: an entry that has
// ended.
type JournalEvent struct {
	ID        EntryID     `json:"id"`
	Head      string      `json:"head"`
	OK        bool        `json:"ok"`
	Principal Principal   `json:"principal"`
	Session   SessionName `json:"session"`
}
