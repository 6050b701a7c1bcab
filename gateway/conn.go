package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/wire"
)

// attachGrace is how long a connection may take to attach.
const attachGrace = 30 * time.Second

// conn is one connection from its acceptance to its end.
type conn struct {
	g    *Gateway
	seat *seat
	uid  int
	wire *wire.Conn

	attached atomic.Bool
}

// serve attaches the connection and gives it to the protocol it asks for.
func (k *conn) serve(ctx context.Context) {
	defer k.wire.Close()
	stop := context.AfterFunc(ctx, func() { k.wire.SetReadDeadline(time.Now()) })
	defer stop()
	b, kind := k.attach(ctx)
	if b == nil {
		return
	}
	defer b.close()
	k.attached.Store(true)
	k.wire.SetReadDeadline(time.Time{})
	if ctx.Err() != nil { // its deadline may just have been overwritten
		k.wire.SetReadDeadline(time.Now())
	}
	var err error
	if kind == "mcp" {
		err = k.g.o.MCP.Serve(ctx, k.wire, mcpBackend{b})
	} else {
		err = wire.Serve(ctx, k.wire, nil, &rawHandler{b: b, out: k.wire}, wire.ServeOptions{Log: k.g.o.Log})
	}
	if err != nil && !errors.Is(err, ErrStopping) && !errors.Is(err, errRemoved) && !errors.Is(err, errRevoked) {
		k.g.o.Log.Info("connection ended", "conn", k.seat.id, "session", b.session, "err", err)
	}
}

// attach reads frames until one attaches; nil when the connection ended before.
func (k *conn) attach(ctx context.Context) (*backend, string) {
	k.wire.SetReadDeadline(time.Now().Add(attachGrace))
	if ctx.Err() != nil { // its deadline may just have been overwritten
		return nil, ""
	}
	for {
		line, err := k.wire.Next()
		if err != nil && !(errors.Is(err, io.ErrUnexpectedEOF) && len(line) > 0) {
			if errors.Is(err, wire.ErrTooLong) {
				k.wire.Send(wire.AppendError(nil, json.RawMessage("null"), messages.Errorf(messages.CodeInvalidRequest, "%v", err)))
			}
			return nil, ""
		}
		req, refusal := wire.ParseRequest(line)
		id := bytes.Clone(req.ID)
		if refusal == nil {
			var b *backend
			var kind string
			if b, kind, refusal = k.first(ctx, req, id); b != nil {
				return b, kind
			}
		}
		if refusal != nil && (id != nil || req.Method == "") {
			if id == nil {
				id = json.RawMessage("null")
			}
			k.wire.Send(wire.AppendError(nil, id, refusal))
		}
		if err != nil {
			return nil, ""
		}
	}
}

// first deals with a frame that comes before the attachment.
func (k *conn) first(ctx context.Context, req wire.Request, id json.RawMessage) (*backend, string, *messages.Error) {
	m, known := wire.Lookup(req.Method)
	switch {
	case !known:
		return nil, "", messages.Errorf(messages.CodeNotAttached, "attach first: call session.attach before %q", req.Method)
	case m.Class != wire.Public:
		return nil, "", messages.Errorf(messages.CodeNotAttached, "attach first: call session.attach before %s", m.Name)
	case m.Name != "session.attach":
		answer, refusal := k.g.fresh(m.Name, bytes.Clone(req.Params))
		if refusal == nil && id != nil {
			k.wire.Send(wire.AppendResult(nil, id, answer))
		}
		return nil, "", refusal
	}
	var p messages.AttachParams
	if err := wire.Decode(bytes.Clone(req.Params), &p); err != nil {
		return nil, "", err
	}
	b, err := k.enter(ctx, p)
	if err != nil {
		return nil, "", err
	}
	kind := ""
	if p.Client != nil {
		kind = p.Client.Kind
	}
	if id != nil {
		k.wire.Send(wire.AppendResult(nil, id, messages.JSON(b.attached)))
	}
	return b, kind, nil
}

func notServed(method string) *messages.Error {
	return messages.Errorf(messages.CodeMethodNotFound, "method %s is not served by this kernel", method)
}

// enter identifies the caller and joins it to its session.
func (k *conn) enter(ctx context.Context, p messages.AttachParams) (*backend, *messages.Error) {
	if k.g.refuse.Load() {
		return nil, stopping()
	}
	who, err := k.g.identify(k.uid, p.Token)
	if err != nil {
		return nil, err
	}
	return k.seat.join(ctx, who, p)
}

// environ is a client's environment less what is Shoal's own.
func environ(vars map[string]string) []string {
	out := make([]string, 0, len(vars))
	for name, v := range vars {
		if name == "" || strings.HasPrefix(name, "SHOAL_") || strings.ContainsAny(name, "=\x00") || strings.Contains(v, "\x00") {
			continue
		}
		out = append(out, name+"="+v)
	}
	sort.Strings(out)
	return out
}

// attachTimeout is how long a session may take to come to life.
const attachTimeout = 20 * time.Second

// attachSession joins the session, also again after it has left memory.
func (b *backend) attachSession(ctx context.Context) (messages.SessionInfo, *messages.Error) {
	ctx, cancel := context.WithTimeout(ctx, attachTimeout)
	defer cancel()
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		info, err := supervisor.Ask(ctx, b.g.o.Sys, b.g.o.To.Sessions, b.join)
		if err == nil {
			return info, info.Err
		}
		var failed *supervisor.Failed
		if !errors.As(err, &failed) || ctx.Err() != nil {
			return info, messages.Errorf(messages.CodeInternal, "attach to session %s: %v", b.session, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}
