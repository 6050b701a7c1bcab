package builtin

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/BurntSushi/toml"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// maxDepth is how deep parsed text may nest.
const maxDepth = 500

// tomlRows is the namespace toml.
func tomlRows() []memberRow {
	return []memberRow{
		{"toml", "parse(text: str)", "The document as a record; dates become str.", tomlParse},
		{"toml", "stringify(value: any)", "The record as a TOML document.", tomlStringify},
	}
}

// maxTOML is the length of a TOML document that is read, in bytes: the library
// cannot be stopped.
const maxTOML = 8 << 20

func tomlParse(c *interp.Call, a []value.Value) (value.Value, error) {
	if err := fits(c, "toml.parse", a[0], maxTOML); err != nil {
		return value.Null, err
	}
	return perhapsApart(c, len(a[0].AsStr()) > longText, func(func() error) (value.Value, error) {
		v, err := ParseTOML(a[0].AsStr())
		if err != nil {
			return value.Null, argErr(c.Span, "toml.parse: %v", err)
		}
		return v, nil
	})
}

// ParseTOML is a TOML document as a record, its keys in their order.
func ParseTOML(text string) (value.Value, error) {
	if tomlDeep(text, maxDepth) {
		return value.Null, fmt.Errorf("nesting deeper than %d", maxDepth)
	}
	var doc map[string]any
	meta, err := toml.Decode(text, &doc)
	if err != nil {
		return value.Null, errors.New(strings.TrimPrefix(err.Error(), "toml: "))
	}
	// The decoder gives maps; the order of their keys is in the metadata.
	t := tomlReader{order: map[string]int{}}
	for i, key := range meta.Keys() {
		if path := strings.Join(key, "\x00"); t.order[path] == 0 {
			t.order[path] = i + 1
		}
	}
	return t.value(doc, "", 0)
}

type tomlReader struct{ order map[string]int }

func (t tomlReader) value(x any, path string, depth int) (value.Value, error) {
	if depth > maxDepth {
		return value.Null, fmt.Errorf("nesting deeper than %d", maxDepth)
	}
	switch x := x.(type) {
	case map[string]any:
		return t.record(x, path, depth)
	case []map[string]any:
		list := make([]any, len(x))
		for i := range x {
			list[i] = x[i]
		}
		return t.list(list, path, depth)
	case []any:
		return t.list(x, path, depth)
	case string:
		return value.Str(x), nil
	case int64:
		return value.Int(x), nil
	case float64:
		return value.Float(x), nil
	case bool:
		return value.Bool(x), nil
	case time.Time:
		return value.Str(tomlTime(x)), nil
	}
	return value.Null, fmt.Errorf("unknown kind of value %T", x)
}

