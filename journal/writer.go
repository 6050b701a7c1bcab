package journal

import (
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// keyWindow is how many records' keys are remembered after they are folded.
const keyWindow = 64 << 10

// headsKept is how many channels' next numbers the writer remembers.
const headsKept = 8192

// bufferKept is how large a write buffer may be and still be used again, bytes.
const bufferKept = 4 << 20

// item is one record on its way to the writer.
type item struct {
	rec     record
	sync    bool
	err     *messages.Error // refused before it came here
	done    func(messages.Appended)
	reserve func(rec *record) error // counters: fills in the record when its turn comes
	seqs    []uint64
	old     bool // its key was written before
}

// queue is what waits to be written; pushing never blocks.
type queue struct {
	mu     sync.Mutex
	items  []*item
	closed bool
	wake   chan struct{} // the writer goroutine is to look
}

func (q *queue) push(it *item) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return false
	}
	q.items = append(q.items, it)
	return true
}

// take gives what waits; closed means that nothing will follow.
func (q *queue) take() (items []*item, closed bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	items, q.items = q.items, nil
	return items, q.closed
}

func (q *queue) close() {
	q.mu.Lock()
	q.closed = true
	q.mu.Unlock()
	notify(q.wake)
}

func (q *queue) len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items)
}

// writer is what only the goroutine whose turn it is touches (and replay, before
// there is any).
type writer struct {
	lsn      uint64 // number of the newest record
	heads    map[messages.ChannelKey]uint64
	counters map[string]uint64
	keys     map[string][]uint64 // event numbers of remembered records
	order    []keyAt             // keys, oldest first
	buf      []byte
}

type keyAt struct {
	key string
	lsn uint64
}

func (w *writer) init() {
	w.heads = map[messages.ChannelKey]uint64{}
	w.counters = map[string]uint64{}
	w.keys = map[string][]uint64{}
}

// Append has the record written and calls done, from a goroutine that writes,
// when it survives the death of the process or when it was refused. Records are
// written in the order of the calls. done must not block.
//
// A record whose Key was written before is answered with the same numbers and
// changes nothing. A key is remembered for the next 65,536 keyed records; a
// restart forgets the keys of records that were already folded, which is within
// about 50 ms of writing, or at Close.
func (s *Store) Append(in messages.Record, done func(messages.Appended)) {
	s.Queue(in, done)
	notify(s.queue.wake)
}

// Queue is Append without the writing: the caller lets go of its locks and calls
// Write. Until then the record may wait.
func (s *Store) Queue(in messages.Record, done func(messages.Appended)) {
	it := &item{sync: in.Sync, done: done}
	it.rec, it.err = prepare(in)
	if !s.queue.push(it) && done != nil {
		done(messages.Appended{Key: in.Key, Err: messages.Errorf(messages.CodeInternal, "the journal is closed")})
	}
}

// Write writes what is queued and calls its done functions, on the caller's
// goroutine, which spares a record that somebody waits for two changes of
// goroutine. While another goroutine writes, what is queued is left to that one.
// The caller holds no lock that a done function takes.
func (s *Store) Write() {
	for range 2 { // the second round is for what came while somebody else ended his
		if !s.turn.TryLock() {
			return // whoever has the turn looks again after it
		}
		s.round()
		s.turn.Unlock()
		if s.queue.len() == 0 {
			return
		}
	}
	notify(s.queue.wake) // the rest is others'
}

// writeLoop writes what nobody writes on his own goroutine.
func (s *Store) writeLoop() {
	for closed := false; !closed; {
		<-s.queue.wake
		for more := true; more; more = s.queue.len() > 0 {
			s.turn.Lock()
			closed = s.round()
			s.turn.Unlock()
		}
	}
}

// round writes what is queued as one group; s.turn is held.
func (s *Store) round() (closed bool) {
	items, closed := s.queue.take()
	if len(items) == 0 {
		return closed
	}
	events, err := s.writeGroup(items)
	if err != nil {
		s.fail(err)
	}
	if len(events) > 0 && s.opt.Publish != nil {
		s.contain("publish", func() { s.opt.Publish(events) })
	}
	s.answer(items)
	return closed
}

// writeGroup writes the items' records as one and makes them visible.
func (s *Store) writeGroup(items []*item) ([]messages.Published, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.Err(); err != nil {
		refuse(items, s.stopped(err))
		return nil, nil
	}
	mustSync, err := s.encodeGroup(items)
	if err == nil && len(s.w.buf) > 0 {
		err = s.tail.write(s.w.buf)
		if err == nil && mustSync {
			if err = s.tail.sync(s.tail.spare, s.tail.active); err != nil {
				s.tail.takeBack(len(s.w.buf))
			}
		}
	}
	if err != nil {
		refuse(items, s.stopped(err))
		return nil, err
	}
	if len(s.w.buf) == 0 {
		return nil, nil
	}
	if cap(s.w.buf) > bufferKept {
		s.w.buf = nil
	}
	events := s.applyGroup(items)
	notify(s.dirty)
	if !mustSync {
		notify(s.flush)
	}
	return events, nil
}

