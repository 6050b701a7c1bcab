package gateway

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/token"
)

// seat is the place of one client, however it is connected, from before it
// attaches to its end.
type seat struct {
	g     *Gateway
	id    string
	ctx   context.Context // ends with the seat; its cause says why
	end   context.CancelCauseFunc
	joins atomic.Pointer[backend] // what attaches it, from before it has asked
}

func (g *Gateway) seatLocked() *seat {
	s := &seat{g: g, id: fmt.Sprintf("conn-%s-%d", g.boot, g.nextID.Add(1))}
	s.ctx, s.end = context.WithCancelCause(g.ctx)
	g.seats[s] = struct{}{}
	return s
}

// leave gives a seat up.
func (g *Gateway) leave(s *seat) {
	s.end(nil)
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.seats, s)
}

func (g *Gateway) seated() []*seat {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Collect(maps.Keys(g.seats))
}

// join attaches the seat's client to its session.
func (s *seat) join(ctx context.Context, who caller, p messages.AttachParams) (*backend, *messages.Error) {
	o := &s.g.o
	b := &backend{g: s.g, conn: s.id, principal: who.principal, token: who.token, session: p.Session}
	if b.session == "" {
		b.session = messages.DefaultSession
	}
	if !b.opens(b.session) {
		return nil, notOpened(*b.token, b.session)
	}
	b.join = messages.Attach{
		Session: b.session, Principal: b.principal, Conn: s.id, Cwd: o.OwnerHome, Env: o.OwnerEnv,
	}
	if p.Cwd != "" {
		if !filepath.IsAbs(p.Cwd) {
			return nil, messages.Errorf(messages.CodeInvalidParams, "cwd %q: must be an absolute path", p.Cwd)
		}
		b.join.Cwd = filepath.Clean(p.Cwd)
	}
	if p.Env != nil {
		b.join.Env = environ(p.Env)
	}
	s.joins.Store(b)
	if b.token != nil {
		s.g.guard()
	}
	info, err := b.attachSession(ctx)
	if err != nil {
		return nil, err
	}
	b.attached = b.answer(info)
	return b, nil
}

// answer is what the attachment answers.
func (b *backend) answer(info messages.SessionInfo) messages.Attached {
	caps, enforced := b.g.o.Caps(b.principal)
	if b.token != nil {
		for _, name := range b.token.Sessions {
			caps.TokenCaps = append(caps.TokenCaps, "session:"+name)
		}
	}
	return messages.Attached{
		Session: b.session, Principal: b.principal, Caps: caps, CapsEnforced: enforced,
		Cwd: info.Cwd, EnvHash: info.EnvHash, ASTVersion: messages.ASTVersion,
		ProtocolVersion: messages.ProtocolVersion, Version: b.g.o.Version, KernelID: b.g.o.KernelID,
		RestartedAt: info.RestartedAt,
		ElideDefaults: messages.ElideDefaults{
			MaxBytes: messages.DefaultMaxBytes, MaxRows: messages.DefaultMaxRows,
			MaxItems: messages.DefaultMaxItems, MaxBytesRaw: messages.DefaultMaxRaw, HardCap: messages.HardCap,
		},
		Channels: []string{"session.transcript", "journal", "approval", "render", "session", "kernel", "kernel.journal", "kernel.approval"},
	}
}

// caller is who attaches: a user of this machine, or the bearer of a token.
type caller struct {
	principal messages.Principal
	token     *token.Entry
}

// identify says who the caller is. A token counts for more than the user id,
// which only says who may knock.
func (g *Gateway) identify(uid int, secret string) (caller, *messages.Error) {
	switch {
	case secret != "":
		return g.bearer(secret)
	case g.o.RequireToken:
		return caller{}, messages.Errorf(messages.CodeAuthFailed, "this kernel only admits clients with a token").
			With(map[string]string{"reason": "token_required", "hint": "shoal token create makes one; give it in SHOAL_TOKEN or with --token-file"})
	}
	return caller{principal: uidPrincipal(uid)}, nil
}

// bearer is whom a token stands for.
func (g *Gateway) bearer(secret string) (caller, *messages.Error) {
	e, err := g.o.Tokens.Check(secret)
	if err != nil {
		reason := "unreadable"
		switch {
		case errors.Is(err, token.ErrUnknown):
			reason = "unknown"
		case errors.Is(err, token.ErrExpired):
			reason = "expired"
		default:
			g.o.Log.Error("tokens cannot be read", "err", err)
			err = errors.New("the kernel cannot read its tokens; its log says why")
		}
		return caller{}, messages.Errorf(messages.CodeAuthFailed, "%v", err).With(map[string]string{"reason": reason})
	}
	if e.Principal == token.Owner {
		return caller{uidPrincipal(g.o.OwnerUID), &e}, nil
	}
	return caller{messages.Principal(e.Principal), &e}, nil
}

// notOpened is the refusal of a session that the token is not for.
func notOpened(e token.Entry, name messages.SessionName) *messages.Error {
	return messages.Errorf(messages.CodeLeashDenied, "token %s is not for session %s, but for %v", e.ID, name, e.Sessions).
		With(map[string]string{"dimension": "session", "target": string(name), "rule": "token"})
}

// errRevoked is why the connections of a token end that is no longer good.
var errRevoked = errors.New("the token was revoked, or has expired")

// tokenCheck is the default of Options.TokenCheck.
const tokenCheck = 200 * time.Millisecond

// guard ends connections whose token is no longer good, as long as there are
// connections with a token.
func (g *Gateway) guard() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.guarding || g.ctx.Err() != nil {
		return
	}
	g.guarding = true
	g.wait.Go(func() {
		tick := time.NewTicker(g.o.TokenCheck)
		defer tick.Stop()
		for g.checkTokens() {
			select {
			case <-tick.C:
			case <-g.ctx.Done():
				return
			}
		}
	})
}

// checkTokens looks at all tokens once. It reports whether to go on.
func (g *Gateway) checkTokens() bool {
	good := map[string]bool{}
	for _, s := range g.seated() {
		b := s.joins.Load()
		if b == nil || b.token == nil {
			continue
		}
		id := b.token.ID
		if _, known := good[id]; !known {
			good[id] = g.o.Tokens.Holds(id)
		}
		if !good[id] {
			s.end(errRevoked)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.guarding = false
	for s := range g.seats {
		if b := s.joins.Load(); b != nil && b.token != nil {
			g.guarding = true
			break
		}
	}
	return g.guarding
}
