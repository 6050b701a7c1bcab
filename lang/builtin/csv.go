package builtin

import (
	"encoding/binary"
	"math/bits"
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
	p := csvParser{c: c, src: strings.TrimPrefix(a[0].AsStr(), byteOrderMark), line: 1}
	if err := c.M.Reserve(int64(len(p.src))); err != nil {
		return value.Null, err
	}
	p.blankLines()
	header, err := p.record()
	if err != nil {
		return value.Null, err
	}
	shape, slots, err := csvShape(c, header)
	if err != nil {
		return value.Null, err
	}
	made := value.NewPacker(shape, slots)
	for p.blankLines(); p.more(); p.blankLines() {
		if made.Len() >= maxItems {
			return value.Null, tooLong(c)
		}
		if err := c.M.Check(); err != nil {
			return value.Null, err
		}
		if p.plainRows(made, len(slots)) {
			continue
		}
		line := p.line
		cells, err := p.record()
		if err != nil {
			return value.Null, err
		}
		if len(cells) != len(slots) {
			return value.Null, argErr(c.Span, "csv.parse: line %d has %s, the header has %d", line, plural(len(cells), "cell"), len(slots))
		}
		made.Row(cells)
	}
	if made.Len() == 0 {
		return value.NewTable(nil), nil
	}
	return made.Table(), nil
}

// csvShape is the shape of the rows and the slot of each column: of columns
// with one name the last gives the value.
func csvShape(c *interp.Call, header []string) (*value.Shape, []int, error) {
	shape, slots := value.EmptyShape, make([]int, len(header))
	for i, name := range header {
		if i%piecesPerCheck == piecesPerCheck-1 {
			if err := c.M.Check(); err != nil {
				return nil, nil, err
			}
		}
		if slots[i] = shape.Slot(name); slots[i] < 0 {
			slots[i] = len(shape.Keys())
			shape = shape.With(strings.Clone(name)) // which outlives the text
		}
	}
	return shape, slots, nil
}

// csvParser reads RFC 4180 records; cells are parts of src where they can be.
type csvParser struct {
	c      *interp.Call
	src    string
	at     int
	line   int
	cells  []string // of the record that was read last
	before []uint32 // of plainRows
}

func (p *csvParser) more() bool { return p.at < len(p.src) }

// blankLines skips lines that hold nothing at all.
func (p *csvParser) blankLines() {
	for p.more() && p.atLineEnd() {
		p.newline()
	}
}

// record reads the cells of the next record and moves behind its line end. They
// are good until the next one.
func (p *csvParser) record() (cells []string, err error) {
	cells = p.cells[:0]
	for more := p.more(); more && err == nil; {
		var cell string
		cell, more, err = p.next()
		cells = value.Push(cells, cell)
		if len(cells)%piecesPerCheck == 0 && err == nil {
			err = p.c.M.Check()
		}
		if len(cells) > maxItems {
			err = tooLong(p.c)
		}
	}
	p.cells = cells
	return cells, err
}

// plainRows reads as many rows as are the usual ones: of the right number of
// cells, without quotes, not long, and ended by a bare newline. It stops after
// some and reports whether there were any.
func (p *csvParser) plainRows(made *value.Packer, columns int) bool {
	src := value.BytesOf(p.src[p.at-1:]) // begins with the end of the line before
	before, whole, rows := append(p.before[:0], 0), 1, 0
scan:
	for at := 1; at < len(src) && whole <= value.PlainRows; at += 8 {
		for ends := cellEnds(src[at:]); ends != 0; ends &= ends - 1 {
			i := at + bits.TrailingZeros64(ends)/8
			if end := src[i]; end == '\n' {
				if len(before) != (rows+1)*columns || i-whole > value.PlainRow || i == whole || src[i-1] == '\r' {
					break scan
				}
				rows, whole = rows+1, i+1
			} else if end == '"' {
				break scan
			}
			before = append(before, uint32(i))
		}
	}
	if p.before = before; rows == 0 {
		return false
	}
	made.Plain(p.src[p.at-1:][:whole], before[:rows*columns])
	p.at, p.line = p.at+whole-1, p.line+rows
	return true
}

// cellEnds has the high bit of each of the first eight bytes set at which an
// unquoted cell ends, one of them wrongly.
func cellEnds(s []byte) uint64 {
	if len(s) < 8 {
		s = append(make([]byte, 0, 8), s...)[:8]
	}
	const low, comma, newline, quote = ^uint64(0) / 255 * 0x7f, ^uint64(0) / 255 * ',', ^uint64(0) / 255 * '\n', ^uint64(0) / 255 * '"'
	w := binary.LittleEndian.Uint64(s)
	c, n, q := w^comma, w^newline, w^quote
	// Adding 0x7f carries into the high bit of each byte that is not zero.
	return ^((c&low + low | c) & (n&low + low | n) & (q&low + low | q)) &^ low
}

