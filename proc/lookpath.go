package proc

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// pathTTL bounds how long a program installed earlier in PATH stays unseen.
const pathTTL = 2 * time.Second

// pathCacheMax bounds the cache; when full it starts anew.
const pathCacheMax = 1024

type pathCache struct {
	mu sync.Mutex
	m  map[pathKey]pathHit
}

type pathKey struct{ name, path, dir string }

type pathHit struct {
	found string
	until time.Time
}

// LookPath resolves a command's name: through pathEnv, or relative to dir when
// it holds a slash. Relative and empty elements of pathEnv count from dir. A
// hit is remembered briefly and checked again before use; a miss never is.
func (r *Runner) LookPath(name, pathEnv, dir string) (string, error) {
	if name == "" {
		return "", &SpawnError{Kind: NotFound, Path: `""`, Err: syscall.ENOENT}
	}
	if strings.Contains(name, "/") {
		full := name
		if !filepath.IsAbs(full) {
			full = dir + "/" + name
		}
		if kind, err := runnable(full); kind != "" {
			return "", &SpawnError{Kind: kind, Path: name, Err: err}
		}
		return full, nil
	}
	key := pathKey{name: name, path: pathEnv, dir: dir}
	if found, ok := r.paths.get(key); ok {
		return found, nil
	}
	miss := &SpawnError{Kind: NotFound, Path: name, Err: syscall.ENOENT}
	for _, elem := range filepath.SplitList(pathEnv) {
		if !filepath.IsAbs(elem) {
			elem = filepath.Join(dir, elem)
		}
		full := filepath.Join(elem, name)
		kind, err := runnable(full)
		switch {
		case kind == "":
			r.paths.put(key, full)
			return full, nil
		case kind == NotExecutable && exists(full):
			miss = &SpawnError{Kind: kind, Path: full, Err: err}
		}
	}
	return "", miss
}

// exists reports whether path is known to be there: in a directory that may not
// be searched nothing is.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// runnable returns why path cannot be executed, or "".
func runnable(path string) (SpawnKind, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil && os.IsPermission(err):
		return NotExecutable, cause(err)
	case err != nil:
		return NotFound, cause(err)
	case info.IsDir():
		return IsDirectory, syscall.EISDIR
	case info.Mode()&0o111 == 0:
		return NotExecutable, syscall.EACCES
	}
	return "", nil
}

func (c *pathCache) get(key pathKey) (string, bool) {
	c.mu.Lock()
	hit, ok := c.m[key]
	c.mu.Unlock()
	if !ok || time.Now().After(hit.until) {
		return "", false
	}
	if kind, _ := runnable(hit.found); kind != "" {
		c.forget(hit.found)
		return "", false
	}
	return hit.found, true
}

func (c *pathCache) put(key pathKey, found string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.m == nil || len(c.m) >= pathCacheMax {
		c.m = map[pathKey]pathHit{}
	}
	c.m[key] = pathHit{found: found, until: time.Now().Add(pathTTL)}
}

// forget drops every name that led to a file which is gone.
func (c *pathCache) forget(found string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, hit := range c.m {
		if hit.found == found {
			delete(c.m, key)
		}
	}
}
