package host

import (
	"bytes"
	"context"
	"sync"
	"time"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// ringSize is how many events a channel keeps.
const ringSize = 1024

// Channels are channels in memory, for hosts without a kernel. The zero value
// is ready; Close ends all cursors.
type Channels struct {
	mu     sync.Mutex
	rings  map[string]*ring
	closed chan struct{}
}

// ring is a channel: its newest events. moved is closed, and replaced, when
// there is a new one.
type ring struct {
	events []interp.ChannelItem
	next   uint64
	moved  chan struct{}
}

func (c *Channels) ring(name string) *ring {
	if c.rings == nil {
		c.rings = map[string]*ring{}
	}
	r := c.rings[name]
	if r == nil {
		r = &ring{moved: make(chan struct{})}
		c.rings[name] = r
	}
	return r
}

func (c *Channels) end() chan struct{} {
	if c.closed == nil {
		c.closed = make(chan struct{})
	}
	return c.closed
}

// Emit appends a payload.
func (c *Channels) Emit(_ context.Context, name string, payload []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.ring(name)
	if len(r.events) >= 2*ringSize {
		r.events = append([]interp.ChannelItem(nil), r.kept()...)
	}
	r.events = append(r.events, interp.ChannelItem{Seq: r.next, At: time.Now(), Payload: bytes.Clone(payload)})
	r.next++
	close(r.moved)
	r.moved = make(chan struct{})
	return nil
}

func (r *ring) kept() []interp.ChannelItem { return r.events[max(0, len(r.events)-ringSize):] }

// Latest is the newest payload, or nil.
func (c *Channels) Latest(_ context.Context, name string) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.ring(name)
	if len(r.events) == 0 {
		return nil, nil
	}
	return r.events[len(r.events)-1].Payload, nil
}

// Subscribe opens a cursor.
func (c *Channels) Subscribe(_ context.Context, name string, start interp.ChannelStart) (interp.ChannelCursor, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := c.ring(name)
	cur := &channelCursor{in: c, r: r, done: make(chan struct{}), end: c.end()}
	switch {
	case start.Live:
		cur.pos = r.next
	case start.Since != nil:
		cur.pos = *start.Since + 1
	default:
		cur.pos = r.next - uint64(len(r.kept()))
	}
	return cur, nil
}

// Close ends the cursors. It may be called twice.
func (c *Channels) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.end():
	default:
		close(c.closed)
	}
}

type channelCursor struct {
	in   *Channels
	r    *ring
	pos  uint64 // number of the next event
	once sync.Once
	done chan struct{}
	end  chan struct{}
}

func (c *channelCursor) Next(ctx context.Context) (interp.ChannelItem, error) {
	for {
		item, ok, moved := c.look()
		if ok {
			return item, nil
		}
		select {
		case <-moved:
		case <-ctx.Done():
			return interp.ChannelItem{}, context.Cause(ctx)
		case <-c.done:
			return interp.ChannelItem{}, value.Errorf(value.CodeChannelClosed, "the subscription is closed")
		case <-c.end:
			return interp.ChannelItem{}, value.Errorf(value.CodeChannelClosed, "the channels are closed")
		}
	}
}

// look is the item at the cursor, or what to wait for.
func (c *channelCursor) look() (interp.ChannelItem, bool, chan struct{}) {
	c.in.mu.Lock()
	defer c.in.mu.Unlock()
	kept := c.r.kept()
	first := c.r.next - uint64(len(kept))
	switch {
	case c.pos < first:
		lost := interp.ChannelItem{Dropped: first - c.pos, Latest: c.r.next - 1}
		c.pos = first
		return lost, true, nil
	case c.pos < c.r.next:
		item := kept[c.pos-first]
		c.pos++
		return item, true, nil
	}
	return interp.ChannelItem{}, false, c.r.moved
}

func (c *channelCursor) Close() { c.once.Do(func() { close(c.done) }) }

var _ interp.Channels = (*Channels)(nil)
