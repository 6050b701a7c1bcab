package host

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/zeebo/blake3"

	"shoal.dev/shoal/lang/value"
)

// StepOp is how a step undoes a change.
type StepOp string

// The ways to undo a change.
const (
	StepUntrash StepOp = "untrash" // bring back from the trash
	StepMove    StepOp = "move"    // move back
	StepRemove  StepOp = "remove"  // take away what was made
	StepRestore StepOp = "restore" // put back what was there
	StepCut     StepOp = "cut"     // shorten a file to what it was before something was appended
	StepTimes   StepOp = "times"   // set the time back
	StepNone    StepOp = "none"    // nothing undoes the change; Why says why
)

// Step undoes one change of a file. Path is where the change was made, with the
// links on its way resolved; From is where the thing is now, if elsewhere. Both
// are native bytes.
type Step struct {
	N    uint64  `json:"n"` // rises in the order of the changes
	Op   StepOp  `json:"op"`
	Path []byte  `json:"path"`
	From []byte  `json:"from,omitempty"`
	Was  *Former `json:"was,omitempty"`
	Now  *Print  `json:"now,omitempty"` // what the change left, at From or else at Path; nil: nothing
	Why  string  `json:"why,omitempty"`
}

// Print is by what a thing is known again. What is empty is not compared; a
// directory with neither Ino nor Hash has to be empty.
type Print struct {
	Type  string `json:"type"`           // as in listings
	Size  int64  `json:"size,omitempty"` // of a file, in bytes
	MTime int64  `json:"mtime,omitempty"`
	Hash  string `json:"hash,omitempty"` // BLAKE3 of a file's content, a link's target, a tree's listing
	Ino   uint64 `json:"ino,omitempty"`  // of a directory that was moved
}

// Former is what was at a path before a change. Content that is not in Data is
// in the content store under its hash.
type Former struct {
	Print
	Mode fs.FileMode `json:"mode"`
	Data []byte      `json:"data,omitempty"` // a file's content, or a link's target
}

const (
	// inlineMax is up to how many bytes former content stands in the step.
	inlineMax = 64 << 10
	// contentMax is up to how many bytes former content is kept at all.
	contentMax = 32 << 20
	// hashMax is up to how many bytes a file is also known by its content.
	hashMax = 4 << 20
)

// String says what the step does, or did.
func (s Step) String() string {
	path := string(s.Path)
	switch s.Op {
	case StepUntrash:
		return "brought back " + path
	case StepMove:
		return fmt.Sprintf("moved %s back to %s", s.From, path)
	case StepRemove:
		return "removed " + path
	case StepRestore:
		return "restored " + path
	case StepCut:
		return fmt.Sprintf("shortened %s to %d bytes", path, s.Was.Size)
	case StepTimes:
		return "set the time of " + path + " back"
	default:
		return fmt.Sprintf("not undone: %s: %s", path, s.Why)
	}
}

// target is where the step's Now has to be.
func (s Step) target() string {
	if s.From != nil {
		return string(s.From)
	}
	return string(s.Path)
}

// printOf is what lstat tells of a path; nil when nothing is there.
func printOf(path string) (*Print, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil, nil
	}
	if err != nil {
		return nil, plain(err)
	}
	p := printInfo(info)
	if p.Type == "symlink" {
		to, err := os.Readlink(path)
		if err != nil {
			return nil, plain(err)
		}
		p.Hash = hashOf([]byte(to))
	}
	return &p, nil
}

func printInfo(info fs.FileInfo) Print {
	p := Print{Type: fileType(info.Mode())}
	if p.Type != "dir" { // its time tells of its entries
		p.Size, p.MTime = info.Size(), info.ModTime().UnixNano()
	}
	return p
}

// inode is a path's inode, 0 when it is gone.
func inode(path string) uint64 {
	if info, err := os.Lstat(path); err == nil {
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			return st.Ino
		}
	}
	return 0
}

func hashOf(b []byte) string {
	sum := blake3.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// hashFile is the hash of a file's content.
func hashFile(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", plain(err)
	}
	defer f.Close()
	h := blake3.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", plain(err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// settled is a path with the links on its way resolved; a link at its end stays.
// What does not exist stays as it is.
func settled(path string) string {
	parent, last := split(path)
	if parent == path || last == "" {
		return path
	}
	if real, err := filepath.EvalSymlinks(parent); err == nil {
		return join(real, last)
	}
	return join(settled(parent), last)
}

// CheckSteps checks steps, in the order in which they are to be taken, against
// the files as they will be by then: stale_undo when one of them would meet
// something else than what its change has left. Nothing is touched.
func CheckSteps(steps []Step) error {
	v := &foresight{}
	for _, s := range steps {
		if err := v.check(s); err != nil {
			return err
		}
		v.took(s)
	}
	return nil
}

func staleUndo(path, why string) error {
	return value.Errorf(value.CodeStaleUndo, "undo: %s: %s; nothing was undone", path, why).
		WithHint("what is there now would be lost; move it away first, or undo by hand")
}
