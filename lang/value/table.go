package value

import "unsafe"

// Table is the object behind a table: records, usually of one shape.
type Table struct {
	kind Kind
	Rows []*Record
}

// NewTable makes a table that owns rows.
func NewTable(rows []*Record) Value { return Value{unsafe.Pointer(&Table{KindTable, rows}), 0} }

// AsTable is the object behind a table.
func (v Value) AsTable() *Table { return (*Table)(v.p) }

// Columns is the key list of all rows in first-seen order; it must not be
// changed.
func (t *Table) Columns() []string { return Columns(t.Rows) }

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
