package bus

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
)

// memoryMax is how many events channels in memory keep between them before
// those that nobody follows let theirs go, the longest unused first.
const memoryMax = 64 << 10

// readLimit is how many events a read returns by default; RingSize at most.
const readLimit = 256

// How long to wait before another try to start the server.
const (
	restartMin = 100 * time.Millisecond
	restartMax = 30 * time.Second
)

// Options say who the kernel is and who may listen.
type Options struct {
	// KernelID is made once per state directory; all subjects begin with it.
	KernelID string
	// Listen is the address for NATS clients, on loopback; port 0 means any
	// port, the same one after a restart. Empty means none.
	Listen string
	// RuntimeDir gets nats.json, the address and credentials of the listener.
	RuntimeDir string
	// Principal is on whose behalf the holder of nats.json listens.
	Principal messages.Principal
	Log       *slog.Logger
	// Frame appends the frame of an event as readers of frames get it; without it
	// there can be none. It is called while the bus is locked.
	Frame func(dst []byte, e messages.Event) []byte
	// Now is the clock of events in memory; nil means time.Now.
	Now func() time.Time
}

// Bus is the bus. Its methods may be called from any goroutine.
type Bus struct {
	opt    Options
	log    *slog.Logger
	feed   *feed
	server *server
	wg     sync.WaitGroup
	quit   chan struct{}
	life   sync.Mutex // one start or stop of the server at a time; before mu

	mu       sync.Mutex
	channels map[messages.ChannelKey]*channel
	order    *list.List // channels in memory that hold events, longest unused first
	memory   int        // events that they hold
	wide     int        // events that rings may hold beyond ringShort each
	scratch  []byte     // for making frames
	closed   bool
}

// Open starts the server and returns when it accepts connections.
func Open(opt Options) (*Bus, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Frame == nil {
		opt.Frame = noFrame
	}
	srv, err := newServer(opt)
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	conn, err := srv.start()
	if err != nil {
		return nil, fmt.Errorf("open bus: %w", err)
	}
	b := &Bus{
		opt: opt, log: opt.Log, server: srv,
		channels: map[messages.ChannelKey]*channel{},
		order:    list.New(),
		quit:     make(chan struct{}),
	}
	b.feed = newFeed(opt.KernelID, opt.Log, srv.subscriptions, b.restartLater)
	b.feed.connect(conn, false)
	b.wg.Go(b.feed.run)
	return b, nil
}

// Addr is where NATS clients connect, "127.0.0.1:PORT"; empty without Listen.
func (b *Bus) Addr() string { return b.server.addr() }

// Deliver hands on events that the journal has written. It is called in their
// order and never waits.
func (b *Bus) Deliver(evs []messages.Published) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	for _, ev := range evs {
		if ch := b.channels[ev.Key]; ch != nil && !ch.memory {
			b.addLocked(ch, ev.Event)
		}
	}
	b.feed.push(evs...)
}

// PublishMemory numbers and hands on an event of a channel that lives in memory
// only. It never waits.
func (b *Bus) PublishMemory(key messages.ChannelKey, payload []byte) (messages.Event, error) {
	if key.Retention() != messages.RetainMemory {
		return messages.Event{}, fmt.Errorf("publish on %q: the journal numbers this channel", key.Name)
	}
	if payload == nil {
		payload = []byte("null")
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return messages.Event{}, fmt.Errorf("publish on %q: %w", key.Name, ErrClosed)
	}
	ch := b.channelLocked(key)
	e := messages.Event{Channel: key.Name, Seq: ch.next, TS: b.opt.Now().UnixNano(), Payload: payload}
	b.addLocked(ch, e)
	b.memory++
	b.usedLocked(ch)
	b.feed.push(messages.Published{Key: key, Event: e})
	return e, nil
}

