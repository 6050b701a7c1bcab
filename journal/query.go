package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"slices"
	"time"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// queryBudget is how long one call may look for rows.
const queryBudget = 50 * time.Millisecond

// Query finds entries, newest first, that pass every filter. A call that finds
// no more rows within its time returns what it has, with Next and with Scanned,
// the number of entries it looked at.
func (s *Store) Query(q messages.JournalQuery) (messages.JournalPage, error) {
	page := messages.JournalPage{Entries: []messages.Entry{}}
	limit, from, err := checkQuery(q)
	if err != nil {
		return page, err
	}
	f := newFilter(q)
	r := search{f: f, limit: limit, max: from, budget: queryBudget}
	if err := s.search(&r); err != nil {
		return page, fmt.Errorf("query journal: %w", err)
	}
	page.Entries = append(page.Entries, r.hits...)
	if r.more {
		page.Next = encodeCursor(r.max)
	}
	if r.cut {
		page.Scanned = r.scanned
	}
	return page, nil
}

// Running are the entries that have not ended, newest first; after Open those
// that the last kernel left.
func (s *Store) Running() ([]messages.Entry, error) {
	r := search{f: filter{running: true}, limit: math.MaxInt, max: math.MaxUint64}
	if err := s.search(&r); err != nil {
		return nil, fmt.Errorf("query running entries: %w", err)
	}
	return r.hits, nil
}

// Entry reads one entry.
func (s *Store) Entry(id messages.EntryID) (messages.Entry, bool, error) {
	r := search{limit: 1, max: uint64(id), only: true}
	if err := s.search(&r); err != nil {
		return messages.Entry{}, false, fmt.Errorf("read entry %d: %w", id, err)
	}
	if len(r.hits) == 0 {
		return messages.Entry{}, false, nil
	}
	return r.hits[0], true, nil
}

func checkQuery(q messages.JournalQuery) (limit int, from uint64, err error) {
	limit = q.Limit
	if limit == 0 {
		limit = messages.JournalLimit
	}
	if limit < 0 || limit > messages.JournalLimitMax {
		return 0, 0, messages.Errorf(messages.CodeInvalidParams, "limit must be 1 to %d", messages.JournalLimitMax)
	}
	from = math.MaxUint64
	if q.Cursor != "" {
		var ok bool
		if from, ok = decodeCursor(q.Cursor); !ok {
			return 0, 0, messages.Errorf(messages.CodeInvalidParams, "cursor is not one that a query returned")
		}
	}
	return limit, from, nil
}

// A cursor is the greatest id that the next page may hold, with a checksum.
func encodeCursor(id uint64) string {
	b := be64(id)
	b = binary.BigEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	return base64.RawURLEncoding.EncodeToString(b)
}

func decodeCursor(s string) (uint64, bool) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != 12 || crc32.Checksum(b[:8], castagnoli) != binary.BigEndian.Uint32(b[8:]) {
		return 0, false
	}
	return binary.BigEndian.Uint64(b), true
}

// filter is a query made ready to be asked of rows.
type filter struct {
	since, until                        int64
	session, principal, requestID, head []byte
	text                                []byte
	visible                             [][]byte
	ok                                  byte
	anyOK                               bool
	effects                             uint32
	impossible                          bool // asks for an effect that nothing has
	timed, running                      bool
}

func newFilter(q messages.JournalQuery) filter {
	f := filter{
		since: math.MinInt64, until: math.MaxInt64,
		session: []byte(q.Session), principal: []byte(q.Principal), requestID: []byte(q.RequestID),
		head: []byte(q.Head), text: []byte(q.Text),
		ok: okByte(q.OK), timed: q.Since != nil || q.Until != nil,
	}
	if q.Since != nil {
		f.since = *q.Since
	}
	if q.Until != nil {
		f.until = *q.Until
	}
	for _, k := range q.Effects {
		bit := effectBit(k)
		f.impossible = f.impossible || bit == 0
		f.effects |= bit
	}
	for _, v := range q.VisibleTo {
		f.visible = append(f.visible, []byte(v))
	}
	return f
}

func (f *filter) match(e *entryRow) bool {
	is := func(want, got []byte) bool { return len(want) == 0 || bytes.Equal(want, got) }
	has := func(list [][]byte, v []byte) bool {
		return slices.ContainsFunc(list, func(x []byte) bool { return bytes.Equal(x, v) })
	}
	switch {
	case f.running && e.status != 0,
		f.timed && (e.ts < f.since || e.ts >= f.until),
		f.ok != okUnknown && e.ok != f.ok,
		f.impossible || e.effects&f.effects != f.effects,
		!is(f.session, e.session), !is(f.principal, e.principal), !is(f.requestID, e.requestID),
		len(f.visible) > 0 && !has(f.visible, e.session),
		len(f.head) > 0 && !has(e.heads, f.head),
		len(f.text) > 0 && !bytes.Contains(e.src, f.text):
		return false
	}
	return true
}

// sets are the id sets whose intersection holds every folded row that matches.
func (f *filter) sets(tx *bolt.Tx) []ids {
	index := tx.Bucket(bucketIndex)
	by := func(kind byte, value []byte) ids {
		return &keyIDs{c: index.Cursor(), prefix: indexHead(kind, value)}
	}
	var sets []ids
	if f.running {
		sets = append(sets, by(byRunning, nil))
	}
	for _, x := range []struct {
		kind  byte
		value []byte
	}{{byRequest, f.requestID}, {byHead, f.head}, {bySession, f.session}, {byPrincipal, f.principal}} {
		if len(x.value) > 0 {
			sets = append(sets, by(x.kind, x.value))
		}
	}
	for k := byte(1); k < 32; k++ {
		if f.effects&(1<<k) != 0 {
			sets = append(sets, by(byEffect, []byte{k}))
		}
	}
	if f.ok != okUnknown {
		sets = append(sets, by(byOK, []byte{f.ok}))
	}
	if len(f.visible) > 0 && len(f.session) == 0 {
		var u unionIDs
		for _, v := range f.visible {
			u = append(u, by(bySession, v))
		}
		sets = append(sets, u)
	}
	if len(sets) == 0 {
		sets = append(sets, &keyIDs{c: tx.Bucket(bucketEntry).Cursor()})
	}
	return sets
}
