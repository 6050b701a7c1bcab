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
	events  []entry // the newest RingSize count for all, older ones only for readers of frames
	limit   int     // number of events at which the oldest go
	size    int     // bytes of payloads and frames in events
	next    uint64  // number behind the newest event
	frames  frames  // where the frames of new events are put
	framed  int     // cursors that read frames
	cursors map[*Cursor]struct{}
	waiting map[*Cursor]struct{} // those that have asked for more than there was
	place   *list.Element        // in the bus's order of memory channels
}

// Bytes of payloads and frames in the ring of a channel that the journal keeps,
// and of payloads in what a cursor fetches at once. Whoever is behind the ring
// reads the journal.
const (
	ringBytes  = 8 << 20
	batchBytes = 4 << 20
)

const (
	// ringShort is how many events a ring has at most while no reader of frames is
	// behind. It lets the oldest go by the RingSize.
	ringShort = 2 * messages.RingSize
	// ringLong is how many it keeps for readers of frames that are behind: more
	// than a second at 10,000 events a second.
	ringLong = 16 * messages.RingSize
	// wideMax is how many events all rings together keep beyond ringShort each.
	wideMax = 128 * messages.RingSize
)

// ring are the events that are kept for everybody.
func (c *channel) ring() []entry { return c.events[max(0, len(c.events)-messages.RingSize):] }

// kept are the events for a cursor: readers of frames have all of them.
func (c *channel) kept(frames bool) []entry {
	if frames {
		return c.events
	}
	return c.ring()
}

// first is the number of the oldest event kept, next when there is none.
func (c *channel) first(frames bool) uint64 { return c.next - uint64(len(c.kept(frames))) }

// addLocked puts an event into its ring; one that is there already is ignored.
func (b *Bus) addLocked(c *channel, e messages.Event) {
	switch {
	case len(c.events) > 0 && e.Seq < c.next:
		return
	case e.Seq != c.next:
		b.keepLocked(c, 0) // start anew; the journal has what lies before
	}
	if len(c.events) >= max(c.limit, ringShort) {
		b.roomLocked(c)
	}
	added := entry{Event: e}
	if c.framed > 0 {
		b.scratch = b.opt.Frame(b.scratch[:0], e)
		added.frame, added.opens = c.frames.put(b.scratch)
		if cap(b.scratch) > frameRoom {
			b.scratch = nil
		}
	}
	c.events = append(c.events, added)
	if c.size += added.bytes(); !c.memory && c.size > ringBytes {
		b.keepLocked(c, len(c.events)/2)
	}
	c.next = e.Seq + 1
	for cur := range c.waiting {
		notify(cur.wake)
	}
	clear(c.waiting)
}

// roomLocked lets the oldest events of a full ring go, but those that readers of
// frames have yet to come to only if there are too many.
func (b *Bus) roomLocked(c *channel) {
	need := messages.RingSize
	for cur := range c.cursors {
		if cur.framed && cur.at < c.next {
			need = max(need, int(min(c.next-cur.at, ringLong)))
		}
	}
	longer := messages.RingSize
	if need+longer > max(c.limit, ringShort) && c.limit < ringLong && b.wide+longer <= wideMax {
		c.limit = max(c.limit, ringShort) + longer
		b.wide += longer
		return
	}
	b.keepLocked(c, min(need, len(c.events)-longer))
}

// keepLocked lets all but the newest n events go.
func (b *Bus) keepLocked(c *channel, n int) {
	old := c.events[:len(c.events)-n]
	for i := range old {
		c.size -= old[i].bytes()
	}
	if c.memory {
		b.memory -= len(old)
	}
	if n == 0 {
		c.events, c.frames = nil, nil
	} else {
		copy(c.events, c.events[len(old):])
		clear(c.events[n:])
		c.events = c.events[:n]
	}
	if n <= messages.RingSize && c.limit > ringShort {
		b.wide -= c.limit - ringShort
		c.limit = 0
		c.events = append([]entry(nil), c.events...)
	}
}

// from copies at most limit events numbered seq and up, of which the payloads
// have at most batchBytes; one is always given.
func (c *channel) from(seq uint64, limit int, frames bool) []messages.Event {
	kept, first := c.kept(frames), c.first(frames)
	if seq >= c.next || len(kept) == 0 {
		return nil
	}
	kept = kept[max(seq, first)-first:]
	kept = kept[:min(len(kept), limit)]
	out := make([]messages.Event, 0, len(kept))
	size := 0
	for i := range kept {
		if size += len(kept[i].Payload); size > batchBytes && i > 0 {
			break
		}
		out = append(out, kept[i].Event)
	}
	return out
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
	start := max(want, c.first(false))
	if since != nil && start > want {
		page.Gap = &messages.EventGap{From: want, To: start - 1}
	}
	if tail && c.next-start > uint64(limit) {
		start = c.next - uint64(limit)
	}
	page.Events = append(page.Events, c.from(start, limit, false)...)
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
