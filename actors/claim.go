package actors

import (
	"context"
	"time"

	"shoal.dev/shoal/messages"
)

// claimTimeout bounds the wait for the plan store.
const claimTimeout = 10 * time.Second

// claim takes the run's plan from the plan store. It blocks and runs in a
// goroutine of its own.
func (s *session) claim(r *Run) {
	h := s.h
	ctx, cancel := context.WithTimeout(context.Background(), claimTimeout)
	defer cancel()
	a, err := askAgain[messages.PlanAnswer](ctx, h.d.Sys, h.d.plansPID(), messages.ClaimPlan{
		Key: r.key, PlanRef: r.planRef, Session: h.name, Principal: r.principal, Source: r.params.Src,
	})
	if err != nil {
		a.Err = asRefusal(err, "the plan store did not answer")
	}
	if a.Err != nil {
		newWorker(h.d, r).refuse(a.Err)
		return
	}
	r.mu.Lock()
	r.plan = &a.Plan
	r.params.Src, r.params.Position = a.Plan.Source, a.Plan.Position
	if n := len(a.Plan.Approvals); n > 0 {
		r.approver = a.Plan.Approvals[n-1].Approver
	}
	r.mu.Unlock()
	h.wake(r.num)
}
