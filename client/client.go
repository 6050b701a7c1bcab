package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"shoal.dev/shoal/link"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// Options say which kernel and session are meant; the zero value is the default
// session of the user's own kernel.
type Options struct {
	StateDir string // else SHOAL_STATE_DIR, else the default
	Socket   string // else SHOAL_SOCKET, else found through the state directory
	Session  string // else SHOAL_SESSION, else "default"
	Token    string // bearer token; empty: the local user

	// Environ is used to find the kernel and becomes the environment of a
	// session that is created; nil: the process's own.
	Environ []string
	// Cwd is where a session that is created starts; empty: the process's own.
	Cwd string
	// Kind names the program to the kernel.
	Kind string

	// NoStart forbids starting a kernel.
	NoStart bool
	// Kernel is the program to start; empty: shoal-kernel beside the
	// executable, else in PATH.
	Kernel string

	// Log hears of lost and regained connections; nil: nobody does.
	Log *slog.Logger
}

// Client is an attachment to a session that is renewed when it is lost. Any
// number of goroutines may use it.
type Client struct {
	o      link.Options
	log    *slog.Logger
	ctx    context.Context // ends with Close
	cancel context.CancelFunc
	done   chan struct{} // closed when run has ended

	mu       sync.Mutex
	conn     *wire.Client // nil while there is none
	attached link.Attachment
	changed  chan struct{} // closed and renewed when conn or err changes
	err      error         // why there will be no connection any more
	stopped  bool          // the kernel said goodbye: start none
	subs     map[string]*Subscription
}

// ErrClosed is the error of calls after Close.
var ErrClosed = errors.New("the client is closed")

// Dial finds the kernel, starting one if it may and must, and attaches. A
// refusal by the kernel is a *messages.Error. The caller closes the client.
func Dial(ctx context.Context, o Options) (*Client, error) {
	lo, err := o.link()
	if err != nil {
		return nil, err
	}
	c := &Client{
		o: lo, log: o.Log, done: make(chan struct{}), changed: make(chan struct{}), subs: map[string]*Subscription{},
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	conn, attached, err := link.Open(ctx, c.o, c.log, wire.ClientOptions{Notify: c.notified})
	if err != nil {
		return nil, err
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.conn, c.attached = conn, attached
	go c.run(conn)
	return c, nil
}

func (o Options) link() (link.Options, error) {
	lo := link.Options{
		StateDir: o.StateDir, Socket: o.Socket, Session: o.Session, Token: o.Token, Environ: o.Environ,
		Cwd: o.Cwd, Kind: o.Kind, NoStart: o.NoStart, Kernel: o.Kernel,
	}
	if lo.Environ == nil {
		lo.Environ = os.Environ()
	}
	if lo.Cwd == "" {
		dir, err := os.Getwd()
		if err != nil {
			return lo, fmt.Errorf("dial kernel: find the working directory: %w", err)
		}
		lo.Cwd = dir
	}
	if lo.Kind == "mcp" {
		return lo, errors.New(`dial kernel: kind "mcp" is for MCP connections; name your program`)
	}
	return lo, nil
}

// Attachment is what the kernel said when it was last attached to.
func (c *Client) Attachment() link.Attachment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.attached
}

// Call calls a method of docs/methods.md and decodes its result into result,
// unless that is nil. While there is no connection it waits for one. A refusal,
// and the loss of the connection during the call, is a *messages.Error. When ctx
// ends first, the call goes on in the kernel.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	conn, err := c.connection(ctx)
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	return call(ctx, conn, method, params, result)
}

func call(ctx context.Context, conn *wire.Client, method string, params, result any) error {
	var raw json.RawMessage
	if err := conn.Call(ctx, method, params, &raw); err != nil || result == nil {
		return err
	}
	in := json.NewDecoder(bytes.NewReader(raw))
	in.UseNumber()
	if err := in.Decode(result); err != nil {
		return fmt.Errorf("call %s: decode result: %w", method, err)
	}
	return nil
}

// Answer is how an execution was answered: exactly one field is set.
type Answer struct {
	Finished *messages.Finished // it ended
	Handed   *messages.Handed   // it goes on as a task
	Plan     *messages.Plan     // mode plan
}

