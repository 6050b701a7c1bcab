package supervisor

import (
	"context"
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

func BenchmarkAsk(b *testing.B) {
	s := shared()
	pid := top(b, s, Spec{Name: "bench-ask"})
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Ask(ctx, s, pid, ping{1}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTell(b *testing.B) {
	s := shared()
	pid := top(b, s, Spec{Name: "bench-tell"})
	b.ReportAllocs()
	for b.Loop() {
		s.Tell(pid, 1)
	}
	if _, err := Ask(context.Background(), s, pid, ping{1}); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkSpawn starts a child and stops it, named as tasks are.
func BenchmarkSpawn(b *testing.B) {
	s := shared()
	parent := top(b, s, Spec{Name: "bench-spawn"})
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		n++
		spec := Spec{Name: fmt.Sprint(n), New: func() actor.Actor { return fn(func(actor.Context) {}) }}
		done := make(chan *actor.PID, 1)
		s.Tell(parent, do{func(ctx actor.Context) {
			pid, _ := s.SpawnChild(ctx, spec)
			done <- pid
		}})
		if err := s.Stop(context.Background(), <-done); err != nil {
			b.Fatal(err)
		}
	}
}
