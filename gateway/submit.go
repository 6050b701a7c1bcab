package gateway

import (
	"encoding/json"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// exec hands a submission to the session; its answer may take as long as the
// work does.
func (b *backend) exec(p messages.ExecParams) (wire.Call, *messages.Error) {
	if err := checkExec(p); err != nil {
		return nil, err
	}
	p.PlanRef = planRef(string(p.PlanRef))
	req := messages.Exec{Key: b.key(), Conn: b.conn, Principal: b.principal, Params: p}
	return b.submit(req.Key, ask(b, b.g.o.To.Session(b.session), req, finished)), nil
}

func finished(r messages.ExecResult) (json.RawMessage, *messages.Error) { return r.JSON, r.Err }

// submit makes a call an execution: no deadline, and a lost caller is told to
// the session.
func (b *backend) submit(key string, c *askCall[messages.ExecResult]) wire.Call {
	c.deadline = 0
	c.gone = func(answer bool) {
		deliver(b.g, b.g.o.To.Session(b.session), messages.AbandonExec{Key: key, Answer: answer})
	}
	return c
}

// requestIDMax is the longest request id in characters.
const requestIDMax = 128

func checkExec(p messages.ExecParams) *messages.Error {
	bad := func(format string, args ...any) *messages.Error {
		return messages.Errorf(messages.CodeInvalidParams, format, args...)
	}
	switch {
	case p.Mode != "" && p.Mode != messages.ModeRun && p.Mode != messages.ModePlan:
		return bad("mode: expected \"run\" or \"plan\", not %q", p.Mode)
	case p.Position != "" && p.Position != messages.PositionStmt && p.Position != messages.PositionValue:
		return bad("position: expected \"stmt\" or \"value\", not %q", p.Position)
	case p.Mode == messages.ModePlan && p.PlanRef != "":
		return bad("plan_ref: is for running, not for planning")
	case utf8.RuneCountInString(p.RequestID) > requestIDMax:
		return bad("request_id: expected at most %d characters, not %d", requestIDMax, utf8.RuneCountInString(p.RequestID))
	}
	if err := checkBudgets(p.TimeoutMS, p.DeadlineMS); err != nil {
		return err
	}
	return checkElide(p.Elide)
}

// checkBudgets looks at how long a caller waits, and how long work may take.
func checkBudgets(timeout, deadline *int64) *messages.Error {
	for name, ms := range map[string]*int64{"timeout_ms": timeout, "deadline_ms": deadline} {
		if ms != nil && *ms < 1 {
			return messages.Errorf(messages.CodeInvalidParams, "%s: expected an integer of at least 1, not %d", name, *ms)
		}
	}
	return nil
}

func checkElide(e *messages.Elide) *messages.Error {
	if e == nil {
		return nil
	}
	for name, v := range map[string]*int64{"max_bytes": e.MaxBytes, "max_rows": e.MaxRows, "max_items": e.MaxItems} {
		if v != nil && *v < 1 {
			return messages.Errorf(messages.CodeInvalidParams, "elide.%s: expected an integer of at least 1, not %d", name, *v)
		}
	}
	return nil
}