// Exec runs or plans a source. An error that the program raised is a
// *messages.Error with code -32002.
func (c *Client) Exec(ctx context.Context, p messages.ExecParams) (Answer, error) {
	var raw json.RawMessage
	if err := c.Call(ctx, "exec", p, &raw); err != nil {
		return Answer{}, err
	}
	var which struct {
		Ref     messages.Ref     `json:"ref"`
		PlanRef messages.PlanRef `json:"plan_ref"`
	}
	if err := json.Unmarshal(raw, &which); err != nil {
		return Answer{}, fmt.Errorf("exec: decode result: %w", err)
	}
	var a Answer
	var into any
	switch {
	case which.PlanRef != "":
		a.Plan = new(messages.Plan)
		into = a.Plan
	case which.Ref != "":
		a.Finished = new(messages.Finished)
		into = a.Finished
	default:
		a.Handed = new(messages.Handed)
		into = a.Handed
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return Answer{}, fmt.Errorf("exec: decode result: %w", err)
	}
	return a, nil
}

// Close leaves the session; what runs goes on. Subscriptions end.
func (c *Client) Close() error {
	c.cancel()
	c.mu.Lock()
	conn := c.conn
	c.mu.Unlock()
	if conn != nil {
		conn.Close()
	}
	<-c.done
	return nil
}

// connection is the present connection, once there is one.
func (c *Client) connection(ctx context.Context) (*wire.Client, error) {
	for {
		c.mu.Lock()
		conn, err, changed := c.conn, c.err, c.changed
		c.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case conn != nil && !ended(conn):
			return conn, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// ended reports whether a connection is lost, which run may not know yet.
func ended(conn *wire.Client) bool {
	select {
	case <-conn.Done():
		return true
	default:
		return false
	}
}

// set changes what calls see and wakes those that wait.
func (c *Client) set(conn *wire.Client, attached link.Attachment, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.conn, c.err = conn, err
	if conn != nil {
		c.attached, c.stopped = attached, false
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// run keeps a connection until the client is closed or refused.
func (c *Client) run(conn *wire.Client) {
	defer close(c.done)
	for {
		select {
		case <-conn.Done():
		case <-c.ctx.Done():
			conn.Close()
		}
		c.set(nil, link.Attachment{}, nil)
		next, attached, err := c.reconnect()
		if err != nil {
			c.set(nil, link.Attachment{}, err)
			for _, s := range c.all() {
				s.end(err)
			}
			return
		}
		c.log.Info("attached again", "session", attached.Session, "kernel", attached.KernelID)
		conn = next
		c.set(conn, attached, nil)
		for _, s := range c.all() {
			c.resume(conn, s)
		}
	}
}

// The pauses between attempts to attach again.
const (
	pauseFirst = 10 * time.Millisecond
	pauseLast  = time.Second
)

// reconnect attaches again, as long as it takes. The error is final.
func (c *Client) reconnect() (*wire.Client, link.Attachment, error) {
	for pause := pauseFirst; ; pause = min(2*pause, pauseLast) {
		if c.ctx.Err() != nil {
			return nil, link.Attachment{}, ErrClosed
		}
		o := c.o
		c.mu.Lock()
		o.NoStart = o.NoStart || c.stopped
		c.mu.Unlock()
		conn, attached, err := link.Open(c.ctx, o, c.log, wire.ClientOptions{Notify: c.notified})
		if err == nil {
			return conn, attached, nil
		}
		var refusal *messages.Error
		if errors.As(err, &refusal) && refusal.Code != messages.CodeInterrupted && refusal.Code != messages.CodeQuota {
			return nil, link.Attachment{}, err
		}
		c.log.Debug("not attached yet", "err", err)
		select {
		case <-time.After(pause):
		case <-c.ctx.Done():
		}
	}
}

// all are the open subscriptions.
func (c *Client) all() []*Subscription {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*Subscription, 0, len(c.subs))
	for _, s := range c.subs {
		out = append(out, s)
	}
	return out
}

// notified takes a notification, on the reading goroutine.
func (c *Client) notified(method string, params json.RawMessage) {
	switch method {
	case wire.MethodGoodbye:
		c.mu.Lock()
		c.stopped = true
		c.mu.Unlock()
	case wire.MethodEvent:
		var n notice
		if json.Unmarshal(params, &n) != nil {
			return
		}
		c.mu.Lock()
		s := c.subs[n.Channel]
		c.mu.Unlock()
		if s != nil {
			s.take(n)
		}
	}
}
