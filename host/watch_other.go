//go:build !linux

package host

import (
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// watchFiles is how many files are looked at; what lies beyond is not noticed.
const watchFiles = 100_000

type seen struct {
	size int64
	at   time.Time
	dir  bool
}

// notify starts to look at dir once a second; stop ends that and waits.
func notify(w *watch, dir, only string, recursive bool) (stop func(), err error) {
	last, err := look(dir, only, recursive)
	if err != nil {
		return nil, plain(err)
	}
	quit, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(lookEvery)
		defer tick.Stop()
		for {
			select {
			case <-quit:
				return
			case <-tick.C:
			}
			now, err := look(dir, only, recursive)
			if err != nil {
				now = map[string]seen{}
			}
			compare(w, last, now)
			last = now
		}
	}()
	return func() {
		close(quit)
		<-ended
	}, nil
}

// compare tells of the differences between two looks.
func compare(w *watch, last, now map[string]seen) {
	for path := range last {
		if _, ok := now[path]; !ok {
			w.add(path, "removed")
		}
	}
	for path, s := range now {
		switch old, ok := last[path]; {
		case !ok:
			w.add(path, "created")
		case old != s && !s.dir:
			w.add(path, "modified")
		}
	}
}

func look(dir, only string, recursive bool) (map[string]seen, error) {
	out := map[string]seen{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && path == dir:
			return err
		case err != nil || path == dir || only != "" && d.Name() != only:
			return nil
		case len(out) >= watchFiles:
			return fs.SkipAll
		}
		if info, err := os.Lstat(path); err == nil {
			out[path] = seen{info.Size(), info.ModTime(), d.IsDir()}
		}
		if d.IsDir() && !recursive {
			return fs.SkipDir
		}
		return nil
	})
	return out, err
}
