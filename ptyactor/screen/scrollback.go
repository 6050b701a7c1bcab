package screen

import (
	"encoding/binary"
	"strings"
)

// Limits of a scrollback.
const (
	DefaultScrollback = 1000
	maxScrollback     = 100_000
	scrollbackMax     = 4 << 20 // bytes
	scrollbackMin     = 64 << 10
	chunkSize         = 16 << 10
)

// scrollback keeps the newest lines that left the top of the main screen. Each
// has a number; next is that of the line to come. A line that comes back when the
// screen grows gives its number back too.
//
// Lines lie packed in chunks, oldest first; whole chunks are let go.
type scrollback struct {
	chunks [][]byte
	gone   int // chunks let go before chunks[0]
	refs   []lineRef
	head   int // index of the oldest line in refs
	next   int64
	bytes  int // of the lines that are kept
	limit  int // lines
	budget int // bytes
	spare  []byte
}

// lineRef says where a packed line lies.
type lineRef struct{ chunk, at, size uint32 }

// styleRun is cells in a row that look alike.
type styleRun struct {
	cells  int
	fg, bg uint32
}

// The first byte of a packed line.
const (
	lineWrapped = 1 << iota
	lineStyled
)

// newScrollback keeps so many lines of a terminal with so many columns.
func newScrollback(lines, cols int) scrollback {
	s := scrollback{limit: min(max(lines, 0), maxScrollback)}
	s.fit(cols)
	return s
}

// fit sets the budget: enough for text with some colour on lines of so many
// columns.
func (s *scrollback) fit(cols int) {
	s.budget = min(max(s.limit*(cols*3+64), scrollbackMin), scrollbackMax)
}

func (s *scrollback) len() int { return len(s.refs) - s.head }

// push adds a line. Runs say how its cells look; without any, plain.
func (s *scrollback) push(text []byte, wrapped bool, runs []styleRun) {
	s.next++
	if s.limit == 0 {
		return
	}
	size := 1 + len(text)
	if len(runs) > 0 {
		size += binary.MaxVarintLen32 * (1 + len(runs)) // at most; fixed parts follow
		size += 8 * len(runs)
	}
	chunk := s.room(size)
	at := len(*chunk)
	*chunk = appendLine(*chunk, text, wrapped, runs)
	n := len(*chunk) - at
	s.refs = append(s.refs, lineRef{uint32(s.gone + len(s.chunks) - 1), uint32(at), uint32(n)})
	s.bytes += n
	for s.len() > s.limit || s.bytes > s.budget && s.len() > 1 {
		s.dropOldest()
	}
	if s.head > len(s.refs)/2 && s.head > 256 {
		s.refs = s.refs[:copy(s.refs, s.refs[s.head:])]
		s.head = 0
	}
}

// room is the chunk that has room for so many more bytes.
func (s *scrollback) room(size int) *[]byte {
	if n := len(s.chunks); n > 0 {
		if last := &s.chunks[n-1]; cap(*last)-len(*last) >= size {
			return last
		}
	}
	chunk := s.spare[:0]
	s.spare = nil
	if cap(chunk) < size {
		chunk = make([]byte, 0, max(size, chunkSize))
	}
	s.chunks = append(s.chunks, chunk)
	return &s.chunks[len(s.chunks)-1]
}

func (s *scrollback) dropOldest() {
	s.bytes -= int(s.refs[s.head].size)
	s.head++
	for s.head < len(s.refs) && int(s.refs[s.head].chunk) > s.gone {
		if cap(s.chunks[0]) == chunkSize {
			s.spare = s.chunks[0]
		}
		s.chunks = s.chunks[:copy(s.chunks, s.chunks[1:])]
		s.gone++
	}
}

func appendLine(b, text []byte, wrapped bool, runs []styleRun) []byte {
	flags := byte(0)
	if wrapped {
		flags |= lineWrapped
	}
	if len(runs) == 0 {
		return append(append(b, flags), text...)
	}
	b = append(b, flags|lineStyled)
	b = binary.AppendUvarint(b, uint64(len(runs)))
	for _, r := range runs {
		b = binary.AppendUvarint(b, uint64(r.cells))
		b = binary.LittleEndian.AppendUint32(b, r.fg)
		b = binary.LittleEndian.AppendUint32(b, r.bg)
	}
	return append(b, text...)
}

// skip counts lines that nobody will see.
func (s *scrollback) skip(n int) {
	s.clear()
	s.next += int64(n)
}

func (s *scrollback) clear() {
	s.chunks, s.gone, s.refs, s.head, s.bytes, s.spare = nil, 0, nil, 0, 0, nil
}

// storedLine is a line unpacked.
type storedLine struct {
	text    string
	wrapped bool
	runs    []styleRun
}

// pop takes the newest line back onto the screen; there must be one.
func (s *scrollback) pop() storedLine {
	last := len(s.refs) - 1
	ref := s.refs[last]
	line := s.unpack(ref)
	chunk := &s.chunks[int(ref.chunk)-s.gone]
	*chunk = (*chunk)[:ref.at]
	s.refs = s.refs[:last]
	s.chunks = s.chunks[:int(ref.chunk)-s.gone+1]
	s.bytes -= int(ref.size)
	s.next--
	if s.len() == 0 {
		s.clear()
	}
	return line
}

func (s *scrollback) unpack(ref lineRef) storedLine {
	b := s.chunks[int(ref.chunk)-s.gone][ref.at : ref.at+ref.size]
	line := storedLine{wrapped: b[0]&lineWrapped != 0}
	styled := b[0]&lineStyled != 0
	b = b[1:]
	if styled {
		n, size := binary.Uvarint(b)
		b = b[size:]
		line.runs = make([]styleRun, n)
		for i := range line.runs {
			cells, size := binary.Uvarint(b)
			b = b[size:]
			line.runs[i] = styleRun{int(cells), binary.LittleEndian.Uint32(b), binary.LittleEndian.Uint32(b[4:])}
			b = b[8:]
		}
	}
	line.text = string(b)
	return line
}

// read is the text of the lines numbered from to to, as far as they are kept.
func (s *scrollback) read(from, to int64) (lines []string, first, next int64) {
	oldest := s.next - int64(s.len())
	from = min(max(from, oldest), s.next)
	to = min(max(to, from), s.next)
	lines = make([]string, 0, to-from)
	at := s.head + int(from-oldest)
	for _, ref := range s.refs[at : at+int(to-from)] {
		lines = append(lines, strings.TrimRight(s.unpack(ref).text, " "))
	}
	return lines, from, s.next
}
