package value

import (
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// fastRegex matches the patterns that people write most much faster than the
// engine does: a literal, one class, and a class repeated once or more. For
// other patterns it may know a literal without which nothing matches.
type fastRegex struct {
	literal  string // the whole pattern, when not ""
	class    *classScanner
	required string // every match contains it
	around   surroundings
}

// analyse looks for a fast way to match what re matches.
func analyse(re *regexp.Regexp) fastRegex {
	tree, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return fastRegex{around: textStart}
	}
	tree = tree.Simplify()
	f := fastRegex{around: surroundingsOf(tree)}
	switch {
	case isLiteral(tree):
		f.literal = string(tree.Rune)
	case tree.Op == syntax.OpCharClass:
		f.class = newClassScanner(tree.Rune, false)
	case tree.Op == syntax.OpPlus && tree.Flags&syntax.NonGreedy == 0 && tree.Sub[0].Op == syntax.OpCharClass:
		f.class = newClassScanner(tree.Sub[0].Rune, true)
	default:
		f.required = requiredLiteral(tree)
	}
	return f
}

func isLiteral(t *syntax.Regexp) bool {
	return t.Op == syntax.OpLiteral && t.Flags&syntax.FoldCase == 0 && utf8.ValidString(string(t.Rune)) &&
		!strings.ContainsRune(string(t.Rune), utf8.RuneError)
}

// requiredLiteral is the longest literal that stands in a sequence, so that
// every match holds it.
func requiredLiteral(t *syntax.Regexp) string {
	switch t.Op {
	case syntax.OpLiteral:
		if isLiteral(t) {
			return string(t.Rune)
		}
	case syntax.OpCapture, syntax.OpPlus:
		return requiredLiteral(t.Sub[0])
	case syntax.OpConcat:
		longest := ""
		for _, sub := range t.Sub {
			if l := requiredLiteral(sub); len(l) > len(longest) {
				longest = l
			}
		}
		return longest
	}
	return ""
}

// cannotMatch reports whether s lacks what every match contains.
func (f *fastRegex) cannotMatch(s string) bool {
	return f.required != "" && !strings.Contains(s, f.required)
}

// simple reports whether find works.
func (f *fastRegex) simple() bool { return f.literal != "" || f.class != nil }

// find is the first match at or after from; start is -1 when there is none.
func (f *fastRegex) find(s string, from int) (start, end int) {
	if f.class != nil {
		return f.class.find(s, from)
	}
	i := strings.Index(s[from:], f.literal)
	if i < 0 {
		return -1, -1
	}
	return from + i, from + i + len(f.literal)
}

// classScanner finds characters of a class.
type classScanner struct {
	bytes [256]byteClass
	pairs []rune // ranges lo, hi in order
	run   bool   // as many characters as there are
}

// byteClass is what the first byte of a character says.
type byteClass uint8

const (
	outside byteClass = iota
	inside
	unsure // part of a longer character
)

func newClassScanner(pairs []rune, run bool) *classScanner {
	c := &classScanner{pairs: pairs, run: run}
	for b := range c.bytes {
		switch {
		case b >= utf8.RuneSelf:
			c.bytes[b] = unsure
		case inPairs(pairs, rune(b)):
			c.bytes[b] = inside
		}
	}
	return c
}

// inPairs reports whether r is in one of the ranges.
func inPairs(pairs []rune, r rune) bool {
	lo, hi := 0, len(pairs)/2
	for lo < hi {
		mid := (lo + hi) / 2
		switch {
		case r < pairs[2*mid]:
			hi = mid
		case r > pairs[2*mid+1]:
			lo = mid + 1
		default:
			return true
		}
	}
	return false
}

// skip is the place from i on of the first character whose being in the class
// is not as want says; its length in bytes is size, 0 at the end of s.
func (c *classScanner) skip(s string, i int, want bool) (at, size int) {
	pass := outside
	if want {
		pass = inside
	}
	for i < len(s) {
		is := c.bytes[s[i]]
		if is == pass {
			i++
			continue
		}
		if is != unsure {
			return i, 1
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if inPairs(c.pairs, r) != want {
			return i, n
		}
		i += n
	}
	return i, 0
}

func (c *classScanner) find(s string, from int) (start, end int) {
	start, size := c.skip(s, from, false)
	if size == 0 {
		return -1, -1
	}
	end = start + size
	if c.run {
		end, _ = c.skip(s, end, true)
	}
	return start, end
}
