package host

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/zeebo/blake3"

	"shoal.dev/shoal/lang/interp"
)

// StepLog is where recorded steps and former content go.
type StepLog interface {
	// Number gives the next step its number.
	Number() (uint64, error)
	// Store keeps content and gives the hash of what was kept, which is another
	// when something in it must not be kept.
	Store(content io.Reader) (hash string, err error)
	// MayKeep reports whether a step may hold the content.
	MayKeep(content []byte) bool
	// Write writes steps, in order.
	Write(steps []Step)
}

// Steps collects what undoes the changes of one run to files. Changes of one
// file, one behind the other, become one step. It is for many goroutines.
type Steps struct {
	Log StepLog

	mu      sync.Mutex
	pending []Step
	active  int // changes that are being made
}

// pendingMax is how many steps are collected before they are written.
const pendingMax = 64

// Record wraps files so that what undoes each change is recorded. Nil steps
// record nothing.
func Record(files Files, steps *Steps) interp.Files {
	if steps == nil {
		return files
	}
	return recorder{files, steps}
}

// Flush writes what has been collected. It is called between changes.
func (s *Steps) Flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushLocked()
}

func (s *Steps) flushLocked() {
	if len(s.pending) == 0 {
		return
	}
	// What a later step has left is not what this one left, even where size and
	// time are the same.
	later := map[string]bool{}
	for i := len(s.pending) - 1; i >= 0; i-- {
		step := &s.pending[i]
		if !covered(later, step.target()) {
			step.takeHash()
		}
		later[string(step.Path)] = true
		if step.From != nil {
			later[string(step.From)] = true
		}
	}
	s.Log.Write(s.pending)
	s.pending = nil
}

// covered reports whether a path, or a directory on its way, is one of paths.
func covered(paths map[string]bool, path string) bool {
	for at := path; ; {
		if paths[at] {
			return true
		}
		parent, _ := split(at)
		if parent == at {
			return false
		}
		at = parent
	}
}

// takeHash adds the content's hash to what a change left, as long as that is
// still as the change left it. What is in the trash is known well enough.
func (s *Step) takeHash() {
	if s.Now == nil || s.Now.Type != "file" || s.Now.Hash != "" || s.Now.Size > hashMax || s.Op == StepUntrash {
		return
	}
	if now, err := printOf(s.target()); err != nil || now == nil || *now != *s.Now {
		return
	}
	if hash, err := hashFile(s.target()); err == nil {
		s.Now.Hash = hash
	}
}

func (s *Steps) add(step Step) error {
	n, err := s.Log.Number()
	if err != nil {
		return err
	}
	step.N = n
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = append(s.pending, step)
	return nil
}

// begin and end stand round a change; steps are written when none is being made.
func (s *Steps) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active++
}

func (s *Steps) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.active--
	if s.active == 0 && len(s.pending) >= pendingMax {
		s.flushLocked()
	}
}

// covering is the collected step that already undoes any further change of the
// content at a path: 0 when there is none, or the file has changed since.
func (s *Steps) covering(path string, appends bool) uint64 {
	now, err := printOf(path)
	if err != nil || now == nil || now.Type != "file" {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range slices.Backward(s.pending) {
		if !step.touches(path) {
			continue
		}
		whole := step.Op == StepRemove || step.Op == StepRestore || step.Op == StepCut && appends
		if whole && string(step.Path) == path && step.Now != nil && *step.Now == *now {
			return step.N
		}
		return 0
	}
	return 0
}

// touches reports whether a step is about a path or a directory round it.
func (s Step) touches(path string) bool {
	_, in := below(path, string(s.Path))
	_, from := below(path, string(s.From))
	return in || s.From != nil && from
}

// again sets what a collected step's path holds after one more change; false
// when the step has been written already.
func (s *Steps) again(n uint64, now *Print) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.pending {
		if s.pending[i].N == n {
			s.pending[i].Now = now
			return true
		}
	}
	return false
}

// recorder is the system's files with a record of what undoes each change.
type recorder struct {
	Files
	steps *Steps
}

// snapshot is what was at a path before a change.
type snapshot struct {
	path   string
	was    *Former // nil: nothing
	why    string  // why what was there cannot be put back
	skip   bool    // it is no file, directory or link
	append bool
	ino    uint64
	cover  uint64 // the collected step that undoes the change already
}

// look captures what is at a path, with its content unless something is only
// appended to it.
func (r recorder) look(path string, appends bool) snapshot {
	c := snapshot{path: path, append: appends, cover: r.steps.covering(path, appends)}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c
	case err != nil:
		c.why = "what was there could not be looked at"
		return c
	}
	c.was = &Former{Print: printInfo(info), Mode: info.Mode()}
	c.ino = inode(path)
	switch {
	case c.cover != 0, c.was.Type == "dir":
	case c.was.Type == "other":
		c.skip = true
	case c.was.Type == "symlink":
		to, err := os.Readlink(path)
		if err != nil {
			c.why = "the link could not be read"
		}
		c.was.Data, c.was.Hash = []byte(to), hashOf([]byte(to))
	case !appends:
		c.why = r.keep(path, c.was)
	}
	return c
}

