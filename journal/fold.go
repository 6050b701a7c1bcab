package journal

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// Folding moves what the tail holds into bbolt. The active layer and file are
// frozen together and give way to empty ones; one commit writes the frozen
// layer and the number of its newest record; then the layer is let go and the
// file is emptied. A crash anywhere in between replays at most what is already
// folded, which the number tells.

func (s *Store) foldLoop() {
	for {
		select {
		case <-s.dirty:
		case <-s.quit:
			return
		}
		if !s.pause(foldDelay) {
			return
		}
		for s.Err() == nil {
			if err := s.fold(); err != nil {
				s.fail(err)
			}
			if !s.unfoldedLong() {
				break
			}
		}
	}
}

// pause waits; false means that the store is closing.
func (s *Store) pause(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-s.quit:
		return false
	}
}

// foldAtOnce is how many unfolded records are folded without a pause.
const foldAtOnce = 4096

// unfoldedLong reports whether folding has fallen behind, also when a layer
// replayed at start is followed by another.
func (s *Store) unfoldedLong() bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.frozen == nil && s.active.records >= foldAtOnce
}

// fold commits the frozen layer, freezing the active one first when there is
// none.
func (s *Store) fold() error {
	s.folding.Lock()
	defer s.folding.Unlock()
	l, old := s.freeze()
	if l == nil {
		return nil
	}
	if err := s.commit(l); err != nil {
		return fmt.Errorf("fold tail: %w", err)
	}
	s.mu.Lock()
	s.frozen = nil
	s.folded = l.last
	more := s.active.records > 0
	s.mu.Unlock()
	if err := s.tail.empty(old); err != nil {
		return fmt.Errorf("fold tail: %w", err)
	}
	if more {
		notify(s.dirty)
	}
	return nil
}

// freeze returns the layer to fold and its file; nil when all is folded.
func (s *Store) freeze() (*layer, *tailFile) {
	s.writing.Lock()
	defer s.writing.Unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen == nil {
		if s.active.records == 0 {
			return nil, nil
		}
		s.frozen, s.active = s.active, newLayer()
		s.tail.rotate()
	}
	return s.frozen, s.tail.spare
}

func (s *Store) commit(l *layer) error {
	return guarded(func() error {
		return s.db.Update(func(tx *bolt.Tx) error {
			for _, step := range []func(*bolt.Tx, *layer) error{foldRows, foldEntries, foldEvents, foldNumbers} {
				if err := step(tx, l); err != nil {
					return err
				}
			}
			return tx.Bucket(bucketMeta).Put(keyFolded, be64(l.last))
		})
	})
}

func foldRows(tx *bolt.Tx, l *layer) error {
	b := tx.Bucket(bucketRow)
	for _, table := range slices.Sorted(maps.Keys(l.rows)) {
		rows := l.rows[table]
		for _, key := range slices.Sorted(maps.Keys(rows)) {
			var err error
			if v := rows[key]; v == nil {
				err = b.Delete(rowKey(table, key))
			} else {
				err = b.Put(rowKey(table, key), v)
			}
			if err != nil {
				return fmt.Errorf("row %s %q: %w", table, key, err)
			}
		}
	}
	return nil
}

// foldEntries writes entries, moves the index keys of those that were there
// before, and widens the time blocks.
func foldEntries(tx *bolt.Tx, l *layer) error {
	entries, index, blocks := tx.Bucket(bucketEntry), tx.Bucket(bucketIndex), tx.Bucket(bucketBlock)
	var add [][]byte
	for _, id := range slices.Sorted(maps.Keys(l.entries)) {
		value := l.entries[id]
		row, err := parseEntry(value)
		if err != nil {
			return fmt.Errorf("entry %d: %w", id, err)
		}
		keys := row.indexKeys(id)
		if old := entries.Get(be64(id)); old != nil {
			was, err := parseEntry(old)
			if err != nil {
				return fmt.Errorf("entry %d: %w", id, err)
			}
			for _, k := range was.indexKeys(id) {
				if err := index.Delete(k); err != nil {
					return err
				}
			}
		}
		add = append(add, keys...)
		if err := entries.Put(be64(id), value); err != nil {
			return err
		}
		if err := widenBlock(blocks, id, row.ts); err != nil {
			return err
		}
	}
	slices.SortFunc(add, slices.Compare)
	for _, k := range add {
		if err := index.Put(k, nil); err != nil {
			return err
		}
	}
	return nil
}

func foldEvents(tx *bolt.Tx, l *layer) error {
	b := tx.Bucket(bucketEvent)
	keys := slices.SortedFunc(maps.Keys(l.events), compareChannels)
	for _, key := range keys {
		prefix := eventPrefix(key)
		if key.Retention() == messages.RetainRing { // before there are many to look among
			if err := trimRing(b, prefix, l.heads[key]); err != nil {
				return fmt.Errorf("trim %s: %w", key.Name, err)
			}
		}
		for _, e := range l.events[key] {
			if key.Retention() == messages.RetainRing && e.seq+messages.RingSize < l.heads[key] {
				continue
			}
			value := binary.BigEndian.AppendUint64(make([]byte, 0, 8+len(e.payload)), uint64(e.ts))
			value = append(value, e.payload...)
			if err := b.Put(eventKey(prefix, e.seq), value); err != nil {
				return fmt.Errorf("event %s %d: %w", key.Name, e.seq, err)
			}
		}
	}
	return nil
}

// trimRing deletes what is older than the newest RingSize events.
func trimRing(b *bolt.Bucket, prefix []byte, next uint64) error {
	if next <= messages.RingSize {
		return nil
	}
	end := eventKey(prefix, next-messages.RingSize)
	c := b.Cursor()
	for k, _ := c.Seek(prefix); k != nil && slices.Compare(k, end) < 0; {
		gone := bytes.Clone(k)
		if err := b.Delete(gone); err != nil {
			return err
		}
		k, _ = c.Seek(gone)
	}
	return nil
}

func foldNumbers(tx *bolt.Tx, l *layer) error {
	b := tx.Bucket(bucketChannel)
	for _, key := range slices.SortedFunc(maps.Keys(l.heads), compareChannels) {
		if err := b.Put(channelKey(key), be64(l.heads[key])); err != nil {
			return err
		}
	}
	for name, upto := range l.counters {
		if err := tx.Bucket(bucketCounter).Put([]byte(name), be64(upto)); err != nil {
			return err
		}
	}
	return nil
}
