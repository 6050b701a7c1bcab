package gateway

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"

	"shoal.dev/shoal/lang/effect"
	"shoal.dev/shoal/mcp"
	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/supervisor"
	"shoal.dev/shoal/wire"
)

// backend is the kernel as one attached connection sees it.
type backend struct {
	g         *Gateway
	conn      string
	session   messages.SessionName
	principal messages.Principal
	join      messages.Attach
	attached  messages.Attached
	calls     atomic.Uint64
}

// Attached is the answer that the connection's attachment got.
func (b *backend) Attached() messages.Attached { return b.attached }

// close leaves the session.
func (b *backend) close() {
	b.g.o.Sys.Tell(b.g.o.To.Session(b.session), messages.Detached{Conn: b.conn})
}

// handler serves one method.
type handler func(b *backend, params json.RawMessage) (wire.Call, *messages.Error)

// handlers is every method that this kernel serves.
var handlers = map[string]handler{
	"session.env":     viewOf("env"),
	"session.reef":    viewOf("reef"),
	"session.cwd":     viewOf("cwd"),
	"session.list":    (*backend).listSessions,
	"session.close":   (*backend).closeSession,
	"exec":            (*backend).exec,
	"value.get":       (*backend).getValue,
	"blob.get":        (*backend).getBlob,
	"journal.query":   (*backend).queryJournal,
	"task.list":       (*backend).listTasks,
	"task.get":        taskOp("get"),
	"task.await":      taskOp("await"),
	"task.cancel":     taskOp("cancel"),
	"task.output":     taskOp("output"),
	"plan.get":        (*backend).getPlan,
	"plan.list":       (*backend).listPlans,
	"plan.apply":      (*backend).applyPlan,
	"cap.request":     (*backend).requestCap,
	"cap.pending":     (*backend).pendingCaps,
	"cap.grant":       decideCap(true),
	"cap.deny":        decideCap(false),
	"pty.open":        (*backend).openPTY,
	"pty.send":        (*backend).sendPTY,
	"pty.read":        (*backend).readPTY,
	"pty.resize":      (*backend).resizePTY,
	"pty.close":       (*backend).closePTY,
	"pty.list":        (*backend).listPTYs,
	"events.read":     (*backend).readEvents,
	"events.publish":  (*backend).publishEvent,
	"kernel.info":     (*backend).kernelInfo,
	"kernel.shutdown": (*backend).shutdown,
}

// Begin validates a call and hands it over.
func (b *backend) Begin(method string, params json.RawMessage) (wire.Call, *messages.Error) {
	if _, known := wire.Lookup(method); !known {
		return nil, messages.Errorf(messages.CodeMethodNotFound, "there is no method %q", method)
	}
	if method == "session.attach" {
		return nil, messages.Errorf(messages.CodeInvalidRequest, "this connection is attached to session %s already; open another one", b.session)
	}
	h, served := handlers[method]
	if !served {
		return nil, notServed(method)
	}
	if b.g.refuse.Load() {
		return nil, stopping()
	}
	return h(b, params)
}

// stopping is the refusal of new work.
func stopping() *messages.Error {
	return messages.Errorf(messages.CodeInterrupted, "the kernel is stopping").
		With(map[string]string{"reason": "kernel_stopped"})
}

// mcpBackend is a backend as MCP sees it.
type mcpBackend struct{ *backend }

// Begin validates a call and hands it over.
func (m mcpBackend) Begin(method string, params json.RawMessage) (mcp.Call, *messages.Error) {
	c, err := m.backend.Begin(method, params)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// key names one call of this connection.
func (b *backend) key() string { return fmt.Sprintf("%s/%d", b.conn, b.calls.Add(1)) }

func none(params json.RawMessage) *messages.Error {
	var p struct{}
	return wire.Decode(params, &p)
}

func viewOf(view string) handler {
	return func(b *backend, params json.RawMessage) (wire.Call, *messages.Error) {
		if err := none(params); err != nil {
			return nil, err
		}
		return ask(b, b.g.o.To.Session(b.session), messages.ViewSession{View: view, Principal: b.principal}, raw), nil
	}
}

func (b *backend) listSessions(params json.RawMessage) (wire.Call, *messages.Error) {
	if err := none(params); err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Sessions, messages.ListSessions{Principal: b.principal}, encoded[messages.Sessions]), nil
}

