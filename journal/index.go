package journal

import (
	"bytes"
	"encoding/binary"
	"hash/fnv"

	bolt "go.etcd.io/bbolt"
)

// An index key is a kind, a hash of the value and the entry's id. Different
// values may share a hash; whoever reads the index looks at the entry itself.
const (
	byRunning   = 'R' // entries without an end; no value
	bySession   = 's'
	byPrincipal = 'p'
	byHead      = 'h'
	byOK        = 'o' // the ok byte
	byEffect    = 'e' // the effect kind
	byRequest   = 'r'

	indexPrefix = 1 + 8
)

func indexKey(kind byte, value []byte, id uint64) []byte {
	return binary.BigEndian.AppendUint64(indexHead(kind, value), id)
}

func indexHead(kind byte, value []byte) []byte {
	h := fnv.New64a()
	h.Write(value)
	b := make([]byte, 0, indexPrefix+8)
	b = append(b, kind)
	return h.Sum(b)
}

// indexKeys are the keys under which the entry is found.
func (e *entryRow) indexKeys(id uint64) [][]byte {
	keys := [][]byte{
		indexKey(bySession, e.session, id),
		indexKey(byPrincipal, e.principal, id),
		indexKey(byOK, []byte{e.ok}, id),
	}
	if e.status == 0 {
		keys = append(keys, indexKey(byRunning, nil, id))
	}
	if len(e.requestID) > 0 {
		keys = append(keys, indexKey(byRequest, e.requestID, id))
	}
	for _, h := range e.heads {
		keys = append(keys, indexKey(byHead, h, id))
	}
	for k := byte(1); k < 32; k++ {
		if e.effects&(1<<k) != 0 {
			keys = append(keys, indexKey(byEffect, []byte{k}, id))
		}
	}
	return keys
}

// ids is a set of entry ids read downwards.
type ids interface {
	// seek is the greatest id that is at most max; asked with falling max.
	seek(max uint64) (uint64, bool)
}

// keyIDs are the ids at the ends of the keys with a prefix.
type keyIDs struct {
	c      *bolt.Cursor
	prefix []byte
	cur    uint64
	placed bool // the cursor stands at cur
}

func (k *keyIDs) seek(max uint64) (uint64, bool) {
	if k.placed && max < k.cur {
		key, _ := k.c.Prev()
		id, ok := k.take(key)
		if !ok || id <= max {
			return id, ok
		}
	}
	key, _ := k.c.Seek(binary.BigEndian.AppendUint64(bytes.Clone(k.prefix), max))
	if key == nil {
		key, _ = k.c.Last()
	}
	if id, ok := k.take(key); ok && id <= max {
		return id, true
	}
	key, _ = k.c.Prev()
	return k.take(key)
}

func (k *keyIDs) take(key []byte) (uint64, bool) {
	k.placed = len(key) == len(k.prefix)+8 && bytes.HasPrefix(key, k.prefix)
	if !k.placed {
		return 0, false
	}
	k.cur = binary.BigEndian.Uint64(key[len(k.prefix):])
	return k.cur, true
}

// unionIDs are the ids in any of the sets.
type unionIDs []ids

func (u unionIDs) seek(max uint64) (best uint64, found bool) {
	for _, s := range u {
		if id, ok := s.seek(max); ok && (!found || id > best) {
			best, found = id, true
		}
	}
	return best, found
}

// Entries share time blocks of 256 ids. A block knows the least and the
// greatest time in it, so that a query skips it right even when the clock has
// jumped.
const blockBits = 8

func widenBlock(b *bolt.Bucket, id uint64, ts int64) error {
	key := be64(id >> blockBits)
	lo, hi := ts, ts
	if l, h, ok := blockTimes(b.Get(key)); ok {
		if l <= ts && ts <= h {
			return nil
		}
		lo, hi = min(l, ts), max(h, ts)
	}
	return b.Put(key, binary.BigEndian.AppendUint64(be64(uint64(lo)), uint64(hi)))
}

func blockTimes(v []byte) (lo, hi int64, ok bool) {
	if len(v) != 16 {
		return 0, 0, false
	}
	return int64(binary.BigEndian.Uint64(v)), int64(binary.BigEndian.Uint64(v[8:])), true
}
