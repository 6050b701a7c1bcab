package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

const (
	// subscriptionLimit is how many resources one connection may follow.
	subscriptionLimit = 256
	// viewPause is the least time between two notices about a view.
	viewPause = 100 * time.Millisecond
	// A cursor that fails is asked again after a growing pause, for a while.
	retryFirst, retryLast, retries = 10 * time.Millisecond, 2 * time.Second, 20
)

// subscriptions are what one connection follows.
type subscriptions struct {
	mu    sync.Mutex
	all   map[followed]*subscription
	ours  *subscription // that nobody asked for: of the list of resources
	ended bool
	queue chan struct{} // closed when the newest request about subscriptions is done
}

// followed names a subscription of a connection.
type followed struct {
	stream string // raw id of the listen request; "" for resources/subscribe
	level  string // of log messages on that stream; "": none
	uri    string // without query, as the client spelled it
}

// inTurn makes requests about subscriptions take effect one after the other. It
// is called in the order in which they were written.
func (p *peer) inTurn(run func(ctx context.Context) (json.RawMessage, *messages.Error)) func(ctx context.Context) (json.RawMessage, *messages.Error) {
	before, done := p.subs.queue, make(chan struct{})
	p.subs.queue = done
	return func(ctx context.Context) (json.RawMessage, *messages.Error) {
		if before != nil && !reached(ctx, before) {
			p.wait.Go(func() { <-before; close(done) })
			return nil, messages.Errorf(messages.CodeInternal, "cancelled")
		}
		defer close(done)
		return run(ctx)
	}
}

// subscription is one followed resource. Its goroutines start when begun is
// closed and are waited for by stop.
type subscription struct {
	followed
	cancel  context.CancelFunc
	cursors []Cursor
	list    bool // of resources is what is followed
	wait    sync.WaitGroup

	mu   sync.Mutex
	last *uint64 // newest event that was told of, or after which it began
}

// add registers a subscription. It refuses one too many; when the connection
// has ended meanwhile, it is stopped again.
func (s *subscriptions) add(sub *subscription) *messages.Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return messages.Errorf(messages.CodeInterrupted, "the connection has ended")
	case len(s.all) >= subscriptionLimit:
		return overLimit("subscriptions", subscriptionLimit, len(s.all))
	}
	s.all[sub.followed] = sub
	return nil
}

func (s *subscriptions) find(f followed) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[f]
}

// take removes a subscription.
func (s *subscriptions) take(f followed) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.all[f]
	delete(s.all, f)
	return sub
}

// end stops all subscriptions, for good.
func (s *subscriptions) end() {
	s.mu.Lock()
	all := slices.Collect(maps.Values(s.all))
	if s.ours != nil {
		all = append(all, s.ours)
	}
	s.all, s.ours, s.ended = nil, nil, true
	s.mu.Unlock()
	for _, sub := range all {
		sub.cancel()
	}
	for _, sub := range all {
		sub.stop()
	}
}

// stop ends the subscription; nothing of it is sent afterwards.
func (s *subscription) stop() {
	s.cancel()
	for _, c := range s.cursors {
		c.Close()
	}
	s.wait.Wait()
}

func (s *subscription) at(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = &seq
}

func (s *subscription) lastSeq() *uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.last
}

// followable is a resource that a client asks to follow.
type followable struct {
	uri    string // without query
	target target
	view   *view   // nil: it is a channel
	since  *uint64 // the event after which to begin; nil: not said
}

// readFollowable looks whether a resource can be followed.
func readFollowable(uri string) (followable, *messages.Error) {
	base, query, _ := strings.Cut(uri, "?")
	f := followable{uri: base}
	t, refusal := parseURI(base)
	if refusal != nil {
		return f, refusal
	}
	f.view = viewOf(t)
	var known []string
	switch {
	case t.channel() != "":
		known = []string{"since"}
	case f.view == nil:
		return f, messages.Errorf(messages.CodeInvalidParams, "uri: %s cannot be subscribed to; read it instead", clip(uri, 256))
	}
	if t.query, refusal = parseQuery(query, known); refusal != nil {
		return f, refusal
	}
	f.target = t
	f.since, refusal = t.since()
	return f, refusal
}

// subscribe follows a resource. Following one twice is following it once,
// unless the second request says where to begin.
func (p *peer) subscribe(params []byte) (job, *messages.Error) {
	uri, refusal := uriParam(params)
	if refusal != nil {
		return job{}, refusal
	}
	f, refusal := readFollowable(uri)
	if refusal != nil {
		return job{}, readError(refusal, false)
	}
	begin := make(chan struct{})
	return job{
		inOrder: true,
		after:   func() { close(begin) }, // notices come after the answer
		run: p.inTurn(func(ctx context.Context) (json.RawMessage, *messages.Error) {
			name := followed{uri: f.uri}
			if sub := p.subs.find(name); sub != nil && f.since == nil {
				return subscribed(sub.lastSeq()), nil
			}
			if sub := p.subs.take(name); sub != nil {
				sub.stop()
			}
			sub, refusal := p.follows(ctx, name, f, begin)
			if refusal != nil {
				return nil, readError(refusal, false)
			}
			return subscribed(sub.lastSeq()), nil
		}),
	}, nil
}

