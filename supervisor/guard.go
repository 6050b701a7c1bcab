package supervisor

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"

	"github.com/asynkron/protoactor-go/actor"
)

// phase is where an actor stands in its life.
type phase uint8

const (
	starting phase = iota // a fresh instance that has not handled Started
	running               // handles messages
	down                  // failed or restarting: the instance gets no more messages
	stopping              // Stopping was delivered; children may still live
	stopped               // Stopped was delivered
)

func (p phase) maySpawn() bool { return p == starting || p == running }
func (p phase) ending() bool   { return p >= stopping }

// guard stands between the library and one spawned actor, for all of the
// actor's instances. It sees what the mailbox hands to the library (as the
// mailbox's invoker) and what the library hands to the actor (as receiver
// middleware; lifecycle messages appear only there).
//
// Fields without a note belong to the goroutine that runs the mailbox.
type guard struct {
	sys    *System
	parent *guard // immutable; nil for a top supervisor
	name   string // immutable
	spec   Spec   // immutable
	box    *mailbox
	lib    actor.MessageInvoker // the library's context of the actor

	phase      phase
	successors map[string]successor // children to start when their name is free

	history history                // of the strategy, which runs in the parent
	verdict atomic.Pointer[string] // the last failure, once the budget is spent
	gone    chan struct{}          // guarded by sys.mu; made by the first who waits
}

// successor is a child that waits for the end of old. It is called off if old
// has been told to stop more often than stops.
type successor struct {
	old   *guard
	stops int32
	spec  Spec
}

func newGuard(s *System, parent *guard, name string, spec Spec) *guard {
	g := &guard{sys: s, parent: parent, name: name, spec: spec, history: history{Restart: spec.Restart.withDefaults()}}
	g.box = &mailbox{guard: g}
	return g
}

// InvokeSystemMessage passes on what the mailbox has for the library.
func (g *guard) InvokeSystemMessage(msg any) {
	switch msg := msg.(type) {
	case *actor.Restart:
		if g.phase.ending() {
			return // it would overwrite the stop, or revive what is gone
		}
	case *actor.Terminated:
		// Told of the end of a child whose name a new child already has: the
		// library knows children by name and would forget the new one.
		if child := g.sys.guardOf(msg.Who.GetId()); child != nil && child.parent == g {
			return
		}
	}
	g.lib.InvokeSystemMessage(msg)
}

// InvokeUserMessage passes on a message for the actor, or refuses it.
func (g *guard) InvokeUserMessage(msg any) {
	if g.phase.ending() {
		g.refuse(msg)
		return
	}
	switch body := actor.UnwrapEnvelopeMessage(msg).(type) {
	case kill:
		panic("killed")
	case *actor.PoisonPill:
	case *actor.DeadLetterResponse:
		return // a *Failed with the request comes as well
	case actor.AutoReceiveMessage, actor.SystemMessage:
		// Only the library may say these, and it does not say them here.
		g.sys.log.Warn("lifecycle message from outside dropped", "actor", g.name, "type", fmt.Sprintf("%T", body))
		return
	}
	g.lib.InvokeUserMessage(msg)
}

// refuse answers a message that found the actor stopping or stopped.
func (g *guard) refuse(msg any) {
	reason := reasonStopping
	if g.phase == stopped {
		reason = reasonStopped
	}
	g.fail(msg, reason)
}

// fail answers the message with a *Failed if it has a sender.
func (g *guard) fail(msg any, reason string) {
	if env, ok := msg.(*actor.MessageEnvelope); ok && env.Sender != nil {
		g.sys.Reply(env.Sender, &Failed{Request: env.Message, Actor: g.name, Reason: reason})
	}
}

// EscalateFailure is called by the mailbox, inside the recovery of the panic
// that msg caused. It holds the mailbox, answers the asker and tells the parent.
func (g *guard) EscalateFailure(reason, msg any) {
	text := g.logPanic(reason, msg)
	if g.phase.ending() {
		return
	}
	g.phase = down
	g.box.hold(true)
	g.fail(msg, text)
	g.lib.EscalateFailure(&failure{guard: g, reason: text}, nil)
}

