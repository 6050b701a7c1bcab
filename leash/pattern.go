package leash

import (
	"path/filepath"
	"strings"
)

// expand makes a path pattern absolute.
func expand(pattern string, sc Scene) string {
	switch {
	case pattern == "~" || strings.HasPrefix(pattern, "~/"):
		return sc.Home + pattern[1:]
	case pattern == "$CWD" || strings.HasPrefix(pattern, "$CWD/"):
		return sc.Cwd + pattern[len("$CWD"):]
	default:
		return pattern
	}
}

// matchPath tests an absolute path against a pattern whose components may hold
// * and ?, and in which ** stands for any number of components, also none: the
// pattern /a/** covers /a itself.
func matchPath(pattern, path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	return matchParts(parts(pattern), parts(filepath.Clean(path)))
}

func parts(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// matchParts walks both lists, remembering the last ** to come back to: linear
// in practice, quadratic at worst, never exponential.
func matchParts(pattern, path []string) bool {
	p, s := 0, 0
	star, resume := -1, 0
	for s < len(path) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			star, resume = p, s
			p++
		case p < len(pattern) && matchSegment(pattern[p], path[s]):
			p, s = p+1, s+1
		case star >= 0:
			resume++
			p, s = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == "**" {
		p++
	}
	return p == len(pattern)
}

// matchSegment tests one component against a glob of * and ?.
func matchSegment(pattern, s string) bool {
	p, i := 0, 0
	star, resume := -1, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, resume = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p, i = p+1, i+1
		case star >= 0:
			resume++
			p, i = star+1, resume
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