// follows begins a subscription, whose notices wait for begin.
func (p *peer) follows(ctx context.Context, name followed, f followable, begin <-chan struct{}) (*subscription, *messages.Error) {
	if f.view != nil {
		return p.followView(ctx, name, f.view, begin)
	}
	return p.followChannel(ctx, name, f.target, f.since, begin)
}

// subscribed is the answer to resources/subscribe. It says after which event
// the notices begin, so that a relay can resume even what has not told anything
// yet.
func subscribed(since *uint64) json.RawMessage {
	if since == nil {
		return json.RawMessage(`{}`)
	}
	return messages.JSON(map[string]any{"_meta": map[string]uint64{"shoal/since": *since}})
}

// unsubscribe ends a subscription; no notice of it follows the answer.
func (p *peer) unsubscribe(params []byte) (job, *messages.Error) {
	uri, refusal := uriParam(params)
	if refusal != nil {
		return job{}, refusal
	}
	base, _, _ := strings.Cut(uri, "?")
	return job{inOrder: true, run: p.inTurn(func(context.Context) (json.RawMessage, *messages.Error) {
		if sub := p.subs.take(followed{uri: base}); sub != nil {
			sub.stop()
		}
		return json.RawMessage(`{}`), nil
	})}, nil
}

// followChannel follows the channel of a resource: after since, else after the
// last event that this connection has read there, else from now on.
func (p *peer) followChannel(ctx context.Context, name followed, t target, since *uint64, begin <-chan struct{}) (*subscription, *messages.Error) {
	channel := t.channel()
	if since == nil {
		since = p.marks.of(channel)
	}
	if since == nil {
		page, refusal := p.ask(ctx, "events.read", latestParams(channel))
		if refusal != nil {
			return nil, refusal
		}
		since = latestOf(page)
	}
	cursor, refusal := p.backend.Subscribe(channel, since)
	if refusal != nil {
		return nil, refusal
	}
	life, cancel := context.WithCancel(context.WithoutCancel(ctx))
	sub := &subscription{followed: name, cancel: cancel, cursors: []Cursor{cursor}, last: since}
	if refusal := p.subs.add(sub); refusal != nil {
		sub.stop()
		return nil, refusal
	}
	sub.wait.Go(func() {
		if !reached(life, begin) {
			return
		}
		p.follow(life, cursor, name, func(ev messages.Event, dropped *messages.Dropped) error {
			seq, payload := ev.Seq, ev.Payload
			if dropped != nil {
				seq = dropped.Seq
				payload = messages.JSON(map[string]uint64{"dropped": dropped.Dropped, "latest_seq": dropped.LatestSeq})
			}
			sub.at(seq)
			return p.sendFor(name.id(), updated(name, seq, payload))
		})
	})
	return sub, nil
}

func reached(ctx context.Context, begin <-chan struct{}) bool {
	select {
	case <-begin:
		return true
	case <-ctx.Done():
		return false
	}
}

// id is the raw id of the request on whose stream notices belong; nil: of none.
func (f followed) id() json.RawMessage {
	if f.stream == "" {
		return nil
	}
	return json.RawMessage(f.stream)
}

// about is what log messages about the subscription belong to.
func (f followed) about() origin {
	return origin{id: f.id(), meta: meta{stateless: f.stream != "", level: f.level}}
}

// updated is the notice of an event. Clients that drop unknown members find it
// in _meta.
func updated(name followed, seq uint64, payload json.RawMessage) []byte {
	event := messages.AppendString([]byte(`{"uri":`), name.uri)
	event = appendInt(append(event, `,"seq":`...), int64(seq))
	event = appendRaw(append(event, `,"payload":`...), payload)
	params := append(bytes.Clone(event), `,"_meta":{"shoal/event":`...)
	params = append(append(params, event...), '}')
	if name.stream != "" {
		params = appendStream(append(params, ','), name.id())
	}
	return notificationFrame("notifications/resources/updated", append(params, `}}`...))
}

// follow hands on what a cursor yields until it ends. A cursor that fails is
// asked again for a while.
func (p *peer) follow(ctx context.Context, c Cursor, name followed, each func(messages.Event, *messages.Dropped) error) {
	pause, failures := retryFirst, 0
	for {
		ev, dropped, err := c.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			pause, failures = retryFirst, 0
			if each(ev, dropped) != nil {
				return // the connection is lost, which its reading shows
			}
			continue
		}
		if failures++; failures > retries {
			p.s.o.Log.Warn("subscription given up", "uri", name.uri, "err", err)
			p.log(name.about(), mcp.LoggingLevelWarning, "the subscription of "+name.uri+" has failed; read it, then subscribe again")
			return
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, retryLast)
	}
}

// sleep waits for d, and reports false when ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
