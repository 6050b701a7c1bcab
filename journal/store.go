package journal

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// Options say where a store lives and whom it tells.
type Options struct {
	Dir     string // the journal's directory; created 0700
	BlobDir string // the content store's directory; created 0700
	Log     *slog.Logger
	// SyncAlways flushes every record before its answer, not only those that
	// ask for it.
	SyncAlways bool
	// Publish is called by who writes with the events of one write, in order,
	// after they are kept and before they are acknowledged. It must not block
	// and must not call Append's done or Counter.Next.
	Publish func([]messages.Published)
	// Now is the wall clock; nil means time.Now.
	Now func() time.Time

	openTail func(path string) (file, error) // tests inject failing files
}

// How long things stay where they are.
const (
	foldDelay  = 45 * time.Millisecond // first unfolded record to fold
	flushDelay = 4 * time.Millisecond  // write to group flush
	lockWait   = 2 * time.Second       // for another process to let go of the store
	storeName  = "store.db"
)

// Store is the journal. Its methods may be called from any goroutine.
type Store struct {
	opt   Options
	log   *slog.Logger
	db    *bolt.DB
	tail  *tail
	blobs *blobStore

	queue queue
	turn  sync.Mutex // to write a group: numbers, file, events and answers in one order
	w     writer     // guarded by turn

	folding sync.Mutex // one fold at a time; comes before writing

	// writing is held while the active file and layer are written or change
	// places; it comes before mu.
	writing sync.Mutex

	mu      sync.RWMutex // guards what follows
	active  *layer
	frozen  *layer // being folded; nil when there is nothing
	folded  uint64 // number of the newest folded record
	failed  error
	damaged []string

	countersMu sync.Mutex
	counters   map[string]*Counter

	dirty chan struct{} // there is something to fold
	flush chan struct{} // there is something to sync
	quit  chan struct{}
	wg    sync.WaitGroup
	once  sync.Once
	cerr  error
}

// Open opens or creates the store. It checks the schema before it touches
// anything, replays the tail, and starts the writer. A store that another
// process holds, that is newer, or that is damaged is refused.
func Open(opt Options) (*Store, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.openTail == nil {
		opt.openTail = openDiskFile
	}
	for _, dir := range []string{opt.Dir, opt.BlobDir} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open journal: %w", err)
		}
	}
	db, err := openDB(filepath.Join(opt.Dir, storeName))
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	s := &Store{
		opt: opt, log: opt.Log, db: db,
		active:   newLayer(),
		counters: map[string]*Counter{},
		dirty:    make(chan struct{}, 1),
		flush:    make(chan struct{}, 1),
		quit:     make(chan struct{}),
	}
	s.queue.wake = make(chan struct{}, 1)
	if err := s.start(); err != nil {
		if s.tail != nil {
			_ = s.tail.close()
		}
		_ = db.Close()
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return s, nil
}

func (s *Store) start() error {
	var err error
	if s.blobs, err = openBlobs(s.opt.BlobDir); err != nil {
		return err
	}
	s.w.init()
	if err := s.replay(); err != nil {
		return err
	}
	s.wg.Go(s.writeLoop)
	s.wg.Go(s.foldLoop)
	s.wg.Go(s.flushLoop)
	if s.frozen != nil || s.active.records > 0 {
		notify(s.dirty)
	}
	return nil
}

// Close writes what is queued, folds everything and closes the store. Appends
// after it are refused.
func (s *Store) Close() error {
	s.once.Do(func() { s.cerr = s.close() })
	return s.cerr
}

func (s *Store) close() error {
	s.returnNumbers()
	s.queue.close()
	close(s.quit)
	s.wg.Wait()
	var err error
	if s.Err() == nil {
		err = errors.Join(s.fold(), s.fold()) // frozen, then active
	}
	return errors.Join(err, s.tail.close(), s.db.Close())
}

// Err is nil until a write has failed. After that nothing is written, and every
// Append is answered with this reason; reading still works.
func (s *Store) Err() error {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.failed
}

// fail stops the journal. The first reason stays.
func (s *Store) fail(err error) {
	s.mu.Lock()
	first := s.failed == nil
	if first {
		s.failed = err
	}
	s.mu.Unlock()
	if first {
		s.log.Error("journal has stopped", "err", err)
	}
}

func (s *Store) stopped(err error) *messages.Error {
	return messages.Errorf(messages.CodeInternal,
		"the journal has stopped and keeps nothing more: %v; free space or repair %s, then restart the kernel", err, s.opt.Dir)
}

// LastRecord is the number of the newest record.
func (s *Store) LastRecord() uint64 {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return max(s.active.last, s.folded)
}

// Stats are sizes and counts for people.
type Stats struct {
	StoreBytes   int64    `json:"store_bytes"`
	FreeBytes    int64    `json:"free_bytes"` // unused pages within StoreBytes
	TailBytes    int64    `json:"tail_bytes"`
	Unfolded     int      `json:"unfolded"` // records in the tail
	Queued       int      `json:"queued"`   // records not yet written
	LastRecord   uint64   `json:"last_record"`
	Damaged      []string `json:"damaged,omitempty"` // what replay found, by file and offset
	Stopped      string   `json:"stopped,omitempty"`
	BlobsWritten int64    `json:"blobs_written"` // since the store was opened
}

// Stats reads the store's sizes.
func (s *Store) Stats() Stats {
	s.writing.Lock()
	st := Stats{TailBytes: s.tail.active.size.Load() + s.tail.spare.size.Load()}
	s.writing.Unlock()
	s.mu.RLock()
	st.Unfolded = s.active.records
	st.LastRecord = max(s.active.last, s.folded)
	if s.frozen != nil {
		st.Unfolded += s.frozen.records
		st.LastRecord = max(st.LastRecord, s.frozen.last)
	}
	if s.failed != nil {
		st.Stopped = s.failed.Error()
	}
	st.Damaged = append(st.Damaged, s.damaged...)
	s.mu.RUnlock()
	st.Queued = s.queue.len()
	st.BlobsWritten = s.blobs.written.Load()
	_ = s.view(func(tx *bolt.Tx) error {
		st.StoreBytes = tx.Size()
		return nil
	})
	st.FreeBytes = int64(s.db.Stats().FreePageN) * int64(os.Getpagesize())
	return st
}

// DamagedError says that something on disk no longer is what was written.
type DamagedError struct {
	What   string // the file or the content's hash
	Offset int64
	Reason string
}

func (e *DamagedError) Error() string {
	return fmt.Sprintf("%s is damaged at offset %d: %s", e.What, e.Offset, e.Reason)
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}

var _ io.Closer = (*Store)(nil)
