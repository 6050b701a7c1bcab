package journal

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime/debug"

	bolt "go.etcd.io/bbolt"
)

// Schema is the version of what is on disk: buckets, keys, values and frames.
const Schema = 1

// ErrLocked says that another process has the store open.
var ErrLocked = errors.New("another process has the store open")

// SchemaError says that a store was written by another version of the program.
type SchemaError struct {
	Path        string
	Found, Want uint64
}

func (e *SchemaError) Error() string {
	return fmt.Sprintf("%s has schema %d, this program knows %d: use the newer program that wrote it", e.Path, e.Found, e.Want)
}

// The buckets. Keys are big-endian, so that order of keys is order of numbers.
var (
	bucketMeta    = []byte("meta")
	bucketRow     = []byte("row")     // table NUL key → value
	bucketEntry   = []byte("entry")   // id → value (entry.go)
	bucketIndex   = []byte("index")   // kind hash id → nothing (index.go)
	bucketBlock   = []byte("block")   // id/256 → least and greatest time
	bucketEvent   = []byte("event")   // session NUL name NUL seq → time payload
	bucketChannel = []byte("channel") // session NUL name → next seq
	bucketCounter = []byte("counter") // name → next number

	keySchema = []byte("schema")
	keyFolded = []byte("folded") // number of the newest folded record

	buckets = [][]byte{bucketMeta, bucketRow, bucketEntry, bucketIndex, bucketBlock, bucketEvent, bucketChannel, bucketCounter}
)

// openDB opens the bbolt file and checks it; a new one gets its buckets.
func openDB(path string) (*bolt.DB, error) {
	info, statErr := os.Stat(path)
	fresh := errors.Is(statErr, os.ErrNotExist) || statErr == nil && info.Size() == 0
	var db *bolt.DB
	err := guarded(func() (err error) {
		db, err = bolt.Open(path, 0o600, &bolt.Options{
			Timeout:         lockWait,
			FreelistType:    bolt.FreelistMapType,
			InitialMmapSize: 256 << 20,
		})
		return err
	})
	if errors.Is(err, bolt.ErrTimeout) {
		return nil, fmt.Errorf("%s: %w", path, ErrLocked)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := checkDB(db, path, fresh); err != nil {
		_ = db.Close()
		return nil, err
	}
	return db, nil
}

func checkDB(db *bolt.DB, path string, fresh bool) error {
	found, size := uint64(0), int64(0)
	err := guarded(func() error {
		return db.View(func(tx *bolt.Tx) error {
			size = tx.Size()
			if b := tx.Bucket(bucketMeta); b != nil {
				found = number(b.Get(keySchema))
			} else if k, _ := tx.Cursor().First(); k == nil {
				fresh = true // created, but not written by whoever created it
			}
			return nil
		})
	})
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", path, err)
	case fresh:
		return createBuckets(db)
	case found > Schema:
		return &SchemaError{Path: path, Found: found, Want: Schema}
	case found != Schema:
		return fmt.Errorf("%s is no journal of this program (schema %d)", path, found)
	}
	if info, err := os.Stat(path); err != nil {
		return err
	} else if info.Size() < size {
		return &DamagedError{What: path, Offset: info.Size(), Reason: fmt.Sprintf("the file ends early, %d bytes are in use", size)}
	}
	return nil
}

func createBuckets(db *bolt.DB) error {
	return db.Update(func(tx *bolt.Tx) error {
		for _, name := range buckets {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return err
			}
		}
		return tx.Bucket(bucketMeta).Put(keySchema, be64(Schema))
	})
}

// view runs f in a read transaction of the folded part.
func (s *Store) view(f func(*bolt.Tx) error) error {
	return guarded(func() error { return s.db.View(f) })
}

// guarded turns what bbolt does on a damaged page, a panic or a memory fault,
// into an error.
func guarded(f func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if r := recover(); r != nil {
			err = &DamagedError{What: storeName, Reason: fmt.Sprint(r)}
		}
	}()
	return f()
}

func be64(n uint64) []byte { return binary.BigEndian.AppendUint64(nil, n) }

// number reads what be64 wrote; anything else is 0.
func number(b []byte) uint64 {
	if len(b) != 8 {
		return 0
	}
	return binary.BigEndian.Uint64(b)
}
