package view

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

// PathError says which step of a path or which slice does not fit the value.
type PathError struct {
	Step string // as written, such as ".size" or "[3]"; "" for a slice
	Msg  string
}

// Error is the step and what is wrong with it.
func (e *PathError) Error() string {
	if e.Step == "" {
		return e.Msg
	}
	return "path step " + e.Step + ": " + e.Msg
}

// stepKind is the sort of a path step.
type stepKind uint8

const (
	stepField stepKind = iota // .name
	stepKey                   // ["any key"]
	stepIndex                 // [n]
	stepSlice                 // [a..b]
)

type step struct {
	kind stepKind
	src  string
	name string
	a, b int64
}

// Path is a parsed path: `.field`, `["any key"]`, `[n]` and `[a..b]`, chained.
// The first dot may be left out.
type Path []step

// ParsePath parses a path; the empty path is the value itself.
func ParsePath(src string) (Path, error) {
	var p Path
	for rest := src; rest != ""; {
		var s step
		var err error
		switch {
		case rest[0] == '[':
			s, rest, err = parseBracket(rest)
		case rest[0] == '.' || len(p) == 0:
			s, rest, err = parseField(rest)
		default:
			err = &PathError{rest, "expected . or ["}
		}
		if err != nil {
			return nil, err
		}
		p = append(p, s)
	}
	return p, nil
}

func parseField(src string) (step, string, error) {
	body := strings.TrimPrefix(src, ".")
	end := strings.IndexAny(body, ".[]")
	if end < 0 {
		end = len(body)
	}
	if end == 0 {
		return step{}, "", &PathError{src, "expected a field name"}
	}
	name := body[:end]
	return step{kind: stepField, src: "." + name, name: name}, body[end:], nil
}

// parseBracket parses the step at the opening bracket that src begins with.
func parseBracket(src string) (step, string, error) {
	if strings.HasPrefix(src, `["`) {
		return parseKey(src)
	}
	end := strings.IndexByte(src, ']')
	if end < 0 {
		return step{}, "", &PathError{src, "expected ]"}
	}
	s := step{kind: stepIndex, src: src[:end+1]}
	first, second, isSlice := strings.Cut(src[1:end], "..")
	a, okA := value.ParseInt(first)
	s.a = a
	if !isSlice {
		if !okA {
			return step{}, "", &PathError{s.src, "expected an index, a slice a..b or a quoted key"}
		}
		return s, src[end+1:], nil
	}
	b, okB := value.ParseInt(second)
	if !okA || !okB {
		return step{}, "", &PathError{s.src, "expected a slice a..b"}
	}
	s.kind, s.b = stepSlice, b
	return s, src[end+1:], nil
}

// parseKey parses ["…"], a JSON string between brackets.
func parseKey(src string) (step, string, error) {
	for i := 2; i < len(src); i++ {
		switch src[i] {
		case '\\':
			i++
		case '"':
			if i+1 >= len(src) || src[i+1] != ']' {
				return step{}, "", &PathError{src, `expected "]`}
			}
			key, err := value.ParseJSON(src[1 : i+1])
			if err != nil {
				return step{}, "", &PathError{src[:i+2], "bad quoted key"}
			}
			return step{kind: stepKey, src: src[:i+2], name: key.AsStr()}, src[i+2:], nil
		}
	}
	return step{}, "", &PathError{src, "unterminated key"}
}

// AppendField is path with a step to the field name appended.
func AppendField(path, name string) string {
	if name != "" && !strings.ContainsAny(name, ".[]") && utf8.ValidString(name) {
		return path + "." + name
	}
	return path + "[" + string(value.AppendJSONString(nil, name)) + "]"
}

// AppendIndex is path with a step to item i appended.
func AppendIndex(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }

// AppendSlice is path with a step to the items from start up to end appended.
func AppendSlice(path string, start, end int64) string {
	return fmt.Sprintf("%s[%d..%d]", path, start, end)
}

// At parses path and follows it into v.
func (w Viewer) At(v value.Value, path string) (value.Value, error) {
	p, err := ParsePath(path)
	if err != nil {
		return value.Null, err
	}
	return p.eval(w, v)
}

