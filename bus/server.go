package bus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"sync"
	"time"

	natsd "github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// Limits of the embedded server.
const (
	natsReady    = 5 * time.Second
	natsPayload  = 8 << 20  // bytes of one message
	natsPending  = 32 << 20 // bytes that wait for one slow client; beyond it is cut off
	natsDeadline = 2 * time.Second
	natsDrain    = time.Second // for clients to take what waits for them
)

// server is the embedded NATS server of one kernel: core NATS, no storage. Its
// port and credentials stay the same when it is restarted.
type server struct {
	log  *slog.Logger
	opts natsd.Options // Port is fixed once known
	user login         // the kernel's own

	mu  sync.Mutex
	srv *natsd.Server
}

func newServer(opt Options) (*server, error) {
	s := &server{log: opt.Log, user: login{User: "kernel", Password: newPassword()}}
	s.opts = natsd.Options{
		ServerName: "shoal-" + opt.KernelID,
		DontListen: true, NoSigs: true, NoSystemAccount: true,
		MaxPayload: natsPayload, MaxPending: natsPending, WriteDeadline: natsDeadline,
		Users: []*natsd.User{{Username: s.user.User, Password: s.user.Password}},
	}
	if opt.Listen == "" {
		return s, nil
	}
	return s, s.listen(opt)
}

// listen prepares the listener: port, credentials, nats.json.
func (s *server) listen(opt Options) error {
	host, port, err := parseListen(opt.Listen)
	if err != nil {
		return err
	}
	cred, err := loadCredentials(opt.RuntimeDir)
	if err != nil {
		return err
	}
	if cred.User == "" {
		cred.login = login{User: "local", Password: newPassword()}
	}
	if s.opts.Port, err = freePort(host, port, cred.port()); err != nil {
		return fmt.Errorf("listen for NATS clients: %w", err)
	}
	s.opts.DontListen, s.opts.Host = false, host
	s.opts.Users = append(s.opts.Users, &natsd.User{
		Username: cred.User, Password: cred.Password,
		Permissions: &natsd.Permissions{
			Publish:   &natsd.SubjectPermission{Deny: []string{">"}},
			Subscribe: &natsd.SubjectPermission{Allow: []string{subjectPrefix(opt.KernelID) + ">", "_INBOX.>"}},
		},
	})
	cred.KernelID, cred.Principal = opt.KernelID, string(opt.Principal)
	cred.URL = "nats://" + s.addr()
	return saveCredentials(opt.RuntimeDir, cred)
}

// parseListen reads the address of a listener.
func parseListen(addr string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, fmt.Errorf("listen for NATS clients on %q: expected HOST:PORT, such as 127.0.0.1:0", addr)
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("listen for NATS clients on %q: bad port", addr)
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return "", 0, fmt.Errorf("listen for NATS clients on %q: not a loopback address, and the connection is not encrypted", addr)
	}
	return host, int(n), nil
}

// CheckListen says why a bus could not listen on an address. It leaves nothing
// bound. The address that the kernel of that id has, by the runtime directory, is
// one that its successor can have.
func CheckListen(addr, runtimeDir, kernelID string) error {
	host, port, err := parseListen(addr)
	if err != nil {
		return err
	}
	if _, err = freePort(host, port, 0); err == nil {
		return nil
	}
	cred, unread := loadCredentials(runtimeDir)
	if unread == nil && kernelID != "" && cred.KernelID == kernelID && cred.URL == "nats://"+net.JoinHostPort(host, strconv.Itoa(port)) {
		return nil
	}
	return fmt.Errorf("listen for NATS clients: %w", err)
}

// freePort is the port that was asked for, or, when that is any, the one of
// last time if it is free.
func freePort(host string, asked, last int) (int, error) {
	try := []int{asked}
	if asked == 0 {
		try = []int{last, 0}
	}
	var err error
	for _, port := range try {
		var l net.Listener
		if l, err = net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port))); err == nil {
			port = l.Addr().(*net.TCPAddr).Port
			return port, l.Close()
		}
	}
	return 0, err
}

func (s *server) addr() string {
	if s.opts.DontListen {
		return ""
	}
	return net.JoinHostPort(s.opts.Host, strconv.Itoa(s.opts.Port))
}

// start runs a server and connects the kernel to it.
func (s *server) start() (*nats.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	opts := s.opts
	srv, err := natsd.NewServer(&opts)
	if err != nil {
		return nil, fmt.Errorf("make nats server: %w", err)
	}
	srv.SetLoggerV2(natsLog{s.log}, false, false, false)
	srv.Start()
	if !srv.ReadyForConnections(natsReady) {
		srv.Shutdown()
		return nil, fmt.Errorf("start nats server on %q: not ready within %v", s.addr(), natsReady)
	}
	conn, err := nats.Connect("", nats.InProcessServer(srv), nats.Name("kernel"),
		nats.UserInfo(s.user.User, s.user.Password), nats.NoReconnect(), nats.NoEcho())
	if err != nil {
		srv.Shutdown()
		return nil, fmt.Errorf("connect to own nats server: %w", err)
	}
	s.srv = srv
	return conn, nil
}

func (s *server) restart() (*nats.Conn, error) {
	if srv := s.current(); srv != nil {
		srv.Shutdown()
		srv.WaitForShutdown()
	}
	return s.start()
}

func (s *server) current() *natsd.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.srv
}

func (s *server) subscriptions() uint32 {
	if srv := s.current(); srv != nil {
		return srv.NumSubscriptions()
	}
	return 0
}

// clients are the connections, the kernel's own excepted.
func (s *server) clients() int {
	if srv := s.current(); srv != nil {
		return max(0, srv.NumClients()-1)
	}
	return 0
}

// stop waits a little until the clients have what was sent to them: what waits
// in the server when it shuts down is lost to them.
func (s *server) stop(ctx context.Context) error {
	srv := s.current()
	if srv == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, natsDrain)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for pending(srv) && ctx.Err() == nil {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
	srv.Shutdown()
	srv.WaitForShutdown()
	if srv.Running() {
		return errors.New("stop nats server: it still runs")
	}
	return nil
}

func pending(srv *natsd.Server) bool {
	conns, err := srv.Connz(&natsd.ConnzOptions{Limit: 1 << 16})
	if err != nil {
		return false
	}
	for _, c := range conns.Conns {
		if c.Pending > 0 {
			return true
		}
	}
	return false
}

// natsLog gives the server's words to slog; what it only notes is for
// debugging.
type natsLog struct{ log *slog.Logger }

func (l natsLog) say(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, "nats", "text", fmt.Sprintf(format, v...))
	}
}

func (l natsLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l natsLog) Warnf(format string, v ...any)   { l.say(slog.LevelDebug, format, v) }
func (l natsLog) Errorf(format string, v ...any)  { l.say(slog.LevelWarn, format, v) }
func (l natsLog) Fatalf(format string, v ...any)  { l.say(slog.LevelError, format, v) }
func (l natsLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l natsLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