// encodeGroup numbers and encodes the items that are to be written.
func (s *Store) encodeGroup(items []*item) (mustSync bool, err error) {
	now := s.opt.Now().UnixNano()
	s.w.buf = s.w.buf[:0]
	if len(s.w.heads) >= headsKept {
		clear(s.w.heads) // what was given out is in the layers or the store
	}
	for _, it := range items {
		if it.err != nil {
			continue
		}
		if it.rec.key != "" {
			if it.seqs, it.old = s.w.keys[it.rec.key]; it.old {
				continue
			}
		}
		if it.reserve != nil {
			if err := it.reserve(&it.rec); err != nil {
				return false, err
			}
		}
		it.rec.ts = now
		for i := range it.rec.events {
			e := &it.rec.events[i]
			if e.seq, err = s.nextSeq(e.key); err != nil {
				return false, err
			}
			e.ts = now
			it.seqs = append(it.seqs, e.seq)
		}
		s.encodeOne(it)
		mustSync = mustSync || it.sync || s.opt.SyncAlways
	}
	return mustSync, nil
}

func (s *Store) encodeOne(it *item) {
	var at int
	s.w.buf, at = beginFrame(s.w.buf)
	s.w.buf = it.rec.encode(s.w.buf)
	if n := len(s.w.buf) - at - frameHeader; n > frameMax {
		// Nothing holds the numbers it took: they go to the next record.
		s.w.buf = s.w.buf[:at]
		for i := len(it.rec.events) - 1; i >= 0; i-- {
			s.w.heads[it.rec.events[i].key] = it.rec.events[i].seq
		}
		it.seqs = nil
		it.err = messages.Errorf(messages.CodeQuota, "record of %d bytes is larger than %d", n, frameMax)
		return
	}
	s.w.lsn++
	it.rec.lsn = s.w.lsn
	endFrame(s.w.buf, at, s.w.lsn)
	s.remember(&it.rec)
}

// remember keeps the record's key; keys of folded records beyond the window go.
func (s *Store) remember(rec *record) {
	if rec.key == "" {
		return
	}
	seqs := make([]uint64, len(rec.events))
	for i, e := range rec.events {
		seqs[i] = e.seq
	}
	s.w.keys[rec.key] = seqs
	s.w.order = append(s.w.order, keyAt{rec.key, rec.lsn})
	if len(s.w.order) < keyWindow+keyWindow/4 {
		return
	}
	s.mu.RLock()
	folded := s.folded
	s.mu.RUnlock()
	drop := 0
	for drop < len(s.w.order)-keyWindow && s.w.order[drop].lsn <= folded {
		delete(s.w.keys, s.w.order[drop].key)
		drop++
	}
	s.w.order = append([]keyAt(nil), s.w.order[drop:]...)
}

func (s *Store) applyGroup(items []*item) []messages.Published {
	var out []messages.Published
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		if it.err != nil || it.old {
			continue
		}
		s.active.apply(&it.rec)
		for _, e := range it.rec.events {
			out = append(out, messages.Published{Key: e.key, Event: e.message()})
		}
	}
	return out
}

// nextSeq takes the channel's next number.
func (s *Store) nextSeq(key messages.ChannelKey) (uint64, error) {
	next, ok := s.w.heads[key]
	if !ok {
		var err error
		if next, err = s.head(key); err != nil {
			return 0, err
		}
	}
	s.w.heads[key] = next + 1
	return next, nil
}

// head is the next number of a channel by what is written.
func (s *Store) head(key messages.ChannelKey) (uint64, error) {
	var next uint64
	err := s.snapshot(func(layers []*layer) bool {
		for _, l := range layers {
			if n, ok := l.heads[key]; ok {
				next = n
				return true
			}
		}
		return false
	}, func(tx *bolt.Tx) error {
		next = number(tx.Bucket(bucketChannel).Get(channelKey(key)))
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("read channel %q: %w", key.Name, err)
	}
	return next, nil
}

func refuse(items []*item, err *messages.Error) {
	for _, it := range items {
		if it.err == nil {
			it.err, it.seqs = err, nil
		}
	}
}

func (s *Store) answer(items []*item) {
	for _, it := range items {
		if it.done == nil {
			continue
		}
		s.contain("answer", func() {
			it.done(messages.Appended{Key: it.rec.key, Seqs: it.seqs, Err: it.err})
		})
	}
}

// contain keeps a fault of the caller's function from ending the writer.
func (s *Store) contain(what string, f func()) {
	defer func() {
		if r := recover(); r != nil {
			s.log.Error("journal callback panicked", "in", what, "panic", fmt.Sprint(r))
		}
	}()
	f()
}

func (s *Store) flushLoop() {
	for {
		select {
		case <-s.flush:
		case <-s.quit:
			return
		}
		if !s.pause(flushDelay) {
			return
		}
		s.writing.Lock()
		older, newer := s.tail.spare, s.tail.active
		s.writing.Unlock()
		if err := s.tail.sync(older, newer); err != nil {
			s.fail(err)
		}
	}
}
