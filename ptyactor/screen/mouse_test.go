package screen

import (
	"strings"
	"testing"
)

// What a terminal sends for the mouse, in the modes that programs choose.
func TestEncodeMouse(t *testing.T) {
	at := func(a MouseAction, button int, mods Mod) MouseEvent {
		return MouseEvent{Action: a, Button: button, Mods: mods, Row: 1, Col: 4}
	}
	tests := []struct {
		name, setup string
		event       MouseEvent
		want        string
	}{
		{"off", "", at(MouseClick, LeftButton, 0), "error: not asked for the mouse"},
		{"off again", "\x1b[?1000h\x1b[?1000l", at(MouseClick, LeftButton, 0), "error: not asked for the mouse"},
		{"x10 press only", "\x1b[?9h", at(MouseClick, LeftButton, Ctrl), "\x1b[M %\""},
		{"x10 has no wheel", "\x1b[?9h", at(MouseClick, WheelUp, 0), "error: three buttons"},
		{"bytes", "\x1b[?1000h", at(MouseClick, RightButton, 0), "\x1b[M\"%\"\x1b[M#%\""},
		{"bytes with control", "\x1b[?1000h", at(MouseDown, LeftButton, Ctrl), "\x1b[M0%\""},
		{"sgr click", "\x1b[?1000;1006h", at(MouseClick, LeftButton, 0), "\x1b[<0;5;2M\x1b[<0;5;2m"},
		{"sgr release", "\x1b[?1002h\x1b[?1006h", at(MouseUp, MiddleButton, Shift), "\x1b[<5;5;2m"},
		{"sgr wheel", "\x1b[?1000;1006h", at(MouseClick, WheelDown, Alt), "\x1b[<73;5;2M"},
		{"sgr drag", "\x1b[?1002;1006h", at(MouseMove, LeftButton, 0), "\x1b[<32;5;2M"},
		{"motion in button mode", "\x1b[?1000;1006h", at(MouseMove, LeftButton, 0), "error: not for its motion"},
		{"free motion in drag mode", "\x1b[?1002;1006h", at(MouseMove, NoButton, 0), "error: with a button down"},
		{"free motion", "\x1b[?1003;1006h", at(MouseMove, NoButton, 0), "\x1b[<35;5;2M"},
		{"urxvt", "\x1b[?1000;1015h", at(MouseClick, LeftButton, 0), "\x1b[32;5;2M\x1b[35;5;2M"},
		{"utf8", "\x1b[?1000;1005h", MouseEvent{Action: MouseDown, Row: 0, Col: 299}, "\x1b[M \u014c!"},
		{"beyond bytes", "\x1b[?1000h", MouseEvent{Col: 223}, "error: end at column and row 222"},
		{"last of bytes", "\x1b[?1000h", MouseEvent{Action: MouseDown, Col: 222}, "\x1b[M \xff!"},
	}
	for _, engine := range []Engine{Own, XVT} {
		for _, tt := range tests {
			s := engine.New(80, 24, 0)
			s.Write([]byte(tt.setup))
			b, err := EncodeMouse(tt.event, s.Modes())
			got := string(b)
			if err != nil {
				got = "error: " + err.Error()
			}
			want, isError := strings.CutPrefix(tt.want, "error: ")
			if isError && (err == nil || !strings.Contains(got, want)) || !isError && got != tt.want {
				t.Errorf("%s, %s: got %q, want %q", engine, tt.name, got, tt.want)
			}
		}
	}
}
