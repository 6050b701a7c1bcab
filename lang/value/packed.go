package value

import (
	"slices"
	"sort"
	"unsafe"
)

// packed are rows of str cells without the records. Their texts lie in blocks,
// each cell as near text behind the byte that is its kind: where the rows come
// from a text whose cells have a separator before them, a block is a piece of
// that text in which every separator has become the kind of the next cell. So
// reading costs one copy of the text, and a cell that somebody asks for costs
// nothing but its Value. A row of five columns takes its text and 20 bytes, of
// which the collector looks at none.
//
// A cell that is kept keeps its block. Blocks are bounded, and longer cells lie
// by themselves, so that a few cells never keep a large text.
type packed struct {
	shape  *Shape
	slots  []int // of each column
	blocks []packedBlock
	n      int
}

// packedBlock is the text of some rows in a row.
type packedBlock struct {
	first  int      // number of the first of the rows
	text   []byte   // a kind and a text for each cell, and a byte more
	starts []uint32 // where each cell's kind lies, and where the byte more does
	long   map[int]Value
}

const (
	// packedBytes is from how many bytes of text on a block takes no more rows.
	packedBytes = 16 << 10
	// packedCell is how long a cell in a block may be.
	packedCell = PlainRow
)

// Packer collects rows of str cells for a table.
type Packer struct {
	packed
	open packedBlock // its parts are used again for the next block
}

// NewPacker makes a Packer for rows whose column i belongs into slots[i] of
// shape; of columns with one slot the last gives the value.
func NewPacker(shape *Shape, slots []int) *Packer {
	p := &Packer{packed: packed{shape: shape, slots: slots}}
	p.begin()
	return p
}

// Len is the number of rows so far.
func (p *Packer) Len() int { return p.n }

// begin starts a block.
func (p *Packer) begin() {
	p.open = packedBlock{first: p.n, text: append(p.open.text[:0], 0), starts: p.open.starts[:0]}
}

// Plain adds whole rows, none of them longer than PlainRow: text begins with a byte that is no
// cell's, and after each cell there is another. Before are the places of those
// in front of the cells.
func (p *Packer) Plain(text string, before []uint32) {
	b := &p.open
	if len(b.starts) == 0 && len(text) >= packedBytes {
		p.whole(text, before)
		return
	}
	base := len(b.text) - 1
	b.text = append(b.text[:base], text...)
	at := len(b.starts)
	b.starts = append(b.starts, before...)
	for i, start := range before {
		start += uint32(base)
		b.starts[at+i] = start
		b.text[start] = byte(KindStr)
	}
	p.added(len(before) / len(p.slots))
}

// whole adds rows that are a block by themselves.
func (p *Packer) whole(text string, before []uint32) {
	b := packedBlock{first: p.n, text: append([]byte(nil), text...)}
	for _, start := range before {
		b.text[start] = byte(KindStr)
	}
	b.setStarts(before)
	p.blocks = append(p.blocks, b)
	p.n += len(before) / len(p.slots)
	p.open.first = p.n
}

// setStarts takes a copy of where the cells of a whole block are.
func (b *packedBlock) setStarts(starts []uint32) {
	b.starts = append(slices.Grow([]uint32(nil), len(starts)+1), starts...)
	b.starts = append(b.starts, uint32(len(b.text)-1))
}

// How long a row of those that Plain takes may be, and for how many bytes of
// them it is best called.
const (
	PlainRow  = PlainRows / 8
	PlainRows = packedBytes
)

// Row adds a row of as many cells as there are columns.
func (p *Packer) Row(cells []string) {
	b := &p.open
	for _, cell := range cells {
		start := len(b.text) - 1
		b.text[start] = byte(KindStr)
		if len(cell) > packedCell {
			if b.long == nil {
				b.long = make(map[int]Value)
			}
			b.long[len(b.starts)] = StrOf(BytesOf(cell))
			cell = ""
		}
		b.starts = Push(b.starts, uint32(start))
		b.text = Push(ExtendText(b.text, cell), 0)
	}
	p.added(1)
}

// added counts rows and ends the block when it is full.
func (p *Packer) added(n int) {
	if p.n += n; len(p.open.text) >= packedBytes {
		p.end()
	}
}

// end puts the open block, in objects of its size, to the others.
func (p *Packer) end() {
	b := p.open
	b.text = slices.Clone(b.text)
	b.setStarts(b.starts)
	p.blocks = append(p.blocks, b)
	p.begin()
}

// Table is the table of all rows; the Packer must not be used again.
func (p *Packer) Table() Value {
	if len(p.open.starts) > 0 {
		p.end()
	}
	p.open = packedBlock{}
	return (&Table{kind: KindTable, packed: &p.packed, n: p.n}).Value()
}

// find is the number of the block that holds a row.
func (p *packed) find(row int) int {
	return sort.Search(len(p.blocks), func(i int) bool { return p.blocks[i].first > row }) - 1
}

// row makes a row.
func (p *packed) row(i int) *Record {
	r := NewRow(p.shape)
	b := &p.blocks[p.find(i)]
	b.readAll(r.Vals, p.slots, (i-b.first)*len(p.slots))
	return r
}

// cell is the Value of a cell.
func (b *packedBlock) cell(i int) Value {
	if b.long != nil {
		if v, ok := b.long[i]; ok {
			return v
		}
	}
	text := unsafe.Pointer(unsafe.SliceData(b.text))
	return Value{unsafe.Add(text, b.starts[i]), int64(b.starts[i+1]-b.starts[i]) - int64(headSize)}
}

// read puts the wanted ones of the cells from a number on into their slots.
func (b *packedBlock) read(vals []Value, columns []wanted, cell int) {
	for _, w := range columns {
		vals[w.slot] = b.cell(cell + w.column)
	}
}

// readAll puts the cells from a number on into their slots.
func (b *packedBlock) readAll(vals []Value, slots []int, cell int) {
	for i, slot := range slots {
		vals[slot] = b.cell(cell + i)
	}
}

// cursor goes through rows of a packed table. It stands before the first one.
type cursor struct {
	p     *packed
	block int
	cell  int // of the block: the first of the row
}

func (t *Table) cursor() cursor {
	c := cursor{p: t.packed}
	if t.n > 0 {
		c.block = t.packed.find(t.from)
		c.cell = (t.from - t.packed.blocks[c.block].first - 1) * len(t.packed.slots)
	}
	return c
}

// next goes to the next row and says where it is.
func (c *cursor) next() (b *packedBlock, cell int) {
	b = &c.p.blocks[c.block]
	if c.cell += len(c.p.slots); c.cell == len(b.starts)-1 {
		c.block, c.cell = c.block+1, 0
		b = &c.p.blocks[c.block]
	}
	return b, c.cell
}

// make makes a record of the row.
func (c *cursor) make(made *Maker) *Record {
	r := made.Row(c.p.shape)
	c.p.blocks[c.block].readAll(r.Vals, c.p.slots, c.cell)
	return r
}
