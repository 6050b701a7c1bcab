package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/messages"
)

// handOverLocked is the answer that gives a run to its task.
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

// handOver deals with a run whose budget is spent. One that is queued keeps its
// place; one that has the line leaves it. A run whose evaluation is over by then
// is left alone: its answer is on its way.
func (s *session) handOver(r *Run) {
	h := s.h
	h.mu.Lock()
	r.mu.Lock()
	if !r.spent || r.ending || r.evaluated || r.background || r.detached {
		r.mu.Unlock()
		h.mu.Unlock()
		return
	}
	step := "turn"
	if !r.handed {
		step = "handover"
	}
	r.handed, r.persisted = true, true
	running := h.current == r
	var changes interp.Changes
	if running {
		r.detached, r.handing = true, make(chan struct{})
		changes = h.state.TakeChanges()
	} else {
		r.spent, r.overdue = false, true
	}
	r.mu.Unlock()
	h.mu.Unlock()
	if !running {
		h.recordHandOver(r, step, nil, nil)
		return
	}
	// Encoding may take a while; the line is free, and the run may end, once
	// the record is with the journal.
	h.d.work("hand over", func() {
		rows, over := h.changeRows(changes, nil)
		if over != nil { // the run goes on, and its answer is not there yet
			r.note(messages.Note{Code: over.Code, Msg: over.Msg + "; " + over.Hint})
		}
		h.recordHandOver(r, step, rows, h.moveEvents(changes))
		h.handedOver(r, nil)
	}, func(err *messages.Error) { h.handedOver(r, err) })
}

func (h *sessionHost) handedOver(r *Run, err *messages.Error) {
	r.mu.Lock()
	if err != nil {
		r.handErr = err
	}
	close(r.handing)
	r.mu.Unlock()
	h.wake(r.num)
}

// recordHandOver writes what the finished statements changed and the task's
// record; the answer follows.
func (h *sessionHost) recordHandOver(r *Run, step string, rows []messages.Row, events []messages.Draft) {
	r.mu.Lock()
	rows = append(rows, row(tableTask, numKey(r.num), taskRow{r.recordLocked(), r.entry}))
	rows = append(rows, r.openRequestRowsLocked()...)
	events = append(events, r.taskEventLocked())
	r.mu.Unlock()
	h.d.Journal.Append(messages.Record{
		Key: fmt.Sprintf("task-%d-%s", r.num, step), Rows: rows, Events: events,
	}, func(a messages.Appended) {
		r.mu.Lock()
		r.handedOK, r.handErr = a.Err == nil, a.Err
		r.mu.Unlock()
		h.d.touched(r)
		h.wake(r.num)
	})
}

// abandon counts a lost caller as a spent budget, unless somebody else waits
// for the same run.
func (s *session) abandon(ctx actor.Context, m messages.AbandonExec, to *actor.PID) {
	s.h.mu.Lock()
	r := s.h.byKey[m.Key]
	s.h.mu.Unlock()
	if r != nil {
		r.mu.Lock()
		left, others := r.waiters[:0], 0
		for _, w := range r.waiters {
			if w.key != m.Key {
				others++
			}
			if w.key != m.Key || m.Answer {
				left = append(left, w)
			}
		}
		r.waiters = left
		if others == 0 && !r.overdue {
			r.spent = true
		}
		r.mu.Unlock()
		s.look(ctx, r)
	}
	s.h.d.Sys.Reply(to, messages.Done{})
}
