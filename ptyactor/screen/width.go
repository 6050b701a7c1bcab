package screen

import "github.com/mattn/go-runewidth"

// widths counts cells as a program's wcwidth does: by character, ambiguous
// ones narrow, whatever the locale.
var widths = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

func width(r rune) int {
	if r < 0x300 {
		return 1
	}
	return widths.RuneWidth(r)
}
