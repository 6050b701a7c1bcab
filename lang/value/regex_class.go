package value

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"golang.org/x/text/unicode/rangetable"
)

// The Unicode meaning of \d, \w and \s, as the inside of a class. Each starts
// and ends with what cannot be the end of a range: in `[\w-.]` the hyphen is an
// ordinary character, and `[!-\s]` is wrong.
const (
	classDigit = `\p{Nd}`
	classWord  = `\p{L}\p{M}\x{200C}\x{200D}\p{Nd}\p{Pc}`
	classSpace = `\p{Zs}\t-\r\x{85}\p{Zl}\p{Zp}`
)

// notWord and notSpace are the complements of the classes, as the inside of a
// class; the engine has no negation inside one.
var (
	notWord = sync.OnceValue(func() string {
		return complement(rangetable.Merge(unicode.L, unicode.M, unicode.Nd, unicode.Pc,
			rangetable.New(0x200C, 0x200D)))
	})
	notSpace = sync.OnceValue(func() string { return complement(unicode.White_Space) })
)

// complement spells the characters outside t.
func complement(t *unicode.RangeTable) string {
	var b strings.Builder
	next := rune(0)
	gap := func(end rune) {
		if next <= end {
			fmt.Fprintf(&b, `\x{%X}-\x{%X}`, next, end)
		}
	}
	rangetable.Visit(t, func(r rune) {
		gap(r - 1)
		next = r + 1
	})
	gap(unicode.MaxRune)
	return b.String()
}

// unicodeClasses rewrites a pattern so that \d, \w, \s and their complements
// know all of Unicode. Quoted parts (\Q…\E) stay as they are.
func unicodeClasses(src string) string {
	if !strings.Contains(src, `\`) {
		return src
	}
	var b strings.Builder
	inClass := false
	for i := 0; i < len(src); i++ {
		c := src[i]
		if c == '\\' && i+1 < len(src) {
			i++
			if src[i] == 'Q' && !inClass {
				end := strings.Index(src[i:], `\E`)
				if end < 0 {
					end = len(src) - i - 2
				}
				b.WriteString(src[i-1 : i+end+2])
				i += end + 1
				continue
			}
			b.WriteString(classEscape(src[i], inClass))
			continue
		}
		switch {
		case c == '[' && !inClass:
			inClass = true
			b.WriteByte(c)
			if i+1 < len(src) && src[i+1] == '^' {
				i++
				b.WriteByte('^')
			}
			if i+1 < len(src) && src[i+1] == ']' {
				i++
				b.WriteByte(']')
			}
			continue
		case c == '[' && strings.HasPrefix(src[i:], "[:"):
			if end := strings.Index(src[i+2:], ":]"); end >= 0 {
				b.WriteString(src[i : i+2+end+2])
				i += 2 + end + 1
				continue
			}
		case c == ']':
			inClass = false
		}
		b.WriteByte(c)
	}
	return b.String()
}

// classEscape is what stands for \c.
func classEscape(c byte, inClass bool) string {
	var in, out string
	switch c {
	case 'd':
		in, out = classDigit, classDigit
	case 'D':
		in, out = `\P{Nd}`, `\P{Nd}`
	case 'w':
		in, out = classWord, "["+classWord+"]"
	case 's':
		in, out = classSpace, "["+classSpace+"]"
	case 'W':
		if !inClass {
			return "[^" + classWord + "]"
		}
		return notWord()
	case 'S':
		if !inClass {
			return "[^" + classSpace + "]"
		}
		return notSpace()
	default:
		return string([]byte{'\\', c})
	}
	if inClass {
		return in
	}
	return out
}
