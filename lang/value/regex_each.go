package value

import "regexp/syntax"

// The engine has no way to go through the matches of a text that could be
// stopped. We use that of its replacements which shows us where each match lies,
// and leave it by a panic.

// left leaves the engine: with an error, or to begin anew at a match.
type left struct {
	err error
	at  int
}

// anewAfter is after how many bytes the engine begins anew: it collects what lies
// between the matches, in a slice that it moves whole when it grows.
const anewAfter = 64 << 10

// each calls f for every match from left to right until it gives an error.
func (r *Regex) each(s string, f func(start, end int) error) error {
	for base := 0; base >= 0; {
		var err error
		if base, err = r.eachFrom(s, base, f); err != nil {
			return err
		}
	}
	return nil
}

// eachFrom is each from base on. It may end at a match from which to go on; next
// is negative when there is none.
func (r *Regex) eachFrom(s string, base int, f func(start, end int) error) (next int, err error) {
	defer func() {
		switch cause := recover().(type) {
		case nil:
		case left:
			next, err = cause.at, cause.err
		default:
			panic(cause)
		}
	}()
	r.re.ReplaceAllFunc(textBytes(s[base:]), func(match []byte) []byte {
		start := len(s) - cap(match) // it reaches to the end of s
		if start-base >= anewAfter && r.fast.around.free(s[start-1]) {
			panic(left{at: start})
		}
		if err := f(start, start+len(match)); err != nil {
			panic(left{err: err})
		}
		return nil
	})
	return -1, nil
}

// surroundings are what a pattern asks of the text before a match.
type surroundings uint8

const (
	textStart surroundings = 1 << iota
	lineStart
	wordEdge
)

// surroundingsOf collects what t asks.
func surroundingsOf(t *syntax.Regexp) surroundings {
	var all surroundings
	switch t.Op {
	case syntax.OpBeginText:
		all = textStart
	case syntax.OpBeginLine:
		all = lineStart
	case syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		all = wordEdge
	}
	for _, sub := range t.Sub {
		all |= surroundingsOf(sub)
	}
	return all
}

// free reports whether a text that begins behind a byte matches as it would with
// all that is before.
func (a surroundings) free(before byte) bool {
	switch {
	case a&textStart != 0, a&lineStart != 0 && before != '\n':
		return false
	}
	return a&wordEdge == 0 || !syntax.IsWordChar(rune(before))
}
