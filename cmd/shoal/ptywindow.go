package main

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/ptyactor/screen"
)

// window is where a person watches a terminal: its own, which may be smaller. It
// shows the part in which the cursor is.
type window struct {
	of         int // descriptor of the person's terminal
	cols, rows int
	top, left  int  // what of the screen stands in its corner
	changed    bool // and so what it shows is anybody's guess
}

// The size of a window that says none.
const (
	windowCols = 80
	windowRows = 24
)

func (w *window) measure() {
	w.cols, w.rows = windowCols, windowRows
	if size, err := unix.IoctlGetWinsize(w.of, unix.TIOCGWINSZ); err == nil && size.Col > 0 && size.Row > 0 {
		w.cols, w.rows = int(size.Col), int(size.Row)
	}
}

// follow moves the shown part as little as brings the cursor in, with one row
// kept for the status.
func (w *window) follow(s messages.Screen) {
	cols, rows := w.cols, max(w.rows-1, 1)
	shift := func(from, at, have, all int) int {
		from = min(max(from, at-have+1), at)
		return max(0, min(from, all-have))
	}
	row, col := s.Cursor.Row, s.Cursor.Col
	if s.Cursor.Hidden { // it need not be where the eye should be
		row, col = min(max(row, w.top), w.top+rows-1), min(max(col, w.left), w.left+cols-1)
	}
	w.top, w.left = shift(w.top, row, rows, s.Rows), shift(w.left, col, cols, s.Cols)
}

// picture is the control sequences that show the screen and, below it, who types.
func (w *window) picture(s messages.Screen) string {
	w.follow(s)
	rows := min(len(s.Lines), max(w.rows-1, 1))
	var b strings.Builder
	b.WriteString("\x1b[?25l\x1b[H")
	if w.changed {
		b.WriteString("\x1b[0m\x1b[2J")
		w.changed = false
	}
	for y := range rows {
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m", y+1)
		w.row(&b, s, w.top+y)
	}
	if w.rows > 1 {
		status := fmt.Sprintf(" %s %s | %s | Ctrl-] k keyboard, q leave ", s.PTY, s.Cmd, holder(s))
		if part := w.part(s); part != "" {
			status = fmt.Sprintf(" %s %s | %s | %s | Ctrl-] k keyboard, q leave ", s.PTY, s.Cmd, holder(s), part)
		}
		fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m\x1b[2K\x1b[7m%s\x1b[0m", rows+1, clipped(status, w.cols))
		if rows+1 < w.rows {
			b.WriteString("\r\n\x1b[J")
		}
	}
	y, x := s.Cursor.Row-w.top, s.Cursor.Col-w.left
	if !s.Cursor.Hidden && y >= 0 && y < rows && x >= 0 && x < w.cols {
		fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[?25h", y+1, x+1)
	}
	return b.String()
}

// part says which cells are shown when it is not all of them.
func (w *window) part(s messages.Screen) string {
	rows := max(w.rows-1, 1)
	if s.Cols <= w.cols && s.Rows <= rows {
		return ""
	}
	return fmt.Sprintf("rows %d-%d, columns %d-%d of %dx%d", w.top+1, min(w.top+rows, s.Rows), w.left+1, min(w.left+w.cols, s.Cols), s.Cols, s.Rows)
}

// row writes the part of a row that is shown. Of a wide character at its edge
// there is a blank.
func (w *window) row(b *strings.Builder, s messages.Screen, y int) {
	styles, x, last := stylesOf(s, y), 0, ""
	right := w.left + w.cols
	line := s.Lines[y]
	for n := screen.Width(line); n < s.Cols && len(styles) > 0; n++ {
		line += " " // blanks may have a background
	}
	for _, r := range line {
		wide := screen.Width(string(r))
		from, to := max(x, w.left), min(x+wide, right)
		shown := to - from
		if wide == 0 && x > w.left && x <= right { // a mark on what stands before
			b.WriteRune(r)
		}
		if shown > 0 {
			if sgr := styles[x]; sgr != last {
				fmt.Fprintf(b, "\x1b[0;%sm", sgr)
				last = sgr
			}
			if shown < wide {
				r = ' '
			}
			b.WriteRune(r)
		}
		x += wide
	}
	b.WriteString("\x1b[0m")
	if x < right {
		b.WriteString("\x1b[K")
	}
}

// clipped is as much of a text as fits so many columns.
func clipped(text string, cols int) string {
	x := 0
	for i, r := range text {
		if x += screen.Width(string(r)); x > cols {
			return text[:i]
		}
	}
	return text
}
