package value

import (
	"bufio"
	"io"
	"iter"
	"strconv"
	"strings"
	"unicode/utf8"
)

// BlockOptions say how a value is displayed. The zero BlockOptions means all
// of it, as wide as it is.
type BlockOptions struct {
	Width     int // columns that a table must fit into; 0 for any
	Rows      int // rows that a table's columns are measured by; 0 for all
	LineBytes int // from about how many bytes on a line is cut; 0 for MaxText
}

func (o BlockOptions) lineBytes() int {
	if o.LineBytes > 0 {
		return o.LineBytes
	}
	return MaxText
}

const (
	// failLines is how many last lines of stderr an outcome shows.
	failLines = 20
	// failBytes bounds those lines.
	failBytes = 16 << 10
	// blobPreview is how much of content-addressed bytes a block shows.
	blobPreview = 4 << 10
)

// Block is v as a result is displayed to people, without a newline at the end
// that is not part of a text.
func Block(v Value, o BlockOptions) string {
	if v.Kind() == KindStr {
		return v.AsStr()
	}
	var b strings.Builder
	first := true
	for line := range BlockLines(v, o) {
		if !first {
			b.WriteByte('\n')
		}
		first = false
		b.WriteString(line)
	}
	return b.String()
}

// BlockLines yields the lines of v's display one after the other, so that a
// reader who stops early pays only for what it took.
func BlockLines(v Value, o BlockOptions) iter.Seq[string] {
	switch v.Kind() {
	case KindNull:
		return func(func(string) bool) {}
	case KindStr:
		return textLines(v.AsStr())
	case KindPath:
		return textLines(LossyText(v.AsStr()))
	case KindBytes:
		return bytesLines(v.AsBytes())
	case KindList:
		return listLines(v.AsList().Items, o)
	case KindTable:
		return tableLines(v.AsTable(), o)
	case KindRecord:
		return recordLines(v.AsRecord(), o)
	case KindError:
		return errorLines(v.AsError())
	case KindOutcome:
		return outcomeLines(v.AsOutcome(), o)
	}
	return textLines(Inline(v))
}

// BlockLineCount is how many lines BlockLines yields for values other than
// bytes and outcomes, without rendering them.
func BlockLineCount(v Value) int64 {
	switch v.Kind() {
	case KindNull:
		return 0
	case KindStr, KindPath:
		return textLineCount(v.AsStr())
	case KindList:
		items := v.AsList().Items
		if AllRecords(items) {
			return int64(len(items)) + 1
		}
		return max(1, int64(len(items)))
	case KindTable:
		if n := v.AsTable().Len(); n > 0 {
			return int64(n) + 1
		}
		return 1
	case KindRecord:
		return max(1, int64(v.AsRecord().Len()))
	}
	n := int64(0)
	for range BlockLines(v, BlockOptions{}) {
		n++
	}
	return n
}

// AllRecords reports whether items are records only, and at least one; such a
// list is shown and addressed like a table.
func AllRecords(items []Value) bool {
	for _, v := range items {
		if v.Kind() != KindRecord {
			return false
		}
	}
	return len(items) > 0
}

// textLines are the lines of s; a newline at its end starts no line.
func textLines(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		s = strings.TrimSuffix(s, "\n")
		for line := range strings.SplitSeq(s, "\n") {
			if !yield(line) {
				return
			}
		}
	}
}

func textLineCount(s string) int64 {
	return int64(strings.Count(strings.TrimSuffix(s, "\n"), "\n")) + 1
}

// bytesLines shows bytes as text; of content-addressed ones only a preview.
func bytesLines(b *Bytes) iter.Seq[string] {
	if b.Ref() != "" {
		preview := b.Preview(blobPreview)
		if rest := b.Len() - int64(len(preview)); rest > 0 {
			preview += "\n…(" + strconv.FormatInt(rest, 10) + " more bytes, " + b.Ref() + ")"
		}
		return textLines(preview)
	}
	return readerLines(b.Reader())
}

// readerLines are the lines of r as text, without ends longer than MaxText.
func readerLines(r io.Reader) iter.Seq[string] {
	return func(yield func(string) bool) {
		in := bufio.NewReaderSize(r, 64<<10)
		for {
			line, err := in.ReadString('\n')
			if line == "" && err != nil {
				return
			}
			if !yield(LossyText(strings.TrimSuffix(line, "\n"))) || err != nil {
				return
			}
		}
	}
}

