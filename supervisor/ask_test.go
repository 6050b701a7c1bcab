package supervisor

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

func TestAskFailsAtOnceWhereNobodyIs(t *testing.T) {
	s := shared()
	gone := top(t, s, Spec{Name: "gone"})
	mustPong(t, Start(s, gone, ping{1}), 1) // gone now holds the process
	if err := s.Stop(within(t), gone); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		to   *actor.PID
	}{
		{"never existed", s.PID("never")},
		{"stopped, cached address", gone},
		{"stopped, fresh address", s.PID("gone")},
		{"nil address", nil},
		{"empty address", &actor.PID{}},
		{"other host", actor.NewPID("elsewhere:1", "x")},
	} {
		t.Run(tt.name, func(t *testing.T) { mustFail(t, Start(s, tt.to, ping{1}), ping{1}) })
	}
}

func TestAwaitTurnsAnswersIntoErrors(t *testing.T) {
	s := shared()
	refusal := messages.Errorf(messages.CodeQuota, "too many")
	plain := errors.New("plain")
	answers := []any{refusal, *refusal, plain, &Failed{Reason: "r"}, "a string", nil, &pong{}}
	pid := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		if msg, ok := ctx.Message().(pick); ok {
			ctx.Respond(answers[msg])
		}
	})})
	for i, check := range []func(error) bool{
		func(err error) bool { return errors.Is(err, refusal) },
		func(err error) bool { var e *messages.Error; return errors.As(err, &e) && e.Code == refusal.Code },
		func(err error) bool { return errors.Is(err, plain) },
		func(err error) bool { var f *Failed; return errors.As(err, &f) && f.Reason == "r" },
		func(err error) bool {
			return err.Error() == "ask "+pid.GetId()+": answer is a string, not a supervisor.pong"
		},
		func(err error) bool {
			return err.Error() == "ask "+pid.GetId()+": answer is a <nil>, not a supervisor.pong"
		},
		func(err error) bool {
			return err.Error() == "ask "+pid.GetId()+": answer is a *supervisor.pong, not a supervisor.pong"
		},
	} {
		if _, err := Ask(within(t), s, pid, pick(i)); err == nil || !check(err) {
			t.Errorf("answer %#v: got error %v", answers[i], err)
		}
	}
}

// pick asks for an answer by number.
type pick int

func (pick) Reply(pong) {}

// The library's futures race when one is answered twice. This test is for -race.
func TestSecondAnswerIsHarmless(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{Restart: patient, New: counted(func(ctx actor.Context, _ int) {
		if msg, ok := ctx.Message().(ping); ok {
			to := ctx.Sender()
			for range 3 {
				go s.Reply(to, pong{N: msg.N})
			}
			if msg.N%7 == 0 {
				ctx.Respond(pong{N: msg.N})
				panic("answered and failed")
			}
		}
	})})
	for i := range 500 {
		got, err := Ask(within(t), s, pid, ping{i})
		var failed *Failed
		if err != nil && !errors.As(err, &failed) || err == nil && got.N != i {
			t.Fatalf("ask %d: got %v, %v", i, got, err)
		}
	}
}

func TestAnswerAfterTheHandlerReturned(t *testing.T) {
	s := shared()
	askers := make(chan *actor.PID, 1)
	pid := top(t, s, Spec{New: func() actor.Actor {
		return fn(func(ctx actor.Context) {
			if _, ok := ctx.Message().(ping); ok {
				askers <- ctx.Sender()
			}
		})
	}})
	p := Start(s, pid, ping{1})
	s.Reply(recv(t, askers), pong{N: 1})
	mustPong(t, p, 1)
	s.Reply(nil, pong{}) // a Tell has no sender
}

func TestCancelledAwaitAbandonsTheReply(t *testing.T) {
	s := shared()
	askers := make(chan *actor.PID, 1)
	pid := top(t, s, Spec{New: func() actor.Actor {
		return fn(func(ctx actor.Context) {
			if _, ok := ctx.Message().(ping); ok {
				askers <- ctx.Sender()
			}
		})
	}})
	ctx, cancel := context.WithCancel(t.Context())
	p := Start(s, pid, ping{1})
	to := recv(t, askers)
	cancel()
	if _, err := p.Await(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want %v", err, context.Canceled)
	}
	if _, ok := s.as.ProcessRegistry.GetLocal(to.GetId()); ok {
		t.Error("reply process is still registered")
	}
	s.Reply(to, pong{N: 1})
}

// An answer that is there wins over a context that has ended.
func TestAwaitPrefersTheAnswer(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for i := range 50 {
		p := Start(s, pid, ping{i})
		eventually(t, "answered", func() bool { return len(p.reply.answer) == 1 })
		if got, err := p.Await(ctx); err != nil || got.N != i {
			t.Fatalf("got %v, %v, want pong %d", got, err, i)
		}
	}
}

func TestCancelAndAnswerAtTheSameMoment(t *testing.T) {
	s := shared()
	pid := top(t, s, Spec{})
	for i := range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		p := Start(s, pid, ping{i})
		go cancel()
		got, err := p.Await(ctx)
		if err == nil && got.N != i || err != nil && !errors.Is(err, context.Canceled) {
			t.Fatalf("ask %d: got %v, %v", i, got, err)
		}
		if _, ok := s.as.ProcessRegistry.GetLocal(p.reply.pid.GetId()); ok {
			t.Fatal("reply process is still registered")
		}
	}
}

// Requests that one goroutine starts arrive in that order, however their
// answers are awaited.
func TestStartedRequestsArriveInOrder(t *testing.T) {
	s := shared()
	var got []int
	pid := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		if msg, ok := ctx.Message().(ping); ok {
			got = append(got, msg.N)
		}
	})})
	var pending []*Pending[pong]
	for i := range 500 {
		pending = append(pending, Start(s, pid, ping{i}))
	}
	for i, p := range pending {
		mustPong(t, p, i)
	}
	order := make(chan string, 1)
	s.Tell(pid, do{func(actor.Context) {
		for i, n := range got {
			if i != n {
				order <- fmt.Sprintf("message %d came as number %d", n, i)
				return
			}
		}
		order <- ""
	}})
	if wrong := recv(t, order); wrong != "" {
		t.Error(wrong)
	}
}
