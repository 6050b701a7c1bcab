package wire

import (
	"encoding/json"
	"errors"
	"io"
	"time"
)

// Conn is a byte stream seen as frames: one reader, one ordered writer. Next
// belongs to one goroutine; the rest may be used by any.
type Conn struct {
	stream io.ReadWriteCloser
	in     *Reader
	out    *Writer
}

// NewConn takes a stream over. Deadlines are used where the stream has them.
func NewConn(stream io.ReadWriteCloser) *Conn {
	return &Conn{stream: stream, in: NewReader(stream), out: NewWriter(stream)}
}

// SetWriteTimeout changes how long the peer may refuse to read before it is given
// up, from WriteTimeout. It is called before anything is sent.
func (c *Conn) SetWriteTimeout(d time.Duration) { c.out.timeout = d }

// Next is the reader's Next.
func (c *Conn) Next() ([]byte, error) { return c.in.Next() }

// NextRaw is the reader's NextRaw.
func (c *Conn) NextRaw() ([]byte, error) { return c.in.NextRaw() }

// Ready is the reader's Ready.
func (c *Conn) Ready() bool { return c.in.Ready() }

// Skip is the reader's Skip.
func (c *Conn) Skip() error { return c.in.Skip() }

// Send is the writer's Send.
func (c *Conn) Send(frame []byte) error { return c.out.Send(frame) }

// SendShared is the writer's SendShared.
func (c *Conn) SendShared(frames []byte) error { return c.out.SendShared(frames) }

// Notify sends a notification. Params must be valid JSON.
func (c *Conn) Notify(method string, params json.RawMessage) error {
	return c.Send(AppendRequest(nil, nil, method, params))
}

// Stream is what the Conn was made of, for looking at the peer.
func (c *Conn) Stream() io.ReadWriteCloser { return c.stream }

// SetReadDeadline bounds Next; the zero time means no bound. It reports an
// error when the stream has no deadlines.
func (c *Conn) SetReadDeadline(t time.Time) error {
	if d, ok := c.stream.(interface{ SetReadDeadline(time.Time) error }); ok {
		return d.SetReadDeadline(t)
	}
	return errors.New("set read deadline: stream has none")
}

// interrupt makes a waiting Next return.
func (c *Conn) interrupt() {
	if c.SetReadDeadline(time.Unix(1, 0)) != nil {
		c.stream.Close()
	}
}

// HungUp reports whether the peer has closed both directions, so that no
// answer can reach it. A peer that only ended its writing has not hung up.
func (c *Conn) HungUp() bool { return HungUp(c.stream) }

// Close writes what is queued, at most two seconds long, and closes the stream.
func (c *Conn) Close() error {
	err := c.out.Close()
	return errors.Join(err, c.stream.Close())
}
