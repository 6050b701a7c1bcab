package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"sync/atomic"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/token"
	"shoal.dev/shoal/wire"
)

// backend is the kernel as one attached connection sees it.
type backend struct {
	g         *Gateway
	conn      string
	session   messages.SessionName
	principal messages.Principal
	token     *token.Entry // by which it has attached; nil: none
	join      messages.Attach
	attached  messages.Attached
	calls     atomic.Uint64
	keyboards keyboards
}

// Attached is the answer that the connection's attachment got.
func (b *backend) Attached() messages.Attached { return b.attached }

// close gives keyboards back and leaves the session.
func (b *backend) close() {
	for _, id := range b.keyboards.taken() {
		deliver(b.g, b.g.o.To.PTYs, messages.HoldPTY{Session: b.session, Reader: b.conn, PTY: id})
	}
	deliver(b.g, b.g.o.To.Sessions, messages.Detached{Session: b.session, Conn: b.conn})
}

// isOwner reports whether the caller is the kernel's own user, also beyond its
// session: a token for some sessions makes nobody the owner of the others.
func (b *backend) isOwner() bool {
	return b.principal == uidPrincipal(b.g.o.OwnerUID) && (b.token == nil || len(b.token.Sessions) == 0)
}

// opens reports whether the caller's token is good for a session.
func (b *backend) opens(name messages.SessionName) bool {
	return b.token == nil || b.token.Opens(string(name))
}

func uidPrincipal(uid int) messages.Principal { return messages.Principal(fmt.Sprintf("uid:%d", uid)) }

// ownerOnly refuses everybody else.
func (b *backend) ownerOnly(what string) *messages.Error {
	if b.isOwner() {
		return nil
	}
	return messages.Errorf(messages.CodeLeashDenied, "%s is for the kernel's own user", what).
		With(map[string]string{"dimension": "session", "target": what})
}

// handler serves one method, whose params are read into the given type.
type handler struct {
	params reflect.Type
	serve  func(b *backend, params json.RawMessage) (wire.Call, *messages.Error)
}

// handlers is every method that this kernel serves.
var handlers = map[string]handler{
	"session.env":     viewOf("env"),
	"session.reef":    viewOf("reef"),
	"session.cwd":     viewOf("cwd"),
	"session.list":    with((*backend).listSessions),
	"session.members": with((*backend).members),
	"session.close":   with((*backend).closeSession),
	"parse":           with((*backend).parse),
	"complete":        with((*backend).complete),
	"explain":         with((*backend).explain),
	"exec":            with((*backend).exec),
	"value.get":       with((*backend).getValue),
	"blob.get":        with((*backend).getBlob),
	"journal.query":   with((*backend).queryJournal),
	"task.list":       with((*backend).listTasks),
	"task.get":        taskOp("get"),
	"task.await":      with((*backend).awaitTask),
	"task.cancel":     taskOp("cancel"),
	"task.suspend":    taskOp("suspend"),
	"task.resume":     taskOp("resume"),
	"task.output":     with((*backend).taskOutput),
	"plan.get":        with((*backend).getPlan),
	"plan.list":       with((*backend).listPlans),
	"plan.apply":      with((*backend).applyPlan),
	"cap.request":     with((*backend).requestCap),
	"cap.pending":     with((*backend).pendingCaps),
	"cap.grant":       decideCap(true),
	"cap.deny":        decideCap(false),
	"pty.open":        with((*backend).openPTY),
	"pty.send":        with((*backend).sendPTY),
	"pty.read":        with((*backend).readPTY),
	"pty.resize":      with((*backend).resizePTY),
	"pty.keyboard":    with((*backend).holdPTY),
	"pty.record":      with((*backend).recordPTY),
	"pty.close":       with((*backend).closePTY),
	"pty.list":        with((*backend).listPTYs),
	"events.read":     with((*backend).readEvents),
	"events.publish":  with((*backend).publishEvent),
	"undo":            with((*backend).undo),
	"kernel.info":     with((*backend).kernelInfo),
	"kernel.shutdown": with((*backend).shutdown),
}

