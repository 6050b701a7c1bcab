package screen

import "github.com/mattn/go-runewidth"

// widths counts cells as a program's wcwidth does: by character, ambiguous
// ones narrow, whatever the locale.
var widths = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

func width(r rune) int {
	if r < 0x300 {
		return 1
	}
	if r >= 0x1160 && r <= 0x11ff || r >= 0xd7b0 && r <= 0xd7ff {
		return 0 // vowels and finals of Korean syllables join the one before
	}
	return widths.RuneWidth(r)
}
