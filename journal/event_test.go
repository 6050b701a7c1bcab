package journal

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"shoal.dev/shoal/messages"
)

func seqs(p messages.EventPage) []uint64 {
	var out []uint64
	for _, e := range p.Events {
		out = append(out, e.Seq)
	}
	return out
}

func span(from, to uint64) []uint64 {
	var out []uint64
	for i := from; i <= to; i++ {
		out = append(out, i)
	}
	return out
}

func TestEventReads(t *testing.T) {
	for _, state := range []string{"folded", "unfolded", "half"} {
		t.Run(state, func(t *testing.T) {
			opt := options(t.TempDir())
			opt.Now = func() time.Time { return time.Unix(0, 42) }
			s := open(t, opt)
			var release func()
			if state == "unfolded" {
				release = hold(s)
				defer func() { release() }()
			}
			ring, kept := messages.ChannelKey{Session: "s", Name: "user.x"}, messages.ChannelKey{Session: "s", Name: "journal"}
			const n = 3000
			for i := range n {
				mustAppend(t, s, messages.Record{Events: []messages.Draft{
					{Key: ring, Payload: fmt.Append(nil, i)}, {Key: kept, Payload: fmt.Append(nil, i)}}})
				if state == "half" && i == n-300 {
					settleFolds(t, s)
					release = hold(s)
					defer func() { release() }()
				}
			}
			mustAppend(t, s, messages.Record{Events: []messages.Draft{{Key: messages.ChannelKey{Session: "s", Name: "user.xy"}}}})
			if state == "folded" {
				settleFolds(t, s)
			}
			cases := []struct {
				key   messages.ChannelKey
				since *uint64
				limit int
				tail  bool
				want  []uint64
				gap   *messages.EventGap
				more  bool
			}{
				{kept, nil, 0, false, span(0, 255), nil, true},
				{kept, ptr(uint64(0)), 3, false, span(1, 3), nil, true},
				{kept, ptr(uint64(2690)), 1024, false, span(2691, 2999), nil, false},
				{kept, ptr(uint64(2990)), 9, false, span(2991, 2999), nil, false},
				{kept, ptr(uint64(2999)), 9, false, nil, nil, false},
				{kept, ptr(uint64(5000)), 9, false, nil, nil, false},
				{kept, nil, 5, true, span(2995, 2999), nil, false},
				{kept, ptr(uint64(2997)), 5, true, span(2998, 2999), nil, false},
				{kept, nil, 100000, false, span(0, 1023), nil, true},
				{ring, nil, 2, false, span(1976, 1977), nil, true},
				{ring, ptr(uint64(99)), 2, false, span(1976, 1977), &messages.EventGap{From: 100, To: 1975}, true},
				{ring, ptr(uint64(1975)), 2, false, span(1976, 1977), nil, true},
				{ring, ptr(uint64(99)), 2, true, span(2998, 2999), &messages.EventGap{From: 100, To: 1975}, false},
			}
			for i, c := range cases {
				p, err := s.Events(c.key, c.since, c.limit, c.tail)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, seqs(p)); diff != "" {
					t.Errorf("case %d (-want +got):\n%.600s", i, diff)
				}
				if diff := cmp.Diff(c.gap, p.Gap); diff != "" {
					t.Errorf("case %d gap: %s", i, diff)
				}
				if (p.Next != nil) != c.more || c.more && *p.Next != c.want[len(c.want)-1] {
					t.Errorf("case %d: next %v, want more %v", i, p.Next, c.more)
				}
				if p.LatestSeq == nil || *p.LatestSeq != n-1 {
					t.Errorf("case %d: latest %v", i, p.LatestSeq)
				}
				for _, e := range p.Events {
					if string(e.Payload) != fmt.Sprint(e.Seq) || e.TS != 42 || e.Channel != c.key.Name {
						t.Fatalf("case %d: event %+v", i, e)
					}
				}
			}
			if p, err := s.Events(messages.ChannelKey{Session: "s", Name: "user"}, nil, 5, false); err != nil || len(p.Events) != 0 || p.LatestSeq != nil {
				t.Errorf("a channel whose name begins another's: %+v %v", p, err)
			}
		})
	}
}

