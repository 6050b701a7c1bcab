package actors

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"shoal.dev/shoal/host"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
	"shoal.dev/shoal/messages"
)

// undoRow is what undoes changes of one statement, or a part of it. Undone is
// the entry that undid it; it then has no steps.
type undoRow struct {
	Entry     messages.EntryID   `json:"entry"`
	Task      uint64             `json:"task"`
	Statement int                `json:"statement"` // of the task, from 0
	Depth     int                `json:"depth"`     // 0; 1 for what an undo did, 2 for what the undo of that did, …
	Principal messages.Principal `json:"principal"`
	Steps     []host.Step        `json:"steps,omitempty"`
	Undone    messages.EntryID   `json:"undone,omitempty"`
}

// undoKey puts the rows of the newest entry of a session first.
func undoKey(s messages.SessionName, entry messages.EntryID, step uint64) string {
	return undoPrefix(s, entry) + numKey(step)
}

func undoPrefix(s messages.SessionName, entry messages.EntryID) string {
	return string(s) + "\x00" + numKey(math.MaxUint64-uint64(entry)) + "\x00"
}

// withoutLimit is how many changes that nothing undoes an entry names.
const withoutLimit = 20

// undoLog is where a worker's files put what undoes their changes.
type undoLog struct{ w *worker }

// Number numbers a step.
func (l undoLog) Number() (uint64, error) { return l.w.d.NextStep() }

// Store keeps former content in the content store.
func (l undoLog) Store(content io.Reader) (string, error) {
	b, err := l.w.d.Journal.PutBlob(content)
	return b.Hash, err
}

// MayKeep reports whether content holds no secret.
func (l undoLog) MayKeep(content []byte) bool {
	masked := slices.Clone(content)
	l.w.d.Mask(masked)
	return slices.Equal(masked, content)
}

// Write hands steps to the journal. It does not wait: the record of the run's
// end comes behind it, and a journal that cannot write this will not write that.
func (l undoLog) Write(steps []host.Step) {
	w, r := l.w, l.w.run
	r.mu.Lock()
	for _, s := range steps {
		switch {
		case s.Op != host.StepNone:
			r.undo.Steps++
		case len(r.undo.Without) < withoutLimit:
			r.undo.Without = append(r.undo.Without, w.d.masked(string(s.Path)+": "+s.Why))
		}
	}
	r.mu.Unlock()
	kept := undoRow{
		Entry: r.entry, Task: r.num, Statement: int(w.statement.Load()), Depth: int(w.undoDepth.Load()),
		Principal: r.principal, Steps: steps,
	}
	w.d.Journal.Append(messages.Record{
		Rows: []messages.Row{row(tableUndo, undoKey(r.host.name, r.entry, steps[0].N), kept)},
	}, func(messages.Appended) {})
}

// undoer is the `undo` of one run.
type undoer struct {
	w     *worker
	check host.Check
}

// Undo reverses the steps of an entry's statements, or of the newest statement
// that can be undone, and is itself recorded.
func (u undoer) Undo(ctx context.Context, entry string) (value.Value, error) {
	h := u.w.run.host
	h.undoing.Lock()
	defer h.undoing.Unlock()
	u.w.steps.Flush()
	if a := u.w.d.write(messages.Record{}); a.Err != nil { // what was written before is there now
		return value.Null, value.Errorf(value.CodeCustom, "undo: %s", a.Err.Message)
	}
	rows, err := u.find(entry)
	if err != nil {
		return value.Null, err
	}
	return u.reverse(ctx, rows)
}

// keptRow is a row with its key.
type keptRow struct {
	key string
	undoRow
}

// find are the rows to undo.
func (u undoer) find(entry string) ([]*keptRow, error) {
	if entry == "" {
		return u.newest()
	}
	id, err := strconv.ParseUint(entry, 10, 64)
	if err != nil {
		return nil, value.Errorf(value.CodeArg, "undo: %q is no entry; give its number, as `journal` shows it", entry)
	}
	return u.entry(messages.EntryID(id))
}

