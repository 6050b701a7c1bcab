package ptyactor

import (
	"slices"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/ptyactor/screen"
)

// sentInput is what a send knew when it typed: what was shown, and which
// characters the terminal is going to echo.
type sentInput struct {
	shot *screen.Snapshot
	echo []rune
}

// shows reports whether one of the matches counts. Without a send every one does.
// With one, a match needs a cell that was not there before and is not the echo of
// what was typed. Each visits the matches in order until it is told to stop.
func (w *waiter) shows(shot *screen.Snapshot, each func(text string, visit func(start, end int) (more bool))) bool {
	var counts []bool
	var text string
	if w.sent == nil {
		text = joined(shot)
	} else {
		text, counts = judged(shot, w.sent)
	}
	found := false
	each(text, func(start, end int) bool {
		found = w.sent == nil || slices.Contains(counts[start:end], true)
		return !found
	})
	return found
}

// joined is the screen as one text, soft-wrapped lines put together.
func joined(shot *screen.Snapshot) string {
	size := len(shot.Lines)
	for _, line := range shot.Lines {
		size += len(line)
	}
	var b strings.Builder
	b.Grow(size)
	for y, line := range shot.Lines {
		b.WriteString(line)
		if y+1 < len(shot.Lines) && !shot.Wrapped[y] {
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// judged is the screen as one text, and for each byte whether it is news.
func judged(shot *screen.Snapshot, sent *sentInput) (string, []bool) {
	text := joined(shot)
	counts := make([]bool, 0, len(text))
	echo := echo{left: sent.echo}
	for y, line := range shot.Lines {
		before := oldLine(shot, sent, y)
		i := 0
		for at, r := range line {
			_, size := utf8.DecodeRuneInString(line[at:])
			isNews := (i >= len(before) || before[i] != r) && !echo.takes(r)
			for range size {
				counts = append(counts, isNews && r != ' ')
			}
			i++
		}
		if y+1 < len(shot.Lines) && !shot.Wrapped[y] {
			counts = append(counts, false)
		}
	}
	return text, counts
}

// oldLine is what stood on row y when the send was made: the same line of
// output, if it has scrolled.
func oldLine(shot *screen.Snapshot, sent *sentInput, y int) []rune {
	if shot.AltScreen != sent.shot.AltScreen {
		return nil
	}
	old := y
	if !shot.AltScreen {
		old = int(shot.Top + int64(y) - sent.shot.Top)
	}
	if old < 0 || old >= len(sent.shot.Lines) {
		return nil
	}
	return []rune(sent.shot.Lines[old])
}

// echo is what the terminal is still going to echo.
type echo struct {
	left   []rune
	blanks int // at the start of left, as far as they have been counted
}

// takes takes r off the echo, if it is next; blanks in the echo may be missing on
// the screen.
func (e *echo) takes(r rune) bool {
	for e.blanks < len(e.left) && e.left[e.blanks] == ' ' {
		e.blanks++
	}
	switch {
	case r == ' ' && e.blanks > 0:
		e.left, e.blanks = e.left[1:], e.blanks-1
	case e.blanks < len(e.left) && e.left[e.blanks] == r:
		e.left, e.blanks = e.left[e.blanks+1:], 0
	default:
		return false
	}
	return true
}
