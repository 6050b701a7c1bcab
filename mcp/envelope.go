package mcp

import (
	"encoding/json"

	"shoal.dev/shoal/messages"
)

// toolResult is the answer to tools/call when the kernel answered with result;
// its text is made from shown.
func (t *tool) toolResult(result, shown json.RawMessage, limit int, links bool) json.RawMessage {
	if len(result) == 0 || result[0] != '{' { // structured content is an object
		result = appendRaw([]byte(`{"value":`), result)
		result = append(result, '}')
	}
	const around = 256 // bytes of what is neither text nor result
	size := len(result) + around
	var text, link string
	if t.quote != nil {
		size += len(shown)
	} else {
		text, link = t.show(shown, limit)
		size += len(text) + len(text)/8
	}
	dst := append(make([]byte, 0, size), `{"content":[{"type":"text","text":`...)
	if t.quote != nil {
		dst, link = t.quote(dst, shown, limit)
	} else {
		dst = messages.AppendString(dst, text)
	}
	dst = append(dst, '}')
	if links && link != "" {
		dst = messages.AppendString(append(dst, `,{"type":"resource_link","uri":`...), link)
		dst = messages.AppendString(append(dst, `,"name":`...), linkName(link))
		dst = append(dst, `,"mimeType":"application/json"}`...)
	}
	dst = appendRaw(append(dst, `],"structuredContent":`...), result)
	return append(dst, `,"isError":false}`...)
}

// linkName is a resource's name: its URI less the scheme.
func linkName(uri string) string {
	if isURI(uri) {
		return uri[len(scheme):]
	}
	return uri
}

// failedResult is the answer to tools/call when the kernel refused.
func failedResult(e *messages.Error) json.RawMessage {
	body := appendError(nil, named(e))
	text := body
	if len(text) > messages.HardCap {
		text = appendError(nil, shortened(e))
	}
	dst := make([]byte, 0, 2*len(body)+96)
	dst = messages.AppendString(append(dst, `{"content":[{"type":"text","text":`...), string(text))
	dst = append(append(dst, `}],"structuredContent":`...), body...)
	return append(dst, `,"isError":true}`...)
}

// named is the error with the symbolic name of its code in its data.
func named(e *messages.Error) *messages.Error {
	data := messages.AppendString([]byte(`{"name":`), e.Code.Name())
	switch {
	case len(e.Data) == 0 || string(e.Data) == "null" || !json.Valid(e.Data):
	case jsonType(e.Data) != "object":
		data = appendRaw(append(data, `,"data":`...), e.Data)
	default:
		eachMember(e.Data, func(key, value []byte) bool {
			if string(key) != "name" {
				data = append(messages.AppendString(append(data, ','), string(key)), ':')
				data = appendRaw(data, value)
			}
			return true
		})
	}
	return &messages.Error{Code: e.Code, Message: e.Message, Data: append(data, '}')}
}

// shortened is the error with only that of its data which leads on.
func shortened(e *messages.Error) *messages.Error {
	data := map[string]any{"name": e.Code.Name(), "shortened": true}
	for _, key := range []string{"ref", "uri", "task", "plan_ref"} {
		if v := unquote(member(e.Data, key)); v != "" {
			data[key] = v
		}
	}
	return (&messages.Error{Code: e.Code, Message: clip(e.Message, 16<<10)}).With(data)
}

// isBridge reports whether a refusal is about the call or the connection, so
// that it leaves as a JSON-RPC error and not as the result of a tool.
func isBridge(e *messages.Error) bool {
	switch e.Code {
	case messages.CodeParse, messages.CodeInvalidRequest, messages.CodeMethodNotFound, messages.CodeInvalidParams:
		return true
	case messages.CodeInterrupted:
		reason := ""
		if json.Valid(e.Data) {
			reason = unquote(member(e.Data, "reason"))
		}
		return reason == "kernel_stopped" || reason == "kernel_lost"
	}
	return false
}
