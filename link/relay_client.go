package link

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// stallCheck is how long a kernel may take a frame before we look whether the
// client is still there.
const stallCheck = time.Second

// errClientGone ends a write to a kernel that does not read, for a client that
// is no longer there.
var errClientGone = errors.New("client is gone")

// fromClient relays the client's frames in order until its input ends or it is
// gone. A write error towards the kernel decides nothing: the reader of the
// kernel finds out whether it is gone, and answers for it.
func (r *relay) fromClient(ctx context.Context) {
	w := &kernelWriter{relay: r}
	for {
		line, err := r.in.NextRaw()
		switch {
		case err == nil:
		case errors.Is(err, io.ErrUnexpectedEOF):
			line = append(line, '\n') // a last frame needs no newline
		case errors.Is(err, wire.ErrTooLong):
			w.flush()
			r.refuseLong(line)
			if r.in.Skip() != nil {
				return
			}
			continue
		default:
			w.flush()
			return
		}
		if !r.clientFrame(ctx, w, line) {
			return
		}
		if !r.in.Ready() && errors.Is(w.flush(), errClientGone) {
			return
		}
	}
}

// clientFrame passes one frame on; false when the client is gone.
func (r *relay) clientFrame(ctx context.Context, w *kernelWriter, line []byte) bool {
	head, ok := wire.Peek(line)
	if !ok {
		head = wire.Head{} // the kernel's to refuse, without an id
	}
	request := head.IsRequest()
	for {
		conn, refusal := r.ready(ctx, request || head.Method == nil && head.ID == nil)
		switch {
		case refusal != nil:
			r.refuse(head, refusal)
			return true
		case conn == nil:
			return false
		}
		r.mu.Lock()
		if r.conn != conn { // lost meanwhile; look again
			r.mu.Unlock()
			continue
		}
		pass := r.memory.fromClient(head, line)
		r.mu.Unlock()
		if !pass {
			return true
		}
		return !errors.Is(w.write(conn, line), errClientGone)
	}
}

// refuse answers a request that has no kernel to go to. What is neither request,
// reply nor notification is answered as a kernel would.
func (r *relay) refuse(head wire.Head, refusal *messages.Error) {
	switch {
	case head.IsRequest():
		r.write(wire.AppendError(nil, head.ID, refusal))
	case head.Method == nil && head.ID == nil:
		r.write(wire.AppendError(nil, json.RawMessage("null"), refusal))
	default:
		return
	}
	r.flush()
}

// refuseLong answers a line that is too long, by its id if that stood near the
// beginning.
func (r *relay) refuseLong(beginning []byte) {
	id := json.RawMessage("null")
	if head, _ := wire.Peek(beginning[:min(len(beginning), relayBuffer)]); head.ID != nil && json.Valid(head.ID) {
		id = head.ID
	}
	r.write(wire.AppendError(nil, id, messages.Errorf(messages.CodeInvalidRequest, "%v", wire.ErrTooLong)))
	r.flush()
}

// kernelWriter gathers frames for the connection of the moment. It belongs to
// fromClient.
type kernelWriter struct {
	relay *relay
	conn  *wire.Conn
	buf   *bufio.Writer
}

// write buffers a frame for conn. What was still buffered for an earlier
// connection is dropped: those requests have been answered by then.
func (w *kernelWriter) write(conn *wire.Conn, line []byte) error {
	if w.conn != conn {
		w.conn = conn
		dst := patientWriter{stream: conn.Stream().(net.Conn), client: w.relay.client}
		if w.buf == nil {
			w.buf = bufio.NewWriterSize(dst, relayBuffer)
		}
		w.buf.Reset(dst)
	}
	_, err := w.buf.Write(line)
	return err
}

func (w *kernelWriter) flush() error {
	if w.buf == nil {
		return nil
	}
	return w.buf.Flush()
}

// patientWriter waits for a slow kernel as long as it takes, but not longer
// than there is a client.
type patientWriter struct {
	stream net.Conn
	client any
}

func (w patientWriter) Write(p []byte) (int, error) {
	written := 0
	for {
		w.stream.SetWriteDeadline(time.Now().Add(stallCheck))
		n, err := w.stream.Write(p[written:])
		written += n
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return written, err
		}
		if wire.HungUp(w.client) {
			return written, errClientGone
		}
	}
}
