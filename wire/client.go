package wire

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"strconv"
	"sync"

	"shoal.dev/shoal/messages"
)

// Client calls a kernel. Any number of goroutines may use it.
type Client struct {
	conn   *Conn
	notify func(method string, params json.RawMessage)
	done   chan struct{}

	mu      sync.Mutex
	last    uint64
	pending map[string]*Pending
	err     error
}

// Pending is a call that has been written and not yet waited for.
type Pending struct {
	client *Client
	id     string
	reply  chan reply // one answer
}

type reply struct {
	result json.RawMessage
	err    error
}

// ClientOptions configure a Client; the zero value works.
type ClientOptions struct {
	// Notify gets every notification, in order, from the reading goroutine: it
	// must not wait for a call on the same client.
	Notify func(method string, params json.RawMessage)
}

// Dial connects to the Unix socket at path.
func Dial(ctx context.Context, path string, o ClientOptions) (*Client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("dial kernel: %w", err)
	}
	return NewClient(NewConn(conn), o), nil
}

// NewClient takes c over and starts reading from it.
func NewClient(c *Conn, o ClientOptions) *Client {
	client := &Client{conn: c, notify: o.Notify, done: make(chan struct{}), pending: map[string]*Pending{}}
	go client.read()
	return client
}

// Call calls a method and decodes its result into result, unless that is nil.
// Params are encoded as JSON, nil means none. A refusal is a *messages.Error,
// and so is the loss of the connection (-32041, reason kernel_lost).
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	p, err := c.Start(method, params)
	if err != nil {
		return err
	}
	return p.Wait(ctx, result)
}

// Start writes a call: calls started one after another by one goroutine arrive
// in that order.
func (c *Client) Start(method string, params any) (*Pending, error) {
	raw, err := encode(params)
	if err != nil {
		return nil, fmt.Errorf("call %s: encode params: %w", method, err)
	}
	c.mu.Lock()
	if c.err != nil {
		defer c.mu.Unlock()
		return nil, c.err
	}
	c.last++
	p := &Pending{client: c, id: strconv.FormatUint(c.last, 10), reply: make(chan reply, 1)}
	c.pending[p.id] = p
	c.mu.Unlock()
	// A write error decides nothing: what the kernel sent before it died is
	// still to be read, and the reader's end answers every call.
	c.conn.Send(AppendRequest(nil, json.RawMessage(p.id), method, raw))
	return p, nil
}

// Notify sends a notification.
func (c *Client) Notify(method string, params any) error {
	raw, err := encode(params)
	if err != nil {
		return fmt.Errorf("notify %s: encode params: %w", method, err)
	}
	return c.conn.Notify(method, raw)
}

// Wait gives the answer of a started call, once. When ctx ends first the call
// goes on in the kernel and its answer is dropped.
func (p *Pending) Wait(ctx context.Context, result any) error {
	select {
	case r := <-p.reply:
		if r.err != nil || result == nil {
			return r.err
		}
		if err := json.Unmarshal(r.result, result); err != nil {
			return fmt.Errorf("decode result: %w", err)
		}
		return nil
	case <-ctx.Done():
		p.client.take(p.id)
		return context.Cause(ctx)
	}
}

// Done is closed when the connection has ended and every call is answered.
func (c *Client) Done() <-chan struct{} { return c.done }

// Close ends the connection; open calls fail. It waits for the reader.
func (c *Client) Close() error {
	err := c.conn.Close()
	<-c.done
	return err
}

func (c *Client) read() {
	defer close(c.done)
	for {
		line, err := c.conn.Next()
		if err != nil { // a torn last line is no answer
			c.fail(err)
			return
		}
		c.frame(line)
	}
}

func (c *Client) frame(line []byte) {
	head, ok := Peek(line)
	switch {
	case !ok:
	case head.IsReply():
		if p := c.take(string(head.ID)); p != nil {
			p.reply <- answer(head)
		}
	case head.Method != nil && head.ID == nil && c.notify != nil:
		c.notify(head.MethodName(), bytes.Clone(head.Params))
	}
}

func answer(head Head) reply {
	if head.Error == nil {
		return reply{result: bytes.Clone(head.Result)}
	}
	refusal := new(messages.Error)
	if err := json.Unmarshal(head.Error, refusal); err != nil {
		return reply{err: fmt.Errorf("decode error reply: %w", err)}
	}
	return reply{err: refusal}
}

func (c *Client) take(id string) *Pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.pending[id]
	delete(c.pending, id)
	return p
}

func (c *Client) fail(cause error) {
	lost := Lost("kernel_lost", "the connection to the kernel ended: %v", cause)
	c.mu.Lock()
	c.err = lost
	pending := c.pending
	c.pending = nil
	c.mu.Unlock()
	for _, p := range pending {
		p.reply <- reply{err: lost}
	}
	c.conn.stream.Close()
}

// Lost is the error of calls whose kernel went away, -32041 with a reason.
func Lost(reason, format string, args ...any) *messages.Error {
	return messages.Errorf(messages.CodeInterrupted, format, args...).
		With(map[string]string{"name": messages.CodeInterrupted.Name(), "reason": reason})
}

func encode(params any) (json.RawMessage, error) {
	if params == nil {
		return nil, nil
	}
	return json.Marshal(params)
}