// eval follows the path into v. Errors are *PathError.
func (p Path) eval(w Viewer, v value.Value) (value.Value, error) {
	for _, s := range p {
		next, err := s.eval(w, v)
		if err != nil {
			return value.Null, err
		}
		v = next
	}
	return v, nil
}

func (s step) fail(format string, args ...any) error {
	return &PathError{s.src, fmt.Sprintf(format, args...)}
}

func (s step) eval(w Viewer, v value.Value) (value.Value, error) {
	switch s.kind {
	case stepIndex:
		return s.index(w, v)
	case stepSlice:
		part, err := w.Slice(v, s.a, s.b)
		if err != nil {
			return value.Null, s.fail("%v", err)
		}
		return part, nil
	}
	return s.field(v)
}

func (s step) field(v value.Value) (value.Value, error) {
	switch v.Kind() {
	case value.KindRecord:
		r := v.AsRecord()
		if got, ok := r.Get(s.name); ok {
			return got, nil
		}
		return value.Null, s.fail("no such field; there are %s", someNames(r.Shape.Keys()))
	case value.KindTable:
		return s.column(v.AsTable().Len(), v.AsTable().Row)
	case value.KindList:
		items := v.AsList().Items
		if value.AllRecords(items) {
			return s.column(len(items), func(i int) *value.Record { return items[i].AsRecord() })
		}
	case value.KindOutcome:
		return s.outcomeField(v.AsOutcome())
	case value.KindError:
		if got, ok := v.AsError().Field(s.name); ok {
			return got, nil
		}
		return value.Null, s.fail("no such field; there are %s", someNames(value.ErrorFields()))
	}
	return value.Null, s.fail("%s has no fields", v.Kind())
}

// column is the column of a table, or its rows. A column named rows is reached
// by ["rows"].
func (s step) column(n int, row func(int) *value.Record) (value.Value, error) {
	cells := make([]value.Value, n)
	if s.kind == stepField && s.name == "rows" {
		for i := range cells {
			cells[i] = row(i).Value()
		}
		return value.NewList(cells), nil
	}
	found := false
	for i := range cells {
		v, ok := row(i).Get(s.name)
		cells[i], found = v, found || ok
	}
	if !found {
		var first []string
		if n > 0 {
			first = row(0).Shape.Keys()
		}
		return value.Null, s.fail("no such column; the first row has %s", someNames(first))
	}
	return value.NewList(cells), nil
}

func (s step) outcomeField(o *value.Outcome) (value.Value, error) {
	v, ok, err := o.Field(s.name)
	if err != nil {
		return value.Null, s.fail("%v", err)
	}
	if ok {
		return v, nil
	}
	out, err := o.OutValue()
	if err != nil {
		return value.Null, s.fail("%v", err)
	}
	if out.Kind() == value.KindOutcome {
		return value.Null, s.fail("outcome has no such field")
	}
	got, fieldErr := s.field(out)
	if fieldErr != nil {
		return value.Null, s.fail("no such field of the outcome (there are %s) or of its out",
			someNames(value.OutcomeFields()))
	}
	return got, nil
}

// someNames lists the first names for a message.
func someNames(names []string) string {
	const most = 12
	if len(names) == 0 {
		return "none"
	}
	text := ""
	for i, name := range names[:min(len(names), most)] {
		if i > 0 {
			text += ", "
		}
		text += clip(name, 40)
	}
	if len(names) > most {
		text += fmt.Sprintf(", … (%d in all)", len(names))
	}
	return text
}

// clip is the first n bytes of s at most, cut between characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func (s step) index(w Viewer, v value.Value) (value.Value, error) {
	n, ok := length(v)
	if !ok || v.Kind() == value.KindBytes {
		if v.Kind() == value.KindOutcome {
			return value.Null, s.fail("outcome has no items; use .out%s", s.src)
		}
		return value.Null, s.fail("%s has no items", v.Kind())
	}
	i := s.a
	if i < 0 || i >= n { // paths count from the front only
		return value.Null, s.fail("index is out of range, length %d", n)
	}
	switch v.Kind() {
	case value.KindList:
		return v.AsList().Items[i], nil
	case value.KindTable:
		return v.AsTable().Row(int(i)).Value(), nil
	case value.KindRange:
		return value.Int(v.AsRange().Start + i), nil
	}
	return value.Str(w.scalars(v.AsStr(), i, i+1)), nil
}
