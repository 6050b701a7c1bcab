package screen

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// cell is what stands in one column. The zero cell is blank and plain.
type cell struct {
	ch     uint32 // a character, or the number of a cluster, and the bits below
	fg, bg uint32 // colours and styles, see look
}

// Bits of cell.ch above the character.
const (
	charMask     = 1<<21 - 1
	protectedBit = 1 << 28 // from selective erase
	rightBit     = 1 << 29 // the right half of a wide character
	wideBit      = 1 << 30 // the left half of one
	clusterBit   = 1 << 31 // a character with marks, kept in clusters
)

// look is how characters are drawn. Each half is a colour of 26 bits, its kind
// above 24 bits of value, with styles above it.
type look struct{ fg, bg uint32 }

const (
	colourMask   = 1<<26 - 1
	indexed      = 1 << 24
	direct       = 2 << 24
	kindMask     = 3 << 24
	bold         = 1 << 26 // in fg
	faint        = 1 << 27
	italic       = 1 << 28
	blinking     = 1 << 29
	inverse      = 1 << 30
	concealed    = 1 << 31
	struck       = 1 << 26 // in bg
	overlined    = 1 << 27
	underline    = 1 << 28 // one of seven kinds
	underlines   = 7 * underline
	doubleUnder  = 2 * underline
	underlineMax = 5
)

// styleNumbers are the SGR parameters of the styles in fg.
var styleNumbers = []struct {
	bit     uint32
	on, off int
}{{bold, 1, 22}, {faint, 2, 22}, {italic, 3, 23}, {blinking, 5, 25}, {inverse, 7, 27}, {concealed, 8, 28}}

// set applies the parameters of one SGR sequence.
func (l *look) set(s *sequence) {
	for i := 0; i < s.n; {
		i += l.setOne(s, i)
	}
}

// setOne applies the parameter at i and returns how many it was.
func (l *look) setOne(s *sequence, i int) int {
	p, parts := s.params[i], 1
	for i+parts < s.n && s.colon[i+parts] {
		parts++
	}
	switch {
	case p == 38 || p == 48 || p == 58:
		c, n := colourOf(s, i, parts)
		switch {
		case c == 0:
		case p == 38:
			l.fg = l.fg&^colourMask | c
		case p == 48:
			l.bg = l.bg&^colourMask | c
		}
		return n
	case p == 4 && parts > 1:
		l.bg = l.bg&^underlines | uint32(min(max(s.params[i+1], 0), underlineMax))*underline
	case parts > 1:
	case p <= 0:
		*l = look{}
	case p >= 30 && p <= 37:
		l.fg = l.fg&^colourMask | indexed | uint32(p-30)
	case p >= 90 && p <= 97:
		l.fg = l.fg&^colourMask | indexed | uint32(p-90+8)
	case p == 39:
		l.fg &^= colourMask
	case p >= 40 && p <= 47:
		l.bg = l.bg&^colourMask | indexed | uint32(p-40)
	case p >= 100 && p <= 107:
		l.bg = l.bg&^colourMask | indexed | uint32(p-100+8)
	case p == 49:
		l.bg &^= colourMask
	default:
		l.setStyle(p)
	}
	return parts
}

func (l *look) setStyle(p int) {
	for _, s := range styleNumbers {
		switch p {
		case s.on:
			l.fg |= s.bit
		case s.off:
			l.fg &^= s.bit
		}
	}
	switch p {
	case 4:
		l.bg = l.bg&^underlines | underline
	case 21:
		l.bg = l.bg&^underlines | doubleUnder
	case 24:
		l.bg &^= underlines
	case 9:
		l.bg |= struck
	case 29:
		l.bg &^= struck
	case 53:
		l.bg |= overlined
	case 55:
		l.bg &^= overlined
	}
}

// colourOf reads what follows 38 or 48 at i: with colons its parts, with
// semicolons the next parameters. A colour that makes no sense is 0.
func colourOf(s *sequence, i, parts int) (colour uint32, used int) {
	if parts > 1 {
		v := s.params[i+1 : i+parts]
		if v[0] == 2 && len(v) > 4 {
			v = append([]int{2}, v[2:]...) // a colour space comes first
		}
		return colourFrom(v), parts
	}
	if i+1 >= s.n {
		return 0, 1
	}
	n := map[int]int{5: 3, 2: 5}[s.params[i+1]]
	if n == 0 {
		return 0, 2
	}
	n = min(n, s.n-i)
	return colourFrom(s.params[i+1 : i+n]), n
}

