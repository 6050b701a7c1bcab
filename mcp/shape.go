package mcp

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/messages"
)

// A shape says what a JSON value must look like. It is the one source of the
// schema that a tool publishes and of the check that its arguments go through,
// so that the two cannot say different things.
type shape struct {
	kind     string // "string" "integer" "boolean" "array" "object"; "" with anyOf
	doc      string
	enum     []string // of a string
	most     int      // characters of a string, items of an array; 0: no limit
	least    int      // items of an array
	min, max int64    // of an integer; max 0: no limit
	signed   bool     // an integer without minimum
	only     bool     // a boolean that must be true
	byOmit   string   // the default, as JSON, for the schema
	uri      refKind  // the string is a ref of that kind, or its URI
	items    *shape
	props    []prop
	values   *shape   // an object with any keys and these values
	exactly1 bool     // an object that has exactly one member
	anyOf    []*shape // told apart by their JSON type
}

// prop is a property of a closed object.
type prop struct {
	name     string
	required bool
	shape    *shape
}

// schema appends the shape's JSON Schema.
func (s *shape) schema(dst []byte) []byte {
	dst = append(dst, '{')
	if s.kind != "" {
		dst = messages.AppendString(append(dst, `"type":`...), s.kind)
	}
	if len(s.anyOf) > 0 {
		dst = append(dst, `"anyOf":[`...)
		for i, alt := range s.anyOf {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = alt.schema(dst)
		}
		dst = append(dst, ']')
	}
	if s.doc != "" {
		dst = messages.AppendString(append(dst, `,"description":`...), s.doc)
	}
	if len(s.enum) > 0 {
		dst = append(append(append(dst, `,"enum":["`...), strings.Join(s.enum, `","`)...), `"]`...)
	}
	if s.only {
		dst = append(dst, `,"const":true`...)
	}
	dst = s.bounds(dst)
	if s.byOmit != "" {
		dst = append(append(dst, `,"default":`...), s.byOmit...)
	}
	if s.items != nil {
		dst = s.items.schema(append(dst, `,"items":`...))
	}
	if s.kind == "object" {
		dst = s.members(dst)
	}
	return append(dst, '}')
}

func (s *shape) bounds(dst []byte) []byte {
	add := func(name string, n int64) { dst = appendInt(append(append(dst, `,"`+name...), `":`...), n) }
	switch s.kind {
	case "integer":
		if !s.signed {
			add("minimum", s.min)
		}
		if s.max != 0 {
			add("maximum", s.max)
		}
	case "string":
		if s.most > 0 {
			add("maxLength", int64(s.most))
		}
	case "array":
		if s.least > 0 {
			add("minItems", int64(s.least))
		}
		if s.most > 0 {
			add("maxItems", int64(s.most))
		}
	}
	return dst
}

func (s *shape) members(dst []byte) []byte {
	if s.values != nil {
		dst = append(dst, `,"additionalProperties":`...)
		return s.values.schema(dst)
	}
	dst = append(dst, `,"properties":{`...)
	var required []string
	for i, p := range s.props {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(messages.AppendString(dst, p.name), ':')
		dst = p.shape.schema(dst)
		if p.required {
			required = append(required, p.name)
		}
	}
	dst = append(dst, '}')
	if len(required) > 0 {
		dst = append(append(append(dst, `,"required":["`...), strings.Join(required, `","`)...), `"]`...)
	}
	if s.exactly1 {
		dst = append(dst, `,"minProperties":1,"maxProperties":1`...)
	}
	return append(dst, `,"additionalProperties":false`...)
}

// check appends the value to dst as the kernel takes it: compact, integers
// plain, URIs as refs. The error names the property and what was expected.
func (s *shape) check(dst, raw []byte, path string) ([]byte, error) {
	if len(s.anyOf) > 0 {
		for _, alt := range s.anyOf {
			if alt.kind == jsonType(raw) {
				return alt.check(dst, raw, path)
			}
		}
		return dst, s.wrong(raw, path)
	}
	if s.kind != jsonType(raw) {
		return dst, s.wrong(raw, path)
	}
	switch s.kind {
	case "string":
		return s.checkString(dst, raw, path)
	case "integer":
		n, ok := wholeNumber(raw)
		if !ok || !s.signed && n < s.min || s.max != 0 && n > s.max {
			return dst, s.wrong(raw, path)
		}
		return appendInt(dst, n), nil
	case "boolean":
		if s.only && raw[0] != 't' {
			return dst, s.wrong(raw, path)
		}
		return append(dst, raw...), nil
	case "array":
		return s.checkArray(dst, raw, path)
	default:
		return s.checkObject(dst, raw, path)
	}
}

func (s *shape) checkString(dst, raw []byte, path string) ([]byte, error) {
	if s.enum == nil && s.most == 0 && s.uri == "" {
		return append(dst, raw...), nil
	}
	text := unquote(raw)
	if s.enum != nil {
		for _, e := range s.enum {
			if e == text {
				return append(dst, raw...), nil
			}
		}
		return dst, s.wrong(raw, path)
	}
	if s.most > 0 && utf8.RuneCountInString(text) > s.most {
		return dst, s.wrong(raw, path)
	}
	if s.uri == "" || !isURI(text) {
		return append(dst, raw...), nil
	}
	ref, err := refOf(s.uri, text)
	if err != nil {
		return dst, fmt.Errorf("%s: %w", path, err)
	}
	return messages.AppendString(dst, ref), nil
}