// keep keeps a file's content, or says why it cannot.
func (r recorder) keep(path string, was *Former) (why string) {
	const secret = "its former content holds a secret, which is not kept"
	if was.Size > contentMax {
		return "its former content was above the limit of 32 MiB"
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "its former content could not be read"
	}
	defer f.Close()
	if was.Size <= inlineMax {
		data, err := io.ReadAll(f)
		switch {
		case err != nil:
			return "its former content could not be read"
		case !r.steps.Log.MayKeep(data):
			return secret
		}
		was.Data, was.Hash = data, hashOf(data)
		return ""
	}
	h := blake3.New()
	hash, err := r.steps.Log.Store(io.TeeReader(f, h))
	switch {
	case err != nil:
		return "its former content could not be kept: " + err.Error()
	case hash != hex.EncodeToString(h.Sum(nil)):
		return secret
	}
	was.Hash = hash
	return ""
}

// changed records what undoes a change that was captured before it; failed says
// that the change reported a failure and may not have happened.
func (r recorder) changed(c snapshot, failed bool) error {
	if c.skip {
		return nil
	}
	now, err := printOf(c.path)
	if err != nil {
		return nil // it was changed where nobody may look
	}
	if now == nil && c.was == nil || failed && c.unchanged(now) {
		return nil
	}
	if c.cover != 0 && r.steps.again(c.cover, now) {
		return nil
	}
	step := Step{Op: StepRestore, Path: []byte(c.path), Was: c.was, Now: now}
	switch {
	case c.cover != 0:
		c.why = "it was changed by several branches at once"
		fallthrough
	case c.why != "":
		step = Step{Op: StepNone, Path: []byte(c.path), Why: c.why}
	case c.was == nil:
		step.Op = StepRemove
	case c.append:
		step.Op = StepCut
	}
	return r.steps.add(step)
}

func (c snapshot) unchanged(now *Print) bool {
	return c.was != nil && now != nil && c.ino == inode(c.path) && c.was.Size == now.Size && c.was.MTime == now.MTime
}

// change makes a change of what is at some paths and records what undoes it.
func (r recorder) change(do func() error, captured ...snapshot) error {
	err := do()
	for _, c := range captured {
		err = both(err, r.changed(c, err != nil))
	}
	return err
}

// both are two failures, as one only where there are two.
func both(err, more error) error {
	if more == nil {
		return err
	}
	return errors.Join(err, more)
}

// WriteFile writes content to a file; see Files.
func (r recorder) WriteFile(ctx context.Context, path string, content io.Reader, mode interp.WriteMode) error {
	r.steps.begin()
	defer r.steps.end()
	do := func() error { return r.Files.WriteFile(ctx, path, content, mode) }
	target, is, err := destination(path)
	if err != nil || is != nil && !is.IsRegular() {
		return do()
	}
	return r.change(do, r.look(settled(target), mode == interp.Append))
}

// Mkdir makes a directory; see Files.
func (r recorder) Mkdir(ctx context.Context, path string, parents bool) error {
	r.steps.begin()
	defer r.steps.end()
	var made []string
	for at := settled(path); ; {
		if p, err := printOf(at); err != nil || p != nil {
			break
		}
		made = append(made, at)
		parent, _ := split(at)
		if parent == at || !parents {
			break
		}
		at = parent
	}
	err := r.Files.Mkdir(ctx, path, parents)
	for _, dir := range slices.Backward(made) {
		if p, lerr := printOf(dir); lerr == nil && p != nil {
			err = both(err, r.steps.add(Step{Op: StepRemove, Path: []byte(dir), Now: p}))
		}
	}
	return err
}

// Touch creates a file or sets its time; see Files.
func (r recorder) Touch(ctx context.Context, path string, at time.Time) error {
	r.steps.begin()
	defer r.steps.end()
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return r.change(func() error { return r.Files.Touch(ctx, path, at) }, r.look(settled(path), false))
	}
	return r.retime(real, func() error { return r.Files.Touch(ctx, path, at) })
}

// retime changes nothing of a path but its time.
func (r recorder) retime(path string, do func() error) error {
	info, err := os.Lstat(path)
	if err != nil {
		return plain(err)
	}
	if err := do(); err != nil {
		return err
	}
	now, err := printOf(path)
	if err != nil || now == nil || now.Type == "other" {
		return err
	}
	was := Former{Print: *now, Mode: info.Mode()}
	was.MTime = info.ModTime().UnixNano()
	return r.steps.add(Step{Op: StepTimes, Path: []byte(path), Was: &was, Now: timed(path, now)})
}

// timed is a print by which a directory is known again too.
func timed(path string, p *Print) *Print {
	if p.Type == "dir" {
		p.Ino = inode(path)
	}
	return p
}

// Copy copies a file or a tree; see Files.
func (r recorder) Copy(ctx context.Context, src, dst string, recursive bool) error {
	r.steps.begin()
	defer r.steps.end()
	do := func() error { return r.Files.Copy(ctx, src, dst, recursive) }
	info, err := os.Stat(src)
	if err != nil {
		return do()
	}
	if info.IsDir() {
		return r.copyTree(src, dst, do)
	}
	target, is, err := destination(dst)
	if err != nil || is != nil && !is.IsRegular() {
		return do()
	}
	return r.change(do, r.look(settled(target), false))
}

