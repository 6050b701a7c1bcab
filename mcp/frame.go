package mcp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
)

// request is a frame from the peer. It points into the frame.
type request struct {
	id     json.RawMessage // nil: a notification
	method string          // empty: an answer to a question
	result json.RawMessage // of an answer; nil: it is an error
	params json.RawMessage // nil when absent or null, else an object
	meta   meta            // of a request
}

// parseFrame reads a frame. On refusal the request still has the id to answer
// with, null where there is none.
func parseFrame(line []byte) (request, *messages.Error) {
	none := request{id: json.RawMessage("null")}
	if !utf8.Valid(line) {
		return none, messages.Errorf(messages.CodeParse, "frame is not valid UTF-8")
	}
	if !json.Valid(line) {
		return none, messages.Errorf(messages.CodeParse, "frame is not valid JSON")
	}
	var req request
	var version, method, outcome, result []byte
	object := eachMember(line, func(key, value []byte) bool {
		switch string(key) {
		case "jsonrpc":
			version = value
		case "id":
			req.id = value
		case "method":
			method = value
		case "params":
			req.params = value
		case "result":
			outcome, result = value, value
		case "error":
			outcome = value
		}
		return true
	})
	if !object {
		what := "frame is not an object"
		if bytes.HasPrefix(bytes.TrimSpace(line), []byte("[")) {
			what = "batches are not supported: send one request per line"
		}
		return none, messages.Errorf(messages.CodeInvalidRequest, "%s", what)
	}
	if method == nil && outcome != nil && unquote(version) == "2.0" {
		return request{id: req.id, result: result}, nil
	}
	refused := request{id: req.id}
	if refused.id == nil {
		refused.id = none.id
	}
	switch {
	case unquote(version) != "2.0":
		return refused, messages.Errorf(messages.CodeInvalidRequest, `jsonrpc: expected "2.0"`)
	case len(method) == 0 || method[0] != '"' || unquote(method) == "":
		return refused, messages.Errorf(messages.CodeInvalidRequest, "method: expected a string that is not empty")
	case string(req.params) == "null":
		req.params = nil
	case req.params != nil && req.params[0] != '{':
		return refused, messages.Errorf(messages.CodeInvalidParams, "params: expected an object")
	}
	req.method = unquote(method)
	return req, nil
}

// resultFrame is the answer to the request with that raw id.
func resultFrame(id, result json.RawMessage) []byte {
	dst := make([]byte, 0, len(id)+len(result)+40)
	dst = appendRaw(append(dst, `{"jsonrpc":"2.0","id":`...), id)
	dst = appendRaw(append(dst, `,"result":`...), result)
	return append(dst, "}\n"...)
}

// errorFrame is the refusal of the request with that raw id.
func errorFrame(id json.RawMessage, e *messages.Error) []byte {
	dst := make([]byte, 0, len(id)+len(e.Message)+len(e.Data)+80)
	dst = appendRaw(append(dst, `{"jsonrpc":"2.0","id":`...), id)
	dst = appendError(append(dst, `,"error":`...), e)
	return append(dst, "}\n"...)
}

// notificationFrame is a message that nobody answers.
func notificationFrame(method string, params []byte) []byte {
	dst := make([]byte, 0, len(method)+len(params)+48)
	dst = messages.AppendString(append(dst, `{"jsonrpc":"2.0","method":`...), method)
	dst = appendRaw(append(dst, `,"params":`...), params)
	return append(dst, "}\n"...)
}

// appendError appends {code,message,data}.
func appendError(dst []byte, e *messages.Error) []byte {
	dst = append(dst, `{"code":`...)
	dst = appendInt(dst, int64(e.Code))
	dst = messages.AppendString(append(dst, `,"message":`...), e.Message)
	if len(e.Data) > 0 {
		data := e.Data
		if !json.Valid(data) {
			data = nil
		}
		dst = appendRaw(append(dst, `,"data":`...), data)
	}
	return append(dst, '}')
}
