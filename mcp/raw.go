package mcp

import (
	"bytes"
	"encoding/json"
)

// The functions here look into JSON that is known to be valid without decoding
// it, so that numbers and ids keep the bytes they came with.

// member finds a member of an object; nil when there is none. Where it comes
// twice the last one counts, as with encoding/json.
func member(object []byte, name string) []byte {
	var found []byte
	eachMember(object, func(key, value []byte) bool {
		if string(key) == name {
			found = value
		}
		return true
	})
	return found
}

// eachMember visits the members of an object in order, keys decoded and values
// raw, until visit says false. It reports whether raw is an object.
func eachMember(raw []byte, visit func(key, value []byte) bool) bool {
	return walk(raw, '{', func(i int) (int, bool) {
		end := skipString(raw, i)
		key := raw[i+1 : end-1]
		if bytes.IndexByte(key, '\\') >= 0 {
			key = []byte(unquote(raw[i:end]))
		}
		i = skipSpace(raw, skipSpace(raw, end)+1) // over the colon
		end = skipValue(raw, i)
		return end, visit(key, raw[i:end])
	})
}

// eachItem visits the items of an array. It reports whether raw is an array.
func eachItem(raw []byte, visit func(value []byte) bool) bool {
	return walk(raw, '[', func(i int) (int, bool) {
		end := skipValue(raw, i)
		return end, visit(raw[i:end])
	})
}

// walk visits what lies between the brackets of a container. Step is given
// where an element starts and returns where it ends.
func walk(raw []byte, open byte, step func(i int) (end int, more bool)) bool {
	i := skipSpace(raw, 0)
	if i >= len(raw) || raw[i] != open {
		return false
	}
	i = skipSpace(raw, i+1)
	for i < len(raw) && raw[i] != open+2 { // '}' and ']' are two after '{' and '['
		end, more := step(i)
		if !more {
			break
		}
		i = skipSpace(raw, end)
		if i < len(raw) && raw[i] == ',' {
			i = skipSpace(raw, i+1)
		}
	}
	return true
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString returns the index after the closing quote.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		q := bytes.IndexByte(b[i:], '"')
		if q < 0 {
			return len(b)
		}
		i += q
		slashes := 0
		for b[i-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the index after the value at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\r', '\n':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

// unquote decodes a JSON string; what is none gives "".
func unquote(raw []byte) string {
	if len(raw) >= 2 && raw[0] == '"' && bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// appendRaw appends a JSON value on one line; nothing gives null.
func appendRaw(dst, value []byte) []byte {
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

// sameID reports whether two raw ids are the same value. Numbers are compared
// as spelled.
func sameID(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 || a[0] != '"' || b[0] != '"' {
		return false
	}
	return unquote(a) == unquote(b)
}
