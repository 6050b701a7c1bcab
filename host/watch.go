package host

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// Watcher follows files: through the kernel's notices where there are any, by
// looking once a second elsewhere.
type Watcher struct{}

// watchPending is how many changes wait for whoever reads them.
const watchPending = 64

// lookEvery is how often files are looked at where nothing gives notice, and
// how long a lost notice may delay a tail.
const lookEvery = time.Second

// Watch begins to watch a file or a directory.
func (Watcher) Watch(ctx context.Context, path string, recursive bool) (interp.Watch, error) {
	info, err := Files{}.Stat(ctx, path)
	if err != nil {
		return nil, err
	}
	w := &watch{root: path, wake: make(chan struct{}, 1), done: make(chan struct{})}
	dir, only := path, ""
	if info.Type != "dir" {
		dir, only = filepath.Split(path)
		dir = filepath.Clean(dir)
		recursive = false
	}
	stop, err := notify(w, dir, only, recursive)
	if err != nil {
		return nil, err
	}
	w.stop = stop
	return w, nil
}

// watch is the queue between what notices changes and whoever reads them.
type watch struct {
	root string
	stop func()

	mu      sync.Mutex
	pending []interp.WatchEvent
	over    bool // there was no room: everything pending is one notice
	failed  error
	closed  bool
	wake    chan struct{}
	done    chan struct{}
	once    sync.Once
}

// add queues a change. Several of the same sort on one file in a row are one.
func (w *watch) add(path, kind string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.pending); n > 0 && !w.over {
		last := &w.pending[n-1]
		if last.Path == path && (last.Kind == kind || last.Kind == "created" && kind == "modified") {
			return
		}
	}
	if w.over {
		return
	}
	if len(w.pending) >= watchPending {
		w.overflowLocked()
		return
	}
	w.pending = append(w.pending, interp.WatchEvent{Path: path, Kind: kind, At: time.Now()})
	w.signal()
}

// overflow replaces what is pending by one notice for all.
func (w *watch) overflow() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.overflowLocked()
}

func (w *watch) overflowLocked() {
	w.over = true
	w.pending = []interp.WatchEvent{{Path: w.root, Kind: "modified", At: time.Now(), Coalesced: true}}
	w.signal()
}

// fail ends the watch for its reader.
func (w *watch) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.failed == nil {
		w.failed = err
	}
	w.signal()
}

func (w *watch) signal() {
	select {
	case w.wake <- struct{}{}:
	default:
	}
}

// Next waits for the next change.
func (w *watch) Next(ctx context.Context) (interp.WatchEvent, error) {
	for {
		e, ok, err := w.next()
		if ok || err != nil {
			return e, err
		}
		select {
		case <-w.wake:
		case <-w.done:
		case <-ctx.Done():
			return interp.WatchEvent{}, context.Cause(ctx)
		}
	}
}

func (w *watch) next() (interp.WatchEvent, bool, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) > 0 {
		e := w.pending[0]
		w.pending, w.over = w.pending[1:], false
		return e, true, nil
	}
	if w.closed {
		return interp.WatchEvent{}, false, value.Errorf(value.CodeChannelClosed, "the watch is closed")
	}
	return interp.WatchEvent{}, false, w.failed
}

// Close ends the watch and waits until nothing looks any more.
func (w *watch) Close() {
	w.once.Do(func() {
		w.mu.Lock()
		w.closed = true
		w.mu.Unlock()
		close(w.done)
		w.stop()
	})
}

var _ interp.Watcher = Watcher{}