func (b *backend) closeSession(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		Session messages.SessionName `json:"session"`
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	if p.Session == "" {
		p.Session = b.session
	}
	return ask(b, b.g.o.To.Sessions, messages.CloseSession{Session: p.Session, Principal: b.principal},
		func(d messages.Done) (json.RawMessage, *messages.Error) {
			return messages.JSON(map[string]any{"session": p.Session, "closed": true}), d.Err
		}), nil
}

// exec hands a submission to the session; its answer may take as long as the
// work does.
func (b *backend) exec(params json.RawMessage) (wire.Call, *messages.Error) {
	var p messages.ExecParams
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	if err := checkExec(p); err != nil {
		return nil, err
	}
	req := messages.Exec{Key: b.key(), Conn: b.conn, Principal: b.principal, Params: p}
	return b.submit(req.Key, ask(b, b.g.o.To.Session(b.session), req, finished)), nil
}

func finished(r messages.ExecResult) (json.RawMessage, *messages.Error) { return r.JSON, r.Err }

// submit makes a call an execution: no deadline, and a lost caller is told to
// the session.
func (b *backend) submit(key string, c *askCall[messages.ExecResult]) wire.Call {
	c.deadline = 0
	c.gone = func() { b.g.o.Sys.Tell(b.g.o.To.Session(b.session), messages.AbandonExec{Key: key}) }
	return c
}

// requestIDMax is the longest request id in bytes.
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
	case p.TimeoutMS != nil && *p.TimeoutMS < 1:
		return bad("timeout_ms: expected an integer of at least 1, not %d", *p.TimeoutMS)
	case p.DeadlineMS != nil && *p.DeadlineMS < 1:
		return bad("deadline_ms: expected an integer of at least 1, not %d", *p.DeadlineMS)
	case len(p.RequestID) > requestIDMax:
		return bad("request_id: expected at most %d bytes, not %d", requestIDMax, len(p.RequestID))
	}
	return checkElide(p.Elide)
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

func (b *backend) getValue(params json.RawMessage) (wire.Call, *messages.Error) {
	var p messages.GetValueParams
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	switch p.Format {
	case "", "json", "render", "raw":
	default:
		return nil, messages.Errorf(messages.CodeInvalidParams, "format: expected \"json\", \"render\" or \"raw\", not %q", p.Format)
	}
	if err := checkElide(p.Elide); err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Session(b.session), messages.GetValue{Principal: b.principal, Params: p}, raw), nil
}

// blobPiece is how much of a blob one call gives at most, in bytes.
const blobPiece = 64 << 10

func (b *backend) getBlob(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		Hash   string `json:"hash" wire:"required"`
		Offset int64  `json:"offset"`
		Limit  *int64 `json:"limit"`
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	limit := int64(blobPiece)
	switch {
	case p.Offset < 0:
		return nil, messages.Errorf(messages.CodeInvalidParams, "offset: expected an integer of at least 0, not %d", p.Offset)
	case p.Limit != nil && *p.Limit < 1:
		return nil, messages.Errorf(messages.CodeInvalidParams, "limit: expected an integer of at least 1, not %d", *p.Limit)
	case p.Limit != nil:
		limit = min(limit, *p.Limit)
	}
	hash := strings.TrimPrefix(strings.TrimPrefix(p.Hash, "val:"), "blake3:")
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		return b.blobPiece(hash, p.Offset, limit)
	}), nil
}

func (b *backend) blobPiece(hash string, offset, limit int64) (json.RawMessage, *messages.Error) {
	r, n, err := b.g.o.Store.OpenBlob(hash)
	if err != nil {
		return nil, messages.Errorf(messages.CodeUnknownRef, "there is no content val:blake3:%s: %v", hash, err)
	}
	if c, ok := r.(io.Closer); ok {
		defer c.Close()
	}
	if offset > n {
		return nil, messages.Errorf(messages.CodeBadPath, "offset %d is beyond the length %d", offset, n)
	}
	buf := make([]byte, min(limit, n-offset))
	got, err := r.ReadAt(buf, offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, messages.Errorf(messages.CodeInternal, "read content val:blake3:%s: %v", hash, err)
	}
	out := map[string]any{
		"hash": hash, "len": n, "offset": offset, "data_base64": base64.StdEncoding.EncodeToString(buf[:got]),
	}
	if next := offset + int64(got); next < n {
		out["next"] = next
	}
	return messages.JSON(out), nil
}

