package interp

import (
	"path"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

// FuzzGlobName holds the matcher of one component to a plain one.
func FuzzGlobName(f *testing.F) {
	for _, pattern := range []string{"*.txt", "a*b*c", "[!a-c]?", "[]a]*", "[a", "[^]x-]", "*é", "?\xff*", "[[]*[]]", "**a**", "[z-a]", "\uFFFD", "[\x80-\xff]"} {
		f.Add(pattern, "abc")
		f.Add(pattern, pattern)
		f.Add(pattern, "é[\xff].txt")
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		// The plain matcher is a product of the two.
		if len(pattern) > 200 || len(name) > 200 || pattern == "" {
			return
		}
		want := plainMatch(patternItems(pattern), characters(name))
		if got := matchName(pattern, name); got != want {
			t.Fatalf("%q on %q: got %v, want %v", pattern, name, got, want)
		}
		if got := nameMatcher(pattern)(name); got != want {
			t.Fatalf("%q on %q as one of many: got %v, want %v", pattern, name, got, want)
		}
		if !matchName(quoteGlob(name), name) {
			t.Fatalf("%q quoted is %q, which does not match it", name, quoteGlob(name))
		}
		if matchName(quoteGlob(pattern), name) != (pattern == name) {
			t.Fatalf("%q quoted is %q, which matches %q", pattern, quoteGlob(pattern), name)
		}
	})
}

// patternItem is what one part of a pattern accepts; nil is a star.
type patternItem func(r rune) bool

// characters are the characters of s; bytes that are no UTF-8 lie behind them.
func characters(s string) (all []rune) {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if n == 1 && r == utf8.RuneError {
			r = utf8.MaxRune + 1 + rune(s[0])
		}
		all, s = append(all, r), s[n:]
	}
	return all
}

func patternItems(pattern string) (items []patternItem) {
	p := characters(pattern)
	for i := 0; i < len(p); i++ {
		c := p[i]
		body := classBody(p[i:])
		switch {
		case c == '*':
			items = append(items, nil)
		case c == '?':
			items = append(items, func(rune) bool { return true })
		case c == '[' && body != nil:
			items = append(items, func(r rune) bool { return classHolds(body, r) })
			i += len(body) + 1
		default:
			items = append(items, func(r rune) bool { return r == c })
		}
	}
	return items
}

// classBody is what stands in the brackets that p starts with, or nil.
func classBody(p []rune) []rune {
	first := 1
	if len(p) > 1 && (p[1] == '!' || p[1] == '^') {
		first = 2
	}
	if first+1 > len(p) {
		return nil
	}
	if end := slices.Index(p[first+1:], ']'); p[0] == '[' && end >= 0 {
		return p[1 : first+1+end]
	}
	return nil
}

func classHolds(body []rune, r rune) bool {
	negated := body[0] == '!' || body[0] == '^'
	if negated {
		body = body[1:]
	}
	for i := 0; i < len(body); i++ {
		if i+2 < len(body) && body[i+1] == '-' {
			if body[i] <= r && r <= body[i+2] {
				return !negated
			}
			i += 2
		} else if body[i] == r {
			return !negated
		}
	}
	return negated
}

func plainMatch(items []patternItem, name []rune) bool {
	// ends[n]: the items so far match the first n characters.
	ends := make([]bool, len(name)+1)
	ends[0] = true
	for _, item := range items {
		next := make([]bool, len(name)+1)
		for n := range ends {
			switch {
			case item == nil:
				next[n] = ends[n] || n > 0 && next[n-1]
			case n > 0:
				next[n] = ends[n-1] && item(name[n-1])
			}
		}
		ends = next
	}
	return ends[len(name)]
}