func colourFrom(v []int) uint32 {
	for _, n := range v[1:] {
		if n > 255 {
			return 0
		}
	}
	at := func(i int) uint32 { return uint32(max(v[i], 0)) }
	switch {
	case v[0] == 5 && len(v) >= 2:
		return indexed | at(1)
	case v[0] == 2 && len(v) >= 4:
		return direct | at(1)<<16 | at(2)<<8 | at(3)
	}
	return 0
}

// String is the parameters of the SGR sequence that makes the look from a plain
// one, "1;31", in xterm's order; "" for plain.
func (l look) String() string {
	if l == (look{}) {
		return ""
	}
	var b []byte
	add := func(nums ...int) {
		for _, n := range nums {
			if len(b) > 0 {
				b = append(b, ';')
			}
			b = strconv.AppendInt(b, int64(n), 10)
		}
	}
	styles := func(bits ...uint32) { // those of them that are set
		for _, s := range styleNumbers {
			if l.fg&s.bit != 0 && slices.Contains(bits, s.bit) {
				add(s.on)
			}
		}
	}
	styles(bold)
	switch kind := int(l.bg & underlines / underline); kind {
	case 0:
	case 1:
		add(4)
	case 2:
		add(21)
	default:
		add(4)
		b = strconv.AppendInt(append(b, ':'), int64(kind), 10)
	}
	styles(blinking, inverse, concealed)
	styles(faint, italic)
	if l.bg&struck != 0 {
		add(9)
	}
	if l.bg&overlined != 0 {
		add(53)
	}
	addColour(add, l.fg, 30)
	addColour(add, l.bg, 40)
	return string(b)
}

// addColour writes a colour with the numbers of text (30) or background (40).
func addColour(add func(...int), c uint32, base int) {
	v := int(c & 0xffffff)
	switch c & kindMask {
	case indexed:
		switch {
		case v < 8:
			add(base + v)
		case v < 16:
			add(base + 60 + v - 8)
		default:
			add(base+8, 5, v)
		}
	case direct:
		add(base+8, 2, v>>16, v>>8&0xff, v&0xff)
	}
}

// clusters holds the texts of characters with marks. Cells refer to them by
// number; sweep lets go of those that no cell refers to.
type clusters struct {
	texts   []string
	numbers map[string]uint32
	full    int // when to sweep
}

// clusterMax bounds the bytes of one character with its marks.
const clusterMax = 64

const sweepLeast = 1024

// number is the number of a text, for as long as a cell uses it.
func (c *clusters) number(text string) uint32 {
	if n, ok := c.numbers[text]; ok {
		return n
	}
	if c.numbers == nil {
		c.numbers = map[string]uint32{}
		c.full = sweepLeast
	}
	n := uint32(len(c.texts))
	c.texts = append(c.texts, text)
	c.numbers[text] = n
	return n
}

// isFull says that it is time to sweep before the next number.
func (c *clusters) isFull() bool { return c.numbers != nil && len(c.texts) >= c.full }

// sweep renumbers what the cells of the grids refer to.
func (c *clusters) sweep(grids ...*grid) {
	old := c.texts
	*c = clusters{numbers: map[string]uint32{}}
	for _, g := range grids {
		for y := range g.lines {
			cells := g.lines[y].cells
			for x := range cells {
				if ch := cells[x].ch; ch&clusterBit != 0 {
					cells[x].ch = ch&^charMask | c.number(old[ch&charMask])
				}
			}
		}
	}
	c.full = 2*len(c.texts) + sweepLeast
}

// appendText appends what a cell shows.
func (c *clusters) appendText(b []byte, ch uint32) []byte {
	switch r := ch & charMask; {
	case ch&clusterBit != 0:
		return append(b, c.texts[r]...)
	case r == 0:
		return append(b, ' ')
	case r < utf8.RuneSelf:
		return append(b, byte(r))
	default:
		return utf8.AppendRune(b, rune(r))
	}
}
