package interp

import (
	"path/filepath"
	"strings"
)

// trail is the way by which `**` has come to a directory, in stretches that
// symbolic links begin. It keeps a walk through links from going in circles: a
// directory that lies on the way is not entered again.
type trail struct {
	from string // where the present stretch begins, as it is called
	real string // and where that really is; "" when nobody has asked yet
	past []stretch
}

// stretch are the directories from first down to last, by their real paths.
type stretch struct{ first, last string }

// holds reports whether a directory is one of the stretch.
func (s stretch) holds(dir string) bool { return isWithin(dir, s.first) && isWithin(s.last, dir) }

// isWithin reports whether a path is a directory or lies below it.
func isWithin(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// at is the real path of a directory of the present stretch.
func (t *trail) at(dir string) string {
	return filepath.Clean(t.real + "/" + strings.TrimPrefix(dir, t.from))
}

// enter is the trail for e, an entry of dir that is a directory, called path;
// false when it lies on the way already. Without links in between there is
// nothing to look for.
func (w *globWalk) enter(t *trail, dir, path string, e DirEntry) (*trail, bool) {
	if e.Type == "dir" && len(t.past) == 0 {
		return t, true
	}
	files := w.m.host.Files
	if t.real == "" {
		real, err := files.Real(w.m.ctx, t.from)
		if err != nil {
			return nil, false
		}
		t.real = real
	}
	here := stretch{t.real, t.at(dir)}
	to := t.at(path)
	if e.Type != "dir" {
		real, err := files.Real(w.m.ctx, path)
		if err != nil {
			return nil, false
		}
		to = real
	}
	if here.holds(to) {
		return nil, false
	}
	for _, s := range t.past {
		if s.holds(to) {
			return nil, false
		}
	}
	if e.Type == "dir" {
		return t, true
	}
	return &trail{from: path, real: to, past: append(t.past[:len(t.past):len(t.past)], here)}, true
}
