package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go"

	"shoal.dev/shoal/messages"
)

func open(t testing.TB, opt Options) *Bus {
	t.Helper()
	if opt.KernelID == "" {
		opt.KernelID = "k1"
	}
	b, err := Open(opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		if err := b.Close(ctx); err != nil {
			t.Error(err)
		}
	})
	return b
}

// book stands for the journal: it numbers, keeps, and then delivers.
type book struct {
	bus    *Bus
	mu     sync.Mutex
	events map[messages.ChannelKey][]messages.Event
	keep   int // 0: all

	payload []byte // of each event; nil: its number
}

func (k *book) publish(key messages.ChannelKey) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.events == nil {
		k.events = map[messages.ChannelKey][]messages.Event{}
	}
	seq := uint64(0)
	if es := k.events[key]; len(es) > 0 {
		seq = es[len(es)-1].Seq + 1
	}
	e := messages.Event{Channel: key.Name, Seq: seq, Payload: k.payload}
	if k.payload == nil {
		e.Payload = fmt.Append(nil, seq)
	}
	k.events[key] = append(k.events[key], e)
	k.bus.Deliver([]messages.Published{{Key: key, Event: e}})
}

func (k *book) backlog(key messages.ChannelKey) Backlog {
	return func(since *uint64, limit int) (messages.EventPage, error) {
		k.mu.Lock()
		defer k.mu.Unlock()
		page := messages.EventPage{Channel: key.Name}
		es := k.events[key]
		if len(es) == 0 {
			return page, nil
		}
		latest := es[len(es)-1].Seq
		page.LatestSeq = &latest
		if k.keep > 0 && len(es) > k.keep {
			es = es[len(es)-k.keep:]
		}
		for _, e := range es {
			if (since == nil || e.Seq > *since) && len(page.Events) < limit {
				page.Events = append(page.Events, e)
			}
		}
		return page, nil
	}
}

func next(t testing.TB, c *Cursor) Item {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	item, err := c.Next(ctx)
	if err != nil {
		t.Fatalf("next: %v", err)
	}
	return item
}

// nothing checks that the cursor has no item for its reader.
func nothing(t testing.TB, c *Cursor) {
	t.Helper()
	if got, err := c.fill(); got || err != nil || len(c.ready) > 0 {
		t.Errorf("unexpected items %+v (%v)", c.ready, err)
	}
}

var (
	userX  = messages.ChannelKey{Session: "s", Name: "user.x"}
	screen = messages.ChannelKey{Session: "s", Name: "pty.1"}
)

func TestNothingLostBetweenBacklogAndLive(t *testing.T) {
	for range 20 {
		b := open(t, Options{})
		k := &book{bus: b}
		for range 500 {
			k.publish(userX)
		}
		var wg sync.WaitGroup
		wg.Go(func() {
			for range 500 {
				k.publish(userX)
			}
		})
		since := uint64(100)
		c := b.Subscribe(userX, &since, k.backlog(userX))
		for want := uint64(101); want <= 999; want++ {
			if item := next(t, c); item.Dropped != nil || item.Event.Seq != want {
				t.Fatalf("got %+v, want event %d", item, want)
			}
		}
		nothing(t, c)
		wg.Wait()
		c.Close()
		if n := b.Stats().Channels; n != 0 {
			t.Fatalf("%d rings are kept for nobody", n)
		}
	}
}

func TestFirstEventIsZero(t *testing.T) {
	b := open(t, Options{})
	k := &book{bus: b}
	live := b.Subscribe(userX, nil, k.backlog(userX))
	k.publish(userX)
	if item := next(t, live); item.Event.Seq != 0 || item.Dropped != nil {
		t.Errorf("first item %+v", item)
	}
	zero := uint64(0)
	after := b.Subscribe(userX, &zero, k.backlog(userX))
	nothing(t, after)
	late := b.Subscribe(userX, nil, k.backlog(userX))
	nothing(t, late)
	k.publish(userX)
	for _, c := range []*Cursor{live, after, late} {
		if item := next(t, c); item.Event.Seq != 1 {
			t.Errorf("got %+v, want event 1", item)
		}
		c.Close()
	}
}

