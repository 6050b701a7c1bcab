package messages

import "encoding/json"

// Defaults and bounds of terminals.
const (
	PTYCols       = 80
	PTYRows       = 24
	PTYSideMax    = 1000
	PTYScrollback = 1000   // lines
	PTYWaitMax    = 60_000 // milliseconds
	PTYTotalMax   = 1024   // terminals in a kernel
	PTYLease      = 30     // seconds that the keyboard is held unless asked otherwise
	PTYLeaseMax   = 3600
)

// TerminalPlan is the terminal that a plan opens, exactly.
type TerminalPlan struct {
	Cmd         string   `json:"cmd"`
	Args        []string `json:"args"`
	Path        string   `json:"path"`
	Set         []string `json:"env"` // "NAME=value", over the session's
	Cols        int      `json:"cols"`
	Rows        int      `json:"rows"`
	Scrollback  int      `json:"scrollback"` // as in OpenPTY
	Record      bool     `json:"record"`
	RecordInput bool     `json:"record_input"`
}

// OpenTerminal asks a session for a terminal: the session adds directory,
// environment and executable, asks policy, and records it.
type OpenTerminal struct {
	Key        string
	Principal  Principal
	Cmd        string
	Args       []string
	Cwd        string
	Set        []string // "NAME=value"
	Cols, Rows int      // 0: the default
	Scrollback int      // as in OpenPTY

	Record, RecordInput bool // as in OpenPTY

	// PlanRef names an approved plan to open instead; all of the above but Key
	// and Principal is then empty.
	PlanRef PlanRef
}

// Reply pairs OpenTerminal with its answer, a PTYOpened.
func (OpenTerminal) Reply(Raw) {}

// OpenPTY asks for a terminal that runs a program. Whether it may run has been
// decided by whoever asks.
type OpenPTY struct {
	Session   SessionName
	Principal Principal
	Cmd       string // as the user wrote it
	Args      []string
	Path      string   // the resolved executable
	Dir       string   // of the session, or the override
	Env       []string // of the session
	Set       []string // overrides, "NAME=value"; they win
	Cols      int      // 0: the default
	Rows      int
	// Scrollback is how many lines are kept; 0 is the default, negative none.
	Scrollback int
	// Record keeps what is shown, and RecordInput also what is typed while the
	// terminal echoes it.
	Record, RecordInput bool
	// Limit is how many terminals the principal may have; 0: as many as fit.
	Limit int
	// Key names the call: asked again under it, it opens nothing new.
	Key string
}

// Reply pairs OpenPTY with its answer.
func (OpenPTY) Reply(PTYOpened) {}

// PTYOpened is a terminal that has started.
type PTYOpened struct {
	PTY   PTYID    `json:"pty_id"`
	URI   string   `json:"uri"`
	PID   int      `json:"pid"`
	Cmd   string   `json:"cmd"`
	Args  []string `json:"args"`
	Cols  int      `json:"cols"`
	Rows  int      `json:"rows"`
	Alive bool     `json:"alive"`
}

// PTYWait are conditions that must hold at once.
type PTYWait struct {
	Text               *string `json:"text,omitempty"`
	Regex              *string `json:"regex,omitempty"`
	ScreenChangedSince *uint64 `json:"screen_changed_since,omitempty"`
	StableMS           *int    `json:"stable_ms,omitempty"`
	Exit               bool    `json:"exit,omitempty"`
	TimeoutMS          int     `json:"timeout_ms,omitempty"`
}

// SendPTY types into a terminal. Input is an item or an array of items as they
// came: a string, or an object with exactly one of text, key,
// bytes, paste and mouse.
type SendPTY struct {
	Session SessionName
	Reader  string // the connection; empty: the read does not count
	PTY     PTYID
	Input   json.RawMessage
	Wait    *PTYWait
	// Seq rises with every send of the reader, so that one that comes again is
	// typed once, and in its order. 0 is always typed.
	Seq uint64
}

// Reply pairs SendPTY with its answer.
func (SendPTY) Reply(PTYSent) {}

// PTYSent says what went in. Screen is there when the call waited.
type PTYSent struct {
	PTY       PTYID    `json:"pty_id"`
	BytesSent int      `json:"bytes_sent"`
	Warnings  []string `json:"warnings"`
	Blocked   bool     `json:"blocked"`
	*Screen
}

// PTYRange is lines of scrollback by absolute number, To excluded.
type PTYRange struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// ReadPTY asks what a terminal shows.
type ReadPTY struct {
	Session    SessionName
	Reader     string // the connection; empty: the read does not count
	PTY        PTYID
	Wait       *PTYWait
	Scrollback *PTYRange
	// Attrs asks for colours and styles too. They are those of the answer's
	// moment, and so is then the screen.
	Attrs bool
}

// Reply pairs ReadPTY with its answer.
func (ReadPTY) Reply(Screen) {}

// Screen is what a terminal shows. Lines has exactly Rows strings.
type Screen struct {
	PTY           PTYID      `json:"pty_id"`
	Lines         []string   `json:"screen"`
	Cursor        PTYCursor  `json:"cursor"`
	Changed       bool       `json:"changed"`
	Alive         bool       `json:"alive"`
	Exit          *PTYExit   `json:"exit"`
	PID           int        `json:"pid"`
	Cmd           string     `json:"cmd"`
	Cols          int        `json:"cols"`
	Rows          int        `json:"rows"`
	Version       uint64     `json:"version"`
	Title         string     `json:"title"`
	AltScreen     bool       `json:"alt_screen"`
	Mouse         bool       `json:"mouse"`
	Paste         bool       `json:"bracketed_paste"`
	ScrollbackLen int        `json:"scrollback_len"`
	Wait          *PTYWaited `json:"wait,omitempty"`
	// Keyboard is who alone may type for now.
	Keyboard *PTYHolder `json:"keyboard,omitempty"`
	// Recording is there once a recorded program has ended.
	Recording *PTYRecording `json:"recording,omitempty"`
	*PTYLines
	*PTYAttrs
}

