package screen

// synchronized is the mode that holds output together.
const synchronized = 2026

// modes are the settings of a terminal that programs switch.
type modes struct {
	autowrap, reverseWrap, origin, insert, newline bool
	cursorKeys, keypad, backarrow                  bool
	hidden, blink, reverse, smooth, repeat         bool
	paste, focus, sync                             bool
	mouse                                          int // 0, 9, 1000, 1002, 1003
	mouseSGR, mouseUTF8, mouseURXVT, altScroll     bool
}

func newModes() modes { return modes{autowrap: true, repeat: true} }

// public is what encoders of input need.
func (m *modes) public() Modes {
	return Modes{AppCursor: m.cursorKeys, AppKeypad: m.keypad, NewLine: m.newline, BackarrowIsBS: m.backarrow,
		BracketedPaste: m.paste, MouseReport: MouseReport(m.mouse), MouseFormat: m.mouseFormat(), Synchronized: m.sync}
}

// mouseFormat is the way of writing reports that counts when several are asked
// for.
func (m *modes) mouseFormat() MouseFormat {
	switch {
	case m.mouseSGR:
		return MouseSGR
	case m.mouseURXVT:
		return MouseURXVT
	case m.mouseUTF8:
		return MouseUTF8
	}
	return MouseBytes
}

// flag is the setting behind a private mode that is only remembered.
func (m *modes) flag(mode int) *bool {
	switch mode {
	case 1:
		return &m.cursorKeys
	case 4:
		return &m.smooth
	case 5:
		return &m.reverse
	case 7:
		return &m.autowrap
	case 8:
		return &m.repeat
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
	case 1015:
		return &m.mouseURXVT
	case 2004:
		return &m.paste
	case synchronized:
		return &m.sync
	}
	return nil
}

// ansi sets or resets one of the modes without question mark.
func (m *modes) ansi(mode int, on bool) {
	switch mode {
	case 4:
		m.insert = on
	case 20:
		m.newline = on
	}
}

// setMouse chooses the kind of mouse reports.
func (m *modes) setMouse(mode int, on bool) {
	switch {
	case on:
		m.mouse = mode
	case m.mouse == mode:
		m.mouse = 0
	}
}

// soft is what a soft reset does to modes.
func (m *modes) soft() {
	m.hidden, m.origin, m.insert, m.cursorKeys, m.keypad = false, false, false, false, false
	m.autowrap = true
}

// setting answers DECRQM: 1 set, 2 reset, 4 always reset, 0 unknown. alt says that the alternate
// screen is shown, saved that a cursor is.
func (m *modes) setting(mode int, private, alt, saved bool) int {
	var on bool
	switch {
	case !private:
		switch mode {
		case 4:
			on = m.insert
		case 20:
			on = m.newline
		case 12: // local echo is off
			on = true
		case 2, 3:
		case 1, 5, 7, 10, 11, 13, 14, 15, 16, 17, 18, 19:
			return 4 // reset for ever
		default:
			return 0
		}
	case m.flag(mode) != nil:
		on = *m.flag(mode)
	default:
		switch mode {
		case 3, 40:
		case 6:
			on = m.origin
		case 25:
			on = !m.hidden
		case 47, 1047, 1049:
			on = alt
		case 1048:
			on = saved
		case 9, 1000, 1002, 1003:
			on = m.mouse == mode
		default:
			return 0
		}
	}
	if on {
		return 1
	}
	return 2
}
