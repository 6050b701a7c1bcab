package mcphttp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
)

// Seat is a client's place in a kernel session.
type Seat interface {
	Backend() mcp.Backend
	// Context ends when the place is taken away; its cause says why.
	Context() context.Context
	Leave()
}

// Caller is whom a token stands for.
type Caller struct {
	ID   string // of the token
	Join func(ctx context.Context, name messages.SessionName) (Seat, *messages.Error)
}

// Options are what a Server needs. MCP and Admit are required, other zero
// values mean the defaults.
type Options struct {
	MCP *mcp.Server
	// Admit says whom a bearer token stands for.
	Admit func(token string) (Caller, *messages.Error)
	Log   *slog.Logger

	Body        int64         // longest body of a request: 16 MiB
	Bodies      int64         // all longer ones that are being served together: 256 MiB
	Sessions    int           // HTTP sessions: 4,096
	Connections int           // of TCP: 4,096
	ReadTime    time.Duration // for a request to arrive: 30 s
	WriteTime   time.Duration // for a peer to take what it is sent: 60 s
	IdleTime    time.Duration // after which an unused session ends: 30 min
	KeepAlive   time.Duration // between signs of life on a silent stream: 15 s
	StreamAfter time.Duration // how long an answer may take as plain JSON: 250 ms
}

func (o *Options) normalize() {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	fill(&o.Body, 16<<20)
	fill(&o.Bodies, 256<<20)
	fill(&o.Sessions, 4096)
	fill(&o.Connections, 4096)
	fill(&o.ReadTime, 30*time.Second)
	fill(&o.WriteTime, 60*time.Second)
	fill(&o.IdleTime, 30*time.Minute)
	fill(&o.KeepAlive, 15*time.Second)
	fill(&o.StreamAfter, 250*time.Millisecond)
}

func fill[T int | int64 | time.Duration](v *T, usual T) {
	if *v == 0 {
		*v = usual
	}
}

// Server serves MCP over HTTP until it is closed.
type Server struct {
	o        Options
	http     *http.Server
	listener net.Listener
	bodies   atomic.Int64 // bytes of long bodies that are being served
	kept     atomic.Int64 // bytes of kept events of all sessions
	stopping atomic.Bool
	quit     chan struct{} // closed by Close
	running  sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session
	seats    map[seatKey]*sharedSeat
}

// Listen makes a server on a loopback address. It serves once Serve is called.
func Listen(addr string, o Options) (*Server, error) {
	o.normalize()
	if err := CheckAddr(addr); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("listen for MCP over HTTP: %w", err)
	}
	s := &Server{o: o, listener: newLimited(l, o.Connections), quit: make(chan struct{}), sessions: map[string]*session{}, seats: map[seatKey]*sharedSeat{}}
	s.http = &http.Server{
		Handler: s, ReadHeaderTimeout: o.ReadTime, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: slog.NewLogLogger(o.Log.Handler(), slog.LevelDebug),
	}
	return s, nil
}

// CheckAddr refuses what others could reach: a bearer token would travel in the
// clear.
func CheckAddr(addr string) error {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("listen for MCP over HTTP on %q: expected HOST:PORT, such as 127.0.0.1:8420", addr)
	}
	if host == "localhost" {
		return nil
	}
	if ip, err := netip.ParseAddr(host); err != nil || !ip.IsLoopback() {
		return fmt.Errorf("listen for MCP over HTTP on %q: only loopback addresses are served, such as 127.0.0.1:8420; let a proxy with TLS stand before it", addr)
	}
	return nil
}

// CheckListen says why no server could listen on an address. It leaves nothing
// bound.
func CheckListen(addr string) error {
	if err := CheckAddr(addr); err != nil {
		return err
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen for MCP over HTTP: %w", err)
	}
	return l.Close()
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Serve serves until Close.
func (s *Server) Serve() error {
	s.running.Go(s.keepHouse)
	if err := s.http.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
		return fmt.Errorf("serve MCP over HTTP: %w", err)
	}
	return nil
}

// Refuse takes no new work from now on; what runs is answered.
func (s *Server) Refuse() { s.stopping.Store(true) }

// Close ends everything. The seats are to be taken away by then, or at the same
// time: until ctx ends the sessions answer what they have open.
func (s *Server) Close(ctx context.Context) error {
	s.Refuse()
	close(s.quit)
	s.listener.Close()
	done := make(chan struct{})
	go func() { s.running.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
	s.mu.Lock()
	for _, x := range s.sessions {
		x.end(errClosed)
	}
	s.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, farewellTime) // what is written may still be read
	defer cancel()
	if s.http.Shutdown(ctx) != nil {
		s.http.Close()
	}
	select {
	case <-done:
		return nil
	case <-time.After(forceTime):
		return errors.New("close MCP over HTTP: sessions do not end")
	}
}

const (
	// farewellTime is how long peers that read slowly hold up the end.
	farewellTime = 250 * time.Millisecond
	// forceTime is how long sessions may take whose peers are gone.
	forceTime = 3 * time.Second
)

var errClosed = errors.New("the kernel is stopping")

// keepHouse ends what nobody uses any more.
func (s *Server) keepHouse() {
	tick := time.NewTicker(min(time.Minute, s.o.IdleTime/2+1))
	defer tick.Stop()
	for {
		select {
		case <-s.quit:
			s.dropSeats(0)
			return
		case <-tick.C:
			s.expire()
			s.dropSeats(seatLinger)
		}
	}
}

// limited is a listener that has at most so many connections open. One too many
// waits in the system's queue.
type limited struct {
	net.Listener
	room chan struct{}
	done chan struct{}
	once sync.Once
}

func newLimited(l net.Listener, n int) *limited {
	return &limited{Listener: l, room: make(chan struct{}, n), done: make(chan struct{})}
}

// Accept waits for a connection and for room.
func (l *limited) Accept() (net.Conn, error) {
	select {
	case l.room <- struct{}{}:
	case <-l.done:
		return nil, net.ErrClosed
	}
	c, err := l.Listener.Accept()
	if err != nil {
		<-l.room
		return nil, err
	}
	return &limitedConn{Conn: c, room: l.room}, nil
}

// Close stops listening.
func (l *limited) Close() error {
	l.once.Do(func() { close(l.done) })
	return l.Listener.Close()
}

type limitedConn struct {
	net.Conn
	room chan struct{}
	once sync.Once
}

// Close closes the connection and makes room for another.
func (c *limitedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.room })
	return err
}