// copyTree records each file that is there already, and each tree that is made,
// as one.
func (r recorder) copyTree(src, dst string, do func() error) error {
	var there []snapshot
	var made []string
	// What cannot be read stops the copy, which may have copied a part by then.
	_ = filepath.WalkDir(src, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return nil
		}
		to := filepath.Join(dst, rel)
		p, err := printOf(to)
		switch {
		case err != nil:
		case p == nil:
			made = append(made, settled(to))
			if d.IsDir() {
				return fs.SkipDir
			}
		case d.IsDir():
		case d.Type()&fs.ModeSymlink != 0:
			there = append(there, r.look(settled(to), false))
		default:
			if target, is, err := destination(to); err == nil && (is == nil || is.IsRegular()) {
				there = append(there, r.look(settled(target), false))
			}
		}
		return nil
	})
	err := r.change(do, there...)
	for _, path := range made {
		err = both(err, r.made(path))
	}
	return err
}

// made records that a tree was made.
func (r recorder) made(path string) error {
	p, err := printOf(path)
	if err != nil || p == nil {
		return err
	}
	if p.Type == "dir" {
		if p.Hash, err = (&foresight{}).tree(path); err != nil {
			return err
		}
	}
	return r.steps.add(Step{Op: StepRemove, Path: []byte(path), Now: p})
}

// Move moves; see Files. What was at the destination is put back behind it.
func (r recorder) Move(ctx context.Context, src, dst string) error {
	r.steps.begin()
	defer r.steps.end()
	from, to := settled(src), settled(dst)
	before := r.look(to, false)
	before.cover = 0 // the moved file is another
	if before.was != nil && before.was.Type == "file" && before.was.Hash == "" && before.why == "" {
		before.why = r.keep(to, before.was)
	}
	if err := r.Files.Move(ctx, src, dst); err != nil {
		return err
	}
	if p, err := printOf(from); err != nil || p != nil { // both were names of one file
		return err
	}
	if err := r.replaced(before); err != nil {
		return err
	}
	p, err := printOf(to)
	if err != nil || p == nil {
		return err
	}
	return r.steps.add(Step{Op: StepMove, Path: []byte(from), From: []byte(to), Now: timed(to, p)})
}

// replaced records what was there before something was moved onto it.
func (r recorder) replaced(c snapshot) error {
	switch {
	case c.skip:
		return r.steps.add(Step{Op: StepNone, Path: []byte(c.path), Why: "it was no file, directory or link"})
	case c.why != "":
		return r.steps.add(Step{Op: StepNone, Path: []byte(c.path), Why: c.why})
	case c.was != nil:
		return r.steps.add(Step{Op: StepRestore, Path: []byte(c.path), Was: c.was})
	}
	return nil
}

// Remove deletes for good; see Files.
func (r recorder) Remove(ctx context.Context, path string, recursive bool) error {
	r.steps.begin()
	defer r.steps.end()
	at := settled(path)
	if err := r.Files.Remove(ctx, path, recursive); err != nil {
		return err
	}
	return r.steps.add(Step{Op: StepNone, Path: []byte(at), Why: "it was deleted for good"})
}

// Trash moves a path out of the way; see Files.
func (r recorder) Trash(ctx context.Context, path string) (string, error) {
	r.steps.begin()
	defer r.steps.end()
	at := settled(path)
	to, err := r.Files.Trash(ctx, path)
	if err != nil {
		return "", err
	}
	p, err := printOf(to)
	if err != nil || p == nil {
		return to, err
	}
	return to, r.steps.add(Step{Op: StepUntrash, Path: []byte(at), From: []byte(to), Now: timed(to, p)})
}

// Link makes a link; see Files.
func (r recorder) Link(ctx context.Context, target, link string, symbolic bool) error {
	r.steps.begin()
	defer r.steps.end()
	at := settled(link)
	if err := r.Files.Link(ctx, target, link, symbolic); err != nil {
		return err
	}
	return r.made(at)
}

// putBack makes a path what it was: a file with its content, a link or a directory.
func putBack(ctx context.Context, path string, was *Former, content io.Reader) error {
	switch was.Type {
	case "dir":
		return plain(os.Mkdir(path, was.Mode.Perm()))
	case "symlink":
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return plain(err)
		}
		return plain(os.Symlink(string(was.Data), path))
	}
	if was.Hash == hashOf(was.Data) {
		content = bytes.NewReader(was.Data)
	}
	mode := was.Mode
	if err := writeBeside(ctx, path, &mode, content); err != nil {
		return err
	}
	return setTime(path, was.MTime)
}

// setTime sets when a file was modified, in Unix nanoseconds.
func setTime(path string, ns int64) error {
	at := time.Unix(0, ns)
	return plain(os.Chtimes(path, time.Time{}, at))
}

var _ interp.Files = recorder{}