// newest are the rows of the newest statement of the principal with steps that
// were not undone. Undoing again and again goes back further and further: what
// undid something is not undone unless its entry is named.
func (u undoer) newest() ([]*keptRow, error) {
	r := u.w.run
	var rows []*keptRow
	err := u.scan(string(r.host.name)+"\x00", func(row *keptRow) bool {
		if len(rows) > 0 && row.Entry != rows[0].Entry {
			return false
		}
		if row.Principal == r.principal && row.Depth%2 == 0 && hasInverse(row.Steps) {
			rows = append(rows, row)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, value.Errorf(value.CodeCustom, "undo: nothing to undo: no statement of yours in session %s has changed a file in a way that can be undone", r.host.name)
	}
	last := slices.MaxFunc(rows, func(a, b *keptRow) int { return cmp.Compare(a.Steps[0].N, b.Steps[0].N) })
	return slices.DeleteFunc(rows, func(row *keptRow) bool { return !row.sameStatement(last) }), nil
}

func (r *keptRow) sameStatement(o *keptRow) bool {
	return r.Entry == o.Entry && r.Task == o.Task && r.Statement == o.Statement && r.Depth == o.Depth
}

func hasInverse(steps []host.Step) bool {
	return slices.ContainsFunc(steps, func(s host.Step) bool { return s.Op != host.StepNone })
}

// entry are the rows of an entry that were not undone.
func (u undoer) entry(id messages.EntryID) ([]*keptRow, error) {
	r := u.w.run
	var rows []*keptRow
	var undone messages.EntryID
	var without []host.Step
	var mayNot bool
	err := u.scan(undoPrefix(r.host.name, id), func(row *keptRow) bool {
		switch {
		case !u.mayUndo(row.Principal):
			mayNot = true
		case row.Undone != 0:
			undone = row.Undone
		case hasInverse(row.Steps):
			rows = append(rows, row)
		default:
			without = append(without, row.Steps...)
		}
		return true
	})
	switch {
	case err != nil:
		return nil, err
	case len(rows) > 0:
		return rows, nil
	case mayNot:
		return nil, value.Errorf(value.CodePermission, "undo: entry %d is another's; only the session's owner may undo it", id)
	case undone != 0:
		return nil, value.Errorf(value.CodeCustom, "undo: entry %d has been undone already, by entry %d", id, undone).
			WithHint("`undo %d` does it again", undone)
	case len(without) > 0:
		return nil, value.Errorf(value.CodeCustom, "undo: entry %d cannot be undone: %s: %s", id, without[0].Path, without[0].Why)
	}
	return nil, u.noSteps(id)
}

// mayUndo reports whether the run's principal may name what another did.
func (u undoer) mayUndo(did messages.Principal) bool {
	h, p := u.w.run.host, u.w.run.principal
	h.mu.Lock()
	defer h.mu.Unlock()
	return p == did || p == h.owner || p == h.d.Owner
}

// noSteps says why there is nothing to undo of an entry.
func (u undoer) noSteps(id messages.EntryID) error {
	e, found, err := u.w.d.Journal.Entry(id)
	switch {
	case err != nil:
		return fmt.Errorf("read entry %d: %w", id, err)
	case !found || e.Session != u.w.run.host.name:
		return value.Errorf(value.CodeCustom, "undo: there is no entry %d in this session; `journal` shows what there is", id)
	case e.Opaque:
		return value.Errorf(value.CodeCustom, "undo: entry %d ran programs, and what they did to files is not recorded", id)
	}
	return value.Errorf(value.CodeCustom, "undo: nothing to undo: entry %d has changed no file", id)
}

func (u undoer) scan(prefix string, each func(*keptRow) bool) error {
	var broken error
	err := u.w.d.Journal.Scan(tableUndo, prefix, func(key string, b []byte) bool {
		kept := &keptRow{key: key}
		if broken = json.Unmarshal(b, &kept.undoRow); broken != nil {
			return false
		}
		return each(kept)
	})
	if err == nil {
		err = broken
	}
	if err != nil {
		return value.Errorf(value.CodeCustom, "undo: read the record of changes: %v", err)
	}
	return nil
}

// reverse takes the steps of some rows, newest first, when every one of them
// meets what it expects and policy allows it.
func (u undoer) reverse(ctx context.Context, rows []*keptRow) (value.Value, error) {
	var steps []host.Step
	depth := 0
	for _, row := range rows {
		steps = append(steps, row.Steps...)
		depth = max(depth, row.Depth+1)
	}
	slices.SortFunc(steps, func(a, b host.Step) int { return cmp.Compare(b.N, a.N) })
	for _, s := range steps {
		if err := s.Judge(u.check); err != nil {
			return value.Null, err
		}
	}
	if err := host.CheckSteps(steps); err != nil {
		return value.Null, err
	}
	u.w.undoDepth.Store(int64(depth))
	defer u.w.undoDepth.Store(0)
	taken, err := u.take(ctx, steps)
	u.w.steps.Flush()
	if a := u.w.d.write(messages.Record{Rows: u.marked(rows, taken)}); a.Err != nil && err == nil {
		err = value.Errorf(value.CodeCustom, "undo: %s", a.Err.Message)
	}
	if err != nil {
		return value.Null, err
	}
	return undone(rows, steps), nil
}

// take takes steps until one fails, and gives those that were taken.
func (u undoer) take(ctx context.Context, steps []host.Step) (map[uint64]bool, error) {
	taken := map[uint64]bool{}
	for _, s := range steps {
		err := ctx.Err()
		if err == nil {
			err = s.Take(ctx, u.w.d.Files, &u.w.steps, u.check, u.load)
		}
		if err != nil {
			return taken, fmt.Errorf("undo: %d of %d steps were taken, then %s: %w", len(taken), len(steps), s.Path, err)
		}
		taken[s.N] = true
	}
	return taken, nil
}

func (u undoer) load(hash string) (io.ReadCloser, error) {
	c, err := u.w.d.Journal.OpenBlob(hash)
	if err != nil {
		return nil, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.NewSectionReader(c, 0, c.Len()), closerOf(c)}, nil
}

func closerOf(c Content) io.Closer {
	if closer, ok := c.(io.Closer); ok {
		return closer
	}
	return io.NopCloser(nil)
}

// marked are the rows without the steps that were taken.
func (u undoer) marked(rows []*keptRow, taken map[uint64]bool) []messages.Row {
	var out []messages.Row
	for _, kept := range rows {
		left := kept.undoRow
		left.Steps = slices.DeleteFunc(slices.Clone(left.Steps), func(s host.Step) bool { return taken[s.N] })
		if len(left.Steps) == 0 {
			left.Undone = u.w.run.entry
		}
		out = append(out, row(tableUndo, kept.key, left))
	}
	return out
}

// undone is what `undo` gives.
func undone(rows []*keptRow, steps []host.Step) value.Value {
	type statement struct {
		task  uint64
		n     int
		depth int
	}
	statements := map[statement]bool{}
	for _, row := range rows {
		statements[statement{row.Task, row.Statement, row.Depth}] = true
	}
	actions := make([]value.Value, len(steps))
	for i, s := range steps {
		actions[i] = value.Str(strings.ToValidUTF8(s.String(), "\uFFFD"))
	}
	return value.NewRecord(undoneShape, []value.Value{
		value.Int(int64(rows[0].Entry)), value.Int(int64(len(statements))), value.NewList(actions),
	})
}

var undoneShape = value.ShapeOf("entry", "undone", "actions")

// isUndo reports whether a program does nothing but undo.
func isUndo(heads []string, statements int) bool {
	return statements == 1 && len(heads) == 1 && heads[0] == "undo"
}

// undoLocked is what the run's entry says of undoing it; nil if it changed no
// file.
func (r *Run) undoLocked() *messages.EntryUndoing {
	if r.undo.Steps == 0 && len(r.undo.Without) == 0 {
		return nil
	}
	u := r.undo
	u.Without = slices.Clone(u.Without)
	return &u
}

var _ interp.Undo = undoer{}
