package builtin

import (
	"time"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// sessionRows are the heads that speak to the session itself.
func sessionRows() []headRow {
	return []headRow{
		{"echo", "echo VALUE…", "The values as one str, joined by blanks.", true, nil, headEcho},
		{"env", "env [NAME]", "The session's environment as a record, or one variable.", true, envEffects, headEnv},
		{"sleep", "sleep D", "Waits for a duration; a bare number is seconds.", true, only(effect.Time), headSleep},
		{"assert", "assert (COND) [MSG]", "Raises assert_failed unless the condition holds.", false, nil, headAssert},
		{"exit", "exit [N=0]", "Asks the host to stop after this statement.", false, nil, headExit},
		{"quit", "quit [N=0]", "Asks the host to stop after this statement.", false, nil, headExit},
		{"jobs", "jobs", "The session's tasks as a table {id, desc, state, done, suspended}.", false, only(), headJobs},
		{"journal", "journal [--head=W] [--principal=P] [--limit=N]", "What was run, newest first.", false, only(effect.JournalRead), headJournal},
		{"history", "history [--head=W] [--principal=P] [--limit=N]", "What was run, newest first.", false, only(effect.JournalRead), headJournal},
	}
}

func headEcho(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, -1)
	if err != nil {
		return value.Null, err
	}
	var texts []string
	size := -1
	add := func(text string) error {
		if text == "" && len(texts) == 0 { // null shows nothing, not even a blank
			return nil
		}
		if size += 1 + len(text); size > maxText {
			return codeErr(c.Span, value.CodeOverflow, "echo: more than %d bytes", maxText)
		}
		texts = append(texts, text)
		return nil
	}
	for _, o := range w.args {
		if o.v.Kind() != value.KindGlob {
			if err := add(value.EchoText(o.v)); err != nil {
				return value.Null, err
			}
			continue
		}
		found, err := c.M.Expand(o.v.AsGlob())
		if err != nil {
			return value.Null, err
		}
		for _, p := range found {
			if err := add(p); err != nil {
				return value.Null, err
			}
		}
	}
	return joinWords(c.M, texts, max(size, 0))
}

// joinWords is the texts joined by blanks, of so many bytes together.
func joinWords(m *interp.Machine, texts []string, size int) (value.Value, error) {
	if err := m.Reserve(int64(size)); err != nil {
		return value.Null, err
	}
	out := make([]byte, 0, size)
	for i, text := range texts {
		if err := m.Check(); err != nil {
			return value.Null, err
		}
		if i > 0 {
			out = append(out, ' ')
		}
		out = value.ExtendText(out, text)
	}
	return value.Str(value.TextOf(out)), nil
}

func headEnv(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) == 1 {
		name, err := w.text(w.args[0], "name")
		if err != nil {
			return value.Null, err
		}
		v, _ := c.M.Getenv(name)
		return v, nil
	}
	return environment(c.M), nil
}

// environment is the session's variables that are text, as a record.
func environment(m *interp.Machine) value.Value {
	var b value.RecordBuilder
	for _, kv := range m.EnvVars() {
		if kv.Value.Kind() == value.KindStr && !isText(kv.Value.AsStr()) {
			continue
		}
		b.Add(kv.Name, kv.Value)
	}
	return b.Done()
}

func headSleep(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) == 0 {
		return value.Null, argErr(c.Span, "sleep requires a duration")
	}
	d := w.args[0].v
	if w.args[0].word {
		converted, err := value.ConvertWord(d.AsStr(), "duration")
		if err != nil {
			return value.Null, err.WithSpan(spanOf(w.args[0].span))
		}
		d = converted
	}
	if d.Kind() != value.KindDuration {
		return value.Null, hintErr(w.args[0].span, value.CodeType, "give the number a unit: `sleep 500ms`, `sleep(2s)`", "sleep: expected a duration, got %s", d.Kind())
	}
	if d.AsDuration() < 0 {
		return value.Null, typeErr(w.args[0].span, "sleep: the duration must not be negative")
	}
	return value.Null, wait(c.M, d.AsDuration())
}

// wait sleeps until d has passed or the run is cancelled.
func wait(m *interp.Machine, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return m.Check()
	case <-m.Context().Done():
		return m.Cancelled()
	}
}

func headAssert(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 2)
	if err != nil {
		return value.Null, err
	}
	if len(w.args) == 0 {
		return value.Null, argErr(c.Span, "assert requires a condition")
	}
	cond := w.args[0].v
	if w.args[0].word { // `assert true` is a word
		if b, err := value.ConvertWord(cond.AsStr(), "bool"); err == nil {
			cond = b
		}
	}
	msg := value.Null
	if len(w.args) == 2 {
		msg = w.args[1].v
	}
	return value.Null, assertThat(&interp.Call{M: c.M, Name: c.Name, Span: c.Span}, cond, msg)
}

func assertThat(c *interp.Call, cond, msg value.Value) error {
	ok, err := interp.Condition(cond)
	if err != nil {
		return err
	}
	text := "assertion failed"
	switch msg.Kind() {
	case value.KindNull:
	case value.KindStr:
		text = msg.AsStr()
	default:
		return typeErr(c.Span, "assert: the message must be str, got %s", msg.Kind())
	}
	if ok {
		return nil
	}
	return codeErr(c.Span, value.CodeAssert, "%s", text)
}

func headExit(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, nil, 1)
	if err != nil {
		return value.Null, err
	}
	code := int64(0)
	if len(w.args) == 1 {
		n := w.args[0].v
		if w.args[0].word {
			if converted, err := value.ConvertWord(n.AsStr(), "int"); err == nil {
				n = converted
			}
		}
		if n.Kind() != value.KindInt || n.AsInt() < 0 || n.AsInt() > 255 {
			return value.Null, argErr(w.args[0].span, "%s: the status must be an int from 0 to 255", c.Name)
		}
		code = n.AsInt()
	}
	c.M.Exit(int(code))
	return value.Null, nil
}

func headJobs(c *interp.HeadCall) (value.Value, error) {
	if _, err := parseWords(c, nil, 0); err != nil {
		return value.Null, err
	}
	if c.M.Host().Kernel == nil {
		return localJobs(c.M), nil
	}
	return c.M.Host().Kernel.Jobs(c.M.Context())
}

func headJournal(c *interp.HeadCall) (value.Value, error) {
	w, err := parseWords(c, []option{{long: "head", takes: true}, {long: "principal", takes: true}, {long: "limit", takes: true}}, 0)
	if err != nil {
		return value.Null, err
	}
	var q interp.JournalQuery
	for name, into := range map[string]*string{"head": &q.Head, "principal": &q.Principal} {
		v, given := w.flags[name]
		if !given {
			continue
		}
		if v.Kind() != value.KindStr {
			return value.Null, argErr(c.Span, "%s: --%s must be str, got %s", c.Name, name, v.Kind())
		}
		*into = v.AsStr()
	}
	if v, given := w.flags["limit"]; given {
		if v.Kind() == value.KindStr {
			if converted, err := value.ConvertWord(v.AsStr(), "int"); err == nil {
				v = converted
			}
		}
		if v.Kind() != value.KindInt || v.AsInt() < 1 {
			return value.Null, argErr(c.Span, "%s: --limit must be a positive int", c.Name)
		}
		q.Limit = int(min(v.AsInt(), maxItems))
	}
	if c.M.Host().Kernel == nil {
		return value.NewTable(nil), nil
	}
	return c.M.Host().Kernel.Journal(c.M.Context(), q)
}
