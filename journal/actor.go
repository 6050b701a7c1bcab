package journal

import (
	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

// NewActor makes actors that answer messages.Append with messages.Appended. The
// reply leaves from the store's writer, so it comes also when the actor that
// took the request has died; asking again with the same key is harmless.
func NewActor(sys *supervisor.System, st *Store) func() actor.Actor {
	return func() actor.Actor { return &shell{sys, st} }
}

type shell struct {
	sys *supervisor.System
	st  *Store
}

func (a *shell) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case messages.Append:
		a.append(ctx.Sender(), msg)
	}
}

func (a *shell) append(to *actor.PID, msg messages.Append) {
	a.st.Append(msg.Record, func(done messages.Appended) {
		if to != nil {
			a.sys.Reply(to, done)
		}
	})
}
