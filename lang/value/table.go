package value

import (
	"iter"
	"slices"
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
		c := t.cursor()
		for range t.n {
			c.next()
			if !yield(c.make(&made)) {
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
		lent := t.Lend(nil)
		for range t.n {
			if !yield(lent.Next()) {
				return
			}
		}
	}
}

// Lends reports whether the table lends rows that must not be kept.
func (t *Table) Lends() bool { return t.packed != nil }

// Lender lends the rows of a table one after the other.
type Lender struct {
	t      *Table
	i      int
	cursor cursor
	wanted []wanted
	row    *Record // that packed ones become
	made   Maker
}

// wanted is a column that a Lender reads, and its slot.
type wanted struct{ column, slot int }

// Lend begins to lend the rows with some of their fields, or with all if names
// is nil.
func (t *Table) Lend(names []string) *Lender {
	l := &Lender{t: t}
	if t.packed == nil {
		return l
	}
	l.cursor, l.row = t.cursor(), NewRow(t.packed.shape)
	for column, slot := range t.packed.slots {
		if names == nil || slices.Contains(names, t.packed.shape.keys[slot]) {
			l.wanted = append(l.wanted, wanted{column, slot})
		}
	}
	return l
}

// Next is the next row, good until the one after it, or nil.
func (l *Lender) Next() *Record {
	if l.i == l.t.n {
		return nil
	}
	l.i++
	if l.row == nil {
		return l.t.rows[l.i-1]
	}
	b, cell := l.cursor.next()
	b.read(l.row.Vals, l.wanted, cell)
	return l.row
}

// Keep is the row that Next has given, whole, as a record that lasts.
func (l *Lender) Keep() *Record {
	if l.row == nil {
		return l.t.rows[l.i-1]
	}
	return l.cursor.make(&l.made)
}

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
