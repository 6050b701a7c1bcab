package journal

import (
	"fmt"
	"sync"

	bolt "go.etcd.io/bbolt"

	"shoal.dev/shoal/messages"
)

// counterBlock is how many numbers one record reserves.
const counterBlock = 256

// Counter hands out numbers from 1 upwards, each once in the life of the state
// directory. A block is reserved by a synced record before any number of it is
// handed out; an orderly Close returns the rest, a crash skips it.
type Counter struct {
	st   *Store
	name string

	mu          sync.Mutex
	changed     sync.Cond
	next, upto  uint64 // numbers in hand: next ≤ n < upto
	from, until uint64 // the next block; from 0 means that there is none
	pending     bool   // a reservation is on its way
	err         error
}

// Numbers is the counter of that name, the same one for every caller.
func (s *Store) Numbers(name string) *Counter {
	s.countersMu.Lock()
	defer s.countersMu.Unlock()
	c := s.counters[name]
	if c == nil {
		c = &Counter{st: s, name: name}
		c.changed.L = &c.mu
		s.counters[name] = c
	}
	return c
}

// Next takes a number. It waits only when the numbers in hand are used up
// before the next block is written; the block is asked for when half are used.
// It must not be called from Publish or a done function.
func (c *Counter) Next() (uint64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.next == c.upto {
		switch {
		case c.from != 0:
			c.next, c.upto, c.from = c.from, c.until, 0
		case c.err != nil:
			return 0, c.err
		default:
			c.reserveLocked()
			c.changed.Wait()
		}
	}
	n := c.next
	c.next++
	if c.upto-c.next < counterBlock/2 && c.from == 0 && c.err == nil {
		c.reserveLocked()
	}
	return n, nil
}

func (c *Counter) reserveLocked() {
	if c.pending {
		return
	}
	c.pending = true
	var from, upto uint64
	it := &item{sync: true}
	it.reserve = func(rec *record) (err error) {
		if from, err = c.st.counter(c.name); err != nil {
			return fmt.Errorf("read counter %q: %w", c.name, err)
		}
		upto = from + counterBlock
		c.st.w.counters[c.name] = upto
		rec.counters = append(rec.counters, reservation{c.name, upto})
		return nil
	}
	it.done = func(a messages.Appended) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.pending = false
		if a.Err != nil {
			c.err = fmt.Errorf("reserve numbers of %q: %w", c.name, a.Err)
		} else {
			c.from, c.until = from, upto
		}
		c.changed.Broadcast()
	}
	if !c.st.queue.push(it) {
		c.pending = false
		c.err = fmt.Errorf("reserve numbers of %q: the journal is closed", c.name)
		c.changed.Broadcast()
	}
	notify(c.st.queue.wake)
}

// counter is the first number not yet reserved; for the writer.
func (s *Store) counter(name string) (uint64, error) {
	if n, ok := s.w.counters[name]; ok {
		return n, nil
	}
	var n uint64
	err := s.snapshot(func(layers []*layer) bool {
		for _, l := range layers {
			if v, ok := l.counters[name]; ok {
				n = v
				return true
			}
		}
		return false
	}, func(tx *bolt.Tx) error {
		n = number(tx.Bucket(bucketCounter).Get([]byte(name)))
		return nil
	})
	return max(n, 1), err
}

// returnNumbers ends all counters and gives back what they have in hand.
func (s *Store) returnNumbers() {
	s.countersMu.Lock()
	defer s.countersMu.Unlock()
	for _, c := range s.counters {
		c.giveBack()
	}
}

func (c *Counter) giveBack() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.pending {
		c.changed.Wait()
	}
	if c.err != nil || c.upto == 0 && c.from == 0 {
		return
	}
	next := c.next
	if c.next == c.upto {
		next = max(c.next, c.from)
	}
	c.err = fmt.Errorf("reserve numbers of %q: the journal is closed", c.name)
	c.next, c.upto, c.from = 0, 0, 0
	c.st.queue.push(&item{reserve: func(rec *record) error {
		rec.counters = append(rec.counters, reservation{c.name, next})
		return nil
	}})
}
