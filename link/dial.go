package link

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// attachTimeout is how long a kernel may take to accept and to answer an
// attachment before we give up; the kernel itself is left alone.
const attachTimeout = 30 * time.Second

// NotServing says that nobody listens: the only finding after which a kernel
// may be started.
type NotServing struct {
	StateDir string
	Tried    []string
}

func (e *NotServing) Error() string {
	return fmt.Sprintf("no kernel serves %s (tried %s)", e.StateDir, strings.Join(e.Tried, ", "))
}

// dialed is a connection and the socket by which it was found.
type dialed struct {
	net.Conn
	socket string
}

// Dial connects to the kernel of p: the given socket only, or else the one in
// the endpoint file and then the default. A full accept queue is waited out
// until ctx ends: a slow kernel is a living one.
func (p Paths) Dial(ctx context.Context) (net.Conn, error) {
	d, err := p.dial(ctx)
	if err != nil {
		return nil, err
	}
	return d.Conn, nil
}

func (p Paths) dial(ctx context.Context) (dialed, error) {
	sockets, err := p.sockets()
	if err != nil {
		return dialed{}, err
	}
	for _, socket := range sockets {
		conn, err := p.dialOne(ctx, socket)
		if err == nil {
			return dialed{conn, socket}, nil
		}
		if !isDead(err) {
			return dialed{}, err
		}
	}
	if err := p.otherKernel(ctx); err != nil {
		return dialed{}, err
	}
	return dialed{}, &NotServing{StateDir: p.StateDir, Tried: sockets}
}

// sockets lists where to try, in order.
func (p Paths) sockets() ([]string, error) {
	if p.Given {
		return []string{p.Socket}, nil
	}
	e, err := p.ReadEndpoint()
	switch {
	case errors.Is(err, os.ErrNotExist), err == nil && (e.Socket == "" || e.Socket == p.Socket):
		return []string{p.Socket}, nil
	case err != nil:
		return nil, err
	}
	return []string{e.Socket, p.Socket}, nil
}

func (p Paths) dialOne(ctx context.Context, socket string) (net.Conn, error) {
	if !p.Given && socket == p.Socket {
		if err := CheckSocketDir(filepath.Dir(socket), true); err != nil {
			return nil, err
		}
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", socket)
		if err == nil {
			return conn, nil
		}
		if !errors.Is(err, syscall.EAGAIN) {
			return nil, fmt.Errorf("dial kernel: %w", err)
		}
		if err := wait(ctx, pause); err != nil {
			return nil, fmt.Errorf("dial kernel: %s does not accept: %w", socket, err)
		}
	}
}

// otherKernel explains why a given socket is dead while the state directory is
// in use through another one.
func (p Paths) otherKernel(ctx context.Context) error {
	if !p.Given {
		return nil
	}
	e, err := p.ReadEndpoint()
	if err != nil || e.Socket == "" || e.Socket == p.Socket {
		return nil
	}
	conn, err := p.dialOne(ctx, e.Socket)
	if err != nil {
		return nil
	}
	conn.Close()
	return fmt.Errorf("dial kernel: nobody serves %s; kernel %s (pid %d) owns %s and serves %s",
		p.Socket, e.KernelID, e.PID, p.StateDir, e.Socket)
}

// isDead reports whether a dial error proves that nobody listens.
func isDead(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// isReset reports whether a read failed because the peer died.
func isReset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}
