package interp

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

// maxGlobDepth bounds the directories that `**` descends into, so that a loop
// of symbolic links ends.
const maxGlobDepth = 256

// Expand lists the paths that a glob matches: absolute, in byte order, without
// duplicates. No match and an unreadable directory are notes, not errors.
func (m *Machine) Expand(g *value.Glob) ([]string, error) {
	if m.host.Files == nil {
		return nil, noFiles()
	}
	root, pattern := g.Cwd, g.Pattern
	if strings.HasPrefix(pattern, "/") {
		root = "/"
	}
	w := &globWalk{m: m, g: g}
	if m.outside == 0 {
		m.leaveCells()
		defer m.enterCells()
	}
	w.root = filepath.Clean(root)
	if err := w.walk(w.root, strings.Split(pattern, "/"), 0); err != nil {
		return nil, err
	}
	slices.Sort(w.found)
	w.found = slices.Compact(w.found)
	if len(w.found) == 0 {
		m.Note(Note{Code: "no_matches_glob", Msg: "no file matches " + pattern, Data: map[string]any{"pattern": pattern}})
	}
	return w.found, nil
}

type globWalk struct {
	m     *Machine
	g     *value.Glob
	root  string // is never a match itself
	found []string

	dir     string // the directory that was read last
	entries []DirEntry
}

// walk matches the remaining components below dir.
func (w *globWalk) walk(dir string, parts []string, depth int) error {
	for len(parts) > 0 {
		part := parts[0]
		switch {
		case (part == "" || part == ".") && len(parts) == 1: // a trailing slash: directories only
			w.directory(dir)
			return nil
		case part == "" || part == ".":
			parts = parts[1:]
		case part == "..":
			dir, parts = filepath.Dir(dir), parts[1:]
		case part == "**":
			if len(parts) == 1 {
				w.directory(dir)
				parts = append(parts, "*")
			}
			return w.descend(dir, parts[1:], depth, &trail{from: dir})
		case !hasMeta(part):
			dir, parts = join(dir, part), parts[1:]
		default:
			return w.list(dir, part, parts[1:], depth)
		}
	}
	if _, err := w.m.host.Files.Lstat(w.m.ctx, dir); err == nil {
		w.found = append(w.found, dir)
	}
	return nil
}

// list matches one component against the names in dir.
func (w *globWalk) list(dir, part string, rest []string, depth int) error {
	entries, err := w.read(dir)
	if err != nil {
		return err
	}
	match := nameMatcher(part)
	for _, e := range entries {
		if !w.visible(e.Name, part) || !match(e.Name) {
			continue
		}
		path := join(dir, e.Name)
		if len(rest) == 0 {
			w.found = append(w.found, path)
		} else if w.isDir(e, path, true) {
			if err := w.walk(path, rest, depth); err != nil {
				return err
			}
		}
	}
	return nil
}

// descend matches `**`: the rest here and in every directory below. It reads
// before it walks, so that walking finds the same entries.
func (w *globWalk) descend(dir string, rest []string, depth int, way *trail) error {
	if depth >= maxGlobDepth {
		return w.walk(dir, rest, depth)
	}
	entries, err := w.read(dir)
	if err != nil {
		return err
	}
	if err := w.walk(dir, rest, depth); err != nil {
		return err
	}
	for _, e := range entries {
		if !mayBeDir(e) || !w.visible(e.Name, "") {
			continue
		}
		path := join(dir, e.Name)
		if !w.isDir(e, path, w.g.Follow) {
			continue
		}
		on, ok := w.enter(way, dir, path, e)
		if !ok {
			continue
		}
		if err := w.descend(path, rest, depth+1, on); err != nil {
			return err
		}
	}
	return nil
}

// directory adds a directory that was reached by name, if there is one.
func (w *globWalk) directory(dir string) {
	if dir == w.root {
		return
	}
	if info, err := w.m.host.Files.Stat(w.m.ctx, dir); err == nil && info.Type == "dir" {
		w.found = append(w.found, dir)
	}
}

// read lists a directory; one that cannot be read is skipped with a note. The
// one that was read last is not read again.
func (w *globWalk) read(dir string) ([]DirEntry, error) {
	if err := w.m.Check(); err != nil {
		return nil, err
	}
	if len(w.found) > MaxItems {
		return nil, overflow("sequence")
	}
	if dir == w.dir {
		return w.entries, nil
	}
	entries, err := w.m.host.Files.ReadDir(w.m.ctx, dir)
	if err != nil {
		if err = w.unreadable(dir, err); err != nil {
			return nil, err
		}
	}
	w.dir, w.entries = dir, entries
	return entries, nil
}

