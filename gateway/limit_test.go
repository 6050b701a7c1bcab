package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync/atomic"
	"testing"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

func TestNoHandlerIsUnknown(t *testing.T) {
	for name := range handlers {
		m, known := wire.Lookup(name)
		if !known {
			t.Errorf("%s is served but not in the table", name)
		}
		if m.Class == wire.Subscribe || m.Name == "session.attach" {
			t.Errorf("%s is served in two places", name)
		}
	}
}

func strangers(t *testing.T) *backend {
	t.Helper()
	g := New(Options{OwnerUID: 1})
	t.Cleanup(func() { g.Close(context.Background()) })
	return &backend{g: g, principal: "uid:2", session: "s"}
}

// Other users, whom a socket group lets in, have no say in the kernel's life and
// do not see what others do.
func TestStrangersAreKeptOut(t *testing.T) {
	b := strangers(t)
	for _, c := range []struct{ method, params string }{{"kernel.shutdown", "{}"}} {
		if _, err := b.Begin(c.method, json.RawMessage(c.params)); err == nil || err.Code != messages.CodeLeashDenied {
			t.Errorf("%s: got %v, want it denied", c.method, err)
		}
	}
	for _, name := range []string{"kernel.journal", "kernel.approval"} {
		if _, err := b.channel(t.Context(), name); err == nil || err.Code != messages.CodeLeashDenied {
			t.Errorf("channel %s: got %v, want it denied", name, err)
		}
	}
	var asked messages.JournalQuery
	b.g.o.Store = queries{&asked}
	call, err := b.Begin("journal.query", nil)
	if err != nil {
		t.Fatal(err)
	}
	call.Wait(t.Context())
	if len(asked.VisibleTo) != 1 || asked.VisibleTo[0] != "s" {
		t.Errorf("journal: sees %v, want its own session", asked.VisibleTo)
	}
}

type queries struct{ asked *messages.JournalQuery }

func (q queries) Query(p messages.JournalQuery) (messages.JournalPage, error) {
	*q.asked = p
	return messages.JournalPage{}, nil
}
func (queries) Events(messages.ChannelKey, *uint64, int, bool) (messages.EventPage, error) {
	return messages.EventPage{}, nil
}
func (queries) OpenBlob(string) (io.ReaderAt, int64, error) { return nil, 0, errors.New("none") }
func (queries) Latest(messages.ChannelKey) (uint64, bool)   { return 0, false }

func TestSubscriptionLimits(t *testing.T) {
	b := strangers(t)
	var open atomic.Int64
	take := func(b *backend) (Cursor, *messages.Error) {
		return limited(b, func(end func()) Cursor {
			open.Add(1)
			return &countedCursor{&silent{&open, make(chan struct{})}, end}
		})
	}
	var cursors []Cursor
	for range principalSubscriptions {
		c, err := take(b)
		if err != nil {
			t.Fatal(err)
		}
		cursors = append(cursors, c)
	}
	if _, err := take(b); err == nil || err.Code != messages.CodeQuota {
		t.Errorf("one too many: got %v", err)
	}
	own := &backend{g: b.g, principal: "uid:1"}
	for range subscriptionLimit - principalSubscriptions {
		c, err := take(own)
		if err != nil {
			t.Fatal(err)
		}
		cursors = append(cursors, c)
	}
	if _, err := take(own); err == nil || err.Code != messages.CodeQuota {
		t.Errorf("one too many in the kernel: got %v", err)
	}
	for _, c := range cursors {
		c.Close()
		c.Close()
	}
	if open.Load() != 0 || len(b.g.follows) != 0 {
		t.Errorf("%d cursors and %v are left", open.Load(), b.g.follows)
	}
}

// silent is a cursor of a channel without events.
type silent struct {
	open *atomic.Int64
	done chan struct{}
}

func (c *silent) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	select {
	case <-c.done:
		return messages.Event{}, nil, errCursorClosed
	case <-ctx.Done():
		return messages.Event{}, nil, ctx.Err()
	}
}

func (c *silent) Frames(ctx context.Context) ([]byte, *messages.Dropped, error) {
	_, dropped, err := c.Next(ctx)
	return nil, dropped, err
}

func (c *silent) Close() {
	select {
	case <-c.done:
	default:
		close(c.done)
		c.open.Add(-1)
	}
}

// flaky fails before each event, as a cursor does whose backlog cannot be read.
type flaky struct {
	mcp.Cursor
	n    int
	stop chan struct{}
}

func (c *flaky) Frames(ctx context.Context) ([]byte, *messages.Dropped, error) {
	c.n++
	if c.n%2 == 1 {
		return nil, nil, errors.New("read failed")
	}
	if c.n > 8 {
		<-ctx.Done()
		return nil, nil, ctx.Err()
	}
	return AppendEvent(nil, messages.Event{Channel: "user.x", Seq: uint64(c.n / 2)}), nil, nil
}
func (c *flaky) Close() { close(c.stop) }

type frames chan []byte

func (f frames) SendShared(frames []byte) error { f <- frames; return nil }

// A subscription outlives errors of its channel's backlog.
func TestSubscriptionSurvivesErrors(t *testing.T) {
	b := strangers(t)
	out := make(frames)
	h := &rawHandler{b: b, out: out}
	ctx, cancel := context.WithCancel(t.Context())
	s := &subscription{cancel: cancel, done: make(chan struct{})}
	h.subs = map[string]*subscription{"user.x": s}
	c := &flaky{stop: make(chan struct{})}
	go h.pump(ctx, "user.x", c, s)
	for want := uint64(1); want <= 4; want++ {
		var frame struct{ Params messages.Event }
		err := json.Unmarshal(<-out, &frame)
		if ev := frame.Params; err != nil || ev.Seq != want || ev.Channel != "user.x" {
			t.Errorf("got %+v %v, want number %d", ev, err, want)
		}
	}
	h.Close()
	<-c.stop
}
