package view

import (
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"shoal.dev/shoal/lang/value"
)

// Wire is v as tagged JSON, with what passes the limits replaced by refs to
// its place. The JSON is valid and at most MaxBytes long, or minRef plus the
// length of the URI where MaxBytes is too small even for a ref. truncated
// tells that something was elided or cut.
//
// An outcome keeps its metadata and an error its code: only their large parts
// are elided.
func (x Viewer) Wire(v value.Value, l Limits, at Place) (json []byte, truncated bool) {
	l = l.Clamped()
	w := &wire{viewer: x, lim: l, work: workPerByte * max(l.MaxBytes, minRef)}
	w.top(v, &spot{base: at})
	return w.buf, w.truncated
}

// wire encodes into buf. A part that outgrows its limit is taken back and
// replaced by a ref. What may be taken back in all is bounded by work, since
// parts within parts may be taken back again and again; after that nothing fits
// any more and the whole value becomes a ref.
type wire struct {
	viewer    Viewer
	lim       Limits
	buf       []byte
	work      int
	truncated bool
	bare      bool // refs go without previews: this is a preview
}

// workPerByte is how many bytes may be taken back for each byte of the limit.
const workPerByte = 64

// top encodes the outermost value.
func (w *wire) top(v value.Value, at *spot) {
	limit := max(w.lim.MaxBytes, minRef)
	switch v.Kind() {
	case value.KindOutcome:
		w.outcome(v.AsOutcome(), at, limit, 0)
		if len(w.buf) <= limit {
			return
		}
	case value.KindError:
		w.errorValue(v.AsError(), limit)
		return
	default:
		if w.value(v, at, w.lim.MaxBytes, 0) {
			return
		}
	}
	w.buf = w.buf[:0]
	w.ref(v, at, limit)
}

// takeBack forgets what was written from start on.
func (w *wire) takeBack(start int) {
	w.work -= len(w.buf) - start
	w.buf = w.buf[:start]
}

func (w *wire) add(s string) { w.buf = append(w.buf, s...) }

func (w *wire) str(s string) { w.buf = value.AppendJSONString(w.buf, s) }

// open begins {"$":"tag","v": and the value is to follow.
func (w *wire) open(tag string) {
	w.add(`{"$":"`)
	w.add(tag)
	w.add(`","v":`)
}

// int writes a number as the value of a tag.
func (w *wire) int(tag string, n int64) {
	w.open(tag)
	w.buf = strconv.AppendInt(w.buf, n, 10)
	w.add("}")
}

// text writes {"$":"tag","key":"s"}.
func (w *wire) text(tag, key, s string) {
	w.add(`{"$":"`)
	w.add(tag)
	w.add(`","`)
	w.add(key)
	w.add(`":`)
	w.str(s)
	w.add("}")
}

// part encodes a part of a value, as itself or as a ref to its place; false
// when nothing fits any more.
func (w *wire) part(v value.Value, at *spot, depth int) bool {
	start := len(w.buf)
	if w.value(v, at, w.lim.MaxBytes, depth) {
		return true
	}
	w.takeBack(start)
	if w.work <= 0 {
		return false
	}
	w.ref(v, at, min(w.lim.MaxBytes/4, maxPartRef))
	return true
}

// value encodes v in at most limit bytes; false when it does not fit or passes
// another limit, buf then holding a beginning to be taken back.
func (w *wire) value(v value.Value, at *spot, limit, depth int) bool {
	start := len(w.buf)
	return w.work > 0 && limit > 0 && w.encode(v, at, limit, depth) && len(w.buf)-start <= limit
}

func (w *wire) encode(v value.Value, at *spot, limit, depth int) bool {
	switch v.Kind() {
	case value.KindNull:
		w.add(`{"$":"null"}`)
	case value.KindBool:
		w.open("bool")
		w.buf = strconv.AppendBool(w.buf, v.AsBool())
		w.add("}")
	case value.KindInt:
		w.int("int", v.AsInt())
	case value.KindFloat:
		w.float(v.AsFloat())
	case value.KindSize:
		w.open("size")
		w.buf = strconv.AppendUint(w.buf, v.AsSize(), 10)
		w.add("}")
	case value.KindDuration:
		w.int("duration", int64(v.AsDuration()))
	case value.KindDatetime:
		w.text("datetime", "v", v.AsDatetime().Format("2006-01-02T15:04:05.000000000-07:00"))
	case value.KindTime:
		w.text("time", "v", value.FormatTimeSeconds(v.AsTimeOfDay()))
	case value.KindStr:
		if len(v.AsStr()) > limit {
			return false
		}
		w.text("str", "v", v.AsStr())
	case value.KindPath:
		if len(v.AsStr()) > limit {
			return false
		}
		w.path(v.AsStr())
	case value.KindBytes:
		return w.bytes(v.AsBytes(), limit)
	case value.KindList, value.KindRecord, value.KindTable:
		if depth >= value.MaxDepth {
			w.truncated = true
			w.text("str", "v", "…")
			return true
		}
		return w.container(v, at, limit, depth)
	default:
		return w.other(v, at, limit, depth)
	}
	return true
}

func (w *wire) float(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.text("float", "v", value.FormatFloat(f))
		return
	}
	w.open("float")
	w.buf = value.AppendJSONFloat(w.buf, f)
	w.add("}")
}

