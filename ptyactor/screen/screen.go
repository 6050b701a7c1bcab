package screen

import "slices"

// Screen is a terminal engine.
type Screen interface {
	// Write feeds output of the program.
	Write(p []byte)
	// Resize changes the grid; sizes are clamped to MaxSide.
	Resize(cols, rows int)
	// Snapshot is what is shown now, cached until something visible changes.
	Snapshot() *Snapshot
	// Frame is the picture from before synchronized output began, which lasts; nil
	// when no output is being held together.
	Frame() *Frame
	// Runs are the cells with colours and styles, by row and column.
	Runs() []Run
	// Modes are the settings that decide how input is encoded.
	Modes() Modes
	// Replies takes the queued answers to the program's queries.
	Replies() []byte
	// Scrollback is the lines numbered from (included) to to (excluded), as far
	// as they are kept, the number of the first of them, and the number the next
	// line that scrolls off will have.
	Scrollback(from, to int64) (lines []string, first, next int64)
	// Faults counts how often the engine had to be rebuilt; the program should
	// then be asked to repaint.
	Faults() int
}

// MaxSide is the greatest number of columns or rows.
const MaxSide = 1000

// Snapshot is an immutable picture of the screen.
type Snapshot struct {
	Cols, Rows int
	// Lines has exactly Rows strings without trailing blanks. A wide character
	// is one character in its string and two columns.
	Lines []string
	// Wrapped says of each line whether the text goes on in the next one.
	Wrapped []bool
	// Row and Col are the cursor's cell, 0-based.
	Row, Col   int
	Hidden     bool
	Title      string
	AltScreen  bool
	Mouse      bool
	Paste      bool
	Scrollback int
	// Top is the absolute number of the main screen's first line.
	Top int64
	// Version rises with every visible change.
	Version uint64

	styles []uint64 // a digest of each row's colours and styles, where known
}

// Modes are what a program has asked of the terminal.
type Modes struct {
	AppCursor      bool // DECCKM
	AppKeypad      bool // DECKPAM
	NewLine        bool // LNM
	BackarrowIsBS  bool // DECBKM
	BracketedPaste bool
	MouseReport    MouseReport
	MouseFormat    MouseFormat
	Synchronized   bool // output is being held together (2026)
}

// same reports whether two snapshots show the same.
func (s *Snapshot) same(o *Snapshot) bool {
	if o == nil || s.Cols != o.Cols || s.Rows != o.Rows || s.Row != o.Row || s.Col != o.Col ||
		s.Hidden != o.Hidden || s.Title != o.Title || s.AltScreen != o.AltScreen ||
		s.Mouse != o.Mouse || s.Paste != o.Paste {
		return false
	}
	return slices.Equal(s.Lines, o.Lines) && slices.Equal(s.Wrapped, o.Wrapped) && slices.Equal(s.styles, o.styles)
}

// follow numbers a snapshot that comes after another, which may be nil, and
// shares what has not changed.
func (s *Snapshot) follow(o *Snapshot) {
	switch {
	case o == nil:
		s.Version = 1
	case s.same(o):
		s.Version = o.Version
		s.Lines, s.Wrapped, s.styles = o.Lines, o.Wrapped, o.styles
	default:
		s.Version = o.Version + 1
	}
}