func (b *backend) queryJournal(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		messages.JournalQuery
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	if p.Limit < 0 || p.Limit > messages.JournalLimitMax {
		return nil, messages.Errorf(messages.CodeInvalidParams, "limit: expected 1 to %d, not %d", messages.JournalLimitMax, p.Limit)
	}
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		page, err := b.g.o.Store.Query(p.JournalQuery)
		if err != nil {
			var refusal *messages.Error
			if errors.As(err, &refusal) {
				return nil, refusal
			}
			return nil, messages.Errorf(messages.CodeInternal, "query journal: %v", err)
		}
		return messages.JSON(page), nil
	}), nil
}

func (b *backend) listTasks(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		Live bool `json:"live"`
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Tasks, messages.ListTasks{Session: b.session, Principal: b.principal, Live: p.Live},
		encoded[messages.TaskList]), nil
}

func taskOp(op string) handler {
	return func(b *backend, params json.RawMessage) (wire.Call, *messages.Error) {
		m := messages.RunTask{Op: op, Session: b.session, Principal: b.principal}
		var err *messages.Error
		switch op {
		case "await":
			var p struct {
				Task      string `json:"task" wire:"required"`
				TimeoutMS *int64 `json:"timeout_ms"`
			}
			err = wire.Decode(params, &p)
			m.Task, m.TimeoutMS = taskID(p.Task), p.TimeoutMS
			if err == nil && p.TimeoutMS != nil && *p.TimeoutMS < 1 {
				err = messages.Errorf(messages.CodeInvalidParams, "timeout_ms: expected an integer of at least 1, not %d", *p.TimeoutMS)
			}
		case "output":
			var p struct {
				Task   string `json:"task" wire:"required"`
				Stream string `json:"stream" wire:"required"`
				Offset int64  `json:"offset"`
				Limit  int64  `json:"limit"`
			}
			err = wire.Decode(params, &p)
			m.Task, m.Stream, m.Offset, m.Limit = taskID(p.Task), p.Stream, p.Offset, p.Limit
		default:
			var p struct {
				Task string `json:"task" wire:"required"`
			}
			err = wire.Decode(params, &p)
			m.Task = taskID(p.Task)
		}
		if err != nil {
			return nil, err
		}
		c := ask(b, b.g.o.To.Tasks, m, raw)
		if op == "await" {
			c.deadline = 0
		}
		return c, nil
	}
}

// taskID accepts a task's id and its URI.
func taskID(s string) messages.TaskID {
	if rest, ok := strings.CutPrefix(s, "shoal://task/"); ok {
		return messages.TaskID("task:" + rest)
	}
	return messages.TaskID(s)
}

// planRef accepts a plan's ref and its URI.
func planRef(s string) messages.PlanRef {
	if rest, ok := strings.CutPrefix(s, "shoal://plan/"); ok {
		return messages.PlanRef("plan:" + strings.TrimPrefix(rest, "plan:"))
	}
	return messages.PlanRef(s)
}

func planAnswer(a messages.PlanAnswer) (json.RawMessage, *messages.Error) {
	if a.Err != nil {
		return nil, a.Err
	}
	return messages.JSON(a.Plan), nil
}

func (b *backend) getPlan(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		PlanRef string `json:"plan_ref" wire:"required"`
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	return ask[messages.PlanAnswer](b, b.g.o.To.Plans,
		messages.GetPlan{PlanRef: planRef(p.PlanRef), Session: b.session, Principal: b.principal}, planAnswer), nil
}

func (b *backend) listPlans(params json.RawMessage) (wire.Call, *messages.Error) {
	if err := none(params); err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Plans, messages.ListPlans{Session: b.session, Principal: b.principal}, encoded[messages.Plans]), nil
}

func (b *backend) applyPlan(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		PlanRef string          `json:"plan_ref" wire:"required"`
		Elide   *messages.Elide `json:"elide"`
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	if err := checkElide(p.Elide); err != nil {
		return nil, err
	}
	req := messages.ApplyPlan{
		Key: b.key(), Conn: b.conn, Principal: b.principal, PlanRef: planRef(p.PlanRef), Elide: p.Elide,
	}
	return b.submit(req.Key, ask(b, b.g.o.To.Session(b.session), req, finished)), nil
}

