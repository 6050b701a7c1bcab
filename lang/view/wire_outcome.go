package view

import (
	"io"
	"strconv"
	"strings"

	"shoal.dev/shoal/lang/value"
)

const (
	// maxCmd is how many bytes of its command line an outcome shows.
	maxCmd = 1 << 10
	// maxErrText bounds the error output within an error, in bytes.
	maxErrText = 8 << 10
)

// outcome writes an outcome in about limit bytes: its metadata always, each of
// its other fields as itself or as a ref.
func (w *wire) outcome(o *value.Outcome, at *spot, limit, depth int) {
	start := len(w.buf)
	w.add(`{"$":"outcome","status":`)
	w.optInt(o.Status)
	w.add(`,"ok":` + strconv.FormatBool(o.OK) + `,"signal":`)
	if o.Signal == "" {
		w.add("null")
	} else {
		w.str(clip(o.Signal, 64))
	}
	w.add(`,"dur_ns":` + strconv.FormatInt(int64(o.Dur), 10) + `,"pid":` + strconv.Itoa(o.PID) + `,"cmd":`)
	w.clipped(o.Cmd, min(limit/4, maxCmd))
	w.span(o.Span)

	parts := outcomeParts(o)
	for i, p := range parts {
		w.add(`,"` + p.name + `":`)
		left := limit - (len(w.buf) - start) - len("}") - (len(parts)-i-1)*(minRef/4)
		w.outcomePart(p, &spot{up: at, field: true, key: p.name}, left, depth)
	}
	w.add("}")
}

// outcomePart writes a field in left bytes, as itself or as a ref.
func (w *wire) outcomePart(p outcomePart, at *spot, left, depth int) {
	start := len(w.buf)
	refRoom := min(left, w.lim.MaxBytes/4, maxPartRef)
	switch {
	case p.v.IsNull():
		w.add(`{"$":"null"}`)
	case p.chars > 0:
		w.refTo(value.KindStr, p.chars, p.v, at, refRoom)
	case !w.value(p.v, at, left, depth+1):
		w.takeBack(start)
		w.ref(p.v, at, refRoom)
	}
}

// outcomePart is a field that may be large.
type outcomePart struct {
	name  string
	v     value.Value
	chars int64 // when not 0, the part is a str so long and v its beginning
}

// outcomeParts are out, stdout where out does not say the same, and stderr.
func outcomeParts(o *value.Outcome) []outcomePart {
	stdout := outcomePart{name: "stdout", v: o.Stdout}
	stderr := outcomePart{name: "stderr", v: o.Stderr}
	if !o.OK {
		return []outcomePart{{name: "out"}, stderr, stdout}
	}
	if out, ok := largeOut(o); ok {
		return []outcomePart{out, stderr}
	}
	out, err := o.OutValue()
	if err != nil {
		out = value.NewError(err)
	}
	parts := []outcomePart{{name: "out", v: out}, stderr}
	if o.TextOut() || out == o.Stdout || o.HasOut && o.Stdout.AsBytes().Len() == 0 {
		return parts
	}
	return append(parts, stdout)
}

// largeOut is the value of an outcome that is the text of a large stdout, read
// in pieces and not decoded.
func largeOut(o *value.Outcome) (outcomePart, bool) {
	b, ok := o.LargeText()
	if !ok {
		return outcomePart{}, false
	}
	n, ok := b.Chars()
	if !ok {
		return outcomePart{}, false
	}
	last := make([]byte, 1)
	if _, err := b.ReadAt(last, b.Len()-1); (err == nil || err == io.EOF) && last[0] == '\n' {
		n--
	}
	return outcomePart{"out", value.Str(b.Preview(4 * headLines * headLine)), n}, true
}

func (w *wire) optInt(n *int) {
	if n == nil {
		w.add("null")
		return
	}
	w.add(strconv.Itoa(*n))
}

// clipped writes s, or its beginning, in about n bytes.
func (w *wire) clipped(s string, n int) {
	start := len(w.buf)
	if len(s) <= n {
		if w.str(s); len(w.buf)-start <= n+2 {
			return
		}
		w.buf = w.buf[:start]
		n /= maxEscape
	}
	w.truncated = true
	short := clip(s, n) + "…"
	if w.str(short); len(w.buf)-start > n+len(`"…"`) && n >= maxEscape {
		w.buf = w.buf[:start]
		w.str(clip(s, n/maxEscape) + "…")
	}
}

// maxEscape is into how many bytes JSON may turn one.
const maxEscape = 6

func (w *wire) span(s *value.Span) {
	if s != nil {
		w.add(`,"span":{"start":` + strconv.Itoa(s.Start) + `,"end":` + strconv.Itoa(s.End) + "}")
	}
}

// errorValue writes an error in about limit bytes, cutting its texts.
func (w *wire) errorValue(e *value.Error, limit int) {
	w.add(`{"$":"error","code":`)
	w.str(clip(e.Code, 64))
	w.add(`,"msg":`)
	w.clipped(e.Msg, limit/4)
	w.span(e.Span)
	if e.File != "" {
		w.add(`,"file":`)
		w.clipped(e.File, limit/8)
	}
	if e.Hint != "" {
		w.add(`,"hint":`)
		w.clipped(e.Hint, limit/8)
	}
	if e.HasStderr {
		w.add(`,"stderr":`)
		w.lastOf(e.Stderr, min(limit/4, maxErrText))
	}
	if e.Status != nil {
		w.add(`,"status":` + strconv.Itoa(*e.Status))
	}
	w.add("}")
}

// lastOf writes the end of s in about n bytes.
func (w *wire) lastOf(s string, n int) {
	start := len(w.buf)
	for _, most := range [...]int{n, n / maxEscape} {
		w.buf = w.buf[:start]
		end := s
		if len(s) > most {
			end = strings.ToValidUTF8(w.viewer.part(s, len(s)-most, len(s)), "")
			w.truncated = true
		}
		if w.str(end); len(w.buf)-start <= n+2 {
			return
		}
	}
}