// path writes the text and, where that does not tell the bytes, the bytes.
func (w *wire) path(p string) {
	w.add(`{"$":"path","v":`)
	w.str(value.LossyText(p))
	if !utf8.ValidString(p) {
		w.add(`,"raw":"` + base64.StdEncoding.EncodeToString([]byte(p)) + `"`)
	}
	w.add("}")
}

// bytes writes text where the content is text without NUL, else base64.
func (w *wire) bytes(b *value.Bytes, limit int) bool {
	if b.Len() > int64(limit) {
		return false
	}
	all, err := b.All(int64(limit))
	if err != nil {
		return false
	}
	if isText(all) {
		w.text("bytes", "text", string(all))
		return true
	}
	if len(all) > MaxRawBytes {
		return false
	}
	w.text("bytes", "v", base64.StdEncoding.EncodeToString(all))
	return true
}

func (w *wire) container(v value.Value, at *spot, limit, depth int) bool {
	switch v.Kind() {
	case value.KindList:
		items := v.AsList().Items
		return w.fewItems(items) && w.list(items, at, limit, depth)
	case value.KindTable:
		t := v.AsTable()
		return t.Len() <= w.lim.MaxRows && w.table(t.Rows(), at, limit, depth)
	}
	return w.record(v.AsRecord(), at, limit, depth)
}

// fewItems reports whether a list passes no limit; one of records obeys the
// limit of rows.
func (w *wire) fewItems(items []value.Value) bool {
	n := len(items)
	if n <= min(w.lim.MaxItems, w.lim.MaxRows) {
		return true
	}
	if n > max(w.lim.MaxItems, w.lim.MaxRows) {
		return false
	}
	if value.AllRecords(items) {
		return n <= w.lim.MaxRows
	}
	return n <= w.lim.MaxItems
}

func (w *wire) list(items []value.Value, at *spot, limit, depth int) bool {
	start := len(w.buf)
	w.add(`{"$":"list","v":[`)
	under := spot{up: at}
	for i, item := range items {
		if i > 0 {
			w.add(",")
		}
		under.index = i
		if !w.part(item, &under, depth+1) || len(w.buf)-start > limit {
			return false
		}
	}
	w.add("]}")
	return true
}

func (w *wire) record(r *value.Record, at *spot, limit, depth int) bool {
	start := len(w.buf)
	w.add(`{"$":"record","v":{`)
	under := spot{up: at, field: true}
	for i, k := range r.Shape.Keys() {
		if len(k) > limit {
			return false
		}
		if i > 0 {
			w.add(",")
		}
		w.str(k)
		w.add(":")
		under.key = k
		if !w.part(r.Vals[i], &under, depth+1) || len(w.buf)-start > limit {
			return false
		}
	}
	w.add("}}")
	return true
}

// table writes columns; a missing cell is null.
func (w *wire) table(rows []*value.Record, at *spot, limit, depth int) bool {
	start := len(w.buf)
	w.add(`{"$":"table","cols":{`)
	line := spot{up: at}
	under := spot{up: &line, field: true}
	for i, k := range value.Columns(rows) {
		if len(k) > limit {
			return false
		}
		if i > 0 {
			w.add(",")
		}
		w.str(k)
		w.add(":[")
		for j, row := range rows {
			if j > 0 {
				w.add(",")
			}
			cell, _ := row.Get(k)
			line.index, under.key = j, k
			if !w.part(cell, &under, depth+1) || len(w.buf)-start > limit {
				return false
			}
		}
		w.add("]")
	}
	w.add(`},"n":` + strconv.Itoa(len(rows)) + "}")
	return true
}

func (w *wire) other(v value.Value, at *spot, limit, depth int) bool {
	switch v.Kind() {
	case value.KindGlob:
		w.text("glob", "pattern", w.viewer.clip(v.AsGlob().Pattern, limit))
	case value.KindRegex:
		w.text("regex", "src", w.viewer.clip(v.AsRegex().Src, limit))
	case value.KindRange:
		r := v.AsRange()
		w.add(`{"$":"range","start":` + strconv.FormatInt(r.Start, 10) +
			`,"end":` + strconv.FormatInt(r.End, 10) +
			`,"inclusive":` + strconv.FormatBool(r.Inclusive) + "}")
	case value.KindTask:
		t := v.AsTask()
		w.add(`{"$":"task","id":`)
		w.str(t.ID)
		w.add(`,"done":` + strconv.FormatBool(t.H != nil && t.H.Done()) + "}")
	case value.KindClosure:
		w.text("closure", "repr", w.viewer.clip(v.AsClosure().Sig, limit))
	case value.KindCommand:
		w.text("cmd", "repr", w.viewer.clip(v.AsCommand().Repr, limit))
	case value.KindStream:
		s := v.AsStream()
		w.add(`{"$":"stream","label":`)
		w.str(w.viewer.clip(s.Label, 256))
		w.add(`,"bounded":` + strconv.FormatBool(s.Bounded) + "}")
	case value.KindSecret:
		w.text("secret", "name", v.AsSecret().Name)
	case value.KindOutcome:
		w.outcome(v.AsOutcome(), at, limit, depth)
	case value.KindError:
		w.errorValue(v.AsError(), limit)
	}
	return true
}
