package journal

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// Number of events a read returns by default and at most.
const (
	EventLimit    = 256
	EventLimitMax = messages.RingSize
)

// pageBytes is how many bytes of payload a page has; one event fits always.
const pageBytes = 8 << 20

func channelKey(key messages.ChannelKey) []byte {
	b := make([]byte, 0, len(key.Session)+1+len(key.Name))
	b = append(b, key.Session...)
	b = append(b, 0)
	return append(b, key.Name...)
}

func eventPrefix(key messages.ChannelKey) []byte { return append(channelKey(key), 0) }

func eventKey(prefix []byte, seq uint64) []byte {
	b := make([]byte, 0, len(prefix)+8)
	b = append(b, prefix...)
	return binary.BigEndian.AppendUint64(b, seq)
}

func compareChannels(a, b messages.ChannelKey) int {
	return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Name, b.Name))
}

// Latest is the channel's newest number; false when it has no event yet.
func (s *Store) Latest(key messages.ChannelKey) (uint64, bool) {
	next, err := s.head(key)
	if err != nil || next == 0 {
		return 0, false
	}
	return next - 1, true
}

// Events reads a channel after since, the oldest events first; with tail, the
// newest. Next is set when there are more after the page. Gap names the events
// after since that are no longer kept; without since there is none. Limit 0
// means EventLimit.
func (s *Store) Events(key messages.ChannelKey, since *uint64, limit int, tail bool) (messages.EventPage, error) {
	page := messages.EventPage{Channel: key.Name, Events: []messages.Event{}}
	if err := checkChannel(key); err != nil {
		return page, err
	}
	if limit <= 0 {
		limit = EventLimit
	}
	limit = min(limit, EventLimitMax)
	r := eventRead{key: key, prefix: eventPrefix(key)}
	err := s.snapshot(func(layers []*layer) bool {
		for i := len(layers) - 1; i >= 0; i-- {
			r.unfolded = append(r.unfolded, layers[i].events[key]...)
			r.next = max(r.next, layers[i].heads[key])
		}
		return false
	}, func(tx *bolt.Tx) error { return r.run(tx, since, limit, tail, &page) })
	if err != nil {
		return page, fmt.Errorf("read channel %q: %w", key.Name, err)
	}
	return page, nil
}

// eventRead is one cursor read over the folded and unfolded events.
type eventRead struct {
	key      messages.ChannelKey
	prefix   []byte
	unfolded []event // in order
	next     uint64
	c        *bolt.Cursor
}

func (r *eventRead) run(tx *bolt.Tx, since *uint64, limit int, tail bool, page *messages.EventPage) error {
	r.next = max(r.next, number(tx.Bucket(bucketChannel).Get(channelKey(r.key))))
	if r.next == 0 {
		return nil
	}
	latest := r.next - 1
	page.LatestSeq = &latest
	r.c = tx.Bucket(bucketEvent).Cursor()
	want := uint64(0)
	if since != nil {
		if *since >= latest {
			return nil
		}
		want = *since + 1
	}
	first, ok := r.at(max(want, r.floor()))
	if !ok {
		first.seq = r.next // numbers without events: all of them are lost
	}
	if since != nil && first.seq > want {
		page.Gap = &messages.EventGap{From: want, To: first.seq - 1}
	}
	if tail && r.next-first.seq > uint64(limit) {
		first.seq = r.next - uint64(limit)
	}
	r.collect(first.seq, limit, page)
	return nil
}

// floor is the least number that the channel's retention keeps.
func (r *eventRead) floor() uint64 {
	if r.key.Retention() == messages.RetainRing && r.next > messages.RingSize {
		return r.next - messages.RingSize
	}
	return 0
}

// collect stops when the page has enough bytes, and early in front of numbers that have no event, so that the next
// read can tell of them.
func (r *eventRead) collect(from uint64, limit int, page *messages.EventPage) {
	e, ok := r.at(from)
	for size := 0; ok && len(page.Events) < limit; {
		size += len(e.payload)
		if n := len(page.Events); n > 0 && (e.seq != page.Events[n-1].Seq+1 || size > pageBytes) {
			break
		}
		page.Events = append(page.Events, e.message())
		e, ok = r.after(e.seq)
	}
	if n := len(page.Events); n > 0 && page.Events[n-1].Seq+1 < r.next {
		seq := page.Events[n-1].Seq
		page.Next = &seq
	}
}

// at is the oldest kept event numbered seq or higher.
func (r *eventRead) at(seq uint64) (event, bool) {
	if len(r.unfolded) == 0 || seq < r.unfolded[0].seq {
		if e, ok := r.take(r.c.Seek(eventKey(r.prefix, seq))); ok {
			return e, true
		}
	}
	for _, e := range r.unfolded {
		if e.seq >= seq {
			return e, true
		}
	}
	return event{}, false
}

// after is the event behind the one last returned, which has number seq.
func (r *eventRead) after(seq uint64) (event, bool) {
	if len(r.unfolded) == 0 || seq+1 < r.unfolded[0].seq {
		if e, ok := r.take(r.c.Next()); ok {
			return e, true
		}
	}
	for len(r.unfolded) > 1 && r.unfolded[0].seq <= seq {
		r.unfolded = r.unfolded[1:]
	}
	if len(r.unfolded) == 0 || r.unfolded[0].seq <= seq {
		return event{}, false
	}
	return r.unfolded[0], true
}

func (r *eventRead) take(k, v []byte) (event, bool) {
	if len(k) != len(r.prefix)+8 || !bytes.HasPrefix(k, r.prefix) || len(v) < 8 {
		return event{}, false
	}
	seq := binary.BigEndian.Uint64(k[len(r.prefix):])
	return event{key: r.key, seq: seq, ts: int64(binary.BigEndian.Uint64(v)), payload: clone(v[8:])}, true
}
