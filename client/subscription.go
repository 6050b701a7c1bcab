package client

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// Event is the next thing of a channel: an event, or a Gap in its place.
type Event struct {
	messages.Event
	Gap *Gap
}

// Gap is events that are not kept any more, both ends included.
type Gap struct{ From, To uint64 }

// From says where a subscription begins; the zero value is Live.
type From struct {
	after  *uint64
	oldest bool
}

// Live begins with the next event.
func Live() From { return From{} }

// After begins after the event with a sequence number.
func After(seq uint64) From { return From{after: &seq} }

// Oldest begins with the oldest event that is kept.
func Oldest() From { return From{oldest: true} }

// queueLength is how many events wait for a reader; what comes beyond them is
// asked of the kernel again.
const queueLength = 1024

// Subscription follows one channel, across kernels. Next belongs to one
// goroutine.
type Subscription struct {
	c       *Client
	channel string

	mu     sync.Mutex
	queue  []Event
	last   uint64        // sequence of the newest item that was queued
	has    bool          // last is set
	start  bool          // the channel was empty: everything in it is wanted
	hold   bool          // live events are put aside until older ones are read
	held   []notice      // those
	behind bool          // events came that did not fit
	more   chan struct{} // holds one item when there is something to look at
	err    error         // why nothing more will come
}

// notice is what an event notification carries.
type notice struct {
	messages.Event
	Dropped   uint64 `json:"dropped"`
	LatestSeq uint64 `json:"latest_seq"`
}

// Subscribe follows a channel. A client has one subscription per channel.
func (c *Client) Subscribe(ctx context.Context, channel string, from From) (*Subscription, error) {
	s := &Subscription{c: c, channel: channel, more: make(chan struct{}, 1), start: from.oldest}
	if from.after != nil {
		s.last, s.has = *from.after, true
	}
	c.mu.Lock()
	if c.subs[channel] != nil {
		c.mu.Unlock()
		return nil, fmt.Errorf("subscribe: this client follows %s already; close that subscription first", channel)
	}
	c.subs[channel] = s
	c.mu.Unlock()
	conn, err := c.connection(ctx)
	if err == nil {
		err = s.begin(ctx, conn)
	}
	if err != nil {
		c.forget(s)
		return nil, fmt.Errorf("subscribe %s: %w", channel, err)
	}
	return s, nil
}

func (c *Client) forget(s *Subscription) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.subs[s.channel] == s {
		delete(c.subs, s.channel)
	}
}

// resume continues a subscription on a new connection.
func (c *Client) resume(conn *wire.Client, s *Subscription) {
	err := s.begin(c.ctx, conn)
	var refusal *messages.Error
	if errors.As(err, &refusal) && refusal.Code != messages.CodeInterrupted {
		c.forget(s)
		s.end(fmt.Errorf("subscribe %s again: %w", s.channel, err))
	}
}

// begin asks for the events after the last one. Where there is no last one yet,
// it finds out what the channel holds.
func (s *Subscription) begin(ctx context.Context, conn *wire.Client) error {
	s.mu.Lock()
	has, start := s.has, s.start
	s.mu.Unlock()
	if !has && !start {
		page, err := s.read(ctx, conn, true)
		if err != nil {
			return err
		}
		s.mu.Lock()
		if page.LatestSeq != nil {
			s.last, s.has = *page.LatestSeq, true
		} else {
			s.start = true
		}
		s.mu.Unlock()
	}
	has, err := s.readOld(ctx, conn)
	switch {
	case err != nil:
		return err
	case has:
		return s.follow(ctx, conn)
	default:
		return s.beginEmpty(ctx, conn)
	}
}

// follow subscribes after the last event.
func (s *Subscription) follow(ctx context.Context, conn *wire.Client) error {
	s.mu.Lock()
	since := s.last
	s.mu.Unlock()
	return call(ctx, conn, "events.subscribe", map[string]any{"channel": s.channel, "since": since}, nil)
}

// readOld takes the first page of a channel of which everything is wanted. It
// reports whether there is a last event now.
func (s *Subscription) readOld(ctx context.Context, conn *wire.Client) (bool, error) {
	s.mu.Lock()
	has := s.has
	s.mu.Unlock()
	if has {
		return true, nil
	}
	page, err := s.read(ctx, conn, false)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range page.Events {
		s.queueLocked(notice{Event: e})
	}
	return s.has, nil
}

