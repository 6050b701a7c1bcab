package value

import (
	"iter"
	"strings"

	"github.com/mattn/go-runewidth"
)

const (
	// maxCell is how many display columns a table cell may take.
	maxCell = 60
	// cellBytes is how many bytes of a cell are looked at; enough for maxCell
	// columns with combining characters.
	cellBytes = 1 << 10
)

// widths measures as terminals do, whatever the environment says.
var widths = runewidth.Condition{StrictEmojiNeutral: true}

// displayWidth is how many columns s takes.
func displayWidth(s string) int {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return widths.StringWidth(s)
		}
	}
	return len(s)
}

// cut shortens s to width columns, its end shown as `…`.
func cut(s string, width int) string {
	if displayWidth(s) <= width {
		return s
	}
	return widths.Truncate(s, width, "…")
}

// tableLines are the aligned lines of a table.
func tableLines(t *Table, o BlockOptions) iter.Seq[string] {
	if t.Len() == 0 {
		return textLines("(empty table)")
	}
	return recordRows(t.Len(), t.Row, o)
}

// column is a table column as it is displayed.
type column struct {
	key   string
	head  string
	width int
	right bool // numbers only: aligned to the right
}

// recordRows are a header and a line for each of n records.
func recordRows(n int, row func(int) *Record, o BlockOptions) iter.Seq[string] {
	return func(yield func(string) bool) {
		measured := n
		if o.Rows > 0 {
			measured = min(n, o.Rows)
		}
		cols := measure(measured, row)
		shrink(cols, o.Width)
		var line strings.Builder
		for _, c := range cols {
			c.write(&line, c.head)
		}
		if !yield(strings.TrimRight(line.String(), " ")) {
			return
		}
		for i := range n {
			line.Reset()
			r := row(i)
			for _, c := range cols {
				v, _ := r.Get(c.key)
				c.write(&line, cell(v))
			}
			if !yield(strings.TrimRight(line.String(), " ")) {
				return
			}
		}
	}
}

// measure finds the columns of the first n records and their widths.
func measure(n int, row func(int) *Record) []*column {
	var cols []*column
	byKey := make(map[string]*column)
	var last *Shape
	for i := range n {
		if s := row(i).Shape; s != last {
			last = s
			for _, k := range s.keys {
				if byKey[k] == nil {
					head := cut(oneLine(headText(k, cellBytes)), maxCell)
					c := &column{key: k, head: head, width: displayWidth(head), right: true}
					byKey[k] = c
					cols = append(cols, c)
				}
			}
		}
	}
	for i := range n {
		r := row(i)
		for j, k := range r.Shape.keys {
			c := byKey[k]
			v := r.Vals[j]
			c.width = max(c.width, displayWidth(cell(v)))
			c.right = c.right && (v.IsNull() || isQuantity(v.Kind()))
		}
	}
	return cols
}

// isQuantity reports whether values of the kind line up at their right end.
func isQuantity(k Kind) bool {
	return k == KindInt || k == KindFloat || k == KindSize || k == KindDuration
}

// shrink narrows the widest columns until the line fits into width.
func shrink(cols []*column, width int) {
	if width <= 0 {
		return
	}
	total := 2 * (len(cols) - 1)
	for _, c := range cols {
		total += c.width
	}
	for total > width {
		widest := cols[0]
		for _, c := range cols[1:] {
			if c.width > widest.width {
				widest = c
			}
		}
		if widest.width <= 1 {
			return
		}
		widest.width--
		total--
	}
}

// write appends a cell, two columns away from the one before.
func (c *column) write(line *strings.Builder, text string) {
	if line.Len() > 0 {
		line.WriteString("  ")
	}
	text = cut(text, c.width)
	pad := max(0, c.width-displayWidth(text))
	if c.right {
		line.WriteString(strings.Repeat(" ", pad))
		pad = 0
	}
	line.WriteString(text)
	if pad > 0 {
		line.WriteString(strings.Repeat(" ", pad))
	}
}

// cell is a value in a table: text unquoted, null empty, the rest inline, cut
// at maxCell columns.
func cell(v Value) string {
	if v.IsNull() {
		return ""
	}
	return cut(lineOf(v, cellBytes), maxCell)
}