// unreadable makes a note of a directory that cannot be read, unless that ends
// the walk.
func (w *globWalk) unreadable(dir string, err error) error {
	var coded *value.Error
	if errors.As(err, &coded) && (coded.Code == value.CodePermission || coded.Code == value.CodeCancelled) {
		return err
	}
	if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
		w.m.Note(Note{Code: "unreadable_dir", Msg: "cannot read " + dir, Data: map[string]any{"path": dir}})
	}
	return nil
}

// mayBeDir reports whether an entry is a directory or may lead to one.
func mayBeDir(e DirEntry) bool { return e.Type == "dir" || e.Type == "symlink" }

// isDir reports whether an entry is a directory, seen through a symbolic link
// when follow is set.
func (w *globWalk) isDir(e DirEntry, path string, follow bool) bool {
	if e.Type == "dir" {
		return true
	}
	if e.Type != "symlink" || !follow {
		return false
	}
	info, err := w.m.host.Files.Stat(w.m.ctx, path)
	return err == nil && info.Type == "dir"
}

// visible reports whether a name may be matched: hidden ones only by a
// component that starts with a dot, or on request.
func (w *globWalk) visible(name, part string) bool {
	return w.g.Hidden || !strings.HasPrefix(name, ".") || strings.HasPrefix(part, ".")
}

func join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

func hasMeta(part string) bool { return strings.ContainsAny(part, "*?[") }

// nameMatcher is matchName for many names. A star before plain text only looks at
// the end of a name.
func nameMatcher(pattern string) func(name string) bool {
	end, ok := strings.CutPrefix(pattern, "*")
	if ok && !hasMeta(end) && (end == "" || utf8.RuneStart(end[0])) {
		return func(name string) bool { return strings.HasSuffix(name, end) }
	}
	return func(name string) bool { return matchName(pattern, name) }
}

// matchName matches one component. It is linear in practice and quadratic at
// worst: only the last star is retried.
func matchName(pattern, name string) bool {
	p, n := 0, 0
	star, mark := -1, 0
	for n < len(name) {
		if p < len(pattern) && pattern[p] == '*' {
			star, mark = p, n
			p++
			continue
		}
		if p < len(pattern) {
			if pn, nn, ok := matchOne(pattern[p:], name[n:]); ok {
				p, n = p+pn, n+nn
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, size := utf8.DecodeRuneInString(name[mark:])
		mark += size
		p, n = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// matchOne matches one character and says how long both sides are.
func matchOne(pattern, name string) (pn, nn int, ok bool) {
	r, size := character(name)
	switch pattern[0] {
	case '?':
		return 1, size, true
	case '[':
		if end := classEnd(pattern); end > 0 {
			return end + 1, size, inClass(pattern[1:end], r)
		}
	}
	pr, psize := character(pattern)
	return psize, size, pr == r
}

// character is the first character of a name or pattern and its length. A byte
// that is not UTF-8 is a character of its own, behind all others.
func character(s string) (rune, int) {
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return utf8.MaxRune + 1 + rune(s[0]), 1
	}
	return r, size
}

// classEnd is the index of the `]` that closes a class; one directly after the
// opening is an ordinary character.
func classEnd(pattern string) int {
	i := 1
	if i < len(pattern) && (pattern[i] == '!' || pattern[i] == '^') {
		i++
	}
	if i < len(pattern) && pattern[i] == ']' {
		i++
	}
	for ; i < len(pattern); i++ {
		if pattern[i] == ']' {
			return i
		}
	}
	return -1
}

func inClass(class string, r rune) bool {
	negated := class[0] == '!' || class[0] == '^'
	if negated {
		class = class[1:]
	}
	for len(class) > 0 {
		lo, n := character(class)
		hi := lo
		if rest, ok := strings.CutPrefix(class[n:], "-"); ok && rest != "" {
			var m int
			hi, m = character(rest)
			n += len("-") + m
		}
		if lo <= r && r <= hi {
			return !negated
		}
		class = class[n:]
	}
	return negated
}
