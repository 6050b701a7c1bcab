package interp

import (
	"path/filepath"
	"strings"

	"shoal.dev/shoal/lang/value"
)

// globParts are a glob's root and the components of its pattern below it.
func globParts(g *value.Glob) (root string, parts []string) {
	pattern := g.Pattern
	if !strings.HasPrefix(pattern, "/") {
		root, pattern = g.Cwd, "/"+pattern
	}
	for _, p := range strings.Split(pattern, "/") {
		switch p {
		case "", ".":
		case "..":
			if len(parts) == 0 {
				root = filepath.Dir(root)
			} else {
				parts = parts[:len(parts)-1]
			}
		default:
			parts = append(parts, p)
		}
	}
	return root, parts
}

// GlobRoot is the directory that a glob's literal prefix names, and whether it
// may match anything deeper than directly in it.
func GlobRoot(g *value.Glob) (dir string, deep bool) {
	dir, parts := globParts(g)
	for len(parts) > 1 && !hasMeta(parts[0]) {
		dir, parts = join(dir, parts[0]), parts[1:]
	}
	if len(parts) == 1 && !hasMeta(parts[0]) {
		return join(dir, parts[0]), false
	}
	return filepath.Clean("/" + dir), len(parts) > 1 || len(parts) == 1 && parts[0] == "**"
}

// MatchGlob reports whether a glob matches an absolute path, whether or not
// there is such a file.
func MatchGlob(g *value.Glob, path string) bool {
	root, parts := globParts(g)
	rest, ok := strings.CutPrefix(path, strings.TrimRight(root, "/")+"/")
	if !ok || rest == "" {
		return false
	}
	return matchParts(g, parts, strings.Split(rest, "/"))
}

// matchParts compares components; of several `**` only the newest has to try
// again, as with `*` in names.
func matchParts(g *value.Glob, parts, names []string) bool {
	p, n := 0, 0
	star, from := -1, 0 // the newest `**`, and where what follows it was tried
	for n < len(names) || p < len(parts) {
		switch {
		case p < len(parts) && parts[p] == "**":
			star, from = p, n
			p++
			continue
		case p < len(parts) && n < len(names) && matchPart(g, parts[p], names[n]):
			p++
			n++
			continue
		}
		if star < 0 || from >= len(names) || !g.Hidden && strings.HasPrefix(names[from], ".") {
			return false
		}
		from++
		p, n = star+1, from
	}
	return true
}

func matchPart(g *value.Glob, part, name string) bool {
	if !hasMeta(part) {
		return part == name
	}
	if !g.Hidden && strings.HasPrefix(name, ".") && !strings.HasPrefix(part, ".") {
		return false
	}
	return matchName(part, name)
}