func TestDroppedOnceInOrder(t *testing.T) {
	cases := map[string]struct {
		since *uint64
		keep  int
		first uint64 // what is lost ends before it
	}{
		"kept for good":       {since: ptr(uint64(4))},
		"ring, with since":    {since: ptr(uint64(4)), keep: 1024, first: 1976},
		"ring, without since": {keep: 1024, first: 1976},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			b := open(t, Options{})
			k := &book{bus: b, keep: c.keep}
			cur := b.Subscribe(userX, c.since, k.backlog(userX))
			defer cur.Close()
			for range 3000 {
				k.publish(userX)
			}
			want := uint64(0)
			if c.since != nil {
				want = *c.since + 1
			}
			if c.first > 0 {
				got := next(t, cur).Dropped
				if diff := cmp.Diff(&messages.Dropped{Seq: c.first - 1, Dropped: c.first - want, LatestSeq: 2999}, got); diff != "" {
					t.Fatalf("dropped (-want +got):\n%s", diff)
				}
				want = c.first
			}
			for ; want < 3000; want++ {
				if item := next(t, cur); item.Dropped != nil || item.Event.Seq != want {
					t.Fatalf("got %+v, want event %d", item, want)
				}
			}
			nothing(t, cur)
		})
	}
}

func ptr[T any](v T) *T { return &v }

func TestMemoryChannel(t *testing.T) {
	b := open(t, Options{Now: func() time.Time { return time.Unix(0, 9) }})
	if _, err := b.PublishMemory(userX, nil); err == nil {
		t.Error("a channel of the journal was numbered by the bus")
	}
	if p, err := b.Read(screen, nil, 0, false); err != nil || p.LatestSeq != nil || len(p.Events) != 0 {
		t.Errorf("empty channel: %+v %v", p, err)
	}
	slow := b.Subscribe(screen, nil, nil)
	for i := range 3000 {
		e, err := b.PublishMemory(screen, fmt.Append(nil, i))
		if err != nil || e.Seq != uint64(i) || e.TS != 9 {
			t.Fatalf("event %+v %v", e, err)
		}
	}
	if diff := cmp.Diff(&messages.Dropped{Seq: 1975, Dropped: 1976, LatestSeq: 2999}, next(t, slow).Dropped); diff != "" {
		t.Error(diff)
	}
	for want := uint64(1976); want < 3000; want++ {
		if item := next(t, slow); item.Event.Seq != want {
			t.Fatalf("got %+v, want %d", item, want)
		}
	}
	nothing(t, slow)
	slow.Close()
	p, err := b.Read(screen, ptr(uint64(99)), 2, false)
	if err != nil {
		t.Fatal(err)
	}
	want := messages.EventPage{Channel: "pty.1", LatestSeq: ptr(uint64(2999)), Next: ptr(uint64(1977)), Gap: &messages.EventGap{From: 100, To: 1975},
		Events: []messages.Event{{Channel: "pty.1", Seq: 1976, TS: 9, Payload: []byte("1976")}, {Channel: "pty.1", Seq: 1977, TS: 9, Payload: []byte("1977")}}}
	if diff := cmp.Diff(want, p); diff != "" {
		t.Errorf("page (-want +got):\n%s", diff)
	}
	if p, _ := b.Read(screen, nil, 1, true); len(p.Events) != 1 || p.Events[0].Seq != 2999 || p.Gap != nil || p.Next != nil {
		t.Errorf("tail: %+v", p)
	}
	if p, _ := b.Read(screen, ptr(uint64(2999)), 1, false); len(p.Events) != 0 {
		t.Errorf("after the last: %+v", p)
	}
}

