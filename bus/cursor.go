package bus

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"

	"shoal.dev/shoal/messages"
)

// inFlight is how many events a cursor holds that its reader has not taken.
const inFlight = 256

// ErrClosed says that the cursor, or the bus, was closed.
var ErrClosed = errors.New("cursor is closed")

// Backlog reads events of one channel from where they are kept for good, like
// the journal's Events without tail.
type Backlog func(since *uint64, limit int) (messages.EventPage, error)

// Item is what a cursor yields: an event, or, when Dropped is set, the notice
// that events were lost before the next one.
type Item struct {
	Event   messages.Event
	Dropped *messages.Dropped
}

// Cursor follows one channel. Next is for one goroutine; Close for any.
type Cursor struct {
	bus     *Bus
	ch      *channel
	backlog Backlog
	pos     uint64 // number of the next event to fetch
	ready   []Item
	err     error // of Subscribe's own read
	wake    chan struct{}
	done    chan struct{}
	once    sync.Once

	framed bool   // it is read by Frames; written by its reader under the bus's lock
	at     uint64 // pos of a reader of frames, as far as the bus knows; under its lock
}

// Subscribe opens a cursor: after since, or, without since, at the events that
// come from now on. The backlog supplies what the ring has not got; channels in
// memory have none. Close it.
func (b *Bus) Subscribe(key messages.ChannelKey, since *uint64, backlog Backlog) *Cursor {
	if key.Retention() == messages.RetainMemory {
		backlog = nil
	}
	c := &Cursor{bus: b, backlog: backlog, wake: make(chan struct{}, 1), done: make(chan struct{})}
	b.mu.Lock()
	closed := b.closed
	c.ch = b.channelLocked(key)
	c.ch.cursors[c] = struct{}{}
	next := c.ch.next
	b.mu.Unlock()
	switch {
	case closed:
		c.Close()
	case since != nil:
		c.pos = after(*since)
	case backlog == nil:
		c.pos = next
	default:
		c.startAtEnd(next)
	}
	return c
}

// startAtEnd begins behind the newest event. Asking for what follows the
// greatest number gives the newest number and no event.
func (c *Cursor) startAtEnd(next uint64) {
	end := uint64(math.MaxUint64)
	page, err := c.backlog(&end, 1)
	c.err = err
	c.pos = next
	if page.LatestSeq != nil {
		c.pos = max(next, *page.LatestSeq+1)
	}
}

// Next waits for the next item. After an error of the backlog it may be called
// again; nothing is lost by it.
func (c *Cursor) Next(ctx context.Context) (Item, error) {
	for {
		if len(c.ready) > 0 && !c.closed() {
			item := c.ready[0]
			c.ready = c.ready[1:]
			return item, nil
		}
		if err := c.await(ctx); err != nil {
			return Item{}, err
		}
	}
}

func (c *Cursor) closed() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// await fetches items or waits until there may be some.
func (c *Cursor) await(ctx context.Context) error {
	if c.closed() {
		return ErrClosed
	}
	got, err := c.fill()
	switch {
	case err != nil:
		return fmt.Errorf("follow channel %q: %w", c.ch.key.Name, err)
	case got:
		return nil
	}
	select {
	case <-c.wake:
	case <-c.done:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// fill fetches the next items, from the ring if it reaches back far enough. It
// reports whether there was anything; if not, a wake follows what comes.
func (c *Cursor) fill() (bool, error) {
	if err := c.err; err != nil {
		c.err = nil
		return false, err
	}
	c.bus.mu.Lock()
	first, next := c.ch.first(c.framed), c.ch.next
	covered := c.pos >= first && (next > first || c.backlog == nil)
	var events []messages.Event
	if covered {
		events = c.ch.from(c.pos, inFlight, c.framed)
	}
	c.at = c.pos + uint64(len(events))
	if len(events) == 0 {
		c.ch.waiting[c] = struct{}{}
	}
	c.bus.mu.Unlock()
	switch {
	case covered:
		c.take(events)
		return len(events) > 0, nil
	case c.backlog == nil:
		c.drop(first, next-1)
		return true, nil
	default:
		return c.replay(first, next)
	}
}

// replay fetches from the backlog. The journal writes before it publishes, so
// what it has not got below the ring is lost.
func (c *Cursor) replay(first, next uint64) (bool, error) {
	var since *uint64
	if c.pos > 0 {
		s := c.pos - 1
		since = &s
	}
	page, err := c.backlog(since, inFlight)
	if err != nil {
		return false, err
	}
	before, latest := c.pos, max(next, 1)-1
	if page.LatestSeq != nil {
		latest = max(latest, *page.LatestSeq)
	}
	if c.pos < first && first < next && len(page.Events) > 0 && first < page.Events[0].Seq {
		c.drop(first, latest) // the ring has more than is kept for good
		return true, nil
	}
	for _, e := range page.Events {
		if e.Seq > c.pos {
			c.drop(e.Seq, latest)
		}
		if e.Seq == c.pos {
			c.take([]messages.Event{e})
		}
	}
	if c.pos == before && page.Gap != nil && page.Gap.To >= c.pos {
		c.drop(page.Gap.To+1, latest)
	}
	if c.pos == before && next > first && c.pos < first {
		c.drop(first, latest)
	}
	return c.pos > before, nil
}

func (c *Cursor) take(events []messages.Event) {
	for _, e := range events {
		c.ready = append(c.ready, Item{Event: e})
		c.pos = e.Seq + 1
	}
}

// drop tells that the events below to are lost.
func (c *Cursor) drop(to, latest uint64) {
	c.ready = append(c.ready, Item{Dropped: &messages.Dropped{Seq: to - 1, Dropped: to - c.pos, LatestSeq: latest}})
	c.pos = to
}

// Close ends the cursor; a Next that waits returns ErrClosed.
func (c *Cursor) Close() {
	c.once.Do(func() {
		close(c.done)
		c.bus.mu.Lock()
		defer c.bus.mu.Unlock()
		delete(c.ch.cursors, c)
		delete(c.ch.waiting, c)
		if c.framed {
			c.ch.framed--
		}
		c.bus.idleLocked(c.ch)
	})
}
