package view

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

const (
	previewItems = 5
	previewText  = 256 // characters or bytes
	headLines    = 10
	headLine     = 160 // bytes of a line of the render head
	typedRows    = 100 // rows that are looked at for column types
)

// ref writes what stands for an elided value: where to fetch it, its type and
// count and, as far as limit allows, column types, a preview and the first
// lines of its display. The first three are there however small limit is.
func (w *wire) ref(v value.Value, at *spot, limit int) {
	w.refTo(v.Kind(), w.count(v), v, at, limit)
}

// refTo is ref for a value of n items that v is like, at least at its
// beginning.
func (w *wire) refTo(of value.Kind, n int64, v value.Value, at *spot, limit int) {
	w.truncated = true
	start := len(w.buf)
	w.add(`{"$":"ref","uri":`)
	w.str(at.place().String())
	w.add(`,"of":"` + of.String() + `","n":` + strconv.FormatInt(n, 10))
	if !w.bare {
		left := func() int { return limit - (len(w.buf) - start) - len("}") }
		w.fit(`,"cols":`, left()/3, func(p *wire, room int) bool { return p.cols(v, room) })
		w.fit(`,"preview":`, left()*2/3, func(p *wire, room int) bool { return p.preview(v, at, room) })
		w.fit(`,"render_head":`, left(), func(p *wire, room int) bool { return p.head(v, room) })
	}
	w.add("}")
}

// fit adds an optional member if it can be written in room bytes.
func (w *wire) fit(name string, room int, write func(p *wire, room int) bool) {
	room -= len(name)
	if room <= 0 {
		return
	}
	p := &wire{viewer: w.viewer, lim: Limits{MaxBytes: room, MaxRows: previewItems, MaxItems: previewItems}, work: 4 * room, bare: true}
	if write(p, room) && len(p.buf) <= room {
		w.add(name)
		w.buf = append(w.buf, p.buf...)
	}
}

// count is n of a ref: items, rows, fields, characters or bytes.
func (w *wire) count(v value.Value) int64 {
	switch v.Kind() {
	case value.KindRecord:
		return int64(v.AsRecord().Len())
	case value.KindPath:
		return int64(len(v.AsStr()))
	case value.KindStr:
		// Counting reads the text; many long ones in one value use up its work.
		w.work -= len(v.AsStr()) / 256
	}
	if n, ok := length(v); ok {
		return n
	}
	return 1
}

// rowsOf sees a table, or a list of records, as rows; none for other values.
func rowsOf(v value.Value, most int) []*value.Record {
	if v.Kind() == value.KindTable {
		t := v.AsTable()
		return t.Slice(0, min(most, t.Len())).AsTable().Rows()
	}
	if v.Kind() != value.KindList {
		return nil
	}
	items := v.AsList().Items
	items = items[:min(most, len(items))]
	if !value.AllRecords(items) {
		return nil
	}
	rows := make([]*value.Record, len(items))
	for i, item := range items {
		rows[i] = item.AsRecord()
	}
	return rows
}

// cols writes the types of a table's columns.
func (w *wire) cols(v value.Value, room int) bool {
	rows := rowsOf(v, typedRows)
	if len(rows) == 0 {
		return false
	}
	w.add("{")
	for i, k := range value.Columns(rows) {
		if len(w.buf)+len(k) > room {
			return false
		}
		if i > 0 {
			w.add(",")
		}
		w.str(k)
		w.add(":")
		w.str(columnType(rows, k))
	}
	w.add("}")
	return true
}

// columnType names the types in a column, null only if there is nothing else.
func columnType(rows []*value.Record, key string) string {
	var names []string
	for _, r := range rows {
		cell, _ := r.Get(key)
		if name := cell.Kind().String(); !cell.IsNull() && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	if names == nil {
		return "null"
	}
	return strings.Join(names, "|")
}

// preview writes the beginning of v as a tagged value of the same type.
func (w *wire) preview(v value.Value, at *spot, room int) bool {
	switch v.Kind() {
	case value.KindStr:
		w.text("str", "v", w.viewer.firstChars(v.AsStr(), min(previewText, room)))
		return true
	case value.KindPath:
		w.path(w.viewer.clip(v.AsStr(), min(previewText, room)))
		return true
	case value.KindBytes:
		return w.previewBytes(v.AsBytes(), min(previewText, room))
	case value.KindList, value.KindTable, value.KindRecord:
		n, _ := partCount(v)
		for k := min(previewItems, n); k > 0; k-- {
			w.buf = w.buf[:0]
			w.lim.MaxBytes = room / k
			if w.value(beginning(v, k), at, room, 0) {
				return true
			}
		}
	}
	return false
}

// partCount is how many items, rows or fields a container has.
func partCount(v value.Value) (int, bool) {
	if v.Kind() == value.KindRecord {
		return v.AsRecord().Len(), true
	}
	n, ok := length(v)
	return int(n), ok
}

// beginning is the first k items, rows or fields of v.
func beginning(v value.Value, k int) value.Value {
	switch v.Kind() {
	case value.KindList:
		return value.NewList(v.AsList().Items[:k])
	case value.KindTable:
		return v.AsTable().Slice(0, k)
	}
	var b value.RecordBuilder
	r := v.AsRecord()
	for i, key := range r.Shape.Keys()[:k] {
		b.Add(key, r.Vals[i])
	}
	return b.Done()
}

// firstChars is the first n characters of s.
func firstChars(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

func (w *wire) previewBytes(b *value.Bytes, n int) bool {
	buf := readPart(w.viewer.bytes(b, 0, min(int64(n), b.Len())).AsBytes(), 0, int64(n))
	if text := wholeText(buf); text != nil {
		w.text("bytes", "text", string(text))
		return true
	}
	w.text("bytes", "v", base64.StdEncoding.EncodeToString(buf))
	return true
}

// head writes the first lines of v's display.
func (w *wire) head(v value.Value, room int) bool {
	switch v.Kind() {
	case value.KindBytes:
		b := v.AsBytes()
		text := wholeText(readPart(w.viewer.bytes(b, 0, min(headLines*headLine, b.Len())).AsBytes(), 0, headLines*headLine))
		if text == nil {
			return false
		}
		v = value.Str(string(text))
	case value.KindOutcome:
		return false
	}
	var lines []string
	size := 0
	for line := range value.BlockLines(v, value.BlockOptions{Rows: headLines, LineBytes: headLine}) {
		line = cleanLine(w.viewer.clip(line, min(4*headLine, room)))
		if utf8.RuneCountInString(line) > headLine {
			line = w.viewer.firstChars(line, headLine) + "…"
		}
		if size += len(line) + 2; size > room-8 || len(lines) == headLines {
			break
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		return false
	}
	w.str(strings.Join(lines, "\n"))
	return true
}