// middleware wraps the actor's handler.
func (g *guard) middleware(next actor.ReceiverFunc) actor.ReceiverFunc {
	if chaos := g.sys.chaos; chaos != nil {
		next = g.withChaos(chaos, next)
	}
	return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
		switch msg := env.Message.(type) {
		case *actor.Started:
			g.phase = starting
			next(ctx, env)
			g.phase = running
			g.box.hold(false)
		case *actor.Restarting:
			g.phase = down
			g.noSuccessors()
			g.box.hold(true)
			g.swallow(next, ctx, env)
		case *actor.Stopping:
			g.phase = stopping
			g.noSuccessors()
			g.box.hold(false) // what is queued is refused
			g.swallow(next, ctx, env)
		case *actor.Stopped:
			g.phase = stopped
			g.swallow(next, ctx, env)
			g.finish()
		case *actor.Terminated:
			if g.phase == running && !g.succeed(ctx, msg.Who) {
				next(ctx, env)
			}
		default:
			next(ctx, env)
		}
	}
}

func (g *guard) withChaos(chaos Chaos, next actor.ReceiverFunc) actor.ReceiverFunc {
	return func(ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
		if chaos(g.name, env.Message, false) {
			panic("chaos before the handler")
		}
		next(ctx, env)
		if chaos(g.name, env.Message, true) {
			panic("chaos after the handler")
		}
	}
}

// swallow runs a lifecycle handler whose panic must not stop the lifecycle.
func (g *guard) swallow(next actor.ReceiverFunc, ctx actor.ReceiverContext, env *actor.MessageEnvelope) {
	defer func() {
		if r := recover(); r != nil {
			g.logPanic(r, env)
		}
	}()
	next(ctx, env)
}

// succeedLater notes that a child with this spec shall follow old.
func (g *guard) succeedLater(old *guard, stops int32, spec Spec) {
	if g.successors == nil {
		g.successors = map[string]successor{}
	}
	g.successors[old.name] = successor{old: old, stops: stops, spec: spec}
	g.sys.mu.Lock()
	g.sys.heired[old.name] = old
	g.sys.mu.Unlock()
}

// noSuccessor says that nothing follows the child of that name any more.
func (g *guard) noSuccessor(name string) {
	delete(g.successors, name)
	g.sys.mu.Lock()
	delete(g.sys.heired, name)
	g.sys.mu.Unlock()
}

// noSuccessors says so of every child.
func (g *guard) noSuccessors() {
	for name := range g.successors {
		g.noSuccessor(name)
	}
}

// succeed starts the successor of the child that has ended, if there is one;
// then the actor need not hear of the end.
func (g *guard) succeed(ctx actor.ReceiverContext, who *actor.PID) bool {
	next, ok := g.successors[who.GetId()]
	if !ok {
		return false
	}
	g.noSuccessor(who.GetId())
	if next.old.box.stops.Load() != next.stops {
		return false
	}
	whole, ok := ctx.(actor.Context)
	if !ok {
		return false
	}
	if _, err := g.sys.spawnChild(whole, newGuard(g.sys, g, next.old.name, next.spec)); err != nil {
		g.sys.log.Error("successor not started", "actor", next.old.name, "err", err)
		return false
	}
	return true
}

// finish is the last thing that happens to an actor that was stopped, before
// its watchers and its parent are told. A Shutdown that the release wakes must
// still wait for the callbacks that follow it.
func (g *guard) finish() {
	g.sys.calls.begin()
	defer g.sys.calls.done()
	g.sys.release(g)
	if reason := g.verdict.Load(); reason != nil {
		g.sys.events.emit(Event{Kind: EventGaveUp, Actor: g.name, Reason: *reason})
		if g.spec.GaveUp != nil {
			g.sys.calls.run(func() { g.spec.GaveUp(*reason) })
		}
	}
}

// logPanic logs a recovered panic and returns its text. Of the message it logs
// the type only: messages hold what users typed.
func (g *guard) logPanic(reason, msg any) string {
	text := clip(fmt.Sprint(reason))
	if g.sys.log.Enabled(context.Background(), slog.LevelError) {
		g.sys.log.Error("actor failed", "actor", g.name, "reason", text,
			"message", fmt.Sprintf("%T", actor.UnwrapEnvelopeMessage(msg)), "stack", string(debug.Stack()))
	}
	return text
}

// maxReason bounds the text of a failure, in bytes.
const maxReason = 2048

func clip(text string) string {
	if len(text) > maxReason {
		return text[:maxReason] + "…"
	}
	return text
}
