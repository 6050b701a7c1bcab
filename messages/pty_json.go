package messages

import (
	"slices"
	"strconv"
)

// A screen is what agents read most. It is written here in one pass, to the
// letter as Encode does it: reflection and its copies cost more than all the rest
// of a read.

// AppendJSON appends the screen.
func (s Screen) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"pty_id":`...), string(s.PTY))
	return append(s.appendFields(dst), '}')
}

// AppendJSON appends what went in, and the screen if there is one.
func (p PTYSent) AppendJSON(dst []byte) []byte {
	dst = AppendString(append(dst, `{"pty_id":`...), string(p.PTY))
	dst = strconv.AppendInt(append(dst, `,"bytes_sent":`...), int64(p.BytesSent), 10)
	dst = appendStrings(append(dst, `,"warnings":`...), p.Warnings)
	dst = strconv.AppendBool(append(dst, `,"blocked":`...), p.Blocked)
	if p.Screen != nil {
		dst = p.Screen.appendFields(dst)
	}
	return append(dst, '}')
}

// appendFields appends all fields but the first, each after a comma.
func (s *Screen) appendFields(dst []byte) []byte {
	dst = appendStrings(append(dst, `,"screen":`...), s.Lines)
	dst = strconv.AppendInt(append(dst, `,"cursor":{"row":`...), int64(s.Cursor.Row), 10)
	dst = strconv.AppendInt(append(dst, `,"col":`...), int64(s.Cursor.Col), 10)
	dst = strconv.AppendBool(append(dst, `,"hidden":`...), s.Cursor.Hidden)
	dst = strconv.AppendBool(append(dst, `},"changed":`...), s.Changed)
	dst = strconv.AppendBool(append(dst, `,"alive":`...), s.Alive)
	dst = append(dst, `,"exit":`...)
	if s.Exit == nil {
		dst = append(dst, `null`...)
	} else {
		dst = append(dst, JSON(s.Exit)...)
	}
	dst = strconv.AppendInt(append(dst, `,"pid":`...), int64(s.PID), 10)
	dst = AppendString(append(dst, `,"cmd":`...), s.Cmd)
	dst = strconv.AppendInt(append(dst, `,"cols":`...), int64(s.Cols), 10)
	dst = strconv.AppendInt(append(dst, `,"rows":`...), int64(s.Rows), 10)
	dst = strconv.AppendUint(append(dst, `,"version":`...), s.Version, 10)
	dst = AppendString(append(dst, `,"title":`...), s.Title)
	dst = strconv.AppendBool(append(dst, `,"alt_screen":`...), s.AltScreen)
	dst = strconv.AppendBool(append(dst, `,"mouse":`...), s.Mouse)
	dst = strconv.AppendBool(append(dst, `,"bracketed_paste":`...), s.Paste)
	dst = strconv.AppendInt(append(dst, `,"scrollback_len":`...), int64(s.ScrollbackLen), 10)
	if s.Wait != nil {
		dst = append(append(dst, `,"wait":`...), JSON(s.Wait)...)
	}
	if s.Keyboard != nil {
		dst = append(append(dst, `,"keyboard":`...), JSON(s.Keyboard)...)
	}
	if s.Recording != nil {
		dst = append(append(dst, `,"recording":`...), JSON(s.Recording)...)
	}
	if l := s.PTYLines; l != nil {
		dst = appendStrings(append(dst, `,"lines":`...), l.Text)
		dst = strconv.AppendInt(append(dst, `,"first_line":`...), l.FirstLine, 10)
		dst = strconv.AppendInt(append(dst, `,"next_line":`...), l.NextLine, 10)
	}
	if s.PTYAttrs != nil {
		dst = append(append(dst, `,"attrs":`...), JSON(s.Runs)...)
	}
	return dst
}

// appendStrings appends an array of strings, with room for all of it.
func appendStrings(dst []byte, all []string) []byte {
	if all == nil {
		return append(dst, `null`...)
	}
	const around = 512 // bytes of what else there is of a screen
	size := around
	for _, s := range all {
		size += len(s) + len(`"",`)
	}
	dst = append(slices.Grow(dst, size), '[')
	for i, s := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = AppendString(dst, s)
	}
	return append(dst, ']')
}
