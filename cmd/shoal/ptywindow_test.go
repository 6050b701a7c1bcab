package main

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// onWindow is what a person's terminal shows of a screen.
func onWindow(w *window, s messages.Screen) *screen.Snapshot {
	own := screen.New(w.cols, w.rows, 0)
	own.Write([]byte(strings.Repeat("#", w.cols*w.rows))) // what was there before
	own.Write([]byte(w.picture(s)))
	return own.Snapshot()
}

func TestWindow(t *testing.T) {
	var text strings.Builder
	for y := range 24 {
		fmt.Fprintf(&text, "\x1b[%d;1Hrow %02d %s 世界世界 end", y+1, y, strings.Repeat("0123456789", 5))
	}
	at := func(row, col int) messages.Screen {
		return shownAs(80, 24, text.String()+fmt.Sprintf("\x1b[%d;%dH", row+1, col+1))
	}
	w := &window{cols: 20, rows: 6}
	for _, c := range []struct {
		row, col           int // of the cursor
		top, left          int
		first              string
		cursorRow, cursorX int
	}{
		{0, 0, 0, 0, "row 00 0123456789012", 0, 0},
		{4, 19, 0, 0, "row 00 0123456789012", 4, 19},
		{5, 0, 1, 0, "row 01 0123456789012", 4, 0},
		{3, 0, 1, 0, "row 01 0123456789012", 2, 0}, // still in view
		{23, 79, 19, 60, "界世界 end", 4, 19},
		{0, 59, 0, 59, " 界世界 end", 0, 0}, // 世 is cut in half
		{0, 20, 0, 20, "34567890123456789012", 0, 0},
	} {
		shot := onWindow(w, at(c.row, c.col))
		if w.top != c.top || w.left != c.left || shot.Lines[0] != c.first || shot.Row != c.cursorRow || shot.Col != c.cursorX || shot.Hidden {
			t.Errorf("cursor at %d,%d: %d,%d shows %q, cursor %d,%d; want %+v", c.row, c.col, w.top, w.left, shot.Lines, shot.Row, shot.Col, c)
		}
		if len(shot.Lines) != 6 || strings.Contains(strings.Join(shot.Lines, ""), "#") {
			t.Errorf("left over: %q", shot.Lines)
		}
	}
	hidden := at(23, 79)
	hidden.Cursor.Hidden = true
	if shot := onWindow(w, hidden); w.top != 0 || w.left != 20 || !shot.Hidden {
		t.Errorf("a hidden cursor moves the window to %d,%d", w.top, w.left)
	}
}

// A window with room shows all, with colours, and the state below.
func TestWindowWithRoom(t *testing.T) {
	s := shownAs(10, 3, "\x1b[31mred\x1b[m 世e\u0301\r\n\x1b[44mblue\x1b[K")
	s.PTY, s.Cmd, s.Alive = "pty:7", "sh", true
	w := &window{cols: 60, rows: 10}
	own := screen.New(60, 10, 0)
	own.Write([]byte(w.picture(s)))
	shot := own.Snapshot()
	want := []string{"red 世e\u0301", "blue", "", " pty:7 sh | watching | Ctrl-] k keyboard, q leave", "", "", "", "", "", ""}
	if diff := cmp.Diff(want, shot.Lines); diff != "" {
		t.Error(diff)
	}
	if shot.Row != 1 || shot.Col != 4 {
		t.Errorf("cursor %d,%d", shot.Row, shot.Col)
	}
	runs := own.Runs()
	if len(runs) < 2 || runs[0] != (screen.Run{Row: 0, Col: 0, Len: 3, SGR: "31"}) || runs[1] != (screen.Run{Row: 1, Col: 0, Len: 10, SGR: "44"}) {
		t.Errorf("colours: %v", runs)
	}
}

// The smallest windows show something and break nothing.
func TestSmallWindows(t *testing.T) {
	s := shownAs(80, 24, strings.Repeat("世界 text ", 180))
	for cols := 1; cols < 12; cols++ {
		for rows := 1; rows < 5; rows++ {
			shot := onWindow(&window{cols: cols, rows: rows}, s)
			for _, line := range shot.Lines {
				if strings.Contains(line, "#") || screen.Width(line) > cols {
					t.Errorf("%dx%d: %q", cols, rows, shot.Lines)
				}
			}
		}
	}
}
