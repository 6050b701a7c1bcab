package bus

import (
	"container/list"
	"math"

	"shoal.dev/shoal/messages"
)

// channel is the ring of one channel: its newest events without gap. The bus's
// lock guards it. A channel whose events the journal keeps has one only while
// somebody follows it; a channel in memory has one for good, though its events
// may be let go when nobody follows it and memory is short.
type channel struct {
	key     messages.ChannelKey
	memory  bool
	events  []messages.Event // at most RingSize count; older ones are ignored
	size    int              // bytes of payload in events
	next    uint64           // number behind the newest event
	cursors map[*Cursor]struct{}
	place   *list.Element // in the bus's order of memory channels
}

// Bytes of payload in the ring of a channel that the journal keeps, and in what a
// cursor fetches at once. Whoever is behind the ring reads the journal.
const (
	ringBytes  = 8 << 20
	batchBytes = 4 << 20
)

// kept are the events of the ring.
func (c *channel) kept() []messages.Event {
	return c.events[max(0, len(c.events)-messages.RingSize):]
}

// first is the number of the oldest event in the ring, next when it is empty.
func (c *channel) first() uint64 { return c.next - uint64(len(c.kept())) }

// add puts an event into the ring; one that is there already is ignored.
func (c *channel) add(e messages.Event) {
	switch {
	case len(c.events) > 0 && e.Seq < c.next:
		return
	case e.Seq != c.next:
		c.events, c.size = nil, 0 // start anew; the journal has what lies before
	}
	if len(c.events) >= 2*messages.RingSize {
		c.keep(messages.RingSize)
	}
	c.events = append(c.events, e)
	if c.size += len(e.Payload); !c.memory && c.size > ringBytes {
		c.keep(len(c.events) / 2)
	}
	c.next = e.Seq + 1
	for cur := range c.cursors {
		notify(cur.wake)
	}
}

// keep lets all but the newest n events go.
func (c *channel) keep(n int) {
	old := c.events[:len(c.events)-n]
	for _, e := range old {
		c.size -= len(e.Payload)
	}
	copy(c.events, c.events[len(old):])
	clear(c.events[n:])
	c.events = c.events[:n]
}

// from copies at most limit events numbered seq and up, of which the payloads
// have at most batchBytes; one is always given.
func (c *channel) from(seq uint64, limit int) []messages.Event {
	kept, first := c.kept(), c.first()
	if seq >= c.next || len(kept) == 0 {
		return nil
	}
	kept = kept[max(seq, first)-first:]
	kept = kept[:min(len(kept), limit)]
	size := 0
	for i, e := range kept {
		if size += len(e.Payload); size > batchBytes && i > 0 {
			kept = kept[:i]
			break
		}
	}
	return append([]messages.Event(nil), kept...)
}

// read is a cursor read of a channel in memory.
func (c *channel) read(since *uint64, limit int, tail bool) messages.EventPage {
	page := messages.EventPage{Channel: c.key.Name, Events: []messages.Event{}}
	if c.next == 0 {
		return page
	}
	latest := c.next - 1
	page.LatestSeq = &latest
	want := uint64(0)
	if since != nil {
		if *since >= latest {
			return page
		}
		want = *since + 1
	}
	start := max(want, c.first())
	if since != nil && start > want {
		page.Gap = &messages.EventGap{From: want, To: start - 1}
	}
	if tail && c.next-start > uint64(limit) {
		start = c.next - uint64(limit)
	}
	page.Events = append(page.Events, c.from(start, limit)...)
	if n := len(page.Events); n > 0 && page.Events[n-1].Seq < latest {
		seq := page.Events[n-1].Seq
		page.Next = &seq
	}
	return page
}

// after is the number behind since, which is exclusive.
func after(since uint64) uint64 {
	if since == math.MaxUint64 {
		return since
	}
	return since + 1
}

func notify(ch chan struct{}) {
	select {
	case ch <- struct{}{}:
	default:
	}
}
