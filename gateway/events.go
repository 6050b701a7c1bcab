package gateway

import (
	"context"
	"encoding/json"
	"strings"
	"sync"

	"shoal.dev/shoal/mcp"
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
	case "kernel.journal", "kernel.approval":
		return messages.ChannelKey{Name: name}, b.ownerOnly("channel " + name)
	case "kernel":
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
		id := messages.TaskID("task:" + num)
		if _, ok := id.Num(); ok && (rest == num || rest == num+".output") {
			return key, b.knownTask(ctx, id)
		}
	case "pty":
		id := messages.PTYID("pty:" + rest)
		if _, ok := id.Num(); ok {
			return key, b.knownPTY(ctx, id)
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
		return messages.JSON(messages.EventPublished{Channel: p.Channel, Seq: seq}), nil
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
	return limited(b, func(end func()) Cursor { return &countedCursor{b.g.o.Channels.Subscribe(key, since), end} })
}

const (
	// subscriptionLimit is how many channels may be followed in one kernel.
	subscriptionLimit = 8192
	// principalSubscriptions is how many of them a principal other than the
	// kernel's own user may follow.
	principalSubscriptions = 256
)

// limited opens a cursor within the limits. It calls end when it is closed.
func limited[C mcp.Cursor](b *backend, open func(end func()) C) (c C, refusal *messages.Error) {
	if refusal := b.g.countSubscription(b.principal); refusal != nil {
		return c, refusal
	}
	return open(sync.OnceFunc(func() { b.g.endSubscription(b.principal) })), nil
}

// countedCursor gives its place back when it is closed.
type countedCursor struct {
	Cursor
	end func()
}

// Close ends the cursor.
func (c *countedCursor) Close() {
	c.Cursor.Close()
	c.end()
}
