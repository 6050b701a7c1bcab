package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
)

// file is what the tail asks of a file; tests put a failing one in its place.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	Truncate(size int64) error
	Datasync() error
	Close() error
}

type diskFile struct{ *os.File }

func (f diskFile) Datasync() error { return datasync(f.File) }

func openDiskFile(path string) (file, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	return diskFile{f}, nil
}

// tailRoom is how much of a tail file stands ready for records, in bytes, as
// zeros that are on the disk. Writing over them changes neither the file's length
// nor its blocks, so that a sync need not wait for the file system's own log:
// that makes it about three times as fast. Zeros end the records, as a frame has
// a length.
const tailRoom = 256 << 10

// zeros are never written to.
var zeros [tailRoom]byte

// tail is the log in front of the store: two files that take turns. Records go
// to the active one; when its records are to be folded the files change places,
// and the old one is emptied after the commit that holds all of it.
type tail struct {
	active, spare *tailFile
	syncing       sync.Mutex // one sync at a time
}

type tailFile struct {
	file
	path   string
	size   atomic.Int64 // bytes of records
	length int64        // bytes of the file, at least; whoever may write changes it
	dirty  atomic.Bool  // holds bytes that were not synced
}

func tailPaths(dir string) [2]string {
	return [2]string{filepath.Join(dir, "tail-0.log"), filepath.Join(dir, "tail-1.log")}
}

// write appends buf with one write(2). After a failure it takes the torn part
// back as well as it can; replay drops it anyway.
func (t *tail) write(buf []byte) error {
	f := t.active
	at := f.size.Load()
	if _, err := f.WriteAt(buf, at); err != nil {
		f.cut(at)
		return fmt.Errorf("append record: %w", err) // the cause names the file
	}
	f.length = max(f.length, f.size.Add(int64(len(buf))))
	f.dirty.Store(true) // after the write, so that no sync in between clears it
	return nil
}

// takeBack drops the newest n bytes, whose sync failed, as well as it can: what
// was refused should not come back at the next replay.
func (t *tail) takeBack(n int) {
	f := t.active
	f.cut(f.size.Add(-int64(n)))
}

// cut drops what follows, as well as it can.
func (f *tailFile) cut(at int64) {
	if f.Truncate(at) == nil {
		f.length = at
	}
}

// sync makes everything written so far survive a power cut. The older file goes
// first: a record on disk never stands behind one that is missing. The caller
// sees to it that the files do not change places meanwhile, or passes a copy of
// both.
func (t *tail) sync(older, newer *tailFile) error {
	t.syncing.Lock()
	defer t.syncing.Unlock()
	for _, f := range []*tailFile{older, newer} {
		if !f.dirty.Swap(false) {
			continue
		}
		if err := f.Datasync(); err != nil {
			return fmt.Errorf("sync %s: %w", f.path, err)
		}
	}
	return nil
}

// rotate exchanges the files; the spare one is empty.
func (t *tail) rotate() { t.active, t.spare = t.spare, t.active }

// empty drops what the file holds and makes its room. When it returns nothing
// of the old records is on the disk: replay could not tell them, in a file that
// is being written anew, from records that follow a loss.
func (t *tail) empty(f *tailFile) error {
	used := f.size.Load()
	if f.length < tailRoom {
		used = tailRoom
	}
	if used == 0 {
		return nil
	}
	err := f.clear(used)
	if err == nil {
		err = f.Datasync()
	}
	if err != nil {
		return fmt.Errorf("empty tail: %w", err)
	}
	f.size.Store(0)
	f.dirty.Store(false)
	return nil
}

// clear writes zeros over the first used bytes of the room and cuts off what is
// beyond it.
func (f *tailFile) clear(used int64) error {
	if f.length > tailRoom {
		if err := f.Truncate(tailRoom); err != nil {
			return err
		}
		f.length = tailRoom
	}
	n, err := f.WriteAt(zeros[:min(used, tailRoom)], 0)
	f.length = max(f.length, int64(n))
	return err
}

// close closes the files that were opened.
func (t *tail) close() error {
	var errs []error
	for _, f := range []*tailFile{t.active, t.spare} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// syncDir makes names created in dir survive a power cut.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
