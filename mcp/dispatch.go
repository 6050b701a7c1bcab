package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strconv"
	"strings"

	"shoal.dev/shoal/messages"
)

// dispatch turns a request into a job. It runs in the reading of frames, so
// that calls reach the kernel in the order in which they were written. The
// request points into the frame, of which a job may keep nothing.
func (p *peer) dispatch(req request) (job, *messages.Error) {
	if refusal := outOfEra(req.method, req.meta); refusal != nil {
		return job{}, refusal
	}
	j, refusal := p.route(req)
	if refusal == nil && req.meta.stateless {
		j = p.s.forStateless(j)
	}
	return j, refusal
}

func (p *peer) route(req request) (job, *messages.Error) {
	if fixtures.route != nil {
		if j, taken := fixtures.route(p, req); taken {
			return j, nil
		}
	}
	switch req.method {
	case "tools/call":
		return p.callTool(req)
	case "resources/read":
		return p.readResource(req)
	case "resources/list":
		return p.listResources(req)
	case "resources/subscribe":
		return p.subscribe(req.params)
	case "resources/unsubscribe":
		return p.unsubscribe(req.params)
	case "subscriptions/listen":
		return p.listen(req)
	}
	method, params := req.method, bytes.Clone(req.params)
	if method == "initialize" {
		p.session.elicits.Store(elicits(member(params, "capabilities")))
	}
	return job{inOrder: method == "initialize", run: func(ctx context.Context) (json.RawMessage, *messages.Error) {
		result, refusal := p.s.handle(ctx, p.session, method, params)
		if refusal == nil && (method == "initialize" || method == "server/discover") {
			result = p.introduce(result)
		}
		return result, refusal
	}}, nil
}

// ask makes a kernel call and waits for it.
func (p *peer) ask(ctx context.Context, method string, params json.RawMessage) (json.RawMessage, *messages.Error) {
	call, refusal := p.backend.Begin(method, params)
	if refusal != nil {
		return nil, refusal
	}
	return call.Wait(ctx)
}

// textLimit is how many bytes of text the caller wants.
func textLimit(args []byte) int {
	n, err := strconv.ParseInt(string(member(member(args, "elide"), "max_bytes")), 10, 64)
	if err != nil || n < 1 || n > messages.HardCap {
		return messages.HardCap
	}
	return int(n)
}

// prepareGet makes the params of value.get. The ref may be a URI, with a path
// and a slice of its own, as elided values and markers show them.
func prepareGet(args []byte) ([]byte, *messages.Error) {
	var p messages.GetValueParams
	if err := json.Unmarshal(args, &p); err != nil {
		return nil, messages.Errorf(messages.CodeInvalidParams, "arguments: %v", err)
	}
	if isURI(p.Ref) {
		t, err := parseURI(p.Ref)
		if err == nil && (t.kind == "out" || t.kind == "val" || t.kind == "task" || t.kind == "task/out") {
			err = addURI(&p, t)
		} else if err == nil {
			err = messages.Errorf(messages.CodeInvalidParams, "expected the URI of a value, got %q", clip(p.Ref, 128))
		}
		if err != nil {
			return nil, messages.Errorf(messages.CodeInvalidParams, "ref: %s", err.Message)
		}
	}
	return messages.JSON(p), nil
}

// addURI puts what a URI names in front of what the arguments name.
func addURI(p *messages.GetValueParams, t target) *messages.Error {
	slice, err := t.slice()
	if err != nil {
		return err
	}
	if slice != nil && (p.Slice != nil || p.Path != "") {
		return messages.Errorf(messages.CodeInvalidParams, "slice is part of the URI already; name the ref alone")
	}
	if slice != nil {
		p.Slice = slice
	}
	p.Ref = t.ref()
	p.Path = t.query["path"] + p.Path
	return nil
}

// introduce adds to the handshake's instructions where the client has landed.
func (p *peer) introduce(result json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(result, &fields) != nil {
		return result
	}
	at := p.backend.Attached()
	var b strings.Builder
	b.WriteString(unquote(fields["instructions"]))
	if at.Session != "" {
		b.WriteString("\n\nYou are in session " + string(at.Session) + " as " + string(at.Principal) + ", cwd " + at.Cwd.Display + ".")
	}
	if at.RestartedAt != 0 {
		b.WriteString(" The session was restored after a restart: tasks and terminals of before have ended.")
	}
	fields["instructions"] = messages.AppendString(nil, b.String())
	return messages.JSON(fields)
}
