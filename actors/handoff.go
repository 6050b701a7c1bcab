package actors

import (
	"context"
	"fmt"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/messages"
)

// handOver is the answer that gives a run to its task.
func (r *Run) handOver() messages.Handed {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handOverLocked()
}

func (r *Run) handOverLocked() messages.Handed {
	h := messages.Handed{Task: r.id(), Events: r.id().Channel()}
	if !r.background {
		h.TimedOut, h.Detached = true, true
		if r.state == messages.TaskQueued {
			h.Detached, h.State = false, string(messages.TaskQueued)
		}
	}
	return h
}

// budgetSpent hands a run over whose caller waits no longer. One that is
// queued keeps its place; one that runs leaves the line.
func (s *session) budgetSpent(ctx actor.Context, num uint64) {
	r := s.find(num)
	if r == nil {
		return
	}
	s.h.mu.Lock()
	running := s.h.current == r
	r.mu.Lock()
	if r.evaluated || r.background || r.detached {
		r.mu.Unlock()
		s.h.mu.Unlock()
		return
	}
	if !running {
		r.overdue = true
	} else {
		r.detached = true
	}
	first := !r.handed
	r.handed, r.persisted = true, true
	r.mu.Unlock()
	s.h.mu.Unlock()
	s.recordHandOver(r, running, first)
	if running {
		s.free(ctx, r)
	}
}

// recordHandOver writes what the finished statements changed and the task's
// record; the answer follows.
func (s *session) recordHandOver(r *Run, running, first bool) {
	h := s.h
	var rows []messages.Row
	if running {
		h.mu.Lock()
		changes := h.state.TakeChanges()
		h.mu.Unlock()
		rows = h.changeRows(changes)
	}
	r.mu.Lock()
	rows = append(rows, row(tableTask, numKey(r.num), taskRow{r.recordLocked(), r.entry}))
	event := r.taskEventLocked()
	r.mu.Unlock()
	step := "turn"
	if first {
		step = "handover"
	}
	self := h.d.sessionPID(h.name)
	h.d.Journal.Append(messages.Record{
		Key: fmt.Sprintf("task-%d-%s", r.num, step), Rows: rows, Events: []messages.Draft{event},
	}, func(a messages.Appended) {
		r.mu.Lock()
		if a.Err != nil && !r.ready {
			r.result, r.ready = messages.ExecResult{Key: r.key, Err: a.Err}, true
		}
		r.handedOK = true
		r.mu.Unlock()
		h.d.Sys.Tell(self, handedOver{r.num})
	})
}

// abandon counts a lost caller as a spent budget.
func (s *session) abandon(ctx actor.Context, m messages.AbandonExec) {
	s.h.mu.Lock()
	r := s.h.byKey[m.Key]
	s.h.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	r.waiters = nil
	r.mu.Unlock()
	s.budgetSpent(ctx, r.num)
}

// deadlineMet cancels a run whose hard limit has passed.
func (s *session) deadlineMet(num uint64) {
	if r := s.find(num); r != nil {
		s.tasks.cancel(r, errDeadline)
		s.skip(num)
	}
}

// skip ends a run that was cancelled while it waited in the line: it is
// started only to find that out, beside the line.
func (s *session) skip(num uint64) {
	r := s.find(num)
	if r == nil {
		return
	}
	s.h.mu.Lock()
	queued := false
	for i, waiting := range s.h.line {
		if waiting == r {
			s.h.line = append(s.h.line[:i:i], s.h.line[i+1:]...)
			r.fork = s.h.state.Fork()
			queued = true
			break
		}
	}
	s.h.mu.Unlock()
	if queued {
		r.mu.Lock()
		r.detached = true
		r.mu.Unlock()
		s.launch(r)
	}
}

// apply takes the application of a plan into the line.
func (s *session) apply(ctx actor.Context, m messages.ApplyPlan, to *actor.PID, loadErr *messages.Error) {
	if s.again(ctx, m.Key, to) {
		return
	}
	if loadErr != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: loadErr})
		return
	}
	r, err := s.newRun(messages.Exec{
		Key: m.Key, Conn: m.Conn, Principal: m.Principal,
		Params: messages.ExecParams{Elide: m.Elide},
	}, to)
	if err != nil {
		s.h.d.Sys.Reply(to, messages.ExecResult{Key: m.Key, Err: err})
		return
	}
	r.kind, r.planRef = messages.EntryApply, m.PlanRef
	s.enter(ctx, r)
}

// claim takes the run's plan from the plan store, in a goroutine.
func (s *session) claim(ctx actor.Context, r *Run) {
	h, self := s.h, ctx.Self()
	go func() {
		actx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		a, err := askAgain[messages.PlanAnswer](actx, h.d.Sys, h.d.plansPID(), messages.ClaimPlan{
			Key: r.key, PlanRef: r.planRef, Session: h.name, Principal: r.principal,
		})
		if err != nil {
			a.Err = messages.Errorf(messages.CodeInterrupted, "the plan store did not answer: %v", err)
		}
		r.mu.Lock()
		if a.Err != nil {
			r.result = messages.ExecResult{Key: r.key, Err: a.Err}
			r.evaluated, r.ready, r.state = true, true, messages.TaskFailed
			closeOnce(r.done)
		} else {
			r.plan = &a.Plan
			r.params.Src, r.params.Position = a.Plan.Source, a.Plan.Position
			if n := len(a.Plan.Approvals); n > 0 {
				r.approver = a.Plan.Approvals[n-1].Approver
			}
		}
		r.mu.Unlock()
		h.d.Sys.Tell(self, planClaimed{r.num})
	}()
}

// planClaimed starts the application in the plan's directory.
func (s *session) planClaimed(ctx actor.Context, num uint64) {
	r := s.find(num)
	if r == nil {
		return
	}
	r.mu.Lock()
	plan := r.plan
	r.mu.Unlock()
	if plan == nil {
		s.moved(ctx, num)
		s.h.d.Sys.Tell(s.h.d.tasksPID(), runMoved{num})
		return
	}
	r.fork.SetCwd(plan.Cwd)
	s.launch(r)
}