// The first event has number 0, and a reader that has seen 0 sees nothing more.
func TestFirstEventIsZero(t *testing.T) {
	s := open(t, options(t.TempDir()))
	key := messages.ChannelKey{Session: "s", Name: "user.x"}
	if _, any := s.Latest(key); any {
		t.Error("an empty channel has a latest event")
	}
	mustAppend(t, s, messages.Record{Events: []messages.Draft{{Key: key}}})
	p, err := s.Events(key, nil, 0, false)
	if diff := cmp.Diff([]uint64{0}, seqs(p)); diff != "" || err != nil {
		t.Errorf("no since: %v %s", err, diff)
	}
	if string(p.Events[0].Payload) != "null" {
		t.Errorf("payload %s", p.Events[0].Payload)
	}
	p, err = s.Events(key, ptr(uint64(0)), 0, false)
	if len(p.Events) != 0 || p.Gap != nil || err != nil {
		t.Errorf("since 0: %+v %v", p, err)
	}
	if n, any := s.Latest(key); n != 0 || !any {
		t.Errorf("latest %d %v", n, any)
	}
}

func TestPublishInOrderAfterWriting(t *testing.T) {
	opt := options(t.TempDir())
	var s *Store
	var got []uint64
	key := messages.ChannelKey{Session: "s", Name: "user.x"}
	opt.Publish = func(evs []messages.Published) {
		for _, e := range evs {
			got = append(got, e.Event.Seq)
			if latest, ok := s.Latest(key); !ok || latest < e.Event.Seq {
				t.Errorf("event %d published before it can be read", e.Event.Seq)
			}
		}
	}
	s = open(t, opt)
	for range 100 {
		mustAppend(t, s, messages.Record{Events: []messages.Draft{{Key: key}}})
	}
	if diff := cmp.Diff(span(0, 99), got); diff != "" {
		t.Error(diff)
	}
}

// A flood of events on one channel leaves no more unfolded than its retention
// keeps, and a page has so many bytes at most.
func TestEventFlood(t *testing.T) {
	s := open(t, options(t.TempDir()))
	release := hold(s)
	key := messages.ChannelKey{Session: "s", Name: "user.x"}
	const n = 10 * messages.RingSize
	for range n / 64 {
		drafts := make([]messages.Draft, 64)
		for i := range drafts {
			drafts[i].Key = key
		}
		mustAppend(t, s, messages.Record{Events: drafts})
	}
	s.mu.RLock()
	kept := len(s.active.events[key])
	s.mu.RUnlock()
	if kept > 2*messages.RingSize {
		t.Errorf("%d events wait to be folded", kept)
	}
	check := func(when string) {
		t.Helper()
		since := uint64(5)
		page, err := s.Events(key, &since, EventLimitMax, false)
		if want := (&messages.EventGap{From: 6, To: n - messages.RingSize - 1}); err != nil || !cmp.Equal(page.Gap, want) || len(page.Events) != messages.RingSize {
			t.Errorf("%s: %d events, gap %v, %v; want %d, %v", when, len(page.Events), page.Gap, err, messages.RingSize, want)
		}
	}
	check("unfolded")
	release()
	settleFolds(t, s)
	check("folded")
	long := []byte(`"` + strings.Repeat("x", messages.EventMost-2) + `"`)
	for range 20 {
		mustAppend(t, s, messages.Record{Events: []messages.Draft{{Key: key, Payload: long}}})
	}
	page, err := s.Events(key, new(uint64(n-1)), 100, false)
	if want := pageBytes / messages.EventMost; err != nil || len(page.Events) != want || page.Next == nil {
		t.Errorf("long events: a page has %d, next %v, %v; want %d", len(page.Events), page.Next, err, want)
	}
	ended := make(chan messages.Appended, 1)
	s.Append(messages.Record{Events: []messages.Draft{{Key: key, Payload: append(long, ' ')}}}, func(a messages.Appended) { ended <- a })
	if a := <-ended; a.Err == nil || a.Err.Code != messages.CodeQuota {
		t.Errorf("an event that is too long: %v", a.Err)
	}
}
