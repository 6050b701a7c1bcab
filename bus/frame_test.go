package bus

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

// framed is a bus whose frames are the numbers and payloads of their events.
func framed(t testing.TB) (*Bus, *book) {
	b := open(t, Options{Frame: func(dst []byte, e messages.Event) []byte {
		return fmt.Appendf(dst, "%d %s\n", e.Seq, e.Payload)
	}})
	return b, &book{bus: b, keep: messages.RingSize}
}

func nextFrames(t testing.TB, c *Cursor) ([]byte, *messages.Dropped) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, dropped, err := c.Frames(ctx)
	if err != nil {
		t.Fatalf("frames: %v", err)
	}
	return got, dropped
}

// checkFrames reads frames until the one numbered last. It returns in how many
// pieces they came.
func checkFrames(t testing.TB, c *Cursor, from, last uint64) (pieces int) {
	t.Helper()
	for from <= last {
		got, dropped := nextFrames(t, c)
		if dropped != nil {
			t.Fatalf("got %+v, want frame %d", *dropped, from)
		}
		pieces++
		for line := range bytes.Lines(got) {
			if want := fmt.Sprintf("%d ", from); !bytes.HasPrefix(line, []byte(want)) || line[len(line)-1] != '\n' {
				t.Fatalf("got %.40q, want frame %d", line, from)
			}
			from++
		}
	}
	return pieces
}

// noFrames checks that a cursor has nothing for its reader.
func noFrames(t testing.TB, c *Cursor) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, dropped, err := c.Frames(ctx); err != context.Canceled {
		t.Errorf("unexpected frames %.60q %v (%v)", got, dropped, err)
	}
}

// follow is a cursor whose reader has asked for frames already.
func follow(t testing.TB, b *Bus, k *book) *Cursor {
	t.Helper()
	c := b.Subscribe(userX, nil, k.backlog(userX))
	t.Cleanup(c.Close)
	noFrames(t, c)
	return c
}

func TestFramesAreMadeOnceAndHandedOutTogether(t *testing.T) {
	made := 0
	b := open(t, Options{Frame: func(dst []byte, e messages.Event) []byte {
		made++
		return fmt.Appendf(dst, "%d %s\n", e.Seq, e.Payload)
	}})
	k := &book{bus: b}
	all := []*Cursor{follow(t, b, k), follow(t, b, k), follow(t, b, k)}
	const n = 1000
	for range n {
		k.publish(userX)
	}
	var first []byte
	for _, c := range all {
		got, _ := nextFrames(t, c)
		if lines := bytes.Count(got, []byte("\n")); lines != n {
			t.Errorf("%d frames at once, want %d", lines, n)
		}
		if first == nil {
			first = got
		}
		if &got[0] != &first[0] {
			t.Error("a cursor has a copy of the frames")
		}
		noFrames(t, c)
	}
	if made != n {
		t.Errorf("%d frames were made, want %d", made, n)
	}
}

// A reader that falls behind by more than the ring, but not by too much, loses
// nothing, and gets much at a time; then the ring is short again.
func TestSlowReaderOfFramesLosesNothing(t *testing.T) {
	b, k := framed(t)
	k.payload = []byte(strings.Repeat("x", 50))
	slow, quick := follow(t, b, k), follow(t, b, k)
	plain := b.Subscribe(userX, nil, k.backlog(userX))
	defer plain.Close()
	const n = 12 * messages.RingSize
	for i := range uint64(n) {
		k.publish(userX)
		checkFrames(t, quick, i, i)
	}
	if pieces := checkFrames(t, slow, 0, n-1); pieces > n*60/frameRoom+2 {
		t.Errorf("%d pieces of up to %d bytes for %d frames", pieces, frameRoom, n)
	}
	if b.wide == 0 {
		t.Error("the ring was never longer")
	}
	// Who reads events is told of what is beyond the ring, as always.
	want := &messages.Dropped{Seq: n - messages.RingSize - 1, Dropped: n - messages.RingSize, LatestSeq: n - 1}
	if diff := cmp.Diff(want, next(t, plain).Dropped); diff != "" {
		t.Errorf("dropped (-want +got):\n%s", diff)
	}
	for i := range uint64(ringLong) {
		k.publish(userX)
		checkFrames(t, quick, n+i, n+i)
		checkFrames(t, slow, n+i, n+i)
	}
	if held := len(b.channels[userX].events); b.wide != 0 || held > ringShort {
		t.Errorf("%d events are held, room for %d is taken", held, b.wide)
	}
}

// A reader that is stuck is told exactly what it has lost, once, and what is
// kept for it is bounded, however many are stuck.
func TestStuckReaderOfFramesIsTold(t *testing.T) {
	b, k := framed(t)
	stuck, quick := follow(t, b, k), follow(t, b, k)
	const n = 40 * messages.RingSize
	for i := range uint64(n) {
		k.publish(userX)
		if held := len(b.channels[userX].events); held > ringLong {
			t.Fatalf("%d events are held", held)
		}
		checkFrames(t, quick, i, i)
	}
	first := b.channels[userX].first(true)
	_, got := nextFrames(t, stuck)
	if diff := cmp.Diff(&messages.Dropped{Seq: first - 1, Dropped: first, LatestSeq: n - 1}, got); diff != "" {
		t.Fatalf("dropped (-want +got):\n%s", diff)
	}
	if n-first < ringLong-messages.RingSize {
		t.Errorf("%d events are left", n-first)
	}
	checkFrames(t, stuck, first, n-1)
	noFrames(t, stuck)
	stuck.Close()
	quick.Close()
	if b.wide != 0 || len(b.channels) != 0 {
		t.Errorf("room for %d events is still taken, %d rings are kept", b.wide, len(b.channels))
	}
}

