package builtin

import (
	"fmt"
	"strings"

	"shoal.dev/shoal/lang/interp"
	"shoal.dev/shoal/lang/value"
)

// csvRows is the namespace csv.
func csvRows() []memberRow {
	return []memberRow{
		{"csv", "parse(text: str)", "The rows below the header line as a table; all cells are str.", csvParse},
		{"csv", "stringify(rows: table|list|record)", "The records as CSV with the first one's keys as header.", csvStringify},
	}
}

func csvParse(c *interp.Call, a []value.Value) (value.Value, error) {
	p := csvParser{src: strings.TrimPrefix(a[0].AsStr(), "\ufeff"), line: 1}
	header, err := p.record(nil)
	if err != nil {
		return value.Null, argErr(c.Span, "csv.parse: %v", err)
	}
	shape, slots := csvShape(header)
	var rows []*value.Record
	var cells []string
	var made value.Maker
	vals := make([]value.Value, len(shape.Keys()))
	for p.blankLines(); p.more(); p.blankLines() {
		line := p.line
		if cells, err = p.record(cells[:0]); err != nil {
			return value.Null, argErr(c.Span, "csv.parse: %v", err)
		}
		if len(cells) != len(header) {
			return value.Null, argErr(c.Span, "csv.parse: line %d has %s, the header has %d", line, plural(len(cells), "cell"), len(header))
		}
		if len(rows) == maxItems {
			return value.Null, tooLong(c)
		}
		for i, s := range cells {
			vals[slots[i]] = made.Str(s)
		}
		rows = append(rows, made.Record(shape, vals))
	}
	return value.NewTable(rows), nil
}

// csvShape is the shape of the rows and the slot of each column: of columns
// with one name the last gives the value.
func csvShape(header []string) (*value.Shape, []int) {
	shape, slots := value.EmptyShape, make([]int, len(header))
	for i, name := range header {
		if slots[i] = shape.Slot(name); slots[i] < 0 {
			slots[i] = len(shape.Keys())
			shape = shape.With(name)
		}
	}
	return shape, slots
}

// csvParser reads RFC 4180 records; cells are parts of src where they can be.
type csvParser struct {
	src  string
	at   int
	line int
}

func (p *csvParser) more() bool { return p.at < len(p.src) }

// blankLines skips lines that hold nothing at all.
func (p *csvParser) blankLines() {
	for p.more() && (p.src[p.at] == '\n' || p.src[p.at] == '\r') {
		p.newline()
	}
}

// record appends the cells of the next record and moves behind its line end.
func (p *csvParser) record(cells []string) ([]string, error) {
	for p.more() {
		cell, err := p.cell()
		if err != nil {
			return nil, err
		}
		cells = append(cells, cell)
		if p.more() && p.src[p.at] == ',' {
			p.at++
			if !p.more() {
				return append(cells, ""), nil
			}
			continue
		}
		p.newline()
		break
	}
	return cells, nil
}

func (p *csvParser) newline() {
	if p.more() && p.src[p.at] == '\r' {
		p.at++
	}
	if p.more() && p.src[p.at] == '\n' {
		p.at++
		p.line++
	}
}

func (p *csvParser) cell() (string, error) {
	if p.src[p.at] == '"' {
		return p.quoted()
	}
	rest := p.src[p.at:]
	end := strings.IndexAny(rest, ",\n")
	if end < 0 {
		end = len(rest)
	}
	if end > 0 && rest[end-1] == '\r' && (end == len(rest) || rest[end] == '\n') {
		end--
	}
	if strings.IndexByte(rest[:end], '"') >= 0 {
		return "", fmt.Errorf("line %d: a quote inside an unquoted cell", p.line)
	}
	p.at += end
	return rest[:end], nil
}

func (p *csvParser) quoted() (string, error) {
	start := p.line
	p.at++
	var b strings.Builder
	for {
		rest := p.src[p.at:]
		i := strings.IndexByte(rest, '"')
		if i < 0 {
			return "", fmt.Errorf("line %d: a quoted cell does not end", start)
		}
		p.line += strings.Count(rest[:i], "\n")
		p.at += i + 1
		if p.more() && p.src[p.at] == '"' {
			b.WriteString(rest[:i+1])
			p.at++
			continue
		}
		if p.more() && !strings.ContainsRune(",\r\n", rune(p.src[p.at])) {
			return "", fmt.Errorf("line %d: text after a quoted cell", p.line)
		}
		if b.Len() == 0 {
			return rest[:i], nil
		}
		b.WriteString(rest[:i])
		return b.String(), nil
	}
}

func csvStringify(c *interp.Call, a []value.Value) (value.Value, error) {
	rows := []value.Value{a[0]}
	if a[0].Kind() != value.KindRecord {
		var err error
		if rows, err = items(c, a[0]); err != nil {
			return value.Null, err
		}
	}
	if len(rows) == 0 {
		return value.Str(""), nil
	}
	for i, r := range rows {
		if r.Kind() != value.KindRecord {
			return value.Null, typeErr(c.Span, "csv.stringify: item %d is %s, not record", i, r.Kind())
		}
	}
	header := rows[0].AsRecord().Shape.Keys()
	var b strings.Builder
	for i, name := range header {
		csvCell(&b, i, name)
	}
	b.WriteByte('\n')
	for _, r := range rows {
		for i, name := range header {
			csvCell(&b, i, csvText(r.AsRecord(), name))
		}
		b.WriteByte('\n')
		if b.Len() > maxText {
			return value.Null, codeErr(c.Span, value.CodeOverflow, "csv.stringify: more than %d bytes", maxText)
		}
	}
	return value.Str(b.String()), nil
}

// csvText is a cell's text: str raw, others as they are shown inline.
func csvText(r *value.Record, name string) string {
	v, ok := r.Get(name)
	switch {
	case !ok || v.IsNull():
		return ""
	case v.Kind() == value.KindStr || v.Kind() == value.KindPath:
		return v.AsStr()
	}
	return inline(v)
}

func csvCell(b *strings.Builder, i int, text string) {
	if i > 0 {
		b.WriteByte(',')
	}
	if !strings.ContainsAny(text, ",\"\r\n") {
		b.WriteString(text)
		return
	}
	b.WriteByte('"')
	b.WriteString(strings.ReplaceAll(text, `"`, `""`))
	b.WriteByte('"')
}
