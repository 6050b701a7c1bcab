package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"sync"

	"github.com/mark3labs/mcp-go/mcp"

	"shoal.dev/shoal/messages"
)

// work is the call of a tool on its way.
type work struct {
	p     *peer
	t     *tool
	args  json.RawMessage // checked
	about origin
	links bool // the client knows links in results
	call  handover
}

// handover is the kernel call that somebody waits for at the moment.
type handover struct {
	mu       sync.Mutex
	call     Call
	left     bool
	released bool // the caller may come back
}

// to makes call the one that is waited for.
func (h *handover) to(call Call) {
	h.mu.Lock()
	h.call = call
	left, released := h.left, h.released
	h.mu.Unlock()
	switch {
	case left:
		call.Abandon()
	case released:
		release(call)
	}
}

// abandon says that the caller is gone.
func (h *handover) abandon() {
	h.mu.Lock()
	h.left = true
	call := h.call
	h.mu.Unlock()
	if call != nil {
		call.Abandon()
	}
}

// release says that the caller may come back for the answer.
func (h *handover) release() {
	h.mu.Lock()
	h.released = true
	call := h.call
	h.mu.Unlock()
	release(call)
}

func release(call Call) {
	if r, ok := call.(Releaser); ok {
		r.Release()
	}
}

// callTool hands a tool's kernel call over.
func (p *peer) callTool(req request) (job, *messages.Error) {
	name := member(req.params, "name")
	if name == nil || name[0] != '"' {
		return job{}, messages.Errorf(messages.CodeInvalidParams, "name: expected the name of a tool")
	}
	t, known := p.s.tools[unquote(name)]
	if !known {
		return job{}, messages.Errorf(messages.CodeInvalidParams, "tool '%s' not found", clip(unquote(name), 128))
	}
	args, refusal := t.params(member(req.params, "arguments"))
	if refusal != nil {
		return job{}, refusal
	}
	w := &work{
		p: p, t: t, args: args, about: origin{id: bytes.Clone(req.id), meta: req.meta.own()},
		links: req.meta.stateless || p.session.links(),
	}
	j := job{token: w.about.meta.token}
	if t.executes() {
		j.abandon, j.release = w.call.abandon, w.call.release
	}
	if state := member(req.params, "requestState"); state != nil && req.meta.stateless {
		if asked, known := p.s.questions.take(unquote(state), w.question()); known {
			said := readAnswer(member(member(req.params, "inputResponses"), inputName))
			j.run = func(ctx context.Context) (json.RawMessage, *messages.Error) { return w.resume(ctx, asked, said) }
			return j, nil
		}
	}
	call, refusal := p.backend.Begin(t.method, args)
	if refusal != nil {
		if isBridge(refusal) {
			return job{}, refusal
		}
		j.run = func(ctx context.Context) (json.RawMessage, *messages.Error) { return w.finish(ctx, nil, refusal) }
		return j, nil
	}
	w.call.call = call
	j.run = func(ctx context.Context) (json.RawMessage, *messages.Error) {
		result, refusal := call.Wait(ctx)
		return w.finish(ctx, result, refusal)
	}
	return j, nil
}

// executes reports whether the tool runs a program, which goes on when nobody
// waits for it.
func (t *tool) executes() bool { return t.method == "exec" || t.method == "plan.apply" }

// finish answers the call with what the kernel said. What lacks an approval is
// asked for, where that can be done.
func (w *work) finish(ctx context.Context, result json.RawMessage, refusal *messages.Error) (json.RawMessage, *messages.Error) {
	if refusal != nil && refusal.Code == messages.CodeApprovalRequired && w.t.approved != nil {
		return w.approve(ctx, refusal)
	}
	return w.dress(ctx, result, refusal)
}

// dress is the kernel's answer as the result of a tool.
func (w *work) dress(ctx context.Context, result json.RawMessage, refusal *messages.Error) (json.RawMessage, *messages.Error) {
	switch {
	case refusal != nil && isBridge(refusal):
		return nil, refusal
	case refusal != nil:
		return failedResult(refusal), nil
	}
	shown := result
	if w.t.again != nil {
		method, more := w.t.again(bytes.Clone(w.args))
		if rendering, err := w.p.ask(ctx, method, more); err == nil {
			shown = rendering
		}
	}
	if w.t.executes() {
		w.remark(result)
	}
	return w.t.toolResult(result, shown, textLimit(w.args), w.links), nil
}

// remark logs what a client may want to hear of an execution's end.
func (w *work) remark(result []byte) {
	if string(member(result, "timed_out")) == "true" {
		w.log(mcp.LoggingLevelInfo, unquote(member(result, "task"))+" goes on after the wait")
	}
	eachItem(member(result, "notes"), func(note []byte) bool {
		w.log(mcp.LoggingLevelInfo, unquote(member(note, "code"))+": "+clip(unquote(member(note, "msg")), noteBytes))
		return true
	})
}

func (w *work) log(level mcp.LoggingLevel, text string) { w.p.log(w.about, level, text) }
