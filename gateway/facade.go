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

// Subscribe follows a channel, or "jobs".
func (m mcpBackend) Subscribe(channel string, since *uint64) (Cursor, *messages.Error) {
	if channel != "jobs" {
		return m.backend.Subscribe(channel, since)
	}
	return m.limited(func() Cursor {
		changed, stop := m.g.o.Jobs(m.session)
		return &jobsCursor{changed: changed, stop: stop, done: make(chan struct{})}
	})
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

// jobsCursor has an event whenever the session's tasks have changed.
type jobsCursor struct {
	changed <-chan struct{}
	stop    func()
	once    sync.Once
	done    chan struct{}
}

var errCursorClosed = errors.New("cursor is closed")

// Next waits for a change.
func (c *jobsCursor) Next(ctx context.Context) (messages.Event, *messages.Dropped, error) {
	select {
	case <-c.changed:
		return messages.Event{Channel: "jobs", Payload: json.RawMessage("{}")}, nil, nil
	case <-c.done:
		return messages.Event{}, nil, errCursorClosed
	case <-ctx.Done():
		return messages.Event{}, nil, ctx.Err()
	}
}

// Close ends the cursor.
func (c *jobsCursor) Close() {
	c.once.Do(func() {
		close(c.done)
		c.stop()
	})
}
