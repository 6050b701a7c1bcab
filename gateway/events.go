package gateway

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"sync"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// eventPage is how many events a read gives when the caller does not say, and
// at most.
const (
	eventPage    = 256
	eventPageMax = 1024
)

// channel checks a channel's name and finds its identity. A task's or
// terminal's channel must be one of the session's.
func (b *backend) channel(ctx context.Context, name string) (messages.ChannelKey, *messages.Error) {
	key := messages.ChannelKey{Session: b.session, Name: name}
	kind, rest, _ := strings.Cut(name, ".")
	switch name {
	case "session.transcript", "journal", "approval", "render", "session":
		return key, nil
	case "kernel", "kernel.journal", "kernel.approval":
		return messages.ChannelKey{Name: name}, nil
	}
	switch kind {
	case "user":
		if rest != "" {
			return key, nil
		}
	case "shared":
		if rest != "" {
			return messages.ChannelKey{Name: name}, nil
		}
	case "task":
		num, _, _ := strings.Cut(rest, ".")
		if n, err := strconv.ParseUint(num, 10, 64); err == nil && (rest == num || rest == num+".output") {
			return key, b.knownTask(ctx, messages.NewTaskID(n))
		}
	case "pty":
		if n, err := strconv.ParseUint(rest, 10, 64); err == nil {
			return key, b.knownPTY(ctx, messages.NewPTYID(n))
		}
	}
	return key, messages.Errorf(messages.CodeInvalidParams,
		"channel: there is no channel %q; channels are %s, user.NAME, shared.NAME, task.N, task.N.output and pty.N",
		name, strings.Join(b.attached.Channels, ", "))
}

func (b *backend) knownTask(ctx context.Context, id messages.TaskID) *messages.Error {
	_, err := ask(b, b.g.o.To.Tasks, messages.RunTask{
		Op: "get", Session: b.session, Principal: b.principal, Task: id,
	}, raw).Wait(ctx)
	return err
}

type readEventsParams struct {
	Channel string  `json:"channel" wire:"required"`
	Since   *uint64 `json:"since"`
	Limit   *int64  `json:"limit"`
	Tail    bool    `json:"tail"`
}

func (b *backend) readEvents(p readEventsParams) (wire.Call, *messages.Error) {
	limit := eventPage
	if p.Limit != nil {
		if *p.Limit < 1 || *p.Limit > eventPageMax {
			return nil, messages.Errorf(messages.CodeInvalidParams, "limit: expected 1 to %d, not %d", eventPageMax, *p.Limit)
		}
		limit = int(*p.Limit)
	}
	return funcCall(func(ctx context.Context) (json.RawMessage, *messages.Error) {
		key, err := b.channel(ctx, p.Channel)
		if err != nil {
			return nil, err
		}
		page, err := b.page(key, p.Since, limit, p.Tail)
		if err != nil {
			return nil, err
		}
		page.Channel = p.Channel
		if page.Events == nil {
			page.Events = []messages.Event{}
		}
		return messages.JSON(page), nil
	}), nil
}

func (b *backend) page(key messages.ChannelKey, since *uint64, limit int, tail bool) (messages.EventPage, *messages.Error) {
	read := b.g.o.Store.Events
	if key.Retention() == messages.RetainMemory {
		read = b.g.o.Channels.Read
	}
	page, err := read(key, since, limit, tail)
	if err != nil {
		return page, messages.Errorf(messages.CodeInternal, "read channel %s: %v", key.Name, err)
	}
	return page, nil
}

type publishEventParams struct {
	Channel string          `json:"channel" wire:"required"`
	Payload json.RawMessage `json:"payload" wire:"required"`
}

func (b *backend) publishEvent(p publishEventParams) (wire.Call, *messages.Error) {
	if !strings.HasPrefix(p.Channel, "user.") && !strings.HasPrefix(p.Channel, "shared.") {
		return nil, messages.Errorf(messages.CodeLeashDenied,
			"channel %q belongs to the kernel; publish to user.NAME or shared.NAME", p.Channel)
	}
	return funcCall(func(ctx context.Context) (json.RawMessage, *messages.Error) {
		key, err := b.channel(ctx, p.Channel)
		if err != nil {
			return nil, err
		}
		seq, err := b.publish(ctx, messages.Draft{Key: key, Payload: p.Payload})
		if err != nil {
			return nil, err
		}
		return messages.JSON(map[string]any{"channel": p.Channel, "seq": seq}), nil
	}), nil
}

