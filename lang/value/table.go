package value

import (
	"iter"
	"unsafe"
)

// Table is the object behind a table: records, usually of one shape. Those of a
// large text of cells stay packed and are made when somebody asks for them.
type Table struct {
	kind   Kind
	rows   []*Record
	packed *packed // instead of rows: n of its rows, beginning with from
	from   int
	n      int
}

// NewTable makes a table that owns rows.
func NewTable(rows []*Record) Value {
	return (&Table{kind: KindTable, rows: rows, n: len(rows)}).Value()
}

// AsTable is the object behind a table.
func (v Value) AsTable() *Table { return (*Table)(v.p) }

// Value is the table as a Value again.
func (t *Table) Value() Value { return Value{unsafe.Pointer(t), 0} }

// Len is the number of rows.
func (t *Table) Len() int { return t.n }

// Row is a row by its number.
func (t *Table) Row(i int) *Record {
	if t.packed == nil {
		return t.rows[i]
	}
	return t.packed.row(t.from + i)
}

// Rows are all rows; the slice must not be changed.
func (t *Table) Rows() []*Record {
	if t.packed == nil {
		return t.rows
	}
	rows := make([]*Record, 0, t.n)
	for r := range t.All() {
		rows = append(rows, r)
	}
	return rows
}

// All goes through the rows.
func (t *Table) All() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		if t.packed == nil {
			for _, r := range t.rows {
				if !yield(r) {
					return
				}
			}
			return
		}
		var made Maker
		for c := t.cursor(); c.left > 0; {
			r := made.Row(t.packed.shape)
			c.read(r.Vals)
			if !yield(r) {
				return
			}
		}
	}
}

// Borrowed goes through the rows. A row and its list of fields, but not the
// fields themselves, may be used only until the next one comes: packed rows are
// all the same record.
func (t *Table) Borrowed() iter.Seq[*Record] {
	return func(yield func(*Record) bool) {
		rows := t.borrow()
		for range t.n {
			if !yield(rows.next()) {
				return
			}
		}
	}
}

// borrower gives the rows that Borrowed goes through.
type borrower struct {
	t      *Table
	i      int
	cursor cursor
	row    *Record // that packed ones become
}

func (t *Table) borrow() *borrower {
	b := &borrower{t: t}
	if t.packed != nil {
		b.cursor, b.row = t.cursor(), NewRow(t.packed.shape)
	}
	return b
}

func (b *borrower) next() *Record {
	if b.row != nil {
		b.cursor.read(b.row.Vals)
		return b.row
	}
	b.i++
	return b.t.rows[b.i-1]
}

// Lends reports whether Borrowed goes through rows that must not be kept.
func (t *Table) Lends() bool { return t.packed != nil }

// MakingRows is about how many bytes All or Rows allocate.
func (t *Table) MakingRows() int64 {
	if t.packed == nil {
		return 0
	}
	return int64(t.n) * int64(unsafe.Sizeof(Record{})+uintptr(t.packed.shape.Len())*unsafe.Sizeof(Value{}))
}

// Slice is the table of the rows from one up to another.
func (t *Table) Slice(from, to int) Value {
	if t.packed == nil {
		return NewTable(t.rows[from:to:to])
	}
	return (&Table{kind: KindTable, packed: t.packed, from: t.from + from, n: to - from}).Value()
}

// Columns is the key list of all rows in first-seen order; it must not be
// changed.
func (t *Table) Columns() []string {
	if t.packed != nil && t.n > 0 {
		return t.packed.shape.Keys()
	}
	return Columns(t.rows)
}

// Columns is the key list of rows in first-seen order; it must not be changed.
func Columns(rows []*Record) []string {
	if len(rows) == 0 {
		return nil
	}
	last := rows[0].Shape
	cols := last.Keys()
	var seen map[string]bool
	for _, r := range rows[1:] {
		if r.Shape == last {
			continue
		}
		last = r.Shape
		if seen == nil {
			seen = make(map[string]bool, len(cols))
			for _, k := range cols {
				seen[k] = true
			}
		}
		for _, k := range last.keys {
			if !seen[k] {
				seen[k] = true
				cols = append(cols, k)
			}
		}
	}
	return cols
}
