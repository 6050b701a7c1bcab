package supervisor

import (
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/asynkron/protoactor-go/actor"
)

// ErrShutdown is what Spawn returns once Shutdown has begun.
var ErrShutdown = errors.New("actor system is shut down")

// ErrNameTaken is what Spawn returns when the name is in use.
var ErrNameTaken = errors.New("name is taken")

// Options configures a System; the zero value works.
type Options struct {
	// Log takes failures and the library's own lines; nil discards them.
	Log *slog.Logger
	// Chaos makes actors fail in tests; nil never does.
	Chaos Chaos
	// OnEvent is told of restarts and give-ups, one event at a time and in
	// order, on a goroutine that is no actor's. It may block.
	OnEvent func(Event)
}

// Chaos decides whether an actor panics at a message, asked once before the
// handler runs (the message is then not processed) and once after it has
// returned (processed, but the actor does not live to tell). Lifecycle messages
// are included. It is called from many goroutines.
type Chaos func(actor string, msg any, after bool) bool

// System is the one actor system of a process.
type System struct {
	as       *actor.ActorSystem
	log      *slog.Logger
	chaos    Chaos
	strategy *strategy
	events   events
	calls    calls
	pool     *pool

	mu     sync.Mutex
	guards map[string]*guard // by full name, from reservation until Stopped was handled
	heired map[string]*guard // by full name, as long as a successor waits for their end
	closed bool
}

// New starts an empty actor system. It costs some milliseconds and megabytes.
func New(o Options) *System {
	s := &System{log: o.Log, chaos: o.Chaos, guards: map[string]*guard{}, heired: map[string]*guard{}, pool: newPool()}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	s.events = events{fn: o.OnEvent, calls: &s.calls}
	s.calls.log = s.log
	s.strategy = &strategy{}
	s.as = actor.NewActorSystem(
		actor.WithLoggerFactory(func(*actor.ActorSystem) *slog.Logger {
			return slog.New(quiet{s.log.Handler()})
		}),
		actor.WithDeadLetterRequestLogging(false),
		actor.WithDeadLetterThrottleCount(deadLetterLines),
		actor.WithDeadLetterThrottleInterval(deadLetterPeriod),
	)
	s.as.EventStream.Subscribe(s.onDeadLetter)
	return s
}

// At most deadLetterLines log lines on dead letters are written per period. The
// library spends a goroutine on every period with a dead letter in it.
const (
	deadLetterLines  = 3
	deadLetterPeriod = 100 * time.Millisecond
)

// onDeadLetter answers whoever asked an address that nobody has. The library
// answers too, but without the request; guards and reply processes drop that.
//
// A stop for an actor that the library knows no more still counts as long as its
// parent has not heard of its end: it calls a successor off.
func (s *System) onDeadLetter(event any) {
	dead, ok := event.(*actor.DeadLetterEvent)
	if !ok {
		return
	}
	switch dead.Message.(type) {
	case *actor.Stop, *actor.PoisonPill:
		s.lateStop(dead.PID.GetId())
	}
	if dead.Sender != nil {
		s.Reply(dead.Sender, &Failed{Request: dead.Message, Actor: dead.PID.GetId(), Reason: reasonDead})
	}
}

func (s *System) lateStop(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if g := s.heired[name]; g != nil {
		g.box.stops.Add(1)
	} else if g := s.guards[name]; g != nil {
		g.box.stops.Add(1)
	}
}

// Root is the library's context for code that is no actor.
func (s *System) Root() *actor.RootContext { return s.as.Root }

// PID is the address of the actor with this full name, such as
// "kernel/sessions/session-default". The name need not be in use yet, and the
// address holds across restarts and successors.
func (s *System) PID(name string) *actor.PID { return s.as.NewLocalPID(name) }

// Tell sends msg one way, from outside any actor. To a nil address it does
// nothing.
func (s *System) Tell(to *actor.PID, msg any) {
	if to != nil {
		s.as.Root.Send(to, msg)
	}
}

// Reply answers a request after its handler has returned: keep ctx.Sender()
// and pass it as to. It may be called from any goroutine and more than once;
// only the first answer counts for Await. To a nil address it does nothing.
func (s *System) Reply(to *actor.PID, msg any) { s.Tell(to, msg) }

// After sends msg to an actor, usually oneself, when d has passed. After cancel
// returns, the message may still be on its way; put an epoch in it if that
// matters.
func (s *System) After(d time.Duration, to *actor.PID, msg any) (cancel func()) {
	timer := time.AfterFunc(d, func() { s.Tell(to, msg) })
	return func() { timer.Stop() }
}

// Live is the sorted full names of all actors that have been spawned and have
// not handled Stopped yet.
func (s *System) Live() []string {
	s.mu.Lock()
	names := make([]string, 0, len(s.guards))
	for name := range s.guards {
		names = append(names, name)
	}
	s.mu.Unlock()
	slices.Sort(names)
	return names
}

// guardOf finds the guard of the actor that has the name now, or nil.
func (s *System) guardOf(name string) *guard {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.guards[name]
}

// release frees the name of g and wakes those who wait for its end.
func (s *System) release(g *guard) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.guards[g.name] == g {
		delete(s.guards, g.name)
	}
	if g.gone != nil {
		close(g.gone)
		g.gone = nil
	}
}

// Go runs fn on one of the goroutines that run actors; it never waits. It is
// cheaper than a new goroutine, whose stack has to grow first.
func (s *System) Go(fn func()) { s.pool.Schedule(fn) }
