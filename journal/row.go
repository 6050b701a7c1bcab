package journal

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	bolt "go.etcd.io/bbolt"
)

// scanPage is how many rows Scan reads before it calls its function.
const scanPage = 256

func rowKey(table, key string) []byte {
	b := make([]byte, 0, len(table)+1+len(key))
	b = append(b, table...)
	b = append(b, 0)
	return append(b, key...)
}

// snapshot shows what is written at one moment: first the unfolded layers,
// newest first, then, unless the first function is content with those, the
// folded part. Nothing is in neither; what is in both is the same. The layers
// must not be kept, and neither function may block.
func (s *Store) snapshot(unfolded func([]*layer) bool, folded func(*bolt.Tx) error) error {
	return guarded(func() error {
		tx, err := s.begin(unfolded)
		if tx == nil {
			return err
		}
		defer tx.Rollback()
		return folded(tx)
	})
}

func (s *Store) begin(unfolded func([]*layer) bool) (*bolt.Tx, error) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	layers := []*layer{s.active}
	if s.frozen != nil {
		layers = append(layers, s.frozen)
	}
	if unfolded(layers) {
		return nil, nil
	}
	return s.db.Begin(false)
}

// Get reads one row. The value is the caller's to read, not to change.
func (s *Store) Get(table, key string) ([]byte, bool, error) {
	var value []byte
	err := s.snapshot(func(layers []*layer) bool {
		for _, l := range layers {
			if v, ok := l.rows[table][key]; ok {
				value = v
				return true
			}
		}
		return false
	}, func(tx *bolt.Tx) error {
		value = clone(tx.Bucket(bucketRow).Get(rowKey(table, key)))
		return nil
	})
	if err != nil {
		return nil, false, fmt.Errorf("get row %s %q: %w", table, key, err)
	}
	return value, value != nil, nil
}

// clone copies out of a transaction; an empty value stays one.
func clone(v []byte) []byte {
	if v == nil {
		return nil
	}
	return append([]byte{}, v...)
}

// Scan calls fn for the table's rows whose keys have the prefix, in order of
// keys, until fn returns false. Rows that do not change meanwhile are shown
// once each; fn may block and may use the store.
func (s *Store) Scan(table, prefix string, fn func(key string, value []byte) bool) error {
	from := prefix
	for {
		page, more, err := s.rowsFrom(table, prefix, from)
		if err != nil {
			return fmt.Errorf("scan %s %q: %w", table, prefix, err)
		}
		for _, r := range page {
			if !fn(r.key, r.value) {
				return nil
			}
		}
		if !more {
			return nil
		}
		from = behind(page)
	}
}

type keyed struct {
	key   string
	value []byte
}

// behind is the least key behind the page.
func behind(page []keyed) string { return page[len(page)-1].key + "\x00" }

// rowsFrom merges up to scanPage rows at or behind from. More is false when
// there are no others.
func (s *Store) rowsFrom(table, prefix, from string) (page []keyed, more bool, err error) {
	var over []keyed // unfolded, in order; a nil value hides a folded row
	err = s.snapshot(func(layers []*layer) bool {
		over = overlay(layers, table, prefix, from)
		return false
	}, func(tx *bolt.Tx) error {
		head := []byte(table + "\x00" + prefix)
		c := tx.Bucket(bucketRow).Cursor()
		k, v := c.Seek(rowKey(table, from))
		for {
			folded := k != nil && bytes.HasPrefix(k, head)
			if !folded && len(over) == 0 {
				return nil
			}
			if len(page) == scanPage {
				more = true
				return nil
			}
			key := ""
			if folded {
				key = string(k[len(table)+1:])
			}
			switch {
			case len(over) > 0 && (!folded || over[0].key <= key):
				if over[0].value != nil {
					page = append(page, over[0])
				}
				if folded && over[0].key == key {
					k, v = c.Next()
				}
				over = over[1:]
			default:
				page = append(page, keyed{key, clone(v)})
				k, v = c.Next()
			}
		}
	})
	return page, more, err
}

func overlay(layers []*layer, table, prefix, from string) []keyed {
	var over []keyed
	for i, l := range layers {
		for key, value := range l.rows[table] {
			if key < from || !strings.HasPrefix(key, prefix) {
				continue
			}
			if i > 0 {
				if _, newer := layers[0].rows[table][key]; newer {
					continue
				}
			}
			over = append(over, keyed{key, value})
		}
	}
	slices.SortFunc(over, func(a, b keyed) int { return strings.Compare(a.key, b.key) })
	return over
}
