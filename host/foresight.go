package host

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/zeebo/blake3"
)

// foresight is the file tree as it will be when some steps have been taken that
// have not been yet. It holds what they change, oldest first, and looks at the
// real files behind that.
type foresight struct{ changes []change }

// change is one thing that a step does: it moves a tree, or leaves a thing at a
// path, or nothing.
type change struct {
	path  string
	from  string // it was moved from there; "" if it was not
	print *Print // what is at path; nil: nothing
}

// below is the part of a path behind a directory, "" for the directory itself.
func below(path, dir string) (rest string, ok bool) {
	if path == dir {
		return "", true
	}
	return strings.CutPrefix(path, strings.TrimRight(dir, "/")+"/")
}

// find is where a path's content really is now, or what will be there that is
// not yet; there is false when nothing will be.
func (v *foresight) find(path string) (real string, print *Print, there bool) {
	for _, c := range slices.Backward(v.changes) {
		rest, inside := below(path, c.path)
		switch {
		case c.from != "" && inside:
			path = join(c.from, rest)
		case c.from != "":
			if _, gone := below(path, c.from); gone {
				return "", nil, false
			}
		case inside && c.print == nil:
			return "", nil, false
		case inside && rest == "":
			return "", c.print, true
		}
	}
	return path, nil, true
}

// print is what will be at a path, nil for nothing.
func (v *foresight) print(path string) (*Print, error) {
	real, p, there := v.find(path)
	if p != nil || !there {
		return p, nil
	}
	return printOf(real)
}

// check is stale_undo when a step would meet something unexpected.
func (v *foresight) check(s Step) error {
	if s.Op == StepNone {
		return nil
	}
	path := string(s.Path)
	if settled(path) != path {
		return staleUndo(path, "a directory on its way is a link now")
	}
	parent, _ := split(path)
	if p, err := v.print(parent); err != nil || p == nil || p.Type != "dir" {
		return staleUndo(path, "the directory that it was in is gone")
	}
	if s.From != nil {
		if why := v.differs(path, nil); why != "" {
			return staleUndo(path, why)
		}
	}
	if why := v.differs(s.target(), s.Now); why != "" {
		return staleUndo(s.target(), why)
	}
	return nil
}

// differs says how what is at a path differs from what is expected; "" when it
// does not.
func (v *foresight) differs(path string, want *Print) string {
	have, err := v.print(path)
	switch {
	case err != nil:
		return fmt.Sprintf("it cannot be looked at: %v", err)
	case have == nil && want == nil:
		return ""
	case have == nil:
		return "it is gone"
	case want == nil:
		return "something else is there by now"
	case have.Type != want.Type:
		return fmt.Sprintf("it was a %s and is a %s", want.Type, have.Type)
	case want.Type == "dir":
		return v.dirDiffers(path, want)
	case have.Size != want.Size || have.MTime != want.MTime && want.Type == "file":
		return "it has changed since"
	case !v.sameHash(path, have, want):
		return "its content has changed since"
	}
	return ""
}

func (v *foresight) sameHash(path string, have, want *Print) bool {
	if want.Hash == "" {
		return true
	}
	if real, virtual, _ := v.find(path); virtual == nil && want.Type == "file" {
		hash, err := hashFile(real)
		return err == nil && hash == want.Hash
	}
	return have.Hash == "" || have.Hash == want.Hash
}

func (v *foresight) dirDiffers(path string, want *Print) string {
	real, virtual, _ := v.find(path)
	switch {
	case virtual != nil:
		return ""
	case want.Ino != 0 && inode(real) != want.Ino:
		return "it is another directory by now"
	case want.Ino != 0:
		return ""
	case want.Hash != "":
		if hash, err := v.tree(path); err != nil || hash != want.Hash {
			return "something in it has changed since"
		}
	default:
		names, err := v.names(path)
		if err != nil || len(names) > 0 {
			return "it is not empty"
		}
	}
	return ""
}

// names are the names in a directory, in order.
func (v *foresight) names(dir string) ([]string, error) {
	names := map[string]bool{}
	if real, virtual, there := v.find(dir); there && virtual == nil {
		entries, err := os.ReadDir(real)
		if err != nil {
			return nil, plain(err)
		}
		for _, e := range entries {
			names[e.Name()] = true
		}
	}
	at := dir // by its name before the changes looked at
	for _, c := range slices.Backward(v.changes) {
		if parent, last := split(c.path); parent == at {
			names[last] = true
		}
		if rest, inside := below(at, c.path); inside && c.from != "" {
			at = join(c.from, rest)
		}
	}
	var out []string
	for name := range names {
		p, err := v.print(join(dir, name))
		if err != nil {
			return nil, err
		}
		if p != nil {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

// tree is the hash of the listing of everything in a directory.
func (v *foresight) tree(dir string) (string, error) {
	h := blake3.New()
	err := v.list(dir, "", func(rel string, p *Print) {
		fmt.Fprintf(h, "%s\x00%s\x00%d\x00%d\x00", rel, p.Type, p.Size, p.MTime)
	})
	return hex.EncodeToString(h.Sum(nil)), err
}

func (v *foresight) list(dir, rel string, each func(rel string, p *Print)) error {
	names, err := v.names(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		at := filepath.Join(dir, name)
		p, err := v.print(at)
		if err != nil || p == nil {
			return fmt.Errorf("look at %s: %v", at, err)
		}
		each(join2(rel, name), p)
		if p.Type == "dir" {
			if err := v.list(at, join2(rel, name), each); err != nil {
				return err
			}
		}
	}
	return nil
}

// took puts down what a step does.
func (v *foresight) took(s Step) {
	c := change{path: string(s.Path)}
	switch s.Op {
	case StepNone:
		return
	case StepUntrash, StepMove:
		c.from = string(s.From)
	case StepRestore:
		c.print = &s.Was.Print
	case StepCut, StepTimes:
		p := s.Was.Print
		c.print = &p
	}
	v.changes = append(v.changes, c)
}