// Read reads a channel in memory the way the journal reads the others.
func (b *Bus) Read(key messages.ChannelKey, since *uint64, limit int, tail bool) (messages.EventPage, error) {
	if key.Retention() != messages.RetainMemory {
		return messages.EventPage{}, fmt.Errorf("read %q: the journal keeps this channel", key.Name)
	}
	if limit <= 0 {
		limit = readLimit
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	ch := b.channels[key]
	if ch == nil {
		ch = &channel{key: key}
	}
	return ch.read(since, min(limit, messages.RingSize), tail), nil
}

func (b *Bus) channelLocked(key messages.ChannelKey) *channel {
	ch := b.channels[key]
	if ch == nil {
		ch = &channel{key: key, memory: key.Retention() == messages.RetainMemory, cursors: map[*Cursor]struct{}{}, waiting: map[*Cursor]struct{}{}}
		b.channels[key] = ch
	}
	return ch
}

// usedLocked notes that a channel in memory is in use and lets events of others
// go when there are too many.
func (b *Bus) usedLocked(ch *channel) {
	if ch.place == nil {
		ch.place = b.order.PushBack(ch)
	} else {
		b.order.MoveToBack(ch.place)
	}
	for at := b.order.Front(); b.memory > memoryMax && at != nil && at != ch.place; {
		old := at.Value.(*channel)
		at = at.Next()
		if len(old.cursors) > 0 {
			continue
		}
		b.keepLocked(old, 0) // next stays: numbers are not used twice
		b.order.Remove(old.place)
		old.place = nil
	}
}

// idleLocked lets go of a ring that nobody follows and others can supply.
func (b *Bus) idleLocked(ch *channel) {
	if len(ch.cursors) > 0 {
		return
	}
	if !ch.memory || ch.next == 0 {
		b.keepLocked(ch, 0)
		delete(b.channels, ch.key)
	}
}

// Stats are counts for people.
type Stats struct {
	Addr     string `json:"addr,omitempty"`
	Channels int    `json:"channels"`
	Cursors  int    `json:"cursors"`
	Memory   int    `json:"memory_events"`
	Queued   int    `json:"queued"` // not yet taken by NATS
	Lost     uint64 `json:"lost"`   // never given to NATS, for want of room
	Clients  int    `json:"clients"`
}

// Stats counts.
func (b *Bus) Stats() Stats {
	st := Stats{Addr: b.Addr(), Clients: b.server.clients()}
	st.Queued, st.Lost = b.feed.backlog()
	b.mu.Lock()
	defer b.mu.Unlock()
	st.Channels, st.Memory = len(b.channels), b.memory
	for _, ch := range b.channels {
		st.Cursors += len(ch.cursors)
	}
	return st
}

// Restart puts a new server in the place of the old one, on the same port, and
// publishes again what the old one may not have passed on. Cursors notice
// nothing.
func (b *Bus) Restart() error {
	b.life.Lock()
	defer b.life.Unlock()
	b.mu.Lock()
	closed := b.closed
	b.mu.Unlock()
	if closed {
		return ErrClosed
	}
	b.feed.disconnect()
	conn, err := b.server.restart()
	if err != nil {
		return fmt.Errorf("restart bus: %w", err)
	}
	b.feed.connect(conn, true)
	return nil
}

// restartLater restarts the server without keeping the caller, and tries again
// until it is up; Close waits for it.
func (b *Bus) restartLater() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.closed {
		return
	}
	b.wg.Go(func() {
		for wait := restartMin; ; wait = min(2*wait, restartMax) {
			err := b.Restart()
			if err == nil || errors.Is(err, ErrClosed) {
				return
			}
			b.log.Error("bus did not restart", "err", err, "again_in", wait)
			t := time.NewTimer(wait)
			select {
			case <-t.C:
			case <-b.quit:
				t.Stop()
				return
			}
		}
	})
}

// Close ends the cursors, gives what is queued to NATS, waits until its clients
// have it or ctx ends, and stops the server. It may be called twice.
func (b *Bus) Close(ctx context.Context) error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	close(b.quit)
	var cursors []*Cursor
	for _, ch := range b.channels {
		for c := range ch.cursors {
			cursors = append(cursors, c)
		}
	}
	b.mu.Unlock()
	for _, c := range cursors {
		c.Close()
	}
	err := b.feed.close(ctx)
	b.wg.Wait()
	b.life.Lock()
	defer b.life.Unlock()
	return errors.Join(err, b.server.stop(ctx))
}
