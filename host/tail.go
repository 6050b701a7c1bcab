package host

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// tailLine is how long a line may become before it is given in pieces.
const tailLine = 1 << 20

// Tail opens a regular file at its end or start. The file itself is the queue:
// a slow reader loses nothing that is still in it.
func (w Watcher) Tail(ctx context.Context, path string, fromStart bool) (interp.Tail, error) {
	f, err := openTail(path)
	if err != nil {
		return nil, err
	}
	t := &tail{path: path, f: f, done: make(chan struct{}), buf: make([]byte, 32<<10)}
	if !fromStart {
		if t.offset, err = f.Seek(0, io.SeekEnd); err != nil {
			f.Close()
			return nil, plain(err)
		}
	}
	// Without notices the file is looked at from time to time.
	if changes, err := w.Watch(ctx, path, false); err == nil {
		t.changes = changes.(*watch)
	}
	return t, nil
}

func openTail(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, plain(err)
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("it is no regular file")
	}
	if err != nil {
		f.Close()
		return nil, plain(err)
	}
	return f, nil
}

// tail reads a file that grows. Next is for one goroutine at a time.
type tail struct {
	path    string
	changes *watch // nil where there are no notices
	done    chan struct{}
	once    sync.Once

	mu     sync.Mutex // guards what follows against Close
	f      *os.File
	offset int64
	line   []byte // the part of a line that is there so far
	ready  []byte // read and not yet given
	buf    []byte
}

// Next waits for the next complete line.
func (t *tail) Next(ctx context.Context) ([]byte, error) {
	for {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		line, ok, err := t.read()
		if ok || err != nil {
			return line, err
		}
		if err := t.wait(ctx); err != nil {
			return nil, err
		}
	}
}

// wait waits for a change of the file.
func (t *tail) wait(ctx context.Context) error {
	timer := time.NewTimer(lookEvery)
	defer timer.Stop()
	var changed chan struct{}
	if t.changes != nil {
		changed = t.changes.wake
	}
	select {
	case <-changed:
		t.changes.discard()
	case <-timer.C:
	case <-t.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// discard forgets the pending changes: what they say is read from the file.
func (w *watch) discard() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.pending, w.over = nil, false
}

// read gives the next line that is complete; false at the end of what there is.
func (t *tail) read() ([]byte, bool, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for {
		if line, ok := t.cut(); ok {
			return line, true, nil
		}
		select {
		case <-t.done:
			return nil, false, value.Errorf(value.CodeChannelClosed, "the tail is closed")
		default:
		}
		n, err := t.f.ReadAt(t.buf, t.offset)
		if n > 0 {
			t.offset += int64(n)
			t.ready = t.buf[:n]
			continue
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, false, plain(err)
		}
		if again, err := t.renew(); err != nil || !again {
			return nil, false, err
		}
	}
}

// cut takes a line off what was read.
func (t *tail) cut() ([]byte, bool) {
	i := bytes.IndexByte(t.ready, '\n')
	if i < 0 {
		t.line = append(t.line, t.ready...)
		t.ready = nil
		if len(t.line) < tailLine {
			return nil, false
		}
		line := t.line
		t.line = nil
		return line, true
	}
	line := append(t.line, t.ready[:i]...)
	t.line, t.ready = nil, t.ready[i+1:]
	return bytes.TrimSuffix(line, []byte("\r")), true
}

// renew begins anew when the file was truncated or another has its name. At
// the end of an old file nothing more is expected of it. While there is no file
// of the name, the old one is kept.
func (t *tail) renew() (bool, error) {
	own, err := t.f.Stat()
	if err != nil {
		return false, plain(err)
	}
	if own.Size() < t.offset {
		t.offset, t.line = 0, nil
		return true, nil
	}
	now, err := os.Stat(t.path)
	if err != nil || os.SameFile(own, now) {
		return false, nil
	}
	f, err := openTail(t.path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return false, nil
		}
		return false, err
	}
	t.f.Close()
	t.f, t.offset, t.line = f, 0, nil
	return true, nil
}

// Close ends the tail.
func (t *tail) Close() {
	t.once.Do(func() {
		close(t.done)
		if t.changes != nil {
			t.changes.Close()
		}
		t.mu.Lock()
		defer t.mu.Unlock()
		t.f.Close()
	})
}
