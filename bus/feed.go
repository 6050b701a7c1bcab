package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"shoal.dev/shoal/messages"
)

const (
	feedMax     = 16 << 10         // events that wait for NATS
	feedBytes   = 64 << 20         // of payload in them
	feedLast    = 4096             // channels whose newest event is remembered
	feedSmall   = 16 << 10         // bytes of payload up to which it is
	feedFlush   = 5 * time.Second  // for the server to take a batch
	feedReturn  = 15 * time.Second // after a restart, for clients to come back
	feedRecheck = 250 * time.Millisecond
)

// feed gives events to NATS in its own goroutine. What the server has not
// confirmed is kept and given to the next one; after a restart the newest event
// of each channel is published again, at once and whenever clients have
// subscribed anew within feedReturn, so that none misses the last one without
// noticing.
type feed struct {
	kernelID      string
	log           *slog.Logger
	subscriptions func() uint32
	gone          func() // the server no longer answers

	mu     sync.Mutex
	queue  []messages.Published
	size   int        // bytes of payload in queue
	conn   *nats.Conn // nil while there is no server
	fresh  bool       // conn replaces another and has got nothing yet
	lost   uint64
	last   map[messages.ChannelKey]messages.Published // newest confirmed
	closed bool
	wake   chan struct{}
	done   chan struct{}
}

func newFeed(kernelID string, log *slog.Logger, subscriptions func() uint32, gone func()) *feed {
	return &feed{
		kernelID: kernelID, log: log, subscriptions: subscriptions, gone: gone,
		last: map[messages.ChannelKey]messages.Published{},
		wake: make(chan struct{}, 1), done: make(chan struct{}),
	}
}

// push never waits; when there is no room the oldest events are not published.
func (f *feed) push(evs ...messages.Published) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.queue = append(f.queue, evs...)
	for _, ev := range evs {
		f.size += len(ev.Event.Payload)
	}
	over := len(f.queue) - feedMax
	for i := 0; i < len(f.queue) && (i < over || f.size > feedBytes); i++ {
		f.size -= len(f.queue[i].Event.Payload)
		over = max(over, i+1)
	}
	if over > 0 {
		f.lost += uint64(over)
		f.queue = append([]messages.Published(nil), f.queue[over:]...)
	}
	notify(f.wake)
}

func (f *feed) backlog() (queued int, lost uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.queue), f.lost
}

// connect names the server; restarted says that it replaces another.
func (f *feed) connect(conn *nats.Conn, restarted bool) {
	f.mu.Lock()
	f.conn, f.fresh = conn, restarted
	f.mu.Unlock()
	notify(f.wake)
}

func (f *feed) disconnect() {
	f.mu.Lock()
	conn := f.conn
	f.conn = nil
	f.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
}

// close publishes what is queued, bounded by ctx, and ends run.
func (f *feed) close(ctx context.Context) error {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	notify(f.wake)
	var err error
	select {
	case <-f.done:
	case <-ctx.Done():
		err = fmt.Errorf("publish what is queued: %w", ctx.Err())
	}
	f.disconnect()
	return err
}

// run publishes until the feed is closed and empty, or closed without server.
func (f *feed) run() {
	defer close(f.done)
	var seen uint32
	var until time.Time
	tick := time.NewTicker(feedRecheck)
	defer tick.Stop()
	tick.Stop()
	for {
		batch, conn, fresh, end := f.take()
		if fresh { // after a restart, not after the start: tailers of an older kernel read anew
			seen, until = f.subscriptions(), time.Now().Add(feedReturn)
			tick.Reset(feedRecheck)
			batch = append(f.newest(), batch...)
		}
		if err := f.send(conn, batch); err != nil {
			f.putBack(conn, batch, err)
			continue
		}
		f.confirm(batch)
		if end {
			return
		}
		select {
		case <-f.wake:
		case now := <-tick.C:
			if n := f.subscriptions(); n > seen {
				f.again()
				seen = n
			} else {
				seen = min(seen, n)
			}
			if now.After(until) {
				tick.Stop()
			}
		}
	}
}

// take waits for nothing: it returns what there is, if there is a server.
func (f *feed) take() (batch []messages.Published, conn *nats.Conn, fresh, end bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.conn == nil {
		return nil, nil, false, f.closed
	}
	batch, f.queue, f.size = f.queue, nil, 0
	fresh, f.fresh = f.fresh, false
	return batch, f.conn, fresh, f.closed
}

// newest are the newest confirmed events of the channels.
func (f *feed) newest() []messages.Published {
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []messages.Published
	for _, ev := range f.last {
		out = append(out, ev)
	}
	return out
}

// again queues the newest events once more, in front of newer ones.
func (f *feed) again() {
	newest := f.newest()
	f.mu.Lock()
	f.queue = append(newest, f.queue...)
	for _, ev := range newest {
		f.size += len(ev.Event.Payload)
	}
	f.mu.Unlock()
	notify(f.wake)
}

// send publishes a batch. Without subscribers nothing is composed: core NATS
// would drop it.
func (f *feed) send(conn *nats.Conn, batch []messages.Published) error {
	if conn == nil || len(batch) == 0 || conn.IsConnected() && f.subscriptions() == 0 {
		return nil
	}
	for _, ev := range batch {
		if err := conn.PublishMsg(f.message(ev)); errors.Is(err, nats.ErrMaxPayload) {
			f.log.Warn("event is too large for NATS", "channel", ev.Key.Name, "seq", ev.Event.Seq, "bytes", len(ev.Event.Payload))
		} else if err != nil {
			return err
		}
	}
	return conn.FlushTimeout(feedFlush)
}

func (f *feed) message(ev messages.Published) *nats.Msg {
	subject := Subject(f.kernelID, ev.Key)
	seq := strconv.FormatUint(ev.Event.Seq, 10)
	msg := nats.NewMsg(subject)
	msg.Header.Set("Shoal-Seq", seq)
	msg.Header.Set("Nats-Msg-Id", subject+":"+seq)
	data, err := json.Marshal(ev.Event)
	if err != nil { // a payload that is no JSON; the journal lets none through
		bare := ev.Event
		bare.Payload = nil
		data, _ = json.Marshal(bare)
	}
	msg.Data = data
	return msg
}

// putBack keeps a batch that was not confirmed for the next server, and asks
// for one unless it is on its way.
func (f *feed) putBack(conn *nats.Conn, batch []messages.Published, err error) {
	f.mu.Lock()
	f.queue = append(batch, f.queue...)
	lost := f.conn == conn
	if lost {
		f.conn = nil
	}
	f.mu.Unlock()
	if lost {
		f.log.Warn("bus lost its server", "err", err)
		conn.Close()
		f.gone()
	}
}

func (f *feed) confirm(batch []messages.Published) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, ev := range batch {
		if old, ok := f.last[ev.Key]; ok && old.Event.Seq > ev.Event.Seq {
			continue
		}
		if delete(f.last, ev.Key); len(ev.Event.Payload) <= feedSmall {
			f.last[ev.Key] = ev
		}
	}
	for key := range f.last {
		if len(f.last) <= feedLast {
			break
		}
		delete(f.last, key)
	}
}
