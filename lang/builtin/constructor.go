package builtin

import (
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// constructorRows are the calls that make values.
func constructorRows() []functionRow {
	return []functionRow{
		{"path(text: str|path)", "A path.", nil, newPath},
		{"glob(pattern: str, *, hidden: bool = false, follow: bool = false)", "A pattern for paths below the working directory; with follow, `**` goes through links, but never in a circle.", globEffects, newGlob},
		{"regex(pattern: str)", "A regular expression.", nil, newRegex},
		{"range(a: int, b: int, *, inclusive: bool = false)", "The ints from a up to b.", nil, newRange},
		{"channel(name: str)", "The session's event channel of that name.", channelEffects, newChannel},
		{"every(d: duration)", "A stream of the times at which each d has passed.", nil, newEvery},
		{"watch(p: path|str|glob, *, recursive: bool = true)", "A stream of the changes {path, kind, ts} below a path.", followEffects, newWatch},
		{"tail(p: path|str, *, from_start: bool = false)", "A stream of the lines that a file gets.", followEffects, newTail},
	}
}

// callRows are the other reserved call names.
func callRows() []functionRow {
	return []functionRow{
		{"now()", "The present time.", only(effect.Time), callNow},
		{"today()", "The last midnight.", only(effect.Time), callToday},
		{"assert(cond: any, msg?: any)", "Raises assert_failed unless the condition holds.", nil, callAssert},
		{"save(path: path|str, value: any)", "Writes the value to a file; gives the value back.", firstWriteEffects, saveCall},
		{"retry(n: int, thunk: fn, *, delay?: duration)", "Calls thunk up to n times until it gives no error and no failed outcome.", only(), callRetry},
		{"parallel(*, settle: bool = false, ...f: fn)", "Calls all functions at once: the list of what they give.", only(), callParallel},
		{"on(channel: record|str, handler: fn)", "Calls handler with each event that the channel gets from now on; the task that does.", onEffects, callOn},
		{"open(path: path|str)", "Opens a file, a directory or a URL with the desktop's program for it; does not wait.", openEffects, callOpen},
		{"run(target: str|path, ...args: any)", "Runs a program by name.", runEffects, callRun},
	}
}

func newPath(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.Path(a[0].AsStr()), nil
}

func newGlob(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.NewGlob(value.Glob{
		Pattern: a[0].AsStr(), Cwd: c.M.Cwd(), Hidden: a[1].AsBool(), Follow: a[2].AsBool(),
	}), nil
}

func newRegex(c *interp.Call, a []value.Value) (value.Value, error) {
	v, err := value.NewRegex(a[0].AsStr())
	if err != nil {
		return value.Null, err.WithSpan(spanOf(c.Span))
	}
	return v, nil
}

func newRange(_ *interp.Call, a []value.Value) (value.Value, error) {
	return value.NewRange(a[0].AsInt(), a[1].AsInt(), a[2].AsBool()), nil
}

func newChannel(c *interp.Call, a []value.Value) (value.Value, error) {
	if a[0].AsStr() == "" {
		return value.Null, argErr(c.Span, "channel: empty name")
	}
	return value.NewRecord(channelShape, []value.Value{a[0]}), nil
}

func callNow(c *interp.Call, _ []value.Value) (value.Value, error) {
	return value.NewDatetime(clockNow(c.M)), nil
}

func callToday(c *interp.Call, _ []value.Value) (value.Value, error) {
	t := clockNow(c.M)
	return value.NewDatetime(time.Date(t.Year(), t.Month(), t.Day(), 0, 0, 0, 0, t.Location())), nil
}

func callAssert(c *interp.Call, a []value.Value) (value.Value, error) {
	return value.Null, assertThat(c, a[0], a[1])
}

// callRetry counts a raised error and a failed outcome as a failure. Being
// cancelled is neither: it ends the retries.
func callRetry(c *interp.Call, a []value.Value) (value.Value, error) {
	n := a[0].AsInt()
	if n < 1 {
		return value.Null, argErr(c.Span, "retry: n must be at least 1")
	}
	delay := time.Duration(0)
	if !a[2].IsNull() {
		if delay = a[2].AsDuration(); delay < 0 {
			return value.Null, typeErr(c.Span, "retry: the delay must not be negative")
		}
	}
	thunk, err := c.M.Callback(a[1], 0)
	if err != nil {
		return value.Null, err
	}
	for turn := int64(1); ; turn++ {
		v, err := thunk.Call()
		failed := err != nil || v.Kind() == value.KindOutcome && !v.AsOutcome().OK
		if !failed || turn == n || isCancelled(err) {
			return v, err
		}
		if err := wait(c.M, delay); err != nil {
			return value.Null, err
		}
	}
}
