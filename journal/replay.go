package journal

import (
	"bytes"
	"errors"
	"fmt"
	"os"

	bolt "go.etcd.io/bbolt"
)

// tailScan is what replay found in one tail file.
type tailScan struct {
	path    string
	data    []byte
	records []record // the undamaged run from the start
	ends    []int    // where each of them ends
}

func (t *tailScan) first() uint64 {
	if len(t.records) > 0 {
		return t.records[0].lsn
	}
	if rest := t.salvage(0, 0); len(rest) > 0 {
		return rest[0].lsn
	}
	return 0
}

// end is where the undamaged run ends.
func (t *tailScan) end() int {
	if len(t.ends) == 0 {
		return 0
	}
	return t.ends[len(t.ends)-1]
}

func scanTail(path string) (*tailScan, error) {
	data, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	t := &tailScan{path: path, data: data}
	for at := 0; ; {
		lsn, payload, size := readFrame(data[at:])
		if size == 0 {
			return t, nil
		}
		if n := len(t.records); n > 0 && lsn != t.records[n-1].lsn+1 {
			return t, nil
		}
		rec, err := decodeRecord(lsn, payload)
		if err != nil { // intact, and yet unreadable: another program's
			return nil, fmt.Errorf("%s at offset %d: %w", path, at, err)
		}
		at += size
		t.records = append(t.records, rec)
		t.ends = append(t.ends, at)
	}
}

// salvage looks for whole records at or behind offset at that are newer than
// lsn.
func (t *tailScan) salvage(at int, lsn uint64) []record {
	var out []record
	for at < len(t.data) {
		n, payload, size := readFrame(t.data[at:])
		if size == 0 || n <= lsn {
			at += max(size, 1)
			continue
		}
		if rec, err := decodeRecord(n, payload); err == nil {
			out = append(out, rec)
		}
		at += size
	}
	return out
}

// replay brings the layers to where they were. Both files form one log in the
// order of their numbers. What follows its last whole record is a torn write
// and is dropped, unless whole records follow: then the log is damaged in the
// middle, what stands before the damage is used, what stands behind it only
// keeps its numbers from being used again, and the files are kept beside.
func (s *Store) replay() error {
	var folded uint64
	if err := s.view(func(tx *bolt.Tx) error {
		folded = number(tx.Bucket(bucketMeta).Get(keyFolded))
		return nil
	}); err != nil {
		return err
	}
	paths := tailPaths(s.opt.Dir)
	older, err := scanTail(paths[0])
	if err != nil {
		return err
	}
	newer, err := scanTail(paths[1])
	if err != nil {
		return err
	}
	if older.first() > newer.first() {
		older, newer = newer, older
	}
	s.folded, s.w.lsn = folded, folded
	s.frozen = newLayer()
	if offset := s.use(older, s.frozen); offset >= 0 {
		return s.salvage(older, offset, older, newer)
	}
	if offset := s.use(newer, s.active); offset >= 0 {
		return s.salvage(newer, offset, older, newer)
	}
	return s.openTails(older, newer)
}

// use applies the scan's records that follow what is known. It returns where
// the log breaks, when whole newer records follow the break, else -1.
func (s *Store) use(t *tailScan, l *layer) int {
	at := 0
	for i := range t.records {
		rec := &t.records[i]
		if rec.lsn > s.w.lsn+1 {
			return at
		}
		if rec.lsn == s.w.lsn+1 {
			l.apply(rec)
			s.w.lsn = rec.lsn
		}
		s.remember(rec)
		at = t.ends[i]
	}
	if len(s.lost(t, at)) > 0 {
		return at
	}
	return -1
}

func (s *Store) lost(t *tailScan, at int) []record { return t.salvage(at, s.w.lsn) }

// salvage folds what stands before the damage, keeps numbers of what stands
// behind it, and puts the damaged files aside.
func (s *Store) salvage(where *tailScan, offset int, scans ...*tailScan) error {
	used := s.frozen
	for _, t := range scans {
		for _, rec := range s.lost(t, 0) {
			used.raise(&rec)
		}
	}
	known := s.w.lsn
	mergeLayer(used, s.active)
	if err := s.commit(used); err != nil {
		return err
	}
	s.w.lsn, s.folded = used.last, used.last
	s.frozen, s.active = nil, newLayer()
	err := &DamagedError{What: where.path, Offset: int64(offset),
		Reason: fmt.Sprintf("records after number %d are lost; kept as *.damaged-%d", known, s.w.lsn)}
	s.damaged = append(s.damaged, err.Error())
	s.log.Error("journal tail is damaged", "file", where.path, "offset", offset, "used_up_to", known, "numbers_up_to", s.w.lsn)
	for _, t := range scans {
		if len(t.data) == 0 {
			continue
		}
		if err := os.Rename(t.path, fmt.Sprintf("%s.damaged-%d", t.path, s.w.lsn)); err != nil {
			return err
		}
		t.data, t.records, t.ends = nil, nil, nil
	}
	return s.openTails(scans[0], scans[1])
}

// mergeLayer puts what newer holds on top of l.
func mergeLayer(l, newer *layer) {
	for table, rows := range newer.rows {
		for k, v := range rows {
			if l.rows[table] == nil {
				l.rows[table] = map[string][]byte{}
			}
			l.rows[table][k] = v
		}
	}
	for id, v := range newer.entries {
		l.entries[id] = v
	}
	for key, events := range newer.events {
		l.events[key] = append(l.events[key], events...)
	}
	for key, n := range newer.heads {
		l.heads[key] = max(l.heads[key], n)
	}
	for name, n := range newer.counters {
		l.counters[name] = max(l.counters[name], n)
	}
	l.last = max(l.last, newer.last)
	l.records += newer.records
}

// openTails opens both files, drops torn ends, and makes the newer one active.
func (s *Store) openTails(older, newer *tailScan) error {
	s.tail = &tail{}
	for _, x := range []struct {
		scan *tailScan
		to   **tailFile
	}{{older, &s.tail.spare}, {newer, &s.tail.active}} {
		f, err := s.opt.openTail(x.scan.path)
		if err != nil {
			return err
		}
		end, length := x.scan.end(), len(x.scan.data)
		if rest := bytes.TrimRight(x.scan.data[end:], "\x00"); len(rest) > 0 {
			s.log.Warn("journal tail had a torn end", "file", x.scan.path, "offset", end, "bytes", len(rest))
			if err := f.Truncate(int64(end)); err != nil {
				return errors.Join(err, f.Close())
			}
			length = end
		}
		*x.to = &tailFile{file: f, path: x.scan.path, length: int64(length)}
		(*x.to).size.Store(int64(end))
		(*x.to).dirty.Store(end > 0)
	}
	if err := syncDir(s.opt.Dir); err != nil {
		return err
	}
	return s.settle()
}

// settle makes the files fit the layers: one whose records were all folded
// before is emptied, and a new one gets its room.
func (s *Store) settle() error {
	if s.active.records == 0 {
		if err := s.tail.empty(s.tail.active); err != nil {
			return err
		}
	}
	if s.frozen != nil && s.frozen.records > 0 {
		return nil
	}
	s.frozen = nil
	return s.tail.empty(s.tail.spare)
}
