package supervisor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/asynkron/protoactor-go/actor"
)

// Stop stops an actor and all below it and waits until they have handled
// Stopped, or until ctx ends; then it says who still lives. Messages that wait
// in the mailboxes are answered with *Failed. An actor that is gone already is
// no error. Never call it in an actor's handler; use ctx.Stop there.
func (s *System) Stop(ctx context.Context, pid *actor.PID) error {
	s.mu.Lock()
	g := s.guards[pid.GetId()]
	if g == nil {
		s.mu.Unlock()
		return nil
	}
	if g.gone == nil {
		g.gone = make(chan struct{})
	}
	gone := g.gone
	s.mu.Unlock()

	g.box.PostSystemMessage(&actor.Stop{})
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("stop %s: still live: %s: %w", g.name, s.liveBelow(g.name), ctx.Err())
	}
}

// maxNamed is how many names an error message lists.
const maxNamed = 8

// liveBelow lists live actors at and below a name, shortened.
func (s *System) liveBelow(name string) string {
	var below []string
	for _, live := range s.Live() {
		if live == name || strings.HasPrefix(live, name+"/") {
			below = append(below, live)
		}
	}
	if len(below) > maxNamed {
		below = append(below[:maxNamed], fmt.Sprintf("and %d more", len(below)-maxNamed))
	}
	return strings.Join(below, ", ")
}

// Shutdown stops every top supervisor, and with it every actor, and waits for
// them and for running callbacks, or until ctx ends. No actor can be spawned
// afterwards. Calling it again is safe and waits for what is left.
func (s *System) Shutdown(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	var tops []string
	for name, g := range s.guards {
		if g.parent == nil {
			tops = append(tops, name)
			g.box.PostSystemMessage(&actor.Stop{})
		}
	}
	s.mu.Unlock()

	var errs []error
	for _, name := range tops {
		errs = append(errs, s.Stop(ctx, s.PID(name)))
	}
	errs = append(errs, s.calls.wait(ctx))
	s.pool.close()
	return errors.Join(errs...)
}

// kill makes the actor that gets it panic.
type kill struct{}

// Kill makes the actor with this full name panic when its turn comes, as if
// with a message that it cannot handle. It is for tests of what survives.
func (s *System) Kill(name string) { s.Tell(s.PID(name), kill{}) }

// KillStop stops the actor with this full name and what is below it, for good,
// without waiting. It is for tests of what survives.
func (s *System) KillStop(name string) {
	if g := s.guardOf(name); g != nil {
		g.box.PostSystemMessage(&actor.Stop{})
	}
}
