package builtin

import (
	"math"
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// notForwarded are the kinds that have json, save and append of their own. An
// outcome has not: it passes them on to its value.
var notForwarded = anyKind &^ kindSet(value.KindOutcome, value.KindStream)

// anyRows are the methods that every value has.
func anyRows() []methodRow {
	return []methodRow{
		{anyKind, "tap(f: fn)", "Calls f with the value and gives the value back.", anyTap},
		{anyKind, "also(f: fn)", "Calls f with the value and gives the value back.", anyTap},
		{notForwarded, "json()", "The value as compact JSON.", anyJSON},
		{notForwarded, "save(path: path|str)", "Writes the value to a file, replacing it at once; gives the value back.", saveMethod(interp.Replace)},
		{notForwarded, "append(path: path|str)", "Adds the value to the end of a file; gives the value back.", saveMethod(interp.Append)},
		{anyKind, "pick(*, prompt: str = \"> \", multi: bool = false)", "Lets the person at the terminal choose an item, or several as a list.", anyPick},
		{textual, "str()", "The value as str.", anyStr},
		{textual, "display()", "The value as str, wrong UTF-8 replaced.", anyDisplay},
	}
}

var textual = kindSet(value.KindStr, value.KindPath, value.KindBytes, value.KindInt, value.KindFloat, value.KindBool)

func anyTap(c *interp.Call, a []value.Value) (value.Value, error) {
	_, err := c.M.Call(a[0], c.Recv)
	return c.Recv, err
}

func anyJSON(c *interp.Call, _ []value.Value) (value.Value, error) {
	text, err := value.JSONUntil(c.Recv, false, c.M.Check)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return value.Str(text), nil
}

func anyStr(c *interp.Call, _ []value.Value) (value.Value, error) {
	text, err := value.Text(c.Recv)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return value.Str(text), nil
}

func anyDisplay(c *interp.Call, _ []value.Value) (value.Value, error) {
	text, err := value.DisplayText(c.Recv)
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return value.Str(text), nil
}

var blobs = kindSet(value.KindBytes)

// valueRows are the methods of the kinds that have few.
func valueRows() []methodRow {
	return []methodRow{
		{blobs, "len()", "The number of bytes.", bytesLen},
		{blobs, "count()", "The number of bytes, as len.", bytesLen},
		{blobs, "is_empty()", "Whether there are no bytes.", bytesIsEmpty},
		{blobs, "ref()", "The reference of bytes in the content store.", bytesRef},
		{blobs, "load()", "The bytes of the content store, held in memory.", bytesLoad},
		{blobs, "bytes()", "The bytes of the content store, held in memory.", bytesLoad},
		{kindSet(value.KindGlob), "expand()", "The absolute paths that match, in order.", seqCollect},
		{kindSet(value.KindOutcome), "stdout()", "The captured standard output.", outcomeField("stdout")},
		{kindSet(value.KindOutcome), "stderr()", "The captured error output.", outcomeField("stderr")},
		{kindSet(value.KindTask), "await()", "Waits for the task: its value, or its error raised.", taskAwait},
		{kindSet(value.KindTask), "wait()", "Waits for the task: its value, or its error raised.", taskAwait},
		{kindSet(value.KindTask), "cancel()", "Asks the task to end; does not wait.", taskCancel},
		{kindSet(value.KindTask), "is_done()", "Whether the task has ended.", taskIsDone},
		{kindSet(value.KindTask), "suspend()", "Stops the task until resume; the task.", taskSuspend},
		{kindSet(value.KindTask), "resume()", "Continues a suspended task; the task.", taskResume},
		{kindSet(value.KindTask), "is_suspended()", "Whether the task is suspended.", taskIsSuspended},
	}
}

// valueFields are the computed fields of kinds other than path.
func valueFields() []fieldRow {
	at := kindSet(value.KindDatetime)
	rows := []fieldRow{
		{at, "year", "The year.", timePart(time.Time.Year), nil},
		{at, "month", "The month, from 1.", timePart(func(t time.Time) int { return int(t.Month()) }), nil},
		{at, "day", "The day of the month.", timePart(time.Time.Day), nil},
		{at, "hour", "The hour of the day.", timePart(time.Time.Hour), nil},
		{at, "minute", "The minute of the hour.", timePart(time.Time.Minute), nil},
		{at, "second", "The second of the minute.", timePart(time.Time.Second), nil},
		{kindSet(value.KindDuration), "ago", "The datetime this long before now.", fromNow(-1), clockEffect},
		{kindSet(value.KindDuration), "from_now", "The datetime this long after now.", fromNow(1), clockEffect},
		{kindSet(value.KindGlob), "pattern", "The pattern as written.", globPattern, nil},
		{kindSet(value.KindTask), "id", "The task's id.", taskID, nil},
	}
	for _, name := range value.OutcomeFields() {
		rows = append(rows, fieldRow{kindSet(value.KindOutcome), name, outcomeDocs[name], outcomeField(name), nil})
	}
	for _, name := range value.ErrorFields() {
		rows = append(rows, fieldRow{kindSet(value.KindError), name, errorDocs[name], errorField(name), nil})
	}
	return rows
}

var outcomeDocs = map[string]string{
	"status": "The exit status, or null after a signal.", "ok": "Whether the command succeeded.",
	"signal": "The name of the signal that ended it, or null.", "out": "The command's value; raises cmd_failed if it failed.",
	"err": "The error output as bytes; raises cmd_failed if it failed.", "stdout": "The captured standard output.",
	"stderr": "The captured error output.", "dur": "How long it took.", "pid": "The process id, 0 for builtins.",
	"cmd": "The command as text.",
}

var errorDocs = map[string]string{
	"code": "What sort of error it is.", "msg": "What went wrong.", "hint": "What to write instead, or null.",
	"stderr": "The failed command's error output, or null.", "status": "The failed command's exit status, or null.",
	"span": "Where in the source, as {start, end} in bytes, or null.",
}

func outcomeField(name string) run {
	return func(c *interp.Call, _ []value.Value) (value.Value, error) {
		v, _, err := c.Recv.AsOutcome().Field(name)
		return v, raised(err)
	}
}

func errorField(name string) run {
	return func(c *interp.Call, _ []value.Value) (value.Value, error) {
		v, _ := c.Recv.AsError().Field(name)
		return v, nil
	}
}

func bytesLen(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Int(c.Recv.AsBytes().Len()), nil
}

func bytesIsEmpty(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Bool(c.Recv.AsBytes().Len() == 0), nil
}

func bytesRef(c *interp.Call, _ []value.Value) (value.Value, error) {
	ref := c.Recv.AsBytes().Ref()
	if ref == "" {
		return value.Null, notStored(c)
	}
	return value.Str(ref), nil
}

func bytesLoad(c *interp.Call, _ []value.Value) (value.Value, error) {
	if c.Recv.AsBytes().Ref() == "" {
		return value.Null, notStored(c)
	}
	b, err := c.Recv.AsBytes().All(0)
	return value.NewBytes(b), hostErr(c, err)
}

// notStored refuses what only bytes in the content store have.
func notStored(c *interp.Call) error {
	return typeErr(c.Span, "`.%s` applies to bytes in the content store, and these are in memory", c.Name)
}

func timePart(part func(time.Time) int) run {
	return func(c *interp.Call, _ []value.Value) (value.Value, error) {
		return value.Int(int64(part(c.Recv.AsDatetime()))), nil
	}
}

func clockEffect(interp.EffectArg, []interp.EffectArg, string) []effect.Effect {
	return []effect.Effect{{Kind: effect.Time}}
}

// The years that a datetime may have: those that its text form can spell.
const (
	firstYear = 0
	lastYear  = 9999
)

func fromNow(sign time.Duration) run {
	return func(c *interp.Call, _ []value.Value) (value.Value, error) {
		d := c.Recv.AsDuration()
		if d == math.MinInt64 {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "%s: datetime overflow", c.Name)
		}
		t := clockNow(c.M).Add(sign * d)
		if y := t.UTC().Year(); y < firstYear || y > lastYear {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "%s: datetime overflow", c.Name)
		}
		return value.NewDatetime(t), nil
	}
}

func globPattern(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.Str(c.Recv.AsGlob().Pattern), nil
}