// PTYAttrs is the part of a screen that says how it is drawn.
type PTYAttrs struct {
	Runs []PTYRun `json:"attrs"`
}

// PTYRun is cells of one row that are drawn alike and not plainly. SGR is the
// rendition as parameters of the control sequence, such as "1;31".
type PTYRun struct {
	Row int    `json:"row"`
	Col int    `json:"col"`
	Len int    `json:"len"`
	SGR string `json:"sgr"`
}

// PTYLines is the scrollback part of a screen.
type PTYLines struct {
	Text      []string `json:"lines"`
	FirstLine int64    `json:"first_line"`
	NextLine  int64    `json:"next_line"`
}

// PTYCursor is the cursor's cell, 0-based.
type PTYCursor struct {
	Row    int  `json:"row"`
	Col    int  `json:"col"`
	Hidden bool `json:"hidden"`
}

// PTYExit is how a terminal's program ended: a status, or a signal's name.
type PTYExit struct {
	Status *int    `json:"status"`
	Signal *string `json:"signal"`
}

// PTYWaited says how a wait ended. Rule is what decided: the conditions, by
// name and joined by "+", or "timeout", "exit" or "closed".
type PTYWaited struct {
	Met       bool   `json:"met"`
	ElapsedMS int64  `json:"elapsed_ms"`
	Rule      string `json:"rule"`
}

// PTYHolder is who holds the keyboard of a terminal.
type PTYHolder struct {
	Holder    string `json:"holder"`
	Yours     bool   `json:"yours"` // the caller's connection holds it
	ExpiresMS int64  `json:"expires_ms"`
}

// HoldPTY takes the keyboard of a terminal for a connection, or gives it back:
// nobody else can type until Seconds are over. Typing holds it for as long again.
type HoldPTY struct {
	Session SessionName
	Reader  string // the connection
	Name    string // as others are told
	PTY     PTYID
	Seconds int // 0 gives it back
}

// Reply pairs HoldPTY with its answer.
func (HoldPTY) Reply(PTYHeld) {}

// PTYHeld says who holds the keyboard; nobody when Keyboard is nil.
type PTYHeld struct {
	PTY      PTYID      `json:"pty_id"`
	Keyboard *PTYHolder `json:"keyboard"`
}

// RecordPTY asks for what has been recorded so far.
type RecordPTY struct {
	Session SessionName
	PTY     PTYID
}

// Reply pairs RecordPTY with its answer.
func (RecordPTY) Reply(PTYRecording) {}

// PTYRecording is a recording in the content store: as an asciicast (version 2)
// and as the log from which every other form can be made.
type PTYRecording struct {
	Ref   Ref   `json:"ref"`
	Log   Ref   `json:"log"`
	Bytes int64 `json:"bytes"` // of the log
	// Truncated says that recording stopped before the end, at its limit.
	Truncated bool `json:"truncated"`
}

// ResizePTY changes a terminal's size.
type ResizePTY struct {
	Session SessionName
	PTY     PTYID
	Cols    int
	Rows    int
}

// Reply pairs ResizePTY with its answer.
func (ResizePTY) Reply(PTYResized) {}

// PTYResized is the size a terminal has now.
type PTYResized struct {
	PTY  PTYID `json:"pty_id"`
	Cols int   `json:"cols"`
	Rows int   `json:"rows"`
}

// ClosePTY ends a terminal and everything in it.
type ClosePTY struct {
	Session SessionName
	PTY     PTYID
	Key     string // the same again is answered again; may be empty
}

// Reply pairs ClosePTY with its answer.
func (ClosePTY) Reply(PTYClosed) {}

// PTYClosed is a terminal that is gone.
type PTYClosed struct {
	PTY       PTYID         `json:"pty_id"`
	Closed    bool          `json:"closed"`
	Exit      *PTYExit      `json:"exit"`
	Recording *PTYRecording `json:"recording,omitempty"`
}

// ClosePTYs ends the terminals of a session, or with All every terminal.
type ClosePTYs struct {
	Session SessionName
	All     bool
}

// Reply pairs ClosePTYs with its answer.
func (ClosePTYs) Reply(PTYsClosed) {}

// PTYsClosed counts the terminals that were closed.
type PTYsClosed struct{ Count int }

// ListPTYs asks for the terminals of a session.
type ListPTYs struct{ Session SessionName }

// Reply pairs ListPTYs with its answer.
func (ListPTYs) Reply(PTYList) {}

// PTYList is a session's terminals, ascending.
type PTYList struct {
	PTYs []PTYRow `json:"ptys"`
}

// PTYRow is one terminal of a list.
type PTYRow struct {
	PTY   PTYID  `json:"pty_id"`
	Cmd   string `json:"cmd"`
	PID   int    `json:"pid"`
	Cols  int    `json:"cols"`
	Rows  int    `json:"rows"`
	Alive bool   `json:"alive"`
}
