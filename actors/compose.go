package actors

import (
	"encoding/json"
	"strings"

	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/lang/view"
	"shoal.dev/shoal/messages"
)

// briefLines and briefBytes bound the render heads that events carry.
const (
	briefLines = 10
	briefBytes = 2048
)

// renderBrief is the head of a value's rendering, for events. It is masked before
// the line that tells of a cut goes.
func (d *Deps) renderBrief(v value.Value) string {
	lines := strings.SplitN(d.masked(view.Text(v, briefBytes, "").Text), "\n", briefLines+1)
	return strings.Join(lines[:min(len(lines), briefLines)], "\n")
}

// limits are the presentation limits of the run's answer.
func (r *Run) limits() view.Limits { return elideLimits(r.params.Elide) }

// elideLimits fills in defaults and clamps; values are never refused.
func elideLimits(e *messages.Elide) view.Limits {
	l := view.Limits{MaxBytes: messages.DefaultMaxBytes, MaxRows: messages.DefaultMaxRows, MaxItems: messages.DefaultMaxItems}
	if e == nil {
		return l
	}
	clamp := func(dst *int, v *int64, limit int) {
		if v != nil {
			*dst = int(max(1, min(*v, int64(limit))))
		}
	}
	clamp(&l.MaxBytes, e.MaxBytes, messages.HardCap)
	clamp(&l.MaxRows, e.MaxRows, messages.MaxItemsCap)
	clamp(&l.MaxItems, e.MaxItems, messages.MaxItemsCap)
	return l
}

// textCap is how many bytes a text may have: what the caller gave, else 64 KiB.
func textCap(e *messages.Elide) int {
	if e != nil && e.MaxBytes != nil {
		return elideLimits(e).MaxBytes
	}
	return messages.HardCap
}

// printedView renders the kept printed values, as many as their budget allows.
func printedView(end *ending, perValue int) []messages.Printed {
	out := make([]messages.Printed, 0, len(end.printed))
	budget := messages.PrintedBytes
	for i, v := range end.printed {
		ref := messages.OutRef(end.first + uint64(i))
		text := view.Text(v, max(1, min(budget, perValue)), ref.URI())
		budget -= len(text.Text)
		out = append(out, messages.Printed{Ref: ref, Render: text.Text})
		if budget <= 0 {
			break
		}
	}
	return out
}

// finishedResult is the answer of a run whose program returned.
func (w *worker) finishedResult(end *ending, ref messages.Ref, shown json.RawMessage, printed []messages.Printed) messages.ExecResult {
	r := w.run
	text := view.Text(end.value, textCap(r.params.Elide), ref.URI())
	res := messages.Finished{
		Ref: ref, URI: ref.URI(), Value: shown, Render: text.Text,
		Printed: printed, PrintedTotal: r.printed.total, Notes: r.notes,
		Truncated: text.Truncated || len(printed) < r.printed.total,
		Exit:      r.exitCode, ElapsedMS: elapsed(r.finished, r.arrived),
	}
	if len(r.leftovers) > 0 {
		res.Task = r.id()
	}
	if res.Notes == nil {
		res.Notes = []messages.Note{}
	}
	return messages.ExecResult{Key: r.key, JSON: messages.JSON(res)}
}

// raisedResult is the answer of a run whose program raised.
func (w *worker) raisedResult(end *ending, ref messages.Ref, printed []messages.Printed) messages.ExecResult {
	r := w.run
	data := messages.RaisedData{
		Ref: ref, URI: ref.URI(), Error: errorView(end.raised), Printed: printed, Notes: r.notes,
		Deadline: r.cause == errDeadline,
	}
	if data.Notes == nil {
		data.Notes = []messages.Note{}
	}
	if len(r.leftovers) > 0 {
		data.Task = r.id()
	}
	w.mu.Lock()
	refusal, refused := w.refusal, w.refused
	w.mu.Unlock()
	if refused != nil && refused.Code == end.raised.Code && refused.Msg == end.raised.Msg {
		e := deniedError(*refusal)
		var fields map[string]any
		if json.Unmarshal(e.Data, &fields) == nil {
			fields["ref"], fields["uri"], fields["error"] = data.Ref, data.URI, data.Error
			e = e.With(fields)
		}
		return messages.ExecResult{Key: r.key, Err: e}
	}
	msg := value.Clip(end.raised.Code, headMost) + ": " + value.Clip(end.raised.Msg, messageMost)
	return messages.ExecResult{Key: r.key, Err: messages.Errorf(messages.CodeRaised, "%s", msg).With(data)}
}

// What an error in an answer, a record or an event may have of a text, in bytes;
// the value behind its ref has up to value.ErrorTextMost.
const (
	messageMost = 8 << 10
	hintMost    = 2 << 10
	stderrMost  = 16 << 10
	headMost    = 256 // of the word that a statement begins with
)

// errorView is a raised error as {code, msg, span?, file?, hint?, stderr?, status?}.
// Long texts are cut.
func errorView(e *value.Error) json.RawMessage {
	out := struct {
		Code   string      `json:"code"`
		Msg    string      `json:"msg"`
		Span   *value.Span `json:"span,omitempty"`
		File   string      `json:"file,omitempty"` // that span lies in; absent: the source itself
		Hint   string      `json:"hint,omitempty"`
		Stderr *string     `json:"stderr,omitempty"`
		Status *int        `json:"status,omitempty"`
	}{
		Code: value.Clip(e.Code, headMost), Msg: value.Clip(e.Msg, messageMost), Span: e.Span,
		File: e.File, Hint: value.Clip(e.Hint, hintMost), Status: e.Status,
	}
	if e.HasStderr {
		stderr := value.Clip(e.Stderr, stderrMost)
		out.Stderr = &stderr
	}
	return messages.JSON(out)
}

// keptOutput is how much of each stream of an ended task is kept with its
// record, in bytes; more goes to the content store.
const keptOutput = 64 << 10
