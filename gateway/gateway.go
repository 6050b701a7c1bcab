package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/wire"
)

// Store is what connections read of the journal directly.
type Store interface {
	Query(q messages.JournalQuery) (messages.JournalPage, error)
	Events(key messages.ChannelKey, since *uint64, limit int, tail bool) (messages.EventPage, error)
	Latest(key messages.ChannelKey) (uint64, bool)
	OpenBlob(hash string) (io.ReaderAt, int64, error)
}

// Channels is the live side of events.
type Channels interface {
	// Subscribe follows a channel after since, or live only when it is nil.
	Subscribe(key messages.ChannelKey, since *uint64) Cursor
	// Read is a cursor read of a channel that lives in memory only.
	Read(key messages.ChannelKey, since *uint64, limit int, tail bool) (messages.EventPage, error)
}

// Cursor is a reader's place in a channel.
type Cursor = mcp.Cursor

// Addresses are the actors that connections talk to.
type Addresses struct {
	Journal  *actor.PID
	Sessions *actor.PID
	Session  func(messages.SessionName) *actor.PID
	Tasks    *actor.PID
	Plans    *actor.PID
	PTYs     *actor.PID
}

// Options are what a gateway needs; every field but Log is required.
type Options struct {
	Sys       *supervisor.System
	Log       *slog.Logger
	Store     Store
	Channels  Channels
	To        Addresses
	MCP       *mcp.Server
	Version   string
	KernelID  string
	OwnerUID  int
	OwnerEnv  []string // base environment of sessions whose client gives none
	OwnerHome string
	// RequireToken refuses attachment without a token.
	RequireToken bool
	// AnyUID lets other users in whom the socket's mode lets through; each is a
	// principal of its own.
	AnyUID bool
	// Caps describes what a principal may do.
	Caps     func(messages.Principal) (messages.Caps, bool)
	Info     func() any // kernel.info
	Shutdown func()
}

// Gateway serves connections until it is closed.
type Gateway struct {
	o      Options
	boot   string // distinguishes this kernel's connections from its predecessors'
	nextID atomic.Uint64
	refuse atomic.Bool // no new work is taken

	ctx    context.Context // of every connection: ends with the gateway
	cancel context.CancelCauseFunc
	wait   sync.WaitGroup

	mu    sync.Mutex
	conns map[*conn]struct{}
}

// ErrStopping is why connections end when the kernel stops.
var ErrStopping = errors.New("the kernel is stopping")

// New makes a gateway that serves nothing yet.
func New(o Options) *Gateway {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Gateway{o: o, boot: rand.Text()[:8], ctx: ctx, cancel: cancel, conns: map[*conn]struct{}{}}
}

// Serve accepts connections from l until l is closed.
func (g *Gateway) Serve(l *net.UnixListener) error {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return nil
			}
			var tooMany interface{ Temporary() bool }
			if errors.As(err, &tooMany) && tooMany.Temporary() {
				g.o.Log.Warn("accept connection", "err", err)
				select {
				case <-time.After(50 * time.Millisecond):
					continue
				case <-g.ctx.Done():
					return nil
				}
			}
			return fmt.Errorf("accept connection: %w", err)
		}
		g.admit(c)
	}
}

// admit looks at the peer and starts its connection.
func (g *Gateway) admit(c *net.UnixConn) {
	uid, err := peerUID(c)
	if err != nil || uid != g.o.OwnerUID && !g.o.AnyUID {
		g.o.Log.Warn("connection refused", "uid", uid, "err", err)
		c.Close()
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.ctx.Err() != nil {
		c.Close()
		return
	}
	k := &conn{g: g, id: fmt.Sprintf("conn-%s-%d", g.boot, g.nextID.Add(1)), uid: uid, wire: wire.NewConn(c)}
	g.conns[k] = struct{}{}
	g.wait.Go(func() {
		k.serve(g.ctx)
		g.mu.Lock()
		delete(g.conns, k)
		g.mu.Unlock()
	})
}

// Connections is the number of open connections.
func (g *Gateway) Connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.conns)
}

// Refuse takes no new work from now on; what runs is answered.
func (g *Gateway) Refuse() { g.refuse.Store(true) }

// goodbye is the last frame of a connection when the kernel stops in order.
var goodbye = []byte(`{"jsonrpc":"2.0","method":"notifications/shoal/goodbye"}` + "\n")

// Close says goodbye, ends every connection, and waits for them.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	for k := range g.conns {
		go k.wire.Send(append([]byte(nil), goodbye...))
	}
	g.mu.Unlock()
	g.cancel(ErrStopping)
	done := make(chan struct{})
	go func() { g.wait.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for k := range g.conns {
		k.wire.Close()
	}
	g.mu.Unlock()
	select {
	case <-done:
		return nil
	case <-time.After(time.Second):
		return fmt.Errorf("close gateway: %w", ctx.Err())
	}
}