func (s *shape) checkArray(dst, raw []byte, path string) ([]byte, error) {
	dst = append(dst, '[')
	n := 0
	var failed error
	eachItem(raw, func(item []byte) bool {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst, failed = s.items.check(dst, item, path+"["+strconv.Itoa(n)+"]")
		n++
		return failed == nil
	})
	if failed == nil && (n < s.least || s.most > 0 && n > s.most) {
		failed = fmt.Errorf("%s: expected %s, got %d items", path, s.words(), n)
	}
	return append(dst, ']'), failed
}

func (s *shape) checkObject(dst, raw []byte, path string) ([]byte, error) {
	dst = append(dst, '{')
	var failed error
	seen := make([]string, 0, 8)
	eachMember(raw, func(member, value []byte) bool {
		key := string(member)
		in := join(path, key)
		for _, k := range seen {
			if k == key {
				failed = fmt.Errorf("%s: property is given twice", in)
				return false
			}
		}
		kind := s.prop(key)
		if kind == nil {
			failed = fmt.Errorf("%s: unknown property (known: %s)", in, s.names())
			return false
		}
		if len(seen) > 0 {
			dst = append(dst, ',')
		}
		seen = append(seen, key)
		dst = append(messages.AppendString(dst, key), ':')
		dst, failed = kind.check(dst, value, in)
		return failed == nil
	})
	if failed == nil {
		failed = s.complete(seen, path)
	}
	return append(dst, '}'), failed
}

func (s *shape) prop(name string) *shape {
	if s.values != nil {
		return s.values
	}
	for _, p := range s.props {
		if p.name == name {
			return p.shape
		}
	}
	return nil
}

// complete looks for what is missing.
func (s *shape) complete(seen []string, path string) error {
	if s.exactly1 && len(seen) != 1 {
		return fmt.Errorf("%s: expected exactly one of %s, got %d members", orArguments(path), s.names(), len(seen))
	}
next:
	for _, p := range s.props {
		if !p.required {
			continue
		}
		for _, name := range seen {
			if name == p.name {
				continue next
			}
		}
		return fmt.Errorf("%s: required property is missing (%s)", join(path, p.name), p.shape.words())
	}
	return nil
}

func (s *shape) names() string {
	if len(s.props) == 0 {
		return "none"
	}
	names := make([]string, len(s.props))
	for i, p := range s.props {
		names[i] = p.name
	}
	return strings.Join(names, ", ")
}

func (s *shape) wrong(raw []byte, path string) error {
	return fmt.Errorf("%s: expected %s, got %s", orArguments(path), s.words(), clip(string(raw), 64))
}

// words is what the shape takes, for a sentence.
func (s *shape) words() string {
	switch {
	case len(s.anyOf) > 0:
		var list []string
		for _, alt := range s.anyOf {
			list = append(list, alt.words())
		}
		return strings.Join(list, " or ")
	case s.only:
		return "true"
	case len(s.enum) > 0:
		return `one of "` + strings.Join(s.enum, `" "`) + `"`
	case s.kind == "integer" && s.signed:
		return "an integer"
	case s.kind == "integer" && s.max != 0:
		return fmt.Sprintf("an integer from %d to %d", s.min, s.max)
	case s.kind == "integer":
		return fmt.Sprintf("an integer of at least %d", s.min)
	case s.kind == "string" && s.most > 0:
		return fmt.Sprintf("a string of at most %d characters", s.most)
	case s.kind == "array" && s.most > 0 && s.most == s.least:
		return fmt.Sprintf("an array of %d items", s.most)
	case s.kind == "array":
		return "an array"
	case s.kind == "object":
		return "an object"
	default:
		return "a " + s.kind
	}
}

// jsonType is the schema word for a valid JSON value's type.
func jsonType(raw []byte) string {
	switch raw[0] {
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	case 't', 'f':
		return "boolean"
	case 'n':
		return "null"
	default:
		return "integer"
	}
}

// wholeNumber reads a JSON number that is an integer of 64 bits, however it is
// spelled.
func wholeNumber(raw []byte) (int64, bool) {
	if bytes.IndexAny(raw, ".eE") < 0 {
		n, err := strconv.ParseInt(string(raw), 10, 64)
		return n, err == nil
	}
	f, err := strconv.ParseFloat(string(raw), 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

func appendInt(dst []byte, n int64) []byte { return strconv.AppendInt(dst, n, 10) }

func join(path, name string) string {
	name = clip(name, 64)
	if path == "" {
		return name
	}
	return path + "." + name
}

func orArguments(path string) string {
	if path == "" {
		return "arguments"
	}
	return path
}

// clip shortens text to at most n bytes and an ellipsis, between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
