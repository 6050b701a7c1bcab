package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"sync"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// mcpBackend is a backend as MCP sees it.
type mcpBackend struct{ *backend }

// Begin validates a call and hands it over.
func (m mcpBackend) Begin(method string, params json.RawMessage) (mcp.Call, *messages.Error) {
	c, err := m.backend.Begin(method, params)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Subscribe follows a channel.
func (m mcpBackend) Subscribe(channel string, since *uint64) (mcp.Cursor, *messages.Error) {
	c, err := m.backend.Subscribe(channel, since)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// Watch has an event whenever the session's tasks, or its things, have changed.
// The things are watched once for each connection that lists them, and for each
// stream that asks for it; nobody has subscribed to them.
func (m mcpBackend) Watch(what mcp.Watched) (mcp.Cursor, *messages.Error) {
	open := func(watch func(messages.SessionName) (<-chan struct{}, func()), end func()) mcp.Cursor {
		changed, stop := watch(m.session)
		return &changeCursor{changed: changed, stop: func() { stop(); end() }, done: make(chan struct{})}
	}
	if what == mcp.WatchedThings {
		return open(m.g.o.Things, func() {}), nil
	}
	return limited(m.backend, func(end func()) mcp.Cursor { return open(m.g.o.Jobs, end) })
}

// Aside is the backend for reads that leave no marks.
func (m mcpBackend) Aside() mcp.Backend { return asideBackend{m} }

// asideBackend reads terminals as nobody in particular.
type asideBackend struct{ mcpBackend }

// Begin validates a call and hands it over.
func (a asideBackend) Begin(method string, params json.RawMessage) (mcp.Call, *messages.Error) {
	if method == "pty.read" {
		var p readPTYParams
		if err := wire.Decode(params, &p); err != nil {
			return nil, err
		}
		p.Peek = true
		return a.backend.readPTY(p)
	}
	return a.mcpBackend.Begin(method, params)
}

// changeCursor has an event whenever something has changed.
type changeCursor struct {
	changed <-chan struct{}
	stop    func()
	once    sync.Once
	done    chan struct{}
}

var errCursorClosed = errors.New("cursor is closed")

// Next waits for a change.
func (c *changeCursor) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	select {
	case <-c.changed:
		return messages.Event{Payload: json.RawMessage("{}")}, nil, nil
	case <-c.done:
		return messages.Event{}, nil, errCursorClosed
	case <-ctx.Done():
		return messages.Event{}, nil, ctx.Err()
	}
}

// Close ends the cursor.
func (c *changeCursor) Close() {
	c.once.Do(func() {
		close(c.done)
		c.stop()
	})
}
