package screen

import (
	"fmt"
	"unicode/utf8"
)

// MouseReport says which of its events a program wants to be told.
type MouseReport int

// The reports, by the number of the mode that asks for them.
const (
	MouseOff     MouseReport = 0
	MousePress   MouseReport = 9    // presses of the three buttons
	MouseButtons MouseReport = 1000 // presses, releases and the wheel
	MouseDrag    MouseReport = 1002 // and motion while a button is down
	MouseMotion  MouseReport = 1003 // and all other motion
)

// MouseFormat is how reports are written.
type MouseFormat int

// The formats. All but MouseSGR and MouseURXVT have a last column and row.
const (
	MouseBytes MouseFormat = iota
	MouseUTF8
	MouseSGR
	MouseURXVT
)

// MouseAction is what is done with a button.
type MouseAction int

// The actions. A click is a press and a release.
const (
	MouseClick MouseAction = iota
	MouseDown
	MouseUp
	MouseMove
)

// Buttons, as reports count them. NoButton is for motion alone.
const (
	LeftButton   = 0
	MiddleButton = 1
	RightButton  = 2
	NoButton     = 3
	WheelUp      = 64
	WheelDown    = 65
	WheelLeft    = 66
	WheelRight   = 67
)

// MouseEvent is one use of the mouse on a cell, 0-based.
type MouseEvent struct {
	Action   MouseAction
	Button   int
	Mods     Mod
	Row, Col int
}

// EncodeMouse is the bytes of an event for a terminal in the given modes. What
// the program has not asked for is an error.
func EncodeMouse(e MouseEvent, m Modes) ([]byte, error) {
	wheel := e.Button >= WheelUp
	switch {
	case m.MouseReport == MouseOff:
		return nil, fmt.Errorf("the program has not asked for the mouse")
	case e.Action == MouseMove && m.MouseReport < MouseDrag:
		return nil, fmt.Errorf("the program has asked for the mouse's buttons, not for its motion")
	case e.Action == MouseMove && e.Button == NoButton && m.MouseReport < MouseMotion:
		return nil, fmt.Errorf("the program has asked for motion with a button down only")
	case wheel && m.MouseReport == MousePress:
		return nil, fmt.Errorf("the program has asked for presses of the three buttons only")
	}
	if last := m.MouseFormat.last(); e.Col >= last || e.Row >= last {
		return nil, fmt.Errorf("the program's mouse reports end at column and row %d", last-1)
	}
	var out []byte
	if e.Action != MouseUp {
		out = m.mouse(out, e, false)
	}
	// A wheel is never released, and some programs hear of presses only.
	if (e.Action == MouseClick || e.Action == MouseUp) && !wheel && m.MouseReport != MousePress {
		out = m.mouse(out, e, true)
	}
	return out, nil
}

// last is the first column that the format cannot tell.
func (f MouseFormat) last() int {
	switch f {
	case MouseBytes:
		return 255 - 32
	case MouseUTF8:
		return 2047 - 32
	}
	return MaxSide
}

// mouse appends one report.
func (m Modes) mouse(out []byte, e MouseEvent, up bool) []byte {
	b := e.Button
	if m.MouseReport != MousePress {
		b |= int(e.Mods) << 2
	}
	if e.Action == MouseMove {
		b |= 32
	}
	if m.MouseFormat == MouseSGR {
		final := 'M'
		if up {
			final = 'm'
		}
		return fmt.Appendf(out, "\x1b[<%d;%d;%d%c", b, e.Col+1, e.Row+1, final)
	}
	if up {
		b = b&^3 | NoButton
	}
	switch m.MouseFormat {
	case MouseURXVT:
		return fmt.Appendf(out, "\x1b[%d;%d;%dM", b+32, e.Col+1, e.Row+1)
	case MouseUTF8:
		out = append(out, "\x1b[M"...)
		for _, n := range []int{b, e.Col + 1, e.Row + 1} {
			out = utf8.AppendRune(out, rune(n+32))
		}
		return out
	}
	return append(out, 0x1b, '[', 'M', byte(b+32), byte(e.Col+33), byte(e.Row+33))
}
