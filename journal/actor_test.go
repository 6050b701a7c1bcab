package journal

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
)

func TestKillingTheActorLosesNothing(t *testing.T) {
	sys := supervisor.New(supervisor.Options{})
	defer sys.Shutdown(t.Context())
	s := open(t, options(t.TempDir()))
	top, err := sys.Spawn(supervisor.Spec{Name: "kernel", New: func() actor.Actor { return &parent{sys, s} }})
	if err != nil {
		t.Fatal(err)
	}
	name := top.Id + "/journal"
	const n = 120
	for i := range n {
		req := messages.Append{Record: messages.Record{Key: fmt.Sprint(i), Events: []messages.Draft{draft("", "kernel", fmt.Sprint(i))}}}
		if i%30 == 10 {
			sys.Kill(name)
		}
		appendThrough(t, sys, sys.PID(name), req, uint64(i))
	}
	if got, _ := s.Latest(messages.ChannelKey{Name: "kernel"}); got != n-1 {
		t.Errorf("latest %d, want %d", got, n-1)
	}
}

// appendThrough asks again, with the same key, as every asker does.
func appendThrough(t *testing.T, sys *supervisor.System, to *actor.PID, req messages.Append, want uint64) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for {
		a, err := supervisor.Ask(ctx, sys, to, req)
		if ctx.Err() != nil {
			t.Fatalf("append %q: %v", req.Record.Key, err)
		}
		if err != nil {
			continue
		}
		if a.Err != nil || len(a.Seqs) != 1 || a.Seqs[0] != want {
			t.Fatalf("append %q: %+v, want event %d", req.Record.Key, a, want)
		}
		return
	}
}

type parent struct {
	sys *supervisor.System
	st  *Store
}

func (p *parent) Receive(ctx actor.Context) {
	if _, ok := ctx.Message().(*actor.Started); ok {
		if _, err := p.sys.SpawnChild(ctx, supervisor.Spec{Name: "journal", New: NewActor(p.sys, p.st)}); err != nil {
			panic(err)
		}
	}
}
