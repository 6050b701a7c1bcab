package screen

import (
	"strings"

	"github.com/charmbracelet/x/vt"
)

// Modes implements Screen.
func (x *xvt) Modes() Modes { return x.mode.public() }

// privateMode sets or resets a DEC mode; unknown ones are ignored.
func (x *xvt) privateMode(mode int, on bool) {
	if mode == synchronized {
		x.frames.mark(on, x.frame)
	}
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
		x.mode.setMouse(mode, on)
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

// status is what the answers to queries are about.
func (x *xvt) status() status {
	cx, cy := x.cursor()
	return status{cols: x.cols, rows: x.rows, x: cx, y: cy, top: x.top, bot: x.bot, origin: x.mode.origin,
		rendition: strings.TrimPrefix(strings.TrimPrefix(x.sgr, "0"), ";"), cursorStyle: steadyBlock,
		setting: func(mode int, private bool) int {
			return x.mode.setting(mode, private, x.alt(), x.savedSlot().set)
		}}
}

// Replies implements Screen.
func (x *xvt) Replies() []byte { return x.answers.take() }

func (x *xvt) osc(data []byte, bell bool) { x.answers.osc(data, bell) }

func (x *xvt) dcs(s *sequence, data []byte) { x.answers.dcs(s, data, x.status()) }
