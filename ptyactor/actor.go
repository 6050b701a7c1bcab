package ptyactor

import (
	"context"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// NewRegistryActor returns the producer of the actor ptys: it opens terminals
// and passes each request to the actor of its terminal, which it starts when
// needed. All state is in the registry.
func NewRegistryActor(sys *supervisor.System, reg *Registry) func() actor.Actor {
	return func() actor.Actor { return &registryActor{sys: sys, reg: reg} }
}

type registryActor struct {
	sys *supervisor.System
	reg *Registry
}

// Receive implements actor.Actor.
func (a *registryActor) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		a.respawn(ctx)
	case messages.OpenPTY:
		a.open(ctx, msg)
	case messages.ListPTYs:
		a.later(ctx, func() any { return a.reg.List(msg.Session) })
	case messages.ClosePTYs:
		self := ctx.Self().GetId()
		a.later(ctx, func() any { return a.closeMany(self, msg) })
	case messages.SendPTY:
		a.pass(ctx, msg.PTY, msg.Session)
	case messages.ReadPTY:
		a.pass(ctx, msg.PTY, msg.Session)
	case messages.ResizePTY:
		a.pass(ctx, msg.PTY, msg.Session)
	case messages.HoldPTY:
		a.pass(ctx, msg.PTY, msg.Session)
	case messages.RecordPTY:
		a.pass(ctx, msg.PTY, msg.Session)
	case messages.ClosePTY:
		if a.reg.known(msg.Key) {
			c, _ := a.reg.begin(msg.Key)
			a.later(ctx, c.wait)
			return
		}
		a.pass(ctx, msg.PTY, msg.Session)
	}
}

// open opens a terminal, once per key.
func (a *registryActor) open(ctx actor.Context, msg messages.OpenPTY) {
	c, first := a.reg.begin(msg.Key)
	if !first {
		a.later(ctx, c.wait)
		return
	}
	a.later(ctx, func() any { return c.end(answer(a.reg.Open(msg))) })
}

// respawn gives every open terminal its actor again.
func (a *registryActor) respawn(ctx actor.Context) {
	for _, h := range a.reg.all() {
		if _, err := a.spawn(ctx, h.id); err != nil {
			a.reg.cfg.Log.Error("start terminal actor", "pty", string(h.id), "err", err)
		}
	}
}

func (a *registryActor) spawn(ctx actor.Context, id messages.PTYID) (*actor.PID, error) {
	return a.sys.SpawnChild(ctx, supervisor.Spec{
		Name: ownerName(id),
		New:  func() actor.Actor { return &terminal{sys: a.sys, reg: a.reg, id: id} },
	})
}

// pass hands a request on, its sender kept.
func (a *registryActor) pass(ctx actor.Context, id messages.PTYID, session messages.SessionName) {
	if _, bad := a.reg.visible(id, session); bad != nil {
		ctx.Respond(bad)
		return
	}
	pid, err := a.spawn(ctx, id)
	if err != nil {
		ctx.Respond(messages.Errorf(messages.CodeInternal, "terminal %s: %v", id, err))
		return
	}
	ctx.Forward(pid)
}

// closeMany ends terminals, and then their actors.
func (a *registryActor) closeMany(self string, msg messages.ClosePTYs) messages.PTYsClosed {
	var gone []messages.PTYID
	if msg.All {
		gone = a.reg.CloseAll(context.Background())
	} else {
		gone = a.reg.CloseSession(context.Background(), msg.Session)
	}
	for _, id := range gone {
		a.sys.Root().Stop(a.sys.PID(self + "/" + ownerName(id)))
	}
	return messages.PTYsClosed{Count: len(gone)}
}

func (a *registryActor) later(ctx actor.Context, f func() any) { later(a.sys, ctx.Sender(), f) }

// later answers when f returns, outside the actor: its work belongs to a host
// or the registry and goes on if the actor dies. A panic becomes an answer.
func later(sys *supervisor.System, to *actor.PID, f func() any) {
	go func() {
		defer func() {
			if v := recover(); v != nil && to != nil {
				sys.Reply(to, messages.Errorf(messages.CodeInternal, "terminal: %s", fmt.Sprint(v)))
			}
		}()
		if reply := f(); to != nil {
			sys.Reply(to, reply)
		}
	}()
}

// answer is the reply, or the refusal if there is one.
func answer[R any](reply R, refused *messages.Error) any {
	if refused != nil {
		return refused
	}
	return reply
}

// terminal is the actor pty/<n>. It adopts its host when it starts and owns
// nothing: a successor carries on with the same child and screen.
type terminal struct {
	sys  *supervisor.System
	reg  *Registry
	id   messages.PTYID
	host *Host
}

// Receive implements actor.Actor.
func (t *terminal) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		t.host, _ = t.reg.Adopt(t.id)
		return
	}
	if t.host == nil {
		if ctx.Sender() != nil {
			ctx.Respond(unknown(t.id))
		}
		return
	}
	switch msg := ctx.Message().(type) {
	case messages.SendPTY:
		t.send(ctx, msg)
	case messages.ReadPTY:
		t.read(ctx, msg)
	case messages.ResizePTY:
		ctx.Respond(answer(t.reg.Resize(t.host, msg.Cols, msg.Rows)))
	case messages.HoldPTY:
		ctx.Respond(answer(t.host.Hold(msg)))
	case messages.RecordPTY:
		later(t.sys, ctx.Sender(), func() any { return answer(t.host.Recorded()) })
	case messages.ClosePTY:
		t.close(ctx, msg.Key)
	}
}

// send queues in the handler, which keeps the order, and answers later.
func (t *terminal) send(ctx actor.Context, msg messages.SendPTY) {
	finish, refused := t.host.queue(msg)
	if refused != nil {
		ctx.Respond(refused)
		return
	}
	later(t.sys, ctx.Sender(), func() any { return answer(finish(context.Background())) })
}

// read begins in the handler, which keeps the order, and answers at once when
// there is nothing to wait for.
func (t *terminal) read(ctx actor.Context, msg messages.ReadPTY) {
	finish, refused := t.host.look(msg)
	switch {
	case refused != nil:
		ctx.Respond(refused)
	case msg.Wait == nil:
		ctx.Respond(finish(context.Background()))
	default:
		later(t.sys, ctx.Sender(), func() any { return finish(context.Background()) })
	}
}

// close ends the terminal, and then the actor.
func (t *terminal) close(ctx actor.Context, key string) {
	self, sys, reg, id := ctx.Self(), t.sys, t.reg, t.id
	c, first := reg.begin(key)
	if !first {
		later(sys, ctx.Sender(), c.wait)
		return
	}
	later(sys, ctx.Sender(), func() any {
		closed, refused := reg.Close(context.Background(), id)
		sys.Root().Stop(self)
		return c.end(answer(closed, refused))
	})
}
