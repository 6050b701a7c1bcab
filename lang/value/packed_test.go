package value

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// packedCells are rows of two cells that fill several blocks, with empty cells
// and some too long for a block.
func packedCells() (cells [][]string) {
	for i := range 3000 {
		row := []string{fmt.Sprint(i), strings.Repeat("x", i%11)}
		switch {
		case i%700 == 0:
			row[1] = strings.Repeat(fmt.Sprint(i, " "), packedCell/2)
		case i%500 == 0:
			row[0] = ""
		}
		cells = append(cells, row)
	}
	return cells
}

// packedTable packs cells, the short rows in groups.
func packedTable(cells [][]string) *Table {
	p := NewPacker(ShapeOf("a", "b"), []int{0, 1})
	for len(cells) > 0 {
		n := slices.IndexFunc(cells, func(row []string) bool { return len(row[1]) > packedCell })
		if n = min(n, 7); n < 0 {
			n = min(7, len(cells))
		}
		if n == 0 {
			p.Row(cells[0])
			cells = cells[1:]
			continue
		}
		text, before := "", []uint32(nil)
		for _, row := range cells[:n] {
			for _, cell := range row {
				before = append(before, uint32(len(text)))
				text += "," + cell
			}
		}
		p.Plain(text+"\n", before)
		cells = cells[n:]
	}
	return p.Table().AsTable()
}

// plainTable is the same table with records of its own.
func plainTable(cells [][]string) *Table {
	var rows []*Record
	for _, row := range cells {
		rows = append(rows, NewRecord(ShapeOf("a", "b"), []Value{Str(row[0]), Str(row[1])}).AsRecord())
	}
	return NewTable(rows).AsTable()
}

func TestPackedTableIsAsOneOfRecords(t *testing.T) {
	cells := packedCells()
	got, want := packedTable(cells), plainTable(cells)
	if blocks := len(got.packed.blocks); blocks < 3 {
		t.Fatalf("only %d blocks", blocks)
	}
	if got.Len() != want.Len() || !Same(got.Value(), want.Value()) || !Same(want.Value(), got.Value()) {
		t.Fatal("the tables differ")
	}
	text, err := JSON(want.Value(), false)
	if err != nil {
		t.Fatal(err)
	}
	if packed, err := JSON(got.Value(), false); err != nil || packed != text {
		t.Errorf("they differ as JSON: %v", err)
	}
	if Inline(got.Value()) != Inline(want.Value()) {
		t.Error("they differ inline")
	}
	if !slices.Equal(got.Columns(), want.Columns()) {
		t.Errorf("columns: got %q", got.Columns())
	}
	for _, cut := range [][2]int{{0, 0}, {0, 1}, {0, 3000}, {1, 2}, {699, 702}, {1234, 2999}, {2999, 3000}, {3000, 3000}} {
		part, all := got.Slice(cut[0], cut[1]).AsTable(), want.Slice(cut[0], cut[1]).AsTable()
		if part.Len() != cut[1]-cut[0] || !Same(part.Value(), all.Value()) {
			t.Errorf("rows %d to %d differ", cut[0], cut[1])
		}
		if i := part.Len(); i > 1 && !Same(part.Slice(1, i).AsTable().Row(i-2).Value(), all.Row(i-1).Value()) {
			t.Errorf("rows %d to %d: the last row differs when cut twice", cut[0], cut[1])
		}
		i := 0
		for r := range part.All() {
			if !Same(r.Value(), all.Row(i).Value()) {
				t.Errorf("rows %d to %d: All gives another row %d", cut[0], cut[1], i)
				break
			}
			i++
		}
	}
}

func TestPackedRowsLast(t *testing.T) {
	cells := packedCells()
	table := packedTable(cells)
	for i, r := range table.Rows() {
		if r.Vals[0].AsStr() != cells[i][0] || r.Vals[1].AsStr() != cells[i][1] {
			t.Fatalf("row %d became %s", i, Inline(r.Value()))
		}
	}
	var first *Record
	for r := range table.Borrowed() {
		if first == nil {
			first = r
		}
		if r != first {
			t.Fatal("a lent row is not lent again")
		}
	}
}

func TestPackedColumnsOfOneName(t *testing.T) {
	p := NewPacker(ShapeOf("a", "b"), []int{0, 1, 0})
	p.Row([]string{"1", "2", "3"})
	p.Plain(",4,5,6\n7,,8\n", []uint32{0, 2, 4, 6, 8, 9})
	if got := Inline(p.Table()); got != `[{a: "3", b: "2"}, {a: "6", b: "5"}, {a: "8", b: ""}]` {
		t.Errorf("got %s", got)
	}
}

// TestKeptCellKeepsLittle keeps one short and one long cell of a large text.
func TestKeptCellKeepsLittle(t *testing.T) {
	const size = 32 << 20
	before := liveHeap()
	kept := func() []Value {
		text := strings.Repeat(",some cell,other cell\n", size/22)
		p := NewPacker(ShapeOf("a", "b"), []int{0, 1})
		for at := 0; at < len(text); at += 22 {
			p.Plain(text[at:at+22], []uint32{0, 10})
		}
		p.Row([]string{text[:size/2], text[1:packedCell]})
		table := p.Table().AsTable()
		return []Value{table.Row(7).Vals[0], table.Row(table.Len() - 1).Vals[1]}
	}()
	if grown := liveHeap() - before; grown > 1<<20 {
		t.Errorf("two cells keep %d bytes", grown)
	}
	if kept[0].AsStr() != "some cell" || len(kept[1].AsStr()) != packedCell-1 {
		t.Errorf("the cells became %.40q", kept[0].AsStr())
	}
	runtime.KeepAlive(kept)
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
