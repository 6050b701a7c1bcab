package actors

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/lang/view"
	"shoal.dev/shoal/messages"
)

// finish ends a run that was allowed to run: it numbers and encodes what is
// kept, frees the line, and has everything written as one record. The answer
// follows when the record is safe.
func (w *worker) finish(v value.Value, err error) {
	w.steps.Flush()
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
	events = append(events, r.host.moveEvents(changes)...)
	r.mu.Lock()
	if r.params.RequestID != "" {
		rows = append(rows, r.requestRowLocked(r.result))
	}
	r.mu.Unlock()
	if end.task {
		rows = append(rows, w.taskRows()...)
	}
	rec := messages.Record{Key: fmt.Sprintf("task-%d-end", r.num), Rows: rows, Events: events}
	if r.spawned == nil {
		rec.Entry = &entry
	}
	w.commit(rec)
}

// taskRows are the task's record and its newest output.
func (w *worker) taskRows() []messages.Row {
	r := w.run
	r.mu.Lock()
	rec := r.recordLocked()
	r.mu.Unlock()
	return append(w.outputRows(), row(tableTask, numKey(r.num), taskRow{rec, r.entry}))
}

// ending is how an evaluation came out, with the numbers of what is kept.
type ending struct {
	value   value.Value
	raised  *value.Error
	printed []value.Value
	first   uint64 // number of printed[0]; the result follows the last one
	task    bool   // the journal has a record of the run as a task
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

// takeNumbers reserves transcript numbers and takes the session's changes. From
// here on nothing changes the run's place: a budget that ends now is too late.
func (w *worker) takeNumbers(end *ending) interp.Changes {
	r, h := w.run, w.run.host
	h.mu.Lock()
	defer h.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ending = true
	end.first = h.nextOut
	h.nextOut += uint64(len(end.printed)) + 1
	end.task = r.background || r.persisted || r.detached
	if r.background || r.detached {
		return interp.Changes{}
	}
	return h.state.TakeChanges()
}

// encode turns what is kept into rows.
func (w *worker) encode(end *ending, changes interp.Changes) []messages.Row {
	h, stop := w.run.host, w.hurry()
	rows, over := h.changeRows(changes, stop)
	if over != nil && end.raised == nil {
		end.raised, end.value = over, value.NewError(over)
	}
	for i, v := range end.printed {
		rows = append(rows, h.keep(end.first+uint64(i), v, stop))
	}
	return append(rows, h.keep(end.number(), end.value, stop))
}

// storeGrace is how long values may take to be stored once the run is to end.
const storeGrace = 100 * time.Millisecond

// hurry is a function that says, with an error, that what is not stored yet has
// to be left: the run was cancelled a while ago.
func (w *worker) hurry() func() error {
	var since time.Time
	return func() error {
		w.run.mu.Lock()
		wanted := w.run.cause != nil || w.run.hurried
		w.run.mu.Unlock()
		switch now := w.d.Now(); {
		case !wanted:
			return nil
		case since.IsZero():
			since = now
			return nil
		case now.Sub(since) < storeGrace:
			return nil
		}
		return errors.New("the run was cancelled before it was stored")
	}
}

// conclude settles the run's facts and composes answer, entry and events.
func (w *worker) conclude(end *ending) (messages.Entry, []messages.Draft) {
	r := w.run
	end.ok = end.raised == nil && !failedOutcome(end.value)
	ref := messages.OutRef(end.number())
	r.mu.Lock()
	r.finished = w.d.Now()
	r.resultRef = ref
	r.state, end.status = messages.TaskCompleted, messages.EntryDone
	switch {
	case r.cause != nil && end.raised != nil && end.raised.Code == value.CodeCancelled:
		r.state, end.status = messages.TaskCancelled, messages.EntryCancelled
	case !end.ok:
		r.state, end.status = messages.TaskFailed, messages.EntryFailed
	}
	if end.raised != nil {
		r.errJSON = errorView(end.raised)
	}
	r.mu.Unlock()

	// Rendering may take a while, so it is done without the lock.
	var res messages.ExecResult
	printed := printedView(end, r.limits().MaxBytes)
	if end.raised != nil {
		res = w.raisedResult(end, ref, printed)
	} else {
		shown, _ := w.d.viewer().Wire(end.value, r.limits(), view.Place{URI: ref.URI()})
		res = w.finishedResult(end, ref, shown, printed)
	}
	transcript := w.transcriptEvents(end)
	w.d.Mask(res.JSON)
	if res.Err != nil {
		w.d.Mask(res.Err.Data)
		res.Err.Message = w.d.masked(res.Err.Message)
	}

	r.mu.Lock()
	defer r.mu.Unlock()
	r.result = res
	entry := r.entryLocked(end.status, &end.ok)
	entry.Ref = ref
	return entry, append(append(r.renders, transcript...), r.endEventsLocked(end)...)
}

// commit hands the last record over, frees the line, and makes the answer
// ready once the record is safe. A hand-over that is being written comes first.
func (w *worker) commit(rec messages.Record) {
	r, h := w.run, w.run.host
	w.afterHandOver()
	r.mu.Lock()
	r.committed = true
	r.mu.Unlock()
	h.mu.Lock()
	rec.Rows = append(rec.Rows, row(tableNext, string(h.name), h.nextOut))
	w.d.Journal.Queue(rec, func(a messages.Appended) { w.settle(a.Err) })
	queued := len(h.line) > 0
	h.mu.Unlock()
	if queued { // the next one runs while this one is written
		w.freeLine()
		w.d.Journal.Write()
		return
	}
	w.d.Journal.Write()
	if !r.hasEnded() { // somebody else writes
		w.freeLine()
	}
}

// freeLine says that the session may go on; the answer may still be written.
func (w *worker) freeLine() {
	w.run.mu.Lock()
	w.run.evaluated = true
	w.run.mu.Unlock()
	w.wake()
}

// afterHandOver waits until a hand-over that was decided is with the journal.
func (w *worker) afterHandOver() {
	r := w.run
	r.mu.Lock()
	r.ending = true
	handing := r.handing
	r.mu.Unlock()
	if handing != nil {
		<-handing
	}
}

// settle makes the answer ready: the run's last record is safe, or could not be
// written, which the caller is told instead of its result.
func (w *worker) settle(err *messages.Error) {
	r := w.run
	r.mu.Lock()
	if r.ready {
		r.mu.Unlock()
		return
	}
	if err != nil {
		r.result = messages.ExecResult{Key: r.key, Err: err}
	}
	r.evaluated, r.ready, r.settled = true, true, w.d.Now()
	r.releaseLocked()
	close(r.done)
	acted := r.acted
	r.mu.Unlock()
	w.d.touched(r)
	if acted || r.host.away.Load() {
		w.d.Sys.Tell(w.d.tasksPID(), runMoved{r.num})
	}
	w.wake()
	r.answer(w.d)
}

// refuse answers a run that did not run with an error that is not kept.
func (w *worker) refuse(err *messages.Error) {
	err.Message = value.Clip(err.Message, messageMost)
	w.end(messages.ExecResult{Key: w.run.key, Err: err}, nil)
}

// end ends a run whose answer is no value of the transcript. If there are rows
// to keep, or the journal knows of the run already, the answer waits until they
// are written.
func (w *worker) end(res messages.ExecResult, rows []messages.Row) {
	w.afterHandOver()
	r := w.run
	r.mu.Lock()
	if r.committed { // its end is on its way: this is a late fault
		r.mu.Unlock()
		w.freeLine()
		return
	}
	r.committed = true
	r.state = messages.TaskCompleted
	if res.Err != nil {
		r.state = messages.TaskFailed
		r.errJSON = messages.JSON(map[string]any{"code": res.Err.Code.Name(), "msg": res.Err.Message})
	}
	r.finished, r.result = w.d.Now(), res
	rec, needed := r.endRecordLocked(rows)
	r.mu.Unlock()
	if !needed {
		w.settle(nil)
		return
	}
	w.d.Journal.Append(rec, func(a messages.Appended) { w.settle(a.Err) })
	w.freeLine()
}

// endRecordLocked closes the books on what the journal knows of the run.
func (r *Run) endRecordLocked(rows []messages.Row) (rec messages.Record, needed bool) {
	rec = messages.Record{Key: fmt.Sprintf("task-%d-refused", r.num), Rows: rows}
	if r.persisted {
		rec.Rows = append(rec.Rows, row(tableTask, numKey(r.num), taskRow{r.recordLocked(), r.entry}))
		rec.Events = append(rec.Events, r.taskEventLocked())
	}
	if r.remembered {
		rec.Rows = append(rec.Rows, r.requestRowLocked(r.result))
	}
	if r.recorded {
		no := false
		entry := r.entryLocked(messages.EntryFailed, &no)
		rec.Entry = &entry
	}
	return rec, len(rec.Rows) > 0
}

// refuseEntry refuses a run and records that it was refused.
func (w *worker) refuseEntry(err *messages.Error) {
	no := false
	r := w.run
	r.mu.Lock()
	entry := r.entryLocked(messages.EntryRefused, &no)
	events := r.journalEventsLocked(entry.Head, false)
	r.mu.Unlock()
	ack := w.d.write(messages.Record{Key: fmt.Sprintf("task-%d-refusal", r.num), Entry: &entry, Events: events})
	if ack.Err != nil {
		err = ack.Err
	}
	w.refuse(err)
}

func failedOutcome(v value.Value) bool {
	return v.Kind() == value.KindOutcome && !v.AsOutcome().OK
}

// entryLocked is the run's journal entry.
func (r *Run) entryLocked(status messages.EntryStatus, ok *bool) messages.Entry {
	e := messages.Entry{
		ID: r.entry, TS: r.arrived.UnixNano(), Session: r.host.name, Principal: r.principal,
		Kind: r.kind, Src: r.params.Src, OK: ok, Status: status, Effects: effect.Brief(r.effects),
		Cwd: r.cwdLocked(), Opaque: r.opaque, Task: r.id(), PlanRef: r.planRef,
		Approver: r.approver, RequestID: r.params.RequestID, Statements: r.stmts, Undo: r.undoLocked(),
	}
	if len(r.heads) > 0 {
		e.Head = r.heads[0]
	}
	if !r.finished.IsZero() {
		e.DurNS = int64(r.finished.Sub(r.started))
	}
	return e
}

// cwdLocked is where the run is, or was to be.
func (r *Run) cwdLocked() string {
	if r.fork == nil {
		return ""
	}
	return r.fork.Cwd()
}

// transcriptEvents announce the values that are kept.
func (w *worker) transcriptEvents(end *ending) []messages.Draft {
	r := w.run
	events := make([]messages.Draft, 0, len(end.printed)+1)
	for i := range len(end.printed) + 1 {
		v := end.value
		if i < len(end.printed) {
			v = end.printed[i]
		}
		out := messages.OutRef(end.first + uint64(i))
		events = append(events, messages.Draft{
			Key: messages.ChannelKey{Session: r.host.name, Name: "session.transcript"},
			Payload: messages.JSON(messages.TranscriptEvent{
				Ref: out, URI: out.URI(), Type: v.Kind().String(),
				RenderHead: w.d.renderBrief(v), Principal: r.principal,
			}),
		})
	}
	return events
}

// endEventsLocked are the events of an ended run.
func (r *Run) endEventsLocked(end *ending) []messages.Draft {
	head := ""
	if len(r.heads) > 0 {
		head = r.heads[0]
	}
	var events []messages.Draft
	if r.spawned == nil {
		events = r.journalEventsLocked(head, end.ok)
	}
	if r.knownLocked() {
		events = append(events, r.taskEventLocked())
	}
	return events
}

func (r *Run) journalEventsLocked(head string, ok bool) []messages.Draft {
	payload := messages.JSON(messages.JournalEvent{
		ID: r.entry, Head: head, OK: ok, Principal: r.principal, Session: r.host.name,
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
