package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/token"
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

// Cursor is a reader's place in a channel. It is read by Next or by Frames, not
// by both.
type Cursor interface {
	mcp.Cursor
	// Frames waits for events and gives their frames, as AppendEvent makes them,
	// as many as are at hand and fit; or what was lost before them. The frames are
	// shared and not to be changed.
	Frames(ctx context.Context) ([]byte, *messages.Dropped, error)
}

// Addresses are the actors that connections talk to.
type Addresses struct {
	Journal  *actor.PID
	Sessions *actor.PID
	Session  func(messages.SessionName) *actor.PID
	Tasks    *actor.PID
	Plans    *actor.PID
	PTYs     *actor.PID
}

// Options are what a gateway needs; every field without a default is required.
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
	// Tokens says whom bearer tokens stand for.
	Tokens *token.Store
	// TokenCheck is how often the tokens of living connections are looked at, to
	// end those that were revoked or have expired; 0 means 200 ms.
	TokenCheck time.Duration
	// WriteTime is how long a peer may refuse to read; 0 means wire.WriteTimeout.
	WriteTime time.Duration
	// RequireToken refuses attachment without a token.
	RequireToken bool
	// AnyUID lets other users in whom the socket's mode lets through; each is a
	// principal of its own.
	AnyUID bool
	// Jobs tells when the tasks of a session have changed, until it is stopped.
	Jobs func(messages.SessionName) (changed <-chan struct{}, stop func())
	// Things does so when a session has got or lost a plan, a task that stays, or
	// a terminal.
	Things func(messages.SessionName) (changed <-chan struct{}, stop func())
	// Caps describes what a principal may do.
	Caps func(messages.Principal) (messages.Caps, bool)
	Info func() any // kernel.info, a messages.KernelInfo
	// Fresh answers parse and complete before a connection is attached. It does
	// not panic.
	Fresh    func(messages.ReadSource) messages.Raw
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

	mu       sync.Mutex
	conns    map[*conn]struct{}         // of the socket
	seats    map[*seat]struct{}         // of whoever is attached, or about to be
	guarding bool                       // the tokens of seats are looked at
	follows  map[messages.Principal]int // subscriptions
}

// ErrStopping is why connections end when the kernel stops.
var ErrStopping = errors.New("the kernel is stopping")

// New makes a gateway that serves nothing yet.
func New(o Options) *Gateway {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.WriteTime == 0 {
		o.WriteTime = wire.WriteTimeout
	}
	if o.TokenCheck == 0 {
		o.TokenCheck = tokenCheck
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	return &Gateway{o: o, boot: rand.Text()[:8], ctx: ctx, cancel: cancel, conns: map[*conn]struct{}{}, seats: map[*seat]struct{}{}, follows: map[messages.Principal]int{}}
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
	k := &conn{g: g, uid: uid, wire: wire.NewConn(c)}
	k.wire.SetWriteTimeout(g.o.WriteTime)
	k.seat = g.seatLocked()
	g.conns[k] = struct{}{}
	g.wait.Go(func() {
		k.serve(k.seat.ctx)
		g.mu.Lock()
		delete(g.conns, k)
		g.mu.Unlock()
		g.leave(k.seat)
	})
}

// Connections is the number of open connections.
func (g *Gateway) Connections() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.seats)
}

// Clients is how many clients there have been.
func (g *Gateway) Clients() uint64 { return g.nextID.Load() }

// Refuse takes no new work from now on; what runs is answered.
func (g *Gateway) Refuse() { g.refuse.Store(true) }

// goodbye is the last frame of a connection when the kernel stops in order.
var goodbye = []byte(`{"jsonrpc":"2.0","method":"notifications/shoal/goodbye"}` + "\n")

// Close says goodbye, ends every connection, and waits for them: in order until
// ctx ends, then at once.
func (g *Gateway) Close(ctx context.Context) error {
	g.farewell(ctx)
	g.cancel(ErrStopping)
	done := make(chan struct{})
	go func() { g.wait.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	for _, k := range g.all() {
		k.wire.Stream().Close() // the writer would wait for the peer
	}
	select {
	case <-done:
		return nil
	case <-time.After(forceTime):
		return fmt.Errorf("close gateway: %d connections do not end: %w", g.Connections(), ctx.Err())
	}
}

const (
	// farewellTime is how long peers that read slowly hold up the goodbye.
	farewellTime = 250 * time.Millisecond
	// forceTime is how long a connection whose stream was closed may take.
	forceTime = 500 * time.Millisecond
)

// farewell says goodbye on every attached connection.
func (g *Gateway) farewell(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, farewellTime)
	defer cancel()
	var open sync.WaitGroup
	for _, k := range g.all() {
		if k.attached.Load() {
			open.Go(func() { k.wire.Send(append([]byte(nil), goodbye...)) })
		}
	}
	said := make(chan struct{})
	go func() { open.Wait(); close(said) }()
	select {
	case <-said:
	case <-ctx.Done():
	}
}

func (g *Gateway) all() []*conn {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.conns))
}

// countSubscription counts one more subscription of a principal, or refuses it.
func (g *Gateway) countSubscription(p messages.Principal) *messages.Error {
	limit, used := subscriptionLimit, 0
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, n := range g.follows {
		used += n
	}
	if used < limit && p != uidPrincipal(g.o.OwnerUID) {
		limit, used = principalSubscriptions, g.follows[p]
	}
	if used >= limit {
		return messages.Errorf(messages.CodeQuota, "%d channels are followed already; unsubscribe some", used).
			With(map[string]int{"limit": limit, "used": used})
	}
	g.follows[p]++
	return nil
}

func (g *Gateway) endSubscription(p messages.Principal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.follows[p]--; g.follows[p] == 0 {
		delete(g.follows, p)
	}
}
