package wire

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
)

// Request is a call or, without ID, a notification. ID is any JSON value as
// the peer spelled it; Params is nil when absent or null.
type Request struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// ParseRequest reads a frame. The request points into the frame. On refusal the
// request still has the id to answer with; nil means null.
func ParseRequest(frame []byte) (Request, *messages.Error) {
	if !utf8.Valid(frame) {
		return Request{}, messages.Errorf(messages.CodeParse, "frame is not valid UTF-8")
	}
	if !json.Valid(frame) {
		return Request{}, messages.Errorf(messages.CodeParse, "frame is not valid JSON")
	}
	head, ok := Peek(frame)
	if !ok {
		what := "frame is not an object"
		if trimmed := bytes.TrimSpace(frame); len(trimmed) > 0 && trimmed[0] == '[' {
			what = "batches are not supported: send one request per line"
		}
		return Request{}, messages.Errorf(messages.CodeInvalidRequest, "%s", what)
	}
	req := Request{ID: head.ID, Params: head.Params}
	if string(req.Params) == "null" {
		req.Params = nil
	}
	switch {
	case head.JSONRPC != nil && Unquote(head.JSONRPC) != "2.0":
		return req, messages.Errorf(messages.CodeInvalidRequest, `jsonrpc: expected "2.0", got %s`, clip(head.JSONRPC))
	case head.Method == nil:
		return req, messages.Errorf(messages.CodeInvalidRequest, "method is missing")
	case head.Method[0] != '"':
		return req, messages.Errorf(messages.CodeInvalidRequest, "method: expected a string, got %s", clip(head.Method))
	}
	req.Method = head.MethodName()
	return req, nil
}

// AppendResult appends the answer to the request with that raw id; an empty
// result is null. The frame ends with a newline.
func AppendResult(dst []byte, id, result json.RawMessage) []byte {
	dst = append(appendID(dst, id), `,"result":`...)
	return append(appendRaw(dst, result), "}\n"...)
}

// AppendError appends a refusal of the request with that raw id.
func AppendError(dst []byte, id json.RawMessage, e *messages.Error) []byte {
	body, err := messages.Encode(e)
	if err != nil { // only data can be unencodable
		body, _ = json.Marshal(&messages.Error{Code: e.Code, Message: e.Message})
	}
	dst = append(appendID(dst, id), `,"error":`...)
	return append(append(dst, body...), "}\n"...)
}

// AppendRequest appends a call, or a notification when id is nil.
func AppendRequest(dst []byte, id json.RawMessage, method string, params json.RawMessage) []byte {
	name, _ := json.Marshal(method)
	if id == nil {
		dst = append(dst, `{"jsonrpc":"2.0"`...)
	} else {
		dst = appendID(dst, id)
	}
	dst = append(append(dst, `,"method":`...), name...)
	if len(params) > 0 {
		dst = appendRaw(append(dst, `,"params":`...), params)
	}
	return append(dst, "}\n"...)
}

func appendID(dst []byte, id json.RawMessage) []byte {
	return appendRaw(append(dst, `{"jsonrpc":"2.0","id":`...), id)
}

// appendRaw appends a JSON value; one that is spread over lines is compacted,
// since a newline would end the frame.
func appendRaw(dst []byte, value json.RawMessage) []byte {
	if len(value) == 0 {
		return append(dst, "null"...)
	}
	if bytes.IndexByte(value, '\n') < 0 {
		return append(dst, value...)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return append(dst, "null"...)
	}
	return append(dst, compact.Bytes()...)
}

// clip shortens a value for an error message, between characters.
func clip(value []byte) string {
	const most = 64
	if len(value) <= most {
		return string(value)
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(value[cut]) {
		cut--
	}
	return string(value[:cut]) + "…"
}
