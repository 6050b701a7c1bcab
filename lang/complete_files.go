package lang

import (
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"shoal.dev/shoal/lang/interp"
)

// maxEntries is how many names of directories are looked at for one completion.
const maxEntries = 50_000

// environment is a variable of the session.
func (c *completer) environment(name string) string {
	for _, kv := range c.state.Environ() {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// list names what a directory holds; nothing when it may not or cannot be read,
// or the time is over.
func (c *completer) list(dir string) []interp.DirEntry {
	if c.in.Files == nil || c.ctx.Err() != nil {
		return nil
	}
	entries, err := c.in.Files.ReadDir(c.ctx, dir)
	if err != nil {
		return nil
	}
	return entries[:min(len(entries), maxEntries)]
}

// paths offers the entries of the directory that a word points into; only
// directories and programs where a command is to stand.
func (c *completer) paths(w shellWord, head bool) {
	typedDir, prefix := "", w.text
	if i := strings.LastIndexByte(w.text, '/'); i >= 0 {
		typedDir, prefix = w.text[:i+1], w.text[i+1:]
	}
	dir := typedDir
	switch {
	case strings.HasPrefix(typedDir, "~/"):
		dir = filepath.Join(c.environment("HOME"), typedDir[1:])
	case !filepath.IsAbs(typedDir):
		dir = filepath.Join(c.state.Cwd(), typedDir)
	}
	for _, e := range c.list(dir) {
		if !strings.HasPrefix(e.Name, prefix) || strings.HasPrefix(e.Name, ".") && !strings.HasPrefix(prefix, ".") {
			continue
		}
		name, ok := spelled(e.Name)
		if !ok || len(c.outside) >= maxCandidates {
			continue
		}
		kind, info := c.sort(filepath.Join(dir, e.Name), e.Type)
		switch {
		case kind == "directory":
			name += "/"
		case head && info.Mode&0o111 == 0:
			continue
		}
		c.outside = append(c.outside, Candidate{typedDir + name, kind, "", Replacement{w.start, c.cursor}})
	}
}

// sort says whether an entry is a directory, following a link.
func (c *completer) sort(path, kind string) (string, interp.FileInfo) {
	info, err := c.in.Files.Stat(c.ctx, path)
	if err == nil {
		kind = info.Type
	}
	if kind == "dir" {
		return "directory", info
	}
	return "path", info
}

// programs offers the programs of PATH.
func (c *completer) programs(w shellWord) {
	if w.text == "" || strings.ContainsRune(w.text, '/') {
		return
	}
	seen := map[string]bool{}
	for _, k := range c.out {
		seen[k.Label] = true // what the name means first
	}
	for _, dir := range filepath.SplitList(c.environment("PATH")) {
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.state.Cwd(), dir)
		}
		for _, e := range c.list(dir) {
			if !strings.HasPrefix(e.Name, w.text) || seen[e.Name] || !plain(e.Name) || len(c.outside) >= maxCandidates {
				continue
			}
			path := filepath.Join(dir, e.Name)
			info, err := c.in.Files.Stat(c.ctx, path)
			if err != nil || info.Type != "file" || info.Mode&0o111 == 0 {
				continue
			}
			seen[e.Name] = true
			c.outside = append(c.outside, Candidate{e.Name, "program", path, Replacement{w.start, c.cursor}})
		}
	}
}

// plain reports whether a name can be written in a command as it is.
func plain(name string) bool {
	for i, r := range name {
		ok := unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("_./@%+:,", r) || r == '-' && i > 0
		if !ok || r == utf8.RuneError {
			return false
		}
	}
	return name != ""
}

// spelled is a name as a part of a command word, quoted if need be; false when
// it cannot be written.
func spelled(name string) (string, bool) {
	if plain(name) {
		return name, true
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", false
	}
	if !strings.Contains(name, "'") {
		return "'" + name + "'", true
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, `{`, `\{`, "}", `\}`).Replace(name) + `"`, true
}
