package gateway

import (
	"context"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"sort"
	"strings"
	"sync"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// ptyID accepts a terminal's id and its URI.
func ptyID(s string) messages.PTYID {
	if rest, ok := strings.CutPrefix(s, "shoal://pty/"); ok {
		return messages.PTYID("pty:" + rest)
	}
	return messages.PTYID(s)
}

type openPTYParams struct {
	Cmd        string            `json:"cmd"` // required unless plan_ref is given
	Args       []string          `json:"args"`
	Cols       *int              `json:"cols"`
	Rows       *int              `json:"rows"`
	Env        map[string]string `json:"env"`
	Cwd        string            `json:"cwd"`
	Scrollback *int              `json:"scrollback"`
	// Record keeps what is shown, RecordInput also what is typed while the
	// terminal echoes it.
	Record      bool   `json:"record"`
	RecordInput bool   `json:"record_input"`
	PlanRef     string `json:"plan_ref"` // opens exactly what was approved; stands alone
}

// openPTY asks the session, which knows directory, environment and policy.
func (b *backend) openPTY(p openPTYParams) (wire.Call, *messages.Error) {
	req := messages.OpenTerminal{
		Key: b.key(), Principal: b.principal, Cmd: p.Cmd, Args: p.Args, Cwd: p.Cwd,
		Record: p.Record || p.RecordInput, RecordInput: p.RecordInput, PlanRef: planRef(p.PlanRef),
	}
	switch {
	case p.PlanRef != "" && !p.alone():
		return nil, messages.Errorf(messages.CodeInvalidParams, "plan_ref: stands alone; what the plan opens is fixed")
	case p.PlanRef == "" && p.Cmd == "":
		return nil, messages.Errorf(messages.CodeInvalidParams, "cmd: required property is missing (a program, or plan_ref alone)")
	}
	for name, side := range map[string]*int{"cols": p.Cols, "rows": p.Rows} {
		if side != nil && (*side < 1 || *side > messages.PTYSideMax) {
			return nil, messages.Errorf(messages.CodeInvalidParams, "%s: expected 1 to %d, not %d", name, messages.PTYSideMax, *side)
		}
	}
	if p.Cols != nil {
		req.Cols = *p.Cols
	}
	if p.Rows != nil {
		req.Rows = *p.Rows
	}
	if p.Scrollback != nil {
		if *p.Scrollback < 0 {
			return nil, messages.Errorf(messages.CodeInvalidParams, "scrollback: expected at least 0 lines, not %d", *p.Scrollback)
		}
		req.Scrollback = *p.Scrollback
		if req.Scrollback == 0 {
			req.Scrollback = -1 // none, as against not given
		}
	}
	for name, v := range p.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(v, "\x00") {
			return nil, messages.Errorf(messages.CodeInvalidParams, "env: %q is no variable that can be set", name)
		}
		req.Set = append(req.Set, name+"="+v)
	}
	sort.Strings(req.Set)
	return ask(b, b.g.o.To.Session(b.session), req, raw), nil
}

// alone reports whether nothing but the plan is given.
func (p openPTYParams) alone() bool {
	p.PlanRef = ""
	return reflect.ValueOf(p).IsZero()
}

// ptyCall asks the terminals.
func ptyCall[R any](b *backend, req messages.Request[R], waits bool) wire.Call {
	c := ask(b, b.g.o.To.PTYs, req, encoded[R])
	if waits {
		c.deadline = askDeadline + messages.PTYWaitMax*1e6
	}
	return c
}

func checkWait(w *messages.PTYWait) *messages.Error {
	if w == nil {
		return nil
	}
	if w.TimeoutMS < 0 || w.TimeoutMS > messages.PTYWaitMax {
		return messages.Errorf(messages.CodeInvalidParams, "wait.timeout_ms: expected 1 to %d, not %d", messages.PTYWaitMax, w.TimeoutMS)
	}
	return nil
}

type sendPTYParams struct {
	PTY   string            `json:"pty_id" wire:"required"`
	Input json.RawMessage   `json:"input" wire:"required"`
	Wait  *messages.PTYWait `json:"wait"`
}

func (b *backend) sendPTY(p sendPTYParams) (wire.Call, *messages.Error) {
	if err := checkWait(p.Wait); err != nil {
		return nil, err
	}
	return ptyCall(b, messages.SendPTY{
		Session: b.session, Reader: b.conn, PTY: ptyID(p.PTY), Input: p.Input, Wait: p.Wait, Seq: b.calls.Add(1),
	}, p.Wait != nil), nil
}