func (t tomlReader) record(m map[string]any, path string, depth int) (value.Value, error) {
	at := func(key string) int {
		if path == "" {
			return t.order[key]
		}
		return t.order[path+"\x00"+key]
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b string) int {
		if d := at(a) - at(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	var b value.RecordBuilder
	for _, k := range keys {
		under := k
		if path != "" {
			under = path + "\x00" + k
		}
		v, err := t.value(m[k], under, depth+1)
		if err != nil {
			return value.Null, err
		}
		b.Add(k, v)
	}
	return b.Done(), nil
}

// list is a table when it holds records only, as parsed text always gives.
func (t tomlReader) list(list []any, path string, depth int) (value.Value, error) {
	out := make([]value.Value, len(list))
	for i, x := range list {
		v, err := t.value(x, path, depth+1)
		if err != nil {
			return value.Null, err
		}
		out[i] = v
	}
	return listOrTable(out), nil
}

// listOrTable is a table if there are items and all are records.
func listOrTable(all []value.Value) value.Value {
	rows := make([]*value.Record, len(all))
	for i, x := range all {
		if x.Kind() != value.KindRecord {
			return value.NewList(all)
		}
		rows[i] = x.AsRecord()
	}
	if len(rows) == 0 {
		return value.NewList(all)
	}
	return value.NewTable(rows)
}

// tomlTime spells a time as its document did, as far as the decoder keeps it:
// the location's name says which parts it had.
func tomlTime(t time.Time) string {
	switch t.Location().String() {
	case "datetime-local":
		return t.Format("2006-01-02T15:04:05.999999999")
	case "date-local":
		return t.Format("2006-01-02")
	case "time-local":
		return t.Format("15:04:05.999999999")
	}
	return t.Format(time.RFC3339Nano)
}

func tomlStringify(c *interp.Call, a []value.Value) (value.Value, error) {
	if a[0].Kind() != value.KindRecord {
		return value.Null, argErr(c.Span, "toml.stringify: the top level must be a record, got %s", a[0].Kind())
	}
	w := tomlWriter{c: c}
	switch err := w.table(a[0].AsRecord(), nil); {
	case w.halted != nil:
		return value.Null, w.halted
	case err != nil:
		return value.Null, argErr(c.Span, "toml.stringify: %v", err)
	}
	return value.Str(value.TextOf(w.out)), nil
}

type tomlWriter struct {
	c      *interp.Call
	out    []byte
	parts  int   // of it so far
	halted error // what ends the work, whatever is written
}

// put adds a part.
func (w *tomlWriter) put(part string) {
	w.out = value.ExtendText(w.out, part)
	if w.parts++; w.parts%piecesPerCheck == 0 || len(part) > longText {
		w.check()
	}
}

func (w *tomlWriter) check() {
	switch {
	case w.halted != nil:
	case len(w.out) > maxText:
		w.halted = codeErr(w.c.Span, value.CodeOverflow, "toml.stringify: more than %d bytes", maxText)
	default:
		w.halted = w.c.M.Check()
	}
}

// text adds a text in quotes.
func (w *tomlWriter) text(s string) {
	w.put(`"`)
	for len(s) > 0 && w.halted == nil {
		n := value.TextPiece(s)
		w.out = appendTOMLText(w.out, s[:n])
		if s = s[n:]; len(s) > 0 {
			w.check()
		}
	}
	w.put(`"`)
}

// table writes plain keys first, because whatever follows a header belongs to
// it, then one section for each record and for each row of a table.
func (w *tomlWriter) table(r *value.Record, path []string) error {
	if len(path) > maxDepth {
		return fmt.Errorf("nesting deeper than %d", maxDepth)
	}
	for i, key := range r.Shape.Keys() {
		if isSection(r.Vals[i]) {
			continue
		}
		w.put(tomlKey(key))
		w.put(" = ")
		if err := w.inline(r.Vals[i], 0); err != nil {
			return err
		}
		w.put("\n")
	}
	for i, key := range r.Shape.Keys() {
		v := r.Vals[i]
		if !isSection(v) {
			continue
		}
		under := append(slices.Clip(path), tomlKey(key))
		if v.Kind() == value.KindRecord {
			if err := w.section("[", "]", under, v.AsRecord()); err != nil {
				return err
			}
			continue
		}
		for _, row := range sectionRows(v) {
			if err := w.section("[[", "]]", under, row); err != nil {
				return err
			}
		}
	}
	return nil
}

func (w *tomlWriter) section(open, end string, path []string, r *value.Record) error {
	if len(w.out) > 0 {
		w.put("\n")
	}
	w.put(open + strings.Join(path, ".") + end + "\n")
	return w.table(r, path)
}

// isSection tells whether v has headers of its own: a record, or rows.
func isSection(v value.Value) bool {
	return v.Kind() == value.KindRecord || sectionRows(v) != nil
}

func sectionRows(v value.Value) []*value.Record {
	switch v.Kind() {
	case value.KindTable:
		return v.AsTable().Rows()
	case value.KindList:
		if t := listOrTable(v.AsList().Items); t.Kind() == value.KindTable {
			return t.AsTable().Rows()
		}
	}
	return nil
}

func (w *tomlWriter) inline(v value.Value, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("nesting deeper than %d", maxDepth)
	}
	if w.halted != nil {
		return w.halted
	}
	switch v.Kind() {
	case value.KindNull:
		return fmt.Errorf("null cannot be written")
	case value.KindBool:
		w.put(strconv.FormatBool(v.AsBool()))
	case value.KindInt, value.KindDuration:
		w.put(strconv.FormatInt(v.AsInt(), 10))
	case value.KindSize:
		if v.AsSize() > math.MaxInt64 {
			return fmt.Errorf("size %d is too large", v.AsSize())
		}
		w.put(strconv.FormatUint(v.AsSize(), 10))
	case value.KindFloat:
		w.put(tomlFloat(v.AsFloat()))
	case value.KindRecord:
		return w.inlineTable(v.AsRecord(), depth)
	case value.KindList, value.KindTable:
		return w.array(v, depth)
	case value.KindStr:
		w.text(v.AsStr())
	case value.KindPath:
		w.text(strings.ToValidUTF8(v.AsStr(), "\uFFFD"))
	default:
		w.text(inline(v))
	}
	return nil
}

func (w *tomlWriter) array(v value.Value, depth int) error {
	list := v.Kind() == value.KindList
	n := 0
	if list {
		n = len(v.AsList().Items)
	} else {
		n = v.AsTable().Len()
	}
	w.put("[")
	for i := range n {
		if i > 0 {
			w.put(", ")
		}
		x := value.Null
		if list {
			x = v.AsList().Items[i]
		} else {
			x = v.AsTable().Row(i).Value()
		}
		if err := w.inline(x, depth+1); err != nil {
			return err
		}
	}
	w.put("]")
	return nil
}

func (w *tomlWriter) inlineTable(r *value.Record, depth int) error {
	w.put("{")
	for i, key := range r.Shape.Keys() {
		if i > 0 {
			w.put(", ")
		}
		w.put(tomlKey(key) + " = ")
		if err := w.inline(r.Vals[i], depth+1); err != nil {
			return err
		}
	}
	w.put("}")
	return nil
}

func tomlFloat(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 1):
		return "inf"
	case math.IsInf(f, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(f, 'g', -1, 64)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func tomlKey(key string) string {
	bare := key != ""
	for _, r := range key {
		bare = bare && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	}
	if bare {
		return key
	}
	return tomlString(key)
}

func tomlString(s string) string {
	return string(append(appendTOMLText([]byte{'"'}, s), '"'))
}

// appendTOMLText appends s with the escapes that it needs in quotes.
func appendTOMLText(dst []byte, s string) []byte {
	for _, r := range s {
		dst = value.Room(dst, len(`\u0000`))
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r == '\n':
			dst = append(dst, `\n`...)
		case r == '\t':
			dst = append(dst, `\t`...)
		case r == '\r':
			dst = append(dst, `\r`...)
		case r < ' ' || r == 0x7f:
			dst = fmt.Appendf(dst, `\u%04X`, r)
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return dst
}
