package mcp

import (
	"context"
	"encoding/json"
	"strconv"
	"sync"

	"shoal.dev/shoal/messages"
)

// Codes of the protocol for reads.
const codeResourceNotFound messages.Code = -32002

// readResource hands a resource's kernel call over.
func (p *peer) readResource(req request) (job, *messages.Error) {
	stateless := req.meta.stateless
	uri, refusal := uriParam(req.params)
	if refusal != nil {
		return job{}, refusal
	}
	t, refusal := parseURI(uri)
	if refusal != nil {
		return job{}, readError(refusal, stateless)
	}
	if t.kind == "guide" {
		return readGuide(uri), nil
	}
	src, refusal := t.source()
	if refusal != nil {
		return job{}, readError(refusal, stateless)
	}
	mark := p.beginMark(t)
	backend := p.backend
	if t.kind == "pty" {
		backend = aside(backend) // reading the resource is no read of the terminal's user
	}
	call, refusal := backend.Begin(src.method, src.params)
	if refusal != nil {
		return job{}, readError(refusal, stateless)
	}
	keep := int64(0)
	if t.kind == "val" {
		keep = keepContent
	}
	return job{keep: &keep, run: func(ctx context.Context) (json.RawMessage, *messages.Error) {
		seen := mark(ctx)
		result, refusal := call.Wait(ctx)
		if refusal != nil {
			return nil, readError(refusal, stateless)
		}
		if seen != nil {
			p.marks.note(t.channel(), *seen)
		}
		if t.kind == "events" {
			p.marks.page(t, result)
		}
		return readResult(uri, t.query["format"], result), nil
	}}, nil
}

// uriParam is the uri of a request's params.
func uriParam(params []byte) (string, *messages.Error) {
	uri := member(params, "uri")
	if uri == nil || uri[0] != '"' {
		return "", messages.Errorf(messages.CodeInvalidParams, "uri: expected a string")
	}
	return unquote(uri), nil
}

// readResult is the answer to resources/read.
func readResult(uri, format string, result json.RawMessage) json.RawMessage {
	if len(result) == 0 || jsonType(result) != "object" {
		result = append(appendRaw([]byte(`{"value":`), result), '}')
	}
	mime, key, body := "application/json", "text", string(result)
	switch text, raw, bytes := member(result, "render"), member(result, "raw"), member(result, "raw_base64"); {
	case format == "render" && text != nil:
		mime, body = "text/plain", unquote(text)
	case format == "raw" && raw != nil:
		mime, body = "text/plain", unquote(raw)
	case format == "raw" && bytes != nil:
		mime, key, body = "application/octet-stream", "blob", unquote(bytes)
	}
	dst := make([]byte, 0, 2*len(result)+len(body)+len(body)/8+len(uri)+200)
	dst = messages.AppendString(append(dst, `{"contents":[{"uri":`...), uri)
	dst = append(append(append(dst, `,"mimeType":"`...), mime...), `","`...)
	dst = messages.AppendString(append(append(dst, key...), `":`...), body)
	dst = appendRaw(append(dst, `,"_meta":{"shoal/value":`...), result)
	dst = appendRaw(append(dst, `}}],"structuredContent":`...), result)
	return append(dst, '}')
}

// readError is a kernel error as the refusal of a read. The stateless era has no
// code of its own for what is not there.
func readError(e *messages.Error, stateless bool) *messages.Error {
	if e.Code == messages.CodeInterrupted && isBridge(e) {
		return e
	}
	outer := messages.CodeInternal
	switch e.Code {
	case messages.CodeUnknownRef, messages.CodeUnknownTask, messages.CodeUnknownPTY, messages.CodeUnknownPlan:
		outer = codeResourceNotFound
		if stateless {
			outer = messages.CodeInvalidParams
		}
	case messages.CodeInvalidParams, messages.CodeBadPath:
		outer = messages.CodeInvalidParams
	}
	return &messages.Error{Code: outer, Message: "kernel error: " + e.Message, Data: appendError(nil, named(e))}
}

// marks remember, by channel, the last event that this connection has read, so
// that a subscription can go on from there.
type marks struct {
	mu   sync.Mutex
	last map[string]uint64
}

// marksMax bounds what a connection remembers.
const marksMax = 4096

func (m *marks) note(channel string, seq uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	have, known := m.last[channel]
	if !known && len(m.last) >= marksMax {
		clear(m.last)
	}
	m.last[channel] = max(have, seq)
}

func (m *marks) of(channel string) *uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if seq, known := m.last[channel]; known {
		return &seq
	}
	return nil
}

// page notes what a read of a channel has shown.
func (m *marks) page(t target, page []byte) {
	if since, err := t.since(); err == nil && since != nil {
		m.note(t.id, *since)
	}
	eachItem(member(page, "events"), func(event []byte) bool {
		if seq, err := strconv.ParseUint(string(member(event, "seq")), 10, 64); err == nil {
			m.note(t.id, seq)
		}
		return true
	})
}

// beginMark asks, before a task or a terminal is read, how far its channel has
// come, so that a subscription made after the read misses nothing since.
func (p *peer) beginMark(t target) func(context.Context) *uint64 {
	none := func(context.Context) *uint64 { return nil }
	switch t.kind {
	case "task", "task/out", "pty":
	default:
		return none
	}
	call, refusal := p.backend.Begin("events.read", latestParams(t.channel()))
	if refusal != nil {
		return none
	}
	return func(ctx context.Context) *uint64 {
		page, _ := call.Wait(ctx)
		return latestOf(page)
	}
}

func latestParams(channel string) json.RawMessage {
	return messages.JSON(map[string]any{"channel": channel, "limit": 1, "tail": true})
}

// latestOf is the newest sequence number that a page of events tells of.
func latestOf(page []byte) *uint64 {
	seq, err := strconv.ParseUint(string(member(page, "latest_seq")), 10, 64)
	if err != nil {
		return nil
	}
	return &seq
}

// channel is the event channel of the target; "" when it has none of its own.
func (t target) channel() string {
	switch t.kind {
	case "events":
		return t.id
	case "task", "task/out":
		return "task." + t.id
	case "pty":
		return "pty." + t.id
	}
	return ""
}
