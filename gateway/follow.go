package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"sync"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// rawHandler serves the raw protocol on one connection: the backend's methods
// and its own subscriptions.
type rawHandler struct {
	b   *backend
	out sender

	turn chan struct{} // closed when the newest request about subscriptions is done; for Begin

	mu   sync.Mutex
	subs map[string]*subscription
}

// sender sends whole frames to the peer, which it only reads; wire.Conn is one.
type sender interface {
	SendShared(frames []byte) error
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

// pump sends a channel's events to the peer, in order. What has come since the
// last time leaves as one write.
func (h *rawHandler) pump(ctx context.Context, channel string, cursor Cursor, s *subscription) {
	defer close(s.done)
	defer cursor.Close()
	failed, pause := 0, retryFirst
	for {
		frames, dropped, err := cursor.Frames(ctx)
		if dropped != nil {
			frames = wire.AppendRequest(nil, nil, "event", messages.JSON(messages.ChannelDropped{Channel: channel, Dropped: *dropped}))
		}
		switch {
		case err == nil:
			failed, pause = 0, retryFirst
			if h.out.SendShared(frames) != nil {
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

// AppendEvent appends the frame that tells of an event, the same for everybody
// who follows its channel.
func AppendEvent(dst []byte, ev messages.Event) []byte {
	dst = append(append(dst, `{"jsonrpc":"2.0","method":"event","params":{"channel":`...), messages.JSON(ev.Channel)...)
	dst = strconv.AppendUint(append(dst, `,"seq":`...), ev.Seq, 10)
	dst = strconv.AppendInt(append(dst, `,"ts":`...), ev.TS, 10)
	out := bytes.NewBuffer(append(dst, `,"payload":`...))
	if json.Compact(out, ev.Payload) != nil { // the journal lets none such through
		out.WriteString("null")
	}
	out.WriteString("}}\n")
	return out.Bytes()
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
