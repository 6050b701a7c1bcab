package bus

import (
	"slices"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/supervisor"
)

type parent struct {
	sys *supervisor.System
	bus *Bus
}

func (p *parent) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		if _, err := p.sys.SpawnChild(ctx, supervisor.Spec{Name: "bus", New: NewActor(p.sys, p.bus)}); err != nil {
			panic(err)
		}
	}
}

func TestRestartedActorRestartsTheServer(t *testing.T) {
	dir := t.TempDir()
	b := open(t, Options{KernelID: "k1", Listen: "127.0.0.1:0", RuntimeDir: dir})
	k := &book{bus: b}
	sub := subscribe(t, client(t, dir), "shoal.k1.>")
	old := b.server.current()
	sys := supervisor.New(supervisor.Options{})
	defer sys.Shutdown(t.Context())
	top, err := sys.Spawn(supervisor.Spec{Name: "kernel", New: func() actor.Actor { return &parent{sys, b} }})
	if err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the actor lives", func() bool { return slices.Contains(sys.Live(), top.Id+"/bus") })
	sys.Kill(top.Id + "/bus")
	waitFor(t, "there is another server", func() bool { return b.server.current() != old })
	k.publish(userX)
	if m, err := sub.NextMsg(20 * time.Second); err != nil || m.Header.Get("Shoal-Seq") != "0" {
		t.Fatalf("message %+v %v", m, err)
	}
}
