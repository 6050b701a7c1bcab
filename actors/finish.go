package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/lang/view"
	"shoal.dev/shoal/messages"
)

// finish ends a run that was allowed to run: it numbers and encodes what is
// kept, frees the line, and has everything written as one record. The answer
// follows when the record is safe.
func (w *worker) finish(v value.Value, err error) {
	r := w.run
	raised := w.raised(err)
	end := ending{value: v, raised: raised}
	if raised != nil {
		end.value = value.NewError(raised)
	}
	end.printed = r.printed.kept()
	changes := w.takeNumbers(&end)
	rows := w.encode(&end, changes)
	entry, events := w.conclude(&end)
	if id := r.params.RequestID; id != "" {
		rows = append(rows, w.requestRow(id))
	}
	if r.background || r.persisted || r.isDetached() {
		rows = append(rows, row(tableTask, numKey(r.num), taskRow{r.record(), r.entry}))
		rows = append(rows, w.outputRows()...)
	}
	w.commit(messages.Record{
		Key: fmt.Sprintf("task-%d-end", r.num), Entry: &entry, Rows: rows, Events: events,
	})
}

// ending is how an evaluation came out, with the numbers of what is kept.
type ending struct {
	value   value.Value
	raised  *value.Error
	printed []value.Value
	first   uint64 // number of printed[0]; the result follows the last one
	ok      bool
	status  messages.EntryStatus
}

func (e *ending) number() uint64 { return e.first + uint64(len(e.printed)) }

// raised is what the program raised, if anything, worded for its reader.
func (w *worker) raised(err error) *value.Error {
	if err == nil {
		return nil
	}
	r := w.run
	r.mu.Lock()
	cause := r.cause
	r.mu.Unlock()
	var raised *value.Error
	switch {
	case errors.Is(cause, errDeadline):
		return value.Errorf(value.CodeCancelled, "cancelled: the deadline of %d ms has passed", *r.params.DeadlineMS)
	case cause != nil:
		return value.Errorf(value.CodeCancelled, "%v", cause)
	case errors.As(err, &raised):
		return raised
	case errors.Is(err, context.Canceled):
		return value.Errorf(value.CodeCancelled, "cancelled")
	default:
		return value.Errorf(value.CodeCustom, "%v", err)
	}
}

// takeNumbers reserves transcript numbers and takes the session's changes.
func (w *worker) takeNumbers(end *ending) interp.Changes {
	h := w.run.host
	h.mu.Lock()
	defer h.mu.Unlock()
	end.first = h.nextOut
	h.nextOut += uint64(len(end.printed)) + 1
	if w.run.background || w.run.isDetached() {
		return interp.Changes{}
	}
	return h.state.TakeChanges()
}

// encode turns what is kept into rows.
func (w *worker) encode(end *ending, changes interp.Changes) []messages.Row {
	h := w.run.host
	rows := h.changeRows(changes)
	for i, v := range end.printed {
		rows = append(rows, h.keep(end.first+uint64(i), v))
	}
	return append(rows, h.keep(end.number(), end.value))
}

// conclude settles the run's facts and composes answer, entry and events.
func (w *worker) conclude(end *ending) (messages.Entry, []messages.Draft) {
	r := w.run
	now := w.d.Now()
	end.ok = end.raised == nil && !failedOutcome(end.value)
	ref := messages.OutRef(end.number())
	shown, _ := view.Wire(end.value, r.limits(), view.Place{URI: ref.URI()})

	r.mu.Lock()
	defer r.mu.Unlock()
	r.finished = now
	r.resultRef = ref
	r.state = messages.TaskCompleted
	end.status = messages.EntryDone
	switch {
	case r.cause != nil && end.raised != nil && end.raised.Code == value.CodeCancelled:
		r.state, end.status = messages.TaskCancelled, messages.EntryCancelled
	case !end.ok:
		r.state, end.status = messages.TaskFailed, messages.EntryFailed
	}
	if end.raised != nil {
		r.errJSON = errorView(end.raised)
	}
	printed := printedView(end, r.limits().MaxBytes)
	if end.raised != nil {
		r.result = w.raisedResult(end, ref, printed)
	} else {
		r.result = w.finishedResult(end, ref, shown, printed)
	}
	entry := r.entryLocked(end.status, &end.ok)
	entry.Ref = ref
	return entry, r.endEventsLocked(end, ref)
}

// commit hands the last record over, frees the line, and makes the answer
// ready once the record is safe.
func (w *worker) commit(rec messages.Record) {
	r, h := w.run, w.run.host
	h.mu.Lock()
	rec.Rows = append(rec.Rows, row(tableNext, string(h.name), h.nextOut))
	w.d.Journal.Append(rec, w.settled)
	h.mu.Unlock()
	r.mu.Lock()
	r.evaluated = true
	r.mu.Unlock()
	w.wake()
}