// kinds reads a list of effect kinds in either spelling.
func kinds(names []string) ([]effect.Kind, *messages.Error) {
	out := make([]effect.Kind, 0, len(names))
	for _, name := range names {
		k, ok := effect.ParseKind(name)
		if !ok {
			return nil, messages.Errorf(messages.CodeInvalidParams, "effects: %q is no effect kind; kinds are %s", name, kindList())
		}
		out = append(out, k)
	}
	return out, nil
}

func kindList() string {
	var names []string
	for _, k := range effect.Kinds() {
		names = append(names, k.Dotted())
	}
	return strings.Join(names, " ")
}

func capAnswer(a messages.CapAnswer) (json.RawMessage, *messages.Error) {
	if a.Err != nil {
		return nil, a.Err
	}
	return messages.JSON(a), nil
}

func (b *backend) requestCap(params json.RawMessage) (wire.Call, *messages.Error) {
	var p struct {
		PlanRef string   `json:"plan_ref" wire:"required"`
		Effects []string `json:"effects" wire:"required"`
		Reason  string   `json:"reason"`
	}
	if err := wire.Decode(params, &p); err != nil {
		return nil, err
	}
	ks, err := kinds(p.Effects)
	if err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Plans, messages.CapRequest{
		PlanRef: planRef(p.PlanRef), Session: b.session, Principal: b.principal, Effects: ks, Reason: p.Reason,
	}, capAnswer), nil
}

// pendingCaps lists the plans of the session that wait for an approval.
func (b *backend) pendingCaps(params json.RawMessage) (wire.Call, *messages.Error) {
	if err := none(params); err != nil {
		return nil, err
	}
	return ask(b, b.g.o.To.Plans, messages.ListPlans{Session: b.session, Principal: b.principal},
		func(all messages.Plans) (json.RawMessage, *messages.Error) {
			pending := messages.Plans{Plans: []messages.Plan{}}
			for _, p := range all.Plans {
				if p.ApprovalPending {
					pending.Plans = append(pending.Plans, p)
				}
			}
			return messages.JSON(pending), nil
		}), nil
}

func decideCap(grant bool) handler {
	return func(b *backend, params json.RawMessage) (wire.Call, *messages.Error) {
		var p struct {
			PlanRef string   `json:"plan_ref" wire:"required"`
			Effects []string `json:"effects"`
			Reason  string   `json:"reason"`
		}
		if err := wire.Decode(params, &p); err != nil {
			return nil, err
		}
		ks, err := kinds(p.Effects)
		if err != nil {
			return nil, err
		}
		return ask(b, b.g.o.To.Plans, messages.DecideCap{
			PlanRef: planRef(p.PlanRef), Principal: b.principal, Grant: grant, Effects: ks, Reason: p.Reason,
		}, capAnswer), nil
	}
}

func (b *backend) kernelInfo(params json.RawMessage) (wire.Call, *messages.Error) {
	if err := none(params); err != nil {
		return nil, err
	}
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) { return messages.JSON(b.g.o.Info()), nil }), nil
}

func (b *backend) shutdown(params json.RawMessage) (wire.Call, *messages.Error) {
	if err := none(params); err != nil {
		return nil, err
	}
	return funcCall(func(context.Context) (json.RawMessage, *messages.Error) {
		b.g.o.Shutdown()
		return messages.JSON(map[string]bool{"stopping": true}), nil
	}), nil
}

// publish writes an event through the journal.
func (b *backend) publish(ctx context.Context, draft messages.Draft) (uint64, *messages.Error) {
	a, err := supervisor.Ask(ctx, b.g.o.Sys, b.g.o.To.Journal, messages.Append{
		Record: messages.Record{Key: "event-" + b.g.o.KernelID + "-" + b.key(), Events: []messages.Draft{draft}},
	})
	switch {
	case err != nil:
		return 0, messages.Errorf(messages.CodeInterrupted, "publish: %v; read the channel before you publish again", err)
	case a.Err != nil:
		return 0, a.Err
	case len(a.Seqs) == 0:
		return 0, messages.Errorf(messages.CodeInternal, "publish: the journal gave no number")
	}
	return a.Seqs[0], nil
}
