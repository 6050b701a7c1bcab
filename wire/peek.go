package wire

import (
	"bytes"
	"encoding/json"
)

// Head holds the raw members of a frame that routing needs; a member that is
// absent is nil. The slices point into the frame.
type Head struct {
	ID, Method, Params, Result, Error, JSONRPC []byte
}

// Peek finds the top-level members of a frame without decoding it. Where a
// member comes twice the last one counts, as with encoding/json. It reports
// false when the frame does not look like an object; true does not mean that
// what lies inside the members is valid.
func Peek(frame []byte) (Head, bool) {
	var h Head
	ok := eachMember(frame, func(key, value []byte) bool {
		h.set(key, value)
		return true
	})
	return h, ok
}

// PeekReply is Peek for frames of a trusted peer, whose ids precede results: it
// looks no further than what tells a reply from a request, so that a large
// result is not scanned. Params is found only if it is the member after method.
func PeekReply(frame []byte) (Head, bool) {
	var h Head
	ok := eachStart(frame, func(key []byte, at int) (int, bool) {
		if h.ID != nil && (string(key) == "result" || string(key) == "error") {
			h.set(key, frame[at:])
			return 0, false
		}
		end := skipValue(frame, at)
		if end < 0 {
			return end, false
		}
		h.set(key, frame[at:end])
		return end, h.Params == nil || h.Method == nil || h.ID == nil
	})
	return h, ok
}

// MethodIs reports whether the frame calls the method of that name.
func (h Head) MethodIs(name string) bool {
	m := h.Method
	return len(m) == len(name)+2 && m[0] == '"' && string(m[1:len(m)-1]) == name
}

// MethodName is the method as text, empty when there is none.
func (h Head) MethodName() string { return Unquote(h.Method) }

// IsRequest reports whether an answer is owed: a method and an id that is not
// null.
func (h Head) IsRequest() bool {
	return h.Method != nil && h.ID != nil && string(h.ID) != "null"
}

// IsReply reports whether the frame answers a request.
func (h Head) IsReply() bool { return h.Method == nil && h.ID != nil }

func (h *Head) set(key, value []byte) {
	switch string(key) {
	case "id":
		h.ID = value
	case "method":
		h.Method = value
	case "params":
		h.Params = value
	case "result":
		h.Result = value
	case "error":
		h.Error = value
	case "jsonrpc":
		h.JSONRPC = value
	}
}

// Member finds a member of a JSON object; nil when there is none.
func Member(object []byte, name string) []byte {
	var found []byte
	eachMember(object, func(key, value []byte) bool {
		if string(key) == name {
			found = value
		}
		return true
	})
	return found
}

// EachMember visits the members of a JSON object in order, keys decoded and
// values raw, until visit says false.
func EachMember(object []byte, visit func(key string, value []byte) bool) {
	eachMember(object, func(key, value []byte) bool { return visit(string(key), value) })
}

// Unquote decodes a JSON string; what is none gives "".
func Unquote(raw []byte) string {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if len(raw) > 0 && json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// eachMember visits the members of an object in order until visit says false.
func eachMember(b []byte, visit func(key, value []byte) bool) bool {
	return eachStart(b, func(key []byte, at int) (int, bool) {
		end := skipValue(b, at)
		if end < 0 {
			return end, false
		}
		return end, visit(key, b[at:end])
	})
}

// eachStart visits each member's key and where its value starts; visit returns
// where the value ends (negative: malformed) and whether to go on.
func eachStart(b []byte, visit func(key []byte, at int) (int, bool)) bool {
	i := skipSpace(b, 0)
	if i >= len(b) || b[i] != '{' {
		return false
	}
	i = skipSpace(b, i+1)
	if i < len(b) && b[i] == '}' {
		return true
	}
	for i < len(b) && b[i] == '"' {
		keyEnd := skipString(b, i)
		if keyEnd < 0 {
			return false
		}
		key := b[i+1 : keyEnd-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(Unquote(b[i:keyEnd]))
		}
		i = skipSpace(b, keyEnd)
		if i >= len(b) || b[i] != ':' {
			return false
		}
		end, more := visit(key, skipSpace(b, i+1))
		if end < 0 || !more {
			return end >= 0
		}
		i = skipSpace(b, end)
		if i >= len(b) || b[i] != ',' {
			return i < len(b) && b[i] == '}'
		}
		i = skipSpace(b, i+1)
	}
	return false
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index after the closing quote, or -1.
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return -1
		}
		i += q
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		i++
		if slashes%2 == 0 {
			return i
		}
	}
	return -1
}

// skipValue returns the index after the value at i, or -1.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		return skipNested(b, i)
	}
	from := i
	for i < len(b) && b[i] != ',' && b[i] != '}' && b[i] != ']' && b[i] > ' ' {
		i++
	}
	if i == from {
		return -1
	}
	return i
}

func skipNested(b []byte, i int) int {
	for depth := 0; i < len(b); i++ {
		switch b[i] {
		case '"':
			if i = skipString(b, i); i < 0 {
				return -1
			}
			i--
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}