// settled hears that the run's last record is safe, or that it could not be
// written, which the caller must be told instead of its result.
func (w *worker) settled(a messages.Appended) {
	r := w.run
	r.mu.Lock()
	if a.Err != nil {
		r.result = messages.ExecResult{Key: r.key, Err: a.Err}
	}
	r.ready = true
	close(r.done)
	r.mu.Unlock()
	r.stopTimers()
	w.wake()
	w.d.Sys.Tell(w.d.tasksPID(), runMoved{r.num})
}

// refuse answers a run that did not run with an error that is not recorded.
func (w *worker) refuse(err *messages.Error) { w.answer(messages.ExecResult{Key: w.run.key, Err: err}) }

// answer ends a run with a result that needs no record of its own.
func (w *worker) answer(res messages.ExecResult) {
	r := w.run
	r.mu.Lock()
	r.state = messages.TaskCompleted
	if res.Err != nil {
		r.state = messages.TaskFailed
		r.errJSON = messages.JSON(map[string]any{"code": res.Err.Code.Name(), "msg": res.Err.Message})
	}
	r.finished = w.d.Now()
	r.result, r.evaluated, r.ready = res, true, true
	closeOnce(r.done)
	persisted := r.persisted
	r.mu.Unlock()
	r.stopTimers()
	if persisted {
		w.d.Journal.Append(messages.Record{
			Key:  fmt.Sprintf("task-%d-refused", r.num),
			Rows: []messages.Row{row(tableTask, numKey(r.num), taskRow{r.record(), r.entry})},
		}, func(messages.Appended) {})
	}
	w.wake()
	w.d.Sys.Tell(w.d.tasksPID(), runMoved{r.num})
}

// refuseEntry refuses a run and records that it was refused.
func (w *worker) refuseEntry(err *messages.Error) {
	no := false
	r := w.run
	r.mu.Lock()
	entry := r.entryLocked(messages.EntryRefused, &no)
	events := r.journalEventsLocked(entry.Head, false)
	r.mu.Unlock()
	ack := w.append(messages.Record{Key: fmt.Sprintf("task-%d-refusal", r.num), Entry: &entry, Events: events})
	if ack.Err != nil {
		err = ack.Err
	}
	w.refuse(err)
}

func closeOnce(c chan struct{}) {
	select {
	case <-c:
	default:
		close(c)
	}
}

func failedOutcome(v value.Value) bool {
	return v.Kind() == value.KindOutcome && !v.AsOutcome().OK
}

// entryLocked is the run's journal entry.
func (r *Run) entryLocked(status messages.EntryStatus, ok *bool) messages.Entry {
	e := messages.Entry{
		ID: r.entry, TS: r.arrived.UnixNano(), Session: r.host.name, Principal: r.principal,
		Kind: r.kind, Src: r.params.Src, OK: ok, Status: status, Effects: r.effects,
		Cwd: r.fork.Cwd(), Opaque: r.opaque, Task: r.id(), PlanRef: r.planRef,
		Approver: r.approver, RequestID: r.params.RequestID, Statements: r.stmts,
	}
	if len(r.heads) > 0 {
		e.Head = r.heads[0]
	}
	if !r.finished.IsZero() {
		e.DurNS = int64(r.finished.Sub(r.started))
	}
	return e
}

// endEventsLocked are the events of an ended run.
func (r *Run) endEventsLocked(end *ending, ref messages.Ref) []messages.Draft {
	session := r.host.name
	events := r.renders
	r.renders = nil
	for i, v := range append(append([]value.Value(nil), end.printed...), end.value) {
		out := messages.OutRef(end.first + uint64(i))
		events = append(events, messages.Draft{
			Key: messages.ChannelKey{Session: session, Name: "session.transcript"},
			Payload: messages.JSON(map[string]any{
				"ref": out, "uri": out.URI(), "type": v.Kind().String(),
				"render_head": renderBrief(v), "principal": r.principal,
			}),
		})
	}
	head := ""
	if len(r.heads) > 0 {
		head = r.heads[0]
	}
	events = append(events, r.journalEventsLocked(head, end.ok)...)
	if r.background || r.persisted || r.detached || r.listed {
		events = append(events, r.taskEventLocked())
	}
	return events
}

func (r *Run) journalEventsLocked(head string, ok bool) []messages.Draft {
	payload := messages.JSON(map[string]any{
		"id": r.entry, "head": head, "ok": ok, "principal": r.principal, "session": r.host.name,
	})
	return []messages.Draft{
		{Key: messages.ChannelKey{Session: r.host.name, Name: "journal"}, Payload: payload},
		{Key: messages.ChannelKey{Name: "kernel.journal"}, Payload: payload},
	}
}

func (r *Run) taskEventLocked() messages.Draft {
	return messages.Draft{
		Key:     messages.ChannelKey{Session: r.host.name, Name: r.id().Channel()},
		Payload: messages.JSON(messages.TaskEvent{State: r.state, ResultRef: r.resultRef, Error: nonNull(r.errJSON)}),
	}
}

func nonNull(j json.RawMessage) json.RawMessage {
	if string(j) == "null" {
		return nil
	}
	return j
}