type readPTYParams struct {
	PTY        string             `json:"pty_id" wire:"required"`
	Wait       *messages.PTYWait  `json:"wait"`
	Scrollback *messages.PTYRange `json:"scrollback"`
	Attrs      bool               `json:"attrs"`
	Peek       bool               `json:"peek"` // does not count as this connection's read
}

func (b *backend) readPTY(p readPTYParams) (wire.Call, *messages.Error) {
	if err := checkWait(p.Wait); err != nil {
		return nil, err
	}
	reader := b.conn
	if p.Peek {
		reader = ""
	}
	return ptyCall(b, messages.ReadPTY{
		Session: b.session, Reader: reader, PTY: ptyID(p.PTY), Wait: p.Wait, Scrollback: p.Scrollback, Attrs: p.Attrs,
	}, p.Wait != nil), nil
}

type resizePTYParams struct {
	PTY  string `json:"pty_id" wire:"required"`
	Cols int    `json:"cols" wire:"required"`
	Rows int    `json:"rows" wire:"required"`
}

func (b *backend) resizePTY(p resizePTYParams) (wire.Call, *messages.Error) {
	for name, n := range map[string]int{"cols": p.Cols, "rows": p.Rows} {
		if n < 1 || n > messages.PTYSideMax {
			return nil, messages.Errorf(messages.CodeInvalidParams, "%s: expected 1 to %d, not %d", name, messages.PTYSideMax, n)
		}
	}
	return ptyCall(b, messages.ResizePTY{Session: b.session, PTY: ptyID(p.PTY), Cols: p.Cols, Rows: p.Rows}, false), nil
}

type holdPTYParams struct {
	PTY     string `json:"pty_id" wire:"required"`
	Seconds *int   `json:"seconds"` // 0 gives the keyboard back
}

// holdPTY holds the keyboard for this connection.
func (b *backend) holdPTY(p holdPTYParams) (wire.Call, *messages.Error) {
	seconds := messages.PTYLease
	if p.Seconds != nil {
		if *p.Seconds < 0 || *p.Seconds > messages.PTYLeaseMax {
			return nil, messages.Errorf(messages.CodeInvalidParams, "seconds: expected 0 to %d, not %d", messages.PTYLeaseMax, *p.Seconds)
		}
		seconds = *p.Seconds
	}
	id := ptyID(p.PTY)
	b.keyboards.ask(id, seconds > 0)
	return ptyCall(b, messages.HoldPTY{
		Session: b.session, Reader: b.conn, Name: string(b.principal), PTY: id, Seconds: seconds,
	}, false), nil
}

// keyboards are of the terminals whose keyboard a connection has asked for and
// not given back. What is not remembered is free when its lease is over.
type keyboards struct {
	mu  sync.Mutex
	all map[messages.PTYID]bool
}

func (k *keyboards) ask(id messages.PTYID, take bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case !take:
		delete(k.all, id)
	case k.all == nil:
		k.all = map[messages.PTYID]bool{id: true}
	case len(k.all) < messages.PTYTotalMax:
		k.all[id] = true
	}
}

func (k *keyboards) taken() []messages.PTYID {
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Collect(maps.Keys(k.all))
}

type recordPTYParams struct {
	PTY string `json:"pty_id" wire:"required"`
}

// recordPTY keeps what a recorded terminal has shown so far.
func (b *backend) recordPTY(p recordPTYParams) (wire.Call, *messages.Error) {
	return ptyCall(b, messages.RecordPTY{Session: b.session, PTY: ptyID(p.PTY)}, true), nil
}

type closePTYParams struct {
	PTY string `json:"pty_id" wire:"required"`
}

func (b *backend) closePTY(p closePTYParams) (wire.Call, *messages.Error) {
	return ptyCall(b, messages.ClosePTY{Session: b.session, PTY: ptyID(p.PTY), Key: b.key()}, false), nil
}

func (b *backend) listPTYs(noParams) (wire.Call, *messages.Error) {
	return ask(b, b.g.o.To.PTYs, messages.ListPTYs{Session: b.session}, encoded[messages.PTYList]), nil
}

// knownPTY checks that a terminal belongs to the session.
func (b *backend) knownPTY(ctx context.Context, id messages.PTYID) *messages.Error {
	_, err := ask(b, b.g.o.To.PTYs, messages.ListPTYs{Session: b.session},
		func(l messages.PTYList) (json.RawMessage, *messages.Error) {
			for _, row := range l.PTYs {
				if row.PTY == id {
					return nil, nil
				}
			}
			return nil, messages.Errorf(messages.CodeUnknownPTY, "there is no terminal %s in this session", id)
		}).Wait(ctx)
	return err
}