// next reads a cell and what ends it; more tells whether that was a comma.
func (p *csvParser) next() (cell string, more bool, err error) {
	if p.more() {
		if cell, err = p.cell(); err != nil {
			return "", false, err
		}
	}
	if p.more() && p.src[p.at] == ',' {
		p.at++
		return cell, true, nil
	}
	p.newline()
	return cell, false, nil
}

// atLineEnd reports whether a line or the text ends here; a \r that nothing but
// text follows is text.
func (p *csvParser) atLineEnd() bool {
	rest := strings.TrimPrefix(p.src[p.at:], "\r")
	return rest == "" || rest[0] == '\n'
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
	src, start, at := p.src, p.at, p.at
	for at < len(src) && !endsCell[src[at]] {
		at++
	}
	if at < len(src) && src[at] == '"' {
		return "", p.wrong("line %d: a quote inside an unquoted cell", p.line)
	}
	if at > start && src[at-1] == '\r' && (at == len(src) || src[at] == '\n') {
		at--
	}
	p.at = at
	return src[start:at], nil
}

// endsCell are the bytes at which an unquoted cell ends, one of them wrongly.
var endsCell = [256]bool{',': true, '\n': true, '"': true}

// wrong says what is no CSV.
func (p *csvParser) wrong(format string, args ...any) error {
	return argErr(p.c.Span, "csv.parse: "+format, args...)
}

func (p *csvParser) quoted() (string, error) {
	start := p.line
	p.at++
	var b []byte
	for parts := 1; ; parts++ {
		if parts%piecesPerCheck == 0 {
			if err := p.c.M.Check(); err != nil {
				return "", err
			}
		}
		rest := p.src[p.at:]
		i := strings.IndexByte(rest, '"')
		if i < 0 {
			return "", p.wrong("line %d: a quoted cell does not end", start)
		}
		p.line += strings.Count(rest[:i], "\n")
		p.at += i + 1
		if p.more() && p.src[p.at] == '"' {
			b = value.ExtendText(b, rest[:i+1])
			p.at++
			continue
		}
		if p.more() && p.src[p.at] != ',' && !p.atLineEnd() {
			return "", p.wrong("line %d: text after a quoted cell", p.line)
		}
		if b == nil {
			return rest[:i], nil
		}
		return value.TextOf(value.ExtendText(b, rest[:i])), nil
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
	w := csvWriter{c: c}
	if err := w.line(header, func(name string) string { return name }); err != nil {
		return value.Null, err
	}
	for _, r := range rows {
		if err := w.line(header, func(name string) string { return csvText(r.AsRecord(), name) }); err != nil {
			return value.Null, err
		}
	}
	return value.Str(value.TextOf(w.out)), nil
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

// csvWriter collects lines.
type csvWriter struct {
	c     *interp.Call
	out   []byte
	parts int // of them so far
}

// part adds a piece of a line.
func (w *csvWriter) part(text string) error {
	w.out = value.ExtendText(w.out, text)
	if w.parts++; w.parts%piecesPerCheck == 0 {
		return w.check()
	}
	return nil
}

func (w *csvWriter) check() error {
	if len(w.out) > maxText {
		return codeErr(w.c.Span, value.CodeOverflow, "csv.stringify: more than %d bytes", maxText)
	}
	return w.c.M.Check()
}

// line writes the cell of each column. A line of one empty cell is quoted, as an
// empty line is none.
func (w *csvWriter) line(header []string, cell func(name string) string) error {
	for i, name := range header {
		if i > 0 {
			w.out = value.Push(w.out, ',')
		}
		text := cell(name)
		write := w.part
		if csvSpecial(text) || text == "" && len(header) == 1 {
			write = w.quoted
		}
		if err := write(text); err != nil {
			return err
		}
	}
	w.out = value.Push(w.out, '\n')
	return w.check()
}

// quoted writes a cell in quotes, those within doubled.
func (w *csvWriter) quoted(text string) error {
	w.out = value.Push(w.out, '"')
	for {
		i := strings.IndexByte(text, '"')
		if i < 0 {
			break
		}
		if err := w.part(text[:i+1]); err != nil {
			return err
		}
		w.out = value.Push(w.out, '"')
		text = text[i+1:]
	}
	if err := w.part(text); err != nil {
		return err
	}
	w.out = value.Push(w.out, '"')
	return nil
}

// csvSpecial reports whether a cell needs quotes: so does one with a byte order
// mark, which the start of a text loses.
func csvSpecial(text string) bool {
	for i := range len(text) {
		if csvMarks[text[i]] && (text[i] != markLead || strings.HasPrefix(text[i:], byteOrderMark)) {
			return true
		}
	}
	return false
}

const (
	byteOrderMark = "\ufeff"
	markLead      = 0xef // its first byte
)

// csvMarks are the bytes with which something begins that needs quotes.
var csvMarks = [256]bool{',': true, '"': true, '\r': true, '\n': true, markLead: true}
