package bus

import (
	"context"
	"fmt"

	"shoal.dev/shoal/messages"
)

// frameRoom is how many bytes of frames are put side by side, and so the most
// that a cursor gives at once; a longer frame stands alone.
const frameRoom = 64 << 10

// entry is an event in a ring, with its frame once there is a reader of frames.
// A frame is made once and shared by all readers.
type entry struct {
	messages.Event
	frame []byte
	opens bool // the frame does not stand right behind the one before
}

func (e *entry) bytes() int { return len(e.Payload) + len(e.frame) }

// frames is memory that is only ever appended to, so that frames of events that
// follow each other can be had as one slice.
type frames []byte

// put copies a frame behind the last one, or into new memory if there is no
// room. What it returns has the capacity to reach the frames that come behind.
func (f *frames) put(frame []byte) (kept []byte, opens bool) {
	at := len(*f)
	if opens = cap(*f)-at < len(frame); opens {
		at = 0
		if len(frame) > frameRoom/2 { // which the following frames do not share
			kept = append(make([]byte, 0, len(frame)), frame...)
			*f = nil
			return kept, true
		}
		*f = make([]byte, 0, frameRoom)
	}
	*f = append(*f, frame...)
	return (*f)[at:], opens
}

// Frames waits for events and gives the frames of as many as there are, within
// frameRoom, or the notice that some were lost before them. The frames are shared
// and not to be changed. A cursor is read by Next or by Frames, not by both.
func (c *Cursor) Frames(ctx context.Context) ([]byte, *messages.Dropped, error) {
	if !c.framed {
		c.bus.mu.Lock()
		c.framed, c.at = true, c.pos
		if _, open := c.ch.cursors[c]; open {
			c.ch.framed++
		}
		c.bus.mu.Unlock()
	}
	for {
		if out, dropped, ok := c.readyFrames(); ok {
			return out, dropped, nil
		}
		if err := c.await(ctx); err != nil {
			return nil, nil, err
		}
	}
}

// readyFrames is what has been fetched, or what the ring has.
func (c *Cursor) readyFrames() ([]byte, *messages.Dropped, bool) {
	if c.closed() {
		return nil, nil, false
	}
	var out []byte
	for i := range c.ready {
		if d := c.ready[i].Dropped; d != nil {
			if len(out) == 0 {
				c.ready = c.ready[1:]
				return nil, d, true
			}
			c.ready = c.ready[i:]
			return out, nil, true
		}
		if out = c.bus.opt.Frame(out, c.ready[i].Event); len(out) >= frameRoom {
			c.ready = c.ready[i+1:]
			return out, nil, true
		}
	}
	c.ready = nil
	if len(out) > 0 || c.err != nil {
		return out, nil, len(out) > 0
	}
	c.bus.mu.Lock()
	defer c.bus.mu.Unlock()
	out, c.pos = c.ch.framesFrom(c.pos)
	c.at = c.pos
	return out, nil, len(out) > 0
}

// framesFrom are the frames of events numbered seq and up that stand side by
// side; none if the ring does not reach back to seq, or the event there came
// before there was a reader of frames. Next is the number behind them.
func (c *channel) framesFrom(seq uint64) (out []byte, next uint64) {
	first := c.first(true)
	if seq < first || seq >= c.next {
		return nil, seq
	}
	run := c.events[seq-first:]
	n, size := 0, 0
	for n < len(run) && run[n].frame != nil && (n == 0 || !run[n].opens) {
		size += len(run[n].frame)
		n++
	}
	if n == 0 {
		return nil, seq
	}
	return run[0].frame[:size:size], seq + uint64(n)
}

// noFrame stands for a missing Options.Frame.
func noFrame(_ []byte, e messages.Event) []byte {
	panic(fmt.Sprintf("frames of channel %q are read, but Options.Frame is not set", e.Channel))
}
