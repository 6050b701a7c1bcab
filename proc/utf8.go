package proc

import "unicode/utf8"

// WholeRunes is how many bytes of b can be shown without cutting a character
// at the end: b less the incomplete character it may end with. Bytes that can
// never become a character count as whole.
func WholeRunes(b []byte) int {
	for back := 1; back < utf8.UTFMax && back <= len(b); back++ {
		c := b[len(b)-back]
		if c < 0x80 {
			break
		}
		if utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-back:]) {
				return len(b) - back
			}
			break
		}
	}
	return len(b)
}
