package screen

import "github.com/mattn/go-runewidth"

// widths counts cells as a program's wcwidth does: by character, ambiguous
// ones narrow, whatever the locale.
var widths = &runewidth.Condition{EastAsianWidth: false, StrictEmojiNeutral: true}

// runeSpan is characters of one width.
type runeSpan struct {
	first, last rune
	width       int
}

// commonWidths are most of what is printed beyond Latin, looked at first.
var commonWidths = []runeSpan{
	{0x2500, 0x259f, 1}, // lines and blocks
	{0x4e00, 0x9fff, 2}, // Han
	{0xac00, 0xd7a3, 2}, // Korean syllables
	{0x3041, 0x3096, 2}, // Hiragana
	{0x30a1, 0x30ff, 2}, // Katakana
	{0x0400, 0x0482, 1}, // Cyrillic
}

// rareWidths are where the C library's wcwidth, which programs ask, and the
// Unicode tables of the module we use disagree.
var rareWidths = []runeSpan{
	{0x070f, 0x070f, 1},
	{0x1160, 0x11ff, 0}, // vowels and finals of Korean syllables join the one before
	{0xd7b0, 0xd7ff, 0},
	{0x2630, 0x2637, 1},
	{0x268a, 0x268f, 1},
	{0x3248, 0x324f, 2},
	{0x1171e, 0x1171e, 0},
	{0x1d165, 0x1d166, 1},
	{0x1d16d, 0x1d172, 1},
	{0x1d300, 0x1d376, 1},
	{0xe0020, 0xe007f, 0},
}

// width is the number of cells a character takes: 0, 1 or 2.
func width(r rune) int {
	if r < 0x300 {
		return 1
	}
	for i := range commonWidths {
		if s := &commonWidths[i]; r >= s.first && r <= s.last {
			return s.width
		}
	}
	for i := range rareWidths {
		if s := &rareWidths[i]; r >= s.first && r <= s.last {
			return s.width
		}
	}
	return widths.RuneWidth(r)
}

// Width is the number of cells a text takes.
func Width(text string) int {
	n := 0
	for _, r := range text {
		n += width(r)
	}
	return n
}
