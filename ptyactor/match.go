package ptyactor

import (
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

// shows reports whether find finds something that counts. Without a send
// everything on the screen does. With one, a match needs a cell that was not
// there before and is not the echo of what was typed.
func (w *waiter) shows(shot *screen.Snapshot, find func(text string, from int) (int, int, bool)) bool {
	text, counts := joined(shot, w.sent)
	for from := 0; from <= len(text); {
		start, end, ok := find(text, from)
		if !ok {
			return false
		}
		if w.sent == nil {
			return true
		}
		for i := start; i < end; i++ {
			if counts[i] {
				return true
			}
		}
		from = start + 1
	}
	return false
}

// joined is the screen as one text, soft-wrapped lines put together, and for
// each byte whether it is news.
func joined(shot *screen.Snapshot, sent *sentInput) (string, []bool) {
	var b strings.Builder
	var counts []bool
	var before [][]rune
	var echo []rune
	if sent != nil {
		echo = sent.echo
		before = make([][]rune, len(shot.Lines))
		for y := range before {
			before[y] = oldLine(shot, sent, y)
		}
	}
	for y, line := range shot.Lines {
		i := 0
		for _, r := range line {
			isNews := true
			if sent != nil {
				if i < len(before[y]) && before[y][i] == r {
					isNews = false
				} else {
					echo, isNews = unechoed(echo, r)
				}
			}
			b.WriteRune(r)
			for range utf8.RuneLen(r) {
				counts = append(counts, isNews && r != ' ')
			}
			i++
		}
		if y+1 < len(shot.Lines) && !shot.Wrapped[y] {
			b.WriteByte('\n')
			counts = append(counts, false)
		}
	}
	return b.String(), counts
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

// unechoed takes r off the echo that is still to come, if it is next; blanks
// in the echo may be missing on the screen.
func unechoed(echo []rune, r rune) (rest []rune, news bool) {
	for i, e := range echo {
		if e == r {
			return echo[i+1:], false
		}
		if e != ' ' {
			break
		}
	}
	return echo, true
}
