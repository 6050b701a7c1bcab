package gateway

import (
	"encoding/json"

	"shoal.dev/shoal/messages"
	"shoal.dev/shoal/wire"
)

// readSource asks the session what a source is.
func (b *backend) readSource(m messages.ReadSource) wire.Call {
	m.Principal = b.principal
	return ask(b, b.g.o.To.Session(b.session), m, raw)
}

func (b *backend) parse(p messages.ParseParams) (wire.Call, *messages.Error) {
	m, err := parseRequest(p)
	if err != nil {
		return nil, err
	}
	return b.readSource(m), nil
}

func (b *backend) complete(p messages.CompleteParams) (wire.Call, *messages.Error) {
	m, err := completeRequest(p)
	if err != nil {
		return nil, err
	}
	return b.readSource(m), nil
}

func (b *backend) explain(p messages.ExplainParams) (wire.Call, *messages.Error) {
	switch {
	case p.Src == nil && p.AST == nil:
		return nil, messages.Errorf(messages.CodeInvalidParams, "src: required property is missing (a string); or give ast")
	case p.Src != nil && p.AST != nil:
		return nil, messages.Errorf(messages.CodeInvalidParams, "ast: give either src or ast, not both")
	case p.Src != nil:
		return b.readSource(messages.ReadSource{Op: "explain", Src: *p.Src}), nil
	}
	return b.readSource(messages.ReadSource{Op: "explain", AST: p.AST}), nil
}

func parseRequest(p messages.ParseParams) (messages.ReadSource, *messages.Error) {
	return messages.ReadSource{Op: "parse", Src: p.Src}, checkSource(p.Src)
}

func completeRequest(p messages.CompleteParams) (messages.ReadSource, *messages.Error) {
	m := messages.ReadSource{Op: "complete", Src: p.Src, Cursor: len(p.Src)}
	if p.Cursor != nil {
		m.Cursor = int(max(0, min(*p.Cursor, int64(len(p.Src)))))
	}
	return m, checkSource(p.Src)
}

func checkSource(src string) *messages.Error {
	if len(src) <= messages.SourceMax {
		return nil
	}
	return messages.Errorf(messages.CodeQuota, "src: %d bytes are more than %d; give a part of the source", len(src), messages.SourceMax).
		With(map[string]int{"limit": messages.SourceMax, "used": len(src)})
}

// fresh answers the public methods that need no session.
func (g *Gateway) fresh(method string, params json.RawMessage) (json.RawMessage, *messages.Error) {
	var m messages.ReadSource
	var refusal *messages.Error
	if method == "parse" {
		m, refusal = request(params, parseRequest)
	} else {
		m, refusal = request(params, completeRequest)
	}
	if refusal != nil {
		return nil, refusal
	}
	return raw(g.o.Fresh(m))
}

// request decodes params and makes a request of them.
func request[P any](params json.RawMessage, of func(P) (messages.ReadSource, *messages.Error)) (messages.ReadSource, *messages.Error) {
	var p P
	if err := wire.Decode(params, &p); err != nil {
		return messages.ReadSource{}, err
	}
	return of(p)
}
