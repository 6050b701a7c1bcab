package gateway

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// rawHandler serves the raw protocol on one connection: the backend's methods
// and its own subscriptions.
type rawHandler struct {
	b   *backend
	out wire.Notifier

	turn chan struct{} // closed when the newest request about subscriptions is done; for Begin

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
	return h.inTurn(func() (json.RawMessage, *messages.Error) {
		if err := h.follow(p.Channel, p.Since); err != nil {
			return nil, err
		}
		return messages.JSON(messages.Subscribed{Channel: p.Channel, Subscribed: true}), nil
	}), nil
}

type unsubscribeParams struct {
	Channel string `json:"channel" wire:"required"`
}

func (h *rawHandler) unsubscribe(p unsubscribeParams) (wire.Call, *messages.Error) {
	return h.inTurn(func() (json.RawMessage, *messages.Error) {
		was := h.stop(p.Channel)
		return messages.JSON(messages.Unsubscribed{Channel: p.Channel, Unsubscribed: was}), nil
	}), nil
}

// inTurn makes requests about subscriptions take effect one after the other, in
// the order in which they were written.
func (h *rawHandler) inTurn(f func() (json.RawMessage, *messages.Error)) wire.Call {
	before, done := h.turn, make(chan struct{})
	h.turn = done
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		defer close(done)
		if before != nil {
			<-before // each is bounded by its own deadline
		}
		return f()
	})
}

// follow starts a subscription, replacing one to the same channel.
func (h *rawHandler) follow(channel string, since *uint64) *messages.Error {
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

// A cursor that fails is asked again after a growing pause, for a while.
const (
	retryFirst = 10 * time.Millisecond
	retryLast  = time.Second
	retries    = 20
)

// pump sends a channel's events to the peer, in order.
func (h *rawHandler) pump(ctx context.Context, channel string, cursor Cursor, s *subscription) {
	defer close(s.done)
	defer cursor.Close()
	failed, pause := 0, retryFirst
	for {
		ev, dropped, err := cursor.Next(ctx)
		switch {
		case err == nil:
			failed, pause = 0, retryFirst
			if h.out.Notify("event", eventFrame(channel, ev, dropped)) != nil {
				return
			}
		case ctx.Err() != nil:
			return
		case failed == retries:
			h.b.g.o.Log.Warn("subscription ended", "conn", h.b.conn, "channel", channel, "err", err)
			return
		default:
			failed++
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
				pause = min(2*pause, retryLast)
			}
		}
	}
}

func eventFrame(channel string, ev messages.Event, dropped *messages.Dropped) json.RawMessage {
	if dropped != nil {
		return messages.JSON(messages.ChannelDropped{Channel: channel, Dropped: *dropped})
	}
	ev.Channel = channel
	return messages.JSON(ev)
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
