package screen

import "github.com/charmbracelet/x/vt"

// modes are the settings of a terminal, all of them ours.
type modes struct {
	autowrap, reverseWrap, origin, insert, newline bool
	cursorKeys, keypad, backarrow                  bool
	hidden, blink, reverse                         bool
	paste, focus, sync                             bool
	mouse                                          int // 0, 9, 1000, 1002, 1003
	mouseSGR, mouseUTF8, altScroll                 bool
}

func newModes() modes { return modes{autowrap: true} }

// Modes implements Screen.
func (x *xvt) Modes() Modes {
	m := &x.mode
	return Modes{AppCursor: m.cursorKeys, AppKeypad: m.keypad, NewLine: m.newline, BackarrowIsBS: m.backarrow,
		BracketedPaste: m.paste, Mouse: m.mouse != 0, Synchronized: m.sync}
}

// flag is the setting behind a private mode that is only remembered.
func (m *modes) flag(mode int) *bool {
	switch mode {
	case 1:
		return &m.cursorKeys
	case 5:
		return &m.reverse
	case 7:
		return &m.autowrap
	case 12:
		return &m.blink
	case 45:
		return &m.reverseWrap
	case 66:
		return &m.keypad
	case 67:
		return &m.backarrow
	case 1004:
		return &m.focus
	case 1005:
		return &m.mouseUTF8
	case 1006:
		return &m.mouseSGR
	case 1007:
		return &m.altScroll
	case 2004:
		return &m.paste
	case 2026:
		return &m.sync
	}
	return nil
}

// privateMode sets or resets a DEC mode; unknown ones are ignored.
func (x *xvt) privateMode(mode int, on bool) {
	if f := x.mode.flag(mode); f != nil {
		*f = on
		return
	}
	switch mode {
	case 6:
		x.mode.origin = on
		x.address(0, 0)
	case 25:
		x.mode.hidden = !on
	case 9, 1000, 1002, 1003:
		x.mode.mouse = 0
		if on {
			x.mode.mouse = mode
		}
	case 47, 1047:
		x.switchScreen(on)
	case 1048:
		if on {
			x.save()
		} else {
			x.restore()
		}
	case 1049:
		switch {
		case on && !x.alt():
			x.save()
			x.switchScreen(true)
		case !on:
			x.switchScreen(false)
			x.restore()
		}
	}
}

// switchScreen shows the alternate screen, blank, or the main one again. The
// cursor stays where it is.
func (x *xvt) switchScreen(alt bool) {
	if alt == x.alt() {
		return
	}
	cx, cy := x.cursor()
	pending := x.wrapNext
	if alt {
		x.mainWrapped, x.wrapped = x.wrapped, make([]bool, x.rows)
		x.e = x.blankSecond()
	} else {
		x.wrapped, x.mainWrapped = fit(x.mainWrapped, x.rows), nil
		x.e = x.main
		x.emit("\x1b[m")
	}
	x.emit(x.pen)
	x.setRegion()
	x.moveTo(cx, cy)
	x.wrapNext = pending
}

// blankSecond is the emulator of the alternate screen, reset.
func (x *xvt) blankSecond() *vt.Emulator {
	if x.second == nil {
		x.second = newEmulator(x.cols, x.rows)
	} else if x.second.Width() != x.cols || x.second.Height() != x.rows {
		x.second.Resize(x.cols, x.rows)
	}
	x.second.WriteString("\x1bc\x1b[?7l")
	return x.second
}

func fit(b []bool, n int) []bool {
	out := make([]bool, n)
	copy(out, b)
	return out
}

// ansiMode sets or resets one of the modes without question mark.
func (x *xvt) ansiMode(mode int, on bool) {
	switch mode {
	case 4:
		x.mode.insert = on
	case 20:
		x.mode.newline = on
	}
}

// setting answers DECRQM: 1 set, 2 reset, 0 unknown.
func (x *xvt) setting(mode int, private bool) int {
	var on bool
	switch {
	case !private && mode == 4:
		on = x.mode.insert
	case !private && mode == 20:
		on = x.mode.newline
	case !private:
		return 0
	case x.mode.flag(mode) != nil:
		on = *x.mode.flag(mode)
	default:
		switch mode {
		case 6:
			on = x.mode.origin
		case 25:
			on = !x.mode.hidden
		case 47, 1047, 1049:
			on = x.alt()
		case 1048:
			on = x.savedSlot().set
		case 9, 1000, 1002, 1003:
			on = x.mode.mouse == mode
		default:
			return 0
		}
	}
	if on {
		return 1
	}
	return 2
}