// Begin validates a call and hands it over.
func (b *backend) Begin(method string, params json.RawMessage) (wire.Call, *messages.Error) {
	if _, known := wire.Lookup(method); !known {
		return nil, messages.Errorf(messages.CodeMethodNotFound, "there is no method %q", method)
	}
	if method == "session.attach" {
		return nil, messages.Errorf(messages.CodeInvalidRequest, "this connection is attached to session %s already; open another one", b.session)
	}
	h, served := handlers[method]
	if !served {
		return nil, notServed(method)
	}
	if b.g.refuse.Load() {
		return nil, stopping()
	}
	return h.serve(b, params)
}

// stopping is the refusal of new work.
func stopping() *messages.Error {
	return messages.Errorf(messages.CodeInterrupted, "the kernel is stopping").
		With(map[string]string{"reason": "kernel_stopped"})
}

// key names one call of this connection.
func (b *backend) key() string { return b.conn + "/" + strconv.FormatUint(b.calls.Add(1), 10) }

// noParams are the params of methods that take none.
type noParams struct{}

// with decodes a method's params, strictly, before it is served.
func with[P any](serve func(*backend, P) (wire.Call, *messages.Error)) handler {
	return handler{reflect.TypeFor[P](), func(b *backend, params json.RawMessage) (wire.Call, *messages.Error) {
		return decoded(params, func(p P) (wire.Call, *messages.Error) { return serve(b, p) })
	}}
}

func decoded[P any](params json.RawMessage, serve func(P) (wire.Call, *messages.Error)) (wire.Call, *messages.Error) {
	var p P
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	return serve(p)
}

func viewOf(view string) handler {
	return with(func(b *backend, _ noParams) (wire.Call, *messages.Error) {
		return ask(b, b.g.o.To.Session(b.session), messages.ViewSession{View: view, Principal: b.principal}, raw), nil
	})
}

func (b *backend) listSessions(noParams) (wire.Call, *messages.Error) {
	return ask(b, b.g.o.To.Sessions, messages.ListSessions{Principal: b.principal},
		func(all messages.Sessions) (json.RawMessage, *messages.Error) {
			all.Sessions = slices.DeleteFunc(all.Sessions, func(s messages.SessionSummary) bool { return !b.opens(s.Session) })
			return messages.JSON(all), nil
		}), nil
}

type closeSessionParams struct {
	Session messages.SessionName `json:"session"`
}

func (b *backend) closeSession(p closeSessionParams) (wire.Call, *messages.Error) {
	if p.Session == "" {
		p.Session = b.session
	}
	if !b.opens(p.Session) {
		return nil, notOpened(*b.token, p.Session)
	}
	return ask(b, b.g.o.To.Sessions, messages.CloseSession{Session: p.Session, Principal: b.principal},
		func(d messages.Done) (json.RawMessage, *messages.Error) {
			return messages.JSON(messages.ClosedSession{Session: p.Session, Closed: true}), d.Err
		}), nil
}

func (b *backend) kernelInfo(noParams) (wire.Call, *messages.Error) {
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) { return messages.JSON(b.g.o.Info()), nil }), nil
}

func (b *backend) shutdown(noParams) (wire.Call, *messages.Error) {
	if err := b.ownerOnly("kernel.shutdown"); err != nil {
		return nil, err
	}
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		b.g.o.Shutdown()
		return messages.JSON(messages.Stopping{Stopping: true}), nil
	}), nil
}

// publish writes an event through the journal.
func (b *backend) publish(ctx context.Context, draft messages.Draft) (seq uint64, refusal *messages.Error) {
	req := messages.Append{Record: messages.Record{Key: "event-" + b.key(), Events: []messages.Draft{draft}}}
	_, refusal = ask(b, b.g.o.To.Journal, req, func(a messages.Appended) (json.RawMessage, *messages.Error) {
		if a.Err == nil && len(a.Seqs) == 0 {
			a.Err = messages.Errorf(messages.CodeInternal, "publish: the journal gave no number")
		}
		if a.Err == nil {
			seq = a.Seqs[0]
		}
		return nil, a.Err
	}).Wait(ctx)
	return seq, refusal
}
