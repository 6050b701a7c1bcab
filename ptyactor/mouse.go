package ptyactor

import (
	"bytes"
	"encoding/json"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// mouseInput is the mouse member of an input item. Row and Col are a cell of
// the screen, 0-based.
type mouseInput struct {
	Row    *int     `json:"row"`
	Col    *int     `json:"col"`
	Button string   `json:"button"`
	Action string   `json:"action"`
	Mods   []string `json:"mods"`
}

var mouseButtons = map[string]int{
	"": screen.LeftButton, "left": screen.LeftButton, "middle": screen.MiddleButton, "right": screen.RightButton, "none": screen.NoButton,
	"wheel_up": screen.WheelUp, "wheel_down": screen.WheelDown, "wheel_left": screen.WheelLeft, "wheel_right": screen.WheelRight,
}

var mouseActions = map[string]screen.MouseAction{
	"": screen.MouseClick, "click": screen.MouseClick, "press": screen.MouseDown, "release": screen.MouseUp, "move": screen.MouseMove,
}

var mouseMods = map[string]screen.Mod{"shift": screen.Shift, "alt": screen.Alt, "ctrl": screen.Ctrl}

func parseMouse(raw json.RawMessage, at string) (item, *messages.Error) {
	var in mouseInput
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil {
		return item{}, badInput("%s: want {row, col, button?, action?, mods?}: %v", at, err)
	}
	button, known := mouseButtons[in.Button]
	action, can := mouseActions[in.Action]
	switch {
	case in.Row == nil || in.Col == nil:
		return item{}, badInput("%s: row and col are needed, from 0", at)
	case !known:
		return item{}, badInput("%s.button: want left, middle, right, none, wheel_up, wheel_down, wheel_left or wheel_right, got %q", at, in.Button)
	case !can:
		return item{}, badInput("%s.action: want click, press, release or move, got %q", at, in.Action)
	case button == screen.NoButton && action != screen.MouseMove:
		return item{}, badInput("%s.button: none goes with the action move only", at)
	}
	e := &screen.MouseEvent{Action: action, Button: button, Row: *in.Row, Col: *in.Col}
	for _, name := range in.Mods {
		mod, known := mouseMods[name]
		if !known {
			return item{}, badInput("%s.mods: want shift, alt or ctrl, got %q", at, name)
		}
		e.Mods |= mod
	}
	return item{mouse: e, at: at}, nil
}

// encodeMouse is a mouse event as the program has asked for it.
func encodeMouse(it item, m screen.Modes, cols, rows int) ([]byte, *messages.Error) {
	if e := it.mouse; e.Row < 0 || e.Row >= rows || e.Col < 0 || e.Col >= cols {
		return nil, badInput("%s: cell %d,%d is outside the screen of %d rows and %d columns", it.at, e.Row, e.Col, rows, cols)
	}
	b, err := screen.EncodeMouse(*it.mouse, m)
	if err != nil {
		return nil, badInput("%s: %v", it.at, err)
	}
	return b, nil
}
