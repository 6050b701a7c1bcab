package messages

import "unicode/utf8"

// AppendString appends s as a JSON string, as Encode spells it but for wrong
// UTF-8, which becomes the character U+FFFD itself.
func AppendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	from := 0
	for i := 0; i < len(s); {
		for len(s)-i >= 8 && plain(eight(s[i:])) {
			i += 8
		}
		if i == len(s) {
			break
		}
		c := s[i]
		if c >= utf8.RuneSelf {
			r, size := utf8.DecodeRuneInString(s[i:])
			switch {
			case r == utf8.RuneError && size == 1:
				dst = append(append(dst, s[from:i]...), "\ufffd"...)
				from = i + 1
			case r == '\u2028' || r == '\u2029': // ends of lines for JavaScript
				dst = append(append(dst, s[from:i]...), '\\', 'u', '2', '0', '2', hex[r&15])
				from = i + size
			}
			i += size
			continue
		}
		if c >= ' ' && c != '"' && c != '\\' {
			i++
			continue
		}
		dst = append(dst, s[from:i]...)
		switch c {
		case '"', '\\':
			dst = append(dst, '\\', c)
		case '\n':
			dst = append(dst, `\n`...)
		case '\t':
			dst = append(dst, `\t`...)
		case '\r':
			dst = append(dst, `\r`...)
		case '\b':
			dst = append(dst, `\b`...)
		case '\f':
			dst = append(dst, `\f`...)
		default:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		from = i
	}
	return append(append(dst, s[from:]...), '"')
}

// eight are the first bytes of s as one number.
func eight(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// plain reports whether eight bytes are ASCII that a JSON string holds as it is.
func plain(x uint64) bool {
	const each, high = 0x0101010101010101, 0x8080808080808080
	// A byte below n borrows from its highest bit when n is taken off.
	return (x|(x-' '*each)|(x^'"'*each-each)|(x^'\\'*each-each))&high == 0
}
