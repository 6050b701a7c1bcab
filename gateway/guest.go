package gateway

import (
	"context"

	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
)

// Bearer is whom a token stands for.
type Bearer struct {
	g   *Gateway
	who caller
}

// Bearer finds whom a token stands for.
func (g *Gateway) Bearer(secret string) (Bearer, *messages.Error) {
	who, refusal := g.bearer(secret)
	return Bearer{g, who}, refusal
}

// ID is the token's.
func (b Bearer) ID() string { return b.who.token.ID }

// Guest is a client whose connection is not the gateway's, as with HTTP. It
// holds up Close until it leaves.
type Guest struct {
	seat *seat
	b    *backend
}

// Join attaches to a session.
func (b Bearer) Join(ctx context.Context, name messages.SessionName) (*Guest, *messages.Error) {
	g := b.g
	g.mu.Lock()
	if g.ctx.Err() != nil || g.refuse.Load() {
		g.mu.Unlock()
		return nil, stopping()
	}
	s := g.seatLocked()
	g.wait.Add(1)
	g.mu.Unlock()
	joined, refusal := s.join(ctx, b.who, messages.AttachParams{Session: name})
	if refusal != nil {
		g.leave(s)
		g.wait.Done()
		return nil, refusal
	}
	return &Guest{s, joined}, nil
}

// Backend is the kernel as the guest sees it.
func (x *Guest) Backend() mcp.Backend { return mcpBackend{x.b} }

// Context ends when the guest is to leave; its cause says why.
func (x *Guest) Context() context.Context { return x.seat.ctx }

// Leave gives the place up. It is called once.
func (x *Guest) Leave() {
	x.b.close()
	x.b.g.leave(x.seat)
	x.b.g.wait.Done()
}
