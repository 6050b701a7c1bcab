package bus

import (
	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/supervisor"
)

// NewActor makes actors that stand for the bus in the tree. They take no
// messages: events come through Deliver and PublishMemory, which no crash
// interrupts. When such an actor is restarted, so is the server.
func NewActor(_ *supervisor.System, b *Bus) func() actor.Actor {
	return func() actor.Actor { return &shell{b} }
}

type shell struct{ bus *Bus }

func (a *shell) Receive(ctx actor.Context) {
	switch ctx.Message().(type) {
	case *actor.Restarting:
		a.bus.restartLater()
	}
}
