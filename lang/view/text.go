package view

import (
	"bytes"
	"strconv"
	"strings"

	"shoal.dev/shoal/lang/value"
)

// Shown is a value's text as far as it fits.
type Shown struct {
	Text      string
	Lines     int64 // whole or cut lines of the value in Text
	Total     int64 // lines of the value
	Truncated bool  // something was left out; Text ends with the marker line
}

// Text shows v as text of at most limit bytes (HardCap at most), and beyond
// that one marker line which counts the lines left out and says where they can
// be fetched. It shows whole lines from the beginning and, of captured output,
// also the last ones; one line longer than the limit is cut between
// characters. Control sequences are resolved; the raw bytes stay behind uri.
// Totals are exact, and memory stays in proportion to limit.
func Text(v value.Value, limit int, uri string) Shown { return TextWidth(v, limit, uri, 0) }

// TextWidth is Text with tables made to fit into width columns.
func TextWidth(v value.Value, limit int, uri string, width int) Shown {
	limit = clamp(limit, HardCap, HardCap)
	switch v.Kind() {
	case value.KindBytes:
		return capturedText(v.AsBytes(), nil, limit, uri)
	case value.KindOutcome:
		o := v.AsOutcome()
		if o.OK && o.HasOut {
			return TextWidth(o.Out, limit, uri, width)
		}
		return capturedText(o.Stdout.AsBytes(), value.OutcomeEnd(o), limit, uri)
	case value.KindStr:
		return leadingText(v.AsStr(), limit, uri)
	}
	return computedText(v, limit, uri, width)
}

// Marker is the line that says what was left out.
func Marker(lines int64, uri string) string {
	return "…(" + strconv.FormatInt(lines, 10) + " more lines, fetch via " + uri + ")"
}

// computedText shows the leading lines of a value's display.
func computedText(v value.Value, limit int, uri string, width int) Shown {
	opts := value.BlockOptions{Width: width, Rows: limit/2 + 1, LineBytes: limit + 1}
	h := leading{limit: limit}
	for line := range value.BlockLines(v, opts) {
		if !h.add(cleanLine(line)) {
			break
		}
	}
	if !h.full {
		return h.shown(h.lines, uri)
	}
	return h.shown(value.BlockLineCount(v), uri)
}

// leadingText shows the leading lines of a text.
func leadingText(s string, limit int, uri string) Shown {
	h := leading{limit: limit}
	r := resolver{sink: &h, limit: limit + 1}
	for s != "" {
		n := min(len(s), pieceBytes)
		r.Write([]byte(s[:n]))
		s = s[n:]
	}
	r.Close()
	return h.shown(h.total, uri)
}

// pieceBytes is how much of a text is looked at in one go.
const pieceBytes = 64 << 10

// leading collects lines from the beginning of a text.
type leading struct {
	limit int
	text  strings.Builder
	lines int64 // of text
	total int64 // seen as a lineSink
	full  bool  // a line was cut or left out
}

func (h *leading) line(b []byte) {
	h.total++
	if !h.full {
		h.add(dropControls(string(b)))
	}
}

func (h *leading) block(b []byte) {
	for len(b) > 0 && !h.full {
		end := bytes.IndexByte(b, '\n')
		h.line(b[:end])
		b = b[end+1:]
	}
	h.total += int64(bytes.Count(b, newline))
}

var newline = []byte{'\n'}

// add takes a line if it fits; one that is longer than the limit itself is cut.
func (h *leading) add(line string) bool {
	if h.full {
		return false
	}
	room := h.limit - h.text.Len()
	if h.lines > 0 {
		room--
	}
	if len(line) > room {
		h.full = true
		if len(line) <= h.limit || room <= 0 {
			return false
		}
		if line = clip(line, room); line == "" {
			return false
		}
	}
	if h.lines > 0 {
		h.text.WriteByte('\n')
	}
	h.text.WriteString(line)
	h.lines++
	return !h.full
}

// shown is the result, given the number of lines there are.
func (h *leading) shown(total int64, uri string) Shown {
	s := Shown{Text: h.text.String(), Lines: h.lines, Total: total, Truncated: h.full || total > h.lines}
	if s.Truncated {
		if h.lines > 0 {
			s.Text += "\n"
		}
		s.Text += Marker(total-h.lines, uri)
	}
	return s
}
