package supervisor

import (
	"errors"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"
)

// Spec describes an actor to spawn.
type Spec struct {
	// Name is the last element of the full name; a child's full name is its
	// parent's, a slash, and this.
	Name string
	// New makes an instance, once per start. It must be pure: what it acquired
	// would not be released. State that must survive a restart lives in a struct
	// that New closes over.
	New func() actor.Actor
	// Restart is the policy for this actor when it fails itself.
	Restart Restart
	// GaveUp is called once, on a goroutine of its own, when the budget is spent
	// and the actor is gone. Reason is the last failure as a string.
	GaveUp func(reason any)
}

func (spec Spec) check() error {
	switch {
	case spec.Name == "":
		return errors.New("no name")
	case spec.New == nil:
		return errors.New("no constructor")
	}
	return nil
}

// Spawn starts a top supervisor. If the name is taken it returns the holder's
// address and ErrNameTaken.
func (s *System) Spawn(spec Spec) (*actor.PID, error) {
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("spawn %q: %w", spec.Name, err)
	}
	g := newGuard(s, nil, spec.Name, spec)
	if holder, err := s.reserve(g); err != nil {
		return nil, fmt.Errorf("spawn %s: %w", g.name, err)
	} else if holder != nil {
		return s.PID(g.name), fmt.Errorf("spawn %s: %w", g.name, ErrNameTaken)
	}
	return s.launch(g, s.as.Root.SpawnNamed, actor.WithGuardian(s.strategy))
}

// SpawnChild starts a child of the actor whose handler calls it. If a child has
// the name already, it returns that child's address and no error. If that child
// is being stopped, the new one starts as soon as the old one is gone, and the
// parent is not told of the old one's end; until then requests to the address
// are answered with *Failed. Another Stop in the meantime cancels the successor.
func (s *System) SpawnChild(ctx actor.Context, spec Spec) (*actor.PID, error) {
	name := ctx.Self().GetId() + "/" + spec.Name
	if err := spec.check(); err != nil {
		return nil, fmt.Errorf("spawn %s: %w", name, err)
	}
	parent := s.guardOf(ctx.Self().GetId())
	if parent == nil || !parent.phase.maySpawn() {
		return nil, fmt.Errorf("spawn %s: parent is going down", name)
	}
	return s.spawnChild(ctx, newGuard(s, parent, name, spec))
}

func (s *System) spawnChild(ctx actor.Context, g *guard) (*actor.PID, error) {
	holder, err := s.reserve(g)
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", g.name, err)
	}
	if holder != nil {
		if stops := holder.box.stops.Load(); stops > 0 {
			g.parent.succeedLater(holder, stops, g.spec)
		}
		return s.PID(g.name), nil
	}
	return s.launch(g, ctx.SpawnNamed)
}

// reserve enters g under its name, or says who holds the name. The library
// would call the constructor before it finds the name taken.
func (s *System) reserve(g *guard) (holder *guard, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrShutdown
	}
	if holder := s.guards[g.name]; holder != nil {
		return holder, nil
	}
	s.guards[g.name] = g
	return nil, nil
}

// launch spawns the reserved actor of g. The library calls the constructor in
// the caller's goroutine, so its panic is caught here.
func (s *System) launch(g *guard, named func(*actor.Props, string) (*actor.PID, error), more ...actor.PropsOption) (pid *actor.PID, err error) {
	defer func() {
		if r := recover(); r != nil {
			pid, err = nil, fmt.Errorf("spawn %s: constructor panicked: %v", g.name, r)
		}
		if err != nil {
			s.release(g)
		}
	}()
	// Props are made per spawn, as the guard's state is.
	props := actor.PropsFromProducer(g.spec.New,
		actor.WithMailbox(func() actor.Mailbox { return g.box }),
		actor.WithDispatcher(s.pool),
		actor.WithReceiverMiddleware(g.middleware),
		actor.WithSupervisor(s.strategy))
	pid, err = named(props.Configure(more...), g.spec.Name)
	if err != nil {
		return nil, fmt.Errorf("spawn %s: %w", g.name, err)
	}
	return pid, nil
}