// FuzzGlobPieces builds words of bare and quoted pieces: what is quoted matches
// only itself, and a class lies in one bare piece.
func FuzzGlobPieces(f *testing.F) {
	for _, pieces := range []string{"*\x00*\x00?", "[a\x00]\x00]*", "[\x00!a\x00]", "a[b]\x00[c]\x00[d", "\x00*", "[]\x00]\x00]", "[!\x00a-z\x00]*"} {
		f.Add(pieces, "a]b")
		f.Add(pieces, pieces)
	}
	f.Fuzz(func(t *testing.T, pieces, name string) {
		if len(pieces) > 200 || len(name) > 200 || strings.ContainsAny(pieces, "/~") || strings.ContainsAny(name, "/") || name == "" {
			return
		}
		w := &wordCode{}
		var items []patternItem
		for i, text := range strings.Split(pieces, "\x00") {
			quoted := i%2 == 1
			w.parts = append(w.parts, partCode{text: text, quoted: quoted})
			if !quoted {
				items = append(items, patternItems(text)...)
				continue
			}
			for _, r := range characters(text) {
				items = append(items, func(c rune) bool { return c == r })
			}
		}
		pattern, ok := (&Machine{}).pattern(w)
		if !ok {
			t.Fatalf("%q is no pattern", pieces)
		}
		if want, got := plainMatch(items, characters(name)), matchName(pattern, name); got != want {
			t.Fatalf("%q gives %q; on %q: got %v, want %v", pieces, pattern, name, got, want)
		}
	})
}

// FuzzGlobPath holds the matcher of whole paths to a plain one, and what is
// watched for a glob to what it matches.
func FuzzGlobPath(f *testing.F) {
	for _, pattern := range []string{"**/*.go", "a/**/b/**", "**", "/**/x", "./a//b/", "a/[bc]/.*", "x/*/../y", "../*", "**/**/a"} {
		f.Add(pattern, "/w/a/x/b/c.go", false)
		f.Add(pattern, "/w/.a/b", true)
		f.Add(pattern, "/x", false)
		f.Add("/"+pattern, "/", false)
	}
	f.Fuzz(func(t *testing.T, pattern, name string, hidden bool) {
		name = path.Clean("/" + name)
		if len(pattern) > 100 || len(name) > 100 || pattern == "" || strings.Contains(pattern, "..") {
			return
		}
		g := &value.Glob{Pattern: pattern, Cwd: "/w", Hidden: hidden}
		root, full := "/", pattern
		if !strings.HasPrefix(pattern, "/") {
			root, full = "/w", "/w/"+pattern
		}
		// What a glob is rooted at is not matched.
		want := name != root && plainPath(components(full), components(name), hidden)
		if got := MatchGlob(g, name); got != want {
			t.Fatalf("%q on %q, hidden %v: got %v, want %v", pattern, name, hidden, got, want)
		}
		dir, deep := GlobRoot(g)
		below := strings.TrimSuffix(dir, "/") + "/"
		if want && name != dir && (!strings.HasPrefix(name, below) || !deep && path.Dir(name) != dir) {
			t.Fatalf("%q matches %q, but its root is %q (deep: %v)", pattern, name, dir, deep)
		}
	})
}

// components are the names in a path or pattern.
func components(s string) []string {
	return slices.DeleteFunc(strings.Split(s, "/"), func(c string) bool { return c == "" || c == "." })
}

func plainPath(pattern, names []string, hidden bool) bool {
	if len(pattern) == 0 {
		return len(names) == 0
	}
	if pattern[0] == "**" {
		return plainPath(pattern[1:], names, hidden) ||
			len(names) > 0 && (hidden || names[0][0] != '.') && plainPath(pattern, names[1:], hidden)
	}
	if len(names) == 0 {
		return false
	}
	if strings.ContainsAny(pattern[0], "*?[") {
		if !hidden && names[0][0] == '.' && pattern[0][0] != '.' ||
			!plainMatch(patternItems(pattern[0]), characters(names[0])) {
			return false
		}
	} else if pattern[0] != names[0] {
		return false
	}
	return plainPath(pattern[1:], names[1:], hidden)
}