// beginEmpty follows a channel that was empty. What comes live is put aside
// until it is known whether something came before.
func (s *Subscription) beginEmpty(ctx context.Context, conn *wire.Client) error {
	s.mu.Lock()
	s.hold = true
	s.mu.Unlock()
	err := call(ctx, conn, "events.subscribe", map[string]any{"channel": s.channel}, nil)
	has := false
	if err == nil {
		has, err = s.readOld(ctx, conn)
	}
	s.mu.Lock()
	held := s.held
	s.hold, s.held = false, nil
	if !has && err == nil {
		for _, n := range held {
			s.takeLocked(n)
		}
	}
	s.mu.Unlock()
	if has {
		return s.follow(ctx, conn)
	}
	return err
}

func (s *Subscription) read(ctx context.Context, conn *wire.Client, newest bool) (page messages.EventPage, err error) {
	params := map[string]any{"channel": s.channel, "limit": queueLength / 2}
	if newest {
		params["tail"], params["limit"] = true, 1
	}
	err = call(ctx, conn, "events.read", params, &page)
	return page, err
}

// take looks at what a notification brought.
func (s *Subscription) take(n notice) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.takeLocked(n)
}

func (s *Subscription) takeLocked(n notice) {
	switch {
	case s.err != nil, s.has && n.Seq <= s.last:
		return // over, or told already
	case s.hold:
		s.held = append(s.held, n)
	case s.behind && n.first() > s.last+1:
		return // of the subscription that overran; the next one begins after last
	case len(s.queue) >= queueLength:
		s.behind = true
		s.wake()
	default:
		s.behind = false
		s.queueLocked(n)
	}
}

// first is the sequence of the first event that a notice tells of.
func (n notice) first() uint64 {
	if n.Dropped == 0 {
		return n.Seq
	}
	return n.Seq - min(n.Seq, n.Dropped-1)
}

// queueLocked puts an event, or the gap before it or in its place, at the end of
// the queue.
func (s *Subscription) queueLocked(n notice) {
	from := n.first()
	if s.has {
		from = s.last + 1
	}
	switch {
	case n.Dropped > 0:
		s.queue = append(s.queue, Event{Gap: &Gap{from, n.Seq}})
	case from < n.Seq:
		s.queue = append(s.queue, Event{Gap: &Gap{from, n.Seq - 1}}, Event{Event: n.Event})
	default:
		s.queue = append(s.queue, Event{Event: n.Event})
	}
	s.last, s.has = n.Seq, true
	s.wake()
}

func (s *Subscription) wake() {
	select {
	case s.more <- struct{}{}:
	default:
	}
}

// Channel is the channel that is followed.
func (s *Subscription) Channel() string { return s.channel }

// Next waits for the next event or gap. Its error is final unless ctx ended.
func (s *Subscription) Next(ctx context.Context) (Event, error) {
	for {
		s.mu.Lock()
		if len(s.queue) > 0 {
			e := s.queue[0]
			s.queue = s.queue[1:]
			s.mu.Unlock()
			return e, nil
		}
		err, behind := s.err, s.behind
		s.mu.Unlock()
		switch {
		case err != nil:
			return Event{}, err
		case behind:
			if err := s.catchUp(ctx); err != nil {
				return Event{}, err
			}
		}
		select {
		case <-s.more:
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// catchUp subscribes again after the last event that was queued. A connection
// that is lost meanwhile does so by itself.
func (s *Subscription) catchUp(ctx context.Context) error {
	conn, err := s.c.connection(ctx)
	if err != nil {
		return err
	}
	err = s.begin(ctx, conn)
	var refusal *messages.Error
	if errors.As(err, &refusal) && refusal.Code == messages.CodeInterrupted {
		return nil
	}
	return err
}

// Close stops following the channel.
func (s *Subscription) Close(ctx context.Context) error {
	s.c.forget(s)
	s.end(ErrClosed)
	s.c.mu.Lock()
	conn := s.c.conn
	s.c.mu.Unlock()
	if conn == nil || ended(conn) {
		return nil // what is gone follows nothing
	}
	return call(ctx, conn, "events.unsubscribe", map[string]any{"channel": s.channel}, nil)
}

func (s *Subscription) end(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.wake()
}