func TestMemoryIsBounded(t *testing.T) {
	b := open(t, Options{})
	held := messages.ChannelKey{Session: "s", Name: "pty.held"}
	c := b.Subscribe(held, nil, nil)
	defer c.Close()
	if _, err := b.PublishMemory(held, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 200 {
		for range 600 {
			if _, err := b.PublishMemory(messages.ChannelKey{Session: "s", Name: fmt.Sprint("pty.", i)}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	if st := b.Stats(); st.Memory > memoryMax {
		t.Errorf("%d events in memory, at most %d wanted", st.Memory, memoryMax)
	}
	old := messages.ChannelKey{Session: "s", Name: "pty.0"}
	p, _ := b.Read(old, ptr(uint64(0)), 5, false)
	if len(p.Events) != 0 || p.Gap == nil || *p.Gap != (messages.EventGap{From: 1, To: 599}) || *p.LatestSeq != 599 {
		t.Errorf("a channel that was let go reads as %+v", p)
	}
	if e, _ := b.PublishMemory(old, nil); e.Seq != 600 {
		t.Errorf("number %d after letting go, want 600", e.Seq)
	}
	if item := next(t, c); item.Event.Seq != 0 || item.Dropped != nil {
		t.Errorf("a followed channel was let go: %+v", item)
	}
}

func TestCursorEnds(t *testing.T) {
	b, err := Open(Options{KernelID: "k"})
	if err != nil {
		t.Fatal(err)
	}
	c, d := b.Subscribe(screen, nil, nil), b.Subscribe(screen, nil, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Next(ctx); err != context.Canceled {
		t.Errorf("cancelled next: %v", err)
	}
	c.Close()
	if _, err := c.Next(t.Context()); err != ErrClosed {
		t.Errorf("next after close: %v", err)
	}
	ended := make(chan error)
	go func() { _, err := d.Next(context.Background()); ended <- err }()
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if err := <-ended; err != ErrClosed {
		t.Errorf("next when the bus closed: %v", err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if _, err := b.Subscribe(screen, nil, nil).Next(t.Context()); err != ErrClosed {
		t.Errorf("next of a cursor on a closed bus: %v", err)
	}
	if _, err := b.PublishMemory(screen, nil); err == nil {
		t.Error("a closed bus took an event")
	}
	b.Deliver([]messages.Published{{Key: userX}})
}

func TestBacklogErrorLosesNothing(t *testing.T) {
	b := open(t, Options{})
	k := &book{bus: b}
	for range 3 {
		k.publish(userX)
	}
	fail := true
	c := b.Subscribe(userX, ptr(uint64(0)), func(since *uint64, limit int) (messages.EventPage, error) {
		if fail {
			return messages.EventPage{}, os.ErrPermission
		}
		return k.backlog(userX)(since, limit)
	})
	defer c.Close()
	if _, err := c.Next(t.Context()); err == nil {
		t.Error("no error")
	}
	fail = false
	if item := next(t, c); item.Event.Seq != 1 {
		t.Errorf("got %+v, want event 1", item)
	}
}

func TestManyCursorsUnderLoad(t *testing.T) {
	b := open(t, Options{})
	k := &book{bus: b}
	const n = 2000
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			var since *uint64
			if i%2 == 0 {
				since = ptr(uint64(i))
			}
			c := b.Subscribe(userX, since, k.backlog(userX))
			defer c.Close()
			last := uint64(0)
			for last < n-1 {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				item, err := c.Next(ctx)
				cancel()
				if err != nil || item.Dropped != nil || last > 0 && item.Event.Seq != last+1 {
					t.Errorf("cursor %d: %+v %v after %d", i, item, err, last)
					return
				}
				last = item.Event.Seq
			}
		})
	}
	waitFor(t, "all follow", func() bool { return b.Stats().Cursors == 8 })
	for range n {
		k.publish(userX)
	}
	wg.Wait()
}

// client connects the way a program outside does.
func client(t *testing.T, dir string) *nats.Conn {
	t.Helper()
	path := filepath.Join(dir, "nats.json")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("nats.json has mode %v", info.Mode())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c credentials
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	conn, err := nats.Connect(c.URL, nats.UserInfo(c.User, c.Password), nats.MaxReconnects(-1),
		nats.ReconnectWait(20*time.Millisecond), nats.ReconnectJitter(0, 0), nats.PermissionErrOnSubscribe(true))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

func subscribe(t *testing.T, conn *nats.Conn, subject string) *nats.Subscription {
	t.Helper()
	sub, err := conn.SubscribeSync(subject)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Flush(); err != nil {
		t.Fatal(err)
	}
	return sub
}

func TestClientTailsAcrossRestarts(t *testing.T) {
	dir := t.TempDir()
	opt := Options{KernelID: "k1", Listen: "127.0.0.1:0", RuntimeDir: dir}
	b := open(t, opt)
	k := &book{bus: b}
	conn := client(t, dir)
	sub := subscribe(t, conn, "shoal.k1.s.s.>")
	inside := b.Subscribe(userX, nil, k.backlog(userX))
	defer inside.Close()
	addr := b.Addr()
	seen := map[uint64]bool{}
	read := func(until uint64) {
		t.Helper()
		for !seen[until] {
			m, err := sub.NextMsg(20 * time.Second)
			if err != nil {
				t.Fatalf("waiting for %d: %v", until, err)
			}
			var e messages.Event
			if err := json.Unmarshal(m.Data, &e); err != nil {
				t.Fatal(err)
			}
			if m.Subject != "shoal.k1.s.s.user.x" || m.Header.Get("Shoal-Seq") != fmt.Sprint(e.Seq) || m.Header.Get("Nats-Msg-Id") == "" || string(e.Payload) != fmt.Sprint(e.Seq) {
				t.Fatalf("message %+v", m)
			}
			seen[e.Seq] = true
		}
	}
	for range 10 {
		k.publish(userX)
	}
	read(9)
	if len(seen) != 10 {
		t.Errorf("saw %d of 10 events", len(seen))
	}
	for round := range 3 {
		k.publish(userX) // may be lost to the client with the server; it learns of it
		if err := b.Restart(); err != nil {
			t.Fatal(err)
		}
		read(uint64(10 + round))
	}
	if b.Addr() != addr {
		t.Errorf("address %s after restart, was %s", b.Addr(), addr)
	}
	for want := range uint64(13) {
		if item := next(t, inside); item.Event.Seq != want {
			t.Fatalf("cursor got %+v, want %d", item, want)
		}
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	b = open(t, opt) // the next kernel
	if b.Addr() != addr {
		t.Errorf("address %s in the next kernel, was %s", b.Addr(), addr)
	}
	k.bus = b
	waitClients(t, b, 1)
	k.publish(userX)
	read(13)
}

func waitClients(t *testing.T, b *Bus, n int) {
	t.Helper()
	waitFor(t, "the client is back", func() bool { return b.Stats().Clients >= n && b.server.subscriptions() > 0 })
}

// waitFor looks until cond holds.
func waitFor(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !cond(); <-tick.C {
		if time.Now().After(end) {
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// The server dies on its own; the bus makes a new one.
func TestServerIsReplacedWhenItDies(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Options{KernelID: "k1", Listen: "127.0.0.1:0", RuntimeDir: dir})
	k := &book{bus: b}
	sub := subscribe(t, client(t, dir), "shoal.k1.>")
	b.server.current().Shutdown()
	k.publish(userX)
	m, err := sub.NextMsg(20 * time.Second)
	if err != nil || m.Header.Get("Shoal-Seq") != "0" {
		t.Fatalf("message %+v %v", m, err)
	}
}

func TestClientRights(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Options{KernelID: "k1", Listen: "127.0.0.1:0", RuntimeDir: dir})
	conn := client(t, dir)
	for _, subject := range []string{">", "shoal.>", "shoal.k2.>", "$SYS.>"} {
		sub, err := conn.SubscribeSync(subject)
		if err == nil {
			_, err = sub.NextMsg(5 * time.Second)
		}
		if err == nil || err == nats.ErrTimeout {
			t.Errorf("subscribing to %s: %v, want a refusal", subject, err)
		}
	}
	spy := subscribe(t, client(t, dir), "shoal.k1.>")
	if err := conn.Publish("shoal.k1.kernel", []byte("forged")); err != nil {
		t.Fatal(err)
	}
	_ = conn.Flush()
	k := &book{bus: b}
	k.publish(userX)
	if m, err := spy.NextMsg(20 * time.Second); err != nil || string(m.Data) == "forged" {
		t.Errorf("message %s %v", m.Data, err)
	}
	if c, err := nats.Connect("nats://" + b.Addr()); err == nil {
		c.Close()
		t.Error("connected without password")
	}
}

func TestCloseLetsClientsFinish(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Options{KernelID: "k1", Listen: "127.0.0.1:0", RuntimeDir: dir})
	k := &book{bus: b}
	sub := subscribe(t, client(t, dir), "shoal.k1.>")
	const n = 5000
	for range n {
		k.publish(userX)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	for want := range n {
		m, err := sub.NextMsg(10 * time.Second)
		if err != nil || m.Header.Get("Shoal-Seq") != fmt.Sprint(want) {
			t.Fatalf("message %d: %v", want, err)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for _, listen := range []string{"0.0.0.0:0", "example.org:1", "127.0.0.1", "127.0.0.1:99999", "127.0.0.1:x", "192.0.2.1:0", ":0"} {
		if b, err := Open(Options{KernelID: "k", Listen: listen, RuntimeDir: t.TempDir()}); err == nil {
			b.Close(t.Context())
			t.Errorf("listening on %q was accepted", listen)
		}
	}
}

func TestReadableCredentialsAreReplaced(t *testing.T) {
	dir := t.TempDir()
	path := credentialPath(dir)
	for _, text := range []string{`{"user":"u","password":"known","url":"nats://127.0.0.1:1"}`, `not json`, ``} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		_ = os.Chmod(path, 0o644)
		if c, err := loadCredentials(dir); err != nil || c.Password != "" {
			t.Errorf("%q: %+v %v", text, c, err)
		}
	}
}

// Long events take so many bytes at most, in the ring and on their way to NATS;
// a cursor that falls behind reads the journal and loses nothing.
func TestLongEvents(t *testing.T) {
	b := open(t, Options{})
	k := &book{bus: b, payload: []byte(`"` + strings.Repeat("x", messages.EventMost-2) + `"`)}
	key := messages.ChannelKey{Session: "s", Name: "user.x"}
	c := b.Subscribe(key, nil, k.backlog(key))
	defer c.Close()
	const n = 40
	for range n {
		k.publish(key)
	}
	b.mu.Lock()
	ch := b.channels[key]
	if size := len(ch.events) * messages.EventMost; size > ringBytes || ch.size != size {
		t.Errorf("the ring has %d bytes and counts %d, want at most %d", size, ch.size, ringBytes)
	}
	if got := len(ch.from(ch.first(false), n, false)) * messages.EventMost; got > batchBytes {
		t.Errorf("a batch has %d bytes, want at most %d", got, batchBytes)
	}
	b.mu.Unlock()
	for i := range uint64(n) {
		if it := next(t, c); it.Dropped != nil || it.Event.Seq != i {
			t.Fatalf("item %d: got %v %d", i, it.Dropped, it.Event.Seq)
		}
	}
	many := make([]messages.Published, 2*feedBytes/messages.EventMost)
	for i := range many {
		many[i].Event.Payload = k.payload
	}
	f := newFeed("k", nil, nil, nil)
	f.push(many...)
	if queued, lost := f.backlog(); queued*messages.EventMost > feedBytes || uint64(queued)+lost != uint64(len(many)) || f.size != queued*messages.EventMost {
		t.Errorf("%d queued, %d lost, %d bytes", queued, lost, f.size)
	}
	f.confirm(many)
	if len(f.last) != 0 {
		t.Error("a long event is remembered")
	}
}
