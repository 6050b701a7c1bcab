package supervisor

import (
	"fmt"
	"sync"
	"testing"

	"github.com/asynkron/protoactor-go/actor"
)

// The library registers an actor before its mailbox can take a post, and a post
// in between crashes the sender.
func TestSendingToANameThatIsJustBeingSpawned(t *testing.T) {
	s := shared()
	const names, senders = 1000, 2
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for i := range names {
				pid := s.PID(fmt.Sprint("fresh-", i))
				for {
					if _, err := Ask(within(t), s, pid, ping{i}); err == nil {
						break
					}
				}
			}
		})
	}
	for i := range names {
		pid, err := s.Spawn(Spec{Name: fmt.Sprint("fresh-", i), New: counted(nil)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Stop(within(t), pid)
	}
	wg.Wait()
}

func TestPostsBeforeStartAreHeldBehindStarted(t *testing.T) {
	s := shared()
	g := newGuard(s, nil, "held", Spec{Name: "held", New: counted(nil)})
	lib := &recorder{}
	g.box.PostUserMessage("one")
	g.box.PostSystemMessage(&actor.Watch{})
	g.box.RegisterHandlers(lib, actor.NewDefaultDispatcher(300))
	g.box.PostUserMessage("two")
	g.box.PostSystemMessage(&actor.Started{})
	if n := len(lib.all()); n != 0 {
		t.Fatalf("%d messages were delivered before the start", n)
	}
	if n := g.box.UserMessageCount(); n != 2 {
		t.Errorf("got %d messages waiting, want 2", n)
	}
	g.box.Start()
	eventually(t, "delivered", func() bool { return len(lib.all()) == 4 })
	want := "[*actor.Started *actor.Watch string string]"
	if got := fmt.Sprint(lib.all()); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// recorder notes the types of what the library would get.
type recorder struct {
	mu  sync.Mutex
	got []string
}

func (r *recorder) note(msg any) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.got = append(r.got, fmt.Sprintf("%T", msg))
}

func (r *recorder) all() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]string(nil), r.got...)
}

func (r *recorder) InvokeSystemMessage(msg any)   { r.note(msg) }
func (r *recorder) InvokeUserMessage(msg any)     { r.note(msg) }
func (r *recorder) EscalateFailure(reason, _ any) { r.note(reason) }

func TestMessagesOfOneSenderKeepTheirOrder(t *testing.T) {
	s := shared()
	const senders, each = 8, 2000
	type numbered struct{ sender, n int }
	var next [senders]int
	wrong := 0
	pid := top(t, s, Spec{New: counted(func(ctx actor.Context, _ int) {
		if m, ok := ctx.Message().(numbered); ok {
			if next[m.sender] != m.n {
				wrong++
			}
			next[m.sender] = m.n + 1
		}
	})})
	var wg sync.WaitGroup
	for sender := range senders {
		wg.Go(func() {
			for n := range each {
				s.Tell(pid, numbered{sender, n})
			}
		})
	}
	wg.Wait()
	result := make(chan [2]int, 1)
	s.Tell(pid, do{func(actor.Context) {
		total := 0
		for _, n := range next {
			total += n
		}
		result <- [2]int{total, wrong}
	}})
	if got, want := recv(t, result), [2]int{senders * each, 0}; got != want {
		t.Errorf("got %v messages and inversions, want %v", got, want)
	}
}

func TestQueue(t *testing.T) {
	var q queue
	next, want := 0, 0
	// Pushes outrun pops at first, then the queue runs around without ever
	// being empty, then it drains.
	for round := range 5000 {
		q.push(next)
		next++
		if round%3 != 0 || round > 1000 {
			if got := q.pop(); got != want {
				t.Fatalf("round %d: got %v, want %d", round, got, want)
			}
			want++
		}
	}
	if c := cap(q.items); c > 4*q.len() {
		t.Errorf("capacity %d for %d items", c, q.len())
	}
	for q.len() > 0 {
		if got := q.pop(); got != want {
			t.Fatalf("got %v, want %d", got, want)
		}
		want++
	}
	if want != next || cap(q.items) > keepCap {
		t.Errorf("got %d of %d items, capacity %d after draining", want, next, cap(q.items))
	}
	q.push(2)
	q.pushFront(1)
	if a, b := q.pop(), q.pop(); a != 1 || b != 2 {
		t.Errorf("got %v, %v, want 1, 2", a, b)
	}
}