// Subscribe follows a channel for a connection.
func (b *backend) Subscribe(channel string, since *uint64) (Cursor, *messages.Error) {
	ctx, cancel := context.WithTimeout(b.g.ctx, askDeadline)
	defer cancel()
	key, err := b.channel(ctx, channel)
	if err != nil {
		return nil, err
	}
	return b.g.o.Channels.Subscribe(key, since), nil
}

// subscriptionLimit is how many channels one connection may follow.
const subscriptionLimit = 256

// rawHandler serves the raw protocol on one connection: the backend's methods
// and its own subscriptions.
type rawHandler struct {
	b   *backend
	out wire.Notifier

	mu   sync.Mutex
	subs map[string]*subscription
}

type subscription struct {
	cancel context.CancelFunc
	done   chan struct{}
}

// Begin validates a call and hands it over.
func (h *rawHandler) Begin(method string, params json.RawMessage) (wire.Call, *messages.Error) {
	switch method {
	case "events.subscribe":
		return decoded(params, h.subscribe)
	case "events.unsubscribe":
		return decoded(params, h.unsubscribe)
	default:
		return h.b.Begin(method, params)
	}
}

type subscribeParams struct {
	Channel string  `json:"channel" wire:"required"`
	Since   *uint64 `json:"since"`
}

func (h *rawHandler) subscribe(p subscribeParams) (wire.Call, *messages.Error) {
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		if err := h.follow(p.Channel, p.Since); err != nil {
			return nil, err
		}
		return messages.JSON(map[string]any{"channel": p.Channel, "subscribed": true}), nil
	}), nil
}

// follow starts a subscription, replacing one to the same channel.
func (h *rawHandler) follow(channel string, since *uint64) *messages.Error {
	h.mu.Lock()
	full := len(h.subs) >= subscriptionLimit && h.subs[channel] == nil
	h.mu.Unlock()
	if full {
		return messages.Errorf(messages.CodeQuota, "a connection may follow %d channels", subscriptionLimit).
			With(map[string]int{"limit": subscriptionLimit, "used": subscriptionLimit})
	}
	cursor, err := h.b.Subscribe(channel, since)
	if err != nil {
		return err
	}
	h.stop(channel)
	ctx, cancel := context.WithCancel(context.Background())
	s := &subscription{cancel: cancel, done: make(chan struct{})}
	h.mu.Lock()
	if h.subs == nil {
		h.subs = map[string]*subscription{}
	}
	h.subs[channel] = s
	h.mu.Unlock()
	go h.pump(ctx, channel, cursor, s)
	return nil
}

// pump sends a channel's events to the peer, in order.
func (h *rawHandler) pump(ctx context.Context, channel string, cursor Cursor, s *subscription) {
	defer close(s.done)
	defer cursor.Close()
	for {
		ev, dropped, err := cursor.Next(ctx)
		if err != nil {
			return
		}
		var params json.RawMessage
		if dropped != nil {
			params = messages.JSON(struct {
				Channel string `json:"channel"`
				messages.Dropped
			}{channel, *dropped})
		} else {
			ev.Channel = channel
			params = messages.JSON(ev)
		}
		if h.out.Notify("event", params) != nil {
			return
		}
	}
}

type unsubscribeParams struct {
	Channel string `json:"channel" wire:"required"`
}

func (h *rawHandler) unsubscribe(p unsubscribeParams) (wire.Call, *messages.Error) {
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		was := h.stop(p.Channel)
		return messages.JSON(map[string]any{"channel": p.Channel, "unsubscribed": was}), nil
	}), nil
}

// stop ends a subscription; nothing of it is sent afterwards.
func (h *rawHandler) stop(channel string) bool {
	h.mu.Lock()
	s := h.subs[channel]
	delete(h.subs, channel)
	h.mu.Unlock()
	if s == nil {
		return false
	}
	s.cancel()
	<-s.done
	return true
}

// Close ends every subscription.
func (h *rawHandler) Close() {
	h.mu.Lock()
	all := h.subs
	h.subs = nil
	h.mu.Unlock()
	for _, s := range all {
		s.cancel()
	}
	for _, s := range all {
		<-s.done
	}
}
