package proc

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// Limits are the sizes and times a Runner falls back on; zero fields take the
// defaults below.
type Limits struct {
	CaptureCap int64         // bytes of one stream kept in memory
	SpillCap   int64         // bytes of one stream kept in all; later ones are counted only
	Drain      time.Duration // how long an open pipe delays a finished command

	// What all streams together may have in memory and in files, in bytes. Beyond
	// the memory they go to files; beyond the files they are counted only.
	Memory, Disk int64
}

// The defaults of Limits.
const (
	DefaultCaptureCap = 16 << 20
	DefaultSpillCap   = 1 << 30
	DefaultDrain      = 100 * time.Millisecond
	DefaultMemory     = 256 << 20
	DefaultDisk       = 8 << 30
)

// Options configure a Runner.
type Options struct {
	// KernelID is the stable id of the state directory; every child carries it.
	KernelID string
	// RunDir (STATE/run) holds the mirrors of running tasks' newest output.
	// Empty: no mirrors.
	RunDir string
	// SpillDir holds the unlinked files of large captures; empty: the system's
	// temporary directory.
	SpillDir string
	// Spill puts content into the content store; nil: Capture.Store fails.
	Spill func(io.Reader) (hash string, n int64, err error)
	// Mask gives what a mirror may hold of a piece of output: p itself, or a copy
	// of its length. Nil: all of it.
	Mask func(p []byte) []byte
	// Margin is by how many bytes what Mask hides may reach over the end of a
	// piece; nil: by none.
	Margin func() int
	// Log receives what no caller can be told; nil: discarded.
	Log    *slog.Logger
	Limits Limits
}

// Runner starts processes for one kernel. Its methods may be called from any
// goroutine.
type Runner struct {
	opts   Options
	budget *budget
	log    *slog.Logger
	null   *os.File
	tails  *tailPool
	paths  pathCache

	seq    atomic.Uint64
	starts chan struct{} // holds an item for each child that is being started

	mu       sync.Mutex
	own      map[int]bool // pids that some goroutine of ours waits for
	starting int          // children that may exist and are not in own yet
	trees    map[*Tree]struct{}
	usage    map[string]Usage

	pumps  sync.WaitGroup // readers and feeders, which may outlive their Run
	open   map[io.Closer]struct{}
	stop   chan struct{}
	reaper sync.WaitGroup
	closed atomic.Bool
}

// startsMost is how many children are started at once: each start holds a thread,
// and one waits for another in the system anyway.
const startsMost = 8

// New returns a Runner whose directories exist. The caller ends it with Close.
func New(opts Options) (*Runner, error) {
	if opts.KernelID == "" {
		return nil, errors.New("new runner: no kernel id")
	}
	if opts.Limits.CaptureCap <= 0 {
		opts.Limits.CaptureCap = DefaultCaptureCap
	}
	if opts.Limits.SpillCap <= 0 {
		opts.Limits.SpillCap = DefaultSpillCap
	}
	if opts.Limits.Drain <= 0 {
		opts.Limits.Drain = DefaultDrain
	}
	if opts.Limits.Memory <= 0 {
		opts.Limits.Memory = DefaultMemory
	}
	if opts.Limits.Disk <= 0 {
		opts.Limits.Disk = DefaultDisk
	}
	for _, dir := range []string{opts.RunDir, opts.SpillDir} {
		if dir == "" {
			continue
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("new runner: %w", err)
		}
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("new runner: %w", err)
	}
	r := &Runner{
		opts:   opts,
		budget: newBudget(opts.Limits.Memory, opts.Limits.Disk),
		log:    opts.Log,
		null:   null,
		tails:  newTailPool(opts.RunDir, opts.Mask, opts.Margin),
		starts: make(chan struct{}, startsMost),
		own:    map[int]bool{},
		trees:  map[*Tree]struct{}{},
		usage:  map[string]Usage{},
		open:   map[io.Closer]struct{}{},
		stop:   make(chan struct{}),
	}
	if r.log == nil {
		r.log = slog.New(slog.DiscardHandler)
	}
	r.startReaper()
	return r, nil
}

// Close stops the runner's goroutines and releases its files. It ends no
// process: call KillAll first for that.
func (r *Runner) Close() error {
	if r.closed.Swap(true) {
		return nil
	}
	close(r.stop)
	r.reaper.Wait()
	r.mu.Lock()
	for c := range r.open {
		c.Close()
	}
	r.mu.Unlock()
	r.pumps.Wait()
	r.tails.close()
	return r.null.Close()
}

// hold remembers what has to be closed for a goroutine to end; release is its
// counterpart.
func (r *Runner) hold(c io.Closer) {
	r.mu.Lock()
	r.open[c] = struct{}{}
	r.mu.Unlock()
}

func (r *Runner) release(c io.Closer) {
	r.mu.Lock()
	delete(r.open, c)
	r.mu.Unlock()
	c.Close()
}

// Usage is what a task's reaped processes have used so far.
type Usage struct {
	CPU    time.Duration
	MaxRSS int64 // bytes, the greatest of any one process
	Count  int   // commands started
}

// Usage sums up the finished commands of a task.
func (r *Runner) Usage(task uint64) Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.usage[owner(task)]
}

// Forget drops what is remembered about a task that has ended. Leftovers, if
// there are any, are from then on found by their mark only.
func (r *Runner) Forget(task uint64) {
	for _, t := range r.treesOf(owner(task)) {
		t.mu.Lock()
		dead := t.dead
		t.mu.Unlock()
		if dead {
			t.Drop()
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.usage, owner(task))
}

func (r *Runner) addUsage(who string, cpu time.Duration, rss int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	u := r.usage[who]
	u.CPU += cpu
	u.MaxRSS = max(u.MaxRSS, rss)
	u.Count++
	r.usage[who] = u
}

// owner spells a task the way the mark does.
func owner(task uint64) string { return strconv.FormatUint(task, 10) }