func TestRingsTogetherAreBounded(t *testing.T) {
	b, k := framed(t)
	for i := range 2 * wideMax / ringLong {
		key := messages.ChannelKey{Session: "s", Name: fmt.Sprint("user.", i)}
		c := b.Subscribe(key, nil, k.backlog(key))
		defer c.Close()
		noFrames(t, c)
		for range ringLong {
			k.publish(key)
		}
	}
	held := 0
	for _, ch := range b.channels {
		held += max(0, len(ch.events)-ringShort)
	}
	if b.wide > wideMax || held > b.wide {
		t.Errorf("rings hold %d events beyond what is short; room for %d is taken, at most %d wanted", held, b.wide, wideMax)
	}
}

// Long frames count for the ring and stand alone.
func TestLongFrames(t *testing.T) {
	b, k := framed(t)
	c := follow(t, b, k)
	k.payload = bytes.Repeat([]byte("x"), messages.EventMost-100)
	const n = 20
	for range n {
		k.publish(userX)
	}
	if ch := b.channels[userX]; ch.size > ringBytes || ch.size < 2*len(ch.events)*len(k.payload) {
		t.Errorf("the ring counts %d bytes in %d events", ch.size, len(ch.events))
	}
	if pieces := checkFrames(t, c, 0, n-1); pieces != n {
		t.Errorf("%d pieces, want %d", pieces, n)
	}
	k.payload = nil
	k.publish(userX)
	k.publish(userX)
	if pieces := checkFrames(t, c, n, n+1); pieces != 1 {
		t.Errorf("%d pieces, want 1", pieces)
	}
}

// Events from before there was a reader of frames, from the journal and from the
// ring are one sequence, whoever else comes and goes.
func TestFramesOfOlderEvents(t *testing.T) {
	b, k := framed(t)
	k.keep = 0
	for range 700 {
		k.publish(userX)
	}
	plain := b.Subscribe(userX, ptr(uint64(0)), k.backlog(userX))
	defer plain.Close()
	for range 700 {
		k.publish(userX)
	}
	c := b.Subscribe(userX, ptr(uint64(9)), k.backlog(userX))
	defer c.Close()
	checkFrames(t, c, 10, 10)
	for range 10 { // with and without frames by turns
		other := follow(t, b, k)
		k.publish(userX)
		other.Close()
	}
	c2 := b.Subscribe(userX, ptr(uint64(1300)), k.backlog(userX))
	defer c2.Close()
	checkFrames(t, c2, 1301, 1409)
	noFrames(t, c2)
}

func TestFramesOfMemoryChannel(t *testing.T) {
	b, _ := framed(t)
	c := b.Subscribe(screen, nil, nil)
	noFrames(t, c)
	for range 3 * ringLong {
		if _, err := b.PublishMemory(screen, []byte("1")); err != nil {
			t.Fatal(err)
		}
	}
	ch := b.channels[screen]
	if b.memory != len(ch.events) || len(ch.events) > ringLong {
		t.Errorf("%d events are counted, %d are held", b.memory, len(ch.events))
	}
	first := ch.first(true)
	if _, d := nextFrames(t, c); d == nil || d.Seq != first-1 || d.Dropped != first {
		t.Errorf("dropped: got %+v, want what lies before %d", d, first)
	}
	checkFrames(t, c, first, 3*ringLong-1)
	c.Close()
	for range 2 * ringLong {
		b.PublishMemory(screen, []byte("1"))
	}
	if b.memory != len(ch.events) || len(ch.events) > ringShort || b.wide != 0 {
		t.Errorf("%d events are counted, %d are held, room for %d is taken", b.memory, len(ch.events), b.wide)
	}
	if p, _ := b.Read(screen, ptr(uint64(0)), 1, false); p.Events[0].Seq != 5*ringLong-messages.RingSize {
		t.Errorf("a read begins at %d", p.Events[0].Seq)
	}
}

// Many publish, many follow, some of them come and go: everybody gets every
// event of his time, in order.
func TestFramesUnderLoad(t *testing.T) {
	b, k := framed(t)
	const publishers, each, readers = 8, 1000, 8
	var published, read sync.WaitGroup
	for i := range readers {
		c := follow(t, b, k)
		if i%2 == 1 {
			c = b.Subscribe(userX, nil, k.backlog(userX)) // which asks for frames later
			t.Cleanup(c.Close)
		}
		read.Go(func() {
			for at := uint64(0); at < publishers*each; {
				ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
				got, dropped, err := c.Frames(ctx)
				cancel()
				if dropped != nil || err != nil {
					t.Errorf("reader %d at %d: %+v %v", i, at, dropped, err)
					return
				}
				for line := range bytes.Lines(got) {
					if want := fmt.Sprintf("%d %d\n", at, at); string(line) != want {
						t.Errorf("reader %d: got %.40q, want %q", i, line, want)
						return
					}
					at++
				}
			}
		})
	}
	for range publishers {
		published.Go(func() {
			for range each {
				k.publish(userX)
			}
		})
	}
	published.Go(func() {
		for range 200 {
			c := b.Subscribe(userX, nil, k.backlog(userX))
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			c.Frames(ctx)
			c.Close()
		}
	})
	published.Wait()
	read.Wait()
}