func listLines(items []Value, o BlockOptions) iter.Seq[string] {
	if len(items) == 0 {
		return textLines("[]")
	}
	if AllRecords(items) {
		return recordRows(len(items), func(i int) *Record { return items[i].AsRecord() }, o)
	}
	return func(yield func(string) bool) {
		for _, item := range items {
			if !yield(lineOf(item, o.lineBytes())) {
				return
			}
		}
	}
}

// lineOf is a value as a line of its own: text unquoted, the rest inline.
func lineOf(v Value, limit int) string {
	switch v.Kind() {
	case KindStr, KindPath:
		return oneLine(headText(v.AsStr(), limit))
	}
	b, _ := AppendInlineLimit(nil, v, limit)
	return LossyText(string(b))
}

// headText is the first bytes of s, a little more than limit at most, cut
// between characters.
func headText(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit < len(s) && !utf8.RuneStart(s[limit]) {
		limit++
	}
	return s[:limit]
}

// oneLine shows control characters by their pictures, so that text stays on
// its line.
func oneLine(s string) string {
	s = LossyText(s)
	control := func(r rune) bool { return r < 0x20 || r == 0x7F }
	if strings.IndexFunc(s, control) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return '␤'
		case r == '\t':
			return ' '
		case r < 0x20:
			return 0x2400 + r
		case r == 0x7F:
			return '␡'
		}
		return r
	}, s)
}

// recordLines are aligned `key  value` lines.
func recordLines(r *Record, o BlockOptions) iter.Seq[string] {
	if r.Len() == 0 {
		return textLines("{}")
	}
	return func(yield func(string) bool) {
		keys := r.Shape.keys
		widest := 0
		for _, k := range keys {
			widest = max(widest, min(displayWidth(oneLine(headText(k, cellBytes))), maxCell))
		}
		for i, k := range keys {
			key := oneLine(k)
			val := ""
			if v := r.Vals[i]; !v.IsNull() {
				val = lineOf(v, o.lineBytes())
			}
			pad := max(0, widest-displayWidth(key))
			if !yield(strings.TrimRight(key+strings.Repeat(" ", pad)+"  "+val, " ")) {
				return
			}
		}
	}
}

func errorLines(e *Error) iter.Seq[string] {
	text := "error(" + e.Code + "): " + e.Msg
	if e.Hint != "" {
		text += "\nhint: " + e.Hint
	}
	return textLines(text)
}

// outcomeLines show what a command gave; a failure always says so.
func outcomeLines(o *Outcome, opt BlockOptions) iter.Seq[string] {
	if o.OK && o.HasOut {
		return BlockLines(o.Out, opt)
	}
	return func(yield func(string) bool) {
		if o.Stdout.AsBytes().Len() > 0 {
			for line := range bytesLines(o.Stdout.AsBytes()) {
				if !yield(line) {
					return
				}
			}
			if o.OK {
				return
			}
		}
		for _, line := range OutcomeEnd(o) {
			if !yield(line) {
				return
			}
		}
	}
}

// OutcomeEnd are the lines that end the display of an outcome and that a cut
// must keep: what made it fail and the last lines of its stderr. One that is ok
// and printed to stdout has none.
func OutcomeEnd(o *Outcome) []string {
	errs := tailLines(o.Stderr.AsBytes(), failLines)
	switch {
	case o.OK && o.Stdout.AsBytes().Len() > 0:
		return nil
	case o.OK && len(errs) == 0:
		return []string{"ok"}
	case o.OK:
		return errs
	case o.Signal != "":
		return append([]string{"failed: signal " + o.Signal}, errs...)
	case o.Status != nil:
		return append([]string{"failed: status " + strconv.Itoa(*o.Status)}, errs...)
	}
	return append([]string{"failed: status -1"}, errs...)
}

// tailLines are the last n lines of b.
func tailLines(b *Bytes, n int) []string {
	text := strings.TrimSuffix(tailText(b, failBytes), "\n")
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	return lines[max(0, len(lines)-n):]
}
